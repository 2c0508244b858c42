"""The installed version of Hutch."""

from functools import cache


@cache
def version() -> str:
    """The version of the installed distribution."""
    from importlib.metadata import version as version_of  # not at the top: `hutch --help` does not need it

    return version_of("hutch")


def newer(kind: str, written: object, by: object, reads: int) -> str:
    """Why a file of a format that this version does not know is refused, with both versions."""
    return f"got {kind} format {written}, written by hutch {by}; hutch {version()} reads up to {reads}: upgrade it"
