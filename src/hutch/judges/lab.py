"""A report on judges: all that is measured of each, of their panel, of slices of the items, and of two versions."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from hutch.core.errors import UsageError, did_you_mean
from hutch.crowd.aggregate import Aggregate, aggregate
from hutch.crowd.data.labels import from_codes
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.mixed.panel import Alone
from hutch.crowd.mixed.worth import worth
from hutch.crowd.models.two_level import TwoLevel
from hutch.estimate.clusters import Places, group_tests, holm, sign_test
from hutch.estimate.means import Array, Interval
from hutch.estimate.stack import cross_fitted
from hutch.judges import errors, measures
from hutch.judges.alt_test import winning_rate
from hutch.judges.measures import FEW, Judged, Row
from hutch.judges.runs import Runs

Report = dict[str, list[Row]]
"""The rows of each section: texts, numbers, intervals, and None for figures that cannot be estimated."""
PANEL = "panel"
SECTIONS = ("judges", "classes", "confusions", "rates", "scores", "repeats", "order", "slices", "versions", PANEL)
TEACH, FOLDS = 20, 5
"""Least number of items or clusters with a true class for a panel to learn from them; number of folds."""


def report(
    runs: Runs,
    pairs: Sequence[tuple[str, str]] = (),
    confidence: float = 0.95,
    seed: int = 0,
    least_accuracy: float | None = None,
) -> tuple[Report, Aggregate | None]:
    """Report on all judges of some runs.

    Args:
        runs: of `read_runs`.
        pairs: judges to compare, such as two versions of one, the older first.
        confidence: of the intervals, between 0 and 1.
        seed: of permutations and folds.
        least_accuracy: share of items in which the panel is surely right; None: as of `TwoLevel`.

    Returns:
        The sections that have rows, and the panel's result for all items; None for scores.

    Raises:
        UsageError: a pair names no judge, or slices are requested and no item has a label by people or gold.
    """
    for name in (name for pair in pairs for name in pair if name not in runs.judges):
        raise UsageError(f"--compare: no judge is {name!r}; {did_you_mean(name, runs.judges)}")
    if runs.slices and not runs.known.any():
        raise UsageError("--slice: wanted people (--people, --reference) or gold (--gold) to judge the judges by")
    everyone = [measures.judged(runs, j) for j in range(len(runs.judges))]
    found: Report = {name: [] for name in SECTIONS}
    for j, of in enumerate(everyone):
        who = {"judge": of.name}
        if runs.values is not None:
            found["scores"].append(who | measures.scores(runs, of, confidence))
        else:
            row = measures.agreement(runs, of, confidence) | errors.beyond_chance(runs, of, confidence)
            found["judges"].append(who | row | _against_people(runs, j))
            if runs.known.any():
                found["classes"] += [who | row for row in errors.by_class(runs, of, confidence)]
                found["confusions"] += _confusions(runs, of)
            rate = errors.corrected(runs, of, confidence)
            found["rates"] += [who | rate] if rate else []
            row = measures.repeats(runs, of, confidence)
            found["repeats"] += [who | row] if row["items"] else []
        if runs.answers:
            found["order"].append(who | measures.order(runs, of, confidence))
    _for_all_looks(found["order"])
    found["slices"] = slices_of(runs, everyone, confidence, seed)
    codes = {of.name: of for of in everyone}
    found["versions"] = [row for a, b in pairs for row in compared(runs, codes[a], codes[b], confidence, seed)]
    panel, row = _panel(runs, everyone, confidence, seed, least_accuracy)
    found[PANEL] = [{"judges": len(runs.judges)} | _among(runs, everyone, confidence) | row]
    for row in (row for rows in found.values() for row in rows):
        row |= {name: None for name, x in row.items() if isinstance(x, Interval) and x.effective < FEW - 1e-9}
    return {name: rows for name, rows in found.items() if rows}, panel


def _confusions(runs: Runs, of: Judged) -> list[Row]:
    """For each class by people, how many items the judge puts in each class; none where classes are many."""
    if len(runs.classes) > errors.MOST_CLASSES:
        return []
    rows = errors.confusions(runs, of)
    named = [dict(zip(runs.classes, row.tolist(), strict=True)) for row in rows]
    said = [{f"says {name}": value for name, value in row.items()} for row in named]
    return [{"judge": of.name, "people": name} | row for name, row in zip(runs.classes, said, strict=True)]


def _among(runs: Runs, everyone: list[Judged], confidence: float) -> Row:
    """Krippendorff's alpha of all judges of classes, each with their most frequent label of an item."""
    if runs.values is not None or len(everyone) < 2:
        return {}
    votes = np.zeros((len(runs.items), len(runs.classes)))
    for of in everyone:
        number = of.counts.sum(axis=1)
        seen = np.flatnonzero(number.any(axis=1))
        votes[seen, number[seen].argmax(axis=1)] += 1
    return {"alpha": errors.among(votes, everyone[0].cluster, confidence)}


