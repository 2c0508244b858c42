"""`fields`: a linear model, and a dyad of learned vectors for each pair of namespaces."""

import ctypes
import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import CONSTANT_NAMESPACE, Batch
from hutch.core.chain.declarations import Inputs, Parallel, Shortcuts
from hutch.core.chain.limits import FINITE, POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.errors import ConfigError, DataError
from hutch.core.kernel.record import Record
from hutch.core.learner.features import Features
from hutch.core.learner.memory import Buffer
from hutch.core.learner.terms import MAX_ORDER, MOST_TERMS, WILDCARD, Terms
from hutch.core.loss import kinds
from hutch.core.loss.losses import LossChoice
from hutch.core.parameters import Parameters, Within
from hutch.core.text.hashing import namespace_id
from hutch.reductions.dyadic import steps
from hutch.reductions.dyadic.layer import NonNegative, Positive
from hutch.reductions.dyadic.state import DYADIC
from hutch.reductions.fields.kernels import importance_to, learn, predict, sensitivity
from hutch.reductions.fields.state import FIELDS, LEARNED

_IN_UNITS = (kinds.SQUARED, kinds.CLASSIC, kinds.EXPECTILE, kinds.QUANTILE)
"""Losses of numbers in a unit: labels are standardised, predictions clipped, and the noise is learned."""
_AT_ONCE = 1 << 12  # rows
_FEW, _MOST = 64, 1 << 26  # namespaces whose pairs always fit into memory, and numbers that an example may take
MERGING = {
    "label_weight": "add",
    "label_mean": "mean:label_weight",
    "label_squares": "squares:label_weight:label_mean",
    "error": "add",
    "error_weight": "add",
    "lift": "mean",
    "gains": "add",
    "again": "keep",
}
"""How state beside the weight table is merged."""


class FieldsParameters(Parameters):
    """Parameters of `fields`.

    Attributes:
        fields: the namespaces of which pairs are learned; none named: all but the constant.
        rank: numbers in a vector; 0 is a linear learner.
        loss: `logistic`, or `{quantile: {tau: 0.9}}`.
        dynamics: `fast` steps are good to three digits, `exact` ones to all; `gradient` makes plain gradient steps,
            which are not importance-aware, for comparison.
        learning_rate: the variance at the start is 1 / (precision (1 + 1 / learning_rate)), so no rate is too high.
        adaptation: how fast a learning rate that proves too low is raised; 0: never.
        precision: prior precision of a vector's coordinate; None: 10 for losses of numbers in a unit, else 0.6.
        linear_precision: prior precision of a linear weight; None: 10 for losses of numbers in a unit, else 4.
        l2: decay of the vectors of an example, per importance; None: 0.1 for losses of numbers in a unit, else 0.004.
        partner_variance: the share of the partner's variance that acts as decay, 1 being variational Bayes.
        spread: length of a vector when it is first touched, on average.
        interactions: products of namespaces as linear features, each a list of names; `:` stands for every namespace.
    """

    fields: tuple[str, ...] = ()
    rank: Annotated[int, Within(ge=0, le=1024)] = 4
    loss: LossChoice = LossChoice(name="logistic")
    dynamics: Literal["fast", "exact", "gradient"] = "fast"
    learning_rate: Positive = 10.0
    adaptation: NonNegative = 1.0
    precision: Positive | None = None
    linear_precision: Positive | None = None
    l2: NonNegative | None = None
    partner_variance: NonNegative = 0.15
    spread: NonNegative = 0.3
    interactions: Annotated[tuple[tuple[str, ...], ...], Within(max_length=MOST_TERMS)] = ()

    def __post_init__(self) -> None:
        if len(self.fields) == 1 or len(set(self.fields)) < len(self.fields):
            raise ValueError(f"fields: got {self.fields!r}, wanted two different namespaces or more, or none for all")
        for term in self.interactions:
            if not 2 <= len(term) <= MAX_ORDER:
                raise ValueError(f"interactions: got {term!r}, wanted 2 to {MAX_ORDER} namespaces")


