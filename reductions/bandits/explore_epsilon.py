"""Epsilon-greedy exploration: the best action, but with probability epsilon any of them.

Each of K actions gets epsilon / K; the 1 - epsilon that is left goes to the actions whose score equals the best one's
up to 1e-4 of their size, in equal parts.

Source: VW 9.11.9, `--cb_explore_adf --epsilon`.
"""

from typing import ClassVar

import numpy as np

from hutch.core.chain.reduction import Kernels, Parameters
from hutch.core.declared.state import State
from hutch.core.kernel.abi import UNLABELED, kernel, predict_next
from hutch.core.kernel.decision import decision_of, values_of
from hutch.reductions.bandits.explorer import Explorer, Probability
from hutch.reductions.bandits.probabilities import conclude, greedy, predict_and_teach


class ExploreEpsilonParameters(Parameters):
    """Parameters of `explore_epsilon`.

    Attributes:
        epsilon: probability of choosing at random.
        first_only: only the first of equally good actions gets what is left.
    """

    epsilon: Probability = 0.05
    first_only: bool = False


state = State(ExploreEpsilonParameters)


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, the best first."""
    predict_next(layer, example, UNLABELED, importance, offset)
    s = state(layer, offset)
    greedy(values_of(decision_of(example)), np.float32(s.epsilon), s.first_only)
    return conclude(example, importance)


class ExploreEpsilon(Explorer):
    """Chooses the best action, or any with probability epsilon."""

    name: ClassVar[str] = "explore_epsilon"
    declares = state
    kernels = Kernels(predict_and_teach, predict)
