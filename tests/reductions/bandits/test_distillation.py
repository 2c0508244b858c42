"""Random network distillation: against its formulas on the sub-models' own predictions; what is new is explored."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.batch import CONSTANT_INDEX
from hutch.core.text.parser import TextParser
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.bandits.explore_distillation import ExploreDistillation

BELOW = ["contextual_bandit", "cost_sensitive_with_features", {"linear": {"adaptive": False, "normalized": False}}]
DECISION = "|x a b:0.5\n|x c\n|x a c d\n"


def chain(**parameters):
    return Chain.from_config({"weights": {"bits": 12}, "chain": [{"explore_distillation": parameters}, *BELOW]})


def gaussian(state):
    """VW's generator, by the polar method."""

    def draw():
        nonlocal state
        state = (0xEECE66D5DEECE66D * state + 2147483647) % 2**64
        return 2 * (((state >> 25) & 0x7FFFFF) * 2.0**-23) - 1

    while True:
        x, y = draw(), draw()
        if 0 < x * x + y * y < 1:
            return x * np.sqrt(-2 * np.log(x * x + y * y) / (x * x + y * y))


def probabilities(found, models, prior):
    """By the formulas, of weights as they are."""
    batch, width = TextParser(found.parser).parse(DECISION.encode()), int(found.shared["multiplier"][0])
    costs, bonuses = [], []
    for row in range(len(batch)):
        pairs = [
            (CONSTANT_INDEX if name == 128 else int(index), float(x))
            for name, indices, values in batch.row(row)
            for index, x in zip(indices, values, strict=True)
        ]
        square = sum(x * x for _, x in pairs)
        scores = [sum(x * found.weights[(index * width + k) % len(found.weights), 0] for index, x in pairs)
                  for k in range(models + 1)]  # fmt: skip
        scores = np.clip(scores, found.shared["min_label"], found.shared["max_label"]).ravel()
        functions = [np.sqrt(prior) * sum(x * gaussian(index * width + (1 + models) * i) for index, x in pairs)
                     / np.sqrt(2 * square) for i in range(1, models + 1)]  # fmt: skip
        costs.append(scores[0])
        bonuses.append(np.sqrt(np.mean((scores[1:] - functions) ** 2)))
    b = max(0.001, *bonuses)
    found = np.exp(-(np.array(costs) - 0.5772156649 * (np.array(bonuses) - b)) / b)
    return found / found.sum()


@pytest.mark.parametrize(("models", "prior"), [(1, 0.1), (3, 0.5)])
def test_the_formulas(models, prior):
    found = chain(models=models, prior=prior)
    for step in range(20):
        np.testing.assert_allclose(found.predict(DECISION), probabilities(found, models, prior), rtol=2e-4)
        lines = DECISION.splitlines()
        lines[step % 3] = f"0:{step % 2}:0.5 {lines[step % 3]}"
        found.learn("\n".join(lines) + "\n")


def test_what_is_new_is_explored():
    found = chain(models=4, noise=0.01, prior=1.0)
    found.learn("0:1:0.5 |x known\n|x known\n\n" * 300)
    likely = found.predict("|x known\n|x new other\n")
    assert likely[1] > 0.7


def test_the_least_probability():
    found = chain(epsilon=0.6)
    found.learn("0:5:0.5 |x a\n|x b\n\n" * 30)
    assert found.predict("|x a\n|x b\n|x c\n").min() >= 0.2 - 1e-6


@pytest.mark.slow
def test_contract():
    for check in checks_of_reduction(ExploreDistillation, {"models": 2, "epsilon": 0.1}):
        check()
