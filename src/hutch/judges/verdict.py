"""What a report on judges found, in three sentences."""

from collections.abc import Iterator

import numpy as np

from hutch.estimate.lot import SUSPECT, examine
from hutch.estimate.means import Interval
from hutch.estimate.questions import Items
from hutch.judges.lab import Report
from hutch.judges.measures import Row
from hutch.judges.runs import Runs
from hutch.shell.sentences import MOST, names, percent, things

SURE = 0.05
"""P-value over all rows below which a difference is said."""


def sentences(runs: Runs, report: Report) -> tuple[str, ...]:
    """At most three sentences: the best judge, what it gets wrong most, and the first thing that is amiss.

    Args:
        runs: what the report is on.
        report: of `hutch.judges.lab`.
    """
    if not runs.known.any():
        give = "give people's labels (--people), gold (--gold), or say which of them are people (--reference)"
        said = f"Cannot tell how good {_judges(runs)}, because no item has a true class: {give}."
        return (said, *_amiss(report))[:MOST]
    if "scores" in report:
        return (*_scores(report["scores"]), *_amiss(report))[:MOST]
    judged = [row for row in report["judges"] if row["accuracy"] is not None]
    if not judged:
        why = f"people's labels meet the judges' on {things(int(runs.known.sum()), 'item')} or fewer"
        return (f"Cannot tell how good {_judges(runs)}, because {why}: label 50 items drawn by lot.",)
    best = next(row for row in judged if row["judge"] == best_judge(report))
    found = [_best(runs, best, judged), _worst_error(report, best["judge"]), *_amiss(report)]
    found += [] if sum(map(bool, found)) >= MOST else [_rate(report, best["judge"])]
    return tuple(filter(None, found))[:MOST]


def _judges(runs: Runs) -> str:
    return f"{runs.judges[0]} is" if len(runs.judges) == 1 else f"the {len(runs.judges)} judges are"


def best_judge(report: Report) -> str:
    """The judge of classes with the highest accuracy, or the first; empty if none is judged."""
    judged = [row for row in report.get("judges", ()) if row["accuracy"] is not None]
    return str(max(judged, key=lambda row: float(row["accuracy"].estimate))["judge"]) if judged else ""


def by_lot(runs: Runs) -> bool:
    """Whether the judges say of the items that people labelled what they say of all; see `hutch.estimate.lot`."""
    if runs.known.all():
        return True
    judged = np.full((len(runs.items), len(runs.judges)), -1, np.int32)
    judged[runs.item, runs.judge] = runs.label
    places = np.flatnonzero(runs.known)
    return examine(Items(runs.classes, runs.judges, judged, places, runs.truth[places])).p_value >= SUSPECT


def _shares(found: Interval) -> str:
    return percent(found.estimate, found.low, found.high)


def _best(runs: Runs, best: Row, judged: list[Row]) -> str:
    """How often the best judge agrees with people, beside the others and a constant answer."""
    found: Interval = best["accuracy"]
    said = f"{best['judge']} agrees with people on {_shares(found)} of {things(best['items'], 'item')}"
    said += "" if by_lot(runs) else ", which were not drawn by lot"
    share = np.nanmean(runs.truth, axis=0)
    common, most = runs.classes[int(share.argmax())], float(share.max())
    if found.low <= most:
        return f"{said}, not surely more often than one who always says {common!r} ({100 * most:.0f} %)."
    behind = [row["judge"] for row in judged if row["accuracy"].high < found.low]
    rest = len(judged) - 1 - len(behind)
    if not rest and behind:
        return f"{said}, more often than {names(behind)}."
    also = f"{rest} of the {len(judged) - 1} others may be as good" if len(judged) > 2 else "the other may be as good"
    return f"{said}; {also}." if rest else f"{said}."


