"""Online cover among classes: policies that are taught to disagree where those before them left little probability.

Policy 1 learns as `class_bandit` does. Policy i >= 2 is taught the estimated costs of all classes, lowered by
psi m n / max(p(a), m) and raised by 1, as in VW: p is the probability that the policies before it give to class a, n
their sum with the least probability m of every class. Each policy gives its share of the probability to the class that
it prefers; m falls with the root of the examples learned, unless epsilon is given.

Source: A. Agarwal, D. Hsu, S. Kale, J. Langford, L. Li, R. Schapire, "Taming the monster: a fast and simple algorithm
for contextual bandits", ICML 2014; VW 9.11.9, `--cb_explore K --cb_force_legacy --cover`.
"""

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.chain.limits import COUNT, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters
from hutch.core.errors import ConfigError
from hutch.core.hooks import hookimpl
from hutch.core.kernel.abi import UNLABELED, call, example_of, kernel, layer_of, learn_next, state_of
from hutch.core.kernel.decision import decision_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.bandits.explorer import Finite, Probability
from hutch.reductions.bandits.probabilities import enforce_minimum
from hutch.reductions.bandits.scratch import floats, make_columns, numbers
from hutch.reductions.class_bandits.classes import ClassExplorer
from hutch.reductions.class_bandits.labels import conclude_classes, estimated_cost, known_class, regress_class
from hutch.reductions.linear.memory import Buffer

_0, _1 = np.float32(0), np.float32(1)


class ExploreClassCoverParameters(Parameters):
    """Parameters of `explore_class_cover`.

    Attributes:
        policies: how many take part.
        psi: how much later policies are taught to disagree.
        epsilon: probability of all classes together at random; None: it falls as examples are learned.
        uniform: classes that no policy prefers get the least probability, too.
    """

    policies: Annotated[int, Within(ge=1, le=1024), ExampleValue(3)]
    psi: Finite = 1.0
    epsilon: Probability | None = None
    uniform: bool = True


STATE = np.dtype(
    [
        ("classes", "u8"),
        ("policies", "u8"),
        ("learned", "u8"),  # labelled examples
        ("scratch", "u8"),  # BUFFER
        ("decays", "u4"),
        ("uniform", "u4"),
        ("psi", "f4"),
        ("epsilon", "f4"),
    ]
)
own_of = state_of(STATE)


@helper
def _least_probability(state):
    least = state.epsilon / np.float32(state.classes)
    if state.decays == 1 and state.learned > uint64(0):
        root = np.float32(math.sqrt(np.float64(state.learned * state.classes)))
        least = min(least, state.epsilon / root)
    return least


@helper
def _choose(layer, example, i, offset):
    """The class that policy i prefers: that of costs by class, below the bandit."""
    bandit = layer_of(layer_of(layer).next)
    at = offset if i == uint64(0) else offset + (i + uint64(1)) * bandit.step
    return int64(call(layer_of(bandit.next).predict, bandit.next, example, UNLABELED, _1, at))


@helper
def _teach(layer, example, i, importance, offset):
    """Let policy i learn the costs that the example shows."""
    bandit = layer_of(layer_of(layer).next)
    at = offset + (i + uint64(1)) * bandit.step
    call(layer_of(bandit.next).learn, bandit.next, example, UNLABELED, importance, at)


@helper
def _disagree(layer, example, state, columns, least, importance, offset):
    """Estimate the cost of every class, and teach the policies after the first; leaves the estimates in column 3."""
    d, k_count = decision_of(example), state.classes
    costs, taught = floats(columns, k_count, 3), floats(columns, k_count, 1)
    shares, estimates = floats(columns, k_count, 4), floats(columns, k_count, 5)
    known, share, norm = known_class(d, k_count), _1 / np.float32(state.policies), least * np.float32(k_count)
    bandit = layer_of(layer_of(layer).next)
    for k in range(k_count):
        shares[k] = _0
        estimates[k] = regress_class(layer_of(layer).next, example, int64(k) + 1, offset + bandit.step, int64(0), d, _1)
        costs[k] = estimates[k]
        if known == int64(k) + 1:
            costs[k] += (d.cost - estimates[k]) / d.probability
    preferred = numbers(columns + uint64(24) * k_count, state.policies, 0)
    for i in range(state.policies):
        for k in range(k_count):
            taught[k] = costs[k] - state.psi * least / (max(shares[k], least) / norm) + _1
        if i > uint64(0):
            _teach(layer, example, i, importance, offset)
        a = preferred[i]
        if shares[a] < least:
            norm += max(_0, share - (least - shares[a]))
        else:
            norm += share
        shares[a] += share


