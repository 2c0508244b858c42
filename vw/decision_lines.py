"""Vowpal Wabbit's forms of predictions for decisions."""

from argparse import Namespace

import numpy as np

from hutch.core.batch import Batch, shared_rows
from hutch.core.chain.engine import Outputs
from hutch.core.run.decisions import classes_of, decision_lines, decisions_of, number_text, tail
from hutch.vw.outputs import Lines


def prediction_lines(options: Namespace) -> Lines:
    """What `-p` writes."""
    if options.cb_explore_adf or options.rank_all:
        return decision_lines
    if options.cb_adf:
        return best_actions
    return ranked_classes if options.csoaa_rank else chosen_classes


def best_actions(batch: Batch, outputs: Outputs) -> bytes:
    """The best action of each decision."""
    found = (
        (b"%d" % outputs.ranked[first] if stop > first else b"") + tail(batch, start) + b"\n"
        for start, first, stop in decisions_of(batch)
    )
    return b"".join(found)


def chosen_classes(batch: Batch, outputs: Outputs) -> bytes:
    """A line for each action: its class if that is the one chosen, else 0."""
    found, classes = [], classes_of(batch)
    for _, first, stop in decisions_of(batch):
        best = classes[first + int(outputs.ranked[first])] if stop > first else 0
        rows = range(first, stop)
        found += [(b"%d" % best if classes[row] == best else b"0") + tail(batch, row) for row in rows]
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


def raw_lines(batch: Batch, outputs: Outputs) -> bytes:
    """`-r` of costs with features: class and score of each line, 0 of a shared one."""
    scores = np.where(shared_rows(batch), 0, outputs.predictions).tolist()
    pairs = zip(classes_of(batch), scores, strict=True)
    return b"".join(b"%d:%s%s" % (c, f"{score:g}".encode(), tail(batch, k)) for k, (c, score) in enumerate(pairs))
