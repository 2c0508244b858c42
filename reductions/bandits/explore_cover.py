"""Online cover: policies trained to disagree where the ones before them have left little probability.

Policy 1 learns as `contextual_bandit` does. Policy i >= 2 learns costs that are lowered by psi m n / max(p(a), m):
p is the probability that the policies before it give to action a, n their sum with the least probability m of every
action. The actions that the policies prefer share the probability equally; m falls with the root of the decisions seen,
unless epsilon is given.

Source: A. Agarwal, D. Hsu, S. Kale, J. Langford, L. Li, R. Schapire, "Taming the monster: a fast and simple algorithm
for contextual bandits", ICML 2014; VW 9.11.9, `--cb_explore_adf --cover`, with its order of equal probabilities: by
the sums of scores of ranks, not actions.
"""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.limits import COUNT, Limits
from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import UNLABELED, call, example_of, float32s_at, kernel, layer_of, predict_next, state_of
from hutch.core.kernel.decision import decision_of, ranked_of, values_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.bandits.contextual_bandit import DR, IPS, MTR, TYPES, regress
from hutch.reductions.bandits.explorer import Explorer, Probability
from hutch.reductions.bandits.metrics_below import refuse_metrics
from hutch.reductions.bandits.probabilities import conclude, enforce_minimum, leaders, sort_by_probability, teach_next
from hutch.reductions.bandits.scratch import floats, make_columns

_0, _1 = np.float32(0), np.float32(1)


class ExploreCoverParameters(Parameters):
    """Parameters of `explore_cover`.

    Attributes:
        policies: number of policies.
        psi: how strongly later policies learn to disagree.
        epsilon: probability of all actions together at random; None: it falls as decisions are seen.
        uniform: actions that no policy prefers get the least probability, too.
        first_only: a policy prefers the first of equally good actions.
        regressor: a separate model estimates the costs that later policies learn; needed above type `mtr` only.
    """

    policies: Annotated[int, Within(ge=1, le=1024), ExampleValue(3)]
    psi: float = 1.0
    epsilon: Probability | None = None
    uniform: bool = True
    first_only: bool = False
    regressor: bool = True


STATE = np.dtype(
    [
        ("policies", "u8"),
        ("decisions", "u8"),  # labelled ones seen
        ("scratch", "u8"),  # BUFFER
        ("type", "i8"),
        ("decays", "u8"),
        ("uniform", "u4"),
        ("first_only", "u4"),
        ("psi", "f4"),
        ("epsilon", "f4"),
    ]
)
own_of = state_of(STATE)


@helper
def _least_probability(state, actions):
    least = state.epsilon / np.float32(actions)
    if state.decays == uint64(1):
        root = np.float32(math.sqrt(np.float64(state.decisions * actions)))
        least = min(least, state.epsilon / root) if root > _0 else least
    return least


@helper
def _estimate_costs(layer, example, state, offset, costs):
    """Estimate each action's cost for the policies after the first."""
    d, step = decision_of(example), layer_of(layer_of(layer).next).step
    for k in range(d.count):
        is_chosen, cost = int64(k) == d.chosen, _0
        if state.type != IPS:
            cost = regress(layer_of(layer).next, example, k, offset + step, state.type == MTR)
            if is_chosen:
                cost += (d.cost - cost) / d.probability
        elif is_chosen:
            cost = d.cost / d.probability
        costs[k] = cost


@helper
def _prefer(state, d, share, least, probabilities, norm):
    """Give a policy's share to its best actions; returns the new norm."""
    ranked, values = ranked_of(d), values_of(d)
    count = 1 if state.first_only == 1 else leaders(values)
    each = share if state.first_only == 1 else share / np.float32(count)
    for k in range(count):
        p = probabilities[ranked[k]]
        if p < least:
            norm += max(_0, each - (least - p))
        else:
            norm += each
        probabilities[ranked[k]] = p + each
    return norm


