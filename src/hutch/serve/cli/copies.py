"""`hutch serve backup`, `restore` and `verify`: copies of models in service that prove themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hutch.shell.declared import Argument, Option

_Models = Annotated[list[str], Argument(metavar="MODEL...", help="Model files, as of `hutch serve`.")]
_Store = Annotated[
    Path | None,
    Option("--store", metavar="FILE", help="The log.", show_default="MODEL.log.db of the first model"),
]


def backup(
    folder: Annotated[Path, Argument(metavar="DIR", help="A new folder for the copies.")],
    models: _Models,
    store: _Store = None,
) -> None:
    """Copy models and their log, also while the server runs, and prove the copy by replaying it.

    Example: hutch serve backup backups/monday model
    """
    from hutch.serve.copies import backup as copy

    found, log = _named(models, store)
    for each in copy(found, log, folder):
        print(f"{folder}: {each}")


def restore(
    folder: Annotated[Path, Argument(metavar="DIR", help="A folder of `hutch serve backup`.")],
    to: Annotated[
        Path, Option("--to", metavar="DIR", help="Where models and log belong.", show_default="the current folder")
    ] = Path(),
    drop_later: Annotated[
        bool, Option("--drop-later", help="Drop the entries of the present log that the backup lacks.")
    ] = False,
) -> None:
    """Put a backup back: it is replayed first, and files that do not belong to it go. The server must not be running.

    Example: hutch serve restore backups/monday
    """
    from hutch.serve.copies import restore as put_back

    for each in put_back(folder, to, drop_later=drop_later):
        print(f"{to}: {each}")


def verify(models: _Models, store: _Store = None) -> None:
    """Replay the log on copies of its models, and compare every prediction with its receipt.

    Example: hutch serve verify model
    """
    from hutch.serve.copies import verify as prove

    found, log = _named(models, store)
    for each in prove(found, log):
        print(each)


def _named(models: list[str], store: Path | None) -> tuple[dict[str, Path], Path]:
    """Models by name, and their log."""
    from hutch.serve.server import names_of

    found = {name: Path(path) for name, path in names_of(models).items()}
    first = next(iter(found.values()))
    return found, store or Path(f"{first}.log.db")
