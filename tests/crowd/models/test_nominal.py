import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

from hutch.core.kernel.cache import compiled
from hutch.crowd.data.labels import from_triples
from hutch.crowd.models import nominal_kernels as kernels
from hutch.crowd.models.calibration import accuracy
from hutch.crowd.models.nominal import Nominal
from hutch.crowd.models.online import run, stream_of
from hutch.crowd.simulate import simulate


@compiled
def item_posterior(first, last, workers, labels, gold, prior, alpha, log_beta, rows, moments, q):
    """The kernel's function, compiled for calls from Python."""
    return kernels.item_posterior(first, last, workers, labels, gold, prior, alpha, log_beta, rows, moments, q)


def evidence(alpha, log_beta, prior, workers, labels):
    """log-evidence of one item plus log P(beta), in plain NumPy."""
    scores = np.log(prior).copy()
    for worker, label in zip(workers, labels, strict=True):
        scores += log_softmax(-alpha[worker] * np.exp(log_beta), axis=1)[:, label]
    return logsumexp(scores) - 0.5 * (log_beta - 1) ** 2, np.exp(scores - logsumexp(scores))


def item(seed, classes=3):
    random = np.random.default_rng(seed)
    alpha = random.normal(1, 1, (4, classes, classes)) * (1 - np.eye(classes))
    prior = random.dirichlet(np.ones(classes))
    return alpha, prior, random.integers(0, 4, 5).astype(np.int32), random.integers(0, classes, 5).astype(np.int32)


@pytest.mark.parametrize("seed", range(4))
def test_item_posterior_and_its_slope(seed):
    alpha, prior, workers, labels = item(seed)
    rows, moments, q = np.empty((5, 3, 3)), np.empty((2, 3)), np.empty(3)
    args = (0, 5, workers, labels, -1, prior, alpha)
    value, slope, _ = item_posterior(*args, 0.4, rows, moments, q)
    expected, posterior = evidence(alpha, 0.4, prior, workers, labels)
    assert value == pytest.approx(expected)
    assert np.allclose(q, posterior)
    ahead, behind = (evidence(alpha, 0.4 + d, prior, workers, labels)[0] for d in (1e-5, -1e-5))
    assert slope == pytest.approx((ahead - behind) / 2e-5, rel=1e-5)


def test_fitting_an_item_finds_the_top():
    alpha, prior, workers, labels = item(5)
    rows, moments, q = np.empty((5, 3, 3)), np.empty((2, 3)), np.empty(3)
    best, value = kernels.fit_item(0, 5, workers, labels, -1, prior, alpha, 1.0, 200, 1e-9, rows, moments, q)
    around = [evidence(alpha, best + d, prior, workers, labels)[0] for d in (-0.05, 0.05)]
    assert value > max(around)


def test_slopes_of_alpha_are_those_of_finite_differences():
    labels = simulate(20, 4, 3, 3, seed=1).labels
    random = np.random.default_rng(0)
    alpha = random.normal(1, 1, (4, 3, 3)) * (1 - np.eye(3))
    q, log_beta = random.dirichlet(np.ones(3), labels.items), random.normal(0, 0.5, labels.items)

    def expected_log_likelihood(table):
        total = 0.0
        for w, i, c in zip(labels.workers, labels.label_items, labels.labels, strict=True):
            total += q[i] @ log_softmax(-table[w] * np.exp(log_beta[i]), axis=1)[:, c]
        return total

    slope, bend = np.zeros_like(alpha), np.zeros_like(alpha)
    kernels.slopes(labels.item_ptr, labels.workers, labels.labels, q, log_beta, alpha, slope, bend)
    for place in [(0, 0, 1), (1, 2, 0), (3, 1, 2)]:
        step = np.zeros_like(alpha)
        step[place] = 1e-5
        difference = expected_log_likelihood(alpha + step) - expected_log_likelihood(alpha - step)
        assert slope[place] == pytest.approx(difference / 2e-5, rel=1e-4, abs=1e-6)
        assert bend[place] >= 0


def test_gamma_is_the_mean_under_its_prior():
    fit = Nominal(iterations=5).fit(simulate(60, 10, 3, 4, seed=2).labels)
    alpha, gamma = fit.state.workers["alpha"], fit.state.shared["gamma"]
    assert np.allclose(gamma, (1 - np.eye(3)) * (1 + alpha.sum(axis=0)) / 11)


def test_symmetric_tables_stay_symmetric():
    labels = simulate(60, 10, 3, 4, seed=2).labels
    alpha = Nominal(symmetric=True, iterations=5).fit(labels).state.workers["alpha"]
    assert np.allclose(alpha, alpha.transpose(0, 2, 1))
    stream = stream_of(Nominal(symmetric=True), labels.classes, 16)
    stream.learn(labels, first_pass=True)
    assert np.allclose(stream.alpha(np.arange(16)), stream.alpha(np.arange(16)).transpose(0, 2, 1))


def test_easy_items_have_a_larger_beta():
    rows = [(f"w{w}", f"easy{i}", str(i % 2)) for i in range(40) for w in range(6)]
    rows += [(f"w{w}", f"hard{i}", str((w + i) % 2)) for i in range(10) for w in range(6)]
    log_beta = Nominal().fit(from_triples(rows)).state.items["log_beta"]
    assert log_beta[:40].min() > log_beta[40:].max() + 0.5


def test_without_difficulty_beta_stays_at_its_mean():
    fit = Nominal(difficulty=False).fit(simulate(30, 5, 2, 3).labels)
    assert (fit.state.items["log_beta"] == kernels.MEAN_LOG_BETA).all()


def test_a_fast_rate_does_not_diverge_where_all_workers_share_a_slot():
    crowd = simulate(4000, 300, 4, 5, seed=3)
    shared = [
        accuracy(run(stream_of(model, crowd.labels.classes, 1), crowd.labels, 1).posterior, crowd.truth)
        for model in (Nominal(), Nominal(largest_step=1e9))
    ]
    votes = accuracy(crowd.labels.vote_share(), crowd.truth)
    assert shared[0] > votes > shared[1] + 0.05


@pytest.mark.parametrize("decay", [0.75, 1.5])
def test_the_first_item_of_a_stream_takes_the_step_of_item_one(decay):
    """eta_t = rate (t0 + t)^-decay, t counted from 1: the first item moves 2^decay as far at t0 = 1 as at t0 = 3."""
    labels, moved = from_triples([("a", "one", "x"), ("b", "one", "y")]), []
    for initial_t in (1.0, 3.0):
        model = Nominal(decay=decay, initial_t=initial_t, learning_rate=0.1, largest_step=100.0)
        stream = stream_of(model, labels.classes, 8)
        before = stream.alpha(np.arange(8))
        stream.learn(labels, first_pass=True)
        moved.append(np.abs(stream.state.workers["distance"]).max())
    assert before.max() == 1.0 and moved[0] / moved[1] == pytest.approx(2**decay, rel=1e-6)
