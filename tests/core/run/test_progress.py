import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hutch.core.batch import Batch
from hutch.core.chain.engine import Outputs
from hutch.core.chain.reduction import Labels, Predictions
from hutch.core.chain.statistics import Statistics
from hutch.core.errors import UsageError
from hutch.core.kernel.abi import UNLABELED
from hutch.core.run.best_constant import BestConstant
from hutch.core.run.progress import Progress, ProgressEvent, Schedule, event_json, parse_schedule
from hutch.core.run.table import NARROW_HEADER, TABLE_HEADER, table_footer, table_row


class Recorded:
    """An engine that has seen what the test says."""

    takes, predicts = Labels.SIMPLE, Predictions.SCALAR
    last_features = 15

    def __init__(self, **counters: float) -> None:
        names = Statistics.__dataclass_fields__
        self.counters = dict.fromkeys(names, 0) | counters

    @property
    def statistics(self) -> Statistics:
        return Statistics(**self.counters)  # type: ignore[arg-type]


def count(progress: Progress, **growth: float) -> None:
    """Add to the counters of a run, and to its recent losses, as a driver does."""
    for name, value in growth.items():
        progress.tally[name] += value
        if name.startswith("sum_loss"):
            progress.tally[name.replace("sum", "recent")] += value


def batch(label: float, costs: Sequence[float] = ()) -> Batch:
    empty = np.zeros(2, np.int64)
    return Batch(
        *(empty, np.zeros(0, np.uint32), np.zeros(0, np.float32), empty, empty, np.zeros(0, np.uint32)),
        labels=np.array([label], np.float32),
        importance=np.ones(1, np.float32),
        base=np.zeros(1, np.float32),
        group=np.zeros(1, np.int64),
        tag_ptr=empty,
        cost_ptr=np.array([0, len(costs)]),
        costs=np.array(costs, np.float32),
    )


def outputs(prediction: float) -> Outputs:
    one = np.array([prediction], np.float32)
    return Outputs(one, one, one, one, np.zeros((1, 0), np.float32))


# Rows as Vowpal Wabbit 9.11.9 prints them.
VW_ROWS = [
    (
        (0.693147, 0.693147, 1, 1.0, 1.0, 0.0, 10),
        "0.693147 0.693147            1            1.0         1.0000         0.0000       10",
    ),
    (
        (15.643874, 17.236756, 5, 5.0, 2.718, -0.64399, 22),
        "15.64387 17.23675            5            5.0         2.7180        -0.6440       22",
    ),
    (
        (0.0, math.nan, 3, 2.0, None, 0.0, 2),
        "0.000000 n.a.                3            2.0        unknown         0.0000        2",
    ),
    (
        (0.75, 1.0, 4, 4.0, 5, 1, 13),
        "0.750000 1.000000            4            4.0              5              1       13",
    ),
    (
        (0.5, 1.0, 2, 2.0, "known", 1, 4),
        "0.500000 1.000000            2            2.0          known              1        4",
    ),
]


@pytest.mark.parametrize(("values", "row"), VW_ROWS)
def test_rows_are_vw_s(values: tuple[Any, ...], row: str) -> None:
    assert table_row(ProgressEvent(*values)) == row


def test_a_holdout_row_is_marked() -> None:
    event = ProgressEvent(0.006385, 0.006385, 256, 256.0, 0.4838, 0.5798, 15, holdout=True)
    assert table_row(event) == "0.006385 0.006385          256          256.0         0.4838         0.5798       15 h"


def test_columns_stand_below_their_titles() -> None:
    row = table_row(ProgressEvent(0.5, 0.5, 1, 1.0, 1.0, 0.0, 10))
    assert {len(line) for line in TABLE_HEADER.splitlines()} == {len(row)}
    event = ProgressEvent(0.5, 0.5, 123_456_789, 123_456_789.0, 1.0, 0.0, 12_345_678, holdout=True)
    assert {len(line) for line in NARROW_HEADER.splitlines()} == {len(table_row(event, narrow=True)) - 2} == {78}


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("2.0", [1, 2, 4, 8, 16]),
        ("1.5", [1, 2, 3, 5, 8, 12, 18]),
        ("1.0", [1, 2, 4, 8, 16]),  # taken as 2.0
        ("5", [5, 10, 15, 20]),
        ("0", list(range(1, 21))),  # taken as 1
    ],
)
def test_schedules_are_vw_s(text: str, due: list[int]) -> None:
    schedule, _ = parse_schedule(text)
    rows, at = [], schedule.first
    for weight in range(1, 21):
        if weight >= at:
            rows.append(weight)
            at = schedule.after(weight)
    assert rows == due


