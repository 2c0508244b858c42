"""The version is that of the distribution."""

from importlib.metadata import version as version_of

from hutch.core.version import version


def test_it_is_that_of_the_distribution() -> None:
    assert version() == version_of("hutch")
