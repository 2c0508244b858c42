"""Whether the name of a column of a wide table may be a worker's, and whether its rows are those of people."""

import re
from collections.abc import Collection, Sequence

from hutch.core.errors import Problem
from hutch.crowd.data.known import HEADERS, USUAL, key_of

_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")
_WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+")
_NOT_PEOPLE = frozenset(
    (
        "adjudicated age batch category certain certainty chars confidence confident consensus cost country date "
        "difficulty domain duration final flag flagged gender genre id index lang language latency length level "
        "majority meta notes order phase priority round score seconds section seed set source split stage status "
        "subset sure temperature test time timestamp tokens topic type version"
    ).split()
)
"""Words in the names of columns about the task, or the labels' outcome, without any person's labels."""
_NOBODY = frozenset("attempt expert model reviewer run trial".split())
"""Words that, without a name or a number, do not identify a person: such a column may hold the worker's name."""
_PEOPLE = HEADERS["worker"] | USUAL["worker"] | set(
    "emailaddress respondent respondentid participant participantid prolificpid prolificid responseid".split()
)  # fmt: skip
"""Names of columns that say who filled in the row of a form, in the spelling of `key_of`."""


def holds_people(name: str) -> bool:
    """Whether a column says by its name who filled in a row.

    >>> holds_people("Email Address"), holds_people("email"), holds_people("Participant ID")
    (True, False, True)
    """
    return key_of(name) in _PEOPLE


def are_addresses(cells: Collection[str]) -> bool:
    """Whether all cells are addresses of mail: of who filled in the row, or of what is judged.

    >>> are_addresses(["a@x.org", "b@x.org"]), are_addresses(["a"])
    (True, False)
    """
    return len(cells) > 0 and all(_ADDRESS.fullmatch(cell.strip()) for cell in cells)


def check_people(names: Sequence[str], fields: Sequence[str]) -> None:
    """Ask which columns are workers if one does not look like a person.

    Args:
        names: of the columns that share their values.
        fields: all names.

    Raises:
        Problem: with the way to name them.
    """
    odd = [name for name in names if not _may_be_person(name)]
    if odd:
        people = [name for name in names if name not in odd]
        way = ",".join(f"label={name}" for name in people[:3] or list(fields[:1]))
        raise Problem(
            f"the column {odd[0]!r} does not look like a worker: name those that are, --columns {way},...", 1, 1
        )


def _may_be_person(name: str) -> bool:
    words = {word.lower() for word in _WORD.findall(name)}
    nobody = words and words <= _NOBODY and not re.search(r"\d", name)
    return not (nobody or words & _NOT_PEOPLE)
