"""The command that buys labels."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl


@hookimpl
def hutch_register_commands(register: Callable[..., None]) -> None:
    """Register `hutch label`."""
    register("label", "hutch.label.cli:label", help="Buy labels until a certificate holds.")
    register("label simulate", "hutch.label.cli:simulate", help="Simulate labelling with a certificate.")
