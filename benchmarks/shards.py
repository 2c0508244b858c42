"""What a chain loses by learning from shards of a file: held-out loss after each pass, for 1, 4 and 16 shards.

    python benchmarks/shards.py FILE [--config CHAIN] [--by A,B] [--passes 2] [--shards 1,4,16]

Without --config the chain is one linear layer with logistic loss. One shard is one process.
"""

import argparse
import time

from hutch.chain import Chain
from hutch.distributed.processes import Processes
from hutch.distributed.rounds import Round, train

LINEAR = {"chain": [{"linear": {"loss": "logistic"}}], "input": {"namespaces": "letter"}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--config", default=None)
    parser.add_argument("--by", default="")
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--shards", default="1,4,16")
    options = parser.parse_args()
    by = tuple(name for name in options.by.split(",") if name)
    print("shards  pass  loss in shards  held out  step  seconds")
    with Processes() as engine:
        for shards in map(int, options.shards.split(",")):
            begun = time.perf_counter()

            def see(chain: Chain, done: Round, shards: int = shards, begun: float = begun) -> None:
                row = f"{shards:6d}  {done.number:4d}  {done.average_loss:14.4f}  {done.holdout_loss:8.4f}"
                print(f"{row}  {done.step:4g}  {time.perf_counter() - begun:7.1f}", flush=True)

            settings = {"shards": shards, "by": by, "passes": options.passes, "engine": engine, "on_round": see}
            train([options.file], options.config or LINEAR, **settings)


if __name__ == "__main__":
    main()
