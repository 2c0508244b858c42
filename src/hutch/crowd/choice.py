"""The default model of a crowd, from what is declared and, where that leaves it open, from the labels."""

import numpy as np

from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import CrowdModel, State

FEW_CLASSES = 12
"""Up to so many, it is always `TwoLevel`."""
LEAST_PER_ROW = 1.5
"""Labels for each worker and class from which rows of single workers are tried."""
MOST_CELLS = 10_000_000
"""Cells of the rows of all workers up to which they are tried; of many labels, so many times classes are looked at."""
GAIN, SIGMAS = 0.05, 4.0
"""Nats per task, and standard errors, by which rows must make halves of the workers agree better."""


def default_model(
    labels: Labels, ordered: bool | None, reference: tuple[str, ...], history: State | None, batch: bool
) -> CrowdModel:
    """The model where none is named.

    Args:
        labels: to be explained.
        ordered: the classes are declared to be ordered.
        reference: whose labels define the classes.
        history: the state of an earlier run.
        batch: all labels are at hand; a stream takes `TwoLevel`.
    """
    if reference:
        from hutch.crowd.mixed.model import Mixed

        return Mixed(reference=reference, ordered=ordered)
    if ordered:
        from hutch.crowd.models.ordinal import Ordinal

        return Ordinal()
    if not batch:
        from hutch.crowd.models.two_level import TwoLevel

        return TwoLevel()
    return suited(labels, history)


def suited(labels: Labels, history: State | None = None) -> CrowdModel:
    """`ManyClasses` where classes are many and nothing shows that workers err each in their own way, else `TwoLevel`.

    Rows of single workers have as many numbers as classes are squared; where labels are too few for these, they only
    add noise. Whether they are is seen without the truth: `halves.gain_of_rows`. The bounds were chosen on simulated
    crowds (`benchmarks/research/crowd/many_classes.py`).

    Args:
        labels: of people, in batch.
        history: the state of an earlier run, which settles the choice.

    >>> from hutch.crowd.data.labels import from_triples
    >>> suited(from_triples([("ann", "t1", "cat"), ("bob", "t1", "dog")])).name
    'two_level'
    """
    from hutch.crowd.models.many_classes import ManyClasses  # not at the top: most crowds need one of them
    from hutch.crowd.models.two_level import TwoLevel

    classes = len(labels.classes)
    if history is not None:
        return ManyClasses() if ManyClasses.made(history) else TwoLevel()
    if classes <= FEW_CLASSES or not len(labels):
        return TwoLevel()
    from hutch.crowd.models.halves import gain_of_rows
    from hutch.crowd.models.trust import some_of

    most = max(MOST_CELLS // classes, 1)
    some = some_of(labels, most, most)
    workers = np.count_nonzero(np.bincount(some.workers))
    if len(some) < LEAST_PER_ROW * workers * classes or len(labels.worker_names) * classes**2 > MOST_CELLS:
        return ManyClasses()
    gain, error = gain_of_rows(some, ManyClasses())
    return TwoLevel() if gain > max(GAIN, SIGMAS * error) else ManyClasses()
