"""The interface of crowd models: an E step, an M step, priors; and the loops around them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hutch.core import parameters
from hutch.core.chain.limits import Limits
from hutch.core.errors import ConfigError, ModelError, PluginError, at, did_you_mean
from hutch.core.parameters import Within, parameters_of
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.calibration import calibrate

if TYPE_CHECKING:
    from pydantic import ValidationError

Array = NDArray[np.float64]
Sums = dict[str, Array]
"""Inputs of an M step from the labels, by name: arrays that are sums over items."""


class Parameters(parameters.Parameters):
    """The parameters of every model; models add their own.

    Attributes:
        iterations: EM iterations at most.
        tolerance: stop when no posterior changes by more.
        class_prior: P(Z), not learned; on any scale, one number per class.
        rho: correlation of the labels of an item, for calibration; 0 for none; None: two_level estimates in batch how
            far posteriors can be trusted, others take 0.1.
    """

    iterations: Annotated[int, Within(ge=1, le=100_000)] = 50
    tolerance: Annotated[float, Within(ge=0)] = 1e-3
    class_prior: tuple[float, ...] | None = None
    rho: Annotated[float, Within(ge=0)] | None = None


@dataclass
class State:
    """Learned state of a model.

    Attributes:
        classes: names of the classes, by code.
        worker_names: whose rows the worker arrays hold, by code; empty if the rows are hashed slots.
        workers: arrays with one row per worker, carried over to the next run.
        shared: arrays of the whole crowd, carried over too.
        items: arrays with one row per item of the present labels; never saved, as is `scratch`.
        scratch: anything else that a run needs and that is the same for all items.
        labels: arrays with one row per label, never saved.
        open: what a stream keeps of items that may get more labels; saved, and checked by the stream.
    """

    classes: list[str]
    worker_names: list[str]
    workers: dict[str, Array] = field(default_factory=dict)
    shared: dict[str, Array] = field(default_factory=dict)
    items: dict[str, Array] = field(default_factory=dict)
    scratch: dict[str, Array] = field(default_factory=dict)
    labels: dict[str, Array] = field(default_factory=dict)
    open: dict[str, NDArray[Any]] = field(default_factory=dict)


@dataclass
class Fit:
    """Result of one run.

    Attributes:
        state: the learned state.
        posterior: float64 (items, classes).
        iterations: EM iterations or passes done.
        objective: the model's own, a mean over items; comparable between runs of one model on the same labels.
        converged: the last iteration changed less than the tolerance.
        informative: dependence of a label of each item on its class, 0 to 1 (items).
    """

    state: State
    posterior: Array
    iterations: int
    objective: float
    converged: bool
    informative: Array


class Steps(Protocol):
    """The steps of EM over some labels, wherever they are stored."""

    def count(self) -> Sums:
        """`CrowdModel.count` over all labels."""
        ...

    def expect(self) -> tuple[float, float]:
        """`CrowdModel.expect` over all labels, which are learned from."""
        ...

    def total(self, measure: str) -> float:
        """The sum over all labels of a model's method (labels, state) -> sum over those labels."""
        ...

    def collect(self) -> None:
        """Set the state's arrays of all items and labels to the present ones."""
        ...


class InProcess:
    """`Steps` over labels in one piece, in this process.

    Args:
        model: whose steps.
        labels: all of them.
        state: of the model; changed in place.
    """

    def __init__(self, model: "CrowdModel", labels: Labels, state: State) -> None:
        self._model, self._labels, self._state = model, labels, state

    def count(self) -> Sums:
        """See `Steps`."""
        return self._model.count(self._labels, self._state)

    def expect(self) -> tuple[float, float]:
        """See `Steps`."""
        return self._model.expect(self._labels, self._state, learned=True)

    def total(self, measure: str) -> float:
        """See `Steps`."""
        return float(getattr(self._model, measure)(self._labels, self._state))

    def collect(self) -> None:
        """Nothing to do: the results are local."""


Over = Callable[["CrowdModel", Labels, State], Steps]
"""Makes the steps of a run: `InProcess`, or one that distributes the items over processes or machines."""


