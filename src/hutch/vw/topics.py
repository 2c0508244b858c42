"""Topics in Vowpal Wabbit's forms: predictions, the table, audits and models as text."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from hutch.chain import Chain
from hutch.core.batch import Batch
from hutch.core.chain.engine import Engine, Outputs
from hutch.core.run.decisions import tail
from hutch.core.run.run import Reporter, Run


def topic_lines(batch: Batch, outputs: Outputs) -> bytes:
    """`-p` of `--lda`: the weight of each topic, and the tag."""
    found = (
        " ".join(map("{:g}".format, row)).encode() + tail(batch, i) for i, row in enumerate(outputs.scores.tolist())
    )
    return b"".join(found)


def audited_topics(chain: Chain, features: Sequence[tuple[str, int, float]]) -> str:
    """A line of `--audit` of `--lda`: each word with its row, count and weights in the topics, without the prior.

    Args:
        chain: on a learner of topics.
        features: name, row and value of each.
    """
    base: Any = chain.layers[-1]
    rows = [row for _, row, _ in features]
    weights = base.topic_weights(chain.weights[rows]) - np.float32(base.parameters.word_prior)
    parts = (
        f"\t{name}:{row}:{value:g}:" + ":".join(map("{:g}".format, own))
        for (name, row, value), own in zip(features, weights.tolist(), strict=True)
    )
    return "".join(parts) + f" total of {len(features)} features."


def topic_rows(engine: Engine, names: Any = None) -> Iterator[str]:
    """The lines of `--readable_model` of `--lda`: each row of the table with its weights in the topics.

    Args:
        engine: on a learner of topics.
        names: of rows; if given, only named rows are written.
    """
    base: Any = engine.layers[-1]
    for row, weights in enumerate(base.topic_weights(engine.weights).tolist()):
        if names is None or row in names:
            name = f"{names[row]}:" if names is not None else ""
            yield f"{name}{row} " + "".join(f"{weight:g} " for weight in weights)


class LearnWaiting(Reporter):
    """Lets a learner of topics learn the documents that wait for their minibatch when the data end.

    Args:
        layer: the learner.
    """

    def __init__(self, layer: Any) -> None:
        self._layer = layer

    def open(self, run: Run, stack: ExitStack) -> None:
        """See `Reporter`."""
        if run.options.learn:
            stack.callback(self._layer.learn_waiting)


class TopicCells:
    """Shows no label, and the topic that has most weight."""

    def label(self, batch: Batch, i: int) -> str:
        """See `hutch.core.run.progress.Cells`."""
        return "none"

    def prediction(self, batch: Batch, i: int, outputs: Outputs) -> int:
        """See `hutch.core.run.progress.Cells`."""
        return int(outputs.predictions[i])
