"""The models that online EM knows by name: the built-in ones as one tuple, strangers through the same hook."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pluggy import HookimplMarker

from hutch.core.errors import PluginError
from hutch.em.model import Model
from hutch.em.ppca import PPCA

hookimpl = HookimplMarker("hutch")


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model that can be asked for by name.

    Attributes:
        name: as on the command line.
        build: `build(first_rows, rank, seed, missing)` gives the model and the parameters to start from.
        summary: one sentence.
    """

    name: str
    build: Callable[[Any, int, int, bool], tuple[Model[Any], Any]]
    summary: str


def _ppca(rows: Any, rank: int, seed: int, missing: bool) -> tuple[Model[Any], Any]:
    model = PPCA.of(rows, rank, missing=missing)
    return model, model.start(seed)


BUILT_IN = (ModelEntry("ppca", _ppca, "Probabilistic principal component analysis."),)
"""What is there without any plugin."""


@hookimpl
def hutch_register_em_models(register: Callable[[ModelEntry], None]) -> None:
    """Register the built-in models."""
    for entry in BUILT_IN:
        register(entry)


def collect(hooks: Iterable[Callable[..., Any]] = (hutch_register_em_models,)) -> dict[str, ModelEntry]:
    """All models by name.

    Args:
        hooks: implementations of `hutch_register_em_models(register)`, or callers of them.

    Raises:
        PluginError: a name is taken twice, or what is registered is no `ModelEntry`.

    >>> sorted(collect())
    ['ppca']
    """
    found: dict[str, ModelEntry] = {}

    def register(entry: ModelEntry) -> None:
        if not isinstance(entry, ModelEntry):
            raise PluginError(f"hutch_register_em_models: got {type(entry).__name__}, wanted a ModelEntry")
        if entry.name in found:
            raise PluginError(f"hutch_register_em_models: model {entry.name!r} is registered twice")
        found[entry.name] = entry

    for hook in hooks:
        hook(register=register)
    return found
