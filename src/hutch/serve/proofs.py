"""Receipts of what clients were told, compared with what a model says of the same entries when it learns them again."""

import sys
from pathlib import Path

from hutch.core.errors import at, counted
from hutch.durable.log import Log
from hutch.durable.log_reader import Entry
from hutch.durable.receipts import described, maker, receipt_of
from hutch.serve.answers import Answered


class Proofs:
    """The receipts of a model in service.

    Args:
        path: of the model file, for messages.
        log: that holds the receipts.

    Attributes:
        proved: number of entries whose predictions equalled their receipts.
        differing: the first entry whose predictions did not; 0 without any.
    """

    def __init__(self, path: Path, log: Log) -> None:
        self._path, self._log = path, log
        self.proved = self.differing = 0

    @property
    def goes_on(self) -> bool:
        """Whether entries that differ are accepted."""
        return self._log.accept_difference or self._log.accept_loss

    def compare(self, entry: Entry, done: Answered) -> None:
        """Compare the predictions of an entry with its receipt; one without gets one, if this version wrote it."""
        receipt = receipt_of(done.predictions)
        if receipt == entry.receipt:
            self.proved += 1
            return
        if entry.receipt >= 0:
            self.note_difference(done.position)
            if not self.goes_on:
                return  # the version that wrote it must find its receipt as it was
        elif entry.time and self._log.made_by(done.position) != maker():
            return  # read from the log of another version, which may have said something else to the client
        self._log.receipt(done.position, receipt)

    def note_difference(self, number: int) -> None:
        """Remember the first entry that differs."""
        self.differing = self.differing or number

    def difference(self) -> str:
        """The first entry that a replay predicts otherwise, and what may be done."""
        number = self.differing
        then, now = self._log.made_by(number), maker()
        why = f"entry {number} of {self._log.store.path} predicts something else than its client was told"
        who = f"written by {described(then, now)}" + ("" if then == now else f", read by {described(now, then)}")
        way = "start the version that wrote it, put back a later save, or go on from here with --accept-difference"
        return at(str(self._path), None, None, f"{why} ({who}): {way}")

    def say(self, replayed: int) -> None:
        """Say on stderr how many entries were learned again at the start, and how many of them are proved."""
        if replayed:
            entries = counted(replayed, "entry", "entries")
            proof = f"all {self.proved}" if self.proved == replayed else f"{self.proved} of them"
            print(f"{self._path}: replayed {entries}; receipts of {proof} are equal", file=sys.stderr, flush=True)
