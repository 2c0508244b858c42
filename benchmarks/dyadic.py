"""The tables of docs/reductions/dyadic.md and docs/reductions/filter_tree.md.

    python benchmarks/dyadic.py steps             nanoseconds and error of a step, by loss and dynamics
    python benchmarks/dyadic.py cost [PASSES]     CPU of rank 3 against linear on simulated ratings, 160 passes
    python benchmarks/dyadic.py trees             error and CPU of both filter trees on simulated ratings
    python benchmarks/dyadic.py ratings DIR...    RMSE and CPU; in DIR train.tsv and test.tsv, user TAB item TAB rating
    python benchmarks/dyadic.py command DIR...    RMSE of `hutch train`: shuffled or by user, a tenth held out or none
    python benchmarks/dyadic.py implicit DIR...   precision of implicit features, tried on a tenth of train.tsv (seed 7)

All times are CPU seconds of one thread, data in memory, kernels compiled.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hutch.core.text.parser import TextParser
from hutch.reductions.dyadic import dyad
from hutch.reproduce.dyadic_evaluation import RATING_LEARNERS, build, rating_error, rating_lines, split

HUTCH = [sys.executable, "-c", "import sys; from hutch.cli.main import main; sys.exit(main())"]


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its CPU seconds; the least of three."""
    result, seconds = call(), np.inf
    for _ in range(3):
        start = time.process_time()
        result = call()
        seconds = min(seconds, time.process_time() - start)
    return result, seconds


def steps(count: int = 20_000, rank: int = 10) -> None:
    """States as training meets them: factors shift + 0.3 N(0, 1), x·x from 1 to 3."""
    random = np.random.default_rng(3)
    print(
        "loss      shift  E     exact ns  fast ns  fast: median / greatest relative error   8 of E/8 against E, exact"
    )
    for loss in ("hinge", "squared", "logistic"):
        for shift in (0.0, 1.0):
            a, b = (shift + 0.3 * random.normal(size=(count, rank)) for _ in range(2))
            U, V = np.sum((a + b) ** 2, axis=1), np.sum((a - b) ** 2, axis=1)
            X, wx = random.uniform(1, 3, count), random.normal(size=count) - shift**2 * rank
            y = random.normal(size=count) if loss == "squared" else random.choice([-1.0, 1.0], count)
            for E in (0.01, 0.1, 1.0):
                exact, slow = timed(lambda: dyad.step(loss, E, y, 1.0, U, V, X, wx))  # noqa: B023
                fast, quick = timed(lambda: dyad.step(loss, E, y, 1.0, U, V, X, wx, dynamics="fast"))  # noqa: B023
                s = np.zeros(count)
                for _ in range(8):
                    s += dyad.step(loss, E / 8, y, 1.0, U * np.exp(-2 * s), V * np.exp(2 * s), X, wx - s * X)
                moved = exact != 0
                error = np.abs(fast - exact)[moved] / np.abs(exact)[moved]
                apart = np.max(np.abs(s - exact)[moved] / np.abs(exact)[moved])
                print(
                    f"{loss:9} {shift:4g}  {E:<5g} {slow / count * 1e9:8.0f} {quick / count * 1e9:8.0f}"
                    f"   {np.median(error):8.1e} / {error.max():.1e}                   {apart:.1e}"
                )


def cost(passes: int) -> None:
    """Learning only, under a filter tree with hinge loss; three rounds in turn, the least of each learner."""
    train, _ = split()
    shared = {"left": "rater", "right": "task", "loss": {"name": "hinge"}, "learning_rate": 0.09}
    for l2, shift in ((0.0, 1.0), (0.3, 0.0)):
        learners: dict[str, tuple[str, dict[str, Any]]] = {
            f"rank {rank}": ("dyadic", {**shared, "rank": rank, "l2": l2, "shift": shift}) for rank in (0, 3)
        }
        learners["the layer `linear`"] = ("linear", {"loss": {"name": "hinge"}})
        best = dict.fromkeys(learners, np.inf)
        for _ in range(3):
            for name, layer in learners.items():
                engine = build(("filter_tree", {"classes": 5}), layer)
                batch = TextParser(engine.parser).parse(train.examples())
                engine.run_batch(batch)
                start = time.process_time()
                for _ in range(passes):
                    engine.run_batch(batch)
                best[name] = min(best[name], time.process_time() - start)
        for name, seconds in best.items():
            ratio = seconds / best["rank 0"]
            print(f"{passes} passes, l2 {l2}: {name:20} {seconds:6.2f} s, {ratio:.2f} times rank 0", flush=True)


