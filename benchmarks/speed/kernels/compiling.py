"""CPU seconds that the first run of a chain takes where no kernel is compiled yet.

    python benchmarks/speed/kernels/compiling.py [LAYERS ...]

Each chain learns a few lines in a process of its own with an empty cache, without the machine code that wheels bring;
what a second such process takes, which finds the kernels, is subtracted. LAYERS are names of the chains below.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile

CHAINS = {
    "linear": [{"linear": {}}],
    "ppca": [{"ppca": {"namespace": "x", "dimension": 8, "rank": 3}}, {"linear": {}}],
    "bayesian_linear": [{"bayesian_linear": {"namespace": "x", "dimension": 8}}],
    "active": [{"active": {}}, {"linear": {}}],
    "dyadic": [{"dyadic": {"left": "x", "right": "y", "rank": 4}}],
}
PROGRAM = """
import sys, json
from hutch import Chain
line = "{} |x " + " ".join(f"{k}:0.5" for k in range(8)) + " |y 1"
Chain.from_config({"chain": json.loads(sys.argv[1])}).learn([line.format(y) for y in (1, -1)])
"""


def seconds(chain: list[dict[str, object]], cache: str) -> float:
    """CPU seconds of one process that learns with a chain."""
    environment = os.environ | {"HUTCH_CACHE_DIR": cache, "HUTCH_SHIPPED_KERNELS": "0"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", PROGRAM, json.dumps(chain)], env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a line for each chain."""
    for name in sys.argv[1:] or CHAINS:
        with tempfile.TemporaryDirectory() as cache:
            first, second = (seconds(CHAINS[name], cache) for _ in range(2))
            print(f"{name:16s} {first - second:5.1f} CPU s to compile, {second:.2f} from the cache", flush=True)


if __name__ == "__main__":
    main()
