"""`hutch vw` among the other commands: its name for help, its options for completion; what is given to it VW reads."""

from typing import Annotated, Any

import typer
from typer.main import get_command

from hutch.cli.options import takes_vw_options
from hutch.cli.shell.declared import Argument, Option, as_app
from hutch.cli.shell.help import Command
from hutch.vw.main import vw as run
from hutch.vw.table import OPTIONS


class _Passed(Command):
    """A command that knows its options only while a shell completes them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        ctx.args = list(args)
        return list(args)

    def invoke(self, ctx: Any) -> Any:
        raise typer.Exit(run(list(ctx.args)))


@takes_vw_options([option.name for option in OPTIONS if option.supported])
def command(
    vw: Any,
    files: Annotated[list[str] | None, Argument(metavar="DATA", help="Files of examples.")] = None,
    to_yaml: Annotated[
        bool, Option("--to-yaml", help="Print the chain that the options stand for; read no data.")
    ] = False,
) -> None:
    """Run a Vowpal Wabbit command line.

    Example: hutch vw -d train.vw --loss_function logistic -q ab -f model
    """


vw = get_command(as_app(command, "vw", _Passed, context_settings={"help_option_names": []}))
