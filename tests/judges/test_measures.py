"""Measures of judges against counts by hand and simulations with known truth."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import linregress, pearsonr

from hutch.judges import measures

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "research" / "crowd" / "judges.py"
SPEC = importlib.util.spec_from_file_location("benchmark_of_judges", SCRIPT)
assert SPEC is not None and SPEC.loader is not None
bench = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bench)


def only(judge=0, **arrays):
    arrays["judge"] = np.zeros(len(arrays["item"]))
    runs = bench.runs_of(**arrays)
    return runs, measures.judged(runs, judge)


def test_bias_and_noise_are_counted_in_pairs_of_runs():
    # item 0: right, right, wrong; item 1: wrong twice; item 2: one run
    runs, of = only(item=[0, 0, 0, 1, 1, 2], label=[0, 0, 1, 1, 1, 0], truth=[0, 0, 0])
    row = measures.repeats(runs, of, 0.95)
    assert row["items"] == 2
    assert row["flips"].estimate == pytest.approx((2 / 3 + 0) / 2)
    assert row["bias"].estimate == pytest.approx((0 + 1) / 2)
    assert row["noise"].estimate == pytest.approx((1 / 3 + 0) / 2)


def test_bias_and_noise_add_up_to_the_errors():
    random = np.random.default_rng(0)
    item = np.repeat(np.arange(40), 4)
    runs, of = only(item=item, label=random.integers(0, 3, 160), truth=random.integers(0, 3, 40))
    row = measures.repeats(runs, of, 0.95)
    wrong = 1 - measures.agreement(runs, of, 0.95)["accuracy"].estimate
    assert row["bias"].estimate + row["noise"].estimate == pytest.approx(wrong)


def test_order_is_counted_by_hand():
    # labels name answers: 0 is shown first in the usual order, 1 in the other
    usual, swapped = [0, 0, 0, 1, 1, 0, 0], [0, 1, 1, 1, 0, 1, 1]
    runs, of = only(
        item=[*range(7), *range(7)], label=usual + swapped, truth=[0] * 7, swapped=np.repeat([False, True], 7)
    )
    row = measures.order(runs, of, 0.95)
    assert (row["items"], row["turned"]) == (7, 5)  # four take the first answer in both orders, one the second
    assert row["flips"].estimate == pytest.approx(5 / 7)
    assert row["shift"].estimate == pytest.approx(np.log(4) / 2)
    assert row["first"].estimate == pytest.approx(2 / 3)
    assert row["p"] == pytest.approx(2 * 6 / 32)
    assert row["usual"].estimate == pytest.approx(5 / 7) and row["both"].estimate == pytest.approx(1 / 7)


@pytest.mark.parametrize("shift", [0.0, 0.7, -1.0])
def test_a_position_bias_is_found_however_much_pairs_differ(shift):
    found = np.array([bench.order(np.random.default_rng(k), 200, shift, spread=2.0) for k in range(60)])
    assert found[:, 0].mean() >= 0.87  # a standard error is .028
    assert np.nanmean(found[:, 2]) == pytest.approx(shift, abs=0.12)


def test_ties_are_neither_place():
    runs, of = only(item=[0, 1, 0, 1], label=[2, 0, 2, 2], truth=[0, 2], swapped=np.array([False, False, True, True]))
    row = measures.order(runs, of, 0.95)
    assert row["turned"] == 0 and row["flips"].estimate == 0.5 and row["p"] == 1.0


def test_scores_are_those_of_a_regression():
    random = np.random.default_rng(2)
    people = random.normal(60, 15, 80)
    judge = np.round(np.clip(20 + 0.5 * people + random.normal(0, 5, 80), 0, 100))
    runs, of = only(item=np.arange(80), label=judge, truth=people, values=np.arange(101.0))
    row = measures.scores(runs, of, 0.95)
    peer, line = pearsonr(judge, people), linregress(judge, people)
    assert row["correlation"].estimate == pytest.approx(peer.statistic)
    assert row["correlation"].low == pytest.approx(peer.confidence_interval().low, abs=0.03)
    assert row["slope"].estimate == pytest.approx(line.slope) and row["intercept"].estimate == pytest.approx(
        line.intercept
    )
    assert row["bias"].estimate == pytest.approx(np.mean(judge - people))
    assert row["calibrated"] < row["error"] and "noise" not in row


def test_noise_of_scores_is_the_deviation_within_items():
    random = np.random.default_rng(3)
    item = np.repeat(np.arange(200), 3)
    told = np.round(50 + random.normal(0, 4, 600))
    runs, of = only(item=item, label=told, truth=np.full(200, 50.0), values=np.arange(101.0))
    wanted = np.sqrt(told.reshape(200, 3).var(axis=1, ddof=1).mean())
    row = measures.scores(runs, of, 0.95)
    assert row["noise"] == pytest.approx(wanted) and row["correlation"] is None  # people always say the same


@pytest.mark.parametrize("part", ["repeats", "scores"])
def test_intervals_cover(part):
    row = bench.PARTS[part][2][0]
    found = bench.measure(part, row, 100)
    assert found[::2].min() >= 0.88  # nominal .95, a standard error is .022
