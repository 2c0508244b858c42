"""Progress of a run as a stream of events; VW's table and JSON lines are views of it."""

import json
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hutch.core.batch import Batch
from hutch.core.chain.engine import Engine, Outputs
from hutch.core.chain.reduction import Labels, Predictions
from hutch.core.chain.statistics import Statistics
from hutch.core.errors import UsageError
from hutch.core.kernel.abi import UNLABELED
from hutch.core.run.best_constant import BestConstant
from hutch.core.run.decisions import label_cell, prediction_cell


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
        prediction: of the last example: a number or a class; of a decision `action:score` or `action:probability`.
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


class Progress:
    """Turns the rows that an engine reports into events, and hands each to every view.

    Args:
        engine: the chain that runs.
        schedule: when rows are due.
        views: who sees the events.
        holdout: from the second pass on, report the losses of the examples held out.

    Attributes:
        row_at: the engine's sum of importance at which the next row is due.
        best_constant: gathers what the footer says of it.
    """

    def __init__(
        self, engine: Engine, schedule: Schedule, views: Iterable[View] = (), *, holdout: bool = False
    ) -> None:
        self.engine = engine
        self.schedule = schedule
        self.views = list(views)
        self.best_constant = BestConstant()
        self.pass_number = 1
        self._holdout = holdout
        self._start = time.perf_counter()
        self._baseline = engine.statistics
        self._last = self._last_holdout = self._baseline - self._baseline
        self.row_at = self._baseline.weighted_examples + schedule.first

    @property
    def statistics(self) -> Statistics:
        """What this run has seen so far."""
        return self.engine.statistics - self._baseline

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.perf_counter() - self._start

    def row(self, batch: Batch, i: int, outputs: Outputs, statistics: Statistics) -> float:
        """What `Engine.run` calls when a row is due; returns when the next one is."""
        now = statistics - self._baseline
        if self._holdout and self.pass_number > 1:
            losses = (now.holdout_loss, (now - self._last_holdout).holdout_loss)
            self._last_holdout = now
        else:
            losses = (now.average_loss, (now - self._last).average_loss)
        self._last = now
        event = ProgressEvent(
            average_loss=losses[0],
            since_last=losses[1],
            examples=now.examples,
            weight=now.weighted_examples,
            label=self._label(batch, i),
            prediction=self._predicted(batch, i, outputs),
            features=self.engine.last_features,
            holdout=self._holdout and self.pass_number > 1,
            pass_number=self.pass_number,
            seconds=self.seconds,
        )
        for view in self.views:
            view(event)
        return self._baseline.weighted_examples + self.schedule.after(now.weighted_examples)

    def _predicted(self, batch: Batch, i: int, outputs: Outputs) -> float | int | str:
        if self.engine.predicts.of_actions:
            return prediction_cell(batch, i, outputs, self.engine.takes)
        return self._prediction(float(outputs.predictions[i]))

    def _label(self, batch: Batch, i: int) -> float | int | str | None:
        if self.engine.predicts.of_actions:
            return label_cell(batch, i, self.engine.takes)
        if self.engine.takes == Labels.COST_SENSITIVE:
            return "known" if batch.cost_ptr[i + 1] > batch.cost_ptr[i] else None
        label = batch.labels[i]
        if label == UNLABELED:
            return None
        return int(label) if self.engine.takes == Labels.MULTICLASS else float(label)

    def _prediction(self, prediction: float) -> float | int:
        return int(prediction) if self.engine.predicts == Predictions.CLASS else prediction


TABLE_HEADER = """\
average  since         example        example        current        current  current
loss     last          counter         weight          label        predict features"""


def table_row(event: ProgressEvent) -> str:
    """A row of VW's table.

    >>> table_row(ProgressEvent(0.5, 0.25, 2, 2.0, 1.0, -0.4512, 15))
    '0.500000 0.250000            2            2.0         1.0000        -0.4512       15'
    """
    label = "unknown" if event.label is None else _cell(event.label)
    columns = (
        f"{_loss(event.average_loss):8} {_loss(event.since_last):8} {event.examples:12d} {event.weight:14.1f} "
        f"{label:>14} {_cell(event.prediction):>14} {event.features:8d}"
    )
    return columns + (" h" if event.holdout else "")


def _loss(value: float) -> str:
    return "n.a." if math.isnan(value) else f"{value:.6f}"[:8]


def _cell(value: float | int | str) -> str:
    text = f"{value:.4f}" if isinstance(value, float) else str(value)
    return text if len(text) <= 14 else text[:11] + "..."


def event_json(event: ProgressEvent) -> str:
    """An event as one line of JSON; a loss that is not there is null."""
    plain = asdict(event)
    return json.dumps({k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in plain.items()})


def table_footer(
    seen: Statistics,
    *,
    passes: int = 1,
    best_constant: tuple[float | None, float | None] = (None, None),
    best_holdout: float | None = None,
    more: Iterable[str] = (),
) -> str:
    """What VW prints at the end.

    Args:
        seen: counters of the run.
        passes: how many passes over the data were made.
        best_constant: the best constant and its loss, as `BestConstant.of` tells them.
        best_holdout: least loss on the examples held out in any pass; NaN if there were none; None without holdout.
        more: further lines, before the number of features.
    """
    if best_holdout is None:
        average = "n.a." if math.isnan(seen.average_loss) else f"{seen.average_loss:.6f}"
    else:
        average = "undefined (no holdout)" if math.isnan(best_holdout) else f"{best_holdout:.6f} h"
    lines = ["", "finished run"]
    if passes > 1:
        lines += [f"number of examples per pass = {seen.examples // passes}", f"passes used = {passes}"]
    else:
        lines += [f"number of examples = {seen.examples}"]
    lines += [
        f"weighted example sum = {seen.weighted_examples:.6f}",
        f"weighted label sum = {seen.weighted_labels:.6f}",
        f"average loss = {average}",
    ]
    constant, its_loss = best_constant
    lines += [f"best constant = {constant:.6f}"] if constant is not None else []
    lines += [f"best constant's loss = {its_loss:.6f}"] if its_loss is not None else []
    lines += more
    lines += [f"total feature number = {seen.features}"]
    lines += [f"total queries = {seen.queries}"] if seen.queries else []
    return "\n".join(lines)
