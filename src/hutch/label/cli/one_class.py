"""`hutch label --target recall=P --positive CLASS`: the items of one class, with a certificate."""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hutch.core.errors import counted
from hutch.core.strict_json import dumps
from hutch.durable.store import Store
from hutch.label.loop import Settings
from hutch.label.one_class.loop import ClassLoop, proofs_of
from hutch.label.one_class.promise import Promise
from hutch.label.one_class.ranker import words_in
from hutch.label.one_class.report import class_lines, class_sentences, planned, summary
from hutch.label.one_class.simulate import LEVELS, planned_costs, reached
from hutch.label.posterior import Votes
from hutch.label.stored import Stored, Waiting
from hutch.label.verdict import write_labels
from hutch.label.votes import Items, Said
from hutch.label.who import Who
from hutch.shell.sentences import Verdict, next_command, things


@dataclass(frozen=True)
class Purchase:
    """What is to be bought.

    Attributes:
        items: to label.
        classes: their names.
        who: the annotators.
        files: votes by kind of annotators that have a file.
        given: votes that cost nothing.
        settings: budget, confidence and seed.
        promises: about the class.
        positive: its name.
        forms: how files were read.
    """

    items: Items
    classes: list[str]
    who: Who
    files: Mapping[str, Said]
    given: list[Votes]
    settings: Settings
    promises: tuple[Promise, ...]
    positive: str
    forms: Mapping[str, str]

    @cached_property
    def words(self) -> list[str] | None:
        """Words of the items, where nobody votes."""
        return None if self.who.judges or self.given else words_in(self.items.documents)

    @property
    def code(self) -> int:
        """Of the class."""
        return self.classes.index(self.positive)


def find(asked: Purchase, store: Path, plan: bool, labels: Path | None, json: bool) -> None:
    """Plan or buy, and print what is promised.

    Args:
        asked: items, annotators and promises.
        store: the label store.
        plan: print the plan, and buy nothing.
        labels: file for the labels.
        json: print one JSON object.
    """
    code, settings, count = asked.code, asked.settings, len(asked.items.names)
    judges, people = asked.who.sellers
    proofs_of(asked.promises, bool(judges) or bool(asked.given))
    first, alone = _plan(asked, code)
    if plan:
        print(
            dumps({"read_as": asked.forms, **first, "people_alone": alone}) if json else "\n".join(_said(first, alone))
        )
        return
    for source, form in asked.forms.items():
        print(f"{source}: read as {form}", file=sys.stderr)
    print("\n".join(_said(first, alone)), file=sys.stderr)
    with Store(store, create=True) as opened:
        market = Stored(opened, asked.items, asked.classes, asked.who, asked.files)
        target = ",".join(f"{each.measure}={each.level!r}" for each in asked.promises)
        known = {"confidence": settings.confidence, "seed": settings.seed}
        market.pin({"target": target, "positive": asked.positive, **known})
        loop = ClassLoop(
            count, len(asked.classes), judges, people, market, settings, asked.given,
            promises=asked.promises, positive=code, words=asked.words,
        )  # fmt: skip
        try:
            outcome = loop.find()
        except Waiting:
            _wait(market, loop, asked, json)
            return
        still_open = market.open
    if labels is not None:
        write_labels(labels, asked.items.names, asked.classes, outcome, "judges" if judges or asked.given else "words")
    bill = {kind.name: kind.price * number for kind, number in zip([*judges, people], market.bought, strict=True)}
    said = class_sentences(outcome, asked.positive, settings.confidence, bill)
    verdict = Verdict(said, next_command("-p", "labels.tsv") if labels is None else "")
    if json:
        names = dict(zip(asked.items.names, (asked.classes[k] for k in outcome.label.tolist()), strict=True))
        found = {"read_as": asked.forms, **summary(outcome, asked.positive, settings.confidence), "bill": bill}
        print(dumps({**found, **verdict.as_json(), "labels": names}))
        return
    print("\n".join(class_lines(outcome, asked.positive, settings.confidence, bill)))
    if still_open:
        print(f"no longer needed: {counted(still_open, 'open request')}")
    print("\n".join(verdict.lines()))


def _plan(asked: Purchase, code: int) -> tuple[dict[str, object], float]:
    """Costs before anything is bought, the level that the money reaches if it is too little, and people's price."""
    judges, people = asked.who.sellers
    count, money = len(asked.items.names), asked.settings.budget
    shape = (count, len(asked.classes), judges, people, asked.settings, asked.given)
    costs = planned_costs(*shape, asked.promises, code, asked.words is not None)
    found: dict[str, object] = {"costs": costs, "least": asked.words is not None}
    if money < min(costs.values()):
        found |= {"budget": money, "reachable": reached(money, *shape, asked.promises, code, asked.words is not None)}
    return found, count * people.price * people.labels


def _said(plan: Mapping[str, object], alone: float) -> Sequence[str]:
    costs = plan["costs"]
    assert isinstance(costs, dict)
    lines = []
    if "budget" in plan:
        level = plan["reachable"]
        reach = f"it reaches about {level:g} at best" if level is not None else f"it does not reach {LEVELS[-1]:g}"
        lines.append(f"{plan['budget']:g} is less than every case of the plan: {reach}")
    cases = ", ".join(f"{cost:.6g} {text}" for text, cost in costs.items())
    least = "at least " if plan["least"] else ""
    return [*lines, f"plan: {least}{cases}; people alone: {alone:.6g}"]


def _wait(market: Stored, loop: ClassLoop, asked: Purchase, json: bool) -> None:
    """Say that people still have to answer."""
    how = market.page(asked.classes)
    text = f"{things(market.open, 'request waits', 'requests wait')} for people's answers on a page."
    if json:
        found = {"state": "waiting", "waiting": market.open, "spent": market.spent, "planned": loop.planned}
        print(dumps(found | {"reachable": loop.reachable} | Verdict((text,), how).as_json()))
        return
    print(f"waiting for answers to {things(market.open, 'request')}: {how}")
    print(f"spent {market.spent:.6g}{planned(loop.planned)}")
    if loop.reachable is not None and math.isfinite(asked.settings.budget):
        first = asked.promises[0]
        text = f"{asked.settings.budget:g} is likely to reach {first.measure} {loop.reachable:.2f}, not {first.level:g}"
        print(text)
