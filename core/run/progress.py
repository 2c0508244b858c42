"""Progress of a run as a stream of events; the table and JSON lines are views of it."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from hutch.core.batch import Batch
from hutch.core.chain.driver import TALLY
from hutch.core.chain.engine import Engine, Outputs
from hutch.core.chain.reduction import Labels, Predictions
from hutch.core.chain.statistics import Statistics
from hutch.core.errors import UsageError
from hutch.core.kernel.abi import UNLABELED
from hutch.core.run.decisions import class_cell, label_cell, prediction_cell
from hutch.core.run.numbers import logged_number_cell, number_cell
from hutch.core.strict_json import dumps


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """One row of the progress table; all sums are of this run alone, without what a loaded model had seen.

    Attributes:
        average_loss: loss per unit of importance, measured before learning; NaN without labels.
        since_last: the same since the event before.
        examples: examples seen.
        weight: sum of their importance.
        label: of the last example: a number, a class, `known` for a cost-sensitive one, `action:cost:probability` for a
            logged decision, None without label.
        prediction: of the last example: a number, a class or its name; of a decision `action:score` or
            `action:probability`.
        features: of the last example, interactions and the constant included.
        holdout: the losses are those of the examples held out.
        pass_number: counted from 1.
        seconds: since the run began.
    """

    average_loss: float
    since_last: float
    examples: int
    weight: float
    label: float | int | str | None
    prediction: float | int | str
    features: int
    holdout: bool = False
    pass_number: int = 1
    seconds: float = 0.0


View = Callable[[ProgressEvent], Any]


class Cells(Protocol):
    """The cells of an event that describe an example."""

    def label(self, batch: Batch, i: int) -> float | int | str | None:
        """The label of example `i`; `known` for costs, None without one."""

    def prediction(self, batch: Batch, i: int, outputs: Outputs) -> float | int | str:
        """The prediction of example `i`."""


class PlainCells:
    """Labels and predictions as numbers, classes as whole ones.

    Args:
        engine: the chain that runs.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._takes, self._predicts = engine, engine.takes, engine.predicts
        self._classes = engine.score_count if engine.takes is Labels.LOGGED_CLASS else 0

    def label(self, batch: Batch, i: int) -> float | int | str | None:
        if self._predicts.of_actions:
            return label_cell(batch, i, self._takes, classes=self._classes)
        if self._takes == Labels.LOGGED_CLASS:
            return label_cell(batch, i, self._takes, first_class=1, classes=self._classes)
        if self._takes == Labels.LOGGED_NUMBER:
            return logged_number_cell(batch, i)
        if self._takes == Labels.COST_SENSITIVE:
            costs = batch.costs[batch.cost_ptr[i] : batch.cost_ptr[i + 1]]
            return "known" if (costs != UNLABELED).any() else None  # classes may be named without costs
        if self._takes is Labels.MULTILABEL:
            return ",".join(map(str, batch.cost_classes[batch.cost_ptr[i] : batch.cost_ptr[i + 1]].tolist())) or None
        if self._takes.of_lines:
            return class_cell(batch.labels, batch, i)
        label = batch.labels[i]
        if label == UNLABELED:
            return None
        return int(label) if self._takes == Labels.MULTICLASS else float(label)

    def prediction(self, batch: Batch, i: int, outputs: Outputs) -> float | int | str:
        if self._predicts.of_actions:
            return prediction_cell(batch, i, outputs, self._takes)
        if self._predicts is Predictions.LABELS:
            from hutch.core.run.labels import labels_of

            return ",".join(map(str, labels_of(self._engine.layers[0], outputs.scores[i])))
        if self._predicts == Predictions.DRAWN_NUMBER:
            return number_cell(i, outputs)
        if self._takes.of_lines:
            return class_cell(outputs.predictions, batch, i) or ""
        prediction = float(outputs.predictions[i])
        return int(prediction) if self._predicts == Predictions.CLASS else prediction


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a row is due: at a sum of importance of `first`, then `step` later or `step` times as late.

    Attributes:
        step: distance or factor.
        additive: True for a distance.
    """

    step: float = 2.0
    additive: bool = False

    @property
    def first(self) -> float:
        """Sum of importance at which the first row is due."""
        return self.step if self.additive else 1.0

    def after(self, weight: float) -> float:
        """Sum of importance at which the row after the one at `weight` is due; rounded to float32, as in VW."""
        exact = (
            np.float32(weight) + np.float32(self.step) if self.additive else np.float32(weight) * np.float32(self.step)
        )
        return float(exact)


NO_ROWS = Schedule(math.inf, additive=True)
"""No row is ever due."""


def parse_schedule(text: str) -> tuple[Schedule, str | None]:
    """Read `-P`: a whole number is a distance, a number with a point a factor, as in VW.

    Returns:
        The schedule, and a notice if the number had to be changed.

    Raises:
        UsageError: not a number.

    >>> parse_schedule("1000"), parse_schedule("1.5")
    ((Schedule(step=1000.0, additive=True), None), (Schedule(step=1.5, additive=False), None))
    """
    try:
        step = float(text)
    except ValueError:
        step = math.nan
    if not math.isfinite(step):
        raise UsageError(f"-P: got {text!r}, wanted a distance such as 1000 or a factor such as 2.0")
    if "." not in text:
        notice = f"-P: a distance of {text} is below 1: taken as 1" if step < 1 else None
        return Schedule(max(step, 1.0), additive=True), notice
    if step <= 1:
        return Schedule(step + 1), f"-P: a factor of {text} is not above 1: taken as {step + 1:g}"
    return Schedule(step), f"-P: a factor of {text} is large: rows will be far apart" if step > 9 else None


class _Since:
    """The loss per unit of importance since a moment of a run, from a sum that began there, so that nothing cancels."""

    def __init__(self) -> None:
        self.loss = self._weight = 0.0

    def end(self, weight: float) -> float:
        """The loss up to the run's sum of importance `weight`, where the next one begins; NaN without labels."""
        loss, since = self.loss, weight - self._weight
        self.loss, self._weight = 0.0, weight
        return loss / since if since > 0 else math.nan


