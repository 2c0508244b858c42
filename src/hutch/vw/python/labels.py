"""The labels of Vowpal Wabbit's Python interface: what `Example.get_label` returns, and how each is written in a line.

The labels of `--cats` and `--multilabel_oaa` are absent, since Hutch has no chain that takes them.
"""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from hutch.core.errors import DataError
from hutch.core.kernel.abi import UNLABELED
from hutch.vw.python.kinds import CCBLabelType, LabelType, PredictionType, SlatesLabelType

NO_CLASS = 2**32 - 1
"""The class of an example without a label."""


class AbstractLabel:
    """A label of any kind."""

    @classmethod
    def from_example(cls, ex: Any) -> Self:
        """The label of an example.

        Args:
            ex: an `Example`.

        Raises:
            TypeError: the chain takes labels of another kind.
            NotImplementedError: it is asked of a label of no kind.
        """
        raise NotImplementedError(f"{cls.__name__}: wanted one of its subclasses")


def _check(ex: Any, *kinds: LabelType) -> None:
    kind = ex.vw.get_label_type()
    if kind not in kinds:
        raise TypeError(f"got a label of kind {kinds[0].name}, but the chain takes {kind.name}")


@dataclass
class SimpleLabel(AbstractLabel):
    """A number; VW's largest float if it is missing.

    Attributes:
        label: the number.
        weight: the example's importance, at least 0.
        initial: added to the prediction.
        prediction: the example's latest one.

    >>> str(SimpleLabel(2.0, weight=0.5))
    '2.0:0.5'
    """

    label: float = 0.0
    weight: float = 1.0
    initial: float = 0.0
    prediction: float = 0.0

    @classmethod
    def from_example(cls, ex: Any) -> Self:
        """See `AbstractLabel`."""
        _check(ex, LabelType.SIMPLE)
        batch = ex.as_batch()
        label, weight, initial = (float(array[0]) for array in (batch.labels, batch.importance, batch.base))
        return cls(label, weight, initial, ex.get_simplelabel_prediction())

    def __str__(self) -> str:
        return _weighted(self)


@dataclass
class MulticlassLabel(AbstractLabel):
    """A class, a whole number; 4294967295 if it is missing.

    Attributes:
        label: the class.
        weight: the example's importance, at least 0.
        prediction: the example's latest one, 0 before there is one.
    """

    label: int = 1
    weight: float = 1.0
    prediction: int = 1

    @classmethod
    def from_example(cls, ex: Any) -> Self:
        """See `AbstractLabel`."""
        _check(ex, LabelType.MULTICLASS)
        batch = ex.as_batch()
        label = int(batch.labels[0]) if batch.labels[0] != UNLABELED else NO_CLASS
        return cls(label, float(batch.importance[0]), ex.prediction if isinstance(ex.prediction, int) else 0)

    def __str__(self) -> str:
        return _weighted(self)


def _weighted(label: SimpleLabel | MulticlassLabel) -> str:
    return f"{label.label}:{label.weight}" if label.weight != 1 else str(label.label)


@dataclass
class MulticlassProbabilitiesLabel(AbstractLabel):
    """The probability of each class, from the first.

    >>> str(MulticlassProbabilitiesLabel([0.75, 0.25]))
    '1:0.75 2:0.25'
    """

    prediction: list[float] = field(default_factory=list)

    @classmethod
    def from_example(cls, ex: Any) -> Self:
        """See `AbstractLabel`."""
        return cls(ex.get_prediction(PredictionType.SCALARS))

    def __str__(self) -> str:
        return " ".join(f"{number}:{chance}" for number, chance in enumerate(self.prediction, 1))


@dataclass
class CostSensitiveElement:
    """The cost of a class or of an action.

    Attributes:
        label: the class.
        cost: its cost; VW's largest float if it is missing.
        partial_prediction: 0 before the example was run, then NaN: Hutch keeps no cost that it predicted.
        wap_value: 0.
    """

    label: int
    cost: float = 0.0
    partial_prediction: float = 0.0
    wap_value: float = 0.0


