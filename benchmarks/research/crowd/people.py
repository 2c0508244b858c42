"""Crowd models beside crowd-kit on published label sets, in one run.

    python benchmarks/research/crowd/people.py DATA_DIR [--peers PYTHON] [--sim N] [--slow]

DATA_DIR holds one folder a set, with labels.tsv (worker TAB task TAB label) and gold.tsv (task TAB label). PYTHON is an
interpreter in whose environment `pip install crowd-kit` was run; without it no peers are measured. --sim adds one
simulated crowd of N items. CPU seconds are of fit and predict only, one thread, data in memory, kernels compiled.
Every method gets the same calibration (temper by labels an item, rho = .1, then 5 % to all classes), so that nothing is
claimed that calibration alone gives.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hutch.crowd.data.labels import Labels
from hutch.crowd.models.calibration import accuracy, calibrate, calibration_error, log_loss
from hutch.crowd.models.nominal import Nominal
from hutch.crowd.models.online import run, stream_of
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.read.labels import read_gold, read_labels
from hutch.crowd.simulate import simulate
from hutch.crowd.table import EXCHANGEABLE

SLOTS = 1 << 16
PEERS = ("MajorityVote", "DawidSkene", "OneCoinDawidSkene", "GLAD", "MACE", "Wawa")
SLOW = {"GLAD": 12000, "MACE": 9000}
"""Labels above which a peer is left out unless --slow: it takes minutes to hours."""


@dataclass(frozen=True)
class Score:
    """One method on one set; probabilities as the method gives them, and calibrated."""

    accuracy: float
    raw_log_loss: float
    log_loss: float
    raw_error: float
    error: float
    cpu: float


def score(posterior: np.ndarray, truth: np.ndarray, labels: Labels, cpu: float) -> Score:
    """Score posteriors (items, classes)."""
    cooked = calibrate(posterior, np.diff(labels.item_ptr))
    return Score(
        accuracy(posterior, truth),
        log_loss(posterior, truth),
        log_loss(cooked, truth),
        calibration_error(posterior, truth),
        calibration_error(cooked, truth),
        cpu,
    )


def data_sets(root: Path, simulated: int) -> Iterator[tuple[str, Labels, np.ndarray]]:
    """Name, labels without gold, truth of every set."""
    for folder in sorted(path.parent for path in root.glob("*/labels.tsv")):
        labels = read_labels(folder / "labels.tsv", gold=read_gold(folder / "gold.tsv"))
        yield folder.name, replace(labels, gold=np.full_like(labels.gold, -1)), labels.gold
    if simulated:
        crowd = simulate(simulated, max(simulated // 40, 5), 5, 5)
        yield "simulated", crowd.labels, crowd.truth


def own_methods() -> dict[str, Callable[[Labels], np.ndarray]]:
    """Hutch's models, each with its one default."""

    def batch(kind: type) -> Callable[[Labels], np.ndarray]:
        return lambda labels: kind().fit(labels).posterior

    def online(kind: type, passes: int) -> Callable[[Labels], np.ndarray]:
        return lambda labels: run(stream_of(kind(), labels.classes, SLOTS), labels, passes).posterior

    methods = {f"hutch {kind.name}": batch(kind) for kind in EXCHANGEABLE}
    for kind in (TwoLevel, Nominal):
        for passes in (1, 5):
            methods[f"hutch {kind.name} online, {passes} pass{'es' if passes > 1 else ''}"] = online(kind, passes)
    return methods


def measure_peer(python: str, peer: str, labels: Labels) -> tuple[np.ndarray, float]:
    """Posteriors (items, classes) and CPU seconds of one crowd-kit aggregator, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.npz"
        np.savez(path, task=labels.label_items, worker=labels.workers, label=labels.labels)
        environment = os.environ | {
            name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        }
        environment.pop("PYTHONPATH", None)
        command = [python, "-c", PEER_SCRIPT, str(path), peer]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        with np.load(path.with_suffix(".out.npz")) as found:
            posterior = np.zeros((labels.items, len(labels.classes)))
            posterior[np.ix_(found["tasks"], found["classes"])] = found["posterior"]
    return posterior, float(json.loads(done.stdout.splitlines()[-1]))


PEER_SCRIPT = """
import sys, time, json, warnings
warnings.simplefilter("ignore")
import numpy as np, pandas as pd
import crowdkit.aggregation as aggregation
path, name = sys.argv[1:]
frame = pd.DataFrame({key: value for key, value in np.load(path).items()})
if name == "Wawa":  # 1.4 fails under recent scikit-learn in a check that a fitted model exists
    import crowdkit.aggregation.classification.wawa as module
    module.check_is_fitted = lambda *a, **k: None
model = getattr(aggregation, name)()
begin = time.process_time()
found = model.fit_predict_proba(frame)
seconds = time.process_time() - begin
found = found.fillna(0)
np.savez(path.replace(".npz", ".out.npz"), tasks=found.index.to_numpy(), classes=found.columns.to_numpy(),
         posterior=found.to_numpy(dtype=float))
print(json.dumps(seconds))
"""


def print_set(name: str, labels: Labels, scores: dict[str, Score]) -> None:
    """The table of one set."""
    print(f"\n{name}: {len(labels)} labels, {labels.items} items, {len(labels.classes)} classes")
    print_rows(scores)


def print_rows(scores: dict[str, Score]) -> None:
    """One line a method."""
    print(f"{'':<34} accuracy  log-loss raw / calibrated   ECE raw / calibrated   CPU s")
    for method, s in scores.items():
        losses = f"{s.raw_log_loss:12.3f} / {s.log_loss:.3f}"
        errors = f"{s.raw_error:14.3f} / {s.error:.3f}"
        print(f"{method:<34} {s.accuracy:8.4f} {losses:<26} {errors:<24} {s.cpu:8.3f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--peers", metavar="PYTHON", help="interpreter with crowd-kit")
    parser.add_argument("--sim", type=int, default=0, metavar="N", help="items of a simulated crowd")
    parser.add_argument("--slow", action="store_true", help="run GLAD and MACE on large sets too")
    arguments = parser.parse_args()
    methods = own_methods()
    warm = simulate(30, 5, 3, 3).labels
    for method in methods.values():
        method(warm)
    everything: dict[str, dict[str, Score]] = {}
    for name, labels, truth in data_sets(arguments.data, arguments.sim):
        scores = {}
        for method, fit in methods.items():
            begin = time.process_time()
            posterior = fit(labels)
            scores[method] = score(posterior, truth, labels, time.process_time() - begin)
        for peer in PEERS if arguments.peers else ():
            if len(labels) > SLOW.get(peer, len(labels)) and not arguments.slow:
                continue
            try:
                posterior, cpu = measure_peer(arguments.peers, peer, labels)
            except RuntimeError as error:
                print(f"{name}: crowd-kit {peer} failed: {error}", file=sys.stderr)
                continue
            scores[f"crowd-kit {peer}"] = score(posterior, truth, labels, cpu)
        everything[name] = scores
        print_set(name, labels, scores)
    real = [scores for name, scores in everything.items() if name != "simulated"]
    means = {
        method: Score(*np.mean([list(vars(scores[method]).values()) for scores in real], axis=0))
        for method in dict.fromkeys(m for scores in real for m in scores)
        if all(method in scores for scores in real)
    }
    print(f"\nMean of {len(real)} sets (methods that ran on all)")
    print_rows(means)


if __name__ == "__main__":
    main()
