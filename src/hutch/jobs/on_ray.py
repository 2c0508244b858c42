"""Ray as the engine: a cluster of machines, or the processors of this one."""

from collections.abc import Callable, Sequence
from typing import Any

from hutch.core.errors import HutchError
from hutch.jobs.engine import Ref, opened, packed, work


class OnRay:
    """Tasks run on a Ray cluster, one per processor; tasks lost with a process or a machine run again.

    All machines need the same versions of Python, Ray and Hutch, and the files that tasks read. Anyone who reaches the
    cluster can run code on it: see docs/machines.md.

    Args:
        address: of the cluster, as for `ray.init`: `auto` for the one that this machine belongs to, `local` for a
            new one on this machine.
        **options: of each task, as for `ray.remote` (`memory`, `resources`).

    Raises:
        HutchError: Ray is not installed, or no cluster answers at that address.
    """

    def __init__(self, address: str = "auto", **options: Any) -> None:
        try:
            import ray
        except ImportError:
            raise HutchError("Ray is not installed: pip install 'hutch[ray]'") from None
        self._ray, self._started = ray, not ray.is_initialized()
        if self._started:
            try:
                ray.init(address, log_to_driver=False, **({"include_dashboard": False} if address == "local" else {}))
            except (ConnectionError, ValueError) as error:
                raise HutchError(f"--ray: got {address!r}: {error}") from None
        settings = {"num_cpus": 1, "max_retries": -1, **options}
        self._one, self._many = ray.remote(**settings)(_work_one), ray.remote(**settings)(work)

    def put(self, value: Any) -> Ref:
        """Into Ray's object store."""
        return self._ray.put(packed(value))

    def submit(self, function: Callable[..., Any], *arguments: Ref, results: int = 1) -> list[Ref]:
        """As a task of Ray."""
        if results == 1:
            return [self._one.remote(function, *arguments)]
        return list(self._many.options(num_returns=results).remote(function, results, *arguments))

    def get(self, ref: Ref) -> Any:
        """From Ray's object store."""
        return opened(self._ray.get(ref))

    def wait(self, refs: Sequence[Ref]) -> tuple[list[Ref], list[Ref]]:
        ready, pending = self._ray.wait(list(refs), num_returns=1) if refs else ([], [])
        return ready, pending

    def __enter__(self) -> "OnRay":
        return self

    def __exit__(self, *error: object) -> None:
        if self._started:
            self._ray.shutdown()


def _work_one(function: Callable[..., Any], *arguments: bytes) -> bytes:
    """`work` for a single result, which Ray does not take out of a tuple."""
    return work(function, 1, *arguments)[0]