@dataclass
class CostSensitiveLabel(AbstractLabel):
    """Classes with their costs, and the class predicted."""

    costs: list[CostSensitiveElement] = field(default_factory=list)
    prediction: float = 0.0

    @classmethod
    def from_example(cls, ex: Any) -> Self:
        """See `AbstractLabel`."""
        _check(ex, LabelType.COST_SENSITIVE)
        batch = ex.as_batch()
        pairs = zip(batch.cost_classes.tolist(), batch.costs.tolist(), strict=True)
        found = [CostSensitiveElement(label, cost, _unknown(ex)) for label, cost in pairs]
        return cls(found, ex.prediction if isinstance(ex.prediction, int) else 0)

    def __str__(self) -> str:
        return " ".join(f"{each.label}:{each.cost}" for each in self.costs)


def _unknown(ex: Any) -> float:
    return float("nan") if ex.has_run else 0.0


@dataclass
class CBLabelElement:
    """An action that was chosen.

    Attributes:
        action: its number.
        cost: its cost; VW's largest float if it is missing.
        partial_prediction: as in `CostSensitiveElement`.
        probability: with which it was chosen; -1 in the label of a shared line.
    """

    action: int | None = None
    cost: float = 0.0
    partial_prediction: float = 0.0
    probability: float = 0.0

    @property
    def label(self) -> int | None:
        """The same as `action`."""
        return self.action


def _logged(ex: Any) -> list[CBLabelElement]:
    """The actions of an example's label."""
    batch = ex.as_batch()
    columns = (batch.cost_classes.tolist(), batch.costs.tolist(), batch.probabilities.tolist())
    rows = zip(*columns, strict=True)
    return [CBLabelElement(action, cost, _unknown(ex), chance) for action, cost, chance in rows]


@dataclass
class CBLabel(AbstractLabel):
    """Actions with costs and probabilities.

    >>> str(CBLabel([CBLabelElement(1, 10.0, probability=0.5)]))
    '1:10.0:0.5'
    """

    costs: list[CBLabelElement] = field(default_factory=list)
    weight: float = 1.0

    @classmethod
    def from_example(cls, ex: Any) -> Self:
        """See `AbstractLabel`."""
        _check(ex, LabelType.CONTEXTUAL_BANDIT)
        return cls(_logged(ex))

    def __str__(self) -> str:
        return " ".join(f"{each.action}:{each.cost}:{each.probability}" for each in self.costs)


@dataclass
class CBEvalLabel(AbstractLabel):
    """The choice of a policy that is evaluated, and actions with costs and probabilities.

    Attributes:
        action: the policy's choice.
        cb_label: what is known of costs.

    >>> str(CBEvalLabel(3, CBLabel([CBLabelElement(1, 10.0, probability=0.5)])))
    '3 1:10.0:0.5'
    """

    action: int = 0
    cb_label: CBLabel = field(default_factory=CBLabel)

    @classmethod
    def from_example(cls, ex: Any) -> Self:
        """See `AbstractLabel`."""
        _check(ex, LabelType.CONTEXTUAL_BANDIT_EVAL)
        (first, *others) = _logged(ex) or [CBLabelElement(0)]
        return cls(first.action or 0, CBLabel(others))

    def __str__(self) -> str:
        return f"{self.action} {self.cb_label}"


@dataclass
class ActionScore:
    """An action with its probability."""

    action: int
    score: float


@dataclass
class CCBSlotOutcome:
    """What a slot's action cost, and the probabilities of its actions, the chosen one first."""

    cost: float
    action_probs: list[ActionScore]

    def __str__(self) -> str:
        first, *others = self.action_probs
        text = f"{first.action}:{round(self.cost, 2)}:{round(first.score, 2)}"
        return text + "".join(f",{each.action}:{each.score}" for each in others)


@dataclass
class CCBLabel(AbstractLabel):
    """The label of a line of a decision with several slots.

    Attributes:
        type: what the line is.
        explicit_included_actions: numbers of the actions that a slot may choose; empty: all.
        weight: 1.
        outcome: of a slot; None without one.
    """

    type: CCBLabelType = CCBLabelType.UNSET
    explicit_included_actions: list[int] = field(default_factory=list)
    weight: float = 1.0
    outcome: CCBSlotOutcome | None = None

    @classmethod
    def from_example(cls, ex: Any) -> Self:
        """See `AbstractLabel`."""
        _check(ex, LabelType.CONDITIONAL_CONTEXTUAL_BANDIT)
        kind, words = _slot_words(ex, "ccb")
        found = cls(kind)
        for word in words:
            if ":" in word:
                first, *others = word.split(",")
                action, cost, chance = _numbers(ex, first, 3)
                pairs = [(action, chance), *(_numbers(ex, each, 2) for each in others)]
                found.outcome = CCBSlotOutcome(cost, [ActionScore(int(a), float(p)) for a, p in pairs])
            else:
                found.explicit_included_actions = [int(each) for each in word.split(",")]
        return found

    def __str__(self) -> str:
        name = "" if self.type is CCBLabelType.UNSET else self.type.name.lower()
        included = ",".join(map(str, self.explicit_included_actions))
        return f"ccb {name}" + (f" {self.outcome} {included}" if self.outcome is not None else "")


