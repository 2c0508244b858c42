"""The whole report: slices, versions, the panel; what is judged of few items."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.errors import UsageError
from hutch.estimate.means import Interval
from hutch.judges import lab, measures
from hutch.judges.output import as_json
from hutch.judges.runs import read_runs

_spec = importlib.util.spec_from_file_location(
    "measuring", Path(__file__).parents[2] / "benchmarks" / "research" / "crowd" / "judges.py"
)
bench = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(bench)
BENCH7 = Path(__file__).parents[3] / "shared" / "data" / "judges" / "judgebench7"


def judges_of(seed, items=60, judges=4, classes=2):
    random = np.random.default_rng(seed)
    truth = random.integers(0, classes, items)
    judge, item = np.repeat(np.arange(judges), items), np.tile(np.arange(items), judges)
    right = random.random(len(item)) < np.linspace(0.9, 0.6, judges)[judge]
    label = np.where(right, truth[item], random.integers(0, classes, len(item)))
    return bench.runs_of(judge, item, label, truth)


def moved(runs, random):
    """The same runs in another order, with the judges' names exchanged, and what each judge is called now."""
    lines = random.permutation(len(runs.judge))
    names = random.permutation(len(runs.judges)).astype(np.int32)
    return replace(
        runs,
        judge=names[runs.judge[lines]],
        item=runs.item[lines],
        label=runs.label[lines],
        swapped=runs.swapped[lines],
    )


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0, 15, 60]))
@pytest.mark.slow
def test_a_panel_knows_neither_names_nor_order(seed, known):
    random = np.random.default_rng(seed)
    runs = judges_of(seed)
    runs.truth[random.permutation(60)[known:]] = np.nan
    (one, first), (two, second) = lab.report(runs), lab.report(moved(runs, random))
    assert (first.probability == second.probability).all()  # to the bit
    assert as_json(one)["panel"] == as_json(two)["panel"]


def test_a_panel_of_scores_knows_neither_names_nor_order():
    random = np.random.default_rng(0)
    truth = random.normal(50, 10, 80)
    judge, item = np.repeat(np.arange(3), 80), np.tile(np.arange(80), 3)
    label = np.clip(np.round(truth[item] + random.normal(judge * 4, 8)), 0, 100)
    runs = bench.runs_of(judge, item, label, truth, values=np.arange(101.0))
    one, two = (as_json(lab.report(each)[0])["panel"] for each in (runs, moved(runs, random)))
    assert one == two and one[0]["correlation"]["estimate"] > 0.8


@pytest.mark.slow
def test_a_panel_is_not_judged_by_what_taught_it():
    found = np.array([bench.panel(np.random.default_rng(k), 300, 60) for k in range(12)])
    assert found[:, 2].mean() == pytest.approx(found[:, 3].mean(), abs=0.03)


@pytest.mark.slow
def test_a_slice_that_differs_is_found_and_others_are_not():
    assert bench.slices(np.random.default_rng(1), 200, 0.35) == [1.0, 1.0]
    alarms = [bench.slices(np.random.default_rng(k), 40)[0] for k in range(25)]
    assert sum(alarms) <= 5


def test_slices_within_clusters_are_compared_by_signs():
    random = np.random.default_rng(5)
    cluster, turn = np.repeat(np.arange(50), 4), np.tile([0, 0, 1, 1], 50)
    truth = random.integers(0, 2, 200)
    right = random.random(200) < np.where(turn == 0, 0.9, 0.5)
    runs = bench.runs_of(
        np.zeros(200), np.arange(200), np.where(right, truth, 1 - truth), truth, None, cluster, None, {"turn": turn}
    )
    rows = lab.report(runs)[0]["slices"]
    assert [row["slice"] for row in rows] == ["turn 0", "turn 1"]
    assert rows[0]["p of all"] == rows[1]["p of all"] < 0.001  # two slices are one look


def test_versions_that_drift_are_told_from_those_that_do_not():
    assert bench.versions(np.random.default_rng(0), 100, 0.15)[0] == 1.0
    found = np.array([bench.versions(np.random.default_rng(k), 30, 0.0) for k in range(40)])
    assert found[:, 0].mean() <= 0.15 and found[:, 1].mean() >= 0.85


def test_versions_need_no_truth():
    runs = judges_of(1, items=100, judges=2)
    runs.truth[:] = np.nan
    (row,) = lab.report(runs, [("judge0", "judge1")])[0]["versions"]
    said = [measures.judged(runs, j).counts.sum(axis=1).argmax(axis=1) for j in range(2)]
    assert row["of"] == "says 1" and row["same verdict"].estimate == np.mean(said[0] == said[1])
    assert row["change"].estimate == pytest.approx(np.mean(said[1]) - np.mean(said[0]))


def test_few_items_are_not_judged():
    found, _ = lab.report(judges_of(0, items=4))
    assert all(row["accuracy"] is None for row in found["judges"] + found["panel"])
    many, _ = lab.report(judges_of(0, items=5))
    assert all(isinstance(row["accuracy"], Interval) for row in many["judges"])


@pytest.mark.parametrize(
    ("pairs", "slices", "message"),
    [
        ([("judge0", "judg1")], {}, "no judge is 'judg1'; did you mean 'judge1'"),
        ([], {"language": (np.zeros(60, int), ["en"])}, "--slice: wanted people"),
    ],
)
def test_what_cannot_be_said_is_refused(pairs, slices, message):
    runs = replace(judges_of(0), slices=slices)
    runs.truth[:] = np.nan
    with pytest.raises(UsageError, match=message):
        lab.report(runs, pairs)


@pytest.mark.skipif(not BENCH7.is_dir(), reason="needs the logs of judges")
@pytest.mark.slow
def test_judges_of_pairs_in_two_orders():
    from hutch.judges.runs import Reading

    runs = read_runs([BENCH7 / "labels.tsv"], gold=BENCH7 / "gold.tsv", how=Reading(swapped="@swapped"))
    found, _ = lab.report(runs)
    shift = {row["judge"]: row["shift"] for row in found["order"]}
    assert shift["claude-3-haiku-20240307"].low > 0.3 and shift["o1-mini-2024-09-12"].low > 0.2
    assert sum(each is None for each in shift.values()) == 5  # reward models do not see the order
    best = max(found["judges"], key=lambda row: row["accuracy"].estimate)
    assert best["judge"] == "o1-mini-2024-09-12" and best["accuracy"].estimate == pytest.approx(0.777, abs=0.001)
