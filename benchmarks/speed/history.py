"""A few figures of speed and quality of this commit, kept as lines of JSON, so that a loss is seen.

    python benchmarks/speed/history.py FILE [--runs 5] [--page history.html]
    python benchmarks/speed/history.py FILE --only-page history.html

Measures for about half a minute, appends one line to FILE and prints each figure beside the median of the lines before
it that are of the same machine. Times are CPU seconds, the least of some runs, kernels compiled beforehand; `machine`
is the time of work that never changes: where it is slower too, the machine is busy or another one. Qualities are of
seeded simulations: they change only when results change. Exit status 1 if a figure is worse than the median by more
than --worse (times) or at all (qualities). The page needs hutch[plots].
"""

import argparse
import hashlib
import html
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "kernels"), str(HERE / "start")]

UNITS = {
    "machine": "ms",
    "start: hutch --help": "CPU s",
    "start: hutch train": "CPU s",
    "start: hutch crowd": "CPU s",
    "text: parse": "ns per feature",
    "text: learn": "ns per feature",
    "predict_one": "µs per call",
    "learn_one": "µs per call",
    "crowd: fit": "ns per label",
    "crowd: log-loss": "nats",
    "demo: error of linear": "0/1 loss",
    "demo: error of dyadic": "0/1 loss",
}
"""Every figure with its unit; less is better for all of them."""

QUALITIES = ("nats", "0/1 loss")


@dataclass(frozen=True)
class Sizes:
    """How much is measured; the default takes about half a minute, `TINY` is for the tests."""

    runs: int = 5
    examples: int = 5_000
    calls: int = 5_000
    items: int = 10_000
    tasks: int = 4_000
    passes: int = 10


TINY = Sizes(runs=1, examples=50, calls=20, items=60, tasks=60, passes=1)


def least(work: Callable[[], Any], runs: int) -> float:
    """The least CPU seconds of some runs in this process."""
    found = []
    for _ in range(runs):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return min(found)


def command_seconds(words: list[str], folder: Path) -> float:
    """CPU seconds of a whole process."""
    program = [sys.executable, "-c", "from hutch.cli.main import main; main()", *words]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"hutch {' '.join(words)} failed:\n{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def start_up(sizes: Sizes, folder: Path) -> Iterator[tuple[str, float]]:
    """Commands on 100 lines or 300 labels; the first run of each compiles what is missing and does not count."""
    import commands

    commands.write_data(folder)
    lines = {
        "start: hutch --help": ["--help"],
        "start: hutch train": ["train", "data.vw", "--loss_function", "logistic", "--quiet"],
        "start: hutch crowd": ["crowd", "labels.tsv", "--quiet"],
    }
    for name, words in lines.items():
        yield name, min([command_seconds(words, folder) for _ in range(sizes.runs + 1)][1:])


def text(sizes: Sizes, folder: Path) -> Iterator[tuple[str, float]]:
    """Lines of 77 features with values through the parser and the linear learner."""
    import linear

    path = folder / "text.vw"
    linear.write(path, sizes.examples, "text")
    parsing, learning, features = linear.ours(path, linear.KINDS["text"][3])
    yield "text: parse", 1e9 * parsing / features
    yield "text: learn", 1e9 * learning / features


def one_example(sizes: Sizes) -> Iterator[tuple[str, float]]:
    """Single examples of ten features from Python."""
    import one_example

    from hutch import Chain

    _, records, plain = one_example.examples(10, sizes.calls)
    chain = Chain.from_config({"chain": [{"linear": {"loss": "logistic"}}]})
    pairs = list(zip(plain, (record["label"] for record in records), strict=True))
    yield "learn_one", one_example.cpu(lambda pair: chain.learn_one(*pair), pairs, sizes.runs)
    yield "predict_one", one_example.cpu(chain.predict_one, plain, sizes.runs)


