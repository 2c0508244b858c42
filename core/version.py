"""The installed version of Hutch."""

from functools import cache


@cache
def version() -> str:
    """The version that is installed, as the distribution says."""
    from importlib.metadata import version as version_of  # not at the top: `hutch --help` does without

    return version_of("hutch")
