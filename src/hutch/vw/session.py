"""The reports of a command line over examples that a program hands over one at a time, as Vowpal Wabbit makes them.

They are those of a run over data: the table, `-p`, `-r`, `--audit`, `--invert_hash` and `--extra_metrics`. An example
counts when it is finished.
"""

from argparse import Namespace
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.batch import Batch, joined
from hutch.core.chain.driver import TALLY
from hutch.core.chain.engine import Outputs
from hutch.core.run.passes import PassesDone
from hutch.core.run.progress import ProgressEvent
from hutch.core.run.run import Notes, Run
from hutch.core.run.table import Table
from hutch.core.text.names import feature_names
from hutch.core.text.parser import TextParser
from hutch.vw.reporters import Audit, Metrics, ReadableModels
from hutch.vw.run import cells_of, reporters_of, run_options


@dataclass
class Seen:
    """An example that was run and is not yet counted.

    Attributes:
        batch: it alone.
        outputs: of the chain.
        tally: its counters.
        features: that it used.
    """

    batch: Batch
    outputs: Outputs
    tally: NDArray[Any]
    features: int

    def kept(self) -> "Seen":
        """The same in memory of its own."""
        names = [each.name for each in fields(Outputs)]
        outputs = Outputs(**{name: getattr(self.outputs, name).copy() for name in names})
        return Seen(joined(self.batch), outputs, self.tally, self.features)


class Session:
    """The reports of a workspace.

    Args:
        chain: that its examples go through.
        given: its command line.
        parser: of its lines.
        shows: keep the table and messages.

    Attributes:
        driver: lines of the table.
        logged: messages about the data.
    """

    def __init__(self, chain: Chain, given: Namespace, parser: TextParser, *, shows: bool) -> None:
        self.driver: list[str] = []
        self.logged: list[str] = []
        quiet = given.quiet or given.driver_output_off or not shows
        options = replace(run_options(given), data=[], learn=not given.testonly, quiet=quiet, model=None, cache=None)
        files, notes = chain.files([]), Notes()
        files.problems = parser.problems
        self._reporters = reporters_of(chain, options, given)
        watch = [each for each in self._reporters if isinstance(each, Audit | ReadableModels)]
        self.watchers = [each.line for each in watch]
        self._chain, self._options = chain, parser.options
        self._run = Run(
            chain, files, options, self._reporters, save=chain.save, notes=notes, cells=cells_of(chain, given)
        )
        self._run.progress.views = []
        self._row_at, self._stack = self._run.progress.row_at, ExitStack()
        for reporter in self._reporters:
            self._speaks(reporter)
            reporter.open(self._run, self._stack)
        self._views = self._run.progress.views
        self._run.progress.views = [self._keep]
        self._event: ProgressEvent | None = None

    def _speaks(self, reporter: Any) -> None:
        lines = self.driver if isinstance(reporter, Table) else self.logged
        self._run.notes.say = lambda text: lines.extend(text.split("\n"))

    def _keep(self, event: ProgressEvent) -> None:
        self._event = event

    def look(self, lines: list[str], names: dict[int, str], batch: Batch) -> None:
        """Show an example to the reports that name its features, before it is run.

        Args:
            lines: its text.
            names: of its features, if it is JSON.
            batch: it alone.
        """
        if self.watchers:
            names = names or {one.index: str(one) for line in lines for one in feature_names(line, self._options)}
            for see in self.watchers:
                see(names, batch)

    def run(self, batch: Batch, learn: bool) -> Seen:
        """Run an example, which `count` takes into the reports."""
        tally = np.zeros(1, TALLY)
        outputs, _ = self._chain.run_batch(batch, learn=learn, tally=tally, scores=True)
        return Seen(batch, outputs, tally, self._chain.last_features)

    def count(self, seen: Seen) -> None:
        """Take an example into the reports."""
        progress = self._run.progress
        for name in TALLY.names or ():
            progress.tally[name] += seen.tally[name]
        for reporter in self._reporters:
            reporter.see(self._run, seen.batch, seen.outputs)
        if progress.statistics.weighted_examples >= self._row_at:
            self._row_at = progress.row(seen.batch, len(seen.batch) - 1, seen.outputs)
            assert self._event is not None
            for view in self._views:
                self._run.notes.say = self.driver.append
                view(replace(self._event, features=seen.features))

    def metrics(self) -> dict[str, Any]:
        """The counts of `--extra_metrics`."""
        return {
            name: value for each in self._reporters if isinstance(each, Metrics) for name, value in each.found().items()
        }

    def close(self) -> None:
        """Write the ends of all reports."""
        self._stack.close()
        done = PassesDone(1, self._run.progress.statistics, None)
        for reporter in self._reporters:
            self._speaks(reporter)
            reporter.close(self._run, done)
