"""Vowpal Wabbit's forms of predictions for decisions."""

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.batch import Batch, shared_rows
from hutch.core.chain.engine import Outputs
from hutch.core.chain.reduction import Labels
from hutch.core.run.decisions import classes_of, decisions_of, lines_of, number_text, tail
from hutch.core.run.output import Lines
from hutch.core.run.predictions import number_line


def decision_prediction_lines(chain: Chain) -> Lines:
    """The writer of `-p`."""
    if any(layer.name in ("explore_classes", "offset_tree") for layer in chain.layers):
        return class_probabilities
    if chain.takes is not Labels.ACTION_COSTS:
        return lines_of(chain)
    if chain.layers[0].name == "action_probabilities":
        return probabilities
    if chain.layers[0].name == "simulate_bandit_with_features":
        return drawn_classes
    return chosen_classes if chain.layers[0].parameters.lists == "best" else ranked_classes


def class_probabilities(batch: Batch, outputs: Outputs) -> bytes:
    """A line for each example: the probability of each class, and the tag."""
    found = []
    for i, values in enumerate(outputs.scores.tolist()):
        found.append("".join(f"{value:.6f} " for value in values).encode() + tail(batch, i))
    return b"".join(found)


def drawn_classes(batch: Batch, outputs: Outputs) -> bytes:
    """`--cbify_ldf`: a line for each action: its class if that is the one drawn, else 0; no blank lines."""
    return chosen_classes(batch, outputs, b"")


def chosen_classes(batch: Batch, outputs: Outputs, end: bytes = b"\n") -> bytes:
    """A line for each action: its class, as a float32, if that is the one chosen, else 0; and a blank line."""
    found, classes = [], classes_of(batch)
    for _, first, stop in decisions_of(batch):
        best = classes[first + int(outputs.ranked[first])] if stop > first else 0
        chosen, rows = b"%d" % int(np.float32(best)), range(first, stop)
        found += [(chosen if classes[row] == best else b"0") + tail(batch, row) for row in rows]
        found.append(end)
    return b"".join(found)


def probabilities(batch: Batch, outputs: Outputs) -> bytes:
    """A line for each action: its probability, and the tag of the decision."""
    found = []
    for start, first, stop in decisions_of(batch):
        found += [number_line(value, batch.tag(start)) for value in outputs.predictions[first:stop].tolist()]
        found.append(b"\n")
    return b"".join(found)


def ranked_classes(batch: Batch, outputs: Outputs) -> bytes:
    """Classes and scores, the best first."""
    found, classes = [], classes_of(batch)
    for start, first, stop in decisions_of(batch):
        rows = [first + int(k) for k in outputs.ranked[first:stop]]
        pairs = (f"{classes[row]}:{number_text(float(outputs.predictions[row]))}" for row in rows)
        found.append(",".join(pairs).encode() + tail(batch, start) + b"\n")
    return b"".join(found)


def raw_lines(batch: Batch, raw: NDArray[np.float32]) -> bytes:
    """`-r` of costs with features: class and score of each line, 0 of a shared one."""
    scores = np.where(shared_rows(batch), 0, raw).tolist()
    pairs = zip(classes_of(batch), scores, strict=True)
    return b"".join(b"%d:%s%s" % (c, f"{score:g}".encode(), tail(batch, k)) for k, (c, score) in enumerate(pairs))
