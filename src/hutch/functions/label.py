"""`hutch.label`: labels at a promised accuracy for the least money, from functions that label."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hutch.core.errors import DataError, UsageError, did_you_mean
from hutch.crowd.data.frames import make_frame, package_of
from hutch.functions.result import Result
from hutch.label.loop import Loop, Outcome, Settings
from hutch.label.market import UNKNOWN, Places, Seller
from hutch.label.one_class.loop import ClassLoop, ClassOutcome
from hutch.label.one_class.promise import promises_of
from hutch.label.one_class.ranker import words_in
from hutch.label.one_class.report import class_sentences
from hutch.label.posterior import Array, Votes
from hutch.label.verdict import sentences
from hutch.shell.sentences import Verdict

_PEOPLE = "people"
Labeller = Callable[[list[Any]], Sequence[Any]]
"""Takes items, and returns the label of each, in the same order; None where it cannot tell."""


@dataclass(frozen=True, repr=False)
class Labelled(Result):
    """Labels with a certificate.

    Attributes:
        outcome: labels as codes, their posteriors, and the guarantees.
        items, classes: as given.
        verdict: at most three sentences.
    """

    outcome: Outcome | ClassOutcome
    items: list[Any]
    classes: list[str]
    verdict: tuple[str, ...]

    @property
    def text(self) -> str:
        """The verdict."""
        return "\n".join(Verdict(self.verdict).lines()).lstrip("\n")

    def to_frame(self) -> Any:
        """A row per item: `item label confidence checked`, whether people labelled it."""
        labels = [self.classes[code] if code >= 0 else None for code in self.outcome.label.tolist()]
        sure = self.outcome.posterior.max(axis=1, initial=0.0)
        columns = {"item": self.items, "label": labels, "confidence": sure, "checked": self.outcome.checked}
        return make_frame(package_of(None), "item", columns)


def label(
    items: Sequence[Any],
    classes: Sequence[str],
    *,
    judges: Mapping[str, tuple[Labeller, float]],
    people: tuple[Labeller, float],
    target: float | str = 0.95,
    positive: str | None = None,
    confidence: float = 0.95,
    budget: float = np.inf,
    seed: int = 0,
) -> Labelled:
    """Buy labels from judges and people until a share of them is certainly right, as `hutch label` does.

    Args:
        items: to be labelled, such as texts or mappings with texts. Where a target is about one class and nobody
            judges, the labels of people teach which words tell it.
        classes: the labels that may be given.
        judges: by name a function that labels items, and the price of one label; cheap ones are asked first.
        people: the same for people, whose labels are the truth.
        target: share of the labels that must be right, between 0 and 1; or, of one class, such as "recall=0.95",
            "precision=0.95", "recall=0.95,precision=0.9" or "f1=0.9".
        positive: the class that recall, precision and F1 are about.
        confidence: of the certificate, between 0 and 1.
        budget: the most money to spend.
        seed: of the draws.

    Raises:
        DataError: a function gives too few labels, or one that is no class.
        UsageError: a target or confidence out of range, or a budget that is too small to begin with.

    Source: see `hutch.label.certificate` and `hutch.label.one_class.certificate`.

    >>> found = label(
    ...     list(range(400)), ["even", "odd"], target=0.9,
    ...     judges={"model": (lambda some: ["odd" if k % 2 and k % 7 else "even" for k in some], 0.01)},
    ...     people=(lambda some: [["even", "odd"][k % 2] for k in some], 1.0),
    ... )
    >>> right = found.to_frame().label == [["even", "odd"][k % 2] for k in range(400)]
    >>> bool(right.mean() >= 0.9), found.outcome.spent < 400
    (True, True)
    >>> rare = label(
    ...     list(range(400)), ["yes", "no"], target="recall=0.9", positive="yes", judges={},
    ...     people=(lambda some: ["yes" if k % 4 == 1 else "no" for k in some], 1.0),
    ... )
    >>> rare.outcome.kept[0].low >= 0.9, rare.outcome.found + rare.outcome.missed >= 100
    (True, True)
    """
    shares: dict[str, Any] = {"confidence": confidence} if isinstance(target, str) else {
        "target": target, "confidence": confidence
    }  # fmt: skip
    for name, share in shares.items():
        if not 0 < share < 1:
            raise UsageError(f"{name}: got {share:g}, wanted a number between 0 and 1")
    promises = promises_of(target) if isinstance(target, str) else ()
    if promises and positive not in classes:
        raise UsageError(f"positive: got {positive!r}; {did_you_mean(str(positive), classes)}")
    if positive is not None and not promises:
        raise UsageError(f"positive: got {positive!r} with target={target:g}, wanted a target such as 'recall=0.95'")
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise UsageError(f"classes: got {list(classes)}, wanted two different names or more")
    if not len(items):
        raise UsageError("items: got none, wanted one or more")
    if _PEOPLE in judges:
        raise UsageError(f"judges: got one named {_PEOPLE!r}, wanted another name, which the bill tells from people")
    named = dict(sorted(judges.items(), key=lambda pair: pair[1][1]))
    sellers = [Seller(name, price) for name, (_, price) in named.items()]
    buyer = _Asked(list(items), list(classes), named, people)
    human = Seller(_PEOPLE, people[1])
    if isinstance(target, str):
        assert positive is not None
        loop = ClassLoop(
            len(items), len(classes), sellers, human, buyer, Settings(0.5, confidence, budget, seed),
            promises=promises, positive=list(classes).index(positive), words=None if judges else _words(items),
        )  # fmt: skip
        found = loop.find()
        return Labelled(found, list(items), list(classes), class_sentences(found, positive, confidence, buyer.bill))
    settings = Settings(target, confidence, budget, seed)
    outcome = Loop(len(items), len(classes), sellers, human, buyer, settings).run()
    said = sentences(
        outcome.state, target, outcome.low, outcome.accuracy, confidence, len(items), buyer.bill, people[1] * len(items)
    )
    return Labelled(outcome, list(items), list(classes), said)


def _words(items: Sequence[Any]) -> list[str] | None:
    """Words of items that are texts or documents."""
    documents = [{"text": each} if isinstance(each, str) else each for each in items]
    return words_in(documents) if all(isinstance(each, Mapping) for each in documents) else None


class _Asked:
    """A market of functions; nobody is asked the same twice."""

    def __init__(
        self,
        items: list[Any],
        classes: list[str],
        judges: Mapping[str, tuple[Labeller, float]],
        people: tuple[Labeller, float],
    ) -> None:
        self._items, self._codes = items, {name: code for code, name in enumerate(classes)}
        self._judges, self._people = list(judges.items()), people
        self._known: dict[tuple[str, int], int] = {}
        self.bill = dict.fromkeys([*judges, _PEOPLE], 0.0)

    @property
    def spent(self) -> float:
        """The price of all that was bought."""
        return sum(self.bill.values())

    def votes(self, judge: int, items: Places) -> Votes:
        """A judge's labels of some items."""
        name, (labeller, price) = self._judges[judge]
        codes = np.array(self._ask(name, labeller, price, items.tolist()), np.int32)[:, None]
        return Votes(codes, np.full(codes.shape, np.nan), np.zeros(codes.shape, np.int32))

    def people(self, fixes: Places, audits: Places, chances: Array) -> Iterator[int]:
        """People's labels; the whole batch is asked for at once."""
        yield from self._ask(_PEOPLE, *self._people, [*fixes.tolist(), *audits.tolist()])

    def answered(self, items: Places) -> Iterator[tuple[int, int]]:
        """Those of the last batch that were not needed for the proof: they are paid, and used."""
        return ((item, self._known[_PEOPLE, item]) for item in items.tolist() if (_PEOPLE, item) in self._known)

    def waits(self, items: Places) -> bool:
        """Never: a function answers at once."""
        return False

    def _ask(self, name: str, labeller: Labeller, price: float, items: list[int]) -> list[int]:
        new = [item for item in items if (name, item) not in self._known]
        if new:
            given = list(labeller([self._items[item] for item in new]))
            if len(given) != len(new):
                raise DataError(f"{name}: got {len(given)} labels of {len(new)} items, wanted one for each")
            for item, answer in zip(new, given, strict=True):
                self._known[name, item] = self._code(name, answer)
            self.bill[name] += price * len(new)
        return [self._known[name, item] for item in items]

    def _code(self, name: str, answer: Any) -> int:
        if answer is None:
            return UNKNOWN
        if not isinstance(answer, Hashable) or answer not in self._codes:
            raise DataError(f"{name}: got the label {answer!r}; {did_you_mean(str(answer), self._codes)}")
        return self._codes[answer]
