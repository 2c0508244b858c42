"""Jobs in shards: the shards define the computation, an engine the place; see docs/machines.md."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hutch.crowd.sharded import crowd as crowd
    from hutch.distributed.predictions import predict as predict
    from hutch.distributed.rounds import train as train
    from hutch.em.sharded import em as em
    from hutch.jobs.engine import Here as Here
    from hutch.jobs.on_ray import OnRay as OnRay
    from hutch.jobs.processes import Processes as Processes

__all__ = ["Here", "OnRay", "Processes", "crowd", "em", "predict", "train"]

_HOMES = {
    "Here": "hutch.jobs.engine",
    "OnRay": "hutch.jobs.on_ray",
    "Processes": "hutch.jobs.processes",
    "crowd": "hutch.crowd.sharded",
    "em": "hutch.em.sharded",
    "predict": "hutch.distributed.predictions",
    "train": "hutch.distributed.rounds",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hutch.distributed' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
