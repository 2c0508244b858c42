"""Commands of Typer, made of what ours declare: they show help, complete words, and say what is wrong with them."""

import inspect
from typing import Annotated, Any

import typer
from typer.main import get_command

from hutch.cli.shell.declared import Command as Declared
from hutch.cli.shell.declared import Group as DeclaredGroup
from hutch.cli.shell.declared import Option, Parameter, parameters_of
from hutch.cli.shell.help import Command, Group


def new_app(cls: type[Group] = Group, **options: Any) -> typer.Typer:
    """A Typer app as all of ours are: our help, plain tracebacks, no completion options of its own.

    Args:
        cls: the kind of group.
        options: further arguments of `typer.Typer`.
    """
    plain = {"rich_markup_mode": None, "pretty_exceptions_enable": False, "add_completion": False}
    return typer.Typer(cls=cls, **(plain | options))


def as_command(target: Any, name: str) -> Any:
    """A function, or a group of them, as a command of Typer of that name; one that is one stays as it is."""
    if isinstance(target, Command):
        return target
    command = get_command(as_app(target, name))
    command.name = name
    return command


def as_app(target: Declared | DeclaredGroup, name: str, cls: type[Command] = Command, **options: Any) -> typer.Typer:
    """A function, or a group of them, as a Typer app.

    Args:
        target: with declared parameters.
        name: of the command, if it is one.
        cls: the kind of command.
        options: further arguments of `typer.Typer.command`.
    """
    if not isinstance(target, DeclaredGroup):
        app = new_app()
        app.command(name, cls=cls, **options)(_to_typer(target))
        return app
    default = target.commands.get(target.default)
    app = new_app(no_args_is_help=default is None, invoke_without_command=default is not None, help=target.help)

    @app.callback()
    def run(context: typer.Context) -> None:
        if default is not None and context.invoked_subcommand is None:
            context.exit(default(**{each.name: each.default for each in parameters_of(default)}) or 0)

    for each, function in target.commands.items():
        app.command(each, cls=cls, **options)(_to_typer(function))
    return app


def _to_typer(function: Declared) -> Any:
    """A function with the annotations that Typer understands, which ends with the status of ours."""
    parameters = [_parameter(each) for each in parameters_of(function)]

    def run(**given: Any) -> None:
        if status := function(**given):
            raise typer.Exit(status)

    run.__doc__ = function.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _parameter(declared: Parameter) -> inspect.Parameter:
    said = declared.said
    known = ("help", "metavar", "show_default", "autocompletion", "envvar", "min", "max")
    given = {name: value for name in known if (value := getattr(said, name, None)) is not None}
    shown = typer.Option(*declared.names, **given) if isinstance(said, Option) else typer.Argument(**given)
    return inspect.Parameter(
        declared.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if declared.default is ... else declared.default,
        annotation=Annotated[declared.type, shown],
    )
