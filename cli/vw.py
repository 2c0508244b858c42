"""`hutch vw` among the other commands: its name for help and completion; the words after it are VW's."""

import typer

from hutch.cli.lazy import new_app
from hutch.vw.main import vw as run

vw = new_app()

_PASSED_ON = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


@vw.command("vw", context_settings=_PASSED_ON)
def command(context: typer.Context) -> None:
    """Run a Vowpal Wabbit command line.

    Example: hutch vw -d train.vw --loss_function logistic -q ab -f model
    """
    raise typer.Exit(run(list(context.args)))
