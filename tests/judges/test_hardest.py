"""The items on which judges differ most from people."""

import pytest

from hutch.judges.hardest import hardest
from hutch.judges.runs import read_runs


@pytest.fixture
def runs(tmp_path):
    log = ["judge,item,verdict\n"]
    log += [f"j{j},i{i},{'yes' if j < i else 'no'}\n" for i in range(4) for j in range(3)]
    (tmp_path / "log.csv").write_text("".join(log))
    (tmp_path / "people.csv").write_text("worker,item,label\nann,i0,no\nann,i1,no\nann,i2,no\nann,i3,no\nbob,i3,yes\n")
    return read_runs([tmp_path / "log.csv"], tmp_path / "people.csv")


def test_the_worst_come_first_and_ties_of_people_do_not(runs):
    assert hardest(runs) == [("i2", "no", "yes 2, no 1"), ("i1", "no", "no 2, yes 1")]
    assert hardest(runs, 1) == [("i2", "no", "yes 2, no 1")]
