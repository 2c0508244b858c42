"""The tree of Hutch's errors.

HutchError                  exit status 1: the run failed
├── UsageError              exit status 2: the command line is wrong
│   └── ConfigError         a chain or a parameter is wrong
├── DataError               a place in a data file
├── ModelError              a model file that cannot be used
├── PluginError             a plugin that breaks its contract
└── StoreError              a label store that cannot be used
"""

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class HutchError(Exception):
    """Base of all errors a user can cause; its text is complete and meant for people.

    `exit_code` is the status of the command line when the error reaches it.
    """

    exit_code = 1


class UsageError(HutchError):
    """The command line is wrong."""

    exit_code = 2


class ConfigError(UsageError):
    """A chain, one of its layers or a parameter is wrong."""


class DataError(HutchError):
    """A place in a data file is wrong, or the file cannot be read."""


class ModelError(HutchError):
    """A model file is missing, truncated, foreign or newer than this version."""


class PluginError(HutchError):
    """A plugin cannot be loaded or breaks its contract."""


class StoreError(HutchError):
    """A label store cannot be used."""


def at(source: str, line: int | None, column: int | None, text: str) -> str:
    """Join a place and a message as `source:line:column: text`.

    Args:
        source: file name, or a substitute such as `<stdin>`.
        line, column: counted from 1; None leaves them out.
        text: what, got, wanted.

    >>> at("chain.yaml", 4, 7, "unknown key")
    'chain.yaml:4:7: unknown key'
    """
    place = ":".join(str(part) for part in (source, line, column) if part not in (None, ""))
    return f"{place}: {text}" if place else text


class Problem(DataError):
    """A wrong place in data, as readers raise it: they know the line, and `reading` adds the source.

    Args:
        text: what, got, wanted.
        line, column: counted from 1; None: the whole source.

    >>> with reading("votes.csv"):
    ...     raise Problem("the task is empty", 3, 5)
    Traceback (most recent call last):
    hutch.core.errors.Problem: votes.csv:3:5: the task is empty
    """

    source = ""

    def __init__(self, text: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(text, line, column)
        self.text, self.line, self.column = text, line, column

    def __str__(self) -> str:
        return at(self.source, self.line, self.column, self.text)


@contextmanager
def reading(source: str) -> Iterator[None]:
    """Add the name of a source to problems raised in the block, unless they name a part of it.

    Args:
        source: its name in messages.

    Raises:
        Problem: as it was raised, with the source.
        ConfigError: columns that the source lacks, likewise.
    """
    try:
        yield
    except Problem as problem:
        problem.source = problem.source or source
        raise
    except ConfigError as error:
        raise ConfigError(at(source, None, None, str(error))) from None


def shortened(text: str, most: int = 40) -> str:
    """Shorten a text for a message to `most` characters.

    >>> shortened("0123456789", 4)
    '0123…'
    """
    return text if len(text) <= most else text[:most] + "…"


def counted(number: int, thing: str, several: str = "") -> str:
    """A number of things, for messages.

    Args:
        number: of things.
        thing: one of them.
        several: more of them, if it is not `thing` with an s.

    >>> counted(1, "task"), counted(0, "task"), counted(2, "reply", "replies")
    ('1 task', '0 tasks', '2 replies')
    """
    return f"{number} {thing if number == 1 else several or thing + 's'}"


def _initials(name: str) -> str:
    return "".join(part[:1] for part in name.split("_"))


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """The nearest valid name as a clause, or all of them if none is near.

    >>> did_you_mean("clases", ["classes", "shape"])
    "did you mean 'classes'?"
    >>> did_you_mean("xyz", ["classes", "shape"])
    'valid: classes, shape'

    Names that share two letters of three are near only if they begin alike:

    >>> did_you_mean("nothing", ["hinge"]), did_you_mean("lasso", ["loss"])
    ('valid: hinge', "did you mean 'loss'?")

    A name cut short, or only its initials, is understood, too:

    >>> did_you_mean("oaa", ["linear", "one_against_all"])
    "did you mean 'one_against_all'?"
    """
    from difflib import get_close_matches  # not at the top: most runs make no mistake

    names = sorted(valid)
    near = get_close_matches(name, names, n=1, cutoff=0.67)
    bare = name.strip("[]()'\" ")
    near = near or get_close_matches(bare, [known for known in names if known[:1] == bare[:1]], n=1, cutoff=0.6)
    near = near or [known for known in names if len(name) > 1 and name in (known.split("_")[0], _initials(known))]
    return f"did you mean {near[0]!r}?" if near else f"valid: {', '.join(names)}"


def warn(text: str) -> None:
    """Warn the caller of Hutch: the warning points to their line, not to one in here."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "hutch":
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level)