def trees(passes: int = 20) -> None:
    """Hinge loss, l2 0.3; the least CPU of three rounds."""
    train, test = split()
    for rank in (0, 2):
        given = {"left": "rater", "right": "task", "loss": {"name": "hinge"}, "rank": rank, "l2": 0.3}
        for rate in (0.3, 0.09):
            for tree in ("filter_tree", "scoring_filter_tree"):
                error, best = np.nan, np.inf
                for _ in range(3):
                    engine = build((tree, {"classes": 5}), ("dyadic", {**given, "learning_rate": rate}))
                    batch, kept = (TextParser(engine.parser).parse(part.examples()) for part in (train, test))
                    engine.run_batch(kept, learn=False)
                    start = time.process_time()
                    for _ in range(passes):
                        engine.run_batch(batch)
                    best = min(best, time.process_time() - start)
                    error = float(np.mean(engine.run_batch(kept, learn=False)[0].predictions != kept.labels))
                print(f"rank {rank}, rate {rate}: {tree:20} {error:.4f}  {best:5.2f} s", flush=True)


def _lines(directory: str, *names: str) -> list[list[bytes]]:
    """The lines of files of one data set, each file shuffled."""
    parts = []
    users: dict[str, int] = {}
    items: dict[str, int] = {}
    for name in names:
        rows = [line.split("\t") for line in (Path(directory) / name).read_text().splitlines()]
        u = np.array([users.setdefault(row[0], len(users) + 1) for row in rows])
        i = np.array([items.setdefault(row[1], len(items) + 1) for row in rows])
        order = np.random.default_rng(0).permutation(len(rows))
        lines = rating_lines(u[order], i[order], np.array([float(row[2]) for row in rows])[order])
        parts.append(lines.splitlines(keepends=True))
    return parts


def implicit(directories: list[str]) -> None:
    """RMSE on ratings kept aside of the training file, which alone is read."""
    dyadic = {"left": "user", "right": "item", "rank": 20}
    for directory in directories:
        (lines,) = _lines(directory, "train.tsv")
        kept = np.random.default_rng(7).random(len(lines)) < 0.1
        train, validation = (
            b"".join(line for line, k in zip(lines, kept, strict=True) if k == side) for side in (0, 1)
        )
        for precision in (None, 0.1, 0.3, 0.5, 1.0, 3.0):
            given = {"implicit": "right", "implicit_precision": precision} if precision else {}
            error, seconds = rating_error(train, validation, "dyadic", {**dyadic, **given}, 40)
            print(f"{Path(directory).name:16} precision {precision!s:>6} {error:.4f}  {seconds:6.2f} s", flush=True)


def ratings(directories: list[str]) -> None:
    """One default for all sets; the training file is shuffled once."""
    for directory in directories:
        parts = [b"".join(lines) for lines in _lines(directory, "train.tsv", "test.tsv")]
        for name, (layer, given, passes) in RATING_LEARNERS.items():
            error, seconds = rating_error(parts[0], parts[1], layer, given, passes)
            print(f"{Path(directory).name:16} {name:30} {error:.4f}  {seconds:6.2f} s", flush=True)


def command(directories: list[str]) -> None:
    """`hutch train` with 40 passes: the lines by user or shuffled, a tenth held out or none."""
    dyadic = "weights: {bits: 20}\nchain:\n  - dyadic: {left: user, right: item, rank: 20}\n"
    for directory in directories:
        train, test = _lines(directory, "train.tsv", "test.tsv")
        labels = np.array([float(line.split()[0]) for line in test])
        with tempfile.TemporaryDirectory() as folder:
            config, model, data = Path(folder) / "chain.yaml", Path(folder) / "model", Path(folder) / "train.vw"
            config.write_text(dyadic)
            (Path(folder) / "test.vw").write_bytes(b"".join(test))
            for order in ("by user", "shuffled"):
                data.write_bytes(b"".join(sorted(train, key=_user) if order == "by user" else train))
                for options in ([], ["--holdout_off"]):
                    arguments = [*HUTCH, "train", data, "-C", config, "--passes", "40", "-f", model, "--quiet"]
                    subprocess.run([*arguments, *options], check=True)
                    arguments = [*HUTCH, "predict", Path(folder) / "test.vw", "-i", model, "--quiet", "-p", "-"]
                    found = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout.split()
                    gaps = np.clip(np.array(found, float), labels.min(), labels.max()) - labels
                    error = float(np.sqrt(np.mean(gaps**2)))
                    print(f"{Path(directory).name:16} {order:9} {' '.join(options):14} {error:.4f}", flush=True)


def _user(line: bytes) -> int:
    """The number of the user of a line."""
    return int(line.split(b"|user ")[1].split()[0])


if __name__ == "__main__":
    if sys.argv[1:2] == ["steps"]:
        steps()
    elif sys.argv[1:2] == ["cost"]:
        cost(int(sys.argv[2]) if len(sys.argv) > 2 else 160)
    elif sys.argv[1:2] == ["trees"]:
        trees()
    elif sys.argv[1:2] == ["ratings"] and len(sys.argv) > 2:
        ratings(sys.argv[2:])
    elif sys.argv[1:2] == ["command"] and len(sys.argv) > 2:
        command(sys.argv[2:])
    elif sys.argv[1:2] == ["implicit"] and len(sys.argv) > 2:
        implicit(sys.argv[2:])
    else:
        sys.exit(__doc__)
