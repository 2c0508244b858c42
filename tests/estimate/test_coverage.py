"""Intervals cover with few labels, and draws that were not random are detected."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from hutch.estimate.lot import chi_square_tail, examine
from hutch.estimate.questions import Items

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "research" / "crowd" / "few_labels.py"
SPEC = importlib.util.spec_from_file_location("few_labels", SCRIPT)
assert SPEC is not None and SPEC.loader is not None
few_labels = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(few_labels)
HARDEST = [
    "accuracy, 5 labels",
    "rate, 2 labels",
    "rate of 2 %, 50 labels, judges .98 and .95",
    "accuracy of .99, 50 labels",
    "accuracy of .97, 30 labels",
    "difference of .99 and .98, 50 labels",
    "accuracy, P = .5, .01",
    "rate, P = .4, .02, 2,000 items",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", HARDEST)
def test_the_hardest_rows_are_covered(name):
    """Two standard errors of 200 runs are .03."""
    row = next(row for row in few_labels.ROWS if row.name == name)
    cover, half, empty, _, _ = few_labels.coverage(row, 200)
    assert cover >= 0.905 and empty == 0 and 0 < half < 0.45


def test_honest_draws_raise_few_alarms_and_suspects_are_found_out():
    rows = {row.name: row for row in few_labels.ROWS}
    for name in ("rate, 100 labels", "rate, 20 labels", "rate, P = .4, .02, 2,000 items"):
        assert few_labels.alarms(rows[name], 300) <= 0.03
    assert few_labels.found_out(20, 50) == 1.0


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 30])
def test_the_tail_of_chi_square(freedom):
    for x in (0.0, 0.3, 4.0, 25.0, 90.0):
        assert chi_square_tail(x, freedom) == pytest.approx(chi2.sf(x, freedom), rel=1e-9)


def test_the_draw_is_examined_by_pearsons_chi_square():
    random = np.random.default_rng(0)
    judged = random.choice(3, (500, 2), p=[0.5, 0.3, 0.2]).astype(np.int32)
    judged[::7, 1] = -1
    places = random.permutation(500)[:120]
    found = examine(Items(["a", "b", "c"], ["x", "y"], judged, places, np.ones((120, 3)) / 3))
    wanted = {}
    for name, codes in zip("xy", judged.T, strict=True):
        inside = np.isin(np.arange(500), places)
        table = [np.bincount(codes[(codes >= 0) & part], minlength=3) for part in (inside, ~inside)]
        wanted[name] = chi2_contingency(np.array(table), correction=False).pvalue
    judge = min(wanted, key=wanted.get)
    assert found.judge == judge and found.p_value == pytest.approx(min(2 * wanted[judge], 1))


def test_a_draw_with_probabilities_counts_labels_in_effect_and_two_of_the_unlikeliest():
    random = np.random.default_rng(1)
    judged = random.choice(2, (400, 1), p=[0.6, 0.4]).astype(np.int32)
    chance = np.where(judged[:, 0] == 0, 0.5, 0.2)
    places = np.flatnonzero(random.random(400) < chance)
    weight = 1 / chance[places]
    heaviest = weight.max()
    labels = weight.sum() ** 2 / (np.sum(weight * (weight - 1)) + 2 * heaviest * (heaviest - 1))
    shares = np.bincount(judged[:, 0]) / 400
    drawn = np.bincount(judged[places, 0], weight) / weight.sum()
    found = examine(Items(["a", "b"], ["x"], judged, places, np.ones((len(places), 2)) / 2, chance[places]))
    assert found.p_value == pytest.approx(chi2.sf(labels * np.sum((drawn - shares) ** 2 / shares), 1), rel=1e-9)


def test_too_few_labels_are_not_examined():
    judged = np.repeat([[0], [1]], 50, axis=0).astype(np.int32)
    found = examine(Items(["a", "b"], ["x"], judged, np.arange(5), np.ones((5, 2)) / 2))
    assert (found.p_value, found.judge) == (1.0, "")
