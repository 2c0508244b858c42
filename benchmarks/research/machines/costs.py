"""Estimated time of a terabyte, 1e9 labels and 1e9 predictions on more cores, from costs measured here.

    python benchmarks/research/machines/costs.py [--lines 100000] [--gigabits 10]
    python benchmarks/research/machines/costs.py --file FILE [--config CHAIN] [--by A,B] [--passes 2] [--shards 1,4,16]

The second form learns from shards of a file and shows what is lost: the loss held out after each pass. Without --config
the chain is one linear layer with logistic loss. One shard is one process.

Measured on one core: reading and learning text, predicting, an iteration of batch EM, merging what shards learned. The
table assumes that cores do not slow each other down and that machines exchange `--gigabits` per second; a round sends
the state to every machine, and what its shards changed back along a tree. Nothing of it was run at that size.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hutch.chain import Chain
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.simulate import simulate
from hutch.distributed import Processes, train
from hutch.distributed.merging import absorb, add, learned_from
from hutch.distributed.rounds import Round

CONFIG = {"chain": [{"linear": {"loss": "logistic"}}]}
CORES, MACHINES = 16, (1, 4, 16)
PASSES, ITERATIONS = 2, 12


def seconds(work: Callable[[], object], least: float = 0.5) -> float:
    """CPU seconds of a call, the best of three or more."""
    found, begun = [], time.perf_counter()
    while len(found) < 3 or time.perf_counter() - begun < least:
        before = time.process_time()
        work()
        found.append(time.process_time() - before)
    return min(found)


def text_of(lines: int) -> str:
    """Lines of 60 features with values, 700 bytes each."""
    random = np.random.default_rng(0)
    features, values = random.zipf(1.3, (lines, 60)) % 50_000, random.random((lines, 60))
    rows = zip(features.tolist(), values.tolist(), strict=True)
    words = (" ".join(f"{f}:{v:.4f}" for f, v in zip(names, sizes, strict=True)) for names, sizes in rows)
    return "".join(f"{1 if i % 3 else -1} | {word}\n" for i, word in enumerate(words))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--gigabits", type=float, default=10.0)
    parser.add_argument("--file", default=None)
    parser.add_argument("--config", default=None)
    parser.add_argument("--by", default="")
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--shards", default="1,4,16")
    options = parser.parse_args()
    if options.file:
        losses(options)
        return
    network = options.gigabits / 8 * 1e9
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.vw"
        path.write_text(text_of(options.lines))
        size = path.stat().st_size
        chain = Chain.from_config(CONFIG)
        learn = seconds(lambda: chain.run(chain.files([str(path)]))) / size
        predict = seconds(lambda: chain.run(chain.files([str(path)]), learn=False)) / options.lines
    labels = simulate(200_000, 5_000, 5, 5, seed=0).labels
    few, many = TwoLevel(clarity=0.4, iterations=1), TwoLevel(clarity=0.4, iterations=3)
    iteration = (seconds(lambda: many.fit(labels)) - seconds(lambda: few.fit(labels))) / 2 / len(labels)
    print(f"one core: {1e-6 / learn:.0f} MB/s learned, {1e-6 / predict:.2f} million lines/s predicted")
    print(f"one core: {1e-6 / iteration:.1f} million labels/s per iteration of EM\n")
    print("| machines of 16 cores | " + " | ".join(map(str, MACHINES)) + " |\n|---|---|---|---|")
    for bits in (18, 22, 24):
        table, merge = 16.0 * (1 << bits), merging(bits)
        costs = []
        for machines in MACHINES:
            shards = CORES * machines
            levels = int(np.ceil(np.log(shards) / np.log(4)))
            wires = 0 if machines == 1 else 2 * table * np.ceil(np.log2(machines)) / network
            costs.append(PASSES * (1e12 * learn / shards + wires + levels * 4 * merge))
        name = f"1 TB of text, {PASSES} passes, 2^{bits} rows ({table / 1e6:.0f} MB a round)"
        print(f"| {name} | " + " | ".join(map(clock, costs)) + " |")
    costs = [ITERATIONS * 1e9 * iteration / (CORES * machines) for machines in MACHINES]
    print(f"| 10^9 labels, {ITERATIONS} iterations | " + " | ".join(map(clock, costs)) + " |")
    costs = [1e9 * predict / (CORES * machines) for machines in MACHINES]
    print("| 10^9 predictions | " + " | ".join(map(clock, costs)) + " |")


def losses(options: argparse.Namespace) -> None:
    """The loss held out after each pass, for each number of shards."""
    by = tuple(name for name in options.by.split(",") if name)
    letters = {**CONFIG, "input": {"namespaces": "letter"}}
    print("shards  pass  loss in shards  held out  step  seconds")
    with Processes() as engine:
        for shards in map(int, options.shards.split(",")):
            begun = time.perf_counter()

            def see(chain: Chain, done: Round, shards: int = shards, begun: float = begun) -> None:
                row = f"{shards:6d}  {done.number:4d}  {done.average_loss:14.4f}  {done.holdout_loss:8.4f}"
                print(f"{row}  {done.step:4g}  {time.perf_counter() - begun:7.1f}", flush=True)

            settings = {"shards": shards, "by": by, "passes": options.passes, "engine": engine, "on_round": see}
            train([options.file], options.config or letters, **settings)


def merging(bits: int) -> float:
    """CPU seconds per chain of merging chains that each changed every eighth row; measured at 2^18, in proportion."""
    chain = Chain.from_config({**CONFIG, "weights": {"bits": 18}})
    before = {name: np.array(array) for name, array in chain.arrays().items()}
    random = np.random.default_rng(0)
    parts = []
    for _ in range(4):
        chain.restore(before)
        chain.weights[random.integers(0, 1 << 18, 1 << 15)] = 1.0
        parts.append(learned_from(chain, before))
    chain.restore(before)
    return seconds(lambda: absorb(chain, add(*parts))) / 4 * 2.0 ** (bits - 18)


def clock(wanted: float) -> str:
    """Seconds for people."""
    if wanted < 90:
        return f"{wanted:.0f} s"
    return f"{wanted / 60:.0f} min" if wanted < 5400 else f"{wanted / 3600:.1f} h"


if __name__ == "__main__":
    main()
