"""The dyadic learner: p = a·b + w·x over two namespaces, by importance-aware updates of low rank.

Each feature of the left namespace has a vector A_f, each of the right one a vector B_f of `rank` numbers, besides its
linear weight; a and b are their sums over the example's features, weighted by the features' values. The linear features
of both sides, of all other namespaces and of the interactions are used too, without being repeated.

Source: P. Mineiro, "Machined Learnings", 20 May 2011; docs/explanation/dyadic.md explains what was added.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.declarations import Inputs, Parallel, Shortcuts
from hutch.core.chain.limits import FINITE, POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.record import Record
from hutch.core.learner.features import Features
from hutch.core.learner.terms import MAX_ORDER, MOST_TERMS, WILDCARD, Terms
from hutch.core.loss import kinds
from hutch.core.loss.losses import LossChoice
from hutch.core.parameters import Parameters, Within
from hutch.core.text.hashing import namespace_id
from hutch.reductions.dyadic import rates as dyadic_rates
from hutch.reductions.dyadic import steps as dyadic_steps
from hutch.reductions.dyadic.kernels import importance_to, learn, predict, sensitivity
from hutch.reductions.dyadic.state import DYADIC, LEARNED, POSTERIOR

NonNegative = Annotated[float, Within(ge=0)]
Positive = Annotated[float, Within(gt=0)]

MERGING = {
    "label_weight": "add",
    "label_mean": "mean:label_weight",
    "label_squares": "squares:label_weight:label_mean",
    **dict.fromkeys(("noise", "pace", "left_precision", "right_precision", "other_precision"), "keep"),
    "error": "add",
    "error_weight": "add",
}
"""How state beside the weight table is merged."""
_NOISE_AT_FIRST, _NOISE_SHARE = 0.6, 0.8
_PRECISION_AT_FIRST = {"left": 3.0, "right": 3.0, "other": 10.0}


_LOOKED_AT = 1000  # examples
_FEW = 4  # values that a count or a grade may have


class _Ids:
    """Whether a namespace has one feature alone, with several whole numbers as values."""

    def __init__(self, id: int) -> None:
        self._id, self._one, self._values = id, True, set[float]()
        self._feature: int | None = None

    def look_at(self, batch: Batch) -> None:
        """Look at the features of a batch."""
        for at in np.flatnonzero(batch.namespace_id == self._id)[:_LOOKED_AT].tolist() if self._one else ():
            features = slice(*batch.namespace_ptr[at : at + 2].tolist())
            for index, value in zip(batch.indices[features].tolist(), batch.values[features].tolist(), strict=True):
                self._feature = index if self._feature is None else self._feature
                self._one = self._one and index == self._feature and value % 1 == 0
                self._values.add(value)

    @property
    def are_numbers(self) -> bool:
        """Whether that is so."""
        return self._one and len(self._values) > _FEW

    @property
    def such(self) -> str:
        """Some of the values."""
        return ", ".join(f"{value:g}" for value in sorted(self._values)[-3:])


class DyadicParameters(Parameters):
    """Parameters of `dyadic`.

    Attributes:
        left: one of the two namespaces.
        right: the other one.
        dyads: further pairs of namespaces; no namespace may be in two.
        rank: numbers in a factor; 0 is a linear learner.
        loss: `hinge`, or `{quantile: {tau: 0.9}}`.
        dynamics: `fast` steps are good to three digits, `exact` ones to all; `gradient` makes plain gradient steps,
            which are not importance-aware, for comparison.
        rates: `posterior` (squared loss only, its default) or `power` (default of the others).
        learning_rate: multiplies every rate.
        power_t: with `power`, the rate is learning_rate (t0 / (t0 + t))^power_t.
        initial_t: t0 of that.
        l2: decay of the features of an example, per unit of learning rate and importance; not with `posterior`.
        shift: added to every coordinate of a and b, so that zero is no fixed point.
        spread: standard deviation of a factor when it is first touched; None: a default for the rates.
        precision: with `posterior`, prior precision of a factor, in standardised labels.
        interactions: products of namespaces as linear features, each a list of names; `:` stands for every namespace.
    """

    left: str
    right: str
    dyads: tuple[tuple[str, str], ...] = ()
    rank: Annotated[int, Within(ge=0, le=1024)] = 2
    loss: LossChoice = LossChoice(name="squared")
    dynamics: Literal["fast", "exact", "gradient"] = "fast"
    rates: Literal["posterior", "power"] | None = None
    learning_rate: NonNegative | None = None
    power_t: Annotated[float, Within(ge=0, le=1)] = 0.5
    initial_t: Positive = 1e4
    l2: NonNegative = 0.0
    shift: float = 0.0
    spread: NonNegative | None = None
    precision: Positive = 9.0
    interactions: Annotated[tuple[tuple[str, ...], ...], Within(max_length=MOST_TERMS)] = ()

    def __post_init__(self) -> None:
        names = [name for pair in self.pairs for name in pair]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(
                    f"got namespace {name!r} on two sides, wanted it on one: the step has no closed form else"
                )
        for term in self.interactions:
            if not 2 <= len(term) <= MAX_ORDER:
                raise ValueError(f"interactions: got {term!r}, wanted 2 to {MAX_ORDER} namespaces")
        if self.rates == "posterior" and self.loss.name not in ("squared", "classic"):
            raise ValueError(f"rates: got 'posterior' with loss {self.loss.name!r}, wanted 'power'")
        if self.chosen_rates == "posterior" and self.l2 > 0:
            raise ValueError("l2: got it with rates 'posterior', which have their own prior; see precision")

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All pairs of namespaces."""
        return ((self.left, self.right), *self.dyads)

    @property
    def chosen_rates(self) -> str:
        """The rates, with their default filled in."""
        return self.rates or ("posterior" if self.loss.name in ("squared", "classic") else "power")

    @property
    def chosen_spread(self) -> float:
        """The spread, with its default filled in."""
        if self.spread is not None:
            return self.spread
        return 0.5 / math.sqrt(self.precision) if self.chosen_rates == "posterior" else 0.05

    @property
    def chosen_learning_rate(self) -> float:
        """The learning rate, with its default filled in."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 1.0 if self.chosen_rates == "posterior" else 0.3


class Dyadic(Reduction):
    """p = a·b + w·x."""

    name: ClassVar[str] = "dyadic"
    Parameters = DyadicParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    is_base = True
    shortcuts = Shortcuts(differences=True, exact_updates=True)
    parallel = Parallel(merging=MERGING, scaled=0)  # a row holds counts and the kind of its feature, too
    parameters: DyadicParameters
    state: Record
    kernels = Kernels(learn, predict, importance_to, sensitivity)

    def __init__(self, parameters: DyadicParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p, mode = parameters, context.parser.namespaces
        self.inputs = Inputs(namespaces=tuple(name for pair in p.pairs for name in pair))
        ids = [[namespace_id(name, mode) for name in pair] for pair in p.pairs]
        if len({i for pair in ids for i in pair}) < 2 * len(ids):
            raise ConfigError(
                f"dyadic: got namespaces {p.pairs!r}, of which two are one to a chain that goes by {mode}"
            )
        self._seen, self._ids = 0, {name: _Ids(namespace_id(name, mode)) for pair in p.pairs for name in pair}
        letters = mode == "letter"
        patterns = [[WILDCARD if n == ":" else namespace_id(n, mode) for n in term] for term in p.interactions]
        terms = Terms(patterns, letters=letters, permutations=False, duplicates=False) if patterns else None
        self._loss = context.loss(p.loss)
        self._pairs = np.array(ids, np.uint32)
        self.learned = np.zeros(context.submodels, LEARNED)
        self.learned["noise"], self.learned["pace"] = _NOISE_AT_FIRST, 1.0
        for kind, precision in _PRECISION_AT_FIRST.items():
            self.learned[f"{kind}_precision"] = precision
        self.state = self._record(terms)
        self.state["rival"] = self._record(terms)

    def _record(self, terms: Terms | None) -> Record:
        """A DYADIC record with separate features and scratch."""
        p, pairs = self.parameters, len(self._pairs)
        record = Record(
            DYADIC,
            loss=self._loss,
            features=Features(terms, ()).record,
            pairs=self._pairs,
            learned=self.learned,
            ranges=np.zeros((pairs, 4), np.int64),
            metric=np.zeros((pairs, 2)),
            balance=np.ones(pairs),
            sides=np.zeros((pairs, 2, max(p.rank, 1))),
        )
        record["self"] = record
        rates = p.chosen_rates
        record["pair_count"] = pairs if p.rank or rates == "posterior" else 0
        record["rank"], record["rates"] = p.rank, dyadic_rates.RATES[rates]
        record["head"] = dyadic_rates.HEADS[rates]
        record["seed"] = self.context.seed
        step, generic_step, record["tolerance"] = dyadic_steps.kernels_of(int(self._loss[0]["kind"]), p.dynamics)
        record["step"], record["generic_step"] = step, generic_step or 0
        for name, kernel in dyadic_rates.KERNELS.items() if rates == "posterior" else ():
            record[name] = kernel
        record["undecayed"] = not record["decay"][0] and not p.l2
        record["clip"] = self._loss[0]["kind"] in (kinds.SQUARED, kinds.CLASSIC, kinds.EXPECTILE, kinds.QUANTILE)
        record["learning_rate"], record["power_t"] = p.chosen_learning_rate, p.power_t
        record["initial_t"], record["l2"] = p.initial_t, p.l2
        record["shift"], record["spread"], record["precision"] = p.shift, p.chosen_spread, p.precision
        return record

    @property
    def stride(self) -> int:
        wanted = int(self.state["head"][0]) + self.parameters.rank
        return 1 << (wanted - 1).bit_length()

    def initialise(self, weights: NDArray[np.float32]) -> None:
        self._weights = weights

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        if learn and self._seen < _LOOKED_AT:
            self._seen += len(batch)
            for ids in self._ids.values():
                ids.look_at(batch)

    def doubts(self) -> str | None:
        """Warning about a side whose only feature has whole numbers, as a column of ids has; None if no side has."""
        for name, ids in self._ids.items():
            if ids.are_numbers:
                what = f"the namespace {name!r} has one feature, whose values are whole numbers such as {ids.such}"
                return f"{what}: they are quantities; ids must be words, as `categorical` (of columns) makes them"
        return None

    def saved(self) -> dict[str, NDArray[Any]]:
        return {name: self.learned[name] for name in LEARNED.names or ()}

    def limits(self) -> Mapping[str, Limits]:
        """Moments and precisions."""
        return {**dict.fromkeys(LEARNED.names or (), POSITIVE), "label_mean": FINITE, "label_squares": FINITE}

    def end_pass(self) -> None:
        record, learned = self.state.array[0], self.learned
        if record["rates"] == POSTERIOR:
            multiplier = int(self.context.shared["multiplier"][0])
            for offset in range(len(learned)):
                dyadic_rates.end_pass(self._weights[offset::multiplier], learned[offset], _NOISE_SHARE)
            learned["pace"] = 1.0 / (1.0 + 0.1 * float(self.context.shared["pass"][0]))
