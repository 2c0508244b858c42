"""Reports of runs: predictions, events, the progress table, a bar, and warnings about odd data."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from hutch.core.batch import Batch
from hutch.core.chain.capabilities import FindsArcs, has
from hutch.core.chain.derived import first_class
from hutch.core.chain.engine import Engine, Outputs
from hutch.core.chain.reduction import Predictions
from hutch.core.errors import ConfigError, DataError
from hutch.core.run.occupancy import advice
from hutch.core.run.output import (
    Lines,
    class_lines,
    class_score_lines,
    number_lines,
    open_output,
    predictions_of,
    raw_of,
    write_now,
)
from hutch.core.run.passes import PassesDone
from hutch.core.run.run import Reporter, Run, RunOptions
from hutch.core.run.table import Table
from hutch.core.run.unexpected import Unexpected, overflow_in
from hutch.core.streams import lost_error


class LinesTo(Reporter):
    """Writes lines of each batch, of the last pass alone where a chain reads groups of lines.

    Args:
        path: `-` is standard output.
        lines: of a batch.
        scores: they need the scores of all classes.
    """

    def __init__(self, path: str, lines: Lines, *, scores: bool = False) -> None:
        self._path, self._lines, self.scores = path, lines, scores

    def open(self, run: Run, stack: ExitStack) -> None:
        self._file = stack.enter_context(open_output(self._path))

    def see(self, run: Run, batch: Batch, outputs: Outputs) -> None:
        if run.engine.whole_groups:
            if run.progress.pass_number < run.options.passes:
                return  # earlier passes know less of the same items
            from hutch.core.run.predictions import of_groups

            batch, outputs = of_groups(batch, outputs)
        write_now(self._file, self._lines(batch, outputs))
        self.lost = lost_error(self._file) is not None


class EventsTo(Reporter):
    """Writes progress events as lines of JSON; `-` is standard output."""

    def __init__(self, path: str) -> None:
        self._path = path

    def open(self, run: Run, stack: ExitStack) -> None:
        from hutch.core.run.progress import event_json

        file = stack.enter_context(open_output(self._path))
        run.progress.views.append(lambda event: write_now(file, event_json(event).encode() + b"\n"))


class Bar(Reporter):
    """A live bar below the table, on a terminal and over data whose size is known."""

    def __init__(self) -> None:
        self._bar: Any = None

    def open(self, run: Run, stack: ExitStack) -> None:
        if not run.files.total or not sys.stderr.isatty():
            return
        from hutch.core.run.bar import ProgressBar

        before, self._bar = run.notes.say, ProgressBar(run.files.total, run.options.passes)
        stack.callback(lambda: setattr(run.notes, "say", before))
        run.notes.say = stack.enter_context(self._bar).say

    def see(self, run: Run, batch: Batch, outputs: Outputs) -> None:
        if self._bar is not None:
            self._bar.update(run.progress.pass_number, run.files.position, run.progress.statistics.examples)


class MalformedData(Reporter):
    """Reports at the end how much of the text was malformed."""

    def close(self, run: Run, done: PassesDone) -> None:
        if run.files.problems is not None:
            self.problems = run.files.problems.errors
            for line in run.files.problems.summary():
                run.notes.say(line)


class Overflow(Reporter):
    """Ends a run that learns when a number has grown beyond float32: no later example would be learned as it should."""

    _seen = 0

    def see(self, run: Run, batch: Batch, outputs: Outputs) -> None:
        before, self._seen = self._seen, self._seen + len(batch)
        if run.options.learn and not run.engine.predicts.of_actions and not run.engine.whole_groups:
            if text := overflow_in(run.engine, batch, outputs, before):
                raise DataError(text)


_MANY = 20
"""Number of lines of one item above which they probably belong to several."""


class UnexpectedLabels(Reporter):
    """Reports at the end the labels that the chain is not made for: how many, and where the first one is."""

    def __init__(self, engine: Engine) -> None:
        self._unexpected = Unexpected(engine)

    def see(self, run: Run, batch: Batch, outputs: Outputs) -> None:
        if run.progress.pass_number == 1:
            self._unexpected.see(batch, run.files.place_of)
            self.problems = self._unexpected.labels

    def close(self, run: Run, done: PassesDone) -> None:
        for line in self._unexpected.about_labels(run.options.learn):
            run.notes.say(line)


class UnexpectedData(UnexpectedLabels):
    """Warns at the end of data that are valid, but most likely not intended."""

    def see(self, run: Run, batch: Batch, outputs: Outputs) -> None:
        if run.options.learn:
            super().see(run, batch, outputs)

    def close(self, run: Run, done: PassesDone) -> None:
        seen = done.statistics
        if not seen.examples:
            run.notes.say("no example was read")
        elif run.engine.whole_groups and seen.examples >= _MANY and seen.weighted_examples <= 1:
            run.notes.say(f"all {seen.examples} lines are one item, since no empty line ends an item before the last")
        if seen.examples and run.options.learn:
            for line in self._unexpected.about_namespaces():
                run.notes.say(line)
            if crowded := advice(run.engine):
                run.notes.say(crowded)
        super().close(run, done)


def _prediction_lines(engine: Engine, names: Sequence[str]) -> Lines:
    """The writer of predictions: numbers, names of classes, densities, or the actions of decisions."""
    if names and engine.predicts is Predictions.CLASS:
        return class_lines(names)
    if engine.predicts is Predictions.LABELS:
        from hutch.core.run.labels import label_lines

        return label_lines(engine)
    if has(top := engine.layers[0], FindsArcs):
        from hutch.core.run.decisions import arc_lines

        return partial(arc_lines, top)
    if engine.predicts in (Predictions.DENSITY, Predictions.DRAWN_NUMBER):
        from hutch.core.run.numbers import density_lines, drawn_lines

        return density_lines if engine.predicts is Predictions.DENSITY else drawn_lines
    if not engine.predicts.of_actions:
        return number_lines(predictions_of)
    from hutch.core.run.decisions import lines_of

    return lines_of(engine, names)


def usual_reporters(engine: Engine, options: RunOptions, names: Sequence[str] = ()) -> list[Reporter]:
    """The reporters of `hutch train` and `hutch predict`.

    Args:
        engine: the chain.
        options: the outputs to write and show.
        names: of the classes, where the data has names.

    Raises:
        ConfigError: classes with names, which count from 1, under a layer whose classes count from 0.
    """
    if names and engine.predicts is Predictions.CLASS and first_class(engine.layers[0]) == 0:
        raise ConfigError("columns.classes: classes with names count from 1, got a layer with first_class: 0")
    found: list[Reporter] = []
    chances = None
    if options.probabilities:
        from hutch.core.run.probabilities import Probabilities

        chances = Probabilities(engine, names)
    if options.predictions is not None and chances is not None:
        found.append(LinesTo(options.predictions, chances.lines, scores=chances.of_classes))
    elif options.predictions is not None and options.interval is not None:
        from hutch.core.run.prediction_intervals import Intervals

        found.append(LinesTo(options.predictions, Intervals(engine, options.interval).lines))
    elif options.predictions is not None and options.top is not None:
        from hutch.core.run.best import best_lines

        found.append(LinesTo(options.predictions, best_lines(options.top)))
    elif options.predictions is not None:
        found.append(LinesTo(options.predictions, _prediction_lines(engine, names)))
    if options.raw is not None:
        scores = engine.predicts == Predictions.CLASS and engine.score_count > 0
        lines = class_score_lines if scores else number_lines(raw_of)
        if engine.predicts is Predictions.LABELS:
            from hutch.core.run.labels import label_score_lines

            lines = label_score_lines(engine)
        found.append(LinesTo(options.raw, lines, scores=scores))
    if options.events is not None:
        found.append(EventsTo(options.events))
    if not options.quiet:
        found += [Table(), Bar()]
    return [*found, MalformedData(), UnexpectedData(engine), Overflow()]
