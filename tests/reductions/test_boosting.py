"""Online boosting: weak learners that learn alone, with the importances of the paper."""

import math

import numpy as np
import pytest

from hutch import Chain
from hutch.core.kernel.random import merand48
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.boosting import Boosting, importances
from hutch.vw.model_binary import read_vw_model, vw_model
from hutch.vw.parse import parse

F = np.float32


def lines_of(count=120, seed=0):
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(count):
        words = random.integers(0, 9, 3)
        label = 1 if (words % 3 == 0).sum() + random.normal() * 0.4 > 1 else -1
        weight = random.choice([1, 1, 0.5, 2])
        lines.append((label, weight, " ".join(f"w{k}" for k in words)))
    return lines


def chain_of(learners=4, loss="logistic", **parameters):
    layers = [{"boosting": {"learners": learners, **parameters}}, {"linear": {"loss": loss}}]
    return Chain.from_config({"chain": layers, "weights": {"bits": 12}})


def text_of(lines):
    return [f"{label} {weight} | {words}" for label, weight, words in lines]


class Twin:
    """The layer in NumPy, over chains that each are one weak learner."""

    def __init__(self, learners, loss, algorithm, edge):
        layer = {"chain": [{"linear": {"loss": loss}}], "weights": {"bits": 12}}
        self.weak = [Chain.from_config(layer) for _ in range(learners)]
        self.algorithm, self.edge, self.random = algorithm, edge, 0
        self.votes, self.shares, self.seen = np.zeros(learners, F), np.ones(learners, F), 0

    def weight(self, i, s):
        if self.algorithm != "majority":
            return F(1) / (F(1) + np.exp(s))
        rest, k = len(self.weak) - i - 1, math.floor((len(self.weak) - i - s) / 2)
        if not 0 <= k <= rest:
            return F(0)
        return F(math.comb(rest, k) * (0.5 + self.edge) ** k * (0.5 - self.edge) ** (rest - k))

    def learn(self, label, importance, words):
        self.seen += 1
        s = vote = whole = shares = F(0)
        end = F(np.inf)
        if self.algorithm == "adaptive":
            self.random, end = merand48(self.random)
        for i, weak in enumerate(self.weak):
            weight = F(importance) * self.weight(i, s)
            example = {"label": label, "importance": float(weight), "": words.split()}
            [p] = weak.learn([example]) if weight > 0 else weak.predict([{"": words.split()}])
            if self.algorithm == "majority":
                s, vote = s + label * p, vote + p
                continue
            s += label * p * self.votes[i]
            whole += p * self.votes[i]
            vote += p * self.votes[i] if shares <= end else F(0)
            shares += self.shares[i]
            if self.algorithm == "adaptive" and label * whole < 0:
                self.shares[i] *= F(0.36788)
            moved = self.votes[i] + F(4) / np.sqrt(F(self.seen)) * F(label * p) / (F(1) + np.exp(s))
            self.votes[i] = np.clip(moved, -2, 2)
        if self.algorithm == "adaptive":
            self.shares /= self.shares.sum()
        return vote


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("algorithm", ["majority", "logistic", "adaptive"])
def test_by_weak_learners_that_learn_alone(algorithm, loss):
    lines = lines_of()
    twin = Twin(4, loss, algorithm, 0.2)
    found = chain_of(4, loss, algorithm=algorithm, edge=0.2).learn(text_of(lines))
    np.testing.assert_allclose(found, [twin.learn(*line) for line in lines], rtol=1e-4, atol=1e-5)


def test_importances_are_those_of_a_binomial_walk():
    """The sum over k is that of a binomial distribution."""
    np.testing.assert_allclose(importances(6, 0.1).sum(axis=1), 1, rtol=1e-6)
    assert importances(1, 0.1).tolist() == [[1]]
    top = importances(3, 0.5)
    assert top[0].tolist() == [0, 0, 1]  # learners that are never wrong are taught only where all must be right


@pytest.mark.parametrize("algorithm", ["majority", "logistic", "adaptive"])
def test_several_learners_are_better_than_one(algorithm):
    lines = lines_of(600)
    chain = Chain.from_config(
        {"chain": ["binary", {"boosting": {"learners": 9, "algorithm": algorithm}}, {"linear": {"loss": "logistic"}}]}
    )
    chain.learn(text_of(lines))
    assert chain.statistics.sum_loss / chain.statistics.weighted_labeled < 0.25


def test_the_loss_is_that_of_the_vote():
    chain = chain_of(3)
    chain.learn(["1 | a"])
    [vote] = chain.predict(["| a"])
    chain.learn(["-1 2 | a"])
    assert chain.statistics.sum_loss == pytest.approx(math.log(2) + 2 * math.log1p(math.exp(vote)))


@pytest.mark.parametrize("predict_first", [False, True])
def test_labelled_examples_draw_once_or_twice(predict_first):
    chain = chain_of(3, algorithm="adaptive", predict_first=predict_first)
    chain.learn(["1 | a", "| b"])
    state = 0
    for _ in range(3 if predict_first else 2):
        state, _ = merand48(state)
    assert chain.shared["random_state"][0] == state


DRAWN = {"predict_changes_nothing", "shuffled_features", "loss"}
"""Checks that need the same prediction of the same example."""


@pytest.mark.parametrize(
    "parameters",
    [{"algorithm": "logistic"}, {"algorithm": "adaptive"}, {"algorithm": "adaptive", "predict_first": True}],
)
def test_contract_with_other_parameters(parameters):
    for check in checks_of_reduction(Boosting, {"learners": 3, **parameters}):
        if not (parameters["algorithm"] == "adaptive" and check.name in DRAWN):
            check()


def test_sub_models_count_their_learners_apart():
    """One against all over boosting is boosting of each class."""
    boosting = {"boosting": {"learners": 3, "algorithm": "logistic"}}, {"linear": {"loss": "logistic"}}
    whole = Chain.from_config({"chain": [{"one_against_all": {"classes": 3, "first_class": 1}}, *boosting]})
    lines = [(1 + k % 3, f"| w{k % 3} x{k % 5} y{k % 7}") for k in range(60)]
    whole.learn([f"{label} {words}" for label, words in lines])
    for k in range(3):
        alone = Chain.from_config({"chain": list(boosting)})
        alone.learn([f"{1 if label == k + 1 else -1} {words}" for label, words in lines])
        test = [words for _, words in lines]
        np.testing.assert_array_equal(whole.scores(test)[:, k], alone.predict(test))


def test_a_vw_model_of_a_majority_goes_there_and_back(tmp_path):
    chain = Chain.from_config(
        {"chain": ["binary", {"boosting": {"learners": 3}}, "linear"], "input": {"namespaces": "letter"}}
    )
    chain.learn(text_of(lines_of()))
    (tmp_path / "model").write_bytes(vw_model(chain))
    again = read_vw_model(str(tmp_path / "model"), parse([]))
    test = text_of(lines_of(20, 1))
    np.testing.assert_array_equal(again.predict(test), chain.predict(test))