class Progress:
    """Turns the rows that an engine reports into events, and passes each to every view.

    Args:
        engine: the chain that runs.
        schedule: when rows are due.
        views: receivers of the events.
        holdout: from the second pass on, report the losses of the examples held out.
        cells: describes an example in events; None: labels and predictions as they are.

    Attributes:
        tally: the counters of the run, a TALLY record, to which the engine adds.
        row_at: the run's sum of importance at which the first row is due.
        pass_number: counted from 1.
        pass_loss: what `end_pass` returned last.
    """

    def __init__(
        self,
        engine: Engine,
        schedule: Schedule,
        views: Iterable[View] = (),
        *,
        holdout: bool = False,
        cells: Cells | None = None,
    ) -> None:
        self.engine = engine
        self.schedule = schedule
        self.views = list(views)
        self._cells = cells or PlainCells(engine)
        self.pass_number = 1
        self._holdout = holdout
        self._start = time.perf_counter()
        self.tally = np.zeros(1, TALLY)
        self._queries = engine.statistics.queries
        self._row, self._row_holdout, self._pass_holdout = _Since(), _Since(), _Since()
        self.row_at = schedule.first
        self.pass_loss = math.nan

    @property
    def statistics(self) -> Statistics:
        """Statistics of this run so far."""
        self.tally["queries"] = self.engine.statistics.queries - self._queries
        return Statistics.of(self.tally)

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.perf_counter() - self._start

    def _take_losses(self) -> Statistics:
        """Add the losses summed since the last call to the sums that go on; returns the statistics."""
        recent = self.tally[0]
        self._row.loss += recent["recent_loss"].item()
        self._row_holdout.loss += recent["recent_loss_holdout"].item()
        self._pass_holdout.loss += recent["recent_loss_holdout"].item()
        recent["recent_loss"] = recent["recent_loss_holdout"] = 0.0
        return self.statistics

    def end_pass(self) -> float:
        """The loss of the pass on the examples held out, per unit of importance; NaN without any."""
        self.pass_loss = self._pass_holdout.end(self._take_losses().weighted_holdout)
        return self.pass_loss

    def row(self, batch: Batch, i: int, outputs: Outputs) -> float:
        """The callback of `Engine.run` for a due row; returns when the next one is due."""
        now = self._take_losses()
        if self._holdout and self.pass_number > 1:
            losses = (now.holdout_loss, self._row_holdout.end(now.weighted_holdout))
        else:
            losses = (now.average_loss, self._row.end(now.weighted_labeled))
        event = ProgressEvent(
            average_loss=losses[0],
            since_last=losses[1],
            examples=now.examples,
            weight=now.weighted_examples,
            label=self._cells.label(batch, i),
            prediction=self._cells.prediction(batch, i, outputs),
            features=self.engine.last_features,
            holdout=self._holdout and self.pass_number > 1,
            pass_number=self.pass_number,
            seconds=self.seconds,
        )
        for view in self.views:
            view(event)
        return self.schedule.after(now.weighted_examples)


def event_json(event: ProgressEvent) -> str:
    """An event as one line of JSON; a missing loss is null, see `hutch.core.strict_json`."""
    return dumps(asdict(event))
