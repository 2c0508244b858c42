"""Values written in a file, and where each of them stands."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from hutch.core.errors import at

Path: TypeAlias = tuple[str | int, ...]
"""Keys and list positions from the top of the document."""


class Place(NamedTuple):
    """Where something is written: a source and, in a file, line and column counted from 1."""

    source: str
    line: int | None = None
    column: int | None = None

    def says(self, text: str) -> str:
        """The message `text` at this place."""
        return at(self.source, self.line, self.column, text)

    @property
    def order(self) -> tuple[int, int]:
        """Sort key for messages: their order in the file; those without a line come last."""
        return (self.line if self.line is not None else 1 << 60, self.column or 0)


def config_path(path: Path) -> str:
    """A path as messages show it.

    >>> config_path(("chain", 1, "filter_tree", "classes"))
    'chain[1].filter_tree.classes'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


@dataclass(slots=True)
class Document:
    """A YAML document as plain values, with the place of every key and value.

    Attributes:
        value: dicts, lists and scalars.
        name: file name, or a substitute for one.
        keys: path -> place of the key (of the item, in a list).
        values: path -> place of the value.
    """

    value: Any
    name: str
    keys: dict[Path, Place] = field(default_factory=dict)
    values: dict[Path, Place] = field(default_factory=dict)

    def place(self, path: Path, *, key: bool = False) -> Place:
        """Place of the value at `path` (or of its key), or of the nearest thing around it that is written down."""
        for table in (self.keys, self.values) if key else (self.values,):
            if path in table:
                return table[path]
        return self.place(path[:-1]) if path else Place(self.name)

    def is_overridden(self, path: Path) -> bool:
        """Whether the value at `path` comes from an override: directly, or through an option that implies it."""
        place = self.place(path)
        return place.line is None and (path in self.values or place.source.startswith("--"))

    def written_at(self, path: Path, place: Place) -> None:
        """Record that everything at and below `path` is now written at `place`."""
        for table in (self.keys, self.values):
            for known in [known for known in table if known[: len(path)] == path]:
                del table[known]
            table[path] = place


def shown(value: Any) -> str:
    """A value as messages show it: in YAML's words, and shortened if it is long.

    >>> shown(True), shown(None), shown("abc"), shown([1, 2])
    ('true', 'nothing', "'abc'", '[1, 2]')
    """
    if value is None:
        return "nothing"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
