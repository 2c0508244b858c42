"""How commands declare their options and arguments, so that a run needs not import Typer.

By these declarations `hutch.cli.shell.parse` reads words that are plainly right, and `hutch.cli.shell.app` makes
commands of Typer.
"""

import inspect
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, NamedTuple, get_args, get_origin

Completer = Callable[[Any, list[str], str], list[str]]
"""What offers values, called with the context, the words before and the word that is begun."""

Command = Callable[..., int | None]
"""A command: a function whose parameters are declared; it returns the exit status, None for 0."""


class Argument:
    """What is said of an argument, which stands in a command line by itself.

    Args:
        metavar: what stands for its value in help texts.
        help: what it is, one sentence.
        show_default: what holds without it, in words.
        autocompletion: offers values.
    """

    __slots__ = ("autocompletion", "help", "metavar", "show_default")

    def __init__(
        self,
        *,
        metavar: str | None = None,
        help: str,
        show_default: str | None = None,
        autocompletion: Completer | None = None,
    ) -> None:
        self.metavar = metavar
        self.help = help
        self.show_default = show_default
        self.autocompletion = autocompletion


class Option(Argument):
    """What is said of an option.

    Args:
        names: `-s`, `--long`, or `--yes/--no`; without any, `--` and the name of the parameter.
        min, max: of a number.
        envvar: the environment variable that holds its value if it is not given.
        more: as of an argument.
    """

    __slots__ = ("envvar", "max", "min", "names")

    def __init__(
        self,
        *names: str,
        min: float | None = None,
        max: float | None = None,
        envvar: str | None = None,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self.names = names
        self.min = min
        self.max = max
        self.envvar = envvar


class Parameter(NamedTuple):
    """A parameter of a command.

    Attributes:
        name: in Python.
        type: of its value: bool, int, float, str, Path or a list of one of them; with None or without.
        default: what holds if it is not given; `...` if it must be given.
        said: of it.
    """

    name: str
    type: Any
    default: Any
    said: Argument

    @property
    def value_type(self) -> Any:
        """The type without None."""
        if isinstance(self.type, UnionType):
            [kind] = (each for each in get_args(self.type) if each is not NoneType)
            return kind
        return self.type

    @property
    def is_many(self) -> bool:
        """Whether it has a list of values."""
        return get_origin(self.value_type) is list

    @property
    def names(self) -> tuple[str, ...]:
        """The names of an option; none of an argument.

        >>> Parameter("dry_run", bool, False, Option(help="Change nothing.")).names
        ('--dry-run',)
        """
        if not isinstance(self.said, Option):
            return ()
        return self.said.names or (f"--{self.name.replace('_', '-')}",)


def parameters_of(command: Command) -> list[Parameter]:
    """The parameters of a command, as its annotations declare them, or its attribute `parameters`.

    >>> from typing import Annotated
    >>> def greet(name: Annotated[str, Argument(help="Whom.")], loudly: Annotated[bool, Option(help="!")] = False): ...
    >>> [parameter.name for parameter in parameters_of(greet)]
    ['name', 'loudly']
    """
    known: list[Parameter] | None = getattr(command, "parameters", None)
    return declared_by(inspect.signature(command, eval_str=True).parameters.values()) if known is None else known


def declared_by(signature: Any) -> list[Parameter]:
    """What annotated parameters of a function declare."""
    return [
        Parameter(
            each.name,
            each.annotation.__origin__,
            ... if each.default is each.empty else each.default,
            each.annotation.__metadata__[0],
        )
        for each in signature
    ]


class Group:
    """Commands that are called by a name below a common one.

    Args:
        help: what they are for.
        default: the command that runs if none is named.
    """

    def __init__(self, help: str, default: str = "") -> None:
        self.help = help
        self.default = default
        self.commands: dict[str, Command] = {}

    def command(self, name: str | None = None) -> Callable[[Command], Command]:
        """Decorate a function as a command of that name, by default its own."""

        def add(command: Command) -> Command:
            self.commands[name or command.__name__.replace("_", "-")] = command
            return command

        return add
