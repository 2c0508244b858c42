"""What a demonstration consists of."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Demonstration:
    """Files of made-up data, and the commands to type next.

    Attributes:
        files: the text of each file, by name; the first is the one to look at.
        commands: what each command answers, and the command; `{}` stands for the folder of the files.
    """

    files: dict[str, str]
    commands: tuple[tuple[str, str], ...]


def table(header: str, rows: Iterable[Sequence[object]]) -> str:
    """A table of comma-separated values.

    Args:
        header: the names of the columns, separated by commas.
        rows: the cells of each row.

    >>> table("id,plan", [("c1", "basic")])
    'id,plan\\nc1,basic\\n'
    """
    return "".join(f"{line}\n" for line in (header, *(",".join(map(str, row)) for row in rows)))


def numbered(random: Random, first: int, count: int, letter: str) -> Iterator[str]:
    """Names of things, with numbers that rise by one to three.

    Args:
        random: where the steps come from.
        first: the first number.
        count: how many names.
        letter: what stands before the number.
    """
    number = first
    for _ in range(count):
        yield f"{letter}{number}"
        number += random.randint(1, 3)