@pytest.mark.parametrize(
    ("text", "notice"),
    [
        ("1000", None),
        ("2.0", None),
        ("0", "-P: a distance of 0 is below 1: taken as 1"),
        ("0.5", "-P: a factor of 0.5 is not above 1: taken as 1.5"),
        ("10.0", "-P: a factor of 10.0 is large: rows will be far apart"),
    ],
)
def test_odd_schedules_are_mentioned(text: str, notice: str | None) -> None:
    assert parse_schedule(text)[1] == notice


@pytest.mark.parametrize("text", ["x", "", "nan", "inf"])
def test_wrong_schedules_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="wanted a distance such as 1000 or a factor such as 2.0"):
        parse_schedule(text)


def test_a_run_is_told_without_what_the_model_had_seen() -> None:
    engine = Recorded(examples=100, weighted_examples=150.0, weighted_labeled=100.0, sum_loss=1e18, queries=7)
    events: list[ProgressEvent] = []
    progress = Progress(engine, Schedule(), [events.append])  # type: ignore[arg-type]
    assert progress.row_at == 1.0
    count(progress, examples=1, weighted_labeled=1.0, weighted_unlabeled=2.0, sum_loss=1.0)
    assert progress.row(batch(1.0), 0, outputs(0.5)) == 6.0
    count(progress, examples=4, weighted_labeled=4.0, weighted_unlabeled=-1.0, sum_loss=0.0)
    engine.counters["queries"] = 9
    progress.row(batch(float(np.finfo(np.float32).max)), 0, outputs(0.5))
    first, second = events
    assert (first.average_loss, first.since_last, first.examples, first.weight, first.label) == (1.0, 1.0, 1, 3.0, 1.0)
    assert (second.average_loss, second.since_last, second.examples, second.label) == (0.2, 0.0, 5, None)
    assert (progress.statistics.examples, progress.statistics.queries) == (5, 2)


def test_an_outlier_does_not_hide_later_losses() -> None:
    events: list[ProgressEvent] = []
    progress = Progress(Recorded(), Schedule(1, True), [events.append])  # type: ignore[arg-type]
    for loss in (2.56e18, 0.25, 1.0):
        count(progress, weighted_labeled=1.0, sum_loss=loss)
        progress.row(batch(1.0), 0, outputs(0.5))
    assert [event.since_last for event in events] == [2.56e18, 0.25, 1.0]


def test_the_loss_of_a_pass_is_its_own() -> None:
    progress = Progress(Recorded(), Schedule(), holdout=True)  # type: ignore[arg-type]
    for loss in (2.56e18, 0.25):
        count(progress, weighted_holdout=2.0, sum_loss_holdout=loss)
        assert progress.end_pass() == loss / 2
    assert np.isnan(progress.end_pass())


def test_later_passes_show_the_holdout() -> None:
    events: list[ProgressEvent] = []
    progress = Progress(Recorded(), Schedule(1, True), [events.append], holdout=True)  # type: ignore[arg-type]
    count(progress, weighted_labeled=9.0, sum_loss=9.0, weighted_holdout=1.0, sum_loss_holdout=0.5)
    progress.row(batch(1.0), 0, outputs(0.5))
    progress.pass_number = 2
    progress.row(batch(1.0), 0, outputs(0.5))
    count(progress, weighted_holdout=1.0, sum_loss_holdout=0.25)
    progress.row(batch(1.0), 0, outputs(0.5))
    shown = [(event.average_loss, event.since_last, event.holdout) for event in events]
    assert shown == [(1.0, 1.0, False), (0.5, 0.5, True), (0.375, 0.25, True)]


