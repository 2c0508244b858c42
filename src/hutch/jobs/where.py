"""The engine of a command: the shards define the computation, the address of a cluster the place."""

from hutch.core.errors import UsageError
from hutch.core.threads import processor_count
from hutch.jobs.engine import Engine, Here


def check_places(shards: int, ray: str | None) -> None:
    """Refuse a cluster for work in one piece.

    Raises:
        UsageError: there is an address and only one shard.
    """
    if ray is not None and shards < 2:
        raise UsageError("--ray: only says where shards are computed; wanted --shards N too")


def engine_for(shards: int, ray: str | None = None) -> Engine:
    """The engine for work in shards: Ray at its address, else processes on this machine, or this one if it is alone.

    Args:
        shards: number of shards.
        ray: address of a Ray cluster, as of `hutch.jobs.on_ray.OnRay`; None: none.

    Raises:
        HutchError: Ray is not installed, or no cluster answers at that address.
    """
    if ray is not None:
        from hutch.jobs.on_ray import OnRay

        return OnRay(ray)
    workers = min(shards, processor_count())
    if workers < 2:
        return Here()
    from hutch.jobs.processes import Processes

    return Processes(workers)