class CrowdModel(ABC):
    """One explanation of how labels come about; subclasses are final.

    `limits` are those of the arrays of a saved state, by name: its kernels rely on them; without, any finite numbers.

    A model has a `name`, declares its `Parameters`, and implements the abstract methods below; `fit` and `infer` do the
    rest. State lives in `State`, never in the model. docs/writing-a-crowd-model.md shows a complete one.

    `count` and `expect` may be given the labels of some items only, with the rows of `State.items` and `State.labels`
    that belong to them: that is how labels are distributed over processes. `settle` handles the crowd.

    Attributes:
        room: lower bound of the memory of batch EM: tables (classes, classes) of every worker, and rows (classes) of
            every item.
        crowd_tables: the same for tables (classes, classes) of the whole crowd, where they may be the largest.
        online: module and class of its online form (`hutch.crowd.models.online.Stream`) as `module:Class`; empty: none.
            By default blocks of items, each with those before as its history.
        any_order: its online form takes the labels of an item in any order.
        settlements: how often `count` and `settle` follow each other in an M step.
        kind: of its labels: `classes`, as int32 codes, or `measurements`, float64 numbers without classes.
        wants_people: whether it tells people, whose labels define the classes, from judges.
        ordinal: whether its classes are a scale, on which some workers label higher than others.

    Args:
        **parameters: fields of `Parameters`.

    Raises:
        ConfigError: a parameter is unknown or out of range.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    Parameters: ClassVar[type[Parameters]] = Parameters
    limits: ClassVar[Mapping[str, Limits]] = {}
    room: ClassVar[tuple[int, int]] = (2, 2)
    crowd_tables: ClassVar[int] = 0
    online: ClassVar[str] = "hutch.crowd.models.block_stream:BlockStream"
    any_order: ClassVar[bool] = False
    parameters: Any
    settlements: int = 1
    kind: ClassVar[Literal["classes", "measurements"]] = "classes"
    wants_people: ClassVar[bool] = False
    ordinal: ClassVar[bool] = False

    def __init__(self, **parameters: Any) -> None:
        if not parameters and issubclass(self.Parameters, Parameters):
            with suppress(TypeError, ValueError):  # defaults need no check where there is one of each
                self.parameters = self.Parameters()
                return
        from pydantic import ValidationError  # not at the top: reading labels alone checks nothing

        from hutch.core.config.adapter import adapter

        try:
            self.parameters = adapter(self.Parameters).validate_python(parameters)
        except ValidationError as error:
            raise ConfigError(_explain(self.name, self.Parameters, error)) from None

    @property
    def label_type(self) -> type[np.int32 | np.float64]:
        """The type of a label in arrays."""
        return np.int32 if self.kind == "classes" else np.float64

    @classmethod
    def of(cls, parameters: Any) -> Self:
        """A model with parameters that have been checked."""
        model = cls()
        model.parameters = parameters
        return model

    @abstractmethod
    def start(self, labels: Labels, history: State | None) -> State:
        """A state from which EM can start: posteriors of vote shares, counts of earlier runs.

        Args:
            labels: their classes and workers begin with those of `history`.
            history: learned by earlier runs, or None.
        """

    @abstractmethod
    def count(self, labels: Labels, state: State) -> Sums:
        """First half of the M step: evidence of the items' posteriors about workers and crowd, summed over the items.

        The state stays unchanged. A model that learns nothing returns an empty dictionary.
        """

    @abstractmethod
    def settle(self, state: State, sums: Sums) -> None:
        """Second half: from the sums over all items to the parameters of workers and crowd, in place."""

    def maximise(self, labels: Labels, state: State) -> None:
        """M step: from the items' posteriors to the parameters of workers and crowd, in place."""
        for _ in range(self.settlements):
            self.settle(state, self.count(labels, state))

    @abstractmethod
    def expect(self, labels: Labels, state: State, learned: bool) -> tuple[float, float]:
        """E step: new posteriors of these items, in place; changes nothing but arrays of items and labels.

        Args:
            learned: the parameters were estimated from these labels, too.

        Returns:
            mean of the objective over these items without `log_prior`, largest change of a posterior.
        """

    def log_prior(self, state: State) -> float:
        """Part of the objective due to workers and crowd: log P(parameters) up to a constant; 0 without one."""
        return 0.0

    @abstractmethod
    def posterior(self, state: State) -> Array:
        """P(class | labels) of each item (items, classes)."""

    @abstractmethod
    def confusions(self, state: State) -> Array:
        """P(label l | class k) of each worker on an item of usual difficulty (workers, k, l)."""

    @abstractmethod
    def class_prior(self, state: State) -> Array:
        """P(class) (classes)."""

    def informative(self, state: State) -> Array:
        """Dependence of a label of each item on its class, 0 to 1; 1 where the model has no difficulty."""
        found = self.posterior(state)
        if not isinstance(found, np.ndarray):
            place = f"{type(self).__module__}.{type(self).__qualname__}.posterior"
            raise PluginError(f"{place}: got {type(found).__name__}, wanted an array (items, classes)")
        return np.ones(len(found))

    def probability(self, labels: Labels, fit: Fit) -> Array:
        """The posteriors of a run, made less sure, since labels of one item err together (items, classes)."""
        return calibrate(fit.posterior, np.diff(labels.item_ptr), self.parameters.rho)

    def population(self, state: State) -> Array:
        """P(label l | class k) of an unknown worker: the learned mean of all (k, l)."""
        name = max(state.worker_names, key=len, default="") + "?"  # nobody's
        nothing = np.zeros(0, np.int32)
        labels = Labels(
            np.zeros(1, np.int64), nothing, nothing, [], [*state.worker_names, name], state.classes, nothing
        )
        return np.asarray(self.confusions(self.start(labels, state))[-1])

    def beta(self, state: State) -> Array:
        """Easiness of each item, any number from 0; `informative` where the model has no such number (items)."""
        return self.informative(state)

    def reference(self, names: list[str]) -> NDArray[np.bool_] | None:
        """Which workers may be found to copy; None: all."""
        return None

    def factors(self, state: State) -> Array:
        """Factors of the classes' probabilities for a label of each worker (workers, labels, classes)."""
        return np.ascontiguousarray(self.confusions(state).transpose(0, 2, 1))

    def others(self, labels: Labels, state: State, learned: bool = True) -> Array:
        """Evidence of everything but a label about its item: the probability that class k decided the label.

        Sums to 1 over the classes, or to less where an item may be too difficult for its class to matter.

        Args:
            labels: those of the state's posteriors.
            state: after `fit` or `infer`.
            learned: the parameters were estimated from these labels, too.

        Returns:
            float64 (labels, classes).
        """
        likelihood = self.confusions(state)[labels.workers, :, labels.labels]
        return without_own(labels, self.posterior(state), likelihood)

    def fit(self, labels: Labels, history: State | None = None, over: Over = InProcess) -> Fit:
        """Batch EM.

        Args:
            labels: if there is a history, read with its classes and workers.
            history: counts of earlier runs; they act as prior.
            over: where the steps are made.
        """
        return self.improve(labels, self.start(labels, history), over=over)

    def improve(self, labels: Labels, state: State, done: int = 0, over: Over = InProcess) -> Fit:
        """Iterate until nothing changes any more, or the limit is reached.

        Args:
            labels: as in `fit`.
            state: changed in place.
            done: iterations that were spent on it before.
            over: where the steps are made.
        """
        objective, iteration, converged = 0.0, done, False
        steps = over(self, labels, state)
        while iteration < self.parameters.iterations and len(labels) and not converged:
            for _ in range(self.settlements):
                self.settle(state, steps.count())
            objective, change = steps.expect()
            iteration += 1
            converged = change <= self.parameters.tolerance
        steps.collect()
        objective += self.log_prior(state) / max(labels.items, 1) if iteration > done else 0.0
        return Fit(state, self.posterior(state), iteration, objective, converged, self.informative(state))

    def infer(self, labels: Labels, history: State) -> Fit:
        """Posteriors from what earlier runs learned, without learning from these labels."""
        state = self.start(labels, history)
        objective, _ = self.expect(labels, state, learned=False)
        objective += self.log_prior(state) / max(labels.items, 1)
        return Fit(state, self.posterior(state), 0, objective, True, self.informative(state))

    def fixed_prior(self, classes: int) -> Array | None:
        """The given class prior, normalised, or None if it is to be learned.

        Raises:
            ConfigError: it has another number of classes.
        """
        given = self.parameters.class_prior
        if given is None:
            return None
        prior = np.array(given, np.float64)
        if len(prior) != classes or not np.all(prior >= 0) or not np.isfinite(prior.sum()) or prior.sum() == 0:
            text = f"got {list(given)}, wanted {classes} numbers of at least 0 that are not all 0"
            raise ConfigError(at(f"{self.name}.class_prior", None, None, text))
        return np.asarray(prior / prior.sum())

    def prior_of(self, counts: Array) -> Array:
        """The given class prior; without one, counts of the classes over their sum."""
        fixed = self.fixed_prior(len(counts))
        return fixed if fixed is not None else np.asarray(counts / counts.sum())


