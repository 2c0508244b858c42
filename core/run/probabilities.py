"""Probabilities of labels, where a chain knows them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.engine import Engine, Outputs
from hutch.core.chain.reduction import Predictions
from hutch.core.errors import ConfigError
from hutch.core.loss.losses import LossChoice
from hutch.core.run.decisions import tail
from hutch.core.run.output import class_names_of

_UNDECIDED_FIRST = 1


class Probabilities:
    """The probability of each label: the logistic function of its score, over several classes divided by the sum.

    Args:
        engine: the chain.
        names: of the classes, if the data has names.

    Raises:
        ConfigError: it has no scores by class and no logistic loss, so that it knows no probabilities.
    """

    def __init__(self, engine: Engine, names: Sequence[str] = ()) -> None:
        choice = getattr(engine.layers[-1].parameters, "loss", None)
        self.of_classes = engine.predicts is Predictions.CLASS
        top = engine.layers[0]
        self._are = self.of_classes and top.answers.scores_are_probabilities
        if not self._are and (not isinstance(choice, LossChoice) or choice.name != "logistic"):
            raise ConfigError("probabilities: got a chain without logistic loss, wanted `loss: logistic`")
        if self.of_classes and not engine.score_count:
            raise ConfigError(f"chain[0].{top.name} has no scores, wanted a layer such as one_against_all")
        if not self.of_classes and engine.predicts is not Predictions.SCALAR:
            raise ConfigError(f"chain[0].{top.name} predicts {engine.predicts.value!r}: it gives no probabilities")
        self._top, self._classes, self._names = top, engine.score_count, names
        given = choice.parameters if isinstance(choice, LossChoice) else {}
        self._two = [float(given.get("lower", -1.0)), float(given.get("upper", 1.0))]

    @property
    def labels(self) -> list[float] | list[int]:
        """The labels, in the order of the columns."""
        if not self.of_classes:
            return self._two
        names = getattr(self._top, "state", None)
        fields: Any = getattr(getattr(names, "dtype", None), "names", None) or ()
        first = int(names["first"][0]) if names is not None and "first" in fields else _UNDECIDED_FIRST
        return list(range(min(first, 1), min(first, 1) + self._classes))

    @property
    def names(self) -> list[str]:
        """The names of the labels, or their numbers as text."""
        if self.of_classes:
            return class_names_of(np.array(self.labels, np.float32), self._names)
        return list(self._names) or [f"{label:g}" for label in self._two]

    def of(self, outputs: Outputs) -> NDArray[np.float64]:
        """The probabilities of a batch, float64 (examples, labels).

        Args:
            outputs: of the batch, with scores where the chain predicts classes.
        """
        if not self.of_classes:
            upper = logistic(outputs.raw.astype(np.float64))
            return np.column_stack([1.0 - upper, upper])
        scores = outputs.scores.astype(np.float64)
        if not self._are:
            scores = logistic(scores)
        return np.asarray(scores / scores.sum(axis=1, keepdims=True), np.float64)

    def lines(self, batch: Batch, outputs: Outputs) -> bytes:
        """A line `label:probability label:probability` for each example, and its tag."""
        pattern = " ".join(f"{name.replace('%', '%%')}:%g" for name in self.names)
        rows = (pattern % tuple(row) for row in self.of(outputs).tolist())
        return b"".join(row.encode() + tail(batch, i) for i, row in enumerate(rows))


def logistic(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + e^-s), which neither overflows nor loses digits.

    >>> logistic(np.array([0.0, 800.0, -800.0])).tolist()
    [0.5, 1.0, 0.0]
    """
    return 0.5 * (1.0 + np.tanh(0.5 * scores))
