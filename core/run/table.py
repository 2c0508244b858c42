"""The progress table: a header, a row for each event, and a footer, laid out as VW's."""

import math
from collections.abc import Callable, Iterable
from contextlib import ExitStack

from hutch.core.batch import Batch
from hutch.core.chain.engine import Outputs
from hutch.core.chain.reduction import Labels, Predictions
from hutch.core.chain.statistics import Statistics
from hutch.core.loss.losses import LossChoice
from hutch.core.run.best_constant import BestConstant
from hutch.core.run.occupancy import share_used
from hutch.core.run.passes import PassesDone
from hutch.core.run.progress import ProgressEvent
from hutch.core.run.run import Reporter, Run

TABLE_HEADER = """\
average  since         example        example        current        current  current
loss     last          counter         weight          label        predict features"""
NARROW_HEADER = """\
average  since      example     example        current        current  current
loss     last       counter      weight          label        predict features"""
_WIDE, _NARROW = (12, 14), (9, 11)
"""Widths of the counter and of the weight: VW's, and those with which a row fits a terminal of 80 columns."""


def table_row(event: ProgressEvent, narrow: bool = False) -> str:
    """A row of VW's table; narrow, it fits 80 columns.

    >>> table_row(ProgressEvent(0.5, 0.25, 2, 2.0, 1.0, -0.4512, 15))
    '0.500000 0.250000            2            2.0         1.0000        -0.4512       15'
    """
    label = "unknown" if event.label is None else _cell(event.label)
    counter, weight = _NARROW if narrow else _WIDE
    columns = (
        f"{_loss(event.average_loss):8} {_loss(event.since_last):8} {event.examples:{counter}d} "
        f"{event.weight:{weight}.1f} "
        f"{label:>14} {_cell(event.prediction):>14} {event.features:8d}"
    )
    return columns + (" h" if event.holdout else "")


def _loss(value: float) -> str:
    return "n.a." if math.isnan(value) else f"{value:.6f}"[:8]


def _cell(value: float | int | str) -> str:
    text = f"{value:.4f}" if isinstance(value, float) else str(value)
    return text if len(text) <= 14 else text[:11] + "..."


def table_footer(
    seen: Statistics,
    *,
    passes: int = 1,
    best_constant: tuple[float | None, float | None] = (None, None),
    best_holdout: float | None = None,
    table_used: float | None = None,
    more: Iterable[str] = (),
) -> str:
    """VW's final summary, with the share of the weight table in use.

    Args:
        seen: counters of the run.
        passes: number of passes made over the data.
        best_constant: the best constant and its loss, as from `BestConstant.of`.
        best_holdout: least loss on the examples held out in any pass; NaN if there were none; None without holdout.
        table_used: share of the weight table's rows that are used; None: not shown.
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
    lines += [f"weight table used = {100 * table_used:.3g}%"] if table_used is not None else []
    return "\n".join(lines)


_PREDICTIONS = {Predictions.CLASS: "MULTICLASS", Predictions.ACTION_PROBABILITIES: "ACTION_PROBS"}
"""Where VW's name is not the kind's own."""
_BASE_TITLES = {"learning rate": "learning_rate", "initial_t": "initial_t", "power_t": "power_t"}


def table_head(run: Run) -> str:
    """VW's lines before its first row, as far as they have a meaning for this chain, and the narrow header."""
    options, engine = run.options, run.engine
    base = engine.layers[-1].parameters
    lines = [
        "" if options.learn else "only testing",
        f"final_regressor = {options.model}" if options.model else "",
        f"predictions = {options.predictions}" if options.predictions else "",
        f"raw predictions = {options.raw}" if options.raw else "",
        *(f"Reading datafile = {source}" for source in options.data),
        f"num sources = {len(options.data)}",
        f"Num weight bits = {engine.parser.bits}",
        *(
            f"{title} = {getattr(base, name):g}"
            for title, name in _BASE_TITLES.items()
            if getattr(base, name, None) is not None
        ),
        f"Held out of each pass: {options.holdout}" if options.holdout else "",
        f"Enabled learners: {', '.join(layer.name for layer in reversed(engine.layers))}",
        f"Input label = {engine.takes.value.upper()}",
        f"Output pred = {_PREDICTIONS.get(engine.predicts, engine.predicts.value.upper())}",
        NARROW_HEADER,
    ]
    return "\n".join(line for line in lines if line)


class Table(Reporter):
    """Prints the table.

    Args:
        head: all lines up to the first row; under the usual one rows are narrow.
        counted: the counters that the footer shows, of those of the run.
        more: further lines of the footer.
        best_constant: show in the footer which constant would have done best.
        table_used: show in the footer how full the weight table is, which VW does not.
    """

    def __init__(
        self,
        head: Callable[[Run], str] = table_head,
        *,
        counted: Callable[[Statistics], Statistics] = lambda seen: seen,
        more: Callable[[Run, PassesDone], Iterable[str]] = lambda run, done: (),
        best_constant: bool = True,
        table_used: bool = True,
    ) -> None:
        self._head, self._counted, self._more, self._table_used = head, counted, more, table_used
        self._best = BestConstant() if best_constant else None

    def open(self, run: Run, stack: ExitStack) -> None:
        run.notes.say(self._head(run))
        narrow = self._head is table_head
        run.progress.views.append(lambda event: run.notes.say(table_row(event, narrow)))

    def see(self, run: Run, batch: Batch, outputs: Outputs) -> None:
        if self._best is not None and run.progress.pass_number == 1:
            self._best.observe(batch.labels)

    def close(self, run: Run, done: PassesDone) -> None:
        seen = self._counted(done.statistics)
        footer = table_footer(
            seen,
            passes=done.passes,
            best_constant=best_constant(run, self._best, seen),
            best_holdout=done.best_holdout,
            table_used=share_used(run.engine) if self._table_used and run.options.learn else None,
            more=self._more(run, done),
        )
        run.notes.say(footer)


def best_constant(run: Run, best: BestConstant | None, seen: Statistics) -> tuple[float | None, float | None]:
    """The best constant of a run and its loss, as from `BestConstant.of`.

    Args:
        run: of a chain.
        best: that saw its labels; None: nothing did.
        seen: counters of the run.
    """
    choice = getattr(run.engine.layers[-1].parameters, "loss", None)
    if best is None or run.engine.takes != Labels.SIMPLE or not isinstance(choice, LossChoice):
        return None, None
    if any(layer.inputs.adds_examples for layer in run.engine.layers):
        return None, None
    if run.engine.layers[0].answers.loss is None:  # what is reported is no loss of the learner's
        return None, None
    shared = run.engine.shared[0]
    label_range = (float(shared["min_label"]), float(shared["max_label"]))
    return best.of(choice.name, seen, dict(choice.parameters), label_range)
