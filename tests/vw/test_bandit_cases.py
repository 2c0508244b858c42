"""Parity of decisions with recorded runs of VW 9.11.9: predictions, weights, progress tables and losses."""

import fnmatch
from pathlib import Path

import pytest

CASES = Path(__file__).parents[2].parent / "shared" / "cases" / "vw-bandits"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the recorded runs of VW are not beside this checkout")

DIFFERENT = {
    "explore/e31": "last digits of weights: logarithms of random numbers are rounded otherwise",
    "explore/e32": "the same",
    "cb_adf/a30_edges": "a probability above 1 is reported and not learned from",
    "cb_adf/a31_error_two_costs": "reported; VW stops",
    "cb_adf/a33_error_list": "reported; VW stops",
    "cb_adf/a32_error_nan": "a cost that is no number is not learned from; VW takes it for 0",
    "explore/e65_save_resume": "resuming is exact",
    "json/j05_json_edges": "a line without actions is reported, a label after the actions goes to one of them",
    "json/j06_json_edges_chain": "a line without actions is reported, a label after the actions goes to one of them",
    "json/j08_json_simple": "an empty line is reported; VW stops reading",
    "json/j10_numbers": "a number beyond float32 is reported; VW learns infinity",
}
"""Cases whose predictions, weights or losses differ, and why."""

DIFFERENT_TABLES = {
    "ldf/l3[0235]*": "VW calls labels known that are not, and has no sums since its last row beside 3.4e38",
    "ldf/l34*": "VW writes `unknown` for a loss that is not there, Hutch `n.a.`",
    "ldf/l09": "VW tells the loss of another line where a decision has a shared one",
    "ldf/l07": "VW writes `1.....` for a list that begins with 1",
    "json/j04*": "VW counts the shared features of a decision once in the footer",
    "cbify/c1[45]": "VW shows the prediction of a decision's last line, mostly 0",
    "cb_adf/*": "VW counts the shared features of a decision once in the footer",
}


def _names():
    for args in sorted(CASES.glob("*/*/args")):
        yield f"{args.parent.parent.name}/{args.parent.name}"


@pytest.mark.parametrize("name", [name for name in _names()])
def test_same_as_vw(name, tmp_path, monkeypatch, outcomes, counts):
    monkeypatch.chdir(tmp_path)
    for k, kind, outcome in outcomes(CASES / name, tmp_path):
        counts.setdefault((kind, outcome.partition(":")[0]), []).append(name)
        tables = kind == "table" and any(fnmatch.fnmatch(name, pattern) for pattern in DIFFERENT_TABLES)
        if name not in DIFFERENT and not tables:
            assert (k, kind, outcome) == (k, kind, "equal")
