"""Hutch beside other tools: the tables of docs/comparison.md, from other pages and one measurement.

    python benchmarks/research/comparison.py [--runs 400] [--no-ppi]

Tables of speed, crowds and online learners are taken from the pages where their commands write them. Intervals beside
prediction-powered inference are measured here, in about a minute, if `pip install ppi-python` was run; with --no-ppi
their rows stay as they are.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent / "crowd"))
import few_labels
from few_labels import Row

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "comparison.md"
ROWS = [row for row in few_labels.ROWS if re.fullmatch(r"(rate|accuracy), \d+ labels", row.name)]
LEARNERS = ("`bayesian_linear` |", "`multinomial`, `bayesian_linear` |", "`linear`, 1 pass", "River")
HEAD = """
| simulated | Hutch covers | half-width | PPI++ covers | half-width | people alone cover | half-width |
|---|---|---|---|---|---|---|
"""


def table(page: str, head: str) -> list[str]:
    """The lines of the table of a file of the project whose first line begins so."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith(head)), None)
    if start is None:
        sys.exit(f"{page}: got no table that begins with {head!r}, wanted one")
    stop = next((number for number in range(start, len(lines)) if not lines[number].startswith("|")), len(lines))
    return lines[start:stop]


def rows(lines: list[str], *wanted: str) -> list[str]:
    """Head of a table and those of its rows that begin so."""
    return [*lines[:2], *(line for line in lines[2:] if any(line.startswith(f"| {name}") for name in wanted))]


def columns(lines: list[str], *wanted: int) -> list[str]:
    """Some columns of a table, by their numbers from 0."""
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [f"| {' | '.join(row[place] for place in wanted)} |" for row in cells]


def powered(row: Row, count: int) -> tuple[float, float]:
    """Coverage and mean half-width of prediction-powered inference on the draws of a row."""
    from ppi_py import ppi_mean_ci

    found = []
    for seed in range(count):
        random = np.random.default_rng(seed)
        truth, judged = few_labels.world(row, random)
        places = few_labels.draw(row, truth, judged, random).labelled
        if row.question == "rate":
            said, foretold = truth == 1, (judged == 1).mean(axis=1)
        else:
            said, foretold = truth == judged[:, 0], (judged[:, 1] == judged[:, 0]).astype(float)
        others = np.setdiff1d(np.arange(row.items), places)
        low, high = (
            float(np.ravel(end)[0])
            for end in ppi_mean_ci(said[places].astype(float), foretold[places], foretold[others], alpha=0.05)
        )
        found.append((low <= few_labels.true_answer(row.question, truth, judged) <= high, (high - low) / 2))
    cover, half = np.mean(np.array(found, np.float64), axis=0)
    return float(cover), float(half)


def intervals(count: int) -> Iterator[str]:
    """A row of the table of intervals per question."""
    for row in ROWS:
        cover, half, _, alone, wide = few_labels.coverage(row, count)
        theirs, narrow = powered(row, count)
        figures = f"{cover:.3f} | {half:.3f} | {theirs:.3f} | {narrow:.3f} | {alone:.3f} | {wide:.3f}"
        yield f"| {row.name} | {figures} |"


def tables(measured: list[str]) -> dict[str, list[str]]:
    """The tables of the page by the names in its marks."""
    crowds = table("benchmarks/results/crowds.md", "| method | accuracy | log-loss")
    return {
        "speed": columns(table("benchmarks/results/speed.md", "| | Hutch: wall s"), 0, 1, 2, 4),
        "crowds": columns(rows(crowds, "two_level |", "two_level online, 1 ", "crowd-kit"), 0, 1, 2, 4),
        "learners": rows(table("benchmarks/results/dense.md", "| | digits, 100"), *LEARNERS),
        "intervals": [*HEAD.split("\n")[1:3], *measured],
    }


def page(text: str, measured: list[str]) -> str:
    """The page with the table below each mark as it is now."""
    for name, lines in tables(measured).items():
        mark = f"<!-- table: {name} -->\n\n"
        before, found, after = text.partition(mark)
        if not found:
            sys.exit(f"{PAGE}: got no mark {mark.strip()!r}, wanted one")
        text = before + mark + "".join(line + "\n" for line in lines) + re.sub(r"\A(\|.*\n)*", "", after)
    return text


def kept(text: str) -> list[str]:
    """The measured rows of a page."""
    names = {row.name for row in ROWS}
    return [line for line in text.splitlines() if line.startswith("| ") and line.split(" | ")[0][2:] in names]


def main() -> None:
    """Measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--no-ppi", action="store_true", help="measure nothing, keep the rows")
    options = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(page(text, kept(text) if options.no_ppi else list(intervals(options.runs))), encoding="utf-8")


if __name__ == "__main__":
    main()
