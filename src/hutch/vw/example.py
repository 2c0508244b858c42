"""Examples of Vowpal Wabbit's Python interface, with their labels and predictions."""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from hutch.core.errors import DataError
from hutch.core.kernel.abi import UNLABELED

Prediction = float | int | list[float]


class LabelType(IntEnum):
    """Kinds of labels, with VW's numbers."""

    SIMPLE = 1
    MULTICLASS = 2
    COST_SENSITIVE = 3
    CONTEXTUAL_BANDIT = 4
    CONDITIONAL_CONTEXTUAL_BANDIT = 6
    SLATES = 7


class PredictionType(IntEnum):
    """Kinds of predictions, with VW's numbers."""

    SCALAR = 0
    SCALARS = 1
    ACTION_SCORES = 2
    ACTION_PROBS = 3
    MULTICLASS = 4
    DECISION_SCORES = 8


class SimpleLabel(NamedTuple):
    """A number, with the example's prediction."""

    label: float
    weight: float
    initial: float
    prediction: float


class MulticlassLabel(NamedTuple):
    """A class, with the example's prediction."""

    label: int
    weight: float
    prediction: int


class ClassCost(NamedTuple):
    """The cost of a class, or of an action; an action chosen with this probability."""

    label: int
    cost: float
    probability: float

    @property
    def action(self) -> int:
        """The same as `label`."""
        return self.label


class CostLabel(NamedTuple):
    """All costs of an example."""

    costs: list[ClassCost]


class Example:
    """An example that can be learned and predicted, and is then finished; made by `Workspace.example`.

    Args:
        workspace: that it belongs to.
        content: a line; or features by namespace; None for nothing.
        labelType: of no effect: the chain determines the kind of labels.

    Attributes:
        vw: its workspace.
        finished: whether it was counted.
        prediction: the latest one.
        counted: the counters before and after its latest run.

    Raises:
        TypeError: content of another kind.
        DataError: a feature that a line cannot express.
    """

    def __init__(self, workspace: Any, content: str | Mapping[str, Any] | None = None, labelType: Any = None) -> None:
        self.vw = workspace
        self.finished = False
        self.counted = b"", b""
        if content is not None and not isinstance(content, str | Mapping):
            raise TypeError("expecting string or dict as argument for example construction")
        line = "|" if content is None else content if isinstance(content, str) else _line_of(content)
        label, bar, features = line.partition("|")
        self._label, self._features = label, bar + features
        kind = workspace.get_prediction_type()
        scalar = {PredictionType.SCALAR: 0.0, PredictionType.MULTICLASS: 1}
        self.prediction: Prediction = scalar.get(kind, [])

    @property
    def line(self) -> str:
        """The example as a line of text."""
        return self._label + self._features

    def set_label_string(self, string: str) -> None:
        """Set its label, in the form before the bar of a line."""
        self._label = f"{string} "

    def learn(self) -> None:
        """Learn it."""
        self.vw.learn(self)

    def get_prediction(self, prediction_type: int | None = None) -> Prediction:
        """The latest prediction.

        Args:
            prediction_type: a `PredictionType`; None: the chain's own.

        Raises:
            TypeError: the chain predicts another kind.
        """
        kind = self.vw.get_prediction_type()
        wanted = kind if prediction_type is None else PredictionType(prediction_type)
        alike = (PredictionType.ACTION_SCORES, PredictionType.ACTION_PROBS)
        if wanted != kind and not (wanted in alike and kind in alike):
            raise TypeError(f"got prediction type {wanted.name}, but the chain predicts {kind.name}")
        return self.prediction

    def get_simplelabel_prediction(self) -> float:
        """The prediction of a number."""
        return self.get_prediction(PredictionType.SCALAR)  # type: ignore[return-value]

    def get_multiclass_prediction(self) -> int:
        """The prediction of a class."""
        return self.get_prediction(PredictionType.MULTICLASS)  # type: ignore[return-value]

    get_costsensitive_prediction = get_multiclass_prediction

    def get_scalars(self) -> list[float]:
        """The scores or probabilities of all classes."""
        return self.get_prediction(PredictionType.SCALARS)  # type: ignore[return-value]

    def get_action_scores(self) -> list[float]:
        """The scores or probabilities of all actions."""
        return self.get_prediction(PredictionType.ACTION_SCORES)  # type: ignore[return-value]

    def get_tag(self) -> str:
        """Its tag."""
        return str(self.vw.batch_of([self.line]).tag(0), errors="replace")

    def get_feature_number(self) -> int:
        """Number of its features, the constant included, interactions not."""
        return len(self.vw.batch_of([self.line]).indices)

    def iter_features(self) -> Iterator[tuple[int, float]]:
        """Index and value of each feature, interactions not included."""
        batch = self.vw.batch_of([self.line])
        yield from zip(batch.indices.tolist(), batch.values.tolist(), strict=True)

    def get_label(self, label_class: Any = None) -> SimpleLabel | MulticlassLabel | CostLabel:
        """Its label, of the kind that the chain takes; VW's largest float means a missing number.

        Args:
            label_class: of no effect.
        """
        batch = self.vw.batch_of([self.line])
        label, weight = float(batch.labels[0]), float(batch.importance[0])
        kind = self.vw.get_label_type()
        if kind is LabelType.SIMPLE:
            return SimpleLabel(label, weight, float(batch.base[0]), self.get_simplelabel_prediction())
        if kind is LabelType.MULTICLASS:
            known: Any = self.prediction if isinstance(self.prediction, int) else 0
            return MulticlassLabel(int(label) if label != UNLABELED else 2**32 - 1, weight, known)
        chances = batch.probabilities.tolist() or [0.0] * len(batch.costs)
        pairs = zip(batch.cost_classes.tolist(), batch.costs.tolist(), chances, strict=True)
        return CostLabel([ClassCost(*each) for each in pairs])


def _line_of(namespaces: Mapping[str, Any]) -> str:
    """Features by namespace as a line.

    >>> _line_of({"a": ["x", ("y", 0.5)], "b": {"z": 2}})
    '|a x:1 y:0.5 |b z:2'
    """
    parts = []
    for namespace, features in namespaces.items():
        each: Any = features.items() if isinstance(features, Mapping) else features
        pairs = (feature if isinstance(feature, list | tuple) else (feature, 1) for feature in each)
        parts.append(" ".join([f"|{_checked(namespace)}", *(f"{_checked(name)}:{value!r}" for name, value in pairs)]))
    return " ".join(parts)


def _checked(name: Any) -> str:
    if not isinstance(name, str):
        raise DataError(f"example: got feature {name!r}, wanted a name: Hutch hashes names itself")
    if not name or any(letter in name for letter in " \t\n|:"):
        raise DataError(f"example: got name {name!r}, wanted one without blanks, colons and bars")
    return name
