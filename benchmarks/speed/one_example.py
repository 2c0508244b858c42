"""One example at a time from Python, beside Vowpal Wabbit's Workspace: microseconds of CPU per call.

    python benchmarks/speed/one_example.py [--features 10] [--calls 20000] [--json FILE]

Every example has numbers as values, a label, and names drawn from a thousand, so that nothing is asked twice in a row.
"""

import argparse
import gc
import json
import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from hutch import Chain


def examples(features: int, count: int) -> tuple[list[str], list[dict[str, Any]], list[dict[str, float]]]:
    """The same examples as VW lines with labels, as records, and as features alone."""
    rng, lines, records, plain = random.Random(1), [], [], []
    for _ in range(count):
        row = {f"w{rng.randrange(1000)}": round(rng.random(), 3) for _ in range(features)}
        label = rng.choice([1, -1])
        lines.append(f"{label} |f " + " ".join(f"{name}:{value}" for name, value in row.items()))
        records.append({"label": label, "f": row})
        plain.append(row)
    return lines, records, plain


def cpu(call: Callable[[Any], Any], inputs: Sequence[Any], rounds: int = 5) -> float:
    """The least mean CPU time of a call over some rounds, in microseconds."""
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        begun = time.process_time()
        for one in inputs:
            call(one)
        best = min(best, time.process_time() - begun)
    return 1e6 * best / len(inputs)


def measure(features: int, calls: int) -> dict[str, float]:
    """All figures by name."""
    lines, records, plain = examples(features, calls)
    chain = Chain.from_config({"chain": [{"linear": {"loss": "logistic"}}]})
    pairs = list(zip(plain, (record["label"] for record in records), strict=True))
    found = {
        "hutch learn, line": cpu(chain.learn, lines),
        "hutch predict, line": cpu(chain.predict, lines),
        "hutch learn, record": cpu(chain.learn, records),
        "hutch predict, record": cpu(chain.predict, records),
        "hutch learn_one": cpu(lambda pair: chain.learn_one(*pair), pairs),
        "hutch predict_one": cpu(chain.predict_one, plain),
        "hutch predict_proba_one": cpu(chain.predict_proba_one, plain),
    }
    for name, module in (("hutch.vw", "hutch.vw"), ("vw", "vowpalwabbit")):
        try:
            workspace = import_module(module).Workspace("--quiet --loss_function logistic")
        except ImportError:
            continue
        found[f"{name} learn, line"] = cpu(workspace.learn, lines)
        found[f"{name} predict, line"] = cpu(workspace.predict, lines)
        found[f"{name} example, learn, finish"] = cpu(partial(_made, workspace), lines)
        workspace.finish()
    return found


def _made(workspace: Any, line: str) -> None:
    example = workspace.example(line)
    workspace.learn(example)
    workspace.finish_example(example)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--json")
    options = parser.parse_args()
    found = measure(options.features, options.calls)
    for name, microseconds in found.items():
        print(f"{name:32}{microseconds:8.1f} us")
    if options.json:
        from hutch.core.atomic import write_text

        write_text(options.json, json.dumps(found))


if __name__ == "__main__":
    main()
