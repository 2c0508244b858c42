"""Learn-ready batches from tables of 1M rows and 10 columns, beside VW's DFtoVW route.

    python benchmarks/speed/tables.py [--rows N] [--vw PYTHON]

`--vw` is an interpreter with vowpalwabbit and pandas. DFtoVW only makes lines; reading them is a second step that VW's
users pay too and that is not counted. Frames of pandas, polars, duckdb and Hugging Face datasets are measured if they
are installed. CPU seconds, best of three, VW's once.
"""

import argparse
import importlib
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from hutch.core.data.sources import to_batches
from hutch.core.text.parser import ParserOptions

MAKE = """
import numpy as np
def make(rows):
    rng = np.random.default_rng(1)
    numbers = {f"n{k}": rng.standard_normal(rows).round(4) for k in range(5)}
    words = {f"w{k}": rng.choice([f"word{i}" for i in range(10 ** (k + 1))], rows) for k in range(4)}
    return {"label": rng.integers(0, 2, rows), **numbers, **words}
"""

VW = """
import sys, time
import pandas as pd
from vowpalwabbit.dftovw import DFtoVW, Feature, Namespace, SimpleLabel
frame = pd.DataFrame(make(int(sys.argv[1])))
for column in frame.columns[6:]:
    frame[column] = frame[column].astype(object)
features = [Feature(name) for name in frame.columns[1:]]
start = time.process_time()
lines = DFtoVW(df=frame, namespaces=Namespace(features, "f"), label=SimpleLabel("label")).convert_df()
print(time.process_time() - start)
"""


def cpu_seconds(run: Callable[[], object], repeats: int = 3) -> float:
    """Best CPU time of a few runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def frames(table: pa.Table) -> dict[str, object]:
    """The table as whatever is installed has it."""
    found: dict[str, object] = {}
    makers: dict[str, Callable[[Any], object]] = {
        "pandas": lambda module: table.to_pandas(),
        "polars": lambda module: module.from_arrow(table),
        "duckdb": lambda module: module.from_arrow(table),
        "datasets": lambda module: module.Dataset(module.table.InMemoryTable(table)),
    }
    for name, make in makers.items():
        try:
            found[name] = make(importlib.import_module(name))
        except ImportError:
            print(f"{name} is not installed")
    return found


def main() -> None:
    """Measure and print the table."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--vw", help="interpreter with vowpalwabbit and pandas")
    options = arguments.parse_args()
    scope: dict[str, Callable[[int], dict[str, np.ndarray]]] = {}
    exec(MAKE, scope)
    columns = {"namespaces": {"f": "*"}}
    plain = pa.table({name: pa.array(column) for name, column in scope["make"](options.rows).items()})
    coded = pa.table(
        {
            name: c.dictionary_encode() if name[0] == "w" else c
            for name, c in zip(plain.column_names, plain.columns, strict=True)
        }
    )
    parser = ParserOptions()
    tables = {"Arrow table, strings": plain, "Arrow table, dictionaries": coded, **frames(plain)}

    def run(table: object) -> Callable[[], object]:
        return lambda: sum(len(batch) for batch in to_batches(table, parser, columns))

    run(plain.slice(0, 1000))(), run(coded.slice(0, 1000))()  # compiles
    found = {name: cpu_seconds(run(table)) for name, table in tables.items()}
    if options.vw:
        script = textwrap.dedent(MAKE + VW)
        answer = subprocess.run(
            [options.vw, "-W", "ignore", "-c", script, str(options.rows)], capture_output=True, text=True
        )
        if answer.returncode:
            sys.exit(answer.stderr)
        found["VW's DFtoVW to lines (not parsed yet)"] = float(answer.stdout)
    reference = max(found.values())
    print(f"{options.rows:,} rows x {plain.num_columns} columns, CPU seconds")
    for name, seconds in found.items():
        print(
            f"{name:40s} {seconds:8.3f} s  {options.rows / seconds / 1e6:8.2f} M rows/s  {reference / seconds:6.1f} x"
        )


if __name__ == "__main__":
    main()