def _worst_error(report: Report, judge: str) -> str:
    """The class of which the judge misses the largest share."""
    rows = [row for row in report.get("classes", ()) if row["judge"] == judge and row["recall"] is not None]
    if not rows:
        return ""
    few = [row for row in report["classes"] if row["judge"] == judge and row["recall"] is None]
    if few:
        number_of = f"{things(few[0]['items'], 'item')} {'is' if few[0]['items'] == 1 else 'are'} {few[0]['class']!r}"
        return f"Only {number_of}, too few to tell how many of them it finds."
    worst = min(rows, key=lambda row: float(row["recall"].estimate))
    found: Interval = worst["recall"]
    also = f" ({worst['also']})" if "also" in worst else ""
    return f"It finds {_shares(found)} of the {things(worst['items'], 'item')} that are {worst['class']!r}{also}."


def _rate(report: Report, judge: str) -> str:
    """The share of a class that the judge says, and the corrected one."""
    for row in report.get("rates", ()):
        if row["judge"] == judge:
            said, found = row["said"], row["corrected"]
            start = f"It says {row['class']!r} on {100 * said.estimate:.0f} % of {things(row['items'], 'item')}"
            if not isinstance(found, Interval) or found.high - found.low > 0.5:
                return f"{start}; its errors do not let you tell how many are."
            return f"{start}; corrected for its errors, {_shares(found)} are."
    return ""


def _amiss(report: Report) -> Iterator[str]:
    """Position bias, slices and versions whose difference is no chance, the surest of each."""
    for row in _sure(report.get("order", [])):
        first: Interval = row["first"]
        if first is not None:
            place = "first" if first.estimate > 0.5 else "second"
            share = first if first.estimate > 0.5 else _turned(first)
            yield f"{row['judge']} prefers the {place} of two equal answers: it wins {_shares(share)} of the time."
    for row in _sure(report.get("slices", [])):
        found = row.get("accuracy")
        if found is not None and row["rest"] is not None:
            than = f"and on {_shares(row['rest'])} of the rest"
            yield f"On {row['slice']}, {row['judge']} agrees with people on {_shares(found)}, {than}."
    for row in _sure(report.get("versions", [])):
        change: Interval = row["change"]
        if change is not None and row["of"] not in ("score", "error"):
            moved = "rose" if change.estimate > 0 else "fell"
            size = change if change.estimate > 0 else _turned(change, 0.0)
            yield f"From {row['versions'].replace('=', ' to ')}, {row['of']} {moved} by {_shares(size)}."


def _turned(found: Interval, whole: float = 1.0) -> Interval:
    """The interval of `whole` less the mean."""
    return Interval(whole - found.estimate, whole - found.high, whole - found.low, found.deviation, found.labelled, 0)


def _sure(rows: list[Row]) -> list[Row]:
    """The row with the least p-value of all, if it is below `SURE`."""
    sure = [row for row in rows if row.get("p of all") is not None and row["p of all"] < SURE]
    return sorted(sure, key=lambda row: float(row["p of all"]))[:1]


def _scores(rows: list[Row]) -> Iterator[str]:
    """How the scores of the best judge relate to those of people."""
    known = [row for row in rows if row["bias"] is not None and row["correlation"] is not None]
    if not known:
        yield "Cannot tell how good the scores are, because too few items have a score by people: label 50 by lot."
        return
    best = max(known, key=lambda row: float(row["correlation"].estimate))
    bias, like = best["bias"], best["correlation"]
    yield (
        f"{best['judge']}'s scores correlate with people's by {like.estimate:.2f} ({like.low:.2f} to {like.high:.2f})."
    )
    if bias.low <= 0 <= bias.high:
        yield f"They are neither higher nor lower, as far as can be told: {_moved(bias)}."
    else:
        yield f"They are {'higher' if bias.estimate > 0 else 'lower'} by {_moved(bias)}."


def _moved(bias: Interval) -> str:
    return f"{bias.estimate:.3g} on average ({bias.low:.3g} to {bias.high:.3g})"
