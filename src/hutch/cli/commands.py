"""All commands of `hutch` in Typer."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from typer.main import get_command

from hutch.core.chain.registry import Command
from hutch.core.errors import did_you_mean
from hutch.plugins.commands import commands_with
from hutch.shell.declared import PLAIN, as_app
from hutch.shell.help import Group
from hutch.shell.outcome import one_message


def find(name: str) -> Command | None:
    """The command of that name, if its module is part of this installation."""
    found = commands_with(name).get(name)
    return found if found is not None and _is_there(found) else None


def _is_there(command: Command) -> bool:
    try:
        return find_spec(command.module) is not None
    except ModuleNotFoundError:  # not even its package
        return False


def of_group(words: list[str]) -> list[str]:
    """A command line with `group command` as one word where a command has that name; `help` is `--help`."""
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    both = " ".join(words[:2])
    known = words[1:] and not words[0].startswith("-") and both in commands_with(words[0])
    return [both, *words[2:]] if known else words


class Commands(Group):
    """All commands, imported when they run or their help is asked for.

    An error that is the user's becomes one message and an exit status.
    """

    @staticmethod
    def names() -> list[str]:
        """The commands of this installation."""
        return [name for name, command in commands_with("").items() if _is_there(command)]

    def list_commands(self, ctx: Any) -> list[str]:
        return self.names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = find(cmd_name)
        if found is None:
            return None
        command = get_command(as_app(found.load(), cmd_name))
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if not args[0].startswith("-") and find(args[0]) is None:
            ctx.fail(f"no command {args[0]!r}; {did_you_mean(args[0], self.names())}")
        return super().resolve_command(ctx, args)

    def purposes(self, ctx: Any) -> Iterator[tuple[str, str, str]]:
        every = commands_with("")
        names = sorted(self.names(), key=lambda name: every[name].group == "More")  # these last
        yield from ((name, every[name].help, every[name].group) for name in names)

    def invoke(self, ctx: Any) -> Any:
        try:
            with one_message():
                return super().invoke(ctx)
        except SystemExit as left:
            raise typer.Exit(int(left.code or 0)) from None


app = typer.Typer(cls=Commands, no_args_is_help=True, **(PLAIN | {"add_completion": True}))


def _say_version(wanted: bool) -> None:
    if wanted:
        from hutch import __version__

        print(f"hutch {__version__}")
        raise typer.Exit


@app.callback()
def hutch(
    version: Annotated[
        bool, typer.Option("-V", "--version", callback=_say_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Noisy human labels in, an online model out.

    Example: hutch demo

    Help of a command: hutch COMMAND --help
    """
