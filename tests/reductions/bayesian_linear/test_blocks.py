"""Covariances in blocks against a plain NumPy twin: moments, noise, evidence; resuming, priors, bounds."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hutch import Chain
from hutch.core.errors import ConfigError, ModelError
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.bayesian_linear.layer import BayesianLinear

PRIORS = (0.25, 4.0)


BLOCKS = {"covariance": "blocks", "loss": "squared"}


@pytest.mark.parametrize(
    "parameters",
    [{"dimension": 64}, {"dimension": 3, "blocks": 4, "priors": [1.0]}, {"dimension": 3, "forgetting": 0.01}],
)
def test_contract(parameters):
    for check in checks_of_reduction(BayesianLinear, {**BLOCKS, **parameters}):
        check()


class Twin:
    """The same learner in matrices over all features, with covariances across blocks held at 0."""

    def __init__(self, features, block, priors=PRIORS, forgetting=0.0):
        self.priors, self.size, self.places, self.forgetting = priors, block, {}, forgetting
        self.first = np.zeros((len(priors), features, features))
        self.taken = []
        self.mean, self.response = np.zeros((2, len(priors), features))
        self.covariance = np.zeros((len(priors), features, features))
        self.residuals, self.evidence = np.zeros(len(priors)), np.zeros(len(priors))
        self.importance = self.labels = 0.0
        self.low = self.high = None

    def noise(self, k):
        half = 0.0 if self.low is None else (self.high - self.low) / 2
        return (half**2 + self.residuals[k]) / (1 + self.importance) if half > 0 else 1.0

    def predict(self, x, k=None):
        best = len(self.priors) // 2
        for j, found in enumerate(self.evidence):
            best = j if found > self.evidence[best] else best
        k = best if k is None else k
        middle = 0.0 if self.low is None else (self.low + self.high) / 2
        new = np.mean([j not in self.places for j in np.flatnonzero(x)])
        q = x @ self.covariance[k] @ x + self.priors[k] * new
        centre = (middle + self.labels) / (1 + self.importance)
        return centre + (self.mean[k] - centre * self.response[k]) @ x, q, self.noise(k)

    def place(self, x):
        used = [j for j in np.flatnonzero(x)]
        counts = np.bincount([self.places[j] for j in used if j in self.places], minlength=len(self.taken))
        block = max((b for b in range(len(self.taken)) if self.taken[b] < self.size and counts[b]),
                    key=lambda b: counts[b], default=None)  # fmt: skip
        for j in used:
            if j not in self.places:
                if block is None or self.taken[block] == self.size:
                    block = len(self.taken)
                    self.taken.append(0)
                self.taken[block] += 1
                self.places[j] = block
                self.first[:, j, j] = np.array(self.priors) / (len(used) * x[j] ** 2)
                self.covariance[:, j, j] = self.first[:, j, j]

    def narrow(self, x):
        reach = np.count_nonzero(x) * x**2
        for j in np.flatnonzero(x):
            for k, prior in enumerate(self.priors):
                more = reach[j] / prior - 1 / self.first[k, j, j]
                if more > 1e-9:  # what a label 0 of j alone, of this importance, would do to the moments around 0
                    along = self.covariance[k, :, j] / (1 + more * self.covariance[k, j, j])
                    self.mean[k] -= more * along * self.mean[k, j]
                    self.response[k] -= more * along * self.response[k, j]
                    self.covariance[k] -= more * np.outer(along, self.covariance[k, j])
                    self.first[k, j, j] = prior / reach[j]

    def learn(self, x, y, h=1.0):
        self.low, self.high = (y, y) if self.low is None else (min(self.low, y), max(self.high, y))
        self.place(x)
        self.narrow(x)
        same = np.equal.outer(*2 * [[self.places.get(j, -1) for j in range(len(x))]])
        for k in range(len(self.priors)):
            u, q, noise = self.predict(x, k)
            error, gain = y - u, h / (1 + h * q)
            if self.high > self.low:
                self.evidence[k] -= h / 2 * (math.log(noise * (1 + q)) + error**2 / (noise * (1 + q)))
            self.residuals[k] += gain * error**2
            along = self.covariance[k] @ x
            self.mean[k] += gain * (y - self.mean[k] @ x) * along
            self.response[k] += gain * (1 - self.response[k] @ x) * along
            self.covariance[k] -= gain * np.outer(along, along) * same
        self.importance += h
        self.labels += h * y
        keep = (1 - self.forgetting) ** h
        self.covariance = keep * self.covariance + (1 - keep) * self.first
        self.mean, self.response = math.sqrt(keep) * self.mean, math.sqrt(keep) * self.response


def rows(count, features, seed=0, filled=0.6):
    random = np.random.default_rng(seed)
    x = (random.normal(size=(count, features)) * (random.random((count, features)) < filled)).astype(np.float32)
    return x, (x @ random.normal(size=features) + 3 + 0.3 * random.normal(size=count)).astype(np.float32)


def chain_of(block, above=(), **parameters):
    layer = {"bayesian_linear": {**BLOCKS, "priors": PRIORS, "dimension": block, **parameters}}
    return Chain.from_config({"chain": [*above, layer], "input": {"constant": False}})


def line(x, y="", h=None):
    features = " ".join(f"c{j}:{value:.9g}" for j, value in enumerate(x) if value)
    return f"{y} {'' if h is None else h} |x {features}"


@pytest.mark.parametrize("forgetting", [0.0, 0.02])
@pytest.mark.parametrize("block", [16, 5])
def test_moments_noise_and_evidence_are_those_of_the_twin(block, forgetting):
    x, y = rows(60, 12)
    chain, random = chain_of(block, forgetting=forgetting), np.random.default_rng(1)
    twin = Twin(12, block, forgetting=forgetting)
    learner = chain.layers[-1]
    for row, label in zip(x.astype(float), y.tolist(), strict=True):
        h = float(random.choice([0.5, 1.0, 2.0]))
        wanted = min(max(twin.predict(row)[0], min(twin.low or 0, 0)), max(twin.high or 0, 0))
        assert_allclose(chain.predict([line(row)]), wanted, rtol=2e-5, atol=2e-5)
        chain.learn([line(row, label, h)])
        twin.learn(row, label, h)
    saved = learner.saved()
    assert_allclose(saved["evidence"][0, :2], twin.evidence, rtol=1e-6)
    assert_allclose(saved["residuals"][0, :2], twin.residuals, rtol=1e-6)
    assert_array_equal(saved["taken"], twin.taken)
    assert saved["importance"][0] == twin.importance


def test_one_block_and_one_prior_are_ridge_regression():
    x, y = rows(40, 6, seed=2, filled=1.0)
    chain = chain_of(8, priors=[4.0])
    chain.learn([line(row, label) for row, label in zip(x, y.tolist(), strict=True)])
    x = x.astype(float)
    covariance = np.linalg.inv(x.T @ x + np.diag(6 * (x**2).max(axis=0) / 4.0))
    saved = chain.layers[-1].saved()
    assert_allclose(saved["matrices"][0, 0].reshape(8, 8)[:6, :6], covariance, rtol=1e-6, atol=1e-9)
    y = y.astype(float)
    centre = ((y.min() + y.max()) / 2 + y.sum()) / 41
    mean = (saved["means"] - centre * saved["responses"])[0, 0, :6]
    assert_allclose(mean, covariance @ x.T @ (y - centre), rtol=1e-6, atol=1e-9)


EXPLORE = ["contextual_bandit", "cost_sensitive_with_features"]


@pytest.mark.parametrize("forgetting", [0.0, 0.02])
def test_optimism_takes_one_deviation_of_the_posterior_off_each_score(forgetting):
    top = {"explore_posterior": {"method": "optimism", "width": 1.0}}
    chain, random = chain_of(8, [top, *EXPLORE], forgetting=forgetting), np.random.default_rng(3)
    twin = Twin(9, 8, forgetting=forgetting)
    scores = random.normal(size=(3, 3))
    for _ in range(80):
        x = random.normal(size=3).astype(np.float32).astype(float)
        wide = np.kron(np.eye(3), x)
        actions = [{f"a{k}": dict(zip("fgh", x.tolist(), strict=True))} for k in range(3)]
        found = [twin.predict(row) for row in wide]
        bounds = [u - math.sqrt(noise * q) for u, q, noise in found]
        chances = chain.predict([{"actions": actions}])
        chosen = int(chances.argmax())
        least = np.array(bounds) <= min(bounds) + 1e-5  # at first those of all
        assert_allclose(chances, least / least.sum(), rtol=1e-6)
        cost = float(np.float32(10 * (scores[chosen] @ x) + random.normal()))
        chain.learn([{"actions": actions, "chosen": chosen, "cost": cost, "probability": 1.0}])
        twin.learn(wide[chosen], cost)


def test_an_explorer_that_forgets_finds_what_has_become_better():
    regrets = {}
    for forgetting in (0.0, 0.003):
        random, missed = np.random.default_rng(6), 0
        top = {"explore_posterior": {"method": "optimism", "width": 1.0}}
        chain = chain_of(8, [top, {"contextual_bandit": {"clip": 1.0}}, EXPLORE[1]], forgetting=forgetting)
        for number in range(1500):
            actions, best = [{f"a{k}": {"f": 1.0}} for k in range(2)], int(number >= 600)
            chosen = int(chain.predict([{"actions": actions}]).argmax())
            missed += number >= 1200 and chosen != best
            cost = -float(
                random.random() < (0.6, 0.4 + 0.5 * best)[chosen]
            )  # the second becomes better, the first stays
            chain.learn([{"actions": actions, "chosen": chosen, "cost": cost, "probability": 1.0}])
        regrets[forgetting] = missed
    assert regrets[0.003] < 10 and regrets[0.0] == 300


def test_neither_the_scale_of_costs_nor_where_they_lie_changes_a_choice():
    chosen = []
    for scale, shift in ((1, 0), (1024, 0), (1, 64)):
        random, found = np.random.default_rng(4), []
        top = {"explore_posterior": {"method": "optimism", "width": 1.0}}
        chain = chain_of(8, [top, *EXPLORE])
        for _ in range(60):
            actions = [{f"a{k}": {"f": float(random.integers(1, 4))}} for k in range(3)]
            found.append(int(chain.predict([{"actions": actions}]).argmax()))
            cost = scale * (found[-1] + 0.5 * float(random.integers(0, 2))) + shift
            chain.learn([{"actions": actions, "chosen": found[-1], "cost": cost, "probability": 1.0}])
        chosen.append(found)
    assert chosen[0] == chosen[1] == chosen[2] and len(set(chosen[0])) == 3


@pytest.mark.parametrize(("noise", "wanted"), [(0.01, 16.0), (30.0, 0.25)])
def test_the_prior_goes_by_the_noise(noise, wanted):
    random = np.random.default_rng(5)
    x = random.normal(size=(200, 20)).astype(np.float32)
    y = x @ random.normal(size=20) + noise * random.normal(size=200)
    chain = chain_of(64, priors=[0.0625, 0.25, 1.0, 4.0, 16.0])
    chain.learn([line(row, label) for row, label in zip(x, y.tolist(), strict=True)])
    evidence = chain.layers[-1].saved()["evidence"][0]
    assert chain.layers[-1].parameters.priors[int(evidence[:5].argmax())] == wanted


def test_a_model_of_other_blocks_is_refused(tmp_path):
    x, y = rows(30, 12)
    chain = chain_of(5)
    chain.learn([line(row, label) for row, label in zip(x, y.tolist(), strict=True)])
    learner = chain.layers[-1]
    saved = learner.saved()
    with pytest.raises(ModelError, match="got 2 blocks, and 3 of means, 3 of responses, 3 of matrices"):
        learner.check_saved({**saved, "taken": saved["taken"][:2]})
    chain.save(tmp_path / "model")
    again = Chain.load(tmp_path / "model")
    assert_array_equal(again.predict([line(row) for row in x]), chain.predict([line(row) for row in x]))


def test_features_beyond_all_blocks_share_places():
    x, y = rows(50, 12)
    chain = chain_of(2, blocks=3)
    chain.learn([line(row, label) for row, label in zip(x, y.tolist(), strict=True)])
    assert_array_equal(chain.layers[-1].saved()["taken"], [2, 2, 2])
    assert np.isfinite(chain.predict([line(row) for row in x])).all()


def test_matrices_beyond_any_memory_are_refused():
    with pytest.raises(ConfigError, match="got 16384 blocks of 1024 features under 2 priors, wanted fewer"):
        chain_of(1024, blocks=16384)


def test_units_of_features_do_not_matter():
    x, y = rows(60, 6, seed=7)
    units = np.array([1, 1024, 1 / 1024, 1, 2**20, 1], np.float32)
    one, other = chain_of(8), chain_of(8)
    for row, label in zip(x, y.tolist(), strict=True):
        assert_allclose(other.learn([line(row * units, label)]), one.learn([line(row, label)]), rtol=1e-5)


def test_a_value_that_grows_narrows_its_prior_as_if_it_had_been_the_first():
    """In which order small and large values come does not matter, however small the first was."""
    random = np.random.default_rng(9)
    y = random.normal(size=30).astype(np.float32)
    for least in (1e-3, 1e-9):
        x = np.where(np.arange(30) % 2, 1.0, least)[:, None] * [[1.0, 2.0]]
        x[:, 1] *= random.choice([-1, 1], 30)
        found = []
        for order in (np.arange(30), np.arange(30)[::-1]):
            chain = chain_of(4, priors=[1.0])
            chain.learn([line(x[i], y[i]) for i in order])
            found.append(chain.layers[-1].saved())
        for name in ("matrices", "means", "firsts"):
            assert_allclose(found[0][name], found[1][name], rtol=1e-5, atol=1e-7, err_msg=name)


def test_labels_far_from_0_are_learned_as_labels_about_0():
    x, y = rows(200, 6, seed=8, filled=1.0)
    near, far = chain_of(8, priors=[4.0, 64.0]), chain_of(8, priors=[4.0, 64.0])
    found = near.learn([line(row, label) for row, label in zip(x, y.tolist(), strict=True)])
    moved = far.learn([line(row, label + 4096) for row, label in zip(x, y.tolist(), strict=True)])
    assert_allclose(moved[1:] - 4096, found[1:], atol=1e-2)
    assert np.mean((found - y)[100:] ** 2) < 0.05 * y.var()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rank": 2}, "rank: got 2 beside covariance: blocks, wanted it left out"),
        ({"loss": "logistic"}, "loss: got logistic beside covariance: blocks, wanted squared"),
        ({"covariance": "own", "blocks": 2}, "blocks: got 2 beside covariance: own, wanted it left out"),
    ],
)
def test_parameters_of_another_form_are_refused(parameters, message):
    with pytest.raises(ConfigError, match=message):
        Chain.from_config({"chain": [{"bayesian_linear": {**BLOCKS, "dimension": 4, **parameters}}]})


def test_a_chain_that_is_restored_to_fewer_blocks_forgets_the_others():
    x, y = rows(60, 12)
    lines = [line(row, label) for row, label in zip(x, y.tolist(), strict=True)]
    fresh, used = chain_of(5), chain_of(5)
    used.learn(lines[30:])
    used.restore({name: array.copy() for name, array in fresh.arrays().items()})
    assert_array_equal(used.learn(lines[:30]), fresh.learn(lines[:30]))
