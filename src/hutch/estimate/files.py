"""Items, people and judges from files of labels."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

import numpy as np

from hutch.core.errors import DataError, UsageError, at
from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.labels import Labels, almost_alike
from hutch.crowd.data.names import Names
from hutch.crowd.data.spelling import told_alike
from hutch.crowd.data.values import number_in
from hutch.crowd.mixed.model import check_both, matches
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.read.kinds import reference_workers
from hutch.crowd.read.labels import read_gold
from hutch.crowd.read.labels import read_questions as all_questions
from hutch.crowd.read.source import called
from hutch.estimate.questions import Items

SEVERAL = 1.5
"""Labels per item from which a crowd model can estimate how noisy people are."""
PEOPLE = DawidSkene(right=3.0, wrong=1.0)
"""Model of noisy people: less sure of rows with few labels than the default, whose intervals would be too narrow."""

FAR = 6.0
"""Standard deviations at most between the sum of 1 / P of the labelled items and the number of items."""

NEAR = 1000
"""Names of judges at most among which the nearest to a name of people is looked for."""


def read_items(
    people: str | Path,
    judges: str | Path | None = None,
    drawn: str | Path | None = None,
    total: int | None = None,
    noisy: bool = False,
    reference: Sequence[str] = (),
    columns: ColumnNames | None = None,
) -> Items:
    """Read the labels of people and judges.

    Args:
        people: labels of people, worker TAB item TAB label, as `hutch crowd` reads them, or a frame.
        judges: labels of judges, likewise; None: they are among those of people, if a reference is declared.
        drawn: item TAB probability with which it was drawn for people.
        total: number of items, if the files do not name all.
        noisy: people err: P(class) of an item is that of a crowd model of the people; otherwise the share of votes.
        reference: names or globs of the workers who are people, the others being judges; empty: those whom a column
            `kind` declares.
        columns: names of columns or fields, of both files.

    Raises:
        DataError: a file cannot be read, or a place in it is wrong.
        UsageError: people are noisy with too few labels, or there are more items than `total`.
    """
    found = read_questions(people, judges, drawn, total, noisy, reference, columns)
    if len(found) > 1:
        raise UsageError(f"got answers to several questions ({', '.join(found)}), wanted one")
    return next(iter(found.values()))


def read_questions(
    people: str | Path,
    judges: str | Path | None = None,
    drawn: str | Path | None = None,
    total: int | None = None,
    noisy: bool = False,
    reference: Sequence[str] = (),
    columns: ColumnNames | None = None,
) -> dict[str, Items]:
    """The items of each question, by its name; one question has none. All else as of `read_items`."""
    if judges is not None and reference:
        raise UsageError("--reference: cannot be combined with --judges, whose labels are judges' already")
    chances, found = _chances(drawn) if drawn is not None else None, {}
    columns = replace(columns or ColumnNames(), usual=False)
    patterns = () if judges is not None else tuple(reference) or reference_workers(people, columns)
    alone = replace(columns, anonymous=not patterns)  # one label an item is one person's
    for question, said in all_questions(people, columns=alone).items():
        told, form, notices = None, said.form, notices_of(said, people)
        if judges is not None:
            others = all_questions(judges, classes=said.classes, columns=columns)
            if question not in others:
                raise UsageError(f"{called(judges)}: got no answers to the question {question!r} of {called(people)}")
            told = others[question]
            form += f"; judges: {told.form}"
            notices += notices_of(told, judges)
        elif patterns:
            person = matches(said.worker_names, patterns)
            check_both(said, patterns)
            keep = person[said.workers]
            said, told = said.chosen(keep), said.chosen(~keep)
        items = items_of(said, told, chances, total, noisy, str(drawn))
        found[question] = replace(items, form=form, notices=notices)
    return found


def notices_of(labels: Labels, source: str | Path) -> list[str]:
    """What a user should know of the labels of a file."""
    alike = told_alike(labels.worker_names, labels.item_names)
    return [*labels.problems.lines(called(source)), *(f"{called(source)}: {text}" for text in alike)]


def items_of(
    said: Labels,
    told: Labels | None = None,
    chances: Mapping[str, float] | None = None,
    total: int | None = None,
    noisy: bool = False,
    drawn: str = "<probabilities>",
) -> Items:
    """Combine the labels of people and judges.

    Args:
        said: labels of people.
        told: labels of judges, whose first classes are those of the people.
        chances: of each item that people labelled: the probability with which it was drawn; None: equal.
        total, noisy: as in `read_items`.
        drawn: source of the probabilities, for messages.

    Raises:
        DataError: an item with labels has no probability, the probabilities do not fit the number of items, or items or
            classes of people and judges do not meet.
        UsageError: people are noisy with too few labels, or there are more items than `total`.

    >>> from hutch.crowd.data.labels import from_triples
    >>> people = from_triples([("ann", "t1", "ham")])
    >>> items = items_of(people, from_triples([("gpt", "t1", "ham"), ("gpt", "t2", "ham")], people.classes))
    >>> items.judged.tolist(), items.labelled.tolist()
    ([[0], [0]], [0])
    """
    said = _answered(said)
    if told:
        check_same("item", said.item_names, told.item_names)
        check_same(
            "class",
            (said.classes[k] for k in np.unique(said.labels)),
            (told.classes[k] for k in np.unique(told.labels)),
        )
        if chances:
            check_same("item", chances, told.item_names)
    names = list(dict.fromkeys([*said.item_names, *(told.item_names if told else ()), *(chances or ())]))
    if total is not None and total < len(names):
        raise UsageError(f"--items: got {total}, but the files name {len(names)} items")
    classes = told.classes if told else said.classes
    count = len(names) if total is None else total
    judges = np.unique(told.workers) if told else np.zeros(0, np.int32)
    judged = np.full((count, len(judges)), -1, np.int32)
    if told:
        place = {name: k for k, name in enumerate(names)}
        at_item = np.array([place[name] for name in told.item_names], np.int64)
        lot = np.random.default_rng(0).permutation(len(told))  # of labels that are as frequent the last one counts
        judged[at_item[told.label_items[lot]], np.searchsorted(judges, told.workers[lot])] = told.labels[lot]
    shares = _noisy(said) if noisy else said.vote_share()
    shares = np.column_stack([shares, np.zeros((len(shares), len(classes) - len(said.classes)))])
    probability = None
    if chances is not None:
        missing = next((name for name in said.item_names if name not in chances), None)
        if missing is not None:
            raise DataError(at(drawn, None, None, f"item {missing!r} has labels, but no probability"))
        probability = np.array([chances[name] for name in said.item_names])
        _check_sum(float(np.sum(1 / probability)), float(1 / probability.min()), count, drawn)
    labelled = np.arange(said.items, dtype=np.int64)
    names_of_judges = [told.worker_names[j] for j in judges] if told else []
    asked = {labels.worker_names[w]: labels for labels in (said, told) if labels for w in _inconsistent(labels)}
    return Items(classes, names_of_judges, judged, labelled, shares, probability, noisy, [*asked])


def _inconsistent(labels: Labels) -> list[int]:
    """Workers whose repeated labels of an item differ."""
    present = np.unique(labels.workers)
    return [w for w in present.tolist() if len(labels.repeats) and labels.repeats[w, 1] < labels.repeats[w, 0]]


def check_same(kind: str, of_people: Iterable[str], of_judges: Iterable[str]) -> None:
    """Refuse names of people and judges if none is common, or if two differ only in spelling."""
    people, judges = list(of_people), dict.fromkeys(of_judges)
    missing = dict.fromkeys(name for name in people if name not in judges)
    if not missing or not judges:
        return
    for first, *others in almost_alike([*missing, *judges]):
        other = next((name for name in others if first in missing and name in judges), None)
        if other is not None:
            raise DataError(f"{kind} {first!r} of people is {other!r} of judges; wanted one spelling")
    if len(missing) == len(set(people)):
        first, some = next(iter(missing)), list(islice(judges, NEAR))
        near = get_close_matches(first, some, n=1, cutoff=0.0)[0]
        raise DataError(f"people and judges have no {kind} in common: the nearest to {first!r} of people is {near!r}")


def _check_sum(found: float, largest: float, wanted: int, place: str) -> None:
    """Refuse probabilities that do not fit the number of items drawn."""
    if abs(found - wanted) > FAR * math.sqrt(wanted * max(largest - 1, 0.0)) + 1e-6 * wanted:
        got = f"1 / probability of the labelled items adds up to {found:.6g}"
        raise DataError(at(place, None, None, f"{got}, wanted about {wanted}, the number of items"))


def _answered(labels: Labels) -> Labels:
    """Only the items that have labels."""
    counts = np.diff(labels.item_ptr)
    has = np.flatnonzero(counts)
    if len(has) == labels.items:
        return labels
    pointer = np.concatenate([[0], np.cumsum(counts[has])])
    names = Names.of([labels.item_names[int(item)] for item in has])
    return replace(labels, item_ptr=pointer, item_names=names, gold=labels.gold[has])


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
        found[name] = number_in(text)
        if not 0 < found[name] <= 1:
            got = f"item {name!r}: got {text!r}"
            raise DataError(at(str(path), None, None, f"{got}, wanted a probability above 0, up to 1"))
    return found
