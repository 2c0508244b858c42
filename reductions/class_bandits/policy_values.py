"""Costs of many policies from one log: each feature of a namespace is a policy, its value the class that it chooses.

With cost c of the chosen class a, and p the probability with which it was chosen, a policy that chooses a pays c / p,
any other nothing: inverse propensity. Its estimate is the mean of this over all lines with a cost. A policy that a line
does not name chooses nothing there.

Source: A. Agarwal and others, "Making contextual decisions with low technical debt", 2016; VW 9.11.9,
`--multiworld_test`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy import int64, uint32, uint64
from numpy.typing import NDArray

from hutch.core.chain.declarations import Answers, Inputs
from hutch.core.chain.limits import FINITE, POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.kernel.abi import (
    example_of,
    float32s_at,
    float64s_at,
    int64s_at,
    kernel,
    learn_next,
    predict_next,
    shared_of,
    state_of,
    uint32s_at,
)
from hutch.core.kernel.decision import decision_of
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import show, shown_by
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.parameters import Within
from hutch.core.text.hashing import namespace_id

_0, _1 = np.float32(0), np.float32(1)
_MOST_CLASSES = np.float32(1 << 24)
_NOTHING, _OTHERS, _ALL = range(3)
_LEARNS = {"nothing": _NOTHING, "others": _OTHERS, "all": _ALL}


class PolicyValuesParameters(Parameters):
    """Parameters of `policy_values`.

    Attributes:
        namespaces: whose features are policies.
        policies: the most that there can be.
        learns: what the layers below learn from: `nothing`, the `others` of the example's namespaces, or `all`, with a
            feature for each policy and its choice.
    """

    namespaces: Annotated[tuple[str, ...], Within(min_length=1)] = ("policies",)
    policies: Annotated[int, Within(ge=1, le=1 << 12)] = 64
    learns: Literal["nothing", "others", "all"] = "others"


STATE = np.dtype(
    [
        ("names", "u8"),  # address of uint32[name_count]: ids of namespaces
        ("name_count", "u8"),
        ("most", "i8"),
        ("learns", "i8"),
        ("classes", "u8"),  # of the layers below
        ("scores", "u8"),  # the most policies, or classes
        ("count", "i8"),  # policies so far
        ("left_out", "i8"),  # names of further policies, as often as they were met
        ("lines", "f8"),  # with a cost
        ("numbers", "u8"),  # address of int64[rows]: 1 + number of the policy of a feature; 0: none
        ("indices", "u8"),  # address of int64[most]: the feature of each policy
        ("sums", "u8"),  # address of float64[most]
        ("choices", "u8"),  # address of int64[most]: of this example; 0: none
        ("shown", "u8"),  # BUFFER of the example as the layers below see it
    ]
)
own = state_of(STATE)


@inlined
def _is_policy(state, name):
    listed = False
    for k in range(state.name_count):
        listed |= uint32s_at(state.names, state.name_count)[k] == name
    return listed


@helper
def _policy(state, index):
    """The number of the policy of a feature, -1 if there is no room for it."""
    place = int64s_at(state.numbers + uint64(8) * index, uint64(1))
    if place[0] == 0:
        if state.count == state.most:
            state.left_out += 1
            return int64(-1)
        int64s_at(state.indices, uint64(state.most))[state.count] = int64(index)
        state.count += 1
        place[0] = state.count
    return place[0] - 1


@helper
def _observe(state, example):
    """Take the cost of the chosen class into the sums of the policies that choose it."""
    e, d = example_of(example), decision_of(example)
    starts = int64s_at(e.namespaces, e.namespace_count + uint64(1))
    ids, mask = uint32s_at(e.namespace_ids, e.namespace_count), shared_of(e.shared).mask
    indices, values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    choices, sums = int64s_at(state.choices, uint64(state.most)), float64s_at(state.sums, uint64(state.most))
    for j in range(int64(e.namespace_count)):
        if _is_policy(state, ids[j]):
            for i in range(starts[j] - starts[0], starts[j + 1] - starts[0]):
                k = _policy(state, uint64(indices[i]) & mask)
                if k >= 0:
                    choices[k] = int64(values[i]) if _1 <= values[i] < _MOST_CLASSES else 0
    chosen = int64(uint32s_at(d.classes, d.count)[d.chosen])
    state.lines += 1.0
    for k in range(state.count):
        if choices[k] == chosen:
            sums[k] += np.float64(d.cost / d.probability)
        choices[k] = 0


@helper
def _write_values(state, d, prediction):
    """List the class predicted first, and the estimates of the policies so far as scores, NaN for all others."""
    ranked, values = uint32s_at(d.ranked, state.scores), float32s_at(d.values, state.scores)
    first, sums, place = uint32(max(prediction, _1)) - uint32(1), float64s_at(state.sums, uint64(state.most)), uint64(1)
    for k in range(state.scores):
        at = uint64(0) if k == uint64(first) else place
        place += uint64(0) if k == uint64(first) else uint64(1)
        ranked[at], values[at] = uint32(k), np.float32(np.nan)
        if int64(k) < state.count:
            values[at] = np.float32(sums[k]) / np.float32(state.lines)


@helper
def _rewrite(state, e):
    """Make the example show the namespaces that the layers below learn from; False without memory."""
    count, length = e.namespace_count, e.length
    address = reserve(state.shown, uint64(8) * (count + uint64(1)) + uint64(4) * count + uint64(8) * length)
    if address == uint64(0):
        return False
    starts, ids_at = int64s_at(address, count + uint64(1)), address + uint64(8) * (count + uint64(1))
    ids, indices_at = uint32s_at(ids_at, count), ids_at + uint64(4) * count
    new, x = uint32s_at(indices_at, length), float32s_at(indices_at + uint64(4) * length, length)
    old_starts, old_ids = int64s_at(e.namespaces, count + uint64(1)), uint32s_at(e.namespace_ids, count)
    old, values, n, made = uint32s_at(e.indices, length), float32s_at(e.values, length), 0, uint64(0)
    for j in range(int64(count)):
        is_policy = _is_policy(state, old_ids[j])
        if is_policy and state.learns == _OTHERS:
            continue
        starts[made], ids[made] = n, old_ids[j]
        made += uint64(1)
        for i in range(old_starts[j] - old_starts[0], old_starts[j + 1] - old_starts[0]):
            new[n], x[n] = old[i], values[i]
            if is_policy:
                new[n] = uint32(uint64(old[i]) * state.classes + uint64(int64(max(values[i], _0))))
                x[n] = _1
            n += 1
    starts[made] = n
    e.indices, e.values, e.length = indices_at, indices_at + uint64(4) * length, uint64(n)
    e.namespaces, e.namespace_ids, e.namespace_count = address, ids_at, made
    return True


@helper
def _run(layer, example, label, importance, offset, learning):
    state, e, d = own(layer), example_of(example), decision_of(example)
    known = d.chosen >= 0
    if learning and known:
        _observe(state, example)
    prediction, length = _0, e.length
    if state.learns != _NOTHING:
        read = shown_by(e)
        if _rewrite(state, e):
            if learning:
                prediction = learn_next(layer, example, label, importance, offset)
            else:
                prediction = predict_next(layer, example, label, importance, offset)
        show(e, read)
    e.features, e.loss, e.raw = length, 0.0, prediction
    if known and prediction == np.float32(uint32s_at(d.classes, d.count)[d.chosen]):
        e.loss = np.float64(d.cost / d.probability)
    _write_values(state, d, prediction)
    return prediction


@kernel
def predict(layer, example, label, importance, offset):
    """Let the layers below predict."""
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Take the cost into the estimates, and let the layers below learn."""
    return _run(layer, example, label, importance, offset, True)


