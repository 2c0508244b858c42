"""The best of each group of examples: a list of recommendations per query, of predictions that are numbers."""

from bisect import insort
from collections.abc import Iterator
from dataclasses import replace

from hutch.core.batch import Batch, ends_of_groups
from hutch.core.chain.engine import Engine, Outputs
from hutch.core.chain.reduction import Predictions
from hutch.core.errors import UsageError
from hutch.core.run.decisions import tail
from hutch.core.run.output import Lines


def read_groups(engine: Engine) -> None:
    """Have the readers of a chain end their batches where groups end, of which the best are asked for.

    Raises:
        UsageError: the chain predicts no numbers, or reads groups on its own.
    """
    if engine.predicts is not Predictions.SCALAR or engine.whole_groups:
        raise UsageError(f"--top: got a chain on {engine.layers[0].name!r}, wanted one that predicts a number per line")
    engine.parser = replace(engine.parser, whole_groups=True)


def best_of(predictions: list[float], count: int) -> list[int]:
    """Places of the highest predictions, the lowest of them first; of equal ones that came first, a later one stays.

    >>> best_of([0.5, 2.0, 1.0, 2.0], 2)
    [1, 3]
    """
    kept: list[tuple[float, int]] = []
    for place, prediction in enumerate(predictions):
        if len(kept) == count and not kept[0][0] < prediction:
            continue
        del kept[: len(kept) == count]
        insort(kept, (prediction, place))
    return [place for _, place in kept]


def best_rows(batch: Batch, outputs: Outputs, count: int) -> Iterator[list[int]]:
    """The rows of the highest predictions of each group, the lowest of them first."""
    start = 0
    for stop in ends_of_groups(batch).tolist() if len(batch) else []:
        yield [start + place for place in best_of(outputs.predictions[start:stop].tolist(), count)]
        start = stop


def best_lines(count: int) -> Lines:
    """The highest predictions of each group with their tags, the best first, and an empty line behind each group.

    Args:
        count: predictions per group.
    """

    def lines(batch: Batch, outputs: Outputs) -> bytes:
        found = []
        for rows in best_rows(batch, outputs, count):
            found += [(b"%.6f" % outputs.predictions[row]) + tail(batch, row) for row in reversed(rows)]
            found.append(b"\n")
        return b"".join(found)

    return lines
