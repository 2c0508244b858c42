"""The file of a model in service: one process writes it, detects changes by others, and keeps earlier saves."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hutch.core.atomic import check_writable
from hutch.core.chain.model_file import save_model
from hutch.durable.lock import Held

_SNAPSHOT = ".at-"


class ModelFile:
    """A model's file.

    Args:
        path: of the file.
        keep: earlier saves that stay beside it.

    Attributes:
        holds: the last entry of the log that the file holds; it may be beyond the last durable one.

    Raises:
        ModelError: the file cannot be written.
        StoreError: the file is missing, or another server is using it.
    """

    def __init__(self, path: Path, keep: int = 0) -> None:
        check_writable(path, held=True)
        self.path, self.keep, self.held, self.holds = path, keep, Held(path), 0

    def save(
        self,
        arrays: Mapping[str, NDArray[Any]],
        metadata: Mapping[str, Any],
        whole: Sequence[str],
        through: int,
        keep: bool,
    ) -> None:
        """Replace the file.

        Args:
            arrays, metadata, whole: as of `save_model`.
            through: the last entry of the log that it holds then.
            keep: the file of now may stay as an earlier save.

        Raises:
            StoreError: another process has written it since.
            HutchError: it cannot be written.
        """
        self.held.check()
        if self.keep and keep:
            self._keep(self.holds)
        try:
            save_model(self.path, arrays, metadata, whole=whole, written=self.held.follow)
        finally:  # it may stand there although it could not be synced
            if self.held.replaced():
                self.holds = through

    def _keep(self, saved: int) -> None:
        kept = snapshots(self.path)
        if saved not in kept:
            kept[saved] = Path(f"{self.path}{_SNAPSHOT}{saved:012d}")
            try:
                os.link(self.path, kept[saved])
            except OSError:  # not every file system has links
                shutil.copyfile(self.path, kept[saved])
        for number in sorted(kept)[: -self.keep]:
            kept[number].unlink(missing_ok=True)

    @property
    def oldest(self) -> int | None:
        """The last entry that the oldest save holds which is kept; None if none is."""
        return min(snapshots(self.path), default=None) if self.keep else None


def snapshots(path: Path) -> dict[int, Path]:
    """The earlier saves of a model that were kept, by the last entry that each holds."""
    found = {}
    for each in path.parent.iterdir():
        number = each.name.removeprefix(f"{path.name}{_SNAPSHOT}")
        if number != each.name and number.isdecimal():
            found[int(number)] = each
    return found
