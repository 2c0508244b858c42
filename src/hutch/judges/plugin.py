"""The command about judges."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl


@hookimpl
def hutch_register_commands(register: Callable[..., None]) -> None:
    """Register `hutch judges`."""
    register(
        "judges",
        "hutch.judges.cli:judges",
        help="Verdicts of language models: which judge to trust, and where?",
        group="Labels",
    )
