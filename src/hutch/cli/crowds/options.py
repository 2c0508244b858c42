"""The options of `hutch crowd`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from hutch.core.errors import UsageError

if TYPE_CHECKING:
    from hutch.crowd.exports.found import Columns


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdOptions:
    """The options of `hutch crowd` but those of `--pairs`, by their names."""

    labels: str
    method: str | None
    model: str | None
    gold: str | None
    score: str | None
    reference: tuple[str, ...]
    all_judges: bool
    next: int
    ask_of: str | None
    predictions: str | None
    detail: bool
    workers: str | None
    report: str | None
    suspects: str | None
    initial: str | None
    final: str | None
    test: bool
    passes: int
    slots: int | None
    shards: int | None
    ray: str | None
    classes: tuple[str, ...]
    ordered: bool | None
    set: tuple[str, ...]
    columns: Columns | str | None
    encoding: str
    quiet: bool
    json: bool

    def refuse(self, names: tuple[str, ...], why: str) -> None:
        """Refuse options that cannot be combined with another.

        Args:
            names: of the options.
            why: they do not.

        Raises:
            UsageError: one of them was given.
        """
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        for name in names:
            if given[name] and not (name == "passes" and given[name] == 1):
                raise UsageError(f"--{name.replace('_', '-')}: {why}")

    def notice(self, text: str) -> None:
        """Print a message on stderr, unless `quiet`."""
        if not self.quiet:
            print(text, file=sys.stderr)