@pytest.mark.parametrize(
    ("takes", "label", "costs", "shown"),
    [
        (Labels.SIMPLE, 0.5, [], 0.5),
        (Labels.MULTICLASS, 3.0, [], 3),
        (Labels.COST_SENSITIVE, 0.0, [UNLABELED, 0.5], "known"),
        (Labels.COST_SENSITIVE, 0.0, [UNLABELED, UNLABELED], None),
        (Labels.COST_SENSITIVE, 0.0, [], None),
    ],
)
def test_labels_by_kind(takes: Labels, label: float, costs: list[float], shown: object) -> None:
    engine, events = Recorded(), []
    engine.takes = takes
    Progress(engine, Schedule(), [events.append]).row(batch(label, costs), 0, outputs(2.0))  # type: ignore[arg-type]
    assert events[0].label == shown and type(events[0].label) is type(shown)


def test_an_event_is_a_line_of_json() -> None:
    event = ProgressEvent(0.5, math.nan, 3, 2.0, None, 0.25, 2, seconds=1.5)
    assert json.loads(event_json(event)) == {
        "average_loss": 0.5,
        "since_last": None,
        "examples": 3,
        "weight": 2.0,
        "label": None,
        "prediction": 0.25,
        "features": 2,
        "holdout": False,
        "pass_number": 1,
        "seconds": 1.5,
        "not_finite": {"since_last": "NaN"},
    }


# Labels with their importance, loss, and what Vowpal Wabbit 9.11.9 prints for them.
VW_CONSTANTS = [
    ({1: 21, -1: 39}, "squared", -0.3, 0.91),
    ({0: 39, 1: 21}, "squared", 0.35, 0.2275),
    ({1: 5}, "squared", 1.0, 0.0),
    ({4: 2, 3: 1, 1: 1}, "squared", 3.0, None),
    ({1: 24, -1: 16}, "hinge", 1.0, 0.8),
    ({1: 15, -1: 15}, "hinge", -1.0, 1.0),
    ({1: 21, -1: 39}, "logistic", -0.619039, 0.647447),
    ({1: 24, -1: 16}, "logistic", 0.405465, 0.673012),
    ({1: 1, 0: 1, -1: 1}, "logistic", None, None),
    ({1: 3, 2: 1}, "quantile", 1.0, 0.125),
    ({0: 39, 1: 21}, "logistic", -0.619039, 0.647447),
    ({1: 3, 2: 1, 3: 1}, "quantile", None, None),
    ({}, "squared", None, None),
]


@pytest.mark.parametrize(("labels", "loss", "constant", "its_loss"), VW_CONSTANTS)
def test_best_constants_are_vw_s(
    labels: dict[int, int], loss: str, constant: float | None, its_loss: float | None
) -> None:
    best = BestConstant()
    for label, count in labels.items():
        best.observe(np.repeat(np.array([label, np.finfo(np.float32).max], np.float32), count))
    engine = Recorded(weighted_labeled=sum(labels.values()), weighted_labels=sum(k * n for k, n in labels.items()))
    found = best.of(loss, engine.statistics)
    expected = (constant, its_loss)
    for one, other in zip(found, expected, strict=True):
        assert one == other if other is None else one == pytest.approx(other, abs=5e-7)


def test_the_footer_is_vw_s() -> None:
    best = BestConstant()
    best.observe(np.array([1, -1], np.float32))
    seen = Recorded(
        **{"examples": 60, "features": 5415, "weighted_examples": 60.0, "weighted_labeled": 60.0},
        **{"weighted_labels": -18.0, "sum_loss": 60 * 0.633968, "queries": 60},
    ).statistics
    assert table_footer(seen, best_constant=best.of("logistic", seen)).splitlines() == [
        "",
        "finished run",
        "number of examples = 60",
        "weighted example sum = 60.000000",
        "weighted label sum = -18.000000",
        "average loss = 0.633968",
        "best constant = -0.619039",
        "best constant's loss = 0.647447",
        "total feature number = 5415",
        "total queries = 60",
    ]


@pytest.mark.parametrize(
    ("holdout", "line"),
    [(None, "n.a."), (math.nan, "undefined (no holdout)"), (0.003972, "0.003972 h")],
)
def test_the_footer_tells_passes_and_holdout(holdout: float | None, line: str) -> None:
    lines = table_footer(Recorded(examples=405).statistics, passes=3, best_holdout=holdout).splitlines()
    assert lines[2:4] == ["number of examples per pass = 135", "passes used = 3"]
    assert f"average loss = {line}" in lines
