"""Many actions: only a few are explored, by whose features those of all others can be written.

The features of the K actions, without those that all share, are projected to d + 10 random columns. The first d left
singular vectors of that matrix give each action d coordinates, among which a barycentric spanner of d actions is
sought. Only these and the action with the lowest score get a probability from the layer below, which explores.

Above `explore_squarecb` an action's row is multiplied by √(1 + d + γ (s - least s) / (4 d)) first, with its score s and
the γ of that layer; of action i VW takes s from the i-th best action.

Source: Y. Zhu, D. Foster, J. Langford, P. Mineiro, "Contextual bandits with large action spaces: made practical", ICML
2022; VW 9.11.9, `--large_action_space`.
"""

import math
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import (
    UNLABELED,
    call,
    example_of,
    float32s_at,
    float64s_at,
    int64s_at,
    kernel,
    layer_of,
    predict_next,
    record_of,
    shared_of,
    state_of,
    uint32s_at,
)
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decision import (
    ACTION_BYTES,
    DECISION,
    actions_at,
    decision_at,
    decision_of,
    ranked_of,
    show_action,
    values_of,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.random import merand48
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.learner.features import features_of, gather, rows_of
from hutch.core.learner.features import values_of as gathered_values
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.parameters import Within
from hutch.reductions.bandits.explore_squarecb import STATE as SQUARE_CB
from hutch.reductions.bandits.explore_squarecb import ExploreSquareCb
from hutch.reductions.bandits.explorer import Explorer
from hutch.reductions.bandits.probabilities import conclude, predict_own, teach_next
from hutch.reductions.bandits.scratch import floats, make_columns, numbers
from hutch.reductions.few_actions.projection import (
    SLACK,
    count_leading,
    diagonalise,
    left_vectors,
    products,
    project,
    singular_values,
)
from hutch.reductions.few_actions.spanner import span

_0, _1 = np.float32(0), np.float32(1)
_ONE = np.uint64(1)


class FewActionsParameters(Parameters):
    """Parameters of `few_actions`.

    Attributes:
        actions: how many are explored, beside the best one; all, where there are no more.
        constant: how large the coefficients of an action may be in the chosen ones, about.
    """

    actions: Annotated[int, Within(ge=1, le=1024)] = 20
    constant: Annotated[float, Within(gt=1)] = 2.0


STATE = np.dtype(
    [
        ("features", "u8"),  # address of the FEATURES record of the learner
        ("explorer", "u8"),  # address of the state of `explore_squarecb` below; 0: it is another layer
        ("inner", "u8"),  # address of the DECISION of the chosen actions
        ("actions", "u8"),  # BUFFER of ACTION[count]: the chosen ones
        ("columns", "u8"),  # BUFFER of COLUMNS columns
        ("matrix", "u8"),  # BUFFER of float32[count, columns]: projected features
        ("room", "u8"),  # BUFFER of float64s
        ("seed", "u8"),
        ("most", "u8"),
        ("constant", "f8"),
    ]
)
own_of, square_cb_of = state_of(STATE), record_of(SQUARE_CB)
COLUMNS = 8
SCALES, PICKED, RANKED, VALUES, COSTS, CLASSES, KEPT, KEPT_VALUES = range(COLUMNS)


@helper
def _rank(layer, example, importance, offset):
    """Let the layer below the explorer score all actions, the best first."""
    below = layer_of(layer_of(layer).next).next
    call(layer_of(below).predict, below, example, UNLABELED, importance, offset)


@helper
def _set_scales(state, d, scales):
    """Factors of the rows of actions."""
    values, many = values_of(d), np.float32(state.most)
    for k in range(d.count):
        scales[k] = _1
    if state.explorer != uint64(0):
        explorer = square_cb_of(state.explorer)
        gamma = explorer.scale * np.float32(math.pow(np.float64(explorer.decisions), np.float64(explorer.exponent)))
        for k in range(d.count):
            scales[k] = math.sqrt(_1 + many + gamma / (np.float32(4) * many) * (values[k] - values[uint64(0)]))


@helper
def _fill(layer, example, offset, n, scales, matrix):
    """Project the own features of all actions."""
    state, e, d = own_of(layer), example_of(example), decision_of(example)
    features, shared = features_of(state.features), shared_of(e.shared)
    actions, mask = actions_at(d.actions, d.count), (shared.mask + _ONE) * shared.stride - _ONE
    for k in range(d.count):
        show_action(example, d, k, False)
        a = actions[k]
        starts = int64s_at(a.namespaces, a.namespace_count + _ONE)
        e.namespace_count, e.length = a.own, uint64(starts[a.own] - starts[0])
        count = uint64(gather(features, example, offset))
        scale = scales[k], _1 / np.float32(math.sqrt(np.float64(n)))
        row = float32s_at(matrix + uint64(4) * n * k, n)
        project(rows_of(features, count), gathered_values(features, count), shared.stride, mask, state.seed, scale, row)


@helper
def _pick(layer, example, offset, scales, picked):
    """Mark the actions of the spanner; returns whether there is memory."""
    state, d = own_of(layer), decision_of(example)
    n, most = min(d.count, state.most + SLACK), state.most
    matrix = reserve(state.matrix, uint64(4) * d.count * n)
    sizes = n * n + n * n + n + d.count * most + most * most + most * most + uint64(3) * most
    room = reserve(state.room, uint64(8) * sizes + uint64(4) * (n + most))
    if matrix == uint64(0) or room == uint64(0):
        return False
    _fill(layer, example, offset, n, scales, matrix)
    at, table = room, float32s_at(matrix, d.count * n)
    gram, vectors = float64s_at(at, n * n), float64s_at(at + uint64(8) * n * n, n * n)
    at += uint64(16) * n * n
    lengths, at = float64s_at(at, n), at + uint64(8) * n
    places, chosen = uint32s_at(room + uint64(8) * sizes, n), uint32s_at(room + uint64(8) * sizes + uint64(4) * n, most)
    products(table, n, gram)
    diagonalise(gram, vectors, n)
    singular_values(gram, n, lengths, places)
    count = count_leading(lengths, most)
    for k in range(d.count):
        picked[k] = 0 if count > uint64(0) else 1
    if count < most:
        picked[uint64(0)] = 1  # as VW, whose list of actions has 0 where it is longer than needed
    if count == uint64(0):
        return True
    rows, at = float64s_at(at, d.count * count), at + uint64(8) * d.count * most
    left_vectors(table, n, vectors, places, lengths, count, rows)
    square = uint64(8) * most * most
    state_of_span = (
        float64s_at(at, count * count),
        float64s_at(at + square, count * count),
        float64s_at(at + square + square, uint64(3) * count),
        chosen,
    )
    span(rows, scales, count, state.constant, state_of_span)
    for j in range(count):
        picked[uint64(chosen[j])] = 1
    return True


@helper
def _narrow(state, d, columns):
    """Fill the inner decision with the best action and the marked ones, in the order of their scores."""
    inner, ranked, picked = decision_at(state.inner), ranked_of(d), numbers(columns, d.count, PICKED)
    room = uint64(4) * d.count
    made = reserve(state.actions, ACTION_BYTES * d.count)
    if made == uint64(0):
        return False
    picked[uint64(ranked[uint64(0)])] = 1
    inner.actions, inner.chosen, inner.row = made, int64(-1), d.row
    count = uint64(0)
    for k in range(d.count):
        if picked[k] == 1:
            source, target = actions_at(d.actions, d.count)[k], actions_at(made, d.count)[count]
            target.indices, target.values, target.length = source.indices, source.values, source.length
            target.namespaces, target.namespace_ids = source.namespaces, source.namespace_ids
            target.namespace_count, target.own = source.namespace_count, source.own
            if int64(k) == d.chosen:
                inner.chosen, inner.cost, inner.probability = int64(count), d.cost, d.probability
            picked[count], count = np.uint32(k), count + _ONE
    inner.count, inner.importance, inner.weights = count, d.importance, uint64(0)
    inner.ranked, inner.values = columns + room * uint64(RANKED), columns + room * uint64(VALUES)
    inner.costs, inner.classes = columns + room * uint64(COSTS), columns + room * uint64(CLASSES)
    return True


@helper
def _widen(state, d, columns):
    """Write the probabilities of the chosen actions, then those of all others, which are 0."""
    inner, ranked, values = decision_at(state.inner), ranked_of(d), values_of(d)
    picked = numbers(columns, d.count, PICKED)
    for j in range(inner.count):
        ranked[j], values[j] = picked[uint64(ranked_of(inner)[j])], values_of(inner)[j]
    at, next_picked = inner.count, uint64(0)
    for k in range(d.count):
        if next_picked < inner.count and uint64(picked[next_picked]) == k:
            next_picked += _ONE
        else:
            ranked[at], values[at] = k, _0
            at += _ONE


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, the best first; most are 0."""
    state, e, d = own_of(layer), example_of(example), decision_of(example)
    columns = make_columns(state.columns, d.count, COLUMNS)
    if d.count <= state.most or columns == uint64(0):
        predict_next(layer, example, UNLABELED, importance, offset)
        return conclude(example, importance)
    _rank(layer, example, importance, offset)
    outcome, scales, picked = outcome_of(e), floats(columns, d.count, SCALES), numbers(columns, d.count, PICKED)
    _set_scales(state, d, scales)
    if _pick(layer, example, offset, scales, picked) and _narrow(state, d, columns):
        outer, e.decision = e.decision, state.inner
        predict_next(layer, example, UNLABELED, importance, offset)
        e.decision = outer
        _widen(state, d, columns)
    put_back(e, outcome)
    return conclude(example, importance)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, then let the layers below learn the chosen action, be it among the few or not."""
    d = decision_of(example)
    predict_own(layer, example, importance, offset)
    columns = make_columns(own_of(layer).columns, d.count, COLUMNS)
    if columns == uint64(0):
        return conclude(example, importance)
    ranked, values = numbers(columns, d.count, KEPT), floats(columns, d.count, KEPT_VALUES)
    copy(ranked_of(d), ranked)
    copy(values_of(d), values)
    teach_next(layer, example, importance, offset)
    copy(ranked, ranked_of(d))
    copy(values, values_of(d))
    return conclude(example, importance)


class FewActions(Explorer):
    """Explores a few actions that span all others.

    Raises:
        ConfigError: the layer below does not explore scores, or the learner has no hashed features as they are.
    """

    name: ClassVar[str] = "few_actions"
    Parameters: ClassVar[type[Parameters]] = FewActionsParameters
    asks = (Labels.LOGGED_ACTION, Predictions.ACTION_PROBABILITIES)
    leaves_out = True
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: FewActionsParameters, context: Context) -> None:
        super().__init__(parameters, context)
        explorer = layer = context.below
        if explorer is None or explorer.asks != (Labels.LOGGED_ACTION, Predictions.ACTION_SCORES):
            raise ConfigError(f"{self.name}: got {getattr(explorer, 'name', None)!r} below it, wanted an explorer")
        while layer is not None and not layer.is_base:
            if layer.kernels.rewrite is not None:
                raise ConfigError(f"{self.name}: got {layer.name!r} below it, wanted no layer that makes features")
            layer = layer.context.below
        features = getattr(layer, "features", None)
        if not isinstance(features, Record):
            raise ConfigError(f"{self.name}: got the learner {getattr(layer, 'name', None)!r}, wanted one like linear")
        _, share = merand48(context.seed)
        self.state = Record(
            STATE,
            features=features,
            explorer=explorer.state if isinstance(explorer, ExploreSquareCb) else 0,
            inner=Record(DECISION),
            **{name: Buffer() for name in ("actions", "columns", "matrix", "room")},
            seed=int(np.float32(share + _1) * np.float32(10)),
            most=parameters.actions,
            constant=parameters.constant,
        )
