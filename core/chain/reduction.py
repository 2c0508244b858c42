"""What a reduction is: a declared layer of a chain.

A reduction file reads in one order: its parameters, the dtype of its state, its kernels, its class, its registration.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.limits import Limits
from hutch.core.chain.stored import Stored
from hutch.core.kernel.abi import SHARED
from hutch.core.kernel.cache import AddressKernel
from hutch.core.kernel.record import Record
from hutch.core.kernel.rewriting import (
    rewritten_importance_to,
    rewritten_learn,
    rewritten_predict,
    rewritten_sensitivity,
)
from hutch.core.loss.losses import Loss, LossChoice
from hutch.core.parameters import Parameters as Parameters
from hutch.core.text.parser import ParserOptions


class Labels(StrEnum):
    """What kind of label a layer takes."""

    SIMPLE = "simple"  # a real number, ±1 for binary
    MULTICLASS = "multiclass"  # a class, counted from 1
    COST_SENSITIVE = "cost_sensitive"  # a cost for each of some classes
    ACTION_COSTS = "action_costs"  # of a decision: a cost for each action
    LOGGED_ACTION = "logged_action"  # of a decision: cost and probability of the action that was chosen
    LOGGED_CLASS = "logged_class"  # cost and probability of the class that was chosen

    @property
    def of_decisions(self) -> bool:
        """Whether examples are decisions, blocks of lines with an action each."""
        return self in (Labels.ACTION_COSTS, Labels.LOGGED_ACTION)


class Predictions(StrEnum):
    """What kind of prediction a layer makes."""

    SCALAR = "scalar"
    CLASS = "class"
    ACTION_SCORES = "action_scores"  # of a decision: the lower, the better
    ACTION_PROBABILITIES = "action_probabilities"

    @property
    def of_actions(self) -> bool:
        """Whether there is a number for each action."""
        return self in (Predictions.ACTION_SCORES, Predictions.ACTION_PROBABILITIES)


@dataclass(frozen=True, slots=True)
class Kernels:
    """The compiled functions of a layer, all of the signature of `hutch.core.kernel.abi`.

    Attributes:
        learn: predict, then train; returns the prediction made before training.
        predict: predict only.
        importance_to: h_min, needed below an `active` layer; `importance` carries the target prediction.
        sensitivity: change of the prediction per unit of importance, needed by VW's active rule.
        predict_many: of a base learner, predict with `prediction_count` sub-models from `offset` on, which lie row by
            row, and write to EXAMPLE.predictions what `predict` would return for each; only for a learner that leaves
            these as they are when another sub-model learns, unless that widens the range of labels. A layer above may
            then tell `learn` the prediction by EXAMPLE.predicted.
        rewrite: of a layer that changes which features an example has; see `rewriting`.
    """

    learn: AddressKernel
    predict: AddressKernel
    importance_to: AddressKernel | None = None
    sensitivity: AddressKernel | None = None
    predict_many: AddressKernel | None = None
    rewrite: AddressKernel | None = None

    @classmethod
    def rewriting(
        cls,
        rewrite: AddressKernel,
        learn: AddressKernel = rewritten_learn,
        predict: AddressKernel = rewritten_predict,
    ) -> "Kernels":
        """All kernels of a layer that only changes which features an example has.

        Args:
            rewrite: lets the example show other features; what it returns does not matter. The layers below then get
                the example, which shows its own features again when they are done.
            learn: in place of that, for a layer that learns, too.
            predict: the same.
        """
        return cls(learn, predict, rewritten_importance_to, rewritten_sensitivity, rewrite=rewrite)


@dataclass(slots=True)
class Context:
    """What a layer may know of the chain it is built into.

    Attributes:
        bits: the weight table has 2^bits rows.
        submodels: how many sub-models the layers above ask of this layer.
        step: rows between two sub-models of the layer below.
        seed: of the run; derive every random decision from it.
        parser: how text is hashed (namespace ids, seeds).
        losses: the losses that are installed, by name.
        below: the layer below, None for a base learner.
        shared: the SHARED record of the chain, as an array of length 1; its address stays valid.
    """

    bits: int
    submodels: int
    step: int
    seed: int
    parser: ParserOptions
    losses: Mapping[str, Loss]
    below: "Reduction | None"
    shared: NDArray[Any] = field(default_factory=lambda: np.zeros(1, SHARED))


@dataclass(frozen=True, slots=True)
class LayerConfig:
    """One layer: the reduction's name, and its validated parameters as attributes of some object."""

    name: str
    parameters: Any


_NO_STATE = np.dtype([("unused", "u8")])


