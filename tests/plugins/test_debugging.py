"""`hutch plugins debug`: a plugin's kernels in a debugger, in tracebacks, in coverage; mistakes have their line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hutch.core.errors import PluginError
from hutch.plugins.debugging import modules_of
from hutch.plugins.manager import Plugins
from tests import forked_hutch

LAYER = """
import numpy as np
from numpy import uint64
from hutch.plugin import (
    Kernels, Labels, Limits, Predictions, Record, Reduction, check, example_of, float32s_at, helper, kernel, layer_of,
    learn_next, predict_next, registering, state_of, uint32s_at,
)

STATE = np.dtype([("sums", "u8"), ("size", "u8"), ("seen", "f8")])
state = state_of(STATE)


@helper
def add(s, value):
    sums = float32s_at(s.sums, s.size)
    sums[uint64(s.seen)] += value
    s.seen += 1
    return sums


@kernel
def predict(layer, example, label, importance, offset):
    return predict_next(layer, example, label, importance, offset)


@kernel
def learn(layer, example, label, importance, offset):
    s = state(layer)
    sums = add(s, label)  # HERE
    return learn_next(layer, example, label, importance, offset)


class Sums(Reduction):
    '''Keeps the labels.'''

    name = "sums"
    takes, predicts = Labels.SIMPLE, Predictions.SCALAR
    kernels = Kernels(learn, predict)
    keeps = {"sums": Limits(finite=True), "seen": Limits(0, 8)}

    def __init__(self, parameters, context):
        super().__init__(parameters, context)
        self.state = Record(STATE, sums=np.zeros(8, np.float32), size=8)


