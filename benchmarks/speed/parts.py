"""Where the time of a pass over text goes, beside what the machine can do at most; `speed.py` puts it into its page.

    python benchmarks/speed/parts.py FILE [VW'S OPTIONS ...]

Prints a row of a table: bytes, features, and nanoseconds of CPU time per feature of reading, of parsing and of
learning. The last columns are the machine's: reading the text in memory once, finding its delimiters, and a plain pass
of adaptive steps over the same rows. Each is the least of some runs. A whole run takes handing over between threads,
progress and outputs beyond that; `speed.py` measures it.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numba import njit

from hutch import Chain
from hutch.core.data.chunks import Chunks, batches
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

REPEATS = 5


@njit(fastmath=True)
def delimiters(text):
    """How many separators a text holds; LLVM makes it as fast as the machine can."""
    found = 0
    for i in range(len(text)):
        found += (text[i] <= 32) | (text[i] == 58) | (text[i] == 124)
    return found


@njit(fastmath=True)
def plain(row_ptr, indices, values, labels, table):
    """A pass of adaptive gradient steps on squared loss, two numbers a row, without any of Hutch's care."""
    for row in range(len(labels)):
        first, last, score = row_ptr[row], row_ptr[row + 1], np.float32(0)
        for i in range(first, last):
            score += values[i] * table[indices[i], 0]
        step = np.float32(0.1) * (score - labels[row])
        for i in range(first, last):
            gradient = step * values[i]
            table[indices[i], 1] += gradient * gradient
            table[indices[i], 0] -= gradient / np.sqrt(table[indices[i], 1] + np.float32(1e-6))


def least(run: Callable[[], object]) -> float:
    """CPU seconds, the least of some runs."""
    times = []
    for _ in range(REPEATS):
        begun = time.process_time()
        run()
        times.append(time.process_time() - begun)
    return min(times)


def parts(path: Path, options: list[str]) -> str:
    """The row of a file."""
    chain = Chain.from_config(chain_of(parse(options)))
    reading = parsing = learning = np.inf
    for _ in range(REPEATS):
        reading = min(reading, least(lambda: [None for _ in Chunks([str(path)])]))
        times, then = np.zeros(2), time.process_time()
        for batch in batches([str(path)], chain.parser):
            now = time.process_time()
            chain.run_batch(batch)
            times += now - then, (then := time.process_time()) - now
        parsing, learning = min(parsing, times[0]), min(learning, times[1])
    text = np.frombuffer(path.read_bytes(), np.uint8)
    words = text[: len(text) // 8 * 8].view(np.uint64)
    names = ("row_ptr", "indices", "values", "labels")
    kept = [[getattr(each, name).copy() for name in names] for each in batches([str(path)], chain.parser)]
    table = np.zeros((1 << chain.parser.bits, 2), np.float32)
    features = sum(len(indices) for _, indices, *_ in kept)
    machine = [lambda: words.sum(), lambda: delimiters(text), lambda: [plain(*each, table) for each in kept]]
    for each in machine:
        each()  # compiles
    seconds = [reading, parsing - reading, learning, *map(least, machine)]
    cells = [f"{1e9 * each / features:.1f}" for each in seconds]
    name = " ".join([path.stem.rsplit("-", 1)[0], *(options[options.index("-q") :] if "-q" in options else [])])
    return f"| {name} | {len(text) / 1e6:.0f} | {features / 1e6:.1f} | {' | '.join(cells)} |"


if __name__ == "__main__":
    print(parts(Path(sys.argv[1]), sys.argv[2:]))