@helper
def _run_policy(layer, example, state, i, least, norm, costs, probabilities, offset, learns):
    """Rank the actions by policy i, and train it on costs that make it disagree with those before it."""
    d = decision_of(example)
    policies = layer_of(layer_of(layer).next).next  # that of costs: policies share the chosen action's regressor
    at = offset + (i + uint64(1)) * layer_of(layer_of(layer).next).step
    outcome = outcome_of(example_of(example))
    call(layer_of(policies).predict, policies, example, UNLABELED, _1, at)
    if learns:
        lowered = float32s_at(d.costs, d.count)
        for k in range(d.count):
            lowered[k] = costs[k] - (state.psi * least) / (max(probabilities[k], least) / norm)
        d.only_learns = uint64(1)
        call(layer_of(policies).learn, policies, example, UNLABELED, _1, at)
        d.only_learns = uint64(0)
    put_back(example_of(example), outcome)


@helper
def _explore(layer, example, importance, offset, learns):
    state, d = own_of(layer), decision_of(example)
    ranked, values, columns = ranked_of(d), values_of(d), make_columns(state.scratch, d.count, 4)
    if columns == uint64(0):
        return
    costs, probabilities = floats(columns, d.count, 0), floats(columns, d.count, 1)
    sums, scratch = floats(columns, d.count, 2), floats(columns, d.count, 3)
    if learns:
        _estimate_costs(layer, example, state, offset, costs)
    predict_next(layer, example, UNLABELED, importance, offset)
    if learns:
        teach_next(layer, example, importance, offset)
    share, least = _1 / np.float32(state.policies), _least_probability(state, d.count)
    for k in range(d.count):
        probabilities[k], sums[k] = _0, values[k]
    _prefer(state, d, share, least, probabilities, _0)
    norm = least * np.float32(d.count) + (share - least)
    for i in range(uint64(1), state.policies):
        _run_policy(layer, example, state, i, least, norm, costs, probabilities, offset, learns)
        for k in range(d.count):
            sums[k] += values[k]
        norm = _prefer(state, d, share, least, probabilities, norm)
    for k in range(d.count):
        ranked[k], values[k] = k, probabilities[k]
    enforce_minimum(least * np.float32(d.count), state.uniform == 1, values, scratch)
    sort_by_probability(ranked, values, sums)
    if learns:
        state.decisions += uint64(1)


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, the likeliest first."""
    _explore(layer, example, importance, offset, False)
    return conclude(example, importance)


@kernel
def learn(layer, example, label, importance, offset):
    """The same; each policy learns before the next one is asked."""
    _explore(layer, example, importance, offset, True)
    return conclude(example, importance)


class ExploreCover(Explorer):
    """Policies that cover each other's blind spots share the probability."""

    name: ClassVar[str] = "explore_cover"
    Parameters: ClassVar[type[Parameters]] = ExploreCoverParameters
    kernels = Kernels(learn, predict)
    dtype = STATE
    keeps: ClassVar[Mapping[str, Limits]] = {"decisions": COUNT}

    def __init__(self, parameters: ExploreCoverParameters, context: Context) -> None:
        p = parameters
        refuse_metrics(self.name, context, "another explorer")
        kind = getattr(context.below.parameters, "type", "mtr") if context.below else "mtr"
        if TYPES[kind] not in (MTR, DR, IPS):
            raise ConfigError(f"explore_cover needs contextual_bandit.type mtr, dr or ips below it: got {kind!r}")
        if kind == "mtr" and not p.regressor:
            raise ConfigError("explore_cover.regressor: got false, wanted true above contextual_bandit.type mtr")
        epsilon = 1.0 if p.epsilon is None else p.epsilon
        super().__init__(p, context, type=TYPES[kind], decays=p.epsilon is None, epsilon=epsilon)

    @classmethod
    def width(cls, parameters: ExploreCoverParameters) -> int:
        """One sub-model per policy, and one for `dr` below; twice as many with the regressor here, as in VW."""
        return (parameters.policies + 1) * (2 if parameters.regressor else 1)