def _against_people(runs: Runs, judge: int) -> Row:
    """The alternative annotator test, where several people label an item."""
    if runs.people is None or not (np.diff(runs.people.item_ptr) > 1).any():
        return {}
    mine = np.flatnonzero(runs.judge == judge)
    codes = np.column_stack([np.zeros(len(mine), np.int32), runs.item[mine], runs.label[mine]])
    labels = from_codes(codes, ["judge"], runs.items, runs.classes, runs.classes)
    return {"wins against people": winning_rate(runs.people, labels)}


def _for_all_looks(rows: list[Row]) -> None:
    """Add, after the p-values of rows, p-values that hold for all rows at once."""
    looks = [row for row in rows if row["p"] is not None]
    for row, chance in zip(looks, holm(np.array([row["p"] for row in looks])).tolist(), strict=True):
        row["p of all"] = chance


def slices_of(runs: Runs, everyone: list[Judged], confidence: float, seed: int) -> list[Row]:
    """Each judge in each slice against the rest: accuracy, or the mean error of scores."""
    rows: list[Row] = []
    looks: list[Row] = []
    outcomes = [of.agreed - (0 if runs.values is None else runs.truth[:, 0]) for of in everyone]
    what, ends = ("accuracy", (0.0, 1.0)) if runs.values is None else ("bias", None)
    for column, (slice_of, names) in runs.slices.items():
        for of, y in zip(everyone, outcomes, strict=True):
            use = np.isfinite(y) & (slice_of >= 0)
            chances = _chances(y[use], of.cluster[use], slice_of[use], len(names), seed)
            for k, name in enumerate(names):
                inside, rest = (of.mean(np.where(use & which, y, np.nan), confidence, ends)
                                for which in (slice_of == k, slice_of != k))  # fmt: skip
                row = {"slice": f"{column} {name}", "judge": of.name, "items": inside.labelled, what: inside}
                few = min(inside.effective, rest.effective) < FEW
                row |= {"rest": rest} | ({"p": None, "p of all": None} if few else {"p": float(chances[k])})
                rows.append(row)
                looks += [row] if k < 1 or len(names) > 2 else []  # of two slices each is the rest of the other
    _for_all_looks(looks)
    for before, row in pairwise(rows):
        row.setdefault("p of all", before.get("p of all"))
    return rows


def _chances(y: Array, cluster: Places, slice_of: Places, count: int, seed: int) -> Array:
    """P-values of the slices of one judge's outcomes."""
    code = np.unique(cluster, return_inverse=True)[1]
    first = np.zeros(code.max(initial=-1) + 1, np.int64)
    first[code] = slice_of
    if (first[code] == slice_of).all():
        sums, sizes = (np.bincount(code, each).astype(np.float64) for each in (y, np.ones(len(y))))
        return group_tests(sums, sizes, first, count, seed)
    member = np.eye(count)[slice_of] - np.eye(count)[slice_of].mean(axis=0)
    return np.array([sign_test(z * (y - y.mean()), cluster, seed) for z in member.T])


