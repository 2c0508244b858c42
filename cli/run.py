"""A run over data files: what `train`, `predict` and `vw` share; what few runs need is imported where it is used."""

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from hutch.chain import Chain
from hutch.core.atomic import atomic_write, check_writable
from hutch.core.batch import Batch
from hutch.core.chain.engine import Outputs
from hutch.core.chain.namespaces import NamedNamespaces
from hutch.core.chain.reduction import Labels, Predictions
from hutch.core.data.files import InputFiles, check_sources
from hutch.core.errors import UsageError
from hutch.core.loss.losses import LossChoice
from hutch.core.run.interrupt import Interruption
from hutch.core.run.passes import Holdout, PassesDone, run_passes
from hutch.core.run.progress import TABLE_HEADER, Progress, event_json, parse_schedule, table_footer, table_row


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a run reads, writes and shows.

    Attributes:
        data: paths; `-` is standard input.
        learn: False only predicts.
        passes: over the data.
        holdout: which examples are only tested.
        model: where to save the chain; None: nowhere.
        predictions, raw: where predictions go; `-` is standard output; None: nowhere.
        events: where progress events go as JSON lines.
        progress: when rows of the table are due, as `-P`.
        quiet: no table.
        strict: stop at the first malformed place.
        cache: file that keeps the parsed data for later runs; None: none.
        fresh: make the cache anew whatever is there.
    """

    data: list[str]
    learn: bool = True
    passes: int = 1
    holdout: Holdout = Holdout()
    model: str | None = None
    predictions: str | None = None
    raw: str | None = None
    events: str | None = None
    progress: str = "2.0"
    quiet: bool = False
    strict: bool = False
    cache: str | None = None
    fresh: bool = False

    def check(self) -> None:
        """Find out before the chain is built whether the files are there, and whether those to come can be written.

        Raises:
            HutchError: one that is not, or cannot be.
        """
        check_sources(self.data)
        for path in (self.model, self.predictions, self.raw, self.events):
            if path not in (None, "-"):
                check_writable(path)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run.

    Attributes:
        done: passes, counters and losses.
        seconds: wall time.
        problems: malformed places in the data.
        exit_code: 128 + the number of the signal that ended the run early, else 0.
    """

    done: PassesDone
    seconds: float
    problems: int
    exit_code: int

    def as_json(self) -> str:
        """One object for `--json`."""
        seen, loss = self.done.statistics, self.done.average_loss
        return json.dumps(
            {
                "examples": seen.examples,
                "features": seen.features,
                "average_loss": None if math.isnan(loss) else loss,
                "seconds": self.seconds,
                "passes": self.done.passes,
                "weighted_examples": seen.weighted_examples,
                "queries": seen.queries,
                "problems": self.problems,
                "interrupted": self.exit_code != 0,
            }
        )


def note(text: str) -> None:
    """Tell people something on stderr."""
    print(text, file=sys.stderr)


def is_stdout(path: str | None) -> bool:
    """Whether a path stands for standard output."""
    return path in ("-", "/dev/stdout")


@contextmanager
def open_output(path: str) -> Iterator[BinaryIO]:
    """A file that is written in one step, or standard output."""
    if is_stdout(path):
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with atomic_write(path) as file:
            yield file


