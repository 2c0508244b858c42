"""The command that estimates a number over all items."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl


@hookimpl
def hutch_register_commands(register: Callable[..., None]) -> None:
    """Register `hutch estimate`."""
    register(
        "estimate",
        "hutch.estimate.cli:estimate",
        help="A share or an accuracy over all items, from few labels by people.",
        group="Labels",
    )
