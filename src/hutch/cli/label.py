"""`hutch label`: labels for the least money, with a certificate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hutch.cli.shell.complete import names
from hutch.cli.shell.declared import Option
from hutch.core.errors import UsageError
from hutch.core.strict_json import dumps

if TYPE_CHECKING:
    from hutch.label.simulate import Rule, World

Target = Annotated[
    str, Option(metavar="WHAT=P", help="Share of the delivered labels that must be right: accuracy=0.95.")
]
Confidence = Annotated[float, Option(metavar="P", help="Confidence of the certificate, between 0 and 1.")]
Seed = Annotated[int, Option(min=0, metavar="N", help="Seed of the draws.")]
Json = Annotated[bool, Option("--json", help="Print one JSON object.")]


def target_of(text: str) -> float:
    """The accuracy that `--target` asks for.

    Raises:
        UsageError: another quantity, or a number that is no share.
    """
    name, _, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = 0.0
    if name not in ("accuracy", "") or not 0 < value < 1:
        raise UsageError(f"--target: got {text!r}, wanted accuracy=P with P between 0 and 1, such as accuracy=0.95")
    return value


def simulate(
    target: Target = "accuracy=0.95",
    who: Annotated[
        Path | None, Option(metavar="FILE", help="Judges and people with files of votes; people's are the truth.")
    ] = None,
    items: Annotated[int, Option(min=20, max=1_000_000, metavar="N", help="Without --who: items to simulate.")] = 2000,
    classes: Annotated[int, Option(min=2, max=1000, metavar="N", help="Without --who: how many.")] = 2,
    accuracy: Annotated[str, Option(metavar="P,P", help="Without --who: how often each judge is right.")] = "0.8,0.93",
    price: Annotated[
        str, Option(metavar="X,X,X", help="Without --who: a label of each judge, then of people.")
    ] = "0.002,0.04,1",
    errors: Annotated[
        str,
        Option(
            metavar="KIND",
            help="Without --who: calibrated, miscalibrated, or common, where 15% of the items mislead all judges.",
            autocompletion=names("calibrated", "miscalibrated", "common"),
        ),
    ] = "calibrated",
    runs: Annotated[int, Option(min=1, max=100_000, metavar="N", help="How often.")] = 20,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Simulate `hutch label` on items whose truth is known, beside what people do otherwise.

    Answers stay hidden until they are bought.

    Example: hutch label simulate --target accuracy=0.95 --runs 5
    """
    from hutch.label.loop import Settings
    from hutch.label.market import Seller
    from hutch.label.simulate import compare, simulated

    settings = Settings(target_of(target), confidence, seed=seed)
    if who is not None:
        judges, people, world = _from_files(str(who))

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
            return simulated(items, right, classes, errors, [seed, run])

    found = compare(draw, judges, people, settings, runs)
    if json:
        print(dumps({name: _plain(rule) for name, rule in found.items()}))
        return
    print(f"{'':20} {'held':>5} {'bill':>10} {'of people':>9} {'right':>6} {'audits':>7} {'plan':>5}")
    for name, rule in found.items():
        plan = f"{rule.plan:5.2f}" if rule.plan == rule.plan else ""
        row = f"{name:20} {rule.held:5.2f} {rule.bill:10.2f} {rule.share:9.3f} {rule.accuracy:6.3f} {rule.audited:7.0f}"
        print(f"{row} {plan:>5}".rstrip())


def _plain(rule: Rule) -> dict[str, Any]:
    from dataclasses import asdict

    return {name: None if value != value else value for name, value in asdict(rule).items()}


def _numbers(name: str, text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = [-1.0]
    most = 1.0 if name == "accuracy" else float("inf")
    if not all(0 <= value < most for value in found):
        raise UsageError(f"--{name}: got {text!r}, wanted numbers between 0 and {most:g}, separated by commas")
    return found


def _from_files(path: str) -> tuple[Any, Any, World]:
    """Judges, people and the world that files of votes make."""
    import numpy as np

    from hutch.core.errors import DataError, at
    from hutch.label.market import UNKNOWN
    from hutch.label.simulate import World
    from hutch.label.votes import classes_of, read_votes
    from hutch.label.who import read_who

    who = read_who(path)
    kinds = {**who.judges, who.people[0]: who.people[1]}
    for name, kind in kinds.items():
        if not kind.votes:
            raise UsageError(at(path, None, None, f"{name}: wanted a file of votes to simulate with"))
    said = {name: read_votes(str(kind.votes)) for name, kind in kinds.items()}
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
    return judges, people, World(len(classes), answers, [said[j.name].votes(keep, classes, j.labels) for j in judges])
