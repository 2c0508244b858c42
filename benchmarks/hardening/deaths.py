"""Predictions by a command that is killed; crowds and chains whose every round loses a process, and once a node.

    python benchmarks/hardening/deaths.py predict [--lines 10000000] [--files 20]
    python benchmarks/hardening/deaths.py rounds [--nodes 4] [--labels 20000]

`predict`: the command dies twice, by SIGKILL; then it is given once more. Every result must be there once, and equal to
what one process predicts, to the bit. `rounds` (pip install 'hutch[ray]'): a crowd and a chain in 8 shards on a local
cluster of so many nodes of one processor, or with 0 in processes; in every round the process of one task kills itself,
and of several nodes one is removed in the fourth round. Hashes of the results must be those of this process.
"""

import argparse
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hutch.chain import Chain
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.simulate import simulate
from hutch.distributed import Here, OnRay, Processes, crowd, train

SHARDS = 8


def predict_and_die(lines: int, files: int, folder: Path) -> None:
    """Write Parquet files, kill `hutch predict --into` twice, and compare its results with one process."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    random = np.random.default_rng(0)
    chain = Chain.from_config({"chain": ["linear"], "input": {"columns": {"label": "label"}}})
    each = lines // files
    for k in range(files):
        columns = {f"x{j}": random.normal(size=each).astype(np.float32) for j in range(5)}
        columns["kind"] = pa.array(random.integers(0, 50, each).astype("U2")).dictionary_encode()
        parquet.write_table(pa.table(columns), folder / f"part{k:03d}.parquet")
    table = parquet.read_table(folder / "part000.parquet").slice(0, 50_000)
    chain.learn(table.append_column("label", pa.array(np.asarray(table["x0"]) + random.normal(size=len(table)))))
    chain.save(folder / "model")
    command = [sys.executable, "-c", "import sys; from hutch.cli.main import main; sys.exit(main())", "predict"]
    command += [str(folder / "part*.parquet"), "-i", str(folder / "model")]
    command += ["--into", str(folder / "out"), "--quiet", "--json"]
    for death in (1, 2):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while len(list((folder / "out").glob("*.parquet"))) < files * death // 3 and process.poll() is None:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        print(f"killed after {len(list((folder / 'out').glob('*.parquet')))} of {files} results", flush=True)
    print(subprocess.check_output(command, text=True).strip())
    examples = 0
    for k in range(files):
        table = parquet.read_table(folder / f"part{k:03d}.parquet")
        found = parquet.read_table(folder / "out" / f"part{k:03d}.parquet.parquet")["prediction"].to_numpy()
        assert np.array_equal(found, chain.predict(table)), k
        examples += len(found)
    assert examples == each * files and len(list((folder / "out").iterdir())) == files
    print(f"{examples} predictions in {files} results, each once, equal to one process to the bit")


def hashed(arrays: dict[str, Any]) -> str:
    """A hash of arrays by name."""
    return hashlib.sha256(b"".join(np.asarray(arrays[name]).tobytes() for name in sorted(arrays))).hexdigest()[:16]


def jobs(labels: Any, data: Path, engine: Any) -> list[str]:
    """Hashes of a crowd and of a chain."""
    fit = crowd(labels, TwoLevel(clarity=0.4, iterations=6), shards=SHARDS, engine=engine).fit
    chain = train([data], {"chain": [{"linear": {"loss": "logistic"}}]}, shards=SHARDS, passes=3, engine=engine)
    arrays = {name: array for name, array in chain.arrays().items()}
    return [hashed({"posterior": fit.posterior, **fit.state.workers}), hashed(arrays)]


def die_first(function: Callable[..., Any], marker: str, *arguments: Any) -> Any:
    """A task that kills its process the first time it runs."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return function(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)


class Dying:
    """An engine in which each round of a job loses the process of one of its tasks.

    Args:
        engine: that runs the tasks.
        folder: for a file per round, by which a task knows that it has died.
        events: called when the round of this number begins.
    """

    def __init__(self, engine: Any, folder: Path, events: Mapping[int, Callable[[], Any]]) -> None:
        self._engine, self._folder, self._events, self._seen = engine, folder, events, 0
        self.put, self.get, self.wait = engine.put, engine.get, engine.wait

    def submit(self, function: Callable[..., Any], *arguments: Any, results: int = 1) -> list[Any]:
        if function.__name__ in ("_count", "_learn"):
            number, place = divmod(self._seen, SHARDS)
            self._seen += 1
            if place == number % SHARDS:  # another shard in each round
                self._events.get(number, lambda: None)()
                function = partial(die_first, function, str(self._folder / f"round{number}"))
        found: list[Any] = self._engine.submit(function, *arguments, results=results)
        return found


def with_deaths(nodes: int, count: int, folder: Path) -> None:
    """The same jobs here, undisturbed elsewhere, and with a death in every round."""
    labels, data = simulate(count // 5, 500, 4, 5, seed=0).labels, folder / "data.vw"
    data.write_text("".join(f"{i % 2 * 2 - 1} |f w{i % 7} x{i * 31 % 997}\n" for i in range(count)))
    want = jobs(labels, data, Here())
    print("here            ", *want, flush=True)
    with ExitStack() as stack:
        events: dict[int, Callable[[], Any]] = {}
        engine: Any
        if not nodes:
            engine = stack.enter_context(Processes(2))
        else:
            import ray
            from ray.cluster_utils import Cluster

            os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
            cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
            stack.callback(cluster.shutdown)
            stack.callback(ray.shutdown)
            added = [cluster.add_node(num_cpus=1) for _ in range(nodes - 1)]
            if added:
                events[3] = partial(cluster.remove_node, added[-1], allow_graceful=False)
            engine = stack.enter_context(OnRay(cluster.address))
        where = f"{nodes} nodes" if nodes else "2 processes"
        for name, used in ((where, engine), ("a death a round", Dying(engine, folder, events))):
            begun = time.perf_counter()
            found = jobs(labels, data, used)
            killed = len(list(folder.glob("round*")))
            removed = ", a node removed in round 4" if events and used is not engine else ""
            print(f"{name:16}", *found, f"{time.perf_counter() - begun:.0f} s, {killed} killed{removed}", flush=True)
            assert found == want
        assert killed > 5


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("job", choices=["predict", "rounds"])
    for option, default in (("--lines", 10_000_000), ("--files", 20), ("--nodes", 4), ("--labels", 20_000)):
        arguments.add_argument(option, type=int, default=default)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.job == "predict":
            predict_and_die(given.lines, given.files, Path(folder))
        else:
            with_deaths(given.nodes, given.labels, Path(folder))


if __name__ == "__main__":
    main()
