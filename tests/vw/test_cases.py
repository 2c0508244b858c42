"""Parity with recorded runs of VW 9.11.9: predictions, weights and progress tables of a few hundred command lines."""

from pathlib import Path

import pytest

CASES = Path(__file__).parents[2].parent / "shared" / "cases" / "vw"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the recorded runs of VW are not beside this checkout")

OUT_OF_SCOPE = ("other/*", "active/a20*", "multi/k26*", "multi/k27*", "multi/k28*", "multi/k29*", "multi/k30*")
"""Other learners and reductions, and a server's transcript."""

DIFFERENT = {
    "active/a04": "--direct is not supported",
    "interact/i41_full_names": "--experimental_full_name_interactions is not supported",
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


def _names():
    for args in sorted(CASES.glob("*/*/args")):
        name = f"{args.parent.parent.name}/{args.parent.name}"
        if not any(Path(name).match(pattern) for pattern in OUT_OF_SCOPE):
            yield name


@pytest.mark.parametrize("name", [name for name in _names() if not name.startswith("errors/")])
def test_same_as_vw(name, tmp_path, monkeypatch, outcomes, counts):
    monkeypatch.chdir(tmp_path)
    for k, kind, outcome in outcomes(CASES / name, tmp_path):
        counts.setdefault((kind, outcome.partition(":")[0]), []).append(name)
        known = DIFFERENT | DIFFERENT_TABLES if kind == "table" else DIFFERENT
        if name not in known:
            assert (k, kind, outcome) == (k, kind, "equal")


@pytest.mark.parametrize("name", [name for name in _names() if name.startswith("errors/") and "help" not in name])
def test_wrong_command_lines_say_what_is_wrong(name, tmp_path, monkeypatch, run_case):
    monkeypatch.chdir(tmp_path)
    [(_, status, error, _)] = run_case(CASES / name, tmp_path)
    assert status != 0
    culprit = next(word for word in reversed((CASES / name / "args").read_text().split()) if word)
    assert culprit.lstrip("-") in error or (CASES / name / "args").read_text().split()[0].lstrip("-") in error
