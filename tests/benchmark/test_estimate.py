"""The estimate and its interval: unbiased for any predictions, by formula, at the ends, of differences."""

import numpy as np
import pytest

from hutch.benchmark.draws import Round, draw
from hutch.benchmark.estimate import Values, estimate
from hutch.core.intervals import wilson


def rounds_of(predictions, sizes, seed, answers):
    """Rounds of a draw, and the answers to them."""
    random, left, found = np.random.default_rng(seed), np.arange(len(predictions)), []
    known = np.full(len(answers), np.nan)
    for size in sizes:
        found.append(draw(left, predictions, size, 0.3, random))
        known[found[-1].drawn] = answers[found[-1].drawn]
        left = np.setdiff1d(left, found[-1].drawn)
    return found, known


@pytest.mark.parametrize("predictions", ["good", "bad"])
def test_it_is_unbiased_and_covers_for_any_predictions(predictions):
    random = np.random.default_rng(0)
    p = random.uniform(0.02, 0.98, 200)
    answers = (random.random(200) < (p if predictions == "good" else 1 - p)).astype(float)
    found = []
    for seed in range(600):
        rounds, known = rounds_of(p, (10, 10, 20), seed, answers)
        found.append(estimate(rounds, Values.of(known, p)))
    values, truth = np.array([each.value for each in found]), answers.mean()
    assert abs(values.mean() - truth) < 4 * values.std() / np.sqrt(600)
    assert np.mean([each.low <= truth <= each.high for each in found]) > 0.93
    width = np.mean([each.half_width for each in found])
    assert width < (0.16 if predictions == "good" else 0.25)


def test_the_estimate_by_its_formula():
    random = np.random.default_rng(3)
    p, answers = random.uniform(0.1, 0.9, 30), random.integers(0, 2, 30).astype(float)
    rounds, known = rounds_of(p, (6, 6), 0, answers)
    inside = np.arange(30) % 3 > 0
    total, measured, expected, before = inside.sum(), [], [], 0.0
    for each in rounds:
        sum_of, variance = before, 0.0
        for question, chance in zip(each.left, each.chance, strict=True):
            if inside[question]:
                sum_of += p[question]
                variance += p[question] * (1 - p[question]) * (1 - chance) / chance
                if question in each.drawn:
                    sum_of += (answers[question] - p[question]) / chance
                    before += answers[question]
        measured.append(sum_of / total)
        expected.append(variance)
    wanted = np.average(measured, weights=1 / np.array(expected))
    assert estimate(rounds, Values.of(known, p), inside).value == pytest.approx(wanted)


def test_even_draws_without_predictions_are_nearly_wilsons():
    answers = np.repeat([1.0, 0.0], [30, 70])
    known = np.concatenate([answers, np.full(9900, np.nan)])
    rounds = [Round(np.arange(10000), np.full(10000, 0.01), np.arange(100), np.full(100, 0.01))]
    found = estimate(rounds, Values.of(known, np.full(10000, 0.3)))
    low, high = wilson(0.3, 0.21 / 100, 0.3, (0, 1), 1.96)
    assert found.value == pytest.approx(0.3)
    assert found.low == pytest.approx(low, abs=0.012) and found.high == pytest.approx(high, abs=0.012)
    assert found.low < low and high < found.high
    assert 80 < found.worth < 100


def test_all_right_is_no_certainty():
    known = np.concatenate([np.ones(30), np.full(970, np.nan)])
    rounds = [Round(np.arange(1000), np.full(1000, 0.03), np.arange(30), np.full(30, 0.03))]
    found = estimate(rounds, Values.of(known, np.full(1000, 0.98)))
    assert found.low < 0.96 and found.high == 1.0


def test_without_answers_and_with_all_of_them():
    nothing = estimate([], Values.of(np.full(4, np.nan), np.full(4, 0.7)))
    assert (nothing.value, nothing.low, nothing.high, nothing.labels) == (0.7, 0, 1, 0)
    answers = np.array([1.0, 0.0, 1.0, 1.0])
    everything = estimate(
        [Round(np.arange(4), np.ones(4), np.arange(4), np.ones(4))], Values.of(answers, np.full(4, 0.5))
    )
    assert (everything.value, everything.low, everything.high) == (0.75, 0.75, 0.75)


def test_an_open_round_counts_as_one_of_fewer_questions():
    known = np.full(40, np.nan)
    known[[3, 20]] = 1.0, 0.0
    p = np.full(40, 0.5)
    open_one = [Round(np.arange(40), np.full(40, 0.1), np.array([3, 7, 20, 30]), np.full(4, 0.1))]
    closed = [Round(np.arange(40), np.full(40, 0.05), np.array([3, 20]), np.full(2, 0.05))]
    assert estimate(open_one, Values.of(known, p)) == estimate(closed, Values.of(known, p))


def test_differences_are_paired():
    """Two models with nearly the same answers: their difference is far narrower than either score."""
    random = np.random.default_rng(0)
    one = random.integers(0, 2, 500).astype(float)
    other = np.where(random.random(500) < 0.04, 1 - one, one)
    p = np.full(500, 0.5)
    rounds, known = rounds_of(p, (30, 30, 40), 0, one)
    second = np.where(np.isnan(known), np.nan, other)
    scores = Values.of(known, p), Values.of(second, p)
    found = estimate(rounds, scores[0].minus(scores[1]))
    assert found.low <= one.mean() - other.mean() <= found.high
    assert found.half_width < estimate(rounds, scores[0]).half_width


def test_partial_answers_have_narrower_intervals():
    random, p = np.random.default_rng(0), np.full(300, 0.5)
    narrow = np.clip(random.normal(0.5, 0.05, 300), 0, 1)
    rounds, known = rounds_of(p, (30, 30), 0, narrow)
    yes_or_no = np.where(np.isnan(known), np.nan, random.random(300) < 0.5)
    found = estimate(rounds, Values.of(known, p))
    assert found.half_width < 0.6 * estimate(rounds, Values.of(yes_or_no, p)).half_width
    assert found.low < narrow.mean() < found.high


def test_every_look_is_wider_and_narrowest_where_it_is_expected():
    random, p = np.random.default_rng(0), np.full(2000, 0.5)
    rounds, known = rounds_of(p, (100, 100), 0, random.integers(0, 2, 2000).astype(float))
    values = Values.of(known, p)
    one, *looks = (estimate(rounds, values, expected=n).half_width for n in (None, 200, 20, 1900))
    assert one < looks[0] < min(looks[1:])