hutch_register_reductions = registering(Sums)
"""
LINES = "".join(f"{k % 2} |f a{k}\n" for k in range(6))


def start(folder: Path, source: str, *words: str, stdin: str = "", **environment: str) -> tuple[str, str, int]:
    """Install a plugin, and run a command beside its chain and data."""
    (folder / "w_sums.py").write_text(source)
    info = folder / "w_sums-1.5.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: w-sums\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text("[hutch]\nw_sums = w_sums\n")
    (folder / "c.yaml").write_text("chain:\n  - sums\n  - linear\n")
    (folder / "d.vw").write_text(LINES)
    known = {**os.environ, "PYTHONPATH": str(folder), **environment}
    done = subprocess.run(
        [forked_hutch.hutch(), *words], cwd=folder, env=known, capture_output=True, text=True, input=stdin
    )
    return done.stdout, done.stderr.replace(str(folder), "DIR"), done.returncode


TRAIN = ("train", "d.vw", "-C", "c.yaml", "--quiet")


def line_of(text: str, source: str = LAYER) -> int:
    return source[: source.index(text)].count("\n") + 1


def test_a_breakpoint_stops_within_a_kernel_and_sees_its_variables(tmp_path: Path) -> None:
    source = LAYER.replace("  # HERE", "; breakpoint()")
    typed = "p sums, label\np s\np s.seen + 1\np example_of(example).label\nnext\nstep\nq\n"
    said, errors, status = start(tmp_path, source, "plugins", "debug", "w-sums", *TRAIN, stdin=typed)
    assert f"w_sums.py({line_of('return learn_next')})learn()" in said
    assert "(array([0., 0., 0., 0., 0., 0., 0., 0.], dtype=float32), np.float32(0.0))" in said
    assert "size=8" in said
    assert "interpreted" not in said  # no step leads into the interpreter
    assert (errors, status) == ("interrupted\n", 130)


def test_print_works_and_the_result_is_that_of_machine_code(tmp_path: Path) -> None:
    source = LAYER.replace("  # HERE", "\n    print('label', label, 'of', s.seen)")
    said, errors, status = start(tmp_path, source, "plugins", "debug", "sums", *TRAIN, "-f", "a.hutch", "-p", "a.txt")
    assert said.splitlines()[:2] == ["label 0.0 of 1.0", "label 1.0 of 2.0"]
    assert (errors, status) == ("", 0)
    start(tmp_path, LAYER, *TRAIN, "-f", "b.hutch", "-p", "b.txt")
    assert (tmp_path / "a.txt").read_bytes() == (tmp_path / "b.txt").read_bytes()
    assert (tmp_path / "a.hutch").read_bytes() == (tmp_path / "b.hutch").read_bytes()


VIEW = "float32s_at(s.sums, s.size)"
MADE = "sums=np.zeros(8, np.float32), size=8)"
WRONG = {
    "an index outside": ("size=8)", "size=8, seen=5)", "add: sums[uint64", "IndexError: index 8 is out of bounds"),
    "a raise": ("    s.seen += 1", "    raise ValueError('no')", "add: raise Value", "ValueError: no"),
    "a wrong dtype": (
        *("np.zeros(8, np.float32)", "np.zeros(8, np.int64)", f"add: sums = {VIEW}"),
        "TypeError: sums: got a view of float32, wanted one of int64, as the array is",
    ),
    "a view that is too long": (
        *(VIEW, "float32s_at(s.sums, uint64(9))", "add: sums = float32s_at(s.sums, uint64(9))"),
        "ValueError: sums: got a view of length 9, wanted at most 8, as the array is",
    ),
    "memory that nobody keeps": (
        *(f"{MADE}\n", f"{MADE[:-9]}.ctypes.data, size=8)\n\n    saved = lambda self: {{}}\n", f"add: sums = {VIEW}"),
        "ValueError: sums: nobody keeps the array at this address; set the field to the array itself",
    ),
    "a record at address 0": (
        *("s = state(layer)", "s = state(uint64(0))", "learn: s = state(uint64(0))"),
        "ValueError: a record at address 0 is read",
    ),
    "no such field": ("s.seen += 1", "s.sen += 1", "add: s.sen += 1", "AttributeError: there is no field 'sen'"),
    "a condition": ("s.seen += 1", "check(s.seen > 3)", "add: check(s.seen", "IndexError: a condition that is"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_have_their_line(tmp_path: Path, name: str) -> None:
    old, new, place, wanted = WRONG[name]
    where, _, line = place.partition(": ")
    assert old in LAYER
    source = LAYER.replace(old, new)
    _, errors, status = start(tmp_path, source, "plugins", "debug", "w-sums", *TRAIN)
    shown = f'  File "DIR/w_sums.py", line {line_of(line, source)}, in {where}\n'
    assert shown in errors
    assert errors.startswith("Traceback")
    assert "interpreted" not in errors
    assert wanted in errors.splitlines()[-1]
    assert errors.splitlines()[-1].startswith(f"DIR/w_sums.py:{line_of(line, source)}: plugin 'w_sums' (w-sums 1.5)")
    assert status == 1


def test_a_debugger_begins_where_an_exception_was_raised(tmp_path: Path) -> None:
    source = LAYER.replace("    s.seen += 1", "    twice = 2 * value\n    raise ValueError('no')")
    words = ("plugins", "debug", "--pdb", "w-sums", *TRAIN)
    said, _, status = start(tmp_path, source, *words, stdin="p twice\nup\np label, offset\nq\n")
    assert "np.float64(0.0)" in said
    assert "(np.float32(0.0), np.uint64(0))" in said
    assert status == 1


def test_its_checks_run_interpreted_without_a_command(tmp_path: Path) -> None:
    source = LAYER.replace("  # HERE", "; open('ran', 'w').close()")
    said, _, _ = start(tmp_path, source, "plugins", "debug", "w-sums")
    assert "failed sums:resume" in said or "passed sums:resume" in said
    assert (tmp_path / "ran").exists()


@pytest.mark.slow
def test_coverage_sees_the_lines_of_kernels(tmp_path: Path) -> None:
    seen = tmp_path / "seen.py"
    seen.write_text(
        "import sys, threading\nlines = set()\n"
        "def trace(frame, event, argument):\n"
        "    if frame.f_code.co_filename.endswith('w_sums.py'):\n"
        "        lines.add((frame.f_code.co_name, frame.f_lineno))\n"
        "    return trace\n"
        "sys.settrace(trace)\nfrom hutch import Chain\n"
        "chain = Chain.from_config('c.yaml')\nchain.learn(open('d.vw').read())\nsys.settrace(None)\n"
        "print(sorted(line for name, line in lines if name in ('add', 'learn')))\n"
    )
    start(tmp_path, LAYER, "--version")
    known = {**os.environ, "PYTHONPATH": str(tmp_path), "HUTCH_INTERPRETED": "w_sums"}
    done = subprocess.run([sys.executable, str(seen)], cwd=tmp_path, env=known, capture_output=True, text=True)
    lines = [line_of(text) for text in ("def add", "sums = float", "sums[uint", "s.seen +=", "return sums")]
    assert done.stderr == ""
    assert {*lines[1:], line_of("s = state(layer)"), line_of("sums = add")} <= {
        *map(int, done.stdout.strip("[]\n").split(","))
    }


def test_names_lead_to_modules() -> None:
    plugins = Plugins(only=())
    assert modules_of("link", plugins) == {"hutch.reductions.link"}
    assert modules_of("linear", plugins) == {"hutch.reductions.linear"}
    with pytest.raises(PluginError, match="'linc' is not installed; .*'link'"):
        modules_of("linc", plugins)


def test_a_kernel_with_too_few_parameters_is_named_with_its_line(tmp_path: Path) -> None:
    source = LAYER.replace("def learn(layer, example, label, importance, offset):", "def learn(layer, example, label):")
    _, errors, status = start(tmp_path, source, "plugins", "debug", "sums", *TRAIN)
    place = line_of("@kernel\ndef learn", source)
    assert errors == f"DIR/w_sums.py:{place}: kernel 'learn': got 3 parameters, wanted 5\n"
    assert status == 1


def test_a_kernel_that_returns_nothing_is_named_with_its_line(tmp_path: Path) -> None:
    source = LAYER.replace("    return learn_next(", "    learn_next(")
    _, errors, status = start(tmp_path, source, "plugins", "debug", "sums", *TRAIN)
    place = line_of("@kernel\ndef learn", source)
    assert f"DIR/w_sums.py:{place}: kernel 'learn': got nothing, wanted a number: a `return` is missing\n" in errors
    assert status == 1


def test_a_layer_without_kernels_is_named(tmp_path: Path) -> None:
    source = LAYER.replace("    kernels = Kernels(learn, predict)\n", "")
    for words in (TRAIN, ("plugins", "debug", "sums", *TRAIN)):
        _, errors, status = start(tmp_path, source, *words)
        assert errors == "w_sums.Sums.kernels of the layer 'sums': got none, wanted it, as every layer has it\n"
        assert status == 1
