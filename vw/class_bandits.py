"""Vowpal Wabbit's forms of predictions for bandits with weights for each class."""

import numpy as np

from hutch.chain import Chain
from hutch.core.batch import Batch
from hutch.core.chain.engine import Outputs
from hutch.core.kernel.abi import UNLABELED
from hutch.core.run.decisions import tail
from hutch.core.run.output import Lines
from hutch.core.run.progress import PlainCells


def probability_lines(batch: Batch, outputs: Outputs) -> bytes:
    """The probability of each class, and a blank behind each."""
    found = []
    for row, scores in enumerate(outputs.scores.tolist()):
        found.append("".join(f"{score:f} " for score in scores).encode() + tail(batch, row))
    return b"".join(found)


def raw_class_lines(chain: Chain) -> Lines:
    """`-r`: the classes of the label, each with the score of the class that VW learned in its place."""
    top = chain.layers[0]
    scored = top.name == "class_bandit" and top.parameters.type != "dm"

    def lines(batch: Batch, outputs: Outputs) -> bytes:
        found = []
        for row in range(len(batch)):
            low, high = int(batch.cost_ptr[row]), int(batch.cost_ptr[row + 1])
            low += top.name == "evaluate_class_policy"  # the first one is the policy's
            classes, costs = batch.cost_classes[low:high].tolist(), batch.costs[low:high]
            alone = len(classes) == 1 and costs[0] != UNLABELED
            scores = outputs.scores[row]
            words = []
            for number in classes:
                place = 0 if alone else number - 1
                known = scored and 0 <= place < len(scores) and scores[place] != UNLABELED
                words.append(f"{number}:{float(scores[place]) if known else 0:g}")
            found.append(" ".join(words).encode() + tail(batch, row))
        return b"".join(found)

    return lines


def raw_costs(batch: Batch, outputs: Outputs) -> bytes:
    """`-r` of `--cbify_cs`: the classes of the label, each with 0."""
    found = []
    for row in range(len(batch)):
        classes = batch.cost_classes[int(batch.cost_ptr[row]) : int(batch.cost_ptr[row + 1])].tolist()
        found.append(" ".join(f"{number}:0" for number in classes).encode() + tail(batch, row))
    return b"".join(found)


class ClassCells(PlainCells):
    """Labels as they stand in the data, and the likeliest class, counted from 1, with its probability."""

    def label(self, batch: Batch, i: int) -> str | None:
        """See `hutch.core.run.progress.Cells`."""
        first, last = int(batch.cost_ptr[i]), int(batch.cost_ptr[i + 1])
        known = (batch.costs[first:last] != UNLABELED) & (batch.probabilities[first:last] > 0)
        if not known.any():
            return None
        return f"{batch.cost_classes[first]}:{batch.costs[first]:g}:{batch.probabilities[first]:g}"

    def prediction(self, batch: Batch, i: int, outputs: Outputs) -> str:
        """See `hutch.core.run.progress.Cells`."""
        best = int(np.argmax(outputs.scores[i]))
        return f"{best + 1}:{outputs.scores[i, best]:f}"
