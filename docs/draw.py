"""Draws the pictures of the documentation: those of the page on evidence from the tables of benchmarks/results, and
those of the journeys from the files of `hutch demo`.

    python docs/draw.py            # all of them, into docs/pictures/
    python docs/draw.py --check    # exit status 1 if a figure in a table is no longer what its picture shows
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.axes import Axes

from hutch.pages.plots import new_figure, svg_of

DOCS = Path(__file__).resolve().parent
RESULTS = DOCS.parent / "benchmarks" / "results"
PICTURES = DOCS / "pictures"
HUTCH = str(Path(sys.executable).with_name("hutch"))
OURS, OTHERS = "#2a6fb0", "#b8bdc4"
Row = dict[str, str]


def table(page: str, first: str) -> list[Row]:
    """Rows of the first table of a file whose header begins with a name; an empty first cell is that above it."""
    lines = (RESULTS / page).read_text(encoding="utf-8").splitlines()
    begin = next(k for k, line in enumerate(lines) if line.startswith(f"| {first} |"))
    header, rows = _cells(lines[begin]), list[Row]()
    for line in lines[begin + 2 :]:
        if not line.startswith("|"):
            break
        row = dict(zip(header, _cells(line), strict=True))
        rows.append(row | ({} if row[header[0]] else {header[0]: rows[-1][header[0]]}))
    return rows


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def number(text: str) -> float:
    """The first number of a cell."""
    found = re.search(r"-?\d*\.?\d+", text.replace(",", ""))
    assert found, text
    return float(found[0])


def bars(
    axes: Axes, names: Sequence[str], values: Sequence[float], ours: Callable[[str], bool], form: str, zero: bool = True
) -> None:
    """Horizontal bars, the first at the top, each with its figure; points where the axis does not begin at 0."""
    places, colours = range(len(names)), [OURS if ours(name) else OTHERS for name in names]
    if zero:
        axes.barh(places, values, color=colours)
    else:
        axes.scatter(values, places, color=colours, s=40)
    for place, value in zip(places, values, strict=True):
        axes.text(value, place, f"{'' if zero else '  '} {value:{form}}", va="center", fontsize=8)
    axes.set_yticks(places, names, fontsize=8)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)


def crowds(axes: Axes) -> None:
    """Accuracy of methods, mean of 13 published crowds."""
    rows = [row for row in table("crowds.md", "method") if "online" not in row["method"]]
    rows.sort(key=lambda row: -number(row["accuracy"]))
    kept = [row for row in rows if row["method"].startswith(("two_level", "crowd-kit"))]
    bars(
        axes,
        [r["method"] for r in kept],
        [number(r["accuracy"]) for r in kept],
        lambda n: n == "two_level",
        ".3f",
        False,
    )
    axes.set(xlim=(0.74, 0.84), xlabel="share of items with the right label, mean of 13 public crowds")


def estimate(axes: Axes) -> None:
    """Half-widths of intervals with and without judges."""
    kept = [row for row in table("estimate.md", "simulated") if re.match(r"rate, \d+ labels", row["simulated"])]
    lines = (RESULTS / "estimate.md").read_text(encoding="utf-8").splitlines()
    names, both = list[str](), list[tuple[float, float]]()
    for row in kept[:3]:
        line = next(line for line in lines if line.startswith(f"| {row['simulated']} |"))
        cells = _cells(line)
        names.append(cells[0])
        both.append((number(cells[2]), number(cells[5])))
    doubled = [name for each in names for name in (f"{each}: people and judges", "people alone")]
    bars(axes, doubled, [value for pair in both for value in pair], lambda name: "judges" in name, ".3f")
    axes.set(xlabel="half-width of the 95 % interval of a rate")


def cheapest(axes: Axes) -> None:
    """Bills of `hutch label` over those of a cascade."""
    path = "cheapest-labels.md"
    text = (RESULTS / path).read_text(encoding="utf-8")
    rows = [row for row in table(path, "items") if row["target"] == ".9"]
    judges = text[text.index("## Language models as judges") : text.index("## Simulated judges")]
    lines = [line for line in judges.splitlines() if line.startswith("| `") and "| .9 |" in line]
    names = [_cells(row)[0] for row in lines]
    values = [number(_cells(row)[4]) for row in lines]
    names = [row["items"].split(",")[0] for row in rows] + [name.split(",")[0] for name in names]
    values = [number(row["/ cascade"]) for row in rows] + values
    bars(axes, [name.strip("`") for name in names], values, lambda _: True, ".2f")
    axes.axvline(1, color="#555", linewidth=0.8)
    axes.set(xlim=(0, 1.15), xlabel="bill over that of a cascade with the same guarantee (1 = the same), target .9")


def bandits(axes: Axes) -> None:
    """Mean costs of explorers."""
    rows = [row for row in table("bandits.md", "explorer") if not row["explorer"].startswith("the same")]
    rows.sort(key=lambda row: number(row["mean cost"]))
    names = [row["explorer"] + ("" if ".yaml" in row["explorer"] else " (VW)") for row in rows]
    bars(axes, names, [number(row["mean cost"]) for row in rows], lambda name: ".yaml" in name, ".3f")
    axes.set(xlabel="share of wrong choices while learning, mean of 31 data sets")


def speed(axes: Axes) -> None:
    """Speed beside Vowpal Wabbit."""
    lines = (RESULTS / "speed.md").read_text(encoding="utf-8").splitlines()
    begin = next(k for k, line in enumerate(lines) if line.startswith("| | Hutch: wall s"))
    rows = []
    for line in lines[begin + 2 :]:
        if not line.startswith("|"):
            break
        rows.append(_cells(line))
    rows = [row for row in rows if row[0] != "10 lines" and "160 passes" not in row[0]]
    bars(axes, [row[0][:46] for row in rows], [number(row[4]) for row in rows], lambda _: True, ".1f")
    axes.axvline(1, color="#555", linewidth=0.8)
    axes.set(xlabel="CPU time of Vowpal Wabbit over Hutch's, same predictions")


def active(axes: Axes) -> None:
    """Labels needed."""
    text = (RESULTS / "active-learning.md").read_text(encoding="utf-8")
    names, values = list[str](), list[float]()
    for title, whole in (("Digits", 1437), ("Breast cancer", 455), ("Simulated short messages", 4459)):
        part = text[text.index(f"**{title}") :]
        for rule in ("budget", "margin"):
            line = next(line for line in part.splitlines() if line.startswith(f"| `{rule}` |"))
            names.append(f"{title.split()[-1].lower()}: {rule}")
            values.append(100 * number(_cells(line)[-1]) / whole)
    bars(axes, names, values, lambda _: True, ".0f")
    axes.set(xlim=(0, 100), xlabel="% of the labels that give the error of all labels, within 2 %")


EVIDENCE = {
    "crowds": crowds,
    "estimate": estimate,
    "cheapest": cheapest,
    "bandits": bandits,
    "speed": speed,
    "active": active,
}


def evidence() -> dict[str, str]:
    """The pictures of the page on evidence, by name."""
    found = {}
    for name, draw in EVIDENCE.items():
        figure = new_figure(7.2, 2.8)
        draw(figure.add_subplot())
        found[f"evidence-{name}.svg"] = svg_of(figure)
    return found


def journeys() -> dict[str, str]:
    """The pictures of the journeys, by name, as the commands and the functions of Python draw them."""
    import hutch

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("ratings", "judges"):
            subprocess.run([HUTCH, "demo", kind], cwd=folder, check=True, capture_output=True)
        demo = Path(folder)
        found["ratings.svg"] = svg_of(hutch.crowd(demo / "demo-ratings" / "labels.csv").plot())
        page = demo / "judges.html"
        judged = ["judges", "demo-judges/verdicts.csv", "--people", "demo-judges/people.csv", "--report", str(page)]
        subprocess.run([HUTCH, *judged], cwd=folder, check=True, capture_output=True)
        text = page.read_text(encoding="utf-8")
        found["judges.svg"] = text[text.index("<svg") : text.index("</svg>") + 6]
    return found


def main() -> None:
    """Draw, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the figures in the pictures, and write nothing")
    check = parser.parse_args().check
    wrong = []
    for name, picture in (evidence() | ({} if check else journeys())).items():
        path = PICTURES / name
        if not check:
            path.write_text(picture + "\n", encoding="utf-8")
        elif not path.exists() or words_of(path.read_text(encoding="utf-8")) != words_of(picture):
            wrong.append(name)
    if wrong:
        sys.exit(f"{', '.join(wrong)}: not what the tables say; python docs/draw.py draws them")


def words_of(picture: str) -> list[str]:
    """The words and figures in a picture, whatever a version of Matplotlib makes of its lines."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture)


if __name__ == "__main__":
    main()