@dataclass
class SlatesLabel(AbstractLabel):
    """The label of a line of a slate.

    Attributes:
        type: what the line is.
        weight: 1.
        labeled: whether a shared line has a cost, or a slot an action.
        cost: of the whole slate, in a shared line.
        slot_id: to which an action belongs.
        probabilities: of a slot's actions, the chosen one first.
    """

    type: CCBLabelType = SlatesLabelType.UNSET
    weight: float = 1.0
    labeled: bool = False
    cost: float = 0.0
    slot_id: int = 0
    probabilities: list[ActionScore] = field(default_factory=list)

    @classmethod
    def from_example(cls, ex: Any) -> Self:
        """See `AbstractLabel`."""
        _check(ex, LabelType.SLATES)
        kind, words = _slot_words(ex, "slates")
        found = cls(kind)
        for word in words:
            if kind is SlatesLabelType.SHARED:
                found.labeled, (found.cost,) = True, _numbers(ex, word, 1)
            elif kind is SlatesLabelType.ACTION:
                found.slot_id = int(word)
            else:
                pairs = [_numbers(ex, each, 2) for each in word.split(",")]
                found.labeled, found.probabilities = True, [ActionScore(int(a), p) for a, p in pairs]
        return found

    def __str__(self) -> str:
        if self.type is SlatesLabelType.SHARED:
            return f"slates shared {round(self.cost, 2)}"
        if self.type is SlatesLabelType.ACTION:
            return f"slates action {self.slot_id}"
        pairs = ",".join(f"{each.action}:{round(each.score, 2)}" for each in self.probabilities)
        return f"slates slot {pairs}" if self.type is SlatesLabelType.SLOT else "slates "


def _slot_words(ex: Any, first: str) -> tuple[CCBLabelType, list[str]]:
    """What a line of a decision with slots is, and the words of its label behind that."""
    words = ex.label_text.split()
    if not words:
        return CCBLabelType.UNSET, []
    if words[0] != first or len(words) < 2 or words[1] not in ("shared", "action", "slot"):
        raise DataError(f"<example>: got label {ex.label_text!r}, wanted {first} shared, action or slot")
    return CCBLabelType[words[1].upper()], [word for word in words[2:] if not word.startswith("'")]


def _numbers(ex: Any, word: str, count: int) -> list[float]:
    """The numbers of a word such as `0:1:0.5`, in float32.

    Raises:
        DataError: it has others.
    """
    try:
        found = [float(np.float32(each)) for each in word.split(":")]
    except ValueError:
        found = []
    if len(found) != count:
        raise DataError(f"<example>: got {word!r} in label {ex.label_text!r}, wanted {count} numbers")
    return found


_CLASSES: dict[LabelType, type[AbstractLabel]] = {
    LabelType.SIMPLE: SimpleLabel,
    LabelType.MULTICLASS: MulticlassLabel,
    LabelType.COST_SENSITIVE: CostSensitiveLabel,
    LabelType.CONTEXTUAL_BANDIT: CBLabel,
    LabelType.CONTEXTUAL_BANDIT_EVAL: CBEvalLabel,
    LabelType.CONDITIONAL_CONTEXTUAL_BANDIT: CCBLabel,
    LabelType.SLATES: SlatesLabel,
}


def get_label_class_from_enum(label_type: int) -> type[AbstractLabel]:
    """The class of a `LabelType`.

    Raises:
        TypeError: no chain takes such labels.
    """
    kind = LabelType(label_type)
    if kind not in _CLASSES:
        raise TypeError(f"got {kind.name}, wanted one of {', '.join(each.name for each in _CLASSES)}")
    return _CLASSES[kind]


def label_class(asked: Any) -> type[AbstractLabel] | None:
    """The class of labels that VW's `get_label` is asked for: a class, a `LabelType`, or None or 0."""
    if isinstance(asked, type) and issubclass(asked, AbstractLabel):
        return asked
    return None if not asked else get_label_class_from_enum(asked)
