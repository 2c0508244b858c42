"""Sentences that reports end in: shares with their intervals, shortened lists of names, and the next command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from shlex import join, quote
from typing import Any

from hutch.shell.help_text import GLUE, command_line, width, wrapped

MOST = 3
"""Most sentences of a verdict, and most names of a list."""
_QUIET = ("--json", "--quiet")
_NEXT = "Next: "
_WHOLE = re.compile(r"\d %|\([\d.]+ to [\d.]+ %\)")
"""What no line ends in."""
_typed: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())


@dataclass(frozen=True)
class Verdict:
    """What an analysis found, in at most three sentences.

    Attributes:
        sentences: each ends in a full stop.
        command: to type next; empty if there is none.

    >>> Verdict(("All is well.",), "hutch crowd labels.tsv").as_json()
    {'verdict': ['All is well.'], 'next_command': 'hutch crowd labels.tsv'}
    """

    sentences: tuple[str, ...]
    command: str = ""

    def as_json(self) -> dict[str, Any]:
        """The sentences and the command as part of a JSON object."""
        return {"verdict": [*self.sentences], "next_command": self.command or None}

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Verdict:
        """The verdict that `as_json` has put into an object; empty if there is none."""
        return cls(tuple(found.get("verdict", ())), found.get("next_command") or "")

    def lines(self, columns: int | None = None) -> list[str]:
        """The verdict for people: an empty line, the sentences, and the command below them.

        Args:
            columns: of a line at most; None: those of the terminal, at most 80.
        """
        columns = columns or width()
        found = ["", *wrapped(_WHOLE.sub(_glued, str(self)), columns)] if self.sentences else []
        if self.command:
            quoted = "'" in self.command  # what is quoted cannot go on in another line
            first, *rest = [self.command] if quoted else command_line(self.command, columns - len(_NEXT))
            found += [] if found else [""]
            found += [_NEXT + first, *rest]
        return found

    def __str__(self) -> str:
        return " ".join(self.sentences)


def _glued(found: re.Match[str]) -> str:
    return found[0].replace(" ", GLUE)


def percent(share: float, low: float, high: float) -> str:
    """A share with its interval, in percent; with a decimal where whole numbers would hide the interval.

    Args:
        share, low, high: from 0 to 1.

    >>> percent(0.871, 0.85, 0.89), percent(0.9971, 0.9952, 0.998)
    ('87 % (85 to 89 %)', '99.7 % (99.5 to 99.8 %)')
    """
    digits = 0 if high - low >= 0.02 else 1
    first, least, most = (f"{100 * each:.{digits}f}" for each in (share, low, high))
    return f"{first} % ({least} to {most} %)"


def number(count: float) -> str:
    """A count with commas between thousands.

    >>> number(20232)
    '20,232'
    """
    return f"{count:,.0f}"


def things(count: int, thing: str, several: str = "") -> str:
    """A number of things, with commas between thousands.

    Args:
        count: of things.
        thing: one of them.
        several: more of them, if it is not `thing` with an s.

    >>> things(1, "task"), things(2040, "task")
    ('1 task', '2,040 tasks')
    """
    return f"{number(count)} {thing if count == 1 else several or thing + 's'}"


def names(found: Sequence[str], most: int = MOST) -> str:
    """A list of names, the first of them and how many more there are.

    Args:
        found: the names.
        most: of them that are shown.

    >>> names(["w7"]), names(["w7", "w12", "w31"]), names(["a", "b", "c", "d", "e"])
    ('w7', 'w7, w12 and w31', 'a, b, c and 2 more')
    """
    shown = [name or "(no name)" for name in found[:most]]
    rest = [f"{number(len(found) - most)} more"] if len(found) > most else []
    *head, last = [*shown, *rest] or [""]
    return f"{', '.join(head)} and {last}" if head else last


def remember(words: Iterable[str]) -> None:
    """Remember the words of the command that runs, for `next_command`.

    Args:
        words: the program, the command, and all that was typed behind it.
    """
    _typed.set(tuple(words))


def next_command(*more: str, without: Iterable[str] = ()) -> str:
    """The command that runs, with more words behind it; empty if no command runs.

    Args:
        more: words to add; a file that was typed becomes another one, so that no command writes what it reads.
        without: further words to leave out; `--json` and `--quiet` always are.

    >>> remember(["hutch", "crowd", "my labels.tsv", "--json"])
    >>> next_command("--next", "50")
    "hutch crowd 'my labels.tsv' --next 50"
    >>> remember(["hutch", "crowd", "labels.tsv"])
    >>> next_command("-p", "labels.tsv")
    'hutch crowd labels.tsv -p new-labels.tsv'
    >>> remember([])
    """
    left_out = {*_QUIET, *without}
    kept = [word for word in _typed.get() if word not in left_out]
    added = [f"new-{word}" if word in kept and "." in word else word for word in more]
    return join([*kept, *added]) if kept else ""


def typed_command() -> str:
    """The command that runs, as it was typed; empty if none does."""
    return join(_typed.get())


def other_command(*words: str) -> str:
    """A command of other words, quoted for a shell.

    >>> other_command("hutch", "judges", "my log.json")
    "hutch judges 'my log.json'"
    """
    return " ".join(map(quote, words))
