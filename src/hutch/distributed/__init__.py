"""Jobs in shards: the shards define the computation, an engine the place; see docs/machines.md."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hutch.distributed.crowds import crowd as crowd
    from hutch.distributed.engine import Here as Here
    from hutch.distributed.latent import em as em
    from hutch.distributed.on_ray import OnRay as OnRay
    from hutch.distributed.predictions import predict as predict
    from hutch.distributed.processes import Processes as Processes
    from hutch.distributed.rounds import train as train

__all__ = ["Here", "OnRay", "Processes", "crowd", "em", "predict", "train"]

_HOMES = {
    "Here": "engine",
    "OnRay": "on_ray",
    "Processes": "processes",
    "crowd": "crowds",
    "em": "latent",
    "predict": "predictions",
    "train": "rounds",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hutch.distributed' has no attribute {name!r}")
    return getattr(import_module(f"hutch.distributed.{_HOMES[name]}"), name)
