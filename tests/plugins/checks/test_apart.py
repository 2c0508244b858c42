"""`hutch plugins check` outlives what it checks: an endless loop, a crash, a full memory are checks that fail."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import forked_hutch

LAYER = """
import os
import numpy as np
from numpy import uint64
from hutch.plugin import (
    Kernels, Labels, Limits, Predictions, Record, Reduction, float32s_at, kernel, learn_next, predict_next, registering,
    state_of,
)

STATE = np.dtype([("sums", "u8"), ("size", "u8")])
state = state_of(STATE)


@kernel
def predict(layer, example, label, importance, offset):
    return predict_next(layer, example, label, importance, offset)


@kernel
def learn(layer, example, label, importance, offset):
    sums = float32s_at(state(layer).sums, state(layer).size)
    k = uint64(0)
    sums[k] += importance  # HERE
    return learn_next(layer, example, label, importance, offset)


class Sums(Reduction):
    '''Sums up.'''

    name = "sums"
    takes, predicts = Labels.SIMPLE, Predictions.SCALAR
    kernels = Kernels(learn, predict)
    keeps = {"sums": Limits()}

    def __init__(self, parameters, context):
        super().__init__(parameters, context)
        self.state = Record(STATE, sums=np.zeros(8, np.float32), size=8)
        # THERE


hutch_register_reductions = registering(Sums)
"""


def checked(folder: Path, source: str, *options: str) -> tuple[list[dict[str, Any]], int]:
    """The results of a plugin's checks, and the exit status."""
    (folder / "w_sums.py").write_text(source)
    info = folder / "w_sums-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: w-sums\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text("[hutch]\nw_sums = w_sums\n")
    done = subprocess.run(
        [forked_hutch.hutch(), "plugins", "check", "sums", "--json", *options],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)["checks"], done.returncode


def failed(results: list[dict[str, Any]]) -> dict[str, str]:
    return {each["check"]: each["why"] for each in results if each["result"] == "failed"}


def place(folder: Path, source: str, text: str) -> str:
    return f"{folder}/w_sums.py:{source[: source.index(text)].count(chr(10)) + 1}"


@pytest.mark.slow
def test_a_sound_layer_passes_in_every_way(tmp_path: Path) -> None:
    results, status = checked(tmp_path, LAYER)
    assert (failed(results), status) == ({}, 0)
    assert results[-1] == {"check": "sums:three_ways", "result": "passed", "why": None}
    assert len({each["check"] for each in results}) == len(results) > 30


@pytest.mark.slow
def test_an_endless_loop_is_one_sentence_with_its_line(tmp_path: Path) -> None:
    source = LAYER.replace("  # HERE", "\n    while importance > 2:\n        k += uint64(1)")
    results, status = checked(tmp_path, source, "--limit", "15")
    (first, why), (second, rest) = failed(results).items()
    assert first == "sums:importance"
    assert why.startswith(f"did not end within 15 s; CPython is at {tmp_path}/w_sums.py:")
    assert (second, rest) == ("all other checks", "not run, since this would go on")
    assert status == 1


@pytest.mark.slow
def test_a_crash_is_one_sentence_with_its_line_and_the_index(tmp_path: Path) -> None:
    source = LAYER.replace("k = uint64(0)", "k = uint64(1) << uint64(40)")
    results, status = checked(tmp_path, source)
    why = failed(results)["sums:width"]
    assert why.startswith("ended the process: a segmentation fault (SIGSEGV); CPython: ")
    assert place(tmp_path, source, "sums[k]") in why
    assert "IndexError: index 1099511627776 is out of bounds" in why
    assert failed(results)["all other checks"] == "not run, since this would go on"
    assert status == 1


@pytest.mark.slow
def test_a_write_behind_an_array_that_does_not_crash_is_found(tmp_path: Path) -> None:
    source = LAYER.replace("k = uint64(0)", "k = uint64(9)")
    results, _ = checked(tmp_path, source)
    why = failed(results)["sums:three_ways"]
    assert "w_sums.py" in why
    assert "index 9 is out of bounds for length 8" in why


@pytest.mark.slow
def test_a_full_memory_is_one_sentence(tmp_path: Path) -> None:
    source = LAYER.replace("# THERE", "self.hog = [bytes(1 << 28) for _ in range(99)]")
    results, status = checked(tmp_path, source)
    assert {why.removeprefix("machine code with checks: ") for why in failed(results).values()} == {"out of memory"}
    assert status == 1


@pytest.mark.slow
@pytest.mark.parametrize("start", ["hash('w')", "os.getpid()"])
def test_what_depends_on_the_process_is_found(tmp_path: Path, start: str) -> None:
    source = LAYER.replace("# THERE", f"self.state.targets['sums'][0] = {start} % 1000")
    results, _ = checked(tmp_path, source)
    assert failed(results) == {
        "sums:three_ways": "layer.0.sums.sums after 3 examples: two processes differ, wanted the same bits; results "
        "must not depend on the process: its hash(), its number, the time, the order of a set"
    }


def test_a_plugin_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = subprocess.run([forked_hutch.hutch(), "plugins", "check", "linnear"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert "'linnear' is not installed; did you mean 'linear'?" in done.stderr