@helper
def _explore(layer, example, label, importance, offset, learns):
    state, e, d = own_of(layer), example_of(example), decision_of(example)
    k_count = state.classes
    columns = make_columns(state.scratch, uint64(6) * k_count + state.policies, 1)
    if columns == uint64(0):
        return _1
    listed, taught = numbers(columns, k_count, 0), floats(columns, k_count, 1)
    probabilities, scratch = floats(columns, k_count, 2), floats(columns, k_count, 3)
    preferred = numbers(columns + uint64(24) * k_count, state.policies, 0)
    shown = e.cost_classes, e.costs, e.cost_count, e.scores, e.importance
    for k in range(k_count):
        listed[k], taught[k], probabilities[k] = k + uint64(1), UNLABELED, _0
    e.cost_classes, e.costs, e.cost_count = columns, columns + uint64(4) * k_count, k_count
    e.scores = uint64(0)
    for i in range(state.policies):
        preferred[i] = _choose(layer, example, i, offset) - 1
        probabilities[preferred[i]] += _1 / np.float32(state.policies)
    features, least, known = e.features, _least_probability(state), known_class(d, k_count)
    enforce_minimum(least * np.float32(k_count), state.uniform == 1, probabilities, scratch)
    loss = _0
    if known > 0:
        loss = d.cost / d.probability * probabilities[known - 1]
    if learns:
        state.learned += uint64(1)
        e.cost_classes, e.costs, e.cost_count, e.scores, e.importance = shown
        learn_next(layer, example, label, importance, offset)
        e.cost_classes, e.costs, e.cost_count = columns, columns + uint64(4) * k_count, k_count
        e.scores = uint64(0)
        _disagree(layer, example, state, columns, least, importance, offset)
        estimates, loss = floats(columns, k_count, 5), _0
        for k in range(k_count):
            loss += estimated_cost(d, known, int64(k) + 1, estimates[k]) * probabilities[k]
    e.cost_classes, e.costs, e.cost_count, e.scores, e.importance = shown
    best = conclude_classes(example, known, probabilities, importance)
    e.features, e.loss = features, np.float64(loss * importance)
    return best


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the classes, the likeliest first."""
    return _explore(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """The same; then the bandit below and, one after the other, all policies learn."""
    return _explore(layer, example, label, importance, offset, True)


class ExploreClassCover(ClassExplorer):
    """Policies that cover each other's blind spots share the probability."""

    name: ClassVar[str] = "explore_class_cover"
    Parameters: ClassVar[type[Parameters]] = ExploreClassCoverParameters
    known_failures = {
        "loss_while_learning": "it is estimated by regressors that have just learned the example, as in VW",
    }

    def __init__(self, parameters: ExploreClassCoverParameters, context: Context) -> None:
        super().__init__(parameters, context)
        below = context.below
        if below is not None and type(below).takes is not Labels.LOGGED_CLASS:  # its kernels reach through it
            raise ConfigError(f"{self.name} needs a bandit directly below it; put {below.name!r} above {self.name}")
        p = parameters
        self.state = Record(
            STATE,
            classes=self.class_count,
            policies=p.policies,
            scratch=Buffer(),
            decays=p.epsilon is None,
            epsilon=1.0 if p.epsilon is None else p.epsilon,
            uniform=p.uniform,
            psi=p.psi,
        )

    @classmethod
    def width(cls, parameters: ExploreClassCoverParameters) -> int:
        """One sub-model per policy, and one for the regressors."""
        return parameters.policies + 1

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict)

    def saved(self) -> dict[str, NDArray[Any]]:
        """How many labelled examples have been learned."""
        return {"learned": self.state["learned"]}

    def limits(self) -> Mapping[str, Limits]:
        """A count."""
        return {"learned": COUNT}


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register online cover among classes."""
    register(ExploreClassCover)
