"""The names by which the columns of a plain table are known."""

import re
from collections.abc import Sequence

from hutch.core.errors import Problem, did_you_mean
from hutch.crowd.exports.found import Columns

HEADERS = {
    "worker": {
        "worker", "workerid", "annotator", "annotatorid", "rater", "user", "userid", "labeler", "labeller", "performer",
        "judge",
    },
    "task": {"task", "taskid", "item", "itemid", "example", "question", "image", "unit", "unitid"},
    "kind": {"kind"},
    "price": {"price"},
    "label": {"label", "answer", "class", "response", "rating", "category", "truth", "gold"},
    "gold": {"truth", "gold"},
}  # fmt: skip
"""Names without case, blanks, `-` and `_`."""


def key_of(field: str) -> str:
    """A header without case, blanks, `-` and `_`."""
    return re.sub(r"[\s_-]", "", field.lower())


def places_of(fields: Sequence[str], role: str) -> list[int]:
    """The columns whose names are known for a role; a label that may be gold is one only if there is no other."""
    keys = [key_of(field) for field in fields]
    found = [place for place, key in enumerate(keys) if key in HEADERS[role]]
    if role == "label":
        found = [place for place in found if keys[place] not in HEADERS["gold"]] or found
    return found


def may_be_header(fields: Sequence[str]) -> bool:
    """Whether a row of worker, task and label has one of the names that such columns have, in its place.

    >>> may_be_header(["performer", "INPUT:image", "verdict"]), may_be_header(["ann", "t1", "yes"])
    (True, False)
    """
    return any(key_of(field) in HEADERS[role] for field, role in zip(fields, ("worker", "task", "label"), strict=True))


def roles_in(fields: Sequence[str], columns: Columns) -> dict[str, str]:
    """The name of the field of each role: those given, else those known; `worker` and `gold` may be missing.

    Raises:
        Problem: no task or no label, or a given name does not exist.
    """
    given = {"worker": columns.worker, "task": columns.task, "label": (*columns.label, "")[0], "gold": columns.gold}
    found: dict[str, str] = {}
    for role, name in given.items():
        if name and name not in fields:
            raise Problem(f"no column {name!r} for the {role}; {did_you_mean(name, fields)}")
        free = [fields[place] for place in places_of(fields, role) if fields[place] not in found.values()]
        if name or free:
            found[role] = name or free[0]
        elif role in ("task", "label"):
            got, hint = ", ".join(fields), did_you_mean(role, [key_of(field) for field in fields])
            raise Problem(f"the header names no {role} column, got {got}; {hint}")
    return found
