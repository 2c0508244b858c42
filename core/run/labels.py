"""The labels that a chain predicts, of which an example may have several."""

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.derived import first_class
from hutch.core.chain.engine import Engine, Outputs
from hutch.core.chain.reduction import Reduction
from hutch.core.run.decisions import tail
from hutch.core.run.output import Lines


def labels_of(top: Reduction, scores: NDArray[np.float32]) -> list[int]:
    """The labels predicted of an example.

    Args:
        top: the top layer of the chain.
        scores: of the labels, float32 (labels).
    """
    found = np.flatnonzero(scores > np.float32(top.answers.decision_threshold)) + first_class(top)
    return list(map(int, found))


def label_lines(engine: Engine, *, blank: bool = False) -> Lines:
    """The labels predicted with commas between, a line for each example, then the tag.

    Args:
        engine: the chain.
        blank: put a blank behind each list, as VW does.
    """
    top, end = engine.layers[0], " " * blank

    def lines(batch: Batch, outputs: Outputs) -> bytes:
        found = []
        for i, scores in enumerate(outputs.scores):
            text = ",".join(map(str, labels_of(top, scores))) + end
            found.append(text.encode() + tail(batch, i))
        return b"".join(found)

    return lines


def label_score_lines(engine: Engine) -> Lines:
    """The scores of all labels, `0:0.5 1:-0.25`, a line for each example, then the tag."""
    top = engine.layers[0]

    def lines(batch: Batch, outputs: Outputs) -> bytes:
        found, first = [], first_class(top)
        for i, scores in enumerate(outputs.scores.tolist()):
            text = " ".join(f"{k}:{score:g}" for k, score in enumerate(scores, first))
            found.append(text.encode() + tail(batch, i))
        return b"".join(found)

    return lines