class Run:
    """One run of a chain over data files.

    Args:
        chain: the chain; it is changed.
        options: what to read, write and show; checked before the chain was built.

    Raises:
        UsageError: options that contradict each other.
    """

    tells_unexpected_labels = True

    def __init__(self, chain: Chain, options: RunOptions) -> None:
        self.chain = chain
        if chain.whole_groups and options.holdout:
            options = replace(options, holdout=Holdout())  # one worker's label is no truth to test against
        self.options = options
        schedule, notice = parse_schedule(options.progress)
        if notice and not options.quiet:
            note(notice)
        self._say: Callable[[str], Any] = note
        self._draw: Callable[[], Any] = lambda: None
        parser = replace(chain.parser, strict=options.strict)
        readers, columns = chain.plugins.registry.readers, chain.config.input.columns
        self.files = InputFiles(
            options.data,
            parser,
            readers,
            lambda problem: self._say(str(problem)),
            columns,
            options.passes,
            options.cache,
            options.fresh,
        )
        if options.passes > 1 and not self.files.repeatable:
            raise UsageError("--passes: the data is read anew in each pass: wanted files, got a stream")
        self.progress = Progress(chain, schedule, [chain.plugins.on_progress], holdout=bool(options.holdout))
        self._sinks: list[Callable[[Batch, Outputs], Any]] = []
        self._named = NamedNamespaces(chain.layers, chain.parser.namespaces)
        self._unexpected_labels = 0
        self._unexpected_label: float | None = None  # the first that the chain is not made for
        self._scores = options.raw is not None and chain.predicts == Predictions.CLASS and chain.score_count > 0

    def __call__(self) -> Outcome:
        """Run, save, and report on stderr; a signal ends the run early, and what was learned is saved."""
        interruption = Interruption()
        with ExitStack() as stack:
            self._open_outputs(stack)
            if not self.options.quiet:
                note(self._header())
                self.progress.views.append(lambda event: self._say(table_row(event)))
            stack.enter_context(self._bar())
            stack.enter_context(interruption)
            done = run_passes(
                self.chain,
                _Until(interruption, self.files),
                self.progress,
                passes=self.options.passes,
                learn=self.options.learn,
                holdout=self.options.holdout,
                sink=self._sink,
                scores=self._scores,
                stopped=lambda: interruption.number is not None,
            )
        self._say = note
        if self.options.model is not None:
            self.chain.save(self.options.model)
        problems = (self.files.problems.errors if self.files.problems else 0) + self._unexpected_labels
        outcome = Outcome(done, self.progress.seconds, problems, interruption.exit_code)
        self._report(outcome)
        return outcome

    def _open_outputs(self, stack: ExitStack) -> None:
        options = self.options
        if options.predictions is not None:
            file = stack.enter_context(open_output(options.predictions))
            if self.chain.predicts.of_actions:
                from hutch.core.run.decisions import lines_of

                lines = lines_of(self.chain)
                self._sinks.append(lambda batch, outputs: _write_now(file, lines(batch, outputs)))
            else:
                self._sinks.append(_lines_to(file, lambda outputs: outputs.predictions))
        if options.raw is not None:
            from hutch.core.run.predictions import score_lines

            raw = stack.enter_context(open_output(options.raw))
            if self._scores:
                self._sinks.append(lambda batch, out: raw.write(score_lines(out.scores, batch.tag_ptr, batch.tags)))
            else:
                self._sinks.append(_lines_to(raw, lambda outputs: outputs.raw))
        if options.events is not None:
            events = stack.enter_context(open_output(options.events))
            self.progress.views.append(lambda event: _write_now(events, event_json(event).encode() + b"\n"))

    def _bar(self) -> AbstractContextManager[Any]:
        if self.options.quiet or not self.files.total or not sys.stderr.isatty():
            return nullcontext()
        from hutch.core.run.bar import ProgressBar

        bar = ProgressBar(self.files.total, self.options.passes)
        progress, files = self.progress, self.files
        self._say = bar.say
        self._draw = lambda: bar.update(progress.pass_number, files.position, progress.statistics.examples)
        return bar

    def _sink(self, batch: Batch, outputs: Outputs) -> None:
        if self.progress.pass_number == 1:
            self.progress.best_constant.observe(batch.labels)
            if self.options.learn:
                self._look_for_unexpected(batch)
        sinks = self._sinks
        if self.chain.whole_groups:
            from hutch.core.run.predictions import of_groups

            batch, outputs = of_groups(batch, outputs)
            if self.progress.pass_number < self.options.passes:
                sinks = []  # earlier passes know less of the same items
        for sink in sinks:
            sink(batch, outputs)
        self._draw()

    def _look_for_unexpected(self, batch: Batch) -> None:
        strange = self.chain.unexpected_labels(batch)
        self._named.see(batch)
        self._unexpected_labels += len(strange)
        if len(strange) and self._unexpected_label is None:
            self._unexpected_label = float(strange[0])

    def _header(self) -> str:
        """What VW prints before the table, as far as it has a meaning here."""
        options, chain = self.options, self.chain
        base = chain.layers[-1].parameters
        lines = [
            "" if options.learn else "only testing",
            f"final_regressor = {options.model}" if options.model else "",
            f"predictions = {options.predictions}" if options.predictions else "",
            f"raw predictions = {options.raw}" if options.raw else "",
            *(f"Reading datafile = {source}" for source in options.data),
            f"num sources = {len(options.data)}",
            f"Num weight bits = {chain.config.weights.bits}",
            *(
                f"{title} = {getattr(base, name):g}"
                for title, name in _BASE_TITLES.items()
                if getattr(base, name, None) is not None
            ),
            f"Held out of each pass: {options.holdout}" if options.holdout else "",
            f"Enabled learners: {', '.join(layer.name for layer in reversed(chain.layers))}",
            f"Input label = {chain.takes.value.upper()}",
            f"Output pred = {_VW_PREDICTIONS[chain.predicts]}",
            TABLE_HEADER,
        ]
        return "\n".join(line for line in lines if line)

    def _footer_lines(self, done: PassesDone) -> list[str]:
        """What else the footer says of this kind of run."""
        return []

    def _report(self, outcome: Outcome) -> None:
        done = outcome.done
        if not self.options.quiet:
            choice = getattr(self.chain.layers[-1].parameters, "loss", None)
            constant: tuple[float | None, float | None] = (None, None)
            if self.chain.takes == Labels.SIMPLE and isinstance(choice, LossChoice):
                shared = self.chain.shared[0]
                given, labels = dict(choice.parameters), (float(shared["min_label"]), float(shared["max_label"]))
                constant = self.progress.best_constant.of(choice.name, done.statistics, given, labels)
            note(
                table_footer(
                    done.statistics,
                    passes=done.passes,
                    best_constant=constant,
                    best_holdout=done.best_holdout,
                    more=self._footer_lines(done),
                )
            )
        for line in self.files.problems.summary() if self.files.problems else ():
            note(line)
        if self.tells_unexpected_labels:
            self._report_unexpected(done)
        if self.options.learn and done.statistics.examples and not done.statistics.weighted_labeled:
            note("no example had a label: nothing was learned")
        if outcome.exit_code:
            saved = f"saved {self.options.model}" if self.options.model else "no model was asked for"
            note(f"interrupted after {done.statistics.examples} examples: {saved}")

    def _report_unexpected(self, done: PassesDone) -> None:
        """Say what is not wrong, but most likely not meant."""
        if not done.statistics.examples:
            note("no example was read")
        elif self.options.learn:
            for line in self._named.missing():
                note(line)
        if self._unexpected_label is not None:
            such = f"{self._unexpected_labels} labels such as {self._unexpected_label:g}"
            note(f"{such}: this chain is not made for them, and learned from them all the same")


_VW_PREDICTIONS = {
    Predictions.SCALAR: "SCALAR",
    Predictions.CLASS: "MULTICLASS",
    Predictions.ACTION_SCORES: "ACTION_SCORES",
    Predictions.ACTION_PROBABILITIES: "ACTION_PROBS",
}
_BASE_TITLES = {"learning rate": "learning_rate", "initial_t": "initial_t", "power_t": "power_t"}


class _Until:
    """The batches of files, as often as they are asked for, until a signal comes."""

    def __init__(self, interruption: Interruption, files: InputFiles) -> None:
        self._interruption = interruption
        self._files = files

    def __iter__(self) -> Iterator[Batch]:
        return self._interruption.until_stopped(self._files)


def _lines_to(file: BinaryIO, values: Callable[[Outputs], Any]) -> Callable[[Batch, Outputs], Any]:
    from hutch.core.run.predictions import PredictionText

    text = PredictionText()
    return lambda batch, outputs: _write_now(file, text.lines(values(outputs), batch.tag_ptr, batch.tags))


def _write_now(file: BinaryIO, data: bytes | memoryview) -> None:
    """Write what somebody at the other end of a pipe may wait for."""
    file.write(data)
    file.flush()