def without_own(labels: Labels, posterior: Array, likelihood: Array) -> Array:
    """Each label's item without the label: its posterior over the label's likelihood, normalised (labels, classes).

    Args:
        labels: the labels.
        posterior: (items, classes).
        likelihood: P(label | class) of each label (labels, classes), as it made the posterior.
    """
    rest = posterior[labels.label_items] / np.maximum(likelihood, 1e-12)
    return np.asarray(rest / rest.sum(axis=1, keepdims=True))


def grown(array: Array | None, shape: tuple[int, ...], fill: float = 0.0) -> Array:
    """A copy of `array` in a larger shape, the rest filled; all of it filled if the array is None.

    Raises:
        ModelError: it does not fit into the shape.
    """
    result = np.full(shape, fill)
    if array is not None:
        if array.ndim != len(shape) or any(have > room for have, room in zip(array.shape, shape, strict=True)):
            raise ModelError(f"the crowd model holds an array of shape {array.shape}, wanted at most {shape}")
        result[tuple(slice(n) for n in array.shape)] = array
    return result


def _explain(model: str, kind: type[Parameters], error: "ValidationError") -> str:
    first = error.errors()[0]
    place = ".".join([model, *map(str, first["loc"])])
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        names = [parameter.name for parameter in parameters_of(kind)]
        return at(place, None, None, f"unknown parameter; {did_you_mean(str(first['loc'][0]), names)}")
    return at(place, None, None, f"{first['msg'][0].lower()}{first['msg'][1:]}, got {first['input']!r}")
