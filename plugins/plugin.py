"""The contract checks of losses, reductions, readers and commands."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl


@hookimpl
def hutch_register_checks(register: Callable[..., None]) -> None:
    """Register what the checks of an item run, by the kind of item."""
    register("losses", "hutch.plugins.checks.run:runs_of_loss")
    register("reductions", "hutch.plugins.checks.run:runs_of_reduction")
    register("readers", "hutch.plugins.checks.reader:runs_of_reader")
    register("commands", "hutch.plugins.checks.command:runs_of_command")
