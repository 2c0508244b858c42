"""Vowpal Wabbit's forms of labels and predictions that are numbers, costs and densities."""

import numpy as np

from hutch.chain import Chain
from hutch.core.batch import Batch
from hutch.core.chain.engine import Outputs
from hutch.core.chain.reduction import Predictions
from hutch.core.kernel.abi import UNLABELED
from hutch.core.run.decisions import number_text, tail
from hutch.core.run.numbers import drawn_texts, segment_texts, segments_text
from hutch.core.run.output import Lines

_SIMULATIONS = ("simulate_number_bandit", "simulate_part_bandit")


def _has(chain: Chain, *names: str) -> bool:
    return any(layer.name in names for layer in chain.layers)


def is_of_numbers(chain: Chain) -> bool:
    """Whether predictions have the forms of this file."""
    of_range = chain.predicts in (Predictions.DENSITY, Predictions.DRAWN_NUMBER)
    return of_range or _has(chain, *_SIMULATIONS)


def number_prediction_lines(chain: Chain) -> Lines:
    """The writer of `-p`."""
    if _has(chain, "simulate_part_bandit"):
        return lambda batch, outputs: b""
    if _has(chain, "simulate_number_bandit"):
        return simulated
    if chain.predicts is Predictions.DRAWN_NUMBER:
        return drawn
    if _has(chain, "zeroth_order"):
        return spikes
    return densities


def simulated(batch: Batch, outputs: Outputs) -> bytes:
    """`--cbify_reg`: number, cost and density."""
    rows = zip(outputs.predictions.tolist(), outputs.scores.tolist(), strict=True)
    return "".join(f"{number:g}:{cost:g}:{density:g}\n" for number, (cost, density) in rows).encode()


def drawn(batch: Batch, outputs: Outputs) -> bytes:
    """`--cats`: number and density."""
    return "".join(f"{text}\n" for text in drawn_texts(outputs)).encode()


def densities(batch: Batch, outputs: Outputs) -> bytes:
    """`--cats_pdf`: the segments, and an empty line."""
    return "".join(f"{text}\n\n" for text in segment_texts(outputs.scores)).encode()


def spikes(batch: Batch, outputs: Outputs) -> bytes:
    """`--cbzo`: the two segments with nine decimals, without the zeros at the end, and the tag."""
    known: dict[float, str] = {}  # few densities differ
    found = []
    for i, (a, b, one, c, d, two) in enumerate(outputs.scores.tolist()):
        for density in (one, two):
            if density not in known:
                known[density] = number_text(density, 9)
        ends = f"{a:.9f}", f"{b:.9f}", f"{c:.9f}", f"{d:.9f}"
        low, high, left, right = [end if end[-1] != "0" else end.rstrip("0").rstrip(".") for end in ends]
        found.append(f"{low}-{high}:{known[one]},{left}-{right}:{known[two]}".encode() + tail(batch, i))
    return b"".join(found)


class NumberCells:
    """Shows labels as `{number,cost,density}`, numbers with two decimals, beside spikes with six."""

    def __init__(self, chain: Chain) -> None:
        self._draws, self._digits = chain.predicts is Predictions.DRAWN_NUMBER, 6 if _has(chain, "zeroth_order") else 2

    def label(self, batch: Batch, i: int) -> str | None:
        """See `hutch.core.run.progress.Cells`."""
        if batch.labels[i] == UNLABELED:
            return None
        cost, density = batch.costs[batch.cost_ptr[i] : batch.cost_ptr[i + 1]].tolist()
        values = float(batch.labels[i]), cost, density
        return f"{{{','.join(number_text(value, self._digits) for value in values)}}}"

    def prediction(self, batch: Batch, i: int, outputs: Outputs) -> str:
        """See `hutch.core.run.progress.Cells`."""
        if not self._draws:
            return segments_text(outputs.scores[i].tolist(), 2)
        return (
            f"{number_text(float(outputs.predictions[i]), 2)},{number_text(float(np.float32(outputs.scores[i, 0])), 2)}"
        )
