"""Commands whose help reads the same under every version of Typer: 80 columns, no word broken, no types of Python."""

import re
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from hutch.core.errors import UsageError
from hutch.shell.help_text import entries, noted, paragraph, width
from hutch.shell.sentences import remember

_MANY = 20
SETTINGS = {
    "help_option_names": ["--help", "-h"],
    "token_normalize_func": lambda word: word.replace("_", "-"),
}
"""Of every command: `--a_b` is `--a-b`."""


class Command(TyperCommand):
    """A command with our help text, which returns its status; errors in values have our form: what, got, wanted."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **_with_ours(settings))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words = list(args)
        remember([*ctx.command_path.split(), *words])
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if typed := getattr(error, "option_name", ""):  # an unknown option: suggest those that begin with it
                longer = [name for each in self.params for name in each.opts if name.startswith(typed)]
                error.possibilities = longer or error.possibilities  # type: ignore[attr-defined]
            parameter = getattr(error, "param", None)
            values, _, _ = self.make_parser(ctx).parse_args(words) if parameter is not None else ({}, [], [])
            if parameter is None or values.get(parameter.name) is None:
                raise
            name = max(parameter.opts, key=len) if parameter.param_type_name == "option" else parameter.metavar
            value = values[parameter.name]
            wanted = ", ".join([_kind(parameter), *_range(parameter)])
            raise UsageError(f"{name}: got {value!r}, wanted {wanted}") from None

    def invoke(self, ctx: Any) -> None:
        if status := super().invoke(ctx):
            raise typer.Exit(status)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return _usage(self, ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write("\n".join(_help(self, ctx)) + "\n")


class Group(TyperGroup):
    """A group of commands with our help text."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **_with_ours(settings))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*_usage(self, ctx), "COMMAND", "[ARGS]..."]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        lines = list(_help(self, ctx))
        listed = list(self.purposes(ctx))
        left = max(len(name) for name, _, _ in listed) + 4
        for heading in dict.fromkeys(heading for _, _, heading in listed):
            rows = [(name, purpose) for name, purpose, other in listed if other == heading]
            lines += ["", f"{heading}:", *entries(rows, width(), left)]
        formatter.write("\n".join(lines) + "\n")

    def purposes(self, ctx: Any) -> Iterator[tuple[str, str, str]]:
        """Each command, its purpose in one sentence, and the heading above it."""
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                yield name, " ".join((command.help or "").partition("\n\n")[0].split()), "Commands"


def _with_ours(settings: dict[str, Any]) -> dict[str, Any]:
    return settings | {"context_settings": (settings.get("context_settings") or {}) | SETTINGS}


def _usage(command: Any, ctx: Any) -> list[str]:
    arguments = [each for each in command.get_params(ctx) if each.param_type_name == "argument"]
    return ["[OPTIONS]", *(_named(each) if each.required else f"[{_named(each)}]" for each in arguments)]


def _help(command: Any, ctx: Any) -> Iterator[str]:
    parameters = [each for each in command.get_params(ctx) if not getattr(each, "hidden", False)]
    arguments = [each for each in parameters if each.param_type_name == "argument"]
    options = [each for each in parameters if each.param_type_name == "option"]
    yield " ".join(["Usage:", ctx.command_path, *command.collect_usage_pieces(ctx)])
    for text in re.split(r"\n\s*\n", (command.help or "").strip()):
        yield from ("", *paragraph(text, width()))
    for heading, members in (("Arguments", arguments), *_grouped(options)):
        if members:
            yield from ("", f"{heading}:")
            yield from entries(((_named(each), _described(each)) for each in members), width())


def _grouped(options: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """Options under their headings, those without one first; few options need none."""
    panels: dict[str, list[Any]] = {}
    for each in options:
        heading = getattr(each, "rich_help_panel", None) if len(options) > _MANY else None
        panels.setdefault(heading or "Options", []).append(each)
    rest = panels.pop("Options", [])
    yield from (("Options", rest), *panels.items())


def _named(parameter: Any) -> str:
    """The left column of a parameter: its names and the word for its value."""
    value = parameter.metavar or ""
    if parameter.param_type_name == "argument":
        return value + ("..." if parameter.nargs != 1 and not value.endswith("...") else "")
    names = ", ".join(sorted(parameter.opts, key=len))
    if parameter.secondary_opts:
        names += f" / {parameter.secondary_opts[0]}"
    return f"{names} {value}".rstrip()


def _described(parameter: Any) -> str:
    """The right column of a parameter: its purpose, its default, and the values it takes."""
    notes = []
    if parameter.envvar:
        notes.append(f"or the variable {parameter.envvar}")
    if parameter.required and parameter.param_type_name == "option":
        notes.append("required")
    if default := _default(parameter):
        notes.append(f"default: {default}")
    notes += _range(parameter)
    return noted(parameter.help or "", notes)


def _default(parameter: Any) -> str:
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    value = parameter.default
    if not parameter.show_default or value is None or isinstance(value, bool | list | tuple) or callable(value):
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _kind(parameter: Any) -> str:
    """The type of a parameter's value; Typer names it in one way or another."""
    described = getattr(parameter, "type_descriptor", None)
    name = parameter.type.name if described is None else str(described.annotation)
    return "a whole number" if "int" in name else "a number" if "float" in name else "a value"


def _range(parameter: Any) -> list[str]:
    source = parameter if hasattr(parameter, "min") else parameter.type  # where it stood before Typer 0.20
    low, high = getattr(source, "min", None), getattr(source, "max", None)
    if low is None and high is None:
        return []
    if high is None:
        return [f"at least {low:g}"]
    return [f"at most {high:g}" if low is None else f"{low:g} to {high:g}"]
