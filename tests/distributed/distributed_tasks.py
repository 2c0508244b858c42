"""Tasks of the tests, in a module that other processes can import."""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hutch.core.data.chunks import TooLong
from hutch.plugin import EMModel, ModelEntry


def both(a: Any, b: Any) -> tuple[Any, Any]:
    return a + b, a - b


def scribble(array: Any) -> float:
    array += 1
    return float(array.sum())


def refuse(_: Any) -> None:
    raise TooLong("labels.tsv", 0, "a line is too long", 7)


def die_once(marker: str) -> str:
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def die_first(function: Callable[..., Any], marker: str, *arguments: Any) -> Any:
    """A task that kills its process the first time it runs."""
    die_once(marker)
    return function(*arguments)


class Dying:
    """An engine in which each round of a job in `shards` loses the process of one task; `killed` are their markers."""

    def __init__(self, engine: Any, folder: Path, shards: int) -> None:
        self._engine, self._folder, self._shards, self._seen = engine, folder, shards, 0
        self.put, self.get, self.wait = engine.put, engine.get, engine.wait

    def submit(self, function: Callable[..., Any], *arguments: Any, results: int = 1) -> list[Any]:
        if function.__name__ in ("_count", "_learn"):
            number, place = divmod(self._seen, self._shards)
            self._seen += 1
            if place == number % self._shards:
                function = partial(die_first, function, str(self._folder / f"round{number}"))
        found: list[Any] = self._engine.submit(function, *arguments, results=results)
        return found

    @property
    def killed(self) -> int:
        """In how many rounds one has died, which must be all of them."""
        assert self._seen % self._shards == 0
        assert self._seen // self._shards == len(found := list(self._folder.iterdir()))
        return len(found)


def die(_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def total(parts: Any) -> dict[str, Any]:
    return {"sum": parts}


@dataclass(frozen=True)
class Rates:
    value: Any


class Poisson(EMModel[Rates]):
    """A model of a third party's: independent counts."""

    def statistics(self, batch: Any, parameters: Rates) -> Any:
        return batch.mean(axis=0)

    def maximise(self, statistics: Any) -> Rates:
        return Rates(statistics.copy())

    def log_likelihood(self, batch: Any, parameters: Rates) -> Any:
        return (batch * np.log(parameters.value) - parameters.value).sum(axis=1)

    def expected_statistics(self, parameters: Rates) -> Any:
        return parameters.value.copy()

    def constants(self) -> dict[str, Any]:
        return {}


POISSON = ModelEntry(
    name="poisson",
    build=lambda rows, rank, seed, missing: (Poisson(), Rates(rows.mean(axis=0) + 0.5)),
    parameters=Rates,
    rebuild=lambda constants: Poisson(),
    summary="Counts.",
)
