"""Predictions by a command that is killed; crowds and chains on a Ray cluster that loses workers and a node.

    python benchmarks/machines/deaths.py predict [--lines 10000000] [--files 20]
    python benchmarks/machines/deaths.py ray [--nodes 4] [--labels 100000] [--every 5]

`predict`: the command dies twice, by SIGKILL; then it is given once more. Every result must be there once, and equal to
what one process predicts, to the bit. `ray` (pip install 'hutch[ray]'): a local cluster of several nodes of one
processor; every so many seconds a process that works on a task is killed, and once a whole node is removed; hashes of
the results must be those of this process.
"""

import argparse
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from hutch.chain import Chain
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.simulate import simulate
from hutch.distributed import Here, OnRay, crowd, train


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
    fit = crowd(labels, TwoLevel(), shards=8, engine=engine).fit
    chain = train([data], {"chain": [{"linear": {"loss": "logistic"}}]}, shards=8, passes=3, engine=engine)
    arrays = {name: array for name, array in chain.arrays().items()}
    return [hashed({"posterior": fit.posterior, **fit.state.workers}), hashed(arrays)]


def on_ray(nodes: int, count: int, every: float, folder: Path) -> None:
    """The same jobs here, on one node, and on several while processes and a node die."""
    import ray
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    labels, data = simulate(count // 5, 500, 4, 5, seed=0).labels, folder / "data.vw"
    data.write_text("".join(f"{i % 2 * 2 - 1} |f w{i % 7} x{i * 31 % 997}\n" for i in range(count)))
    want = jobs(labels, data, Here())
    print("here             ", *want, flush=True)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    added = [cluster.add_node(num_cpus=1) for _ in range(nodes - 1)]
    done, killed = threading.Event(), []
    try:
        with OnRay(cluster.address) as engine:
            begun = time.perf_counter()
            found = jobs(labels, data, engine)
            print(f"{nodes} nodes          ", *found, f"{time.perf_counter() - begun:.0f} s", flush=True)
            assert found == want

            def kill() -> None:
                while not done.wait(every):
                    while not (found := [each for each in Path("/proc").iterdir() if _ours(each)]):
                        if done.wait(0.02):
                            return
                    os.kill(int(found[0].name), signal.SIGKILL)
                    killed.append(found[0].name)

            killer = threading.Thread(target=kill)
            killer.start()
            if len(added) > 1:
                threading.Timer(4.0, lambda: cluster.remove_node(added[-1], allow_graceful=False)).start()
            begun = time.perf_counter()
            try:
                found = jobs(labels, data, engine)
            finally:
                done.set()
                killer.join()
            spent = f"{time.perf_counter() - begun:.0f} s, {len(killed)} processes killed"
            print("with deaths      ", *found, spent, "and a node removed" if len(added) > 1 else "", flush=True)
            assert found == want
    finally:
        ray.shutdown()
        cluster.shutdown()


def _ours(entry: Path) -> bool:
    """Whether a process is Ray's, works on a task of ours and was begun below this process."""
    try:
        if not entry.name.isdigit() or not (entry / "cmdline").read_bytes().startswith((b"ray::work", b"ray::_work")):
            return False
        parent = int(entry.name)
        while parent > 1 and parent != os.getpid():
            parent = int((Path("/proc") / str(parent) / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return False
    return parent == os.getpid()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("job", choices=["predict", "ray"])
    for option, default in (("--lines", 10_000_000), ("--files", 20), ("--nodes", 4), ("--labels", 100_000)):
        arguments.add_argument(option, type=int, default=default)
    arguments.add_argument("--every", type=float, default=5.0)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.job == "predict":
            predict_and_die(given.lines, given.files, Path(folder))
        else:
            on_ray(given.nodes, given.labels, given.every, Path(folder))


if __name__ == "__main__":
    main()
