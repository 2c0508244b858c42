"""Recorded runs of VW 9.11.9, run again with Hutch, and compared."""

import contextlib
import io
import math
import re
import shutil

import numpy as np
import pytest

from hutch.core.errors import HutchError
from hutch.vw.main import run

RELATIVE = 2e-5


def _words(line):
    return [word for word in line.split() if word]


def _run_case(case, folder):
    """Run all calls of a case in a folder; yields (call, exit status, error text, stderr)."""
    for source in [*case.glob("*.vw"), *case.glob("*.json")]:
        if source.name != "api.json":
            shutil.copy(source, folder)
    for k, line in enumerate((case / "args").read_text().strip("\n").split("\n"), 1):
        data = next(case.glob("test.*" if k > 1 and list(case.glob("test.*")) else "input.*")).name
        words = ["-d", data, *_words(line), "-p", f"out{k}.pred"]
        words += [] if "-r" in words else ["-r", f"out{k}.raw"]
        if not {"--ksvm", "--OjaNewton"} & {*words}:  # they have other weights than VW writes, or none
            words += ["--readable_model", f"out{k}.hex", "--hexfloat_weights"]
        told, out, status, error = io.StringIO(), io.StringIO(), 1, None
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(out):
            try:
                status = run(words)
            except HutchError as problem:
                error = str(problem)
        yield k, status, error, told.getvalue() or out.getvalue()


def _compare_text(ours, theirs):
    """`equal`, `close` or `different`."""
    if ours == theirs:
        return "equal"
    pairs = list(zip(ours.split(), theirs.split(), strict=False))
    if len(ours.split()) != len(theirs.split()) or not pairs:
        return "different"
    for mine, other in pairs:
        try:
            near = math.isclose(float(mine), float(other), rel_tol=RELATIVE, abs_tol=1e-6)
        except ValueError:
            near = mine == other
        if not near:
            return "different"
    return "close"


def _weights_of(path):
    """Rows and their numbers as text, as they stand in a readable model."""
    return dict(re.findall(r"^(\d+):(.*)$", path.read_text(errors="replace"), re.MULTILINE))


def _same_weights(ours, theirs):
    """Whether all weights are the same float32; where VW wrote six digits, to those.

    After a weight, VW writes the optimizer's state where it goes on with a model of FTRL or coin betting; a readable
    model of Hutch holds weights alone.
    """
    if ours.keys() != theirs.keys():
        return False
    for row, text in theirs.items():
        for mine, other in zip(ours[row].split(), text.split(), strict=False):
            value = float.fromhex(mine)
            if (
                (other != f"{value:g}")
                if "0x" not in other
                else (np.float32(value) != np.float32(float.fromhex(other)))
            ):
                return False
    return True


def _table_of(text):
    """The progress table and the footer, without what names files or VW writes to standard output."""
    lines = [
        line
        for line in text.splitlines()
        if not re.match(r"\S+:\d+:\d+: |\d+ x .*(, first at |, as in VW)|Termination condition|Zero or neg", line)
    ]
    start = next((i for i, line in enumerate(lines) if line.startswith(("average  since", "## avg. loss"))), None)
    rows = (line.rstrip() for line in lines[start:])
    return None if start is None else [row for row in rows if not re.search("cache_file = |datafile = ", row)]


def _outcomes(case, folder):
    """The outcome of each call: (call, kind of output, outcome)."""
    found = []
    for k, status, error, told in _run_case(case, folder):
        wanted_status = int((case / f"out{k}.exit").read_text() or 0)
        strict = "--strict_parse" in (case / "args").read_text()  # VW stops, and its Python entry point says nothing
        if wanted_status or strict or not (case / f"out{k}.pred").exists():
            found.append((k, "error", "equal" if status and error else "different"))
            continue
        if error:
            return [*found, (k, "predictions", f"refused: {error}")]
        ours = (folder / f"out{k}.pred").read_bytes().decode("latin1")
        found.append((k, "predictions", _compare_text(ours, (case / f"out{k}.pred").read_bytes().decode("latin1"))))
        hexadecimal = case / f"out{k}.model_hex.txt"
        if hexadecimal.exists():
            same = _same_weights(_weights_of(folder / f"out{k}.hex"), _weights_of(hexadecimal))
            found.append((k, "weights", "equal" if same else "different"))
        theirs = _table_of((case / f"out{k}.stderr").read_text(errors="replace"))
        if theirs is not None:
            found.append((k, "table", "equal" if _table_of(told) == theirs else "different"))
    return found


@pytest.fixture
def run_case():
    """Runs all calls of a case in a folder."""
    return _run_case


@pytest.fixture
def outcomes():
    """Tells what became of each call of a case: (call, kind of output, outcome)."""
    return _outcomes


@pytest.fixture(scope="module")
def counts():
    """Counts outcomes over all cases, and prints them at the end."""
    found = {}
    yield found
    print("\nagainst VW 9.11.9:")
    for (kind, outcome), names in sorted(found.items()):
        print(
            f"  {kind} {outcome}: {len(names)}" + ("" if outcome == "equal" else f" ({', '.join(sorted(set(names)))})")
        )
