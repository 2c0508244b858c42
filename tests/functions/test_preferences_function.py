"""`hutch.preferences`: frames and files in, what the command prints out."""

import pandas
import pytest

import hutch
from hutch.core.errors import HutchError

ROWS = [("ann", "x", "y", "left"), ("bob", "y", "x", "right"), ("ann", "y", "z", "tie"), ("bob", "x", "z", "x")] * 5
FRAME = pandas.DataFrame(ROWS, columns=["user", "model_a", "model_b", "winner"])


def test_a_frame_and_its_file_say_the_same(tmp_path, capsys):
    path = tmp_path / "votes.csv"
    FRAME.to_csv(path, index=False)
    found = hutch.preferences(FRAME)
    assert found.text == hutch.preferences(path).text and repr(found) == found.text
    table = found.to_frame()
    assert table.index[0] == "x" and table.columns.tolist()[:4] == ["strength", "low", "high", "win"]
    assert table.votes.sum() == 2 * len(FRAME) and table.won["x"] == 15
    workers = found.workers()
    assert workers.index.tolist() == ["ann", "bob"] and workers.votes.tolist() == [10, 10]
    assert found.next(2).gain.is_monotonic_decreasing
    assert found.verdict[0].startswith(("x is the strongest", "Cannot tell"))


def test_columns_features_and_models_are_named():
    renamed = FRAME.rename(columns={"model_a": "one", "model_b": "other"}).assign(topic=["a", "b"] * 10)
    found = hutch.preferences(renamed, columns={"left": "one", "right": "other"}, features=["topic"])
    assert found.summary["features"] == ["topic"]
    plain = hutch.preferences(FRAME, model="davidson")
    assert plain.summary["model"] == "davidson"
    with pytest.raises(HutchError, match="no pairs model 'elo'"):
        hutch.preferences(FRAME, model="elo")
    with pytest.raises(HutchError, match="the model davidson treats all workers alike"):
        plain.workers()


def test_what_is_left_out_and_what_was_never_compared_is_a_warning():
    blank = FRAME.assign(winner=FRAME.winner.where(FRAME.index > 1))
    with pytest.warns(UserWarning, match="left out: 2 without a side or a winner"):
        assert hutch.preferences(blank).summary["left_out"] == 2
    apart = pandas.concat([FRAME, FRAME.replace({"x": "p", "y": "q", "z": "r"})])
    with pytest.warns(UserWarning, match="2 groups of players were never compared"):
        found = hutch.preferences(apart)
    assert found.to_frame().group.tolist() == [1, 1, 1, 2, 2, 2] and len(found.summary["groups"]) == 2


def test_strengths_are_drawn():
    pytest.importorskip("matplotlib")
    axes = hutch.preferences(FRAME).plot().axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()][0] in ("x", "z", "y")
