"""Votes on pairs from rows and files."""

import numpy as np
import pytest

from hutch.core.errors import DataError, UsageError
from hutch.crowd.pairs.votes import from_rows, read_votes, vote_blocks


def write(tmp_path, text):
    path = tmp_path / "votes.tsv"
    path.write_text(text)
    return path


def test_rows_without_a_header(tmp_path):
    votes = read_votes(write(tmp_path, "ann\tx\ty\tleft\nbob\ty\tx\ttie\n\tx\ty\tright\n"))
    assert votes.players == ["x", "y"] and votes.worker_names == ["ann", "bob", ""]
    assert votes.left.tolist() == [0, 1, 0] and votes.outcomes.tolist() == [0, 2, 1]
    assert votes.features == [] and votes.values.shape == (3, 0)


def test_a_header_names_columns_in_any_order_and_the_rest_are_features(tmp_path):
    text = "prompt,winner,model_a,model_b,turn\np1,model_b,x,y,1\np2,tie (bothbad),y,z,\n"
    votes = read_votes(write(tmp_path, text))
    assert votes.features == ["prompt", "turn"] and votes.value_names == [["p1", "p2"], ["1", ""]]
    assert votes.outcomes.tolist() == [1, 2] and votes.worker_names == [""]
    assert read_votes(write(tmp_path, text), ["turn"]).values.tolist() == [[0], [1]]
    assert read_votes(write(tmp_path, text), []).features == []


@pytest.mark.parametrize(
    ("winner", "outcome"),
    [
        ("left", 0),
        ("Model A", 0),
        ("A", 0),
        ("right", 1),
        ("model_b", 1),
        ("draw", 2),
        ("neither", 2),
        ("x", 0),
        ("y", 1),
    ],
)
def test_what_a_vote_may_say(winner, outcome):
    assert from_rows([("w", "x", "y", winner)]).outcomes.tolist() == [outcome]


def test_a_name_of_a_player_goes_before_a_word():
    assert from_rows([("w", "b", "a", "a"), ("w", "b", "a", "b")]).outcomes.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tx\ty\tleft\n\nb\tx\ty\tlft\n", "votes.tsv:3: the winner is 'lft', wanted left, right, tie"),
        ("worker,left,right,winner\na,x,y,left\na,x,x,left\n", "votes.tsv:3: both sides are 'x'"),
        ("a\tx\ty\tz\nb\tx\tz\tz\n", "votes.tsv:1: the winner is 'z'"),
        ("a\tx\ty\n", "votes.tsv:1:1: got 3 fields, wanted 4"),
        ("worker\tleft\trihgt\twinner\n", "votes.tsv:1:1: the header names no right column"),
        ("worker\tleft\tright\twinner\tleft\n", "column 'left' appears twice"),
        ("a\tx\ty\tleft\nb\tx\ty\n", "votes.tsv:2:1: got 3 fields, wanted 4"),
        ("a\tx\t\tleft\n", "the right is empty"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, text, message):
    with pytest.raises(DataError) as caught:
        read_votes(write(tmp_path, text))
    assert message in str(caught.value)


def test_features_must_be_columns(tmp_path):
    with pytest.raises(UsageError, match="did you mean 'prompt'"):
        read_votes(write(tmp_path, "left,right,winner,prompt\nx,y,x,p\n"), ["promt"])
    with pytest.raises(UsageError, match="has no header"):
        read_votes(write(tmp_path, "w,x,y,x\n"), ["prompt"])


def test_blocks_hold_the_votes_of_the_whole_file(tmp_path):
    random = np.random.default_rng(0)
    rows = [f"w{random.integers(5)},p{k % 7},p{k % 7 + 1 + k % 3},left,v{k % 4}" for k in range(500)]
    path = write(tmp_path, "worker,left,right,winner,topic\n" + "\n".join(rows) + "\n")

    def names(votes):
        return [
            (votes.worker_names[w], votes.players[i], votes.players[j], votes.value_names[0][v])
            for w, i, j, v in zip(votes.workers, votes.left, votes.right, votes.values[:, 0], strict=True)
        ]

    blocks = list(vote_blocks(path, chunk_bytes=1000))
    assert len(blocks) > 5
    assert [row for block in blocks for row in names(block)] == names(read_votes(path))


def test_an_error_in_a_later_block_has_its_line(tmp_path):
    path = write(tmp_path, "w,x,y,left\n" * 400 + "w,x,y,nobody\n")
    with pytest.raises(DataError, match=r"votes.tsv:401: the winner is 'nobody'"):
        list(vote_blocks(path, chunk_bytes=500))


def test_nothing(tmp_path):
    assert len(read_votes(write(tmp_path, ""))) == 0
    assert len(read_votes(write(tmp_path, "worker,left,right,winner\n"))) == 0
    assert list(vote_blocks(write(tmp_path, ""))) == []
