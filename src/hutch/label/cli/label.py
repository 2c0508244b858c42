"""`hutch label`: labels for the least money, with a certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hutch.core.errors import UsageError, counted, did_you_mean
from hutch.core.strict_json import dumps
from hutch.crowd.cli.columns import COLUMNS
from hutch.shell.declared import Argument, Option
from hutch.shell.reports import reports

if TYPE_CHECKING:
    from hutch.label.one_class.simulate import ClassRule
    from hutch.label.simulate import World

Target = Annotated[
    str,
    Option(
        metavar="WHAT=P",
        help="accuracy=P: share of the labels that must be right; of one class recall=P, precision=P, "
        "recall=P,precision=P or f1=P.",
    ),
]
Positive = Annotated[str | None, Option(metavar="CLASS", help="The class that recall, precision and f1 are about.")]
Confidence = Annotated[float, Option(metavar="P", help="Confidence of the certificate, between 0 and 1.")]
Seed = Annotated[int, Option(min=0, metavar="N", help="Seed of the draws.")]
Json = Annotated[bool, Option("--json", help="Print one JSON object.")]


def target_of(text: str) -> float:
    """The accuracy that `--target` sets.

    Raises:
        UsageError: another quantity, or a number that is not a share.
    """
    name, _, number = text.rpartition("=")
    name = name.strip()
    try:
        value = float(number)
    except ValueError:
        value = 0.0
    if name not in ("accuracy", "") or not 0 < value < 1:
        raise UsageError(f"--target: got {text!r}, wanted accuracy=P with P between 0 and 1, such as accuracy=0.95")
    return value


@reports
def simulate(
    target: Target = "accuracy=0.95",
    positive: Positive = None,
    who: Annotated[
        Path | None, Option(metavar="FILE", help="Judges and people with files of votes; people's votes are the truth.")
    ] = None,
    items: Annotated[int, Option(min=20, max=1_000_000, metavar="N", help="Without --who: items to simulate.")] = 2000,
    classes: Annotated[int, Option(min=2, max=1000, metavar="N", help="Without --who: number of classes.")] = 2,
    accuracy: Annotated[str, Option(metavar="P,P", help="Without --who: how often each judge is right.")] = "0.8,0.93",
    price: Annotated[
        str, Option(metavar="X,X,X", help="Without --who: a label of each judge, then of people.")
    ] = "0.002,0.04,1",
    errors: Annotated[
        str,
        Option(
            metavar="KIND",
            help="Without --who: calibrated, miscalibrated, or common, where 15% of the items mislead all judges.",
        ),
    ] = "calibrated",
    rate: Annotated[
        float, Option(min=0, max=1, metavar="P", help="Without --who, of one class: its share of the items.")
    ] = 0.1,
    runs: Annotated[int, Option(min=1, max=100_000, metavar="N", help="Number of runs.")] = 20,
    columns: Annotated[str | None, COLUMNS] = None,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Simulate `hutch label` on items with known truth, compared with other ways to label.

    Answers stay hidden until they are bought.

    Example: hutch label simulate --target accuracy=0.95 --runs 5
    """
    import numpy as np

    from hutch.label.loop import Settings
    from hutch.label.market import Seller
    from hutch.label.one_class.promise import promises_in
    from hutch.label.one_class.simulate import compare_class
    from hutch.label.simulate import compare, simulated
    from hutch.shell.waiting import waiting

    promises = promises_in(target)
    settings = Settings(0.5 if promises else target_of(target), confidence, seed=seed)
    shares, names = None, ["1", "0", *map(str, range(2, classes))]  # of invented classes; the first is looked for
    _check_positive(positive, bool(promises), target)
    if positive is not None and who is None:
        raise UsageError(f"--positive: got {positive!r} without --who, wanted --rate P: invented classes have no names")
    if not 0 < rate < 1:
        raise UsageError(f"--rate: got {rate:g}, wanted a number between 0 and 1")
    if promises:
        shares = np.full((items, classes), (1 - rate) / (classes - 1))
        shares[:, 0] = rate
    if who is not None:
        judges, people, world, names = _from_files(str(who), columns)

        def draw(run: int) -> World:
            return world
    else:
        right, prices = (_numbers(name, text) for name, text in (("accuracy", accuracy), ("price", price)))
        if len(prices) != len(right) + 1:
            raise UsageError(
                f"--price: got {len(prices)} prices, wanted {len(right) + 1}: of each judge, then of people"
            )
        judges = [Seller(f"judge {k + 1}", cost) for k, cost in enumerate(prices[:-1])]
        people = Seller("people", prices[-1])

        def draw(run: int) -> World:
            return simulated(items, right, classes, errors, [seed, run], shares)

    if promises:
        code = _code_of(positive if who is not None else names[0], names, target)
        with waiting("label simulate"):
            rules = compare_class(draw, judges, people, settings, runs, promises, code)
        _show_class(rules, json)
        return
    with waiting("label simulate"):
        found = compare(draw, judges, people, settings, runs)
    if json:
        rows = ((name, vars(rule).items()) for name, rule in found.items())
        print(dumps({name: {key: None if x != x else x for key, x in rule} for name, rule in rows}))
        return
    print(f"{'':20} {'held':>5} {'bill':>10} {'of people':>9} {'right':>6} {'audits':>7} {'plan':>5} {'within':>6}")
    for name, rule in found.items():
        plan = f"{rule.plan:5.2f} {rule.within:6.2f}" if rule.plan == rule.plan else ""
        row = f"{name:20} {rule.held:5.2f} {rule.bill:10.2f} {rule.share:9.3f} {rule.accuracy:6.3f} {rule.audited:7.0f}"
        print(f"{row} {plan}".rstrip())


