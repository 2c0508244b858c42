"""CPU time per feature of the linear learner and its parser, beside VW if installed; and of a layer's call.

python benchmarks/speed/kernels/linear.py [EXAMPLES]
"""

import resource
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from hutch import Chain
from hutch.core.data.chunks import batches
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

KINDS = {
    "text": (77, 47_000, "{}:{:.4f}", "--loss_function logistic"),
    "clicks": (40, 400_000, "c{:x}:{:.2f}", "--loss_function logistic -b 22"),
    "text, hinge": (77, 47_000, "{}:{:.4f}", "--loss_function hinge"),
    "text, sgd": (77, 47_000, "{}:{:.4f}", "--loss_function logistic --sgd -l 0.1"),
    "text, 5 classes": (77, 47_000, "{}:{:.4f}", "--oaa 5 --loss_function logistic"),
    "text, tournament": (77, 47_000, "{}:{:.4f}", "--ect 5 --loss_function hinge"),
    "short, tournament": (5, 20_000, "c{:x}", "--ect 5 --loss_function hinge"),
}
"""Shapes of data: features per line, number of names, format of a feature, VW's options."""


def write(path: Path, examples: int, kind: str) -> None:
    """Write examples whose labels depend on some of the features."""
    features, names, feature, options = KINDS[kind]
    random = np.random.default_rng(0)
    classes = 5 if " 5 " in options else 2
    with path.open("w") as file:
        for _ in range(examples):
            drawn = (names * random.random(features) ** 3).astype(int)
            label = int(drawn[:5].sum()) % classes
            label = label + 1 if classes > 2 else 2 * label - 1
            words = " ".join(feature.format(i, x) for i, x in zip(drawn, random.random(features) + 0.01, strict=True))
            file.write(f"{label} | {words}\n")


def ours(path: Path, options: str) -> tuple[float, float, int]:
    """CPU seconds of parsing and of learning, and the number of features; the best of three runs."""
    best = (np.inf, np.inf, 0)
    for _ in range(3):
        chain = Chain.from_config(chain_of(parse(options.split())))
        parsing, learning, features, then = 0.0, 0.0, 0, time.process_time()
        for batch in batches([str(path)], chain.parser):
            now = time.process_time()
            chain.run_batch(batch)
            parsing, then = parsing + now - then, time.process_time()
            learning, features = learning + then - now, features + len(batch.indices)
        best = min(best, (parsing, learning, features), key=sum)
    return best


def layer(examples: int, layers: int = 20) -> float:
    """CPU seconds of a call of a layer that only passes on, from chains with `layers` of them and with none."""
    lines = [f"{2 * (i % 2) - 1} | {i % 97}" for i in range(examples)]
    seconds = []
    for count in (0, layers):
        chain = Chain.from_config({"chain": [*[{"link": {"function": "identity"}}] * count, {"linear": {}}]})
        batch = next(iter(chain.batches(lines)))
        times = [time.process_time()]
        for _ in range(20):
            chain.run_batch(batch)
            times.append(time.process_time())
        seconds.append(float(np.diff(times).min()))
    return (seconds[1] - seconds[0]) / (layers * len(batch))


def theirs(path: Path, options: str) -> float:
    """CPU seconds of VW, its start-up taken off."""

    def seconds(data: Path) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = [sys.executable, "-m", "vowpalwabbit", "-d", str(data), "--quiet", *options.split()]
        subprocess.run(words, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    empty = path.with_suffix(".empty")
    empty.touch()
    return min(seconds(path) for _ in range(3)) - min(seconds(empty) for _ in range(3))


def main() -> None:
    """Print the table."""
    examples = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'data':17} {'parse':>9} {'learn':>9} {'VW':>9}   ns a feature, CPU")
        for kind, (_, _, _, options) in KINDS.items():
            path = Path(folder) / "data.vw"
            write(path, examples, kind)
            parsing, learning, features = ours(path, options)
            peer = theirs(path, options) if find_spec("vowpalwabbit") else np.nan
            columns = (f"{1e9 * seconds / features:9.1f}" for seconds in (parsing, learning, peer))
            print(f"{kind:17} {' '.join(columns)}")
    print(f"a layer that only passes on: {1e9 * layer(20_000):.1f} ns a call")


if __name__ == "__main__":
    main()
