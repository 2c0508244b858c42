"""The command about judges."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl


@hookimpl
def hutch_register_commands(register: Callable[..., None]) -> None:
    """Register `hutch judges`."""
    register("judges", "hutch.judges.cli:judges", help="Report what the judges of an evaluation are worth.")
