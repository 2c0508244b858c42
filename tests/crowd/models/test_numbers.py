"""The model of numbers: against exact algebra, on simulated truth, under troubles."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.research.crowd.measured_numbers import known_of, simulated
from hutch.core.errors import UsageError
from hutch.core.intervals import quantile
from hutch.crowd.aggregate import Options, load, save
from hutch.crowd.models.numbers import MOMENTS, SURE, Numbers
from hutch.crowd.models.online import stream_of


def errors(labels, truth, mean):
    """Root mean squared errors of the model, of means and of medians."""
    ratings = len(labels) // labels.items
    said = np.asarray(labels.labels).reshape(-1, ratings)
    return [np.sqrt(np.mean((found - truth) ** 2)) for found in (mean, said.mean(axis=1), np.median(said, axis=1))]


@pytest.mark.parametrize("trouble", ["", "high 12"])
def test_the_posterior_is_that_of_exact_algebra(trouble):
    labels, *_ = simulated(40, 6, 4, trouble, 0)
    fit = Numbers(tolerance=1e-9, iterations=1000).fit(labels)
    _, tau, _, wide, *_ = Numbers().class_prior(fit.state)
    noise, items, workers = Numbers().workers(fit.state)["noise"], labels.items, 6
    design = np.zeros((len(labels), items + workers + 1))  # the last is the mean of all, with a flat prior
    design[np.arange(len(labels)), labels.label_items] = design[np.arange(len(labels)), items + labels.workers] = 1
    weight = 1 / noise[labels.workers] ** 2
    prior = np.repeat([1 / tau**2, 1 / wide**2, items / tau**2], [items, workers, 1])
    precision = design.T @ (weight[:, None] * design) + np.diag(prior)
    precision[:items, -1] = precision[-1, :items] = -1 / tau**2
    known = np.arange(known_of(trouble))  # items whose number is known are no variables
    open_ = np.arange(len(known), len(precision))
    right = design.T @ (weight * labels.labels) - precision[:, known] @ labels.gold[known]
    exact = np.linalg.inv(precision[np.ix_(open_, open_)])
    mean, deviation = exact @ right[open_], np.sqrt(np.diag(exact))
    found, variance = fit.posterior.T
    tails = 0 if len(known) else 1 - (SURE / quantile(0.95, 6)) ** 2  # known numbers fix the level
    variance = variance - (variance > 0) * tails * Numbers().class_prior(fit.state)[4] ** 2
    assert np.allclose(found[known], labels.gold[known]) and not variance[known].any()
    still = items - len(known)
    assert np.abs(found[len(known) :] - mean[:still]).max() < 0.15 * deviation[:still].min()
    assert (np.sqrt(variance[len(known) :]) / deviation[:still]).mean() == pytest.approx(1, abs=0.1)
    found = Numbers().workers(fit.state)
    bias, width = found["bias"], (found["bias_high"] - found["bias_low"]) / (2 * SURE)
    assert (width / deviation[still:-1]).mean() == pytest.approx(1.2 if not len(known) else 1, abs=0.1)
    assert np.abs(bias - mean[still:-1]).max() < 0.15 * np.sqrt(deviation[still:].min() * deviation[:still].min())


@pytest.mark.parametrize("sizes", [(50, 3, 2), (50, 5, 3), (200, 10, 3), (500, 20, 2), (1000, 200, 5)])
def test_intervals_hold_the_truth_and_errors_are_smaller_than_those_of_means(sizes):
    held, biases, noises, better = [], [], [], []
    for seed in range(8 if sizes[0] > 50 else 60):
        labels, truth, bias, noise = simulated(*sizes, "", seed)
        fit = Numbers().fit(labels)
        mean, variance = fit.posterior.T
        held.append(np.mean(np.abs(mean - truth) < 1.645 * np.sqrt(variance)))
        found = Numbers().workers(fit.state)
        biases.append(np.mean((found["bias_low"] < bias) & (bias < found["bias_high"])))
        noises.append(np.mean((found["noise_low"] < noise) & (noise < found["noise_high"])))
        ours, means, medians = errors(labels, truth, mean)
        better.append(ours / min(means, medians))
    assert 0.87 < np.mean(held) < 0.96 and np.mean(better) < 0.85
    assert np.mean(biases) > 0.91 and np.mean(noises) > 0.78


@pytest.mark.parametrize(
    ("trouble", "share"), [("random", 0.75), ("factor", 0.75), ("wild 0.02", 0.75), ("wild 0.1", 0.6), ("tails", 0.95)]
)
def test_troubles_move_nothing_else(trouble, share):
    better, held = [], []
    for seed in range(6):
        labels, truth, *_ = simulated(300, 10, 4, trouble, seed)
        mean, variance = Numbers().fit(labels).posterior.T
        better.append(errors(labels, truth, mean)[0] / errors(labels, truth, mean)[2])
        held.append(np.mean(np.abs(mean - truth) < 1.645 * np.sqrt(variance)))
    assert np.mean(better) < share and np.mean(held) > 0.8


def test_known_numbers_show_what_all_do_alike():
    held, off, biases = [], [], []
    for seed in range(8):
        labels, truth, bias, _ = simulated(300, 10, 4, "high 15", seed)
        fit = Numbers().fit(labels)
        (mean, variance), found = fit.posterior.T, Numbers().workers(fit.state)
        off.append(np.mean((mean - truth)[15:]))
        held.append(np.mean((np.abs(mean - truth) < 1.645 * np.sqrt(variance))[15:]))
        biases.append(np.mean((found["bias_low"] < bias) & (bias < found["bias_high"])))
    assert np.abs(off).max() < 0.4 and 0.84 < np.mean(held) < 0.95 and np.mean(biases) > 0.88
    told = replace(labels, gold=truth)
    fit, (more, *_) = Numbers().fit(told), simulated(50, 10, 4, "high", 7)
    assert np.allclose(fit.posterior[:, 0], truth) and Numbers().class_prior(fit.state)[4] == 0
    assert np.isfinite(Numbers().infer(more, fit.state).posterior).all()


def test_wild_answers_and_workers_off_by_far_are_told():
    wild = Numbers().workers(Numbers().fit(simulated(300, 10, 4, "factor", 0)[0]).state)["wild"]
    assert wild[0] > 0.9 and wild[1:].max() < 0.05
    labels, *_ = simulated(300, 10, 4, "wild 0.1", 0)
    assert Numbers().class_prior(Numbers().fit(labels).state)[5] == pytest.approx(0.09, abs=0.03)


@pytest.mark.parametrize(("times", "plus"), [(1e-9, 0.0), (1e12, 3e14), (-2.0, 5.0)])
def test_units_do_not_matter(times, plus):
    labels, *_ = simulated(100, 8, 3, "wild 0.05", 1)
    turned = replace(labels, labels=times * labels.labels + plus)
    plain, other = Numbers().fit(labels), Numbers().fit(turned)
    np.testing.assert_allclose(other.posterior[:, 0], times * plain.posterior[:, 0] + plus, rtol=1e-6)
    np.testing.assert_allclose(other.posterior[:, 1], times**2 * plain.posterior[:, 1], rtol=1e-2)


def test_a_stream_knows_what_a_batch_knows_and_resumes(tmp_path):
    labels, truth, *_ = simulated(6000, 40, 5, "wild 0.01", 2)
    batch = Numbers().fit(labels).posterior
    whole, first = (stream_of(Numbers(), MOMENTS, 4096) for _ in range(2))
    whole.learn(whole.in_slots(labels), True)
    first.learn(first.in_slots(labels.between(0, 2222)), True)
    path = str(tmp_path / "model")
    save(path, Numbers(), Options("online", slots=4096), first.state)
    second = stream_of(Numbers(), MOMENTS, 4096, load(path)[1])
    for start, end in ((2222, 2223), (2223, 5000), (5000, 6000)):
        before = second.learn(second.in_slots(labels.between(start, end)), True).posterior
    for part in ("workers", "shared"):
        for name, array in getattr(whole.state, part).items():
            assert np.array_equal(array, getattr(second.state, part)[name]), name
    streamed = whole.score(whole.in_slots(labels))[0]
    assert np.abs(streamed[:, 0] - batch[:, 0]).mean() < 0.1 * np.sqrt(batch[:, 1]).mean()
    for found in (batch[5000:, 0], streamed[5000:, 0], before[:, 0]):
        assert np.sqrt(np.mean((found - truth[5000:]) ** 2)) < 0.5


def test_a_history_counts():
    labels, truth, *_ = simulated(400, 10, 3, "", 3)
    history = Numbers().fit(labels.between(0, 350)).state
    few, truth = labels.between(350, 400), truth[350:]
    alone, more, told = Numbers().fit(few), Numbers().fit(few, history), Numbers().infer(few, history)
    off = [np.sqrt(np.mean((fit.posterior[:, 0] - truth) ** 2)) for fit in (alone, more, told)]
    assert off[1] < off[0] and off[2] < off[0]


@pytest.mark.parametrize("said", [[1.0] * 8, [1.0, 1.0, 5.0, 5.0] * 2, [1.0, 1.1, 5.0, 5.2, 3.0, 3.1, 2.0, 1e300]])
def test_odd_numbers(said):
    labels, *_ = simulated(4, 2, 2, "", 0)
    fit = Numbers().fit(replace(labels, labels=np.array(said)))
    assert np.isfinite(fit.posterior).all() and (fit.posterior[:, 1] >= 0).all()
    assert np.allclose(fit.posterior[0, 0], said[0], atol=0.1)


def test_one_answer_per_item_tells_nothing():
    with pytest.raises(UsageError, match="wanted tasks with two labels"):
        Numbers().fit(simulated(20, 3, 1, "", 0)[0])
    empty = simulated(2, 2, 2, "", 0)[0].between(0, 0)
    assert Numbers().fit(empty).posterior.shape == (0, 2)
    with pytest.raises(UsageError, match="no confusions"):
        Numbers().confusions(Numbers().fit(empty).state)
