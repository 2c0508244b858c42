"""Gain and coverage on factors of real answers, as the benchmark of few questions measures them."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT.parent / "shared" / "data" / "faq"
SPEC = importlib.util.spec_from_file_location(
    "few_questions", ROOT / "benchmarks" / "research" / "benchmark" / "few_questions.py"
)
assert SPEC is not None and SPEC.loader is not None
few_questions = importlib.util.module_from_spec(SPEC)
sys.modules["few_questions"] = few_questions
SPEC.loader.exec_module(few_questions)


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the factors of published answers")
@pytest.mark.parametrize(
    ("kind", "labels", "least", "narrow"),
    [("usual", 100, 2.2, 0.8), ("random", 30, 0.95, 1.1), ("reversed", 100, 1.6, 0.9), ("rate .03", 30, 0.95, 1.5)],
)
def test_gain_and_coverage(kind, labels, least, narrow):
    """Two standard errors of 100 runs are .044."""
    row = few_questions.Row("mmlu_pro", 200, (labels,), 1000, kind)
    made = few_questions.simulate(FOLDER, row, 77)
    plain, variance, _, cover, half, _ = np.array([*few_questions.measured(made, labels, 100, 77)]).T
    assert plain.mean() / variance.mean() >= least
    assert cover.mean() >= 0.9
    assert half.mean() < narrow * 1.96 * np.sqrt(plain).mean()
