"""The losses that come with Hutch."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl


@hookimpl
def hutch_register_losses(register: Callable[..., None]) -> None:
    """Register each loss by its place."""
    for name in ("squared", "classic", "hinge", "logistic", "quantile", "expectile", "poisson"):
        register(f"hutch.core.loss.losses:{name.upper()}", name=name)
