"""The annotators: kinds of judges and people, their prices, and the source of their answers, from a YAML file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from hutch.core.chain.registry import Registry
from hutch.core.config.check import Checker
from hutch.core.config.yaml import read as read_yaml
from hutch.core.errors import ConfigError, DataError, at
from hutch.core.parameters import Parameters, Within
from hutch.label.market import Seller

WAYS = ("votes", "command", "store")
"""How answers come."""


class Kind(Parameters):
    """A kind of annotators.

    Attributes:
        kind: `judge`, or `person`, whose labels are the truth; exactly one kind is people.
        price: of one label, in any currency.
        labels: labels of each item, from different annotators; of people the most frequent one counts; in a tie,
            one more is asked for.
        accuracy: a guess of how often they are right, for the plan before anything is bought.
        votes: a file with their answers, as `hutch crowd` reads it, maybe with a column `probability`.
        command: reads items as JSON lines, prints an answer for each: `{"id": ..., "label": ..., "probability": ...}`.
        store: people answer through the label store, on its page or in Label Studio.
    """

    kind: Literal["judge", "person"]
    price: Annotated[float, Within(ge=0)]
    labels: Annotated[int, Within(ge=1, le=1000)] = 1
    accuracy: Annotated[float, Within(gt=0, lt=1)] = 0.85
    votes: str | None = None
    command: str | None = None
    store: bool = False

    def __post_init__(self) -> None:
        ways = [way for way in WAYS if getattr(self, way)]
        if len(ways) != 1:
            raise ValueError(f"got {' and '.join(ways) or 'none'}, wanted one of {', '.join(WAYS)}")
        if self.store and self.kind == "judge":
            raise ValueError("store: got true for a judge, wanted votes or a command")
        if self.command and self.kind == "judge" and self.labels > 1:
            raise ValueError(f"labels: got {self.labels} for a command, which gives one label of each item")


@dataclass(frozen=True)
class Who:
    """All annotators.

    Attributes:
        judges: by name, the cheapest first.
        people: the name of the kind of people, and the kind.
    """

    judges: dict[str, Kind]
    people: tuple[str, Kind]

    @property
    def sellers(self) -> tuple[list[Seller], Seller]:
        """Judges and people as the loop knows them."""
        return [_seller(*each) for each in self.judges.items()], _seller(*self.people)


def _seller(name: str, kind: Kind) -> Seller:
    return Seller(name, kind.price, kind.labels, kind.accuracy)


def read_who(path: str | Path) -> Who:
    """Read the annotators from a file.

    Raises:
        DataError: the file cannot be read.
        ConfigError: every mistake in it, each with its place.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(at(str(path), None, None, f"cannot be read: {error}")) from None
    return parse_who(text, str(path))


def parse_who(text: str, source: str = "who.yaml") -> Who:
    """The annotators, from YAML: name -> `Kind`.

    >>> who = parse_who('''
    ... large: {kind: judge, price: 0.02, command: python ask.py}
    ... small: {kind: judge, price: 0.001, votes: small.tsv}
    ... people: {kind: person, price: 0.5, store: true, labels: 2}
    ... ''')
    >>> list(who.judges), who.people[0]
    (['small', 'large'], 'people')

    Raises:
        ConfigError: every mistake in it, each with its place.
    """
    document = read_yaml(text, source)
    if not isinstance(document.value, dict) or not document.value:
        raise ConfigError(document.place(()).says("wanted kinds of annotators, as in 'people: {kind: person, ...}'"))
    checker = Checker(document, Registry())
    found = {name: checker.check(Kind, given, (name,)) for name, given in document.value.items()}
    checker.finish()
    people = [name for name, each in found.items() if each.kind == "person"]
    if len(people) != 1:
        place = document.place((people[1],), key=True) if people else document.place(())
        raise ConfigError(place.says(f"got {len(people)} kinds of people, wanted one with 'kind: person'"))
    judges = sorted(
        (name for name in found if name != people[0]), key=lambda name: found[name].price * found[name].labels
    )
    return Who({name: found[name] for name in judges}, (people[0], found[people[0]]))
