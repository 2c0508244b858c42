"""The hooks. A plugin implements any of them with `hutch.hookimpl`, under an entry point of the group `hutch`.

A hook is called when something of its kind is first looked up. Instead of an item, `register` takes its place and its
name, `register("package.module:Name", name="name")`; the item is imported when it is first used.
"""

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
    """Register reductions: call `register(cls)` with a `hutch.plugin.Reduction` for each."""


@hookspec
def hutch_register_readers(register: Callable[..., None]) -> None:
    """Register readers of data files: call `register(reader, name=".ending")` for each."""


@hookspec
def hutch_register_crowd_models(register: Callable[..., None]) -> None:
    """Register crowd models: call `register(model)` with a subclass of `hutch.plugin.CrowdModel` for each."""


@hookspec
def hutch_register_em_models(register: Callable[..., None]) -> None:
    """Register models of online EM: call `register(entry)` with a `hutch.plugin.ModelEntry` for each."""


@hookspec
def hutch_register_commands(register: Callable[..., None]) -> None:
    """Register commands of `hutch`: call `register("name", "package.module:function", help="Do this.")` for each.

    `group="Models"` lists it under that heading of `hutch --help`; without it that is "More".
    """


@hookspec
def hutch_register_vw_layers(register: Callable[..., None]) -> None:
    """Register options of `hutch vw`: call `register("layer", VwLayer(...))` for each layer that they add or set."""


@hookspec
def hutch_register_checks(register: Callable[..., None]) -> None:
    """Register contract checks of a kind of item: call `register("crowd_models", function)`."""


@hookspec
def hutch_register_inspectors(register: Callable[..., None]) -> None:
    """Register what `hutch inspect` adds about a kind of model: call `register("crowd", function)`."""


@hookspec
def hutch_register_warmups(register: Callable[..., None]) -> None:
    """Register small runs for `hutch warmup`: call `register("train rows.x", files={"rows.x": text})`."""


@hookspec
def hutch_on_progress(event: Any) -> None:
    """See a `hutch.core.run.progress.ProgressEvent` whenever a row of the progress table is due."""
