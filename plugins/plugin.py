"""The contract checks of losses and reductions."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl


@hookimpl
def hutch_register_checks(register: Callable[..., None]) -> None:
    """Register what the checks of an item run, by the kind of item."""
    register("losses", "hutch.plugins.checks.run:runs_of_loss")
    register("reductions", "hutch.plugins.checks.run:runs_of_reduction")
