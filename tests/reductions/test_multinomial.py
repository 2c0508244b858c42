"""`multinomial` against a plain NumPy twin; what it is for; labels, h_min, refusals."""

import warnings

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import call as call_kernel
from hutch.core.kernel.abi import layer_of
from hutch.core.kernel.cache import compiled
from hutch.core.loss.tilted_softmax import ROOM, scores_after
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.multinomial import Multinomial
from hutch.sklearn import HutchClassifier

DIMENSION, CLASSES = 4, 3
BAYESIAN = {"bayesian_linear": {"dimension": DIMENSION, "loss": "squared", "prior_variance": 2.0}}
NAMED = {"bayesian_linear": {"namespace": "words", "dimension": 24, "features": "named", "loss": "squared"}}


def build(*below, classes=CLASSES, above=(), **parameters):
    chain = [*above, {"multinomial": {"classes": classes, **parameters}}, *below]
    return Chain.from_config({"chain": chain, "weights": {"bits": 10}})


def make(count=90, seed=0, middle=0.6):
    """Rows, and the class of the interval in which their first number lies."""
    rows = np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)
    return rows, (1 + np.digitize(rows[:, 0], [-middle, middle])).astype(np.float32)


def softmax(scores):
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def log_odds(shares):
    return np.log(shares / (1 - shares))


@compiled
def call(p, q, shares, importance, after, added, room):
    scores_after(p, q, shares, importance, after, added, room)


class Twin:
    """Means and covariances of all classes, which follow the posterior of scores of K / 4 times the variance."""

    def __init__(self):
        self.means = np.zeros((CLASSES, DIMENSION + 1))
        self.covariances = CLASSES / 4 * np.array([np.diag([2.0] * DIMENSION + [64.0])] * CLASSES)

    def scores(self, row):
        return self.means @ np.append(row, 1.0)

    def learn(self, row, label, importance=1.0):
        x = np.append(row, 1.0).astype(float)
        directions = self.covariances @ x
        p, q = self.means @ x, directions @ x
        after, added = np.zeros(CLASSES), np.zeros(CLASSES)
        shares = np.eye(CLASSES)[int(label) - 1]
        call(p, q, shares, importance, after, added, np.zeros(ROOM * CLASSES))
        for k in range(CLASSES):
            target = after[k] + (after[k] - p[k]) / (q[k] * added[k])
            gain = directions[k] * added[k] / (1 + added[k] * q[k])
            self.means[k] += gain * (target - p[k])
            self.covariances[k] -= np.outer(gain, directions[k])


@pytest.mark.parametrize("check", checks_of_reduction(Multinomial, {"classes": 3}, below=[NAMED]), ids=str)
def test_contract_above_a_posterior(check):
    check()


