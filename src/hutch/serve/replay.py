"""A model in its state at an entry of its log: an earlier save, and the entries after it."""

from dataclasses import dataclass
from pathlib import Path

from hutch.core.errors import StoreError, at
from hutch.durable.log import Log
from hutch.durable.log_reader import Entry
from hutch.serve.served import Served


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of a replay.

    Attributes:
        learned: entries that the model has learned.
        through: the last of them, or the last that its file held.
        dropped: entries that were taken back.
    """

    learned: int
    through: int
    dropped: int


def replay(
    log: Log, model: Path, final: Path, through: int | None = None, before: float | None = None, *, drop: bool = False
) -> Replayed:
    """Learn the log from an earlier save, up to an entry or a time.

    If interrupted, it can be run again: the entries are retracted in one step, before the new file is in place; a
    server that starts in between refuses the old file, which holds more than its log.

    Args:
        log: locked for this process.
        model: an earlier save, or the model.
        final: path of the result.
        through: the last entry to learn; None: all.
        before: only entries before this time, seconds since 1970; None: all.
        drop: retract the later entries for good, so that no server learns them.

    Raises:
        ModelError: the file cannot be used.
        StoreError: the log is damaged, or of another model; or the save is later than the entry.
    """
    learned = 0

    def is_wanted(number: int, entry: Entry) -> bool:
        nonlocal learned
        wanted = (through is None or number <= through) and (before is None or entry.time < before)
        learned += wanted
        return wanted

    served = Served(model, log, model.name, until=is_wanted)
    try:
        if through is not None and served.saved > through:
            text = f"holds entries up to {served.saved}, wanted a save from before {through + 1}"
            raise StoreError(at(str(model), None, None, text))
        dropped = log.drop_behind(served.key, served.position) if drop else 0
        served.write(final)
        return Replayed(learned, served.position, dropped)
    finally:
        served.close()
