"""Items, people and judges from files of labels."""

from pathlib import Path

import numpy as np

from hutch.core.errors import DataError, UsageError, at
from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import Labels, read_gold, read_labels
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.estimate.questions import Items

SEVERAL = 1.5
"""Labels per item from which a crowd model can tell how noisy people are."""
PEOPLE = DawidSkene(right=3.0, wrong=1.0)
"""What noisy people mean: rows of few labels are held for less sure than by default, or intervals are too narrow."""


def read_items(
    people: str | Path,
    judges: str | Path | None = None,
    drawn: str | Path | None = None,
    total: int | None = None,
    noisy: bool = False,
) -> Items:
    """Read what people and judges say.

    Args:
        people: labels of people, worker TAB item TAB label, as `hutch crowd` reads them.
        judges: labels of judges, likewise.
        drawn: item TAB probability with which it was drawn for people.
        total: how many items there are, if more than the files name.
        noisy: people err: P(class) of an item is that of a crowd model of the people; otherwise the share of votes.

    Raises:
        DataError: a file cannot be read, or a place in it is wrong.
        UsageError: people are noisy with too few labels, or there are more items than `total`.
    """
    said = read_labels(people)
    chances = _chances(drawn) if drawn else {}
    told = read_labels(judges, classes=said.classes) if judges else None
    names = list(dict.fromkeys([*said.item_names, *(told.item_names if told else ()), *chances]))
    if total is not None and total < len(names):
        raise UsageError(f"--items: got {total}, but the files name {len(names)} items")
    classes = told.classes if told else said.classes
    count = len(names) if total is None else total
    judged = np.full((count, len(told.worker_names) if told else 0), -1, np.int32)
    if told:
        place = {name: k for k, name in enumerate(names)}
        at_item = np.array([place[name] for name in told.item_names], np.int64)
        judged[at_item[told.label_items], told.workers] = told.labels
    shares = _noisy(said) if noisy else said.vote_share()
    shares = np.column_stack([shares, np.zeros((len(shares), len(classes) - len(said.classes)))])
    probability = None
    if drawn:
        missing = next((name for name in said.item_names if name not in chances), None)
        if missing is not None:
            raise DataError(at(str(drawn), None, None, f"item {missing!r} has labels, but no probability"))
        probability = np.array([chances[name] for name in said.item_names])
    labelled = np.arange(said.items, dtype=np.int64)
    return Items(classes, told.worker_names if told else [], judged, labelled, shares, probability, noisy)


def _noisy(said: Labels) -> np.ndarray:
    """P(class) of the items that people labelled."""
    if len(said) < SEVERAL * said.items:
        got = len(said) / max(said.items, 1)
        raise UsageError(
            f"--noisy: got {got:.2f} labels per item, wanted at least {SEVERAL} to tell how noisy people are"
        )
    return aggregate(said, PEOPLE).fit.posterior  # not calibrated: that moves rates towards the middle


def _chances(path: str | Path) -> dict[str, float]:
    found = {}
    for name, text in read_gold(path).items():
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0 < value <= 1:
            raise DataError(
                at(str(path), None, None, f"item {name!r}: got {text!r}, wanted a probability above 0, up to 1")
            )
        found[name] = value
    return found
