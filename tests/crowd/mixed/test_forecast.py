import numpy as np
import pytest
from scipy.optimize import minimize

from hutch.crowd.data.labels import from_codes
from hutch.crowd.mixed import forecast, kernels

ITEMS, JUDGES, CLASSES = 60, 3, 4


@pytest.fixture(scope="module")
def judged():
    """Judges' labels, some missing, and people's votes, some missing."""
    random = np.random.default_rng(0)
    truth = random.integers(CLASSES, size=ITEMS)
    rows = [
        (j, i, truth[i] if random.random() < 0.5 + 0.1 * j else random.integers(CLASSES))
        for i in range(ITEMS)
        for j in range(JUDGES)
        if random.random() < 0.8
    ]
    classes = [str(k) for k in range(CLASSES)]
    names = [f"j{j}" for j in range(JUDGES)], [f"t{i}" for i in range(ITEMS)]
    labels = from_codes(np.array(rows, np.int32), *names, classes, classes=classes)
    targets = random.multinomial(1, [0.25] * 4, ITEMS) + np.eye(CLASSES)[truth]
    targets[::7] = 0
    return labels, targets.astype(float)


def features(labels, lifts, log_prior, folds):
    """f[item, 1 + judge, class]: the class prior's logarithm, then lifts; 0 where a judge is silent."""
    result = np.zeros((labels.items, 1 + JUDGES, CLASSES))
    result[:, 0] = log_prior[folds]
    for place, item in enumerate(labels.label_items):
        result[item, 1 + labels.workers[place]] += lifts[folds[item], labels.workers[place], labels.labels[place]]
    return result


def log_softmax(scores):
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def test_slopes_are_those_of_the_conditional_logit(judged):
    labels, targets = judged
    random = np.random.default_rng(1)
    lifts, log_prior = random.normal(size=(5, JUDGES, CLASSES, CLASSES)), random.normal(size=(5, CLASSES))
    folds, items = np.arange(ITEMS) % 5, np.arange(10, ITEMS)
    f = features(labels, lifts, log_prior, folds)
    read = np.zeros(ITEMS, bool)
    read[items] = folds[items] != 2

    def value(e):
        return float((targets * log_softmax(np.einsum("njk,j->nk", f, e)))[read].sum())

    e = random.uniform(0, 1, 1 + JUDGES)
    gradient, hessian = np.zeros(4), np.zeros((4, 4))
    arguments = labels.item_ptr, labels.workers, labels.labels, folds, items, 2, lifts, log_prior, targets
    assert kernels.slopes(*arguments, e, gradient, hessian) == pytest.approx(value(e))
    step = 1e-5 * np.eye(4)
    assert gradient == pytest.approx([(value(e + d) - value(e - d)) / 2e-5 for d in step], rel=1e-5)
    for d, row in zip(step, hessian, strict=True):
        up, down = np.zeros(4), np.zeros(4)
        kernels.slopes(*arguments, e + d, up, np.zeros((4, 4)))
        kernels.slopes(*arguments, e - d, down, np.zeros((4, 4)))
        assert row == pytest.approx((down - up) / 2e-5, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("factor", [None, 0.7, 2.0])
@pytest.mark.parametrize("known", [0.0, 500.0])
def test_exponents_are_the_maximum(judged, known, factor):
    """The maximum of the likelihood is found, with a stronger prior for a judge known from earlier runs."""
    labels, targets = judged
    random = np.random.default_rng(2)
    lifts, log_prior = random.normal(size=(1, JUDGES, CLASSES, CLASSES)), random.normal(size=(1, CLASSES))
    folds, before = np.zeros(ITEMS, np.int64), forecast.fresh(JUDGES, CLASSES)
    before.precision[:] = 0.3 * known, 0, known, 0
    problem = forecast._Problem(labels, folds, np.arange(ITEMS), -1, lifts, log_prior, targets, before, 1.0)
    start = np.zeros(1 + JUDGES)
    found, hessian = problem.solve(start, factor and factor * problem._hessian(start))
    assert hessian == pytest.approx(problem._hessian(found), rel=0.02)
    f = features(labels, lifts, log_prior, folds)
    ridge = np.array([300.0, 30, 30, 30]) + before.precision

    def loss(e):
        fit = (targets * log_softmax(np.einsum("njk,j->nk", f, e))).sum()
        return -fit + 0.5 * ridge @ (e - before.exponents) ** 2

    best = minimize(loss, before.exponents, bounds=[(0, None)] * 4)
    assert found == pytest.approx(best.x, abs=1e-3)


def test_channels_are_distributions_and_ordered_ones_are_smoother(judged):
    labels, targets = judged
    _, judging = forecast.learn(labels, targets, forecast.fresh(JUDGES, CLASSES), ordered=False)
    for ordered in (False, True):
        rows = forecast.channels(judging.counts, judging.said, ordered)
        assert rows.sum(axis=1) == pytest.approx(np.ones((JUDGES, CLASSES)))
    counts = 100 * np.eye(CLASSES)[None]
    plain, smooth = (forecast.channels(counts, np.full((1, CLASSES), 25.0), ordered) for ordered in (False, True))
    assert smooth[0, 1, 0] > 2 * plain[0, 1, 0]
    assert smooth[0, 1, 0] > 2 * smooth[0, 3, 0]


def test_counts_of_channels_are_the_votes_on_what_a_judge_labelled(judged):
    labels, targets = judged
    forecasts, judging = forecast.learn(labels, targets, forecast.fresh(JUDGES, CLASSES), ordered=False)
    expected = np.zeros((JUDGES, CLASSES, CLASSES))
    for place, item in enumerate(labels.label_items):
        expected[labels.workers[place], labels.labels[place]] += targets[item]
    assert judging.counts == pytest.approx(expected)
    assert judging.targets == pytest.approx(targets.sum(axis=0))
    assert np.exp(forecasts).sum(axis=1) == pytest.approx(np.ones(ITEMS))
    assert np.exp(forecast.apply(labels, judging, False)).sum(axis=1) == pytest.approx(np.ones(ITEMS))


@pytest.mark.parametrize("ordered", [False, True])
def test_no_forecast_has_seen_the_votes_on_its_own_item(judged, ordered):
    """With exponents that are known: these see all votes, through the channels of the items that they are fitted to."""
    labels, targets = judged
    before = forecast.fresh(JUDGES, CLASSES)
    before.precision[:] = 1e12
    base, _ = forecast.learn(labels, targets, before, ordered)
    for item in (1, 30, 58):
        changed = targets.copy()
        changed[item] = 40 * np.eye(CLASSES)[targets[item].argmin()]
        found, _ = forecast.learn(labels, changed, before, ordered)
        moved = np.abs(found - base).max(axis=1)
        assert moved[item] < 1e-6 and np.median(moved) > 0.05


def test_few_hessians_are_computed(judged, monkeypatch):
    """One of 400 judges takes 80 ms, and all folds ask for nearly the same."""
    labels, targets = judged
    computed, compute = [], forecast._Problem._hessian
    monkeypatch.setattr(forecast._Problem, "_hessian", lambda self, e: computed.append(e) or compute(self, e))
    forecast.learn(labels, targets, forecast.fresh(JUDGES, CLASSES), ordered=False)
    assert len(computed) < 1.4 * forecast.FOLDS * forecast.DIVISIONS
