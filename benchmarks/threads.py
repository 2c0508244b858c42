"""What a second thread gains, with the same bits; writes the last section of docs/performance.md.

    python benchmarks/threads.py [--scale X] [--repeats N] [--threads N ...] [--only NAME ...] [--no-page]

Crowds are batch EM of labels in memory, in a process of its own. Numbers of threads alternate, the least time of each
counts, and what comes out must be the same to the bit. Wall times say something on a machine that does nothing else.
The first row is what the machine itself gains, with threads that have nothing in common.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from speed import MARK, PAGE, about

CROWDS = ("two_level", "dawid_skene", "nominal")


@dataclass(frozen=True)
class Took:
    """Seconds of one run, and a digest of what came out."""

    wall: float
    cpu: float
    digest: str


Runner = Callable[[int], Took]


def hashing() -> Runner:
    """What threads of this machine gain where nothing stands between them: SHA-256 of eight pieces of memory."""
    pieces = [bytes([k]) * (1 << 26) for k in range(8)]

    def run(threads: int) -> Took:
        begun, used = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(lambda piece: hashlib.sha256(piece).hexdigest(), pieces))
        return Took(time.perf_counter() - begun, time.process_time() - used, "".join(found))

    return run


def crowd(model: str, items: int) -> Runner:
    """Batch EM in a process of its own, which prints what `fit` prints."""

    def run(threads: int) -> Took:
        command = [sys.executable, __file__, "--fit", model, str(items)]
        text = subprocess.check_output(command, env={**os.environ, "HUTCH_THREADS": str(threads)}, text=True)
        wall, cpu, digest = text.split()
        return Took(float(wall), float(cpu), digest)

    return run


def fit(name: str, items: int) -> None:
    """Fit a crowd model to simulated labels: 5,000 workers, 4 classes, 5 labels an item; print seconds and a digest."""
    from hutch.crowd.simulate import simulate
    from hutch.crowd.table import BUILT_IN

    [kind] = [kind for kind in BUILT_IN if kind.name == name]
    model = kind(**({"iterations": 5} if name == "nominal" else {}))
    model.fit(simulate(50, 10, 4, 5).labels)
    labels = simulate(items, 5_000, 4, 5, seed=1).labels
    begun, used = time.perf_counter(), time.process_time()
    found = model.fit(labels)
    print(time.perf_counter() - begun, time.process_time() - used, end=" ")
    arrays = [found.posterior, *found.state.workers.values()]
    print(hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest())


def cases(scale: float) -> dict[str, tuple[str, Callable[[], Runner]]]:
    """What is measured: by name, the words of the table and what makes it ready."""
    items = round(200_000 * scale)
    found: dict[str, tuple[str, Callable[[], Runner]]] = {
        "machine": ("the machine itself: SHA-256 of 512 MiB", hashing),
    }
    for model in CROWDS:
        found[model] = (f"batch EM of {items * 5:,} labels, {model}", lambda model=model: crowd(model, items))
    return found


def row(text: str, runner: Runner, counts: list[int], repeats: int) -> str:
    """A row of the table."""
    runner(counts[-1])  # kernels, caches
    found: dict[int, list[Took]] = {count: [] for count in counts}
    for _ in range(repeats):
        for count in counts:
            found[count].append(runner(count))
    if len({took.digest for each in found.values() for took in each}) > 1:
        sys.exit(f"{text}: the number of threads changes what comes out")
    least = [(min(took.wall for took in found[count]), min(took.cpu for took in found[count])) for count in counts]
    gains = [f"{least[0][0] / wall:.2f}" for wall, _ in least[1:]]
    return f"| {' | '.join([text, *(f'{wall:.2f} / {cpu:.2f}' for wall, cpu in least), *gains])} |"


def section(rows: list[str], options: argparse.Namespace, load: str) -> str:
    """The last section of the page."""
    counts = options.threads
    heads = [f"{count} thread{'s' * (count > 1)}: wall s / CPU s" for count in counts]
    heads += [f"faster with {count}" for count in counts[1:]]
    lines = [
        MARK,
        "",
        "Written by `python benchmarks/threads.py`: batch EM of labels in memory,",
        f"the least of {options.repeats} runs each, in alternation. Posteriors and counts of workers are the",
        f"same to the bit. Measured on: {about(load)}, --scale {options.scale:g}.",
        "",
        f"| | {' | '.join(heads)} |",
        f"|{'---|' * (1 + len(heads))}",
        *rows,
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, write the section."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--scale", type=float, default=0.2)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    arguments.add_argument("--only", nargs="*")
    arguments.add_argument("--no-page", action="store_true", help="only print")
    arguments.add_argument("--fit", nargs=2, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.fit:
        fit(options.fit[0], int(options.fit[1]))
        return
    load, rows = f"{os.getloadavg()[0]:.1f}", []
    for name, (text, ready) in cases(options.scale).items():
        if options.only and name not in options.only:
            continue
        rows.append(row(text, ready(), options.threads, options.repeats))
        print(rows[-1], flush=True)
    if not options.no_page and not options.only:
        before = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
        PAGE.write_text(before + section(rows, options, load), encoding="utf-8")


if __name__ == "__main__":
    main()
