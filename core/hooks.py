"""The marker by which a plugin, built in or third party, declares its hooks."""

from collections.abc import Callable
from typing import Any, TypeVar

PROJECT = "hutch"
MARK = "hutch_hook"
Function = TypeVar("Function", bound=Callable[..., Any])


def hookimpl(function: Function) -> Function:
    """Decorate a hook implementation; the hooks are in `hutch.plugins.hookspecs`.

    The marker `pluggy.HookimplMarker("hutch")` does the same; this one does not import pluggy, which short commands do
    not need.
    """
    setattr(function, MARK, True)
    return function


def registering(*items: Any) -> Callable[[Callable[[Any], None]], None]:
    """A hook that registers some losses, reductions or models: `hutch_register_losses = registering(HUBER)`."""

    @hookimpl
    def hook(register: Callable[[Any], None]) -> None:
        for item in items:
            register(item)

    return hook
