"""A chain's methods for one example at a time, named as River's."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.engine import Engine, Outputs
from hutch.core.chain.reduction import Labels, Predictions
from hutch.core.data.roles import Roles
from hutch.core.data.rows import Rows
from hutch.core.data.watch import Watch
from hutch.core.errors import DataError
from hutch.core.loss.losses import LossChoice, LossLabels
from hutch.core.run.one import OneExample
from hutch.core.run.one_decision import OneDecision, decision_of
from hutch.core.run.probabilities import Probabilities


class OneByOne(Engine):
    """An engine that learns and predicts one mapping of features at a time, in 10 µs or so.

    `x` maps names to numbers or words, which go to the anonymous namespace, and names of namespaces to mappings of
    their features.
    """

    config: Any
    watch: Watch
    learn: Callable[..., Any]
    predict: Callable[..., Any]

    @cached_property
    def one(self) -> OneExample:
        """Runs single lines and records without the overhead of a batch."""
        return OneExample(self, self.columns)

    @property
    def columns(self) -> Roles:
        """The roles of columns, also of those of tables that the chain has learned."""
        return Roles.of(self.config.input.columns).watched(self.watch)

    @cached_property
    def _rows(self) -> Rows:
        return Rows(self.columns, labelled=False)

    @cached_property
    def _keys(self) -> tuple[str, str]:
        return self.columns.key("label"), self.columns.key("importance")

    def _record(self, x: Mapping[str, Any]) -> dict[str, Any]:
        record = self._rows.record(x)
        for key in self._keys:
            if key in record:
                raise DataError(f"x: got a namespace {key!r}, wanted another name: records of this chain use it")
        return record

    @cached_property
    def _label_of_false(self) -> float:
        """0 where the loss takes it, else -1."""
        choice, losses = getattr(self.layers[-1].parameters, "loss", None), self.layers[-1].context.losses
        binary = isinstance(choice, LossChoice) and choice.resolve(losses).labels is LossLabels.BINARY
        return -1.0 if binary else 0.0

    @cached_property
    def _decision(self) -> OneDecision:
        return OneDecision(self, self.columns)

    def predictions_of_one(self, examples: Any, learn: bool) -> NDArray[np.float32] | None:
        """The predictions of one usual line, record or decision; None for anything else, without running any of it."""
        with self.turn:
            passing = self.watch.passing
            try:
                found = self._predictions_of_one(examples, learn)
                if learn and passing and found is not None:
                    self.watch.lengths.update(passing)
                return found
            finally:
                passing.clear()

    def _predictions_of_one(self, examples: Any, learn: bool) -> NDArray[np.float32] | None:
        if not self.decides:
            outputs = self.one.run(examples, learn)
            return None if outputs is None else outputs.predictions.copy()
        decision = decision_of(examples) if self.takes.of_actions else ""
        if not decision or (learn and not self.shared["weighted_labeled"][0]):  # labels may be missing altogether
            return None
        kept = bytes(self.one.counters)
        try:
            found = self._decision.run(decision, learn)
            return None if found is None else found.copy()
        finally:
            if not learn:
                self.one.counters[:] = kept

    def batch_of_decision(self, record: Mapping[str, Any]) -> Batch | None:
        """A usual decision over actions with features as a batch of its own; None for anything else."""
        with self.turn:
            return self._decision.filler.batch_of(record) if self.takes.of_actions else None

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Leave the counters as they were, and let no other thread count meanwhile."""
        with self.turn:
            kept = self.shared.copy()
            try:
                yield
            finally:
                self.shared[...] = kept

    def run_apart(self, batch: Batch, learn: bool) -> Outputs:
        """Run a batch with the scores of classes; without learning the counters stay as they were."""
        with nullcontext() if learn else self._unchanged():
            return self.run_batch(batch, learn=learn, scores=True)[0]

    def learn_one(self, x: Mapping[str, Any], y: float | bool | Mapping[int, float], importance: float = 1.0) -> None:
        """Learn one example.

        Args:
            x: its features.
            y: its label; False is -1 where the loss is made for -1 and 1; costs by class in a cost-sensitive chain.
            importance: ≥ 0.

        Raises:
            DataError: features or a label that cannot be used.

        >>> from hutch import Chain
        >>> chain = Chain.from_config({"chain": [{"linear": {"loss": "logistic"}}]})
        >>> for _ in range(20):
        ...     chain.learn_one({"words": 12, "sender": "bank"}, True)
        ...     chain.learn_one({"words": 80, "sender": "friend"}, False)
        >>> chain.predict_one({"words": 12, "sender": "bank"}) > 0
        True
        """
        if isinstance(y, bool):
            if self.takes is not Labels.SIMPLE:
                raise DataError(f"y: got {y}, wanted {'a class' if self.takes is Labels.MULTICLASS else 'costs'}")
            y = 1.0 if y else self._label_of_false
        label, weight = self._keys
        record = self._record(x)
        record[label] = y
        if importance != 1.0:
            record[weight] = importance
        self.learn(record)

    def predict_one(self, x: Mapping[str, Any]) -> float | int:
        """Predict one example without learning: the class, or the number that the chain predicts.

        Raises:
            DataError: features that cannot be used.
        """
        prediction = self.predict(self._record(x)).item(0)
        return int(prediction) if self.predicts is Predictions.CLASS else prediction

    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[float | int, float]:
        """The probability of each label: the logistic function of its score, over several classes divided by the sum.

        Raises:
            ConfigError: the chain has no scores by class and no logistic loss, so that it knows no probabilities.
            DataError: features that cannot be used.

        >>> from hutch import Chain
        >>> Chain.from_config({"chain": [{"linear": {"loss": "logistic"}}]}).predict_proba_one({"words": 12})
        {-1.0: 0.5, 1.0: 0.5}
        """
        probabilities = self.probabilities
        with self.turn:
            outputs = self.outputs_of_one(self._record(x))
            return dict(zip(probabilities.labels, probabilities.of(outputs)[0].tolist(), strict=True))

    @cached_property
    def probabilities(self) -> Probabilities:
        """Turns outputs into probabilities of labels.

        Raises:
            ConfigError: the chain knows none.
        """
        return Probabilities(self)

    def outputs_of_one(self, record: Mapping[str, Any]) -> Outputs:
        """The chain's outputs for a record, without learning; another call may overwrite them: hold `turn` to read."""
        outputs = self.one.run(record, False)
        if outputs is None:
            from hutch.core.data.sources import record_batches

            [batch] = record_batches([record], self.parser, self.columns)
            outputs = self.run_apart(batch, False)
        return outputs