@pytest.mark.parametrize("importance", [0.3, 1.0, 5.0])
def test_moves_a_posterior_as_its_twin(importance):
    rows, labels = make()
    chain, twin = build(BAYESIAN, probabilities=False), Twin()
    chain.learn(rows, labels, importance=np.full(len(rows), importance, np.float32))
    for row, label in zip(rows, labels, strict=True):
        twin.learn(row, label, importance)
    np.testing.assert_allclose(np.sqrt(CLASSES / 4) * chain.layers[-1].means, twin.means, rtol=2e-4, atol=2e-4)
    scores = np.array([twin.scores(row) for row in rows])
    np.testing.assert_allclose(chain.scores(rows), log_odds(softmax(scores)), rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(chain.predict(rows), 1 + scores.argmax(1))


def test_one_class_between_two_others_is_no_problem():
    rows, labels = make(600, seed=3, middle=0.25)
    wrong = {}
    for name, layers in {
        "multinomial": [{"multinomial": {"classes": 3}}, BAYESIAN],
        "one_against_all": [{"one_against_all": {"classes": 3}}, {"bayesian_linear": {"dimension": DIMENSION}}],
    }.items():
        chain = Chain.from_config({"chain": layers})
        chain.learn(rows[:300], labels[:300])
        wrong[name] = np.mean(chain.predict(rows[300:]) != labels[300:])
    assert wrong["multinomial"] < 0.07 < 0.1 < wrong["one_against_all"]


def test_scores_are_probabilities_that_sum_to_one():
    rows, labels = make()
    chain, plain = build(BAYESIAN), build(BAYESIAN, probabilities=False)
    for each in (chain, plain):
        each.learn(rows, labels)
    found = chain.scores(rows)
    np.testing.assert_allclose(found.sum(1), 1, rtol=1e-6)
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-plain.scores(rows).astype(float))), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("wrong", [0.0, 4.0])
def test_labels_that_are_no_classes_teach_nothing(wrong):
    rows, labels = make(20)
    chain = build(BAYESIAN, first_class=1)
    chain.learn(rows, labels)
    before = chain.scores(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of labels that no class has
        chain.learn(rows, np.full(20, wrong, np.float32))
    np.testing.assert_array_equal(chain.scores(rows), before)


def test_counts_classes_from_0_if_labels_do():
    rows, labels = make()
    counted, named = build(BAYESIAN), build(BAYESIAN, first_class=0)
    counted.learn(rows, labels)
    named.learn(rows, labels - 1)
    np.testing.assert_array_equal(counted.predict(rows), named.predict(rows) + 1)


@compiled
def learn_one(layer, example):
    call_kernel(layer_of(layer).learn, layer, example, np.float32(1), np.float32(1), np.uint64(0))


def learn_softly(chain, row, shares):
    """Learn one row with a probability of each class, as a layer above would have it learned."""
    [batch] = chain.batches(row[None])
    chain.run_batch(batch, learn=False)
    chain.shared["testing"] = 0
    targets = np.array(shares, np.float32)
    chain._example["targets"] = targets.ctypes.data
    learn_one(np.uint64(chain.stack.records.ctypes.data), np.uint64(chain._example.ctypes.data))
    chain._example["targets"] = 0


def test_a_soft_label_teaches_each_class_its_share():
    row = np.ones(DIMENSION, np.float32)
    hard, soft = (build(BAYESIAN, probabilities=False) for _ in range(2))
    hard.learn(row[None], np.ones(1, np.float32))
    learn_softly(soft, row, [1, 0, 0])
    np.testing.assert_array_equal(soft.scores(row[None]), hard.scores(row[None]))
    for _ in range(300):
        learn_softly(soft, row, [0.2, 0.5, 0.3])
    before = soft.scores(row[None])
    learn_softly(soft, row, [-1, 0, 0])
    np.testing.assert_array_equal(soft.scores(row[None]), before)
    one, other = build(BAYESIAN, probabilities=False), build(BAYESIAN, probabilities=False)
    learn_softly(one, row, [-0.7, 1, 3])
    learn_softly(other, row, [0, 0.25, 0.75])
    np.testing.assert_array_equal(one.scores(row[None]), other.scores(row[None]))
    np.testing.assert_allclose(soft.scores(row[None])[0], log_odds(np.array([0.2, 0.5, 0.3])), atol=0.05)


def test_active_asks_above_it():
    rows, labels = make(400)
    chain = build(BAYESIAN, above=[{"active": {"budget": 0.3, "horizon": 400}}])
    chain.learn(rows, labels)
    assert 60 < chain.layers[0].progress["bought"][0] < 200
    assert np.mean(chain.predict(rows) == labels) > 0.7


@compiled
def ask(layer, example):
    return call_kernel(layer_of(layer).importance_to, layer, example, np.float32(1), np.float32(0), np.uint64(0))


def test_h_min_is_the_importance_with_which_another_class_overtakes():
    rows, labels = make(60)
    asked = np.array([[0.1, 0.2, -0.3, 0.1]], np.float32)
    budget = {"active": {"rule": "budget", "simulation": False}}

    def taught(share, label):
        chain = build(BAYESIAN, above=[budget])
        chain.learn(rows, labels)
        [batch] = chain.batches(asked)  # the example points to it
        before = chain.run_batch(batch, learn=False)[0].predictions[0]
        chain.shared["testing"] = 0
        layer = np.uint64(chain.stack.records[1:].ctypes.data)
        needed = ask(layer, np.uint64(chain._example.ctypes.data))
        chain.learn(asked, label, importance=np.full(1, share * needed, np.float32))
        return before, needed, chain.predict(asked)[0]

    before, needed, _ = taught(0.0, np.ones(1, np.float32))
    assert 0.01 < needed < 1e3
    rivals = [np.full(1, k, np.float32) for k in (1, 2, 3) if k != before]
    assert any(taught(1.02, label)[2] == label[0] for label in rivals)
    assert all(taught(0.98, label)[2] == before for label in rivals)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_refuses_another_loss_below(loss):
    with pytest.raises(ConfigError, match=f"multinomial: got {loss} loss below, wanted `loss: squared`"):
        build({"bayesian_linear": {"dimension": 4, "loss": loss}})


@pytest.mark.parametrize("below", ["linear", {"dyadic": {"left": "a", "right": "b", "rates": "posterior"}}], ids=str)
def test_refuses_learners_without_variances(below):
    with pytest.raises(ConfigError, match="wanted a learner that knows the variance of what it predicts"):
        build(below)


def test_is_a_classifier_of_scikit_learn():
    rows, labels = make(300)
    names = np.array(["low", "middle", "high"])[labels.astype(int) - 1]
    model = HutchClassifier([{"multinomial": {}}, BAYESIAN], passes=1).fit(rows, names)
    assert model.score(rows, names) > 0.9
    np.testing.assert_allclose(model.predict_proba(rows).sum(1), 1, rtol=1e-5)


def test_a_label_that_is_not_a_class_is_said_to_teach_nothing():
    below = {"bayesian_linear": {"namespace": "", "dimension": 8, "features": "named", "loss": "squared"}}
    chain = Chain.from_config({"chain": [{"multinomial": {"classes": 3}}, below]})
    with pytest.warns(
        UserWarning, match=r"label 4 .*not made for it, and learned nothing from it, wanted classes from 1"
    ):
        chain.learn(["1 | a", "4 | b"])
    assert chain.scores(["| b"])[0, 0] == pytest.approx(chain.scores(["| c"])[0, 0])