class PolicyValues(Reduction):
    """Estimates what policies that features name would have cost."""

    name: ClassVar[str] = "policy_values"
    Parameters: ClassVar[type[Parameters]] = PolicyValuesParameters
    takes = Labels.LOGGED_CLASS
    predicts = Predictions.CLASS
    asks = (Labels.LOGGED_CLASS, Predictions.CLASS)
    kernels = Kernels(learn, predict)
    known_failures = {
        "loss": "that of a class is known only where it was chosen",
        "scores": "they are estimates for policies, not for classes",
    }
    keeps: ClassVar[Mapping[str, Limits]] = {"lines": POSITIVE, "sums": FINITE}

    def __init__(self, parameters: PolicyValuesParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p, rows, mode = parameters, 1 << context.bits, context.parser.namespaces
        self.inputs = Inputs(namespaces=p.namespaces)
        self._numbers = np.zeros(rows, np.int64)
        below = context.below.answers.classes if context.below else None
        self.state = Record(
            STATE,
            names=np.array([namespace_id(name, mode) for name in p.namespaces], np.uint32),
            name_count=len(p.namespaces),
            most=p.policies,
            learns=_LEARNS[p.learns],
            classes=below or 1,
            scores=max(p.policies, below or 1),
            numbers=self._numbers,
            indices=np.zeros(p.policies, np.int64),
            sums=np.zeros(p.policies),
            choices=np.zeros(p.policies, np.int64),
            shown=Buffer(),
        )

    @property
    def answers(self) -> Answers:
        """A score for each policy; classes are those of the layers below where these learn."""
        found = super().answers
        found = replace(found, score_count=max(self.parameters.policies, found.classes or 1))
        return replace(found, classes=None) if self.parameters.learns == "nothing" else found

    def values(self) -> NDArray[np.float64]:
        """The estimated cost of each policy, in the order in which they were met."""
        found = self.state.targets["sums"][: int(self.state["count"][0])]  # type: ignore[union-attr]
        with np.errstate(invalid="ignore"):
            values: NDArray[np.float64] = found / self.state["lines"][0]
        return values

    def saved(self) -> dict[str, NDArray[Any]]:
        """Policies in order, and their sums."""
        found: dict[str, NDArray[Any]] = self.state.targets  # type: ignore[union-attr]
        return super().saved() | {"count": self.state["count"], "indices": found["indices"]}

    def limits(self) -> Mapping[str, Limits]:
        """Counts and rows within their arrays."""
        rows = Limits(0, len(self._numbers) - 1)
        return dict(self.keeps) | {"count": Limits(0, self.parameters.policies), "indices": rows}

    def loaded(self) -> None:
        """Number the policies by their features."""
        self._numbers[:] = 0
        count = int(self.state["count"][0])
        self._numbers[self.saved()["indices"][:count]] = np.arange(1, count + 1)

    def doubts(self) -> str | None:
        """Policies for which there is no room."""
        if not self.state["left_out"]:
            return None
        most = self.parameters.policies
        return f"{self.name}: got more than {most} policies, and leaves out the others; wanted a larger `policies`"
