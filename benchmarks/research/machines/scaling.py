"""CPU seconds that two processes of one machine save: prediction, crowd EM, training in shards.

    python benchmarks/research/machines/scaling.py [--labels 1000000] [--lines 300000] [--processes 2]

The machine may be busy, so what counts is CPU time: of the process that gave the command, and of the one of its
processes that worked most. On idle processors the job takes their sum, but for waiting. Started processes have been
warmed up by a small job, as far as it says `warm`; `cold` is with their start.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hutch.chain import Chain
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.simulate import simulate
from hutch.distributed import Here, Processes, crowd, predict, train

CONFIG = {"chain": [{"linear": {"loss": "logistic"}}]}


def cpu_of(engine: Processes) -> list[float]:
    """CPU seconds of each process of an engine."""
    found = []
    for pid in engine._pool._processes:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        found.append((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
    return found


def measure(name: str, one: Callable[[], Any], many: Callable[[Any], Any], processes: int) -> None:
    """One process, shards one after the other, and shards in processes, cold and warm."""
    for _ in range(2):  # the first reads kernels
        begun = time.process_time()
        one()
        alone = time.process_time() - begun
    begun = time.process_time()
    many(Here())
    here = time.process_time() - begun
    print(f"{name}: one process {alone:.2f} CPU s, in shards one after the other {here:.2f}")
    with Processes(processes) as engine:
        before = [0.0] * processes
        for when in ("cold", "warm"):
            begun = time.process_time()
            many(engine)
            driver = time.process_time() - begun
            after = cpu_of(engine)
            most = max(now - then for now, then in zip(after, before, strict=True))
            before = after
            path = driver + most
            print(f"  {when}: command {driver:.2f}, busiest process {most:.2f}, ratio {alone / path:.2f}", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in (("--labels", 1_000_000), ("--lines", 300_000), ("--processes", 2), ("--shards", 4)):
        arguments.add_argument(option, type=int, default=default)
    arguments.add_argument("--only", default="crowd,train,predict")
    given = arguments.parse_args()
    only, model = given.only.split(","), TwoLevel()
    if "crowd" in only:
        labels = simulate(given.labels // 5, 2000, 5, 5, seed=0).labels
        measure(
            f"crowd EM, {len(labels)} labels",
            lambda: crowd(labels, model, shards=1).fit,
            lambda engine: crowd(labels, model, shards=given.shards, engine=engine).fit,
            given.processes,
        )
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"part{k}.vw" for k in range(given.shards)]
        block = [f"{i % 3 - 1 or -1} |f {' '.join(f'w{i * j % 9973}' for j in range(1, 40))}\n" for i in range(10_000)]
        for file in files:
            with file.open("w") as opened:
                for _ in range(max(given.lines // given.shards // len(block), 1)):
                    opened.writelines(block)
        chain = Chain.from_config(CONFIG)
        if "train" in only:
            measure(
                f"training, {given.lines} lines",
                lambda: Chain.from_config(CONFIG).learn(files),
                lambda engine: train(files, CONFIG, shards=given.shards, engine=engine),
                given.processes,
            )
        if "predict" in only:
            chain.learn(files)
            chain.save(Path(folder) / "model")
            numbers = iter(range(99))
            measure(
                f"prediction, {given.lines} lines",
                lambda: predict(files, Path(folder) / "model", Path(folder) / f"out{next(numbers)}"),
                lambda engine: predict(
                    files, Path(folder) / "model", Path(folder) / f"out{next(numbers)}", engine=engine
                ),
                given.processes,
            )


if __name__ == "__main__":
    main()
