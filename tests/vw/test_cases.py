"""Parity with recorded runs of VW 9.11.9: predictions, weights and progress tables of a few hundred command lines."""

import contextlib
import io
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from hutch.core.errors import HutchError
from hutch.vw.main import run

CASES = Path(__file__).parents[2].parent / "shared" / "cases" / "vw"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the recorded runs of VW are not beside this checkout")

OUT_OF_SCOPE = ("other/*", "active/a20*", "multi/k26*", "multi/k27*", "multi/k28*", "multi/k29*", "multi/k30*")
"""Other learners and reductions, and a server's transcript."""

DIFFERENT = {
    "interact/n02_textfeat": "--affix is not supported",
    "interact/n03_textfeat": "--spelling is not supported",
    "interact/n04_textfeat": "--feature_limit is not supported",
    "multi/k12_oaa": "VW stops at the malformed class, Hutch reports it and goes on",
    "multi/k70_mf": "--rank is not supported",
    "passes/m21_nocache_error": "several passes need no cache",
}
"""Calls whose predictions or weights differ, and why."""

DIFFERENT_TABLES = {
    "model/t04_options_saved": "the loss is kept in the model",
    "model/t05_preserve_counters": "the table is that of the run",
    "parse/p06_malformed": "the sum of importances counts what a negative one takes away",
}

RELATIVE = 2e-5


def _names():
    for args in sorted(CASES.glob("*/*/args")):
        name = f"{args.parent.parent.name}/{args.parent.name}"
        if not any(Path(name).match(pattern) for pattern in OUT_OF_SCOPE):
            yield name


def _words(line):
    return [word for word in line.split() if word]


def run_case(name, folder):
    """Run all calls of a case in a folder; yields (call, exit status, error text, stderr)."""
    case = CASES / name
    for source in case.glob("*.vw"):
        shutil.copy(source, folder)
    for k, line in enumerate((case / "args").read_text().strip("\n").split("\n"), 1):
        data = "test.vw" if k > 1 and (case / "test.vw").exists() else "input.vw"
        words = ["-d", data, *_words(line), "-p", f"out{k}.pred"]
        words += [] if "-r" in words else ["-r", f"out{k}.raw"]
        words += ["--readable_model", f"out{k}.hex", "--hexfloat_weights"]
        told, out, status, error = io.StringIO(), io.StringIO(), 1, None
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(out):
            try:
                status = run(words)
            except HutchError as problem:
                error = str(problem)
        yield k, status, error, told.getvalue() or out.getvalue()


def compare_text(ours, theirs):
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


def weights_of(path):
    """Rows and their numbers as text, as they stand in a readable model."""
    return dict(re.findall(r"^(\d+):(.*)$", path.read_text(errors="replace"), re.MULTILINE))


def same_weights(ours, theirs):
    """Whether all numbers are the same float32; where VW wrote six digits, to those."""
    if ours.keys() != theirs.keys():
        return False
    for row, text in theirs.items():
        for mine, other in zip(ours[row].split(), text.split(), strict=True):
            value = float.fromhex(mine)
            if (
                (other != f"{value:g}")
                if "0x" not in other
                else (np.float32(value) != np.float32(float.fromhex(other)))
            ):
                return False
    return True


def table_of(text):
    """The progress table and the footer, without what names files."""
    lines = [line for line in text.splitlines() if not re.match(r"\S+:\d+:\d+: |\d+ x .*, first at ", line)]
    start = next((i for i, line in enumerate(lines) if line.startswith("average  since")), None)
    return None if start is None else [line.rstrip() for line in lines[start:]]


def outcomes(name, folder):
    """What became of each call: (call, kind of output, outcome)."""
    case, found = CASES / name, []
    for k, status, error, told in run_case(name, folder):
        wanted_status = int((case / f"out{k}.exit").read_text() or 0)
        strict = "--strict_parse" in (case / "args").read_text()  # VW stops, and its Python entry point says nothing
        if wanted_status or strict or not (case / f"out{k}.pred").exists():
            found.append((k, "error", "equal" if status and error else "different"))
            continue
        if error:
            return [*found, (k, "predictions", f"refused: {error}")]
        ours = (folder / f"out{k}.pred").read_bytes().decode("latin1")
        found.append((k, "predictions", compare_text(ours, (case / f"out{k}.pred").read_bytes().decode("latin1"))))
        hexadecimal = case / f"out{k}.model_hex.txt"
        if hexadecimal.exists():
            same = same_weights(weights_of(folder / f"out{k}.hex"), weights_of(hexadecimal))
            found.append((k, "weights", "equal" if same else "different"))
        theirs = table_of((case / f"out{k}.stderr").read_text(errors="replace"))
        if theirs is not None:
            found.append((k, "table", "equal" if table_of(told) == theirs else "different"))
    return found


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


@pytest.mark.parametrize("name", [name for name in _names() if not name.startswith("errors/")])
def test_same_as_vw(name, tmp_path, monkeypatch, counts):
    monkeypatch.chdir(tmp_path)
    for k, kind, outcome in outcomes(name, tmp_path):
        counts.setdefault((kind, outcome.partition(":")[0]), []).append(name)
        known = DIFFERENT | DIFFERENT_TABLES if kind == "table" else DIFFERENT
        if name not in known:
            assert (k, kind, outcome) == (k, kind, "equal")


@pytest.mark.parametrize("name", [name for name in _names() if name.startswith("errors/") and "help" not in name])
def test_wrong_command_lines_say_what_is_wrong(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [(_, status, error, _)] = run_case(name, tmp_path)
    assert status != 0
    culprit = next(word for word in reversed(_words((CASES / name / "args").read_text())) if word)
    assert culprit.lstrip("-") in error or (CASES / name / "args").read_text().split()[0].lstrip("-") in error
