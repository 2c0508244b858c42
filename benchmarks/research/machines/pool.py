"""Asking for labels of large pools: time and memory for each line, and a label store with many open requests.

python benchmarks/research/machines/pool.py --lines 1000000 --requests 200000
"""

import argparse
import random
import tempfile
import time
from pathlib import Path

from hutch.active.loop import ask
from hutch.active.pool import Pool
from hutch.chain import Chain
from hutch.durable.entries import Round
from hutch.durable.records import Request
from hutch.durable.store import Store


def highest_memory() -> int:
    """Megabytes of memory of this process at their highest, but for those of mapped files."""
    fields = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return (int(fields["VmHWM"].split()[0]) - int(fields["RssFile"].split()[0])) // 1024


def make_pool(path: Path, lines: int) -> None:
    """Write a pool of lines, or of records if it is a table."""
    draw = random.Random(1)
    with path.open("w") as file:
        if path.suffix == ".csv":
            file.write("id,a,b,text\n")
        for i in range(lines):
            if path.suffix == ".csv":
                file.write(f"{i},{draw.random()},{draw.randrange(9)},this is word{draw.randrange(999)} number {i}\n")
            else:
                file.write(f"|words w{draw.randrange(999)} x{draw.randrange(9999)} y{i}\n")


def measure_ask(folder: Path, ending: str, lines: int) -> None:
    """Ask for a thousand labels of a pool, twice."""
    columns = {"tag": "id"}
    layers = [{"active": {"budget": 0.2}}, {"linear": {"loss": "logistic"}}]
    chain = Chain.from_config({"chain": layers, "input": {"columns": columns}})
    chain.learn([f"{i % 2 * 2 - 1} |words w{i % 999} x{i * 7 % 9999}" for i in range(3000)])
    path = folder / f"pool{lines}{ending}"
    make_pool(path, lines)
    with Store(folder / f"{path.name}.db", create=True) as store:
        for _ in range(2):
            begun = time.process_time()
            ask(chain, Pool.of_files(str(path), chain), store, 1000, source="pool", model="m")
            spent = (time.process_time() - begun) / lines * 1e6
            print(f"{lines:>9} lines {ending}: {spent:.1f} us of one core for each, {highest_memory()} MB at most")
    path.unlink()


def measure_store(folder: Path, requests: int) -> None:
    """Lease requests and count them."""
    choice = random.Random(1)
    with Store(folder / "store.db", create=True) as store:
        made = (Request(f"r{i}", "|f w", 0.0, 0.5, 2.0, "m") for i in range(requests))
        store.ask(made, Round("pool", 2 * requests, float(requests), 0.0))
        for name, call in (("lease", lambda: store.lease(f"w{choice.randrange(50)}", 60)), ("counts", store.counts)):
            call()
            begun = time.process_time()
            for _ in range(200):
                call()
            print(f"{requests} open requests, {name}: {(time.process_time() - begun) / 200 * 1e3:.3f} ms of one core")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--lines", type=int, default=1_000_000)
    arguments.add_argument("--requests", type=int, default=200_000)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for lines in (given.lines // 10, given.lines):
            measure_ask(Path(folder), ".vw", lines)
        measure_ask(Path(folder), ".csv", given.lines // 10)
        measure_store(Path(folder), given.requests)


if __name__ == "__main__":
    main()
