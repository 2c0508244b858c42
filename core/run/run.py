"""A run of a chain over data files: the common part of `train`, `predict` and `vw`, and its reporters."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from hutch.core.atomic import check_outputs, kept_from_servers
from hutch.core.batch import Batch
from hutch.core.chain.capabilities import LearnsFromPasses, has
from hutch.core.chain.engine import Engine, Outputs
from hutch.core.data.files import TABLES, InputFiles, check_sources, ending_of
from hutch.core.errors import UsageError
from hutch.core.run.interrupt import Interruption
from hutch.core.run.occupancy import share_used
from hutch.core.run.passes import Holdout, PassesDone, run_passes
from hutch.core.run.progress import Cells, Progress, View, parse_schedule
from hutch.core.run.unexpected import about_no_labels, lacks_labels
from hutch.core.strict_json import dumps
from hutch.core.text.problems import BAD_LABEL, BAD_PROBABILITY


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Inputs, outputs and display of a run.

    Attributes:
        data: paths; `-` is standard input.
        learn: False only predicts.
        passes: over the data.
        holdout: which examples are only tested.
        model: where to save the chain; None: nowhere.
        each_pass: save it after each pass, too, with `.` and the number of the pass behind the name.
        predictions, raw: where predictions go; `-` is standard output; None: nowhere.
        probabilities: the predictions are the probabilities of all labels.
        interval: predictions are written with the ends of an interval that holds the label with this probability; None:
            alone.
        top: predictions are written of so many examples of each group, the best; None: of all.
        events: where progress events go as JSON lines.
        progress: when rows of the table are due, as `-P`.
        quiet: no table.
        strict: stop at the first malformed place.
        kind: ending by which all data is read; None: each file by its own.
        cache: file that keeps the parsed data for later runs; None: none.
        fresh: rebuild the cache even if one exists.
        needs_labels: a run that learns, but sees no label, fails and saves nothing.
    """

    data: list[str]
    learn: bool = True
    passes: int = 1
    holdout: Holdout = field(default_factory=Holdout)
    model: str | None = None
    each_pass: bool = False
    predictions: str | None = None
    probabilities: bool = False
    interval: float | None = None
    top: int | None = None
    raw: str | None = None
    events: str | None = None
    progress: str = "2.0"
    quiet: bool = False
    strict: bool = False
    kind: str | None = None
    cache: str | None = None
    fresh: bool = False
    needs_labels: bool = False

    def check(self) -> None:
        """Check before the chain is built that the input files exist and that the output files can be written.

        Raises:
            HutchError: a file does not exist or cannot be written.
            UsageError: an output is one of the input files, or two outputs are one file.
        """
        check_sources(self.data)
        check_outputs((self.model, self.predictions, self.raw, self.events), self.data)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a run.

    Attributes:
        done: passes, counters and losses.
        seconds: wall time.
        problems: malformed places in the data, and labels that the chain is not made for.
        exit_code: 128 + the number of the signal that ended the run early; 1 if labels were needed and none came;
            else 0.
        table_used: share of the weight table's rows that are used, an estimate; None if unknown.
        verdict: what was found, in sentences; None without learning.
    """

    done: PassesDone
    seconds: float
    problems: int
    exit_code: int
    table_used: float | None = None
    verdict: tuple[str, ...] | None = None

    def as_json(self) -> str:
        """One object for `--json`."""
        seen = self.done.statistics
        return dumps(
            {
                "examples": seen.examples,
                "features": seen.features,
                "average_loss": self.done.average_loss,
                "seconds": self.seconds,
                "passes": self.done.passes,
                "weighted_examples": seen.weighted_examples,
                "queries": seen.queries,
                "problems": self.problems,
                "interrupted": self.exit_code > 1,
                "table_used": self.table_used,
                **({} if self.verdict is None else {"verdict": [*self.verdict]}),
            }
        )


class Notes:
    """Messages to the user: to standard error, unless a reporter replaces the output.

    Attributes:
        say: shows a line.
    """

    def __init__(self) -> None:
        self.say: Callable[[str], Any] = self.print

    @staticmethod
    def print(text: str) -> None:
        """Print a message on stderr."""
        print(text, file=sys.stderr)


class Reporter:
    """One report of a run; a run has any number of them and calls each in turn.

    Attributes:
        scores: whether it needs the scores of all classes.
        problems: number of problems it has found in the data.
        lost: whether its output no longer reaches anyone; None if it writes no results.
        said: what it has found, a sentence; empty: nothing.
    """

    scores = False
    problems = 0
    lost: bool | None = None
    said = ""

    def open(self, run: "Run", stack: ExitStack) -> None:
        """Called before the first batch.

        Args:
            run: it has everything but an outcome.
            stack: closes what is opened here, when the last batch has been seen.
        """

    def see(self, run: "Run", batch: Batch, outputs: Outputs) -> None:
        """Called after each batch, in every pass; the next batch overwrites the outputs."""

    def close(self, run: "Run", done: PassesDone) -> None:
        """Called at the end, when the model has been saved."""


class Run:
    """One run of a chain over data files.

    Args:
        engine: the chain; it is changed.
        files: its data, to be read as often as there are passes.
        options: inputs and outputs; checked before the chain was built.
        reporters: its reports, in their order.
        save: writes the chain's model file.
        notes: receives messages.
        views: further receivers of the progress events.
        cells: describes an example in rows of the table; None: labels and predictions.

    Attributes:
        progress: counters and events of the run.

    Raises:
        UsageError: options that contradict each other.
    """

    def __init__(
        self,
        engine: Engine,
        files: InputFiles,
        options: RunOptions,
        reporters: Sequence[Reporter],
        *,
        save: Callable[[str], Any],
        notes: Notes,
        views: Iterable[View] = (),
        cells: Cells | None = None,
    ) -> None:
        if engine.whole_groups and options.holdout:
            options = replace(options, holdout=Holdout())  # one worker's label is not a truth to test against
        schedule, notice = parse_schedule(options.progress)
        if notice and not options.quiet:
            notes.say(notice)
        if options.passes > 1 and not files.repeatable:
            raise UsageError("--passes: each pass reads the data again: wanted files, got a stream")
        for layer in engine.layers if options.learn and options.passes == 1 else ():
            name = layer.name
            if has(layer, LearnsFromPasses):
                raise UsageError(f"--passes: got 1, wanted 2 or more: {name!r} learns at the end of passes")
        self.engine, self.files, self.options, self.notes = engine, files, options, notes
        self.progress = Progress(engine, schedule, views, holdout=bool(options.holdout), cells=cells)
        self._reporters, self._save = list(reporters), save
        self._interruption = Interruption()
        self._useless = False  # set once no reader of the predictions is left; the run then ends

    def __call__(self) -> Outcome:
        """Run, save, and report; a signal ends the run early, and the learned state is saved."""
        options, interruption = self.options, self._interruption
        scores = any(reporter.scores for reporter in self._reporters)
        with kept_from_servers(options.model):
            with ExitStack() as stack:
                for reporter in self._reporters:
                    reporter.open(self, stack)
                stack.enter_context(interruption)
                done = run_passes(
                    self.engine,
                    _Until(interruption, self.files, lambda: self._useless),
                    self.progress,
                    passes=options.passes,
                    learn=options.learn,
                    holdout=options.holdout,
                    sink=self._see,
                    scores=scores,
                    stopped=lambda: interruption.number is not None,
                    passed=self._passed,
                )
            unlabeled = self._about_no_labels(done)
            failed = bool(unlabeled) and options.needs_labels and interruption.number is None
            if options.model is not None and not failed:
                self._save(options.model)
        for reporter in self._reporters:
            reporter.close(self, done)
        if unlabeled:
            self.notes.say(unlabeled)
        if interruption.number is not None:
            saved = f"saved {options.model}" if options.model else "no model was asked for"
            self.notes.say(f"interrupted after {done.statistics.examples} examples: {saved}")
        problems = sum(reporter.problems for reporter in self._reporters)
        used = share_used(self.engine)
        share = None if used is None else float(f"{used:.3g}")
        said = tuple(reporter.said for reporter in self._reporters if reporter.said) if options.learn else None
        return Outcome(done, self.progress.seconds, problems, interruption.exit_code or int(failed), share, said)

    def _about_no_labels(self, done: PassesDone) -> str:
        """Message if nothing was learned for want of labels, or of labels that are numbers; else empty."""
        seen, found = done.statistics, self.files.problems
        if self.options.needs_labels and found and found.counts[BAD_LABEL] * self.options.passes >= seen.examples > 0:
            wanted = "wanted 1 and -1, numbers, or a table with --label and --classes"
            return f"no label is a number: nothing was learned; {wanted}"
        if not self.options.learn or not lacks_labels(self.engine, seen.examples, seen.weighted_labeled):
            return ""
        if found and found.counts[BAD_PROBABILITY]:
            return f"{about_no_labels(self.engine)}; `hutch evaluate --propensities estimated -f MODEL` estimates them"
        tables = self.options.kind or any(ending_of(source) in TABLES for source in self.options.data)
        return about_no_labels(self.engine) + "; --label COLUMN names the column of the labels" * bool(tables)

    def _passed(self, number: int) -> None:
        if self.options.each_pass and self.options.model is not None:
            self._save(f"{self.options.model}.{number}")

    def _see(self, batch: Batch, outputs: Outputs) -> None:
        for reporter in self._reporters:
            reporter.see(self, batch, outputs)
        if not self.options.learn:
            results = [reporter.lost for reporter in self._reporters if reporter.lost is not None]
            self._useless = bool(results) and all(results)


class _Until:
    """The batches of files, on every iteration, until a signal arrives or their outputs are useless."""

    def __init__(self, interruption: Interruption, files: Iterable[Batch], useless: Callable[[], bool]) -> None:
        self._interruption, self._files, self._useless = interruption, files, useless

    def __iter__(self) -> Iterator[Batch]:
        return takewhile(lambda batch: not self._useless(), self._interruption.until_stopped(self._files))