class Fields(Reduction):
    """w·x, and a product of learned vectors for each pair of namespaces."""

    name: ClassVar[str] = "fields"
    Parameters = FieldsParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    is_base = True
    shortcuts = Shortcuts(exact_updates=True)
    parallel = Parallel(merging=MERGING, scaled=0)  # a row holds information, too
    parameters: FieldsParameters
    state: Record
    kernels = Kernels(learn, predict, importance_to, sensitivity)

    def __init__(self, parameters: FieldsParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p, mode = parameters, context.parser.namespaces
        self.inputs = Inputs(namespaces=p.fields, pairs_namespaces=True)
        ids = [namespace_id(name, mode) for name in p.fields]
        if len(set(ids)) < len(ids):
            raise ConfigError(
                f"fields: got namespaces {p.fields!r}, of which two are one to a chain that goes by {mode}"
            )
        patterns = [[WILDCARD if n == ":" else namespace_id(n, mode) for n in term] for term in p.interactions]
        letters = mode == "letter"
        terms = Terms(patterns, letters=letters, permutations=False, duplicates=False) if patterns else None
        loss, self.learned = context.loss(p.loss), np.zeros(context.submodels, LEARNED)
        self._paired = self._alone = False  # some examples with two fields were learned; some without
        kind, self._features = int(loss[0]["kind"]), Features(terms, ())
        in_units = kind in _IN_UNITS
        step, generic_step, tolerance = steps.kernels_of(kind, p.dynamics)
        self.state = Record(
            FIELDS,
            dyad=Record(DYADIC, loss=loss, tolerance=tolerance),
            step=step,
            generic_step=generic_step or step,
            loss=loss,
            features=self._features.record,
            named=np.array(ids, np.uint32),
            named_count=len(ids),
            learned=self.learned,
            work=Buffer(),
            rank=p.rank,
            gradient=p.dynamics == "gradient",
            in_units=in_units,
            seed=context.seed,
            learning_rate=p.learning_rate,
            adaptation=p.adaptation,
            precision=p.precision if p.precision is not None else 10.0 if in_units else 0.6,
            linear_precision=p.linear_precision if p.linear_precision is not None else 10.0 if in_units else 4.0,
            l2=p.l2 if p.l2 is not None else 0.1 if in_units else 0.004,
            partner_variance=p.partner_variance,
            spread=p.spread,
        )

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Refuse an example whose pairs would take too much memory, and see whether there are pairs at all."""
        if learn and len(batch) and not self._paired:
            fields = batch.namespace_id != CONSTANT_NAMESPACE
            if named := self.state.targets["named"].tolist():
                fields = np.logical_or.reduce([batch.namespace_id == name for name in named])
            before = np.concatenate([[0], np.cumsum(fields)])
            self._paired, self._alone = bool((np.diff(before[batch.row_namespaces]) > 1).any()), True
        if len(batch.namespace_id) <= _FEW:
            return
        counts, lengths = np.diff(batch.row_namespaces), np.diff(batch.row_ptr)
        named = len(self.parameters.fields)
        counts = np.minimum(counts, named) if named else counts
        numbers = counts * counts * self.parameters.rank + counts * lengths
        if numbers.max(initial=0) > _MOST:
            k = int(numbers.argmax())
            got = f"an example with {counts[k]} namespaces and {lengths[k]} features"
            raise DataError(f"fields: got {got}, wanted pairs of fewer: name the fields, or those to ignore")

    def doubts(self) -> str | None:
        """That no example has a pair."""
        if self._paired or not self._alone or not self.parameters.rank:
            return None
        columns = "input: {columns: {namespaces: {user: user, item: item}}}"
        return f"no example has two fields, so no pair is learned; columns of a table become fields by `{columns}`"

    def initialise(self, weights: NDArray[np.float32]) -> None:
        """Zeros: vectors get their first numbers when they are first learned."""
        self._weights = weights

    def end_pass(self) -> None:
        """Halve the information, so that examples met again do not count without bound."""
        k = max(self.parameters.rank, 1)
        for begin in range(0, len(self._weights), _AT_ONCE):
            information = self._weights[begin : begin + _AT_ONCE, k : 2 * k]
            if information.any():  # else the memory stays untouched
                information *= np.float32(0.5)
        before = 1.0 - 0.5 ** float(self.context.shared["pass"][0])
        self.learned["again"] = math.log(2.0) / math.log((before + 1.0) / before)

    def unit(self, submodel: int) -> tuple[float, float]:
        """Mean and deviation of the labels; 0 and 1 for losses that do not standardise them."""
        learned = self.learned[submodel]
        if not self.state["in_units"][0] or not learned["label_squares"] > 0:
            return float(learned["label_mean"]) if self.state["in_units"][0] else 0.0, 1.0
        return float(learned["label_mean"]), math.sqrt(learned["label_squares"] / learned["label_weight"])

    def pair_parts(self, batch: Batch) -> list[tuple[int, int, list[float]]]:
        """Σ a·b of each pair of fields of the example predicted last, for every sub-model."""
        named, count = self.state.targets["named"], int(self.state["count"][0])
        names = [name for name, indices, _ in batch.row(0) if len(indices)]
        ids = [name for name in names if (name in named if len(named) else name != CONSTANT_NAMESPACE)]
        if count < 2 or len(ids) != count:
            return []
        work = int(self.state.targets["work"].record["address"][0])
        places = np.frombuffer(ctypes.string_at(work, 16 * count), np.int64).reshape(count, 2)
        length = int(places.max())
        slots = np.frombuffer(ctypes.string_at(work + 24 * count, 8 * length * count), np.uint64)
        multiplier, rank = int(self.context.shared["multiplier"][0]), self.parameters.rank
        rows = (slots // np.uint64(self.stride)).astype(np.int64).reshape(length, count)
        rows -= rows % multiplier
        values = self._features.gathered()[1][:length].astype(np.float64)

        def side(f: int, g: int, k: int) -> NDArray[np.float64]:
            own = slice(*places[f].tolist())
            vectors: NDArray[np.float64] = self._weights[rows[own, g] + k, :rank].astype(np.float64)
            return values[own] @ vectors

        return [
            (ids[f], ids[g], [float(side(f, g, k) @ side(g, f, k)) for k in range(self.context.submodels)])
            for f in range(count)
            for g in range(f + 1, count)
        ]

    @property
    def stride(self) -> int:
        """A weight or a vector, and the information about each number."""
        return 1 << (2 * max(self.parameters.rank, 1) - 1).bit_length()

    def saved(self) -> dict[str, NDArray[Any]]:
        return {name: self.learned[name] for name in LEARNED.names or ()}

    def limits(self) -> Mapping[str, Limits]:
        """Moments and sums."""
        return {**dict.fromkeys(LEARNED.names or (), POSITIVE), "label_mean": FINITE}
