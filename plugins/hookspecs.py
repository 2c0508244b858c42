"""The hooks. A plugin implements any of them with `hutch.hookimpl`, under an entry point of the group `hutch`."""

from collections.abc import Callable
from typing import Any

import pluggy

from hutch.core.hooks import PROJECT

hookspec = pluggy.HookspecMarker(PROJECT)


@hookspec
def hutch_register_losses(register: Callable[..., None]) -> None:
    """Register losses: call `register(loss)` with a `hutch.plugin.Loss` for each."""


@hookspec
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register reductions: call `register(cls)` with a subclass of `hutch.plugin.Reduction` for each."""


@hookspec
def hutch_register_readers(register: Callable[..., None]) -> None:
    """Register readers of data files: call `register(reader, name=".ending")` for each."""


@hookspec
def hutch_register_crowd_models(register: Callable[..., None]) -> None:
    """Register crowd models: call `register(model)` with a subclass of `hutch.plugin.CrowdModel` for each."""


@hookspec
def hutch_register_em_models(register: Callable[..., None]) -> None:
    """Register models of online EM: call `register(entry)` with a `hutch.em.models.ModelEntry` for each."""


@hookspec
def hutch_on_progress(event: Any) -> None:
    """See a `hutch.core.run.progress.ProgressEvent` whenever a row of the progress table is due."""
