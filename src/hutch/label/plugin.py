"""The command that buys labels."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl


@hookimpl
def hutch_register_commands(register: Callable[..., None]) -> None:
    """Register `hutch label`."""
    register(
        "label",
        "hutch.label.cli.label:label",
        help="Who labels which item next, until enough labels are right.",
        group="Labels",
    )
    register(
        "label simulate",
        "hutch.label.cli.label:simulate",
        help="What `label` would cost, on items whose truth is known.",
        group="Labels",
    )
