"""The command that shows what Hutch does."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl


@hookimpl
def hutch_register_commands(register: Callable[..., None]) -> None:
    """Register `hutch demo`."""
    register(
        "demo",
        "hutch.demo.cli:demo",
        help="Write files as you have them, with the commands for them.",
        group="Start here",
    )
