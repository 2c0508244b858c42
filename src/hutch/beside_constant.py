"""The sentence that training ends in: was the model better than a constant?"""

import math

from hutch.core.batch import Batch
from hutch.core.chain.engine import Outputs
from hutch.core.run.best_constant import BestConstant
from hutch.core.run.passes import PassesDone
from hutch.core.run.run import Reporter, Run
from hutch.core.run.table import best_constant


class BesideConstant(Reporter):
    """Compares the average loss with that of the best constant; in one pass, since later ones know the labels.

    Args:
        quiet: print nothing.
    """

    def __init__(self, quiet: bool) -> None:
        self._best, self._quiet = BestConstant(), quiet

    def see(self, run: Run, batch: Batch, outputs: Outputs) -> None:
        self._best.observe(batch.labels)

    def close(self, run: Run, done: PassesDone) -> None:
        if run.options.passes > 1:
            return
        seen = done.statistics
        self.said = beside_constant(seen.average_loss, *best_constant(run, self._best, seen))
        if self.said and not self._quiet:
            run.notes.say(f"\n{self.said}")


def beside_constant(average: float, constant: float | None, its_loss: float | None) -> str:
    """A sentence on the average loss beside that of the best constant; empty where that is not known.

    Args:
        average: loss over the examples.
        constant, its_loss: as from `BestConstant.of`, over the same examples.

    >>> beside_constant(0.716, 0.0, 0.693)
    'On these examples the model was no better than always predicting 0: an average loss of 0.716 against 0.693.'
    """
    if constant is None or its_loss is None or math.isnan(average):
        return ""
    losses = f"an average loss of {average:.3g} against {its_loss:.3g}"
    if average >= its_loss:
        return f"On these examples the model was no better than always predicting {constant:.3g}: {losses}."
    return f"On these examples the model was better than always predicting {constant:.3g}: {losses}."
