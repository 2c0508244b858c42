"""Lists recorded cases of VW: equal, refused (by what), or different (where first), and counts them.

Run as a program with the folder of cases, and patterns of their names: `python tests/vw/list_cases.py FOLDER 'cb/*'`.
A case is equal if every call predicts the same, probabilities and scores to 1e-6, and has the same average loss.
"""

import fnmatch
import math
import os
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from conftest import _run_case

CLOSE = 1e-6


def _tokens(text):
    return [(number, re.split(r"[ ,:]", line)) for number, line in enumerate(text.split("\n"), 1)]


def first_difference(ours, theirs):
    """The first line that differs by more than rounding, as text; None if there is none."""
    for (number, mine), (_, other) in zip(_tokens(ours), _tokens(theirs), strict=False):
        if len(mine) != len(other) or not all(_is_close(a, b) for a, b in zip(mine, other, strict=True)):
            return f"line {number}: got {' '.join(mine)!r}, VW {' '.join(other)!r}"
    a, b = ours.count("\n"), theirs.count("\n")
    return None if a == b else f"got {a} lines, VW {b}"


def _is_close(mine, other):
    try:
        return mine == other or math.isclose(float(mine), float(other), rel_tol=CLOSE, abs_tol=CLOSE)
    except ValueError:
        return False


def loss_of(told):
    """The average loss that a footer tells, to six digits; None if there is none."""
    found = re.findall(r"^average loss = (\S+)", told, re.MULTILINE)
    if not found:
        return None
    try:
        return f"{float(found[-1]):.6g}"
    except ValueError:
        return found[-1]


def outcome_of(case, folder):
    """`equal`, `refused: why`, or `different: where`."""
    for k, status, error, told in _run_case(case, folder):
        wanted = int((case / f"out{k}.exit").read_text() or 0)
        if wanted:
            if (status and error) or (wanted < 0 and re.search(r"^\S+:\d+:\d+: ", told, re.MULTILINE)):
                continue  # where VW's process ends by a signal, the line must be named
            return f"different: call {k}: VW stops with {wanted}, Hutch runs"
        if error:
            return f"refused: {error}"
        theirs = (case / f"out{k}.pred").read_bytes().decode("latin1")
        found = first_difference((folder / f"out{k}.pred").read_bytes().decode("latin1"), theirs)
        if found:
            return f"different: call {k}, {found}"
        a, b = loss_of(told), loss_of((case / f"out{k}.stderr").read_text(errors="replace"))
        if a != b:
            return f"different: call {k}, loss {a}, VW {b}"
    return "equal"


def main(folder, *patterns):
    """Print a line for each case, and the counts."""
    counts = Counter()
    root = Path(folder).resolve()
    for args in sorted(root.glob("*/*/args")):
        name = f"{args.parent.parent.name}/{args.parent.name}"
        if patterns and not any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            continue
        with tempfile.TemporaryDirectory() as where:
            os.chdir(where)
            outcome = outcome_of(args.parent, Path(where))
            os.chdir(root)
        counts[outcome.partition(":")[0]] += 1
        print(f"{name}: {outcome}\n    {args.read_text().strip()}".replace("\n    ", "    ", 1), flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