def compared(runs: Runs, old: Judged, new: Judged, confidence: float, seed: int) -> list[Row]:
    """Drift from one judge to another on the items of both: accuracy or error, then the shares of labels."""
    shares = [of.counts.sum(axis=1) / np.where((n := of.counts.sum(axis=(1, 2))) > 0, n, np.nan)[:, None]
              for of in (old, new)]  # fmt: skip
    same = old.mean((shares[0] * shares[1]).sum(axis=1), confidence)
    looks = {}
    if runs.known.any():
        looks["accuracy"] = new.agreed - old.agreed
    if runs.values is not None:
        distance = [np.abs(of.agreed - runs.truth[:, 0]) for of in (old, new)]
        looks = {"score": new.agreed - old.agreed, "error": distance[1] - distance[0]}
    else:
        kept = range(1 if len(runs.classes) == 2 else 0, len(runs.classes))
        looks |= {f"says {runs.classes[k]}": shares[1][:, k] - shares[0][:, k] for k in kept}
    rows = []
    for what, values in looks.items():
        use = np.isfinite(values)
        if use.any():
            row = {"versions": f"{old.name}={new.name}", "of": what, "items": int(use.sum()), "same verdict": same}
            row |= {"change": old.mean(values, confidence, (-1.0, 1.0) if runs.values is None else None)}
            rows.append(row | {"p": sign_test(values[use], old.cluster[use], seed)})
    if not rows:
        raise UsageError(f"--compare: {old.name} and {new.name} have no item in common")
    _for_all_looks(rows)
    return rows


def _panel(
    runs: Runs, everyone: list[Judged], confidence: float, seed: int, least_accuracy: float | None
) -> tuple[Aggregate | None, Row]:
    """The joint result of all judges, and its agreement with people, on items whose truth the panel has not seen.

    Items are taken in the order of their names and judges in the order of their labels, so that neither the order of
    the labels nor the names of the judges matter.
    """
    items = np.argsort(np.array(runs.items), kind="stable")
    judges = np.array(sorted(range(len(everyone)), key=lambda j: everyone[j].counts[items].tobytes()))
    known, cluster = runs.known[items], np.unique(runs.cluster[items], return_inverse=True)[1]
    groups = np.unique(cluster[known], return_inverse=True)[1]
    apart = int(groups.max(initial=-1)) + 1
    if runs.values is not None:
        if apart < TEACH:
            return None, {"taught by": 0}
        scores = np.stack([everyone[j].agreed[items] for j in judges], axis=1)
        places = np.flatnonzero(known)
        told = np.empty(len(items))
        told[items] = cross_fitted(scores, runs.truth[items[places], 0], places, seed=seed, groups=groups)
        row = measures.scores(runs, replace(everyone[0], agreed=told), confidence)
        return None, {"taught by": len(places)} | {name: row[name] for name in ("bias", "correlation", "error")}
    place, rank = np.argsort(items), np.argsort(judges)
    codes = np.column_stack([rank[runs.judge], place[runs.item], runs.label]).astype(np.int32)
    names = [runs.judges[j] for j in judges]
    order = np.lexsort(codes.T)
    labels = from_codes(codes[order], names, [runs.items[i] for i in items], runs.classes, runs.classes)
    truth = np.where(known, runs.truth[items].argmax(axis=1), -1).astype(np.int32)
    if apart < TEACH:
        result = aggregate(labels, TwoLevel(judges=True, least_accuracy=least_accuracy))
        posterior = result.probability
    else:
        model, posterior = Mixed(least_accuracy=least_accuracy), np.zeros((len(items), len(runs.classes)))
        model.alone = Alone()  # it is fitted once: no fold changes what judges say without gold
        result = aggregate(replace(labels, gold=truth), model)
        fold = np.zeros(len(items), np.int64)
        fold[known] = np.random.default_rng(seed).permutation(apart)[groups] % FOLDS
        for k in range(FOLDS):
            hidden = known & (fold == k)
            seen = replace(labels, gold=np.where(hidden, -1, truth).astype(np.int32))
            posterior[hidden] = aggregate(seen, model).probability[hidden]
    right = np.full(len(items), np.nan)
    right[items] = runs.truth[items, posterior.argmax(axis=1)]
    row = {"taught by": int(known.sum()) if apart >= TEACH else 0}
    row |= {"accuracy": everyone[0].mean(right, confidence)} if known.any() else {}
    value = worth(result.labels, result.fit.state)
    row |= {"votes": value.votes} | ({} if value.closed is None else {"closed": value.closed})
    doubts = [*(group.describe(names) for group in result.copies), *([result.doubt] if result.doubt else [])]
    return result, row | ({"doubt": "; ".join(doubts)} if doubts else {})
