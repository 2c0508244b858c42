"""The number of classes that a crowd model can hold: every worker has a table of classes by classes."""

import math

from hutch.core.errors import UsageError
from hutch.core.memory import available_memory
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import CrowdModel

_NUMBER = 8
_GIB = 1 << 30


def bytes_needed(model: CrowdModel | type[CrowdModel], workers: int, items: int, classes: int) -> int:
    """Lower bound of the memory that batch EM allocates, in bytes.

    Args:
        model: the model, or its class.
        workers, items, classes: their numbers.

    >>> from hutch.crowd.models.one_coin import OneCoin
    >>> bytes_needed(OneCoin, workers=10, items=100, classes=1000) // 2**20
    307
    """
    tables, rows = model.room
    return _NUMBER * ((tables * workers + model.crowd_tables) * classes**2 + rows * items * classes)


def most_classes(model: CrowdModel | type[CrowdModel], workers: int, items: int, memory: int) -> int:
    """Number of classes that fit into so many bytes."""
    tables, rows = model.room
    square, linear = _NUMBER * (tables * workers + model.crowd_tables), _NUMBER * rows * items
    if not square:
        return memory // max(linear, 1)
    return int((math.sqrt(linear**2 + 4 * square * memory) - linear) / (2 * square))


def check_room(model: CrowdModel, labels: Labels, fresh: bool = True) -> None:
    """Check that memory suffices for batch EM before any is allocated.

    Args:
        model: the model.
        labels: to be explained.
        fresh: no history; a continued run tries fewer starts, so half the memory counts as enough.

    Raises:
        UsageError: it does not; with the classes that would fit, and the model that holds most.
    """
    memory, classes = available_memory(), len(labels.classes)
    workers, items = len(labels.worker_names), labels.items
    needed = bytes_needed(model, workers, items, classes)
    if memory is None or (needed if fresh else needed // 2) <= memory:
        return
    most = most_classes(model, workers, items, memory)
    text = (
        f"{classes} classes of {workers} workers and {items} tasks need {needed / _GIB:.1f} GiB with the model "
        f"{model.name}; in the {memory / _GIB:.1f} GiB that are free it can hold {most}"
    )
    from hutch.crowd.table import EXCHANGEABLE  # not at the top: it imports all models

    rival = min(reversed(EXCHANGEABLE), key=lambda each: bytes_needed(each, workers, items, classes))
    if bytes_needed(rival, workers, items, classes) < needed:
        text += f"; --model {rival.name} ({rival.summary}) can hold {most_classes(rival, workers, items, memory)}"
    raise UsageError(f"{text}. Every worker has a table of classes by classes: join those that are rare")


def check_tables(labels: Labels) -> None:
    """Check that memory suffices for the confusions of all workers, which not every model has while it learns.

    Raises:
        UsageError: it does not.
    """
    memory, classes, workers = available_memory(), len(labels.classes), len(labels.worker_names)
    needed = 2 * _NUMBER * workers * classes**2
    if memory is not None and needed > memory:
        raise UsageError(
            f"confusions of {workers} workers between {classes} classes need {needed / _GIB:.1f} GiB, and "
            f"{memory / _GIB:.1f} GiB are free: leave out what is about workers (--workers, --report, --next), or join "
            "classes that are rare"
        )