@reports
def label(
    items: Annotated[str, Argument(metavar="ITEMS", help="A table with a column id, or lines, each an item.")],
    who: Annotated[Path, Option(metavar="FILE", help="Judges and people, their prices, and how they answer.")],
    store: Annotated[Path, Option(metavar="FILE", help="The label store: nothing in it is bought twice.")],
    target: Target = "accuracy=0.95",
    positive: Positive = None,
    votes: Annotated[
        str | None, Option(metavar="FILE", help="Existing votes, which cost nothing: worker TAB item TAB label.")
    ] = None,
    classes: Annotated[
        str | None, Option(metavar="A,B", help="The classes.", show_default="those in the files of votes")
    ] = None,
    posteriors: Annotated[
        Path | None, Option("-p", "--predictions", metavar="FILE", help="Write labels and probabilities here.")
    ] = None,
    budget: Annotated[
        float | None, Option(min=0, metavar="X", help="Spend at most this much.", show_default="no limit")
    ] = None,
    plan: Annotated[bool, Option("--plan", help="Estimate the cost, and buy nothing.")] = False,
    columns: Annotated[str | None, COLUMNS] = None,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Buy labels until a certificate says that enough of them are right.

    Judges vote, cheap ones first; people label items that judges probably have wrong, and audit random others. With
    --positive, the items of one class are found: people look at the likeliest, which their words tell where nobody
    judges. While people still have to answer on the page of `hutch active serve`, the command says so and exits; run it
    again to continue.

    `hutch label` delivers labels of all items, `hutch estimate` only measures a rate or an accuracy from few labels,
    `hutch active` asks for the labels from which a model learns most.

    Example: hutch label items.csv --who who.yaml --target accuracy=0.95 --store labels.db -p labels.tsv
    """
    import math
    import sys

    from hutch.core.atomic import check_writable
    from hutch.crowd.data.asked import ColumnNames
    from hutch.durable.store import Store
    from hutch.label.cli.one_class import Purchase, find
    from hutch.label.loop import Loop, Settings
    from hutch.label.one_class.promise import promises_in
    from hutch.label.simulate import COMMON, invented
    from hutch.label.stored import Stored, Waiting
    from hutch.label.verdict import sentences, write_labels
    from hutch.label.votes import classes_of, read_items, read_votes
    from hutch.label.who import read_who
    from hutch.shell.sentences import Verdict, next_command, things

    promises = promises_in(target)
    share = 0.5 if promises else target_of(target)
    settings = Settings(share, confidence, math.inf if budget is None else budget, seed)
    if positive is None and promises:
        raise UsageError(f"--positive: got none, wanted the class that {target} is about")
    _check_positive(positive, bool(promises), target)
    known, wanted = read_who(who), read_items(items)
    if posteriors is not None:
        check_writable(posteriors)
    kinds = {**known.judges, known.people[0]: known.people[1]}
    asked = ColumnNames.of(columns).keeping((classes or "").split(","))
    files = {name: read_votes(kind.votes, asked) for name, kind in kinds.items() if kind.votes}
    there = read_votes(votes, asked) if votes else None
    forms = {said.source: said.form for said in (*files.values(), *([there] if there else [])) if said.form}
    names = classes_of([*files.values(), *([there] if there else [])], [c for c in (classes or "").split(",") if c])
    if len(names) < 2:
        raise UsageError(f"--classes: got {len(names)}, wanted at least 2: their names, separated by commas")
    judges, people = known.sellers
    count = len(wanted.names)
    places = {name: place for place, name in enumerate(wanted.names)}
    given = [there.votes(places, names, len(there.names[0]))] if there else []
    if promises and positive is not None:
        _code_of(positive, names, target)
        shown = Purchase(wanted, names, known, files, given, settings, promises, positive, forms)
        find(shown, store, plan, posteriors, json)
        return
    alone = (count - settings.allowed(count)) * people.price * people.labels
    low, high = invented(count, len(names), judges, people, settings, given)
    advice = "; people alone are cheaper: leave the judges out" if low > alone else ""
    cases = f"{low:.6g} if judges err independently, {high:.6g} if {COMMON:.0%} of the items mislead them all"
    text = f"plan: {cases}; people alone: {alone:.6g}{advice}"
    if plan:
        costs = {"read_as": forms, "independent": low, "misled": high, "people_alone": alone}
        print(dumps(costs) if json else text)
        return
    for source, form in forms.items():
        print(f"{source}: read as {form}", file=sys.stderr)
    print(text, file=sys.stderr)
    with Store(store, create=True) as opened:
        market = Stored(opened, wanted, names, known, files)
        market.pin({"target": settings.target, "confidence": confidence, "seed": seed})
        loop = Loop(count, len(names), judges, people, market, settings, given)
        try:
            outcome = loop.run()
        except Waiting:
            how = market.page(names)
            text = f"{things(market.open, 'request waits', 'requests wait')} for people's answers on a page."
            verdict = Verdict((text,), how)
            found = {"state": "waiting", "waiting": market.open, "spent": market.spent, "planned": loop.planned}
            print(dumps(found | verdict.as_json()) if json else f"waiting for answers to {market.open} requests: {how}")
            if loop.planned and not json:
                print(f"spent {market.spent:.6g}; {_planned(loop.planned)}")
            return
        still_open = market.open
    delivered = dict(zip(wanted.names, (names[k] for k in outcome.label.tolist()), strict=True))
    if posteriors is not None:
        write_labels(posteriors, wanted.names, names, outcome)
    bill = {kind.name: kind.price * number for kind, number in zip([*judges, people], market.bought, strict=True)}
    found = {
        "read_as": forms,
        "state": outcome.state, "accuracy": outcome.accuracy, "low": outcome.low, "confidence": confidence,
        "audited": outcome.audited, "spent": outcome.spent, "bill": bill, "planned": outcome.planned,
        "next_hundred": {"price": 100 * people.price * people.labels, "errors": outcome.next_hundred},
    }  # fmt: skip
    said = sentences(outcome.state, settings.target, outcome.low, outcome.accuracy, confidence, count, bill, alone)
    verdict = Verdict(said, next_command("-p", "labels.tsv") if posteriors is None else "")
    if json:
        print(dumps({**found, **verdict.as_json(), "labels": delivered}))
        return
    end = {"proved": "the certificate holds", "all": "people labelled enough", "money": "the budget is spent"}
    promise = f"at least {outcome.low:.4f} of {count} labels are right, with confidence {confidence:g}"
    missed = outcome.state == "all" and outcome.low < settings.target
    print(f"{'people have no more answers' if missed else end[outcome.state]}: {promise}")
    print(f"estimate {outcome.accuracy:.4f}, {outcome.audited} audited by lot, {int(outcome.checked.sum())} by people")
    shares = ", ".join(f"{name} {cost:.6g}" for name, cost in bill.items())
    print(f"bill {outcome.spent:.6g} ({shares}); {_planned(outcome.planned)}")
    print(f"the next 100 items for people would correct about {outcome.next_hundred:.1f} labels")
    if still_open:
        print(f"no longer needed: {counted(still_open, 'open request')}")
    print("\n".join(verdict.lines()))


def _check_positive(positive: str | None, one_class: bool, target: str) -> None:
    if positive is not None and not one_class:
        raise UsageError(f"--positive: got {positive!r} with {target}, wanted a target of one class: recall=0.95")


def _code_of(positive: str | None, names: Sequence[str], target: str) -> int:
    """The code of the class that a target is about."""
    if positive is None:
        raise UsageError(f"--positive: got none, wanted the class that {target} is about")
    if positive not in names:
        text = f"--positive: got {positive!r}, wanted one of {', '.join(names)}"
        raise UsageError(f"{text}; {did_you_mean(positive, names)}")
    return list(names).index(positive)


def _show_class(rules: Mapping[str, ClassRule], json: bool) -> None:
    if json:
        print(dumps({name: vars(rule) for name, rule in rules.items()}))
        return
    print(f"{'':8} {'held':>5} {'bill':>10} {'of people':>9} {'recall':>6} {'precision':>9} {'F1':>6} {'audits':>7}")
    for name, rule in rules.items():
        row = f"{name:8} {rule.held:5.2f} {rule.bill:10.2f} {rule.share:9.3f} {rule.recall:6.3f}"
        print(f"{row} {rule.precision:9.3f} {rule.f1:6.3f} {rule.audited:7.0f}")


def _planned(costs: tuple[float, float, float]) -> str:
    low, likely, high = (f"{round(cost, 2):.10g}" for cost in costs)
    return f"planned after the pilot {likely}, between {low} and {high}"


def _numbers(name: str, text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = [-1.0]
    most = 1.0 if name == "accuracy" else float("inf")
    if not all(0 <= value < most for value in found):
        raise UsageError(f"--{name}: got {text!r}, wanted numbers between 0 and {most:g}, separated by commas")
    return found


def _from_files(path: str, columns: str | None) -> tuple[Any, Any, World, list[str]]:
    """Judges, people, the world that files of votes make, and the names of its classes."""
    import numpy as np

    from hutch.core.errors import DataError, at
    from hutch.crowd.data.asked import ColumnNames
    from hutch.label.market import UNKNOWN
    from hutch.label.simulate import World
    from hutch.label.votes import classes_of, read_votes
    from hutch.label.who import read_who

    who = read_who(path)
    kinds = {**who.judges, who.people[0]: who.people[1]}
    for name, kind in kinds.items():
        if not kind.votes:
            raise UsageError(at(path, None, None, f"{name}: wanted a file of votes to simulate with"))
    asked = ColumnNames.of(columns)
    said = {name: read_votes(str(kind.votes), asked) for name, kind in kinds.items()}
    classes = classes_of(list(said.values()))
    judges, people = who.sellers
    truth = said[people.name]
    places = {name: place for place, name in enumerate(truth.names[1])}
    votes = truth.votes(places, classes, people.labels).label
    counts = np.stack([(votes == k).sum(axis=1) for k in range(len(classes))], axis=1)
    best = counts.max(axis=1)
    tied = (counts == best[:, None]).sum(axis=1) > 1
    if tied.all():
        raise DataError(at(truth.source, None, None, "people disagree on every item, wanted a majority on some"))
    keep = {name: k for k, name in enumerate(name for name, place in places.items() if not tied[place])}
    answers = np.where(tied, UNKNOWN, counts.argmax(axis=1))[~tied].astype(np.int32)
    world = World(len(classes), answers, [said[j.name].votes(keep, classes, j.labels) for j in judges])
    return judges, people, world, classes