class Reduction(ABC):
    """A layer of a chain.

    Class attributes declare how it fits between its neighbours; the chain checks them when it is built.

    Attributes:
        name: the key in YAML.
        Parameters: the class of its parameters, a subclass of `hutch.core.parameters.Parameters`; none if left out.
        takes: kind of label it takes; None: that of the layer below.
        predicts: kind of prediction it makes; None: that of the layer below.
        asks: kinds (labels, predictions; None: any) the layer below must have; None with `is_base` False: any.
        is_base: True for a learner that stands at the bottom and owns the rows of the weight table.
        looks_ahead: True for a base learner that fetches the rows of the next example itself where it stands alone.
        calls: which of `importance_to`, `sensitivity` and `predict_many` it calls below of its own accord, not only
            when it is asked for its own; the chain is refused where the layer below does not offer them.
        self_contained: which of its own `importance_to` and `sensitivity` call nothing below but `learn` and `predict`;
            the others call the kernel of the same name below, and are offered only where the layer below offers it.
        reads_features: True if it makes features of those it is shown, which must then be hashed ones.
        whole_groups: True if no batch may end within a group of lines: readers then cut between groups.
        passes_decisions: True for a layer without `takes` that never looks at an example's features, so that it may
            stand above layers that take decisions.
        differences: True if the offset that `learn` and `importance_to` get may name two sub-models, the offset of the
            first in the low 32 bits, 1 + that of the second in the high ones: they then see and move the difference of
            the two predictions, EXAMPLE.base added once.
        exact_updates: True if learning in one sub-model changes the predictions of no other, and if EXAMPLE.raw then is
            what `predict` said before of this one, EXAMPLE.updated what it says now.
        one_pass: True for a learner that keeps all it has learned of an example, and to which the same example again is
            a second observation: layers above do not show it one twice of their own accord; None: as the layer below.
        predicts_alone: True if a prediction depends only on its example and on what has been learned, not on examples
            or counters before it, so that several threads may predict parts of the data. It may be a property.
        learns_any_label: False if nothing is learned from a label that is not one of its classes.
        statistics: of its M-step, which a layer directly above may hold near an anchor by `constrain`; none if empty.
        merging: how what chains learned from shards of the data becomes one state, for each array of `saved`: `add`
            (what the shards added), `mean`, `least`, `greatest`, `keep` (it does not change while a pass lasts), or
            `mean:W` and `squares:W:M` for the mean M and the sum of squares about it of values whose weights add up in
            W. An empty mapping if there are no arrays; None: the chain cannot be divided. It may be a property.
        scaled: of a base learner: which columns of its rows may be moved further than shards moved them on average.
        known_failures: the checks of `hutch.plugins.checks.run` that it fails on purpose, each with the reason.
        evaluates_policy: labels of logged classes begin with the class that a policy chooses.
        parameters: the validated parameters of this layer.
        context: the chain around it.
        state: the record that the kernels see through the layer's `state` address; or a structured array of length 1.
    """

    name: ClassVar[str]
    Parameters: ClassVar[type[Parameters]] = Parameters
    takes: ClassVar[Labels | None] = None
    predicts: ClassVar[Predictions | None] = None
    asks: ClassVar[tuple[Labels, Predictions | None] | None] = None
    is_base: ClassVar[bool] = False
    looks_ahead: ClassVar[bool] = False
    calls: tuple[str, ...] = ()
    self_contained: ClassVar[tuple[str, ...]] = ()
    reads_features: ClassVar[bool] = False
    whole_groups: ClassVar[bool] = False
    passes_decisions: ClassVar[bool] = False
    differences: ClassVar[bool] = False
    exact_updates: ClassVar[bool] = False
    one_pass: ClassVar[bool | None] = None
    predicts_alone: bool = False
    learns_any_label: ClassVar[bool] = True
    statistics: ClassVar[tuple[str, ...]] = ()
    known_failures: ClassVar[Mapping[str, str]] = {}
    evaluates_policy: ClassVar[bool] = False
    merging: Mapping[str, str] | None = None
    scaled: ClassVar[slice] = slice(None)

    parameters: Any
    context: Context
    state: Record | NDArray[Any]

    def __init__(self, parameters: Any, context: Context) -> None:
        self.parameters = parameters
        self.context = context
        self.state = Record(_NO_STATE)
        self._losses: list[tuple[str, NDArray[Any]]] = []

    @classmethod
    def width(cls, parameters: Any) -> int:
        """How many sub-models of the layer below it needs."""
        return 1

    @property
    @abstractmethod
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""

    @property
    def stride(self) -> int:
        """Floats per row of the weight table; only asked of base learners. A power of two."""
        return 1

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Names of the namespaces that its parameters name; users are told if no example has one of them."""
        return ()

    @property
    def made_namespaces(self) -> tuple[str, ...]:
        """Names of the namespaces that it makes for the layers below."""
        return ()

    @property
    def score_count(self) -> int:
        """How many scores it writes per example when they are asked for; 0 if it has none."""
        return self.context.below.score_count if self.context.below else 0

    @property
    def scores_are_probabilities(self) -> bool:
        """Whether these scores are probabilities of the classes; by default as the layer below says."""
        return self.context.below is not None and self.context.below.scores_are_probabilities

    @property
    def classes(self) -> int | None:
        """How many classes it tells apart: its parameter `classes`, else what the layer below says; None if unknown."""
        own: int | None = getattr(self.parameters, "classes", None)
        return self.context.below.classes if own is None and self.context.below else own

    @property
    def loss_choice(self) -> LossChoice | None:
        """The loss by which it learns: its parameter `loss`, else what the layer below says; None if unknown."""
        own = getattr(self.parameters, "loss", None)
        if isinstance(own, LossChoice):
            return own
        return self.context.below.loss_choice if self.context.below else None

    @property
    def loss_kind(self) -> int | None:
        """Of that loss, one of `hutch.core.loss.kinds`; None if unknown."""
        below, choice = self.context.below, self.loss_choice
        if below is not None and choice is below.loss_choice:
            return below.loss_kind
        return choice.resolve(self.context.losses).kind if choice else None

    @property
    def decision_threshold(self) -> float:
        """The prediction above which it means the upper of two labels: that of the layer below, or 0."""
        return self.context.below.decision_threshold if self.context.below else 0.0

    @property
    def updates_at(self) -> int:
        """Address of an int64 that grows whenever its predictions may change by learning; 0 if there is none."""
        return 0

    def declared(self, attribute: str) -> Any:
        """Its `takes` or `predicts`, or that of the nearest layer below that says it."""
        own = getattr(self, attribute)
        return self.context.below.declared(attribute) if own is None and self.context.below else own

    @property
    def first_class(self) -> int:
        """The smallest label of a class, 0 or 1; 2 while it is not known, as `saved` or the layer below says it."""
        if "first_class" in self.saved():
            return int(np.ravel(self.saved()["first_class"])[0])
        return self.context.below.first_class if self.context.below else 1

    def accepts(self, labels: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Which labels it is made for, bool (labels); see `learns_any_label` for the others."""
        takes, below = self.declared("takes"), self.context.below
        if takes is Labels.MULTICLASS and self.classes is not None:
            return (labels >= self.first_class % 2) & (labels <= self.classes - (self.first_class == 0))
        if takes is Labels.SIMPLE and below is not None and below.declared("takes") is takes:
            return below.accepts(labels)
        choice = self.loss_choice
        if takes is Labels.SIMPLE and choice is not None:
            return choice.resolve(self.context.losses).accepts(labels, choice.parameters)
        return np.ones(len(labels), np.bool_)

    def lacking(self, name: str) -> "Reduction | None":
        """The layer, this one or one below, that lacks a kernel, so that a layer above cannot call it here.

        Args:
            name: `importance_to`, `sensitivity` or `predict_many`.

        Returns:
            None if the kernel is offered.
        """
        if getattr(self.kernels, name) is None:
            return self
        own = self.context.below is None or name in self.self_contained
        return None if own or self.context.below is None else self.context.below.lacking(name)

    def initialise(self, weights: NDArray[np.float32]) -> None:
        """Set the first values of the weight table, shape (rows, stride); it comes as zeros. Base learners only."""

    def saved(self) -> dict[str, NDArray[Any]]:
        """Arrays that belong in the model beside the weight table, by name; loading copies into them in place."""
        return {}

    def doubts(self) -> str | None:
        """What to say about the data that was learned, if most likely it is not meant as it is; None: nothing."""
        return None

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Called before each batch: make room for whatever the kernels keep, and check what they cannot.

        Raises:
            DataError: the batch cannot be used.
        """

    def limits(self) -> Mapping[str, Limits]:
        """What the arrays of `saved` may hold, by name: all that its kernels rely on; any number if left out.

        A model that holds something else is refused before anything of it is used.
        """
        return {}

    def check_saved(self, arrays: Mapping[str, Stored]) -> None:
        """Check what `limits` cannot say: that the arrays of a model fit each other.

        Args:
            arrays: by the names of `saved`, each within its limits; `hutch.core.chain.stored.dense` makes them whole.

        Raises:
            ModelError: they do not.
        """

    def loading(self, arrays: Mapping[str, Stored]) -> None:
        """Called before a model's arrays, as `saved` named them, are copied in: make room for those that grow."""

    def loaded(self) -> None:
        """Called after a model's arrays have been copied in."""

    def constrain(self, constraint: NDArray[Any]) -> None:
        """Hold every M-step near an anchor, for layers with `statistics`.

        Args:
            constraint: a CONSTRAINT record, of `hutch.em.constrained.record`.

        Raises:
            ConfigError: this layer's parameters leave no room for the constraint.
        """

    def end_pass(self) -> None:
        """Called after each pass over the data."""

    def loss(self, choice: LossChoice) -> NDArray[Any]:
        """The LOSS record of a loss named in the parameters, as an array of length 1; this layer must keep it."""
        record = choice.resolve(self.context.losses).record(self.context.shared, choice.parameters)
        self._losses.append((choice.name, record))
        return record

    @property
    def has_own_losses(self) -> bool:
        """Whether it has a loss with functions of a plugin's own, which count how often they fail."""
        return any(record["plain_value"][0] or record["own_value"][0] for _, record in self._losses)

    @property
    def loss_failures(self) -> dict[str, int]:
        """How often a function of a plugin's loss raised, or was not finite, by the loss."""
        return {name: int(record["failures"][0]) for name, record in self._losses if record["failures"][0]}
