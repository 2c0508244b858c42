"""A reader of files that end in .mine: one JSON record per line."""

import json

from hutch.plugin import DataError, hookimpl, to_batches


def records(path):
    """The records of a file, in order.

    Raises:
        DataError: a file that is no text, or a line that is no JSON, with its place.
    """
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield json.loads(line)
                except json.JSONDecodeError as error:
                    raise DataError(f"{path}:{number}:{error.colno}: {error.msg}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None


def read_mine(path, options, columns=None):
    """Batches of a file: `options` says how names are hashed, `columns` which column is the label."""
    return to_batches(records(path), options, columns)


@hookimpl
def hutch_register_readers(register):
    """Register the reader by its ending."""
    register(read_mine, name=".mine")
