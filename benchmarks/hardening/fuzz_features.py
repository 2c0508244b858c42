"""Random command lines about features on random text, by `hutch vw` and by Vowpal Wabbit: predictions must be equal.

    pip install vowpalwabbit==9.11.9
    python benchmarks/hardening/fuzz_features.py [--cases 300] [--seed 1] [--python PYTHON_WITH_VOWPALWABBIT]

The options are those that make, rename, limit or multiply features, and layers that take any: --affix, --spelling,
--dictionary, --redefine, --feature_limit, --interact, --ngram, --baseline, --top, --multilabel_oaa. Equal are lines of
`-p` whose numbers differ by no more than 2e-6.
"""

import argparse
import contextlib
import io
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from hutch.core.errors import HutchError
from hutch.vw.main import run

NAMES = ("a", "ab", "abc1", "Z9.", "x_y", "ü", "12", "007", "w", "long-name", "")


def text(draw: random.Random, label: str) -> str:
    """Lines with names of all kinds, namespaces that come twice, and values of 0."""
    lines = []
    for k in range(draw.randint(5, 40)):
        made = {
            "number": lambda: f"{draw.uniform(-2, 2):.2f}",
            "sign": lambda: draw.choice(("1", "-1")),
            "set": lambda: ",".join(map(str, sorted(draw.sample(range(4), draw.randint(0, 3))))),
        }[label]()
        line = made + draw.choice((" ", f" t{k}" if made else "", " "))
        for _ in range(draw.randint(1, 4)):
            space = draw.choice(("a", "b", "cc", "ab", "", "d:2", "ü"))
            words = (
                draw.choice(NAMES) + draw.choice(("", "", ":2", ":0", ":-0.5", ":word"))
                for _ in range(draw.randint(0, 5))
            )
            line += f"|{space} " + " ".join(word for word in words if word not in ("", ":word")) + " "
        lines.append(line + "\n" * (1 + (draw.random() < 0.2)))
    return "".join(lines)


def options(draw: random.Random) -> tuple[str, str]:
    """Options, and the kind of labels that they need."""
    found = []
    space = draw.choice(("", "a", "b", "c"))
    pool = (
        f"--affix {draw.choice('+-')}{draw.randint(1, 7)}{space},{draw.choice('+-')}{draw.randint(1, 4)}a",
        f"--spelling {space or '_'}",
        f"--dictionary {space + ':' if space else ''}words",
        f"--redefine {draw.choice(('x:=ab', ':=c', 'a:=:', 'b:=a', 'a:=d'))}",
        f"--feature_limit {space}{draw.randint(1, 4)}",
        f"--ngram {space}2",
        f"-q {draw.choice(('ab', 'aa', '::', 'xb'))}",
        f"--ignore {draw.choice('abd')}",
        "--baseline" + draw.choice(("", " --global_only", " --lr_multiplier 3")),
        "--noconstant",
        f"-b {draw.choice((4, 10, 22))}",
        "--hash all",
    )
    found = draw.sample(pool, draw.randint(1, 4))
    kind = draw.choice(("number", "sign", "set", "top"))
    if kind == "set" and not any("--baseline" in each for each in found):
        return " ".join([*found, "--multilabel_oaa 4"]), "set"
    return " ".join([*found, "--top 2"] if kind == "top" else found), "sign" if kind == "sign" else "number"


def alike(ours: str, theirs: str) -> bool:
    """Whether two lines have the same words, and numbers that differ by no more than 2e-6."""
    a, b = (re.split(r"[ ,:]", line) for line in (ours, theirs))
    if len(a) != len(b):
        return False
    number = re.compile(r"-?\d+(\.\d+)?")
    return all(
        x == y
        or (number.fullmatch(x) and number.fullmatch(y) and abs(float(x) - float(y)) <= 2e-6 * max(1, abs(float(y))))
        for x, y in zip(a, b, strict=True)
    )


def difference(draw: random.Random, python: str) -> tuple[str, str]:
    """The command of a case, and how the two differ; empty if they do not."""
    command, label = options(draw)
    Path("data").write_text(text(draw, label))
    Path("words").write_text("".join(f"{name} f{draw.randrange(9)}:{draw.random():.2f} g\n" for name in NAMES[:6]))
    words = ["-d", "data", *command.split(), "--quiet"]
    peer = subprocess.run([python, "-m", "vowpalwabbit", *words, "-p", "theirs"], capture_output=True, check=False)
    told = io.StringIO()
    try:
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(told):
            run([*words, "-p", "ours"])
    except HutchError as error:
        return command, "both refuse" if peer.returncode else f"refused: {error}"
    if peer.returncode:
        return command, "only VW fails"
    ours, theirs = (Path(name).read_text().splitlines() for name in ("ours", "theirs"))
    if len(ours) != len(theirs):
        return command, f"{len(ours)} lines, theirs are {len(theirs)}"
    wrong = [k for k, (a, b) in enumerate(zip(ours, theirs, strict=True)) if not alike(a, b)]
    return command, f"line {wrong[0] + 1}: {ours[wrong[0]]!r}, theirs {theirs[wrong[0]]!r}" if wrong else ""


def main() -> None:
    """Draw cases, run them, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--python", default=sys.executable, help="a Python that has the peer")
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for k in range(given.cases):
            command, found = difference(random.Random(f"{given.seed}.{k}"), given.python)
            counts["equal" if not found else found if found == "both refuse" else "different"] += 1
            if found not in ("", "both refuse"):
                print(f"{given.seed}.{k}: {command}: {found}", flush=True)
        os.chdir("/")
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))


if __name__ == "__main__":
    main()
