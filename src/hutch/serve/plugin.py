"""The commands of the service."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl


@hookimpl
def hutch_register_commands(register: Callable[..., None]) -> None:
    """Register `hutch serve` and its log."""
    register("serve", "hutch.serve.cli.serve:serve", help="Predict and learn over HTTP.", group="Service")
    copies = "hutch.serve.cli.copies"
    register("serve backup", f"{copies}:backup", help="Copy models and their log, and prove the copy.", group="Service")
    register("serve restore", f"{copies}:restore", help="Put a backup back.", group="Service")
    register("serve verify", f"{copies}:verify", help="Replay a log, and compare every prediction.", group="Service")
    register(
        "serve log",
        "hutch.serve.cli.log:app",
        help="Export, replay or compact the log of served models.",
        group="Service",
    )
