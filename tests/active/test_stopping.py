"""When to stop: the fitted curve against least squares, and the rule on streams whose best stop is known."""

import numpy as np
import pytest
from scipy.optimize import nnls

from hutch.active.report import is_enough, report_of
from hutch.active.run import Loop
from hutch.active.stopping import LEAST, expected_gains, stop_after
from hutch.durable.records import make_answer
from hutch.durable.store import Store


def test_the_curve_is_that_of_weighted_least_squares_with_coefficients_of_at_least_zero():
    random = np.random.default_rng(0)
    chances, shares = random.uniform(0.05, 1.0, 300), random.choice([1.0, 0.5], 300)
    errors = (random.random(300) < 0.1 + 0.8 / np.sqrt(np.arange(1, 301))).astype(float)
    gains = expected_gains(chances, errors, shares)
    for n in (2, 40, 300):
        labels = np.cumsum(shares[:n])
        weight = shares[:n] / chances[:n]
        weight *= labels[-1] / weight.sum()
        columns = np.column_stack([np.ones(n), 1 / np.sqrt(labels)])
        rows = np.vstack([columns * np.sqrt(weight)[:, None], [np.sqrt(100.0), 0.0]])  # 100 labels without error at 0
        (floor, slope), _ = nnls(rows, np.append(errors[:n] * np.sqrt(weight), 0.0))
        last = labels[-1]
        assert gains.labels[n - 1] == pytest.approx(last)
        assert gains.loss[n - 1] == pytest.approx(floor + slope / np.sqrt(last), rel=1e-9, abs=1e-12)
        wanted = slope * (1 / np.sqrt(last) - 1 / np.sqrt(last + 1))
        assert gains.gain[n - 1] == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("floor", [0.0, 0.05])
@pytest.mark.parametrize("predictions", [1000, 10_000])
def test_stops_near_the_best_number_of_labels(floor, predictions):
    """Errors of a + 0.8 / √n: labels and mistakes together cost at most a tenth more than the least, on average."""
    labels = np.arange(1, 2001)
    loss = np.minimum(floor + 0.8 / np.sqrt(labels), 0.5)
    costs = labels + predictions * loss
    ratios = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        chances = random.uniform(0.1, 1.0, 2000)
        stop = stop_after(expected_gains(chances, random.random(2000) < loss), predictions)
        assert stop is not None and stop >= LEAST
        ratios.append(costs[stop - 1] / costs.min())
    assert np.mean(ratios) < 1.1


def test_a_learner_that_does_not_improve_is_stopped_and_nothing_is_said_before_enough_labels():
    errors = np.tile([1.0, 0.0], 3000)
    assert stop_after(expected_gains(np.ones(6000), errors), 1e3) is not None
    assert stop_after(expected_gains(np.ones(LEAST - 1), np.zeros(LEAST - 1)), 1.0) is None
    assert stop_after(expected_gains(np.ones(LEAST), np.zeros(LEAST)), 1e9) == LEAST  # without error nothing is gained
    assert stop_after(expected_gains([], []), 1.0) is None


def answers_of(store, lines):
    """Answers to what is open, with the labels that the lines have."""
    truth = {line.split(" ", 1)[1]: line.split(" ", 1)[0] for line in lines}
    return [make_answer(one.id, "ada", truth[one.line]) for one in store.open_requests()]


def test_a_store_knows_what_its_labels_say_and_a_loop_stops(lines, trained, tmp_path):
    pool, told = lines(400, 5), []
    with Store(tmp_path / "labels.db", create=True) as store:
        bare = [line.split(" ", 1)[1] for line in pool]
        loop = Loop(trained(), tmp_path / "model", store, bare, 20, source="pool", stop=300.0, tell=told.append)
        loop.start()
        while loop.step():
            assert report_of(store).gain is None or report_of(store).counts.answers >= LEAST
            store.answer(answers_of(store, pool))
        found = report_of(store)
        assert LEAST <= found.counts.answers < 400 and told[-1].startswith("stopped: another label")
        outcomes = store.outcomes()
        wrong = [float((prediction > 0) != (float(label) > 0)) for _, _, prediction, label, _ in outcomes]
        gain = expected_gains([probability for _, probability, _, _, _ in outcomes], wrong).gain[-1]
        assert found.gain == pytest.approx(gain) and gain * 300 < 1
        assert is_enough(store, 0.9 / gain) and not is_enough(store, 1.1 / gain)
