"""Several passes over the data, with examples held out to know when to stop."""

import math
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.capabilities import LearnsFromPasses, has
from hutch.core.chain.engine import Engine, Outputs
from hutch.core.chain.statistics import Statistics
from hutch.core.errors import ConfigError
from hutch.core.run.progress import Progress


@dataclass(frozen=True, slots=True)
class Holdout:
    """Which examples of a pass are only tested; VW's rule.

    Attributes:
        period: those whose number, counted from 1, is divisible by this; 0: none.
        after: all after this many, `period` then does not count; 0: none.
        patience: stop after so many passes in a row in which the loss on them did not fall.
        keeps_last: the chain ends in its state after the best pass only if it stopped early, as in VW; else always.
    """

    period: int = 0
    after: int = 0
    patience: int = 3
    keeps_last: bool = False

    def __bool__(self) -> bool:
        return self.period > 0 or self.after > 0

    def counted(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which examples of a pass, by number, count in the reported loss: held-out ones, or all without a holdout."""
        if not self:
            return np.ones(len(numbers), np.bool_)
        return numbers > self.after if self.after else numbers % self.period == 0

    def __str__(self) -> str:
        return f"all after number {self.after}" if self.after else f"every number divisible by {self.period}"


@dataclass(frozen=True, slots=True)
class PassesDone:
    """Result of the passes.

    Attributes:
        passes: made, an interrupted one included.
        statistics: of the run, without what the chain had seen before.
        best_holdout: least loss on the examples held out in a whole pass; NaN if there were none; None without holdout.
    """

    passes: int
    statistics: Statistics
    best_holdout: float | None

    @property
    def average_loss(self) -> float:
        """Progressive loss, or that of the best pass on the examples held out."""
        return self.statistics.average_loss if self.best_holdout is None else self.best_holdout


def run_passes(
    engine: Engine,
    batches: Iterable[Batch],
    progress: Progress,
    *,
    passes: int = 1,
    learn: bool = True,
    holdout: Holdout | None = None,
    sink: Callable[[Batch, Outputs], None] | None = None,
    scores: bool = False,
    stopped: Callable[[], bool] = lambda: False,
    passed: Callable[[int], object] = lambda number: None,
) -> PassesDone:
    """Run all passes; with a holdout, the chain ends in its state after the pass that did best on it (see `Holdout`).

    Args:
        engine: the chain.
        batches: can be iterated once per pass.
        progress: reports on the run; made for this engine.
        passes: the most to make.
        learn: False only predicts.
        holdout: which examples are only tested; None: none.
        sink: sees every batch with its outputs.
        scores: let the outputs hold the scores of all classes.
        stopped: whether the batches ended early; no pass follows then.
        passed: called with the number of each pass that does not end the run early, once the chain is ready for more.

    Raises:
        ConfigError: several passes of a layer that would pay for the same labels in each.
    """
    for layer in engine.layers if learn and passes > 1 else ():
        if layer.inputs.buys_labels:
            wanted = "1: it pays for labels, and would pay again in each; use `replay` to repeat bought ones"
            raise ConfigError(f"passes: got {passes} with {layer.name!r}, wanted {wanted}")
    searching: list[LearnsFromPasses] = []
    searching += [layer for layer in engine.layers if learn and passes > 1 and has(layer, LearnsFromPasses)]
    holdout = holdout or Holdout()
    best, best_loss, waited, number, early = None, math.nan, 0, 0, False
    row_at = progress.row_at
    for number in range(1, passes + 1):
        progress.pass_number = number
        with closing(_each(batches)) as one_pass:  # after an error, threads that read ahead end too
            row_at = engine.run(
                one_pass,
                learn=learn,
                sink=sink,
                row=progress.row,
                row_at=row_at,
                tally=progress.tally,
                holdout_period=0 if holdout.after else holdout.period,
                holdout_after=holdout.after,
                scores=scores,
            )
        if stopped():
            break
        loss = progress.end_pass()
        settled = any([not search.take_step() for search in searching])  # each takes its own
        waited += 1
        loss = math.inf if math.isnan(loss) else loss  # as in VW, a pass without tests counts as the worst
        if holdout and not loss >= best_loss:
            best, best_loss, waited = {name: array.copy() for name, array in engine.arrays().items()}, loss, 0
        if holdout and waited >= holdout.patience:
            early = True
            break
        if settled:
            break
        if number < passes:
            engine.end_pass()
        passed(number)
    tested = math.isfinite(best_loss)
    done = PassesDone(number, progress.statistics, (best_loss if tested else math.nan) if holdout else None)
    if best is not None and (early if holdout.keeps_last else tested):
        engine.restore(best)
    for search in searching:
        search.forget_search()
    return done


def _each(batches: Iterable[Batch]) -> Generator[Batch]:
    yield from batches  # which, unlike a loop, closes them at once in every version of Python
