"""The reduction: a declared layer of a chain.

A reduction file reads in one order: its parameters, the dtype of its state, its kernels, its class, its registration.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.declarations import Answers, Inputs, Parallel, Shortcuts
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
    """The kind of label a layer takes."""

    SIMPLE = "simple"  # a real number, ±1 for binary
    MULTICLASS = "multiclass"  # a class, counted from 1
    COST_SENSITIVE = "cost_sensitive"  # a cost for each of some classes
    MULTILABEL = "multilabel"  # any number of classes, in the arrays of costs
    ACTION_COSTS = "action_costs"  # of a decision: a cost for each action
    LOGGED_ACTION = "logged_action"  # of a decision: cost and probability of the action that was chosen
    LOGGED_SLOTS = "logged_slots"  # of a decision: the same for each of the slots that get an action
    LOGGED_SLATE = "logged_slate"  # of a decision: one cost of all slots, and the probability of each one's action
    LOGGED_CLASS = "logged_class"  # cost and probability of the class that was chosen
    NONE = "none"  # examples have no label, and all are learned
    LOGGED_NUMBER = "logged_number"  # the number that was chosen, its cost and its density, which stand among the costs
    CLASSES_OF_LINES = "classes_of_lines"  # of a block of lines: the class of each
    NUMBERS_OF_LINES = "numbers_of_lines"  # of a block of lines: some whole numbers of each, in the arrays of costs

    @property
    def lists_classes(self) -> bool:
        """Whether an example's label is a list of classes, in the arrays of costs."""
        return self in (Labels.COST_SENSITIVE, Labels.MULTILABEL)

    @property
    def of_decisions(self) -> bool:
        """Whether examples are blocks of lines: decisions with an action each, or lines with a label each."""
        return self.of_actions or self.of_slots or self.of_lines

    @property
    def of_lines(self) -> bool:
        """Whether each line of a block has a label of its own."""
        return self in (Labels.CLASSES_OF_LINES, Labels.NUMBERS_OF_LINES)

    @property
    def of_one_line(self) -> "Labels":
        """How the label of a single line is written."""
        return Labels.MULTICLASS if self is Labels.CLASSES_OF_LINES else self

    @property
    def of_actions(self) -> bool:
        """Whether a decision is for one of its actions."""
        return self in (Labels.ACTION_COSTS, Labels.LOGGED_ACTION)

    @property
    def lists_costs(self) -> bool:
        """Whether an example's label is in the arrays of costs."""
        return self.lists_classes or self is Labels.LOGGED_NUMBER

    @property
    def of_slots(self) -> bool:
        """Whether a decision puts actions into several slots, each a line behind those of the actions."""
        return self in (Labels.LOGGED_SLOTS, Labels.LOGGED_SLATE)


class Predictions(StrEnum):
    """The kind of prediction a layer makes."""

    SCALAR = "scalar"
    CLASS = "class"
    LABELS = "labels"  # any number of them: those whose score is above the threshold; the number is their number
    ACTION_SCORES = "action_scores"  # of a decision: the lower, the better
    ACTION_PROBABILITIES = "action_probabilities"
    DENSITY = "density"  # of numbers: its scores are segments, each with its ends and its density; NaN behind the last
    DRAWN_NUMBER = "drawn_number"  # a number drawn from a density; its score is the density there

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
            then pass `learn` the prediction in EXAMPLE.predicted.
        rewrite: of a layer that changes which features an example has; see `rewriting`.
        calls: which of `importance_to`, `sensitivity` and `predict_many` the layer calls below on its own, not
            only when its own kernel is called; the chain is refused where the layer below does not offer them.
        self_contained: which of its own `importance_to` and `sensitivity` call nothing below but `learn` and `predict`;
            the others call the kernel of the same name below, and are offered only where the layer below offers it.
    """

    learn: AddressKernel
    predict: AddressKernel
    importance_to: AddressKernel | None = None
    sensitivity: AddressKernel | None = None
    predict_many: AddressKernel | None = None
    rewrite: AddressKernel | None = None
    calls: tuple[str, ...] = ()
    self_contained: tuple[str, ...] = ()

    @classmethod
    def rewriting(
        cls,
        rewrite: AddressKernel,
        learn: AddressKernel = rewritten_learn,
        predict: AddressKernel = rewritten_predict,
    ) -> "Kernels":
        """All kernels of a layer that only changes which features an example has.

        Args:
            rewrite: makes the example show other features; its return value is ignored. The layers below then get
                the example, which shows its own features again when they are done.
            learn: replaces the default, for a layer that learns, too.
            predict: the same.
        """
        return cls(learn, predict, rewritten_importance_to, rewritten_sensitivity, rewrite=rewrite)


@dataclass(slots=True)
class Context:
    """The part of the chain that a layer may see.

    Attributes:
        bits: the weight table has 2^bits rows.
        submodels: number of sub-models of this layer that the layers above need.
        step: rows between two sub-models of the layer below.
        seed: of the run; derive every random decision from it.
        parser: how text is hashed (namespace ids, seeds).
        losses: the installed losses, by name.
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

    def loss(self, choice: LossChoice) -> NDArray[Any]:
        """The LOSS record of a loss named in the parameters, as an array of length 1."""
        loss = choice.resolve(self.losses)
        record = loss.record(self.shared, choice.parameters)
        loss.refuse_unsound(record)
        return record


