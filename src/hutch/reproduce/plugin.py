"""The commands that reproduce published tables."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl


@hookimpl
def hutch_register_commands(register: Callable[..., None]) -> None:
    """Register `hutch reproduce`."""
    register("reproduce", "hutch.reproduce.cli.reproduce:app", help="Reproduce published tables.")
