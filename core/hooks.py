"""The marker by which a plugin, built in or third party, declares its hooks."""

from collections.abc import Callable
from typing import Any

import pluggy

PROJECT = "hutch"
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Decorates a hook implementation; the hooks are in `hutch.plugins.hookspecs`."""


def registering(*items: Any) -> Callable[[Callable[[Any], None]], None]:
    """A hook that registers some losses, reductions or models: `hutch_register_losses = registering(HUBER)`."""

    @hookimpl
    def hook(register: Callable[[Any], None]) -> None:
        for item in items:
            register(item)

    return hook