@dataclass(frozen=True, slots=True)
class LayerConfig:
    """One layer: the reduction's name, and its validated parameters as attributes of some object."""

    name: str
    parameters: Any


_NO_STATE = np.dtype([("unused", "u8")])


class Reduction(ABC):
    """A layer of a chain.

    Class attributes declare how it fits between its neighbours; the chain checks them when it is built. Rarely needed
    declarations are in groups, `inputs`, `answers`, `shortcuts` and `parallel`, which have defaults. All names of this
    class are public, so that a subclass may use any name with an underscore for itself.

    Attributes:
        name: the key in YAML.
        Parameters: the class of its parameters, a subclass of `hutch.core.parameters.Parameters`; none if left out.
        takes: kind of label it takes; None: that of the layer below.
        predicts: kind of prediction it makes; None: that of the layer below.
        asks: kinds (labels, predictions; None: any) the layer below must have; None with `is_base` False: any.
        is_base: True for a learner at the bottom, which owns the rows of the weight table.
        linear: True if its scores, before a link, are linear in an example's features without interactions; of a layer
            above a learner, if they are where those of the layer below are.
        known_failures: the checks of `hutch.plugins.checks.run` that it fails on purpose, each with the reason.
        keeps: the fields of its state that belong in the model, or arrays whose addresses they hold, with their limits;
            see `saved` and `limits`.
        inputs: its requirements on the examples; of the class, or with namespaces set by `__init__`.
        shortcuts: of a base learner, promises that save work above.
        parallel: what threads and shards may do with it.
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
    linear: ClassVar[bool] = False
    known_failures: ClassVar[Mapping[str, str]] = {}
    keeps: ClassVar[Mapping[str, Limits]] = {}
    inputs: Inputs = Inputs()
    shortcuts: Shortcuts = Shortcuts()
    parallel: Parallel = Parallel()

    parameters: Any
    context: Context
    state: Record | NDArray[Any]

    def __init__(self, parameters: Any, context: Context) -> None:
        self.parameters = parameters
        self.context = context
        self.state = Record(_NO_STATE)

    @classmethod
    def width(cls, parameters: Any) -> int:
        """Number of sub-models of the layer below that it needs."""
        return 1

    @classmethod
    def keeps_zeros(cls, parameters: Any) -> bool:
        """Whether, with these parameters, a feature of value 0 differs from a missing one: readers then keep it."""
        return cls.inputs.keeps_zeros

    @classmethod
    def copies(cls, parameters: Any) -> Sequence[Mapping[str, Mapping[str, Any]]]:
        """For each copy of the layers below that it needs: values of parameters that differ, by name and layer."""
        return ({},)

    @property
    @abstractmethod
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""

    @property
    def stride(self) -> int:
        """Floats per row of the weight table; only asked of base learners. A power of two."""
        return 1

    def initialise(self, weights: NDArray[np.float32]) -> None:
        """Set the first values of the weight table, shape (rows, stride); it comes as zeros. Base learners only."""

    @property
    def answers(self) -> Answers:
        """The meaning of its predictions: that of the layer below, but for its parameters `classes` and `loss`.

        A layer that declares more replaces fields by `dataclasses.replace`: `replace(super().answers, score_count=3)`.
        """
        found = self.context.below.answers if self.context.below else Answers()
        classes, loss = (getattr(self.parameters, name, None) for name in ("classes", "loss"))
        if classes is not None:
            found = replace(found, classes=classes)
        if isinstance(loss, LossChoice):
            found = replace(found, loss=loss, loss_kind=loss.resolve(self.context.losses).kind)
        return found

    def doubts(self) -> str | None:
        """Warning about learned data that most likely mean something else; None without one."""
        return None

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Called before each batch: make room for the kernels' state, and do the checks that they cannot do.

        Raises:
            DataError: the batch cannot be used.
        """

    def end_pass(self) -> None:
        """Called after each pass over the data."""

    def saved(self) -> dict[str, NDArray[Any]]:
        """Arrays that belong in the model beside the weight table, by name; loading copies into them in place."""
        arrays = self.state.targets if isinstance(self.state, Record) else {}
        return {name: arrays.get(name, self.state[name]) for name in self.keeps}

    def limits(self) -> Mapping[str, Limits]:
        """Limits of the arrays of `saved`, by name: all that its kernels rely on; any number if left out.

        A model outside the limits is refused before anything of it is used.
        """
        return self.keeps

    def check_saved(self, arrays: Mapping[str, Stored]) -> None:
        """Check what `limits` cannot express: that the arrays of a model fit each other.

        Args:
            arrays: by the names of `saved`, each within its limits; `hutch.core.chain.stored.dense` makes them whole.

        Raises:
            ModelError: they do not fit.
        """

    def loading(self, arrays: Mapping[str, Stored]) -> None:
        """Called before a model's arrays, as `saved` named them, are copied in: make room for those that grow."""

    def loaded(self) -> None:
        """Called after a model's arrays have been copied in."""