def crowd(sizes: Sizes) -> Iterator[tuple[str, float]]:
    """The default model on a simulated crowd, 5 labels per item, 5 classes."""
    from hutch.crowd.aggregate import aggregate
    from hutch.crowd.models.calibration import log_loss
    from hutch.crowd.simulate import simulate

    simulated = simulate(sizes.items, max(sizes.items // 40, 5), 5, 5)
    found = aggregate(simulated.labels)  # compiles what is missing
    seconds = least(lambda: aggregate(simulated.labels), min(sizes.runs, 3))
    yield "crowd: fit", 1e9 * seconds / len(simulated.labels.labels)
    yield "crowd: log-loss", log_loss(found.probability, simulated.truth)


def demo(sizes: Sizes) -> Iterator[tuple[str, float]]:
    """The chains of `hutch reproduce dyadic --quick`, linear and of rank 2."""
    from hutch import Chain
    from hutch.reproduce.cli import comparison
    from hutch.reproduce.simulate import simulate_ratings

    ratings = simulate_ratings(tasks=sizes.tasks, raters=max(sizes.tasks * 3 // 10, 10), seed=0)
    count = len(ratings) // 16
    test, train = ratings[:count], ratings[count:]
    for name, rank in (("linear", 0), ("dyadic", 2)):
        chain = Chain.from_config(comparison.chain(rank))
        for number in range(sizes.passes):
            chain.learn(train.examples())
            if number < sizes.passes - 1:
                chain.end_pass()
        yield f"demo: error of {name}", float(np.mean(chain.predict(test.examples()) != test.labels))


def measure(sizes: Sizes) -> dict[str, float]:
    """All figures, in the order of `UNITS`."""
    block = bytes(1 << 24)
    found = {"machine": 1e3 * least(lambda: hashlib.sha256(block).digest(), sizes.runs)}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for figures in (start_up(sizes, folder), text(sizes, folder), one_example(sizes), crowd(sizes), demo(sizes)):
            found.update(figures)
    return {name: float(f"{found[name]:.6g}") for name in UNITS}


def git(*words: str) -> str:
    """Output of a Git command; empty without a repository."""
    done = subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def processor() -> str:
    """The processor's name where Linux tells it, else its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def about() -> dict[str, Any]:
    """The commit, time and machine of a measurement."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "commit": git("rev-parse", "--short=12", "HEAD"),
        "changed": bool(git("status", "--porcelain", "--untracked-files=no")),
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "on": f"{processor()}, {os.cpu_count()} processors, Python {platform.python_version()}",
        "load": load and round(load, 1),
    }


def read(path: Path) -> list[dict[str, Any]]:
    """The lines of the history, oldest first; none if there is no file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    entries = []
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            entries.append(entry | {"figures": {name: float(entry["figures"][name]) for name in entry["figures"]}})
        except (ValueError, TypeError, KeyError) as error:
            sys.exit(f"{path}:{number}: got {error!r}, wanted a line that this program wrote")
    return entries


def usual(entry: dict[str, Any], before: list[dict[str, Any]], name: str) -> float | None:
    """The median of a figure over the last ten entries before this one that are comparable; None if there is none."""
    alike = [
        other["figures"][name]
        for other in before
        if name in other["figures"] and (UNITS[name] in QUALITIES or other["on"] == entry["on"])
    ]
    return statistics.median(alike[-10:]) if alike else None


def compared(entry: dict[str, Any], before: list[dict[str, Any]], worse: float) -> list[tuple[str, str, bool]]:
    """Every figure with its change against the usual one, and whether it is worse.

    Times are divided by that of `machine`, so that a busy machine does not count as a loss.
    """
    reference = usual(entry, before, "machine")
    pace = entry["figures"]["machine"] / reference if reference else 1.0
    rows = []
    for name, value in entry["figures"].items():
        if name not in UNITS:
            continue
        known, quality = usual(entry, before, name), UNITS[name] in QUALITIES
        if known is None:
            rows.append((name, "new", False))
        elif quality:
            rows.append((name, f"{value - known:+.6f}", value > known + 1e-9))
        else:
            ratio = value / known / (1.0 if name == "machine" else max(pace, 1.0))
            rows.append((name, f"{ratio - 1:+.0%}", name != "machine" and ratio > worse))
    return rows


def page(entries: list[dict[str, Any]]) -> str:
    """A page with a plot of each figure over the commits, and the last entries as a table."""
    from hutch.pages.plots import new_figure, svg_of

    columns, rows = 3, -(-len(UNITS) // 3)
    figure = new_figure(4 * columns, 2.4 * rows)
    for number, (name, unit) in enumerate(UNITS.items(), 1):
        plot = figure.add_subplot(rows, columns, number)
        known = [(place, entry["figures"][name]) for place, entry in enumerate(entries) if name in entry["figures"]]
        plot.plot([place for place, _ in known], [value for _, value in known], marker="o", markersize=3)
        plot.set_title(f"{name}, {unit}", fontsize=9)
        plot.set_ylim(bottom=0)
        plot.set_xticks([])
    last = entries[-15:]
    head = "".join(f"<th>{html.escape(entry['commit'])}{'*' if entry['changed'] else ''}</th>" for entry in last)
    body = ""
    for name, unit in UNITS.items():
        cells = (f"{entry['figures'][name]:.4g}" if name in entry["figures"] else "" for entry in last)
        body += f"<tr><td>{name}, {unit}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>\n"
    machines = "".join(f"<li>{html.escape(on)}</li>" for on in sorted({entry["on"] for entry in entries}))
    return f"""<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>Hutch: speed and quality by commit</title>
<style>body {{ font-family: sans-serif; margin: 2em }} td, th {{ padding: .2em .6em; text-align: right }}
td:first-child {{ text-align: left }} svg {{ max-width: 100%; height: auto }}</style>
<h1>Speed and quality by commit</h1>
<p>Less is better everywhere. Measured by <code>benchmarks/speed/history.py</code>, oldest left, on:</p>
<ul>{machines}</ul>
{svg_of(figure)}
<p>* with changes that were not committed</p>
<table><tr><th></th>{head}</tr>
{body}</table></html>
"""


def main(words: list[str] | None = None, sizes: Sizes | None = None) -> int:
    """Measure, append, compare; write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="lines of JSON, one per run")
    parser.add_argument("--runs", type=int, default=Sizes.runs, help="of which the least counts")
    parser.add_argument("--worse", type=float, default=1.15, help="how many times slower counts as a loss")
    parser.add_argument("--page", type=Path, help="write a page with plots here")
    parser.add_argument("--only-page", type=Path, help="measure nothing, write the page")
    options = parser.parse_args(words)
    from hutch.core.atomic import write_text
    from hutch.pages.plots import require_matplotlib

    target = options.only_page or options.page
    if target:
        require_matplotlib()
    entries, lost = read(options.file), False
    if not options.only_page:
        entry = about() | {"figures": measure(sizes or Sizes(runs=options.runs))}
        for name, change, worse in compared(entry, entries, options.worse):
            print(f"{name:24}{entry['figures'][name]:12.6g} {UNITS[name]:16}{change:>10}{'  WORSE' if worse else ''}")
            lost |= worse
        entries.append(entry)
        with options.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
    if target:
        write_text(target, page(entries))
    return int(lost)


if __name__ == "__main__":
    sys.exit(main())
