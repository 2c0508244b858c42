"""Tables, summaries and the next pairs of a run on votes."""

import io

import numpy as np
import pytest

from hutch.core.errors import UsageError
from hutch.crowd.pairs.islands import bridges, warning
from hutch.crowd.pairs.model import Davidson, Hierarchical
from hutch.crowd.pairs.report import (
    Tally,
    about_sides,
    learn_blocks,
    next_pairs,
    score,
    strength_columns,
    strengths,
    summary,
    votes_of,
    worker_columns,
    write_columns,
)
from hutch.crowd.pairs.votes import from_rows

ROWS = [("ann", "x", "y", "left"), ("bob", "y", "x", "right"), ("ann", "y", "z", "tie"), ("bob", "x", "z", "x")] * 5


def fitted(model):
    votes = from_rows(ROWS)
    state, tally = model.fit(votes).state, Tally()
    tally.add(votes, state)
    return votes, state, tally


def rows_of(file):
    return [line.split("\t") for line in file.getvalue().decode().splitlines()]


def test_strengths():
    _, state, tally = fitted(Davidson())
    file = io.BytesIO()
    write_columns(file, strength_columns(state, tally))
    header, *rows = rows_of(file)
    assert header == ["player", "strength", "low", "high", "win", "votes", "won", "lost", "tied"]
    assert rows[0][0] == "x" and rows[0][5:] == ["15", "15", "0", "0"]
    assert {row[0]: row[5:] for row in rows}["y"] == ["15", "0", "10", "5"]
    assert sum(float(row[1]) for row in rows) == pytest.approx(0, abs=1e-3)
    assert all(float(row[2]) < float(row[1]) < float(row[3]) for row in rows)


def test_workers():
    _, state, tally = fitted(Hierarchical())
    file = io.BytesIO()
    write_columns(file, worker_columns(Hierarchical(), state, tally))
    header, *rows = rows_of(file)
    assert header == ["worker", "votes", "reliability", "low", "high", "side", "tie"]
    assert [row[:2] for row in rows] == [["ann", "10"], ["bob", "10"]]
    assert float(rows[0][6]) > float(rows[1][6])  # every tie is ann's
    with pytest.raises(UsageError, match="davidson treats all workers alike"):
        worker_columns(Davidson(), state, tally)


def test_summary_and_score():
    votes, state, tally = fitted(Davidson())
    found = summary(Davidson(), "batch", state, tally)
    assert (found["players"], found["workers"], found["votes"], found["ties"]) == (3, 2, 20, 5)
    scored = score(Davidson(), state, votes)
    assert scored["accuracy"] == 1.0 and 0 < scored["log_loss"] < np.log(3)
    assert score(Davidson(), state, votes.rows(np.zeros(20, bool))) == {"log_loss": None, "accuracy": None}


def test_the_stream_sums_losses_before_learning():
    votes = from_rows(ROWS)
    model = Davidson()
    _, tally = learn_blocks(model, None, [votes.rows(np.arange(7)), votes.rows(np.arange(7, 20))])
    before = model.learn(votes, model.start([]))
    assert tally.seen == 20
    assert tally.loss == pytest.approx(-np.log(before[np.arange(20), votes.outcomes]).sum())


def test_next_pairs_are_those_that_would_tell_most():
    both = [("w", *sides, winner) for sides in ("xy", "yx") for winner in ("left", "right")]
    votes = from_rows([*both * 20, ("w", "x", "z", "left")])
    state, tally = Davidson().fit(votes).state, Tally()
    tally.add(votes, state)
    rows = next_pairs(state, tally, 4)
    assert all("z" in (row["left"], row["right"]) for row in rows[:2])
    gains = [row["gain"] for row in rows]
    assert gains == sorted(gains, reverse=True)
    assert rows[0]["left"] == "z"  # it has only been right


def test_next_pairs_of_a_stream_and_of_one_player():
    votes = from_rows(ROWS)
    state, tally = learn_blocks(Davidson(), None, [votes])
    assert len(next_pairs(state, tally, 3)) == 3
    assert next_pairs(Davidson().start([]), Tally(), 3) == []
    assert strengths(Davidson().start([])).players == []


ISLANDS = [("w", *sides, "left") for sides in ("ab", "ba", "bc", "cb", "xy", "yx", "xy")] * 5


@pytest.mark.parametrize("learn", ["fit", "stream"])
def test_players_that_were_never_compared_are_ranked_apart(learn):
    votes, model = from_rows(ISLANDS), Davidson()
    state, tally = model.fit(votes).state, Tally()
    tally.add(votes, state)
    if learn == "stream":
        state, tally = learn_blocks(model, None, [votes])
    groups = tally.compared.groups([*state.players])
    assert groups == [["a", "b", "c"], ["x", "y"]]
    found = strengths(state, groups)
    assert found.group.tolist() == [0, 0, 0, 1, 1] and found.players[3] == "x"
    assert found.strength[:3].sum() == pytest.approx(0) and found.strength[3:].sum() == pytest.approx(0)
    votes_of_each = votes_of(state, tally)
    assert bridges(groups, votes_of_each) == [("b", "x")]
    assert "2 groups of players" in (said := warning(groups, votes_of_each)) and "votes on b against x" in said
    file = io.BytesIO()
    write_columns(file, strength_columns(state, tally, groups))
    assert [line.split("\t")[-1] for line in file.getvalue().decode().splitlines()] == ["group", *"11122"]
    joined = from_rows([*ISLANDS, ("w", "a", "x", "left")])
    tally.compared.add(joined)
    assert len(tally.compared.groups([*state.players])) == 1


def test_what_sides_hide_is_told():
    _, state, tally = fitted(Hierarchical())
    assert about_sides(state, tally) == ([], "", False)
    ahead = from_rows([("ann", "base", new, ("left", "right")[k % 2]) for k, new in enumerate("xyxyzz")])
    state, tally = Hierarchical().fit(ahead).state, Tally()
    tally.add(ahead, state)
    assert about_sides(state, tally) == (["base"], "", False)
    winners = from_rows([("ann", "x", "y", "left"), ("ann", "y", "z", "left")] * 6)
    for state, biased in ((Hierarchical().fit(winners).state, False), (Hierarchical().start([]), True)):
        if biased:
            Hierarchical().learn(winners, state)
        tally = Tally()
        tally.add(winners, state)
        assert about_sides(state, tally) == ([], "left", biased)
