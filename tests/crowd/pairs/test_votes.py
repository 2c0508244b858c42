"""Votes on pairs from rows and files."""

import json

import numpy as np
import pytest

from hutch.core.errors import DataError, UsageError
from hutch.crowd.data.values import Problems
from hutch.crowd.pairs.votes import from_rows, read_votes, vote_blocks
from hutch.crowd.read.labels import read_labels


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
        ("tie (inconsistent)", 2),
        ("tie (bothbad)", 2),
        ("model_a (much better)", 0),
        ("1.0", 0),
        ("2", 1),
        ("1.5", 2),
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
        ('{"left": "x", "right": "y", "winner": "lft"}\n', "votes.tsv: record 1: the winner is 'lft'"),
        (
            '{"left": "x", "right": "y", "winner": "left"}\n{"left": "x", "right": "x", "winner": "tie"}\n',
            "votes.tsv:2: both sides are 'x'",
        ),
        ('[{"answer_1": "x", "answer_2": "y", "winner": "left"}]', "the header names no left column, got answer_1"),
        ("[5]", "votes.tsv"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, text, message):
    with pytest.raises(DataError) as caught:
        read_votes(write(tmp_path, text))
    assert message in str(caught.value)


BLANK = "worker,left,right,winner,topic\nann,x,y,left,p\nbob,x,y,,q\ncy,,y,right,q\nann,y,z,N/A,r\nann,y,z,tie,q\n"


@pytest.mark.parametrize("chunk_bytes", [0, 50])
def test_votes_that_are_blank_are_left_out_and_counted(tmp_path, chunk_bytes):
    problems, path = Problems(), write(tmp_path, BLANK)
    blocks = list(vote_blocks(path, problems=problems, chunk_bytes=chunk_bytes))
    assert [len(block) for block in blocks if len(block)] == ([2] if not chunk_bytes else [1, 1])
    assert problems.lines("votes") == ["votes: left out: 3 without a side or a winner (first: line 3)"]
    whole = read_votes(path)
    assert whole.worker_names == ["ann"] and whole.players == ["x", "y", "z"] and whole.value_names == [["p", "q"]]
    kept = "".join(BLANK.splitlines(True)[i] for i in (0, 1, 5))
    same = read_votes(write(tmp_path, kept))
    for name in ("workers", "left", "right", "outcomes", "values"):
        assert getattr(whole, name).tolist() == getattr(same, name).tolist(), name


ARENA = [
    {"question_id": "c0fc", "model_a": "vicuna", "model_b": "koala", "winner": "model_a", "judge": "arena_user_973",
     "conversation_a": [{"role": "user", "content": "Hi"}], "conversation_b": [], "turn": 1, "anony": True,
     "language": "English", "tstamp": 1682351591.1322, "toxic_chat_tag": {"flagged": False}},
    {"question_id": "c0fd", "model_a": "koala", "model_b": "alpaca", "winner": "tie (bothbad)",
     "judge": "arena_user_2", "turn": 2, "anony": True, "language": "German", "tstamp": 1682351592.0},
    {"question_id": "c0fe", "model_a": "koala", "model_b": "alpaca", "winner": None, "judge": "arena_user_2"},
]  # fmt: skip


@pytest.mark.parametrize("text", ["\n".join(map(json.dumps, ARENA)), json.dumps(ARENA)])
def test_the_records_of_an_arena(tmp_path, text):
    problems, path = Problems(), write(tmp_path, text)
    votes = read_votes(path, problems=problems)
    assert votes.players == ["vicuna", "koala", "alpaca"] and votes.worker_names == ["arena_user_973", "arena_user_2"]
    assert votes.outcomes.tolist() == [0, 2] and votes.features == [] and problems.total == 1
    assert read_votes(path, ["language"]).value_names == [["English", "German"]]
    with pytest.raises(UsageError, match="no column 'conversation_a'"):
        read_votes(path, ["conversation_a"])


def pairwise(worker, side, **more):
    result = [{"from_name": "pw", "to_name": "txt-1,txt-2", "type": "pairwise", "value": {"selected": side}}]
    return {"completed_by": worker, "result": result if side else [], "was_cancelled": False} | more


def test_the_pairs_of_label_studio(tmp_path):
    tasks = [
        {"id": 1, "data": {"model_a": "gpt", "model_b": "llama", "text1": "Yes.", "text2": "No."},
         "annotations": [pairwise({"id": 4, "email": "ann@x.org"}, "left"), pairwise(5, "right", was_cancelled=True)]},
        {"id": 2, "data": {"model_a": "llama", "model_b": "gpt", "text1": "No.", "text2": "Yes."},
         "annotations": [pairwise(5, "right"), pairwise(6, None)]},
    ]  # fmt: skip
    problems, path = Problems(), write(tmp_path, json.dumps(tasks))
    votes = read_votes(path, problems=problems)
    assert votes.players == ["gpt", "llama"] and votes.worker_names == ["ann@x.org", "5"]
    assert votes.left.tolist() == [0, 1] and votes.outcomes.tolist() == [0, 1] and problems.total == 1
    assert read_votes(path, columns="left=text1,right=text2").players == ["Yes.", "No."]
    labels = read_labels(path)  # without --pairs, a choice like any other
    assert labels.classes == ["left", "right"] and len(labels) == 2


def test_columns_of_votes_are_named(tmp_path):
    path = write(tmp_path, "who,one,other,better,left\nann,x,y,x,a\n")
    votes = read_votes(path, [], "worker=who,left=one,right=other,winner=better")
    assert votes.players == ["x", "y"] and votes.worker_names == ["ann"]
    with pytest.raises(DataError, match="no column 'oen' for the left; did you mean 'one'"):
        read_votes(path, [], "left=oen")
    with pytest.raises(UsageError, match="no role 'task'; wanted one of|no role 'task'"):
        read_votes(path, [], "task=one")


def test_the_encoding_of_votes_is_named(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_bytes("José,x,y,left\n".encode("cp1252"))
    assert read_votes(path, encoding="cp1252").worker_names == ["José"]
    with pytest.raises(DataError, match="votes.csv:1:1: got bytes that are not UTF-8; --encoding names another"):
        read_votes(path)


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


def test_ids_and_times_are_no_contexts_and_a_weight_is_none(tmp_path):
    rows = [f"q{i},{1690000000 + i},u{i % 3},x,y,{'left' if i % 3 else 'right'},{'de' if i % 2 else 'en'},{i % 4 / 2}\n"
            for i in range(12)]  # fmt: skip
    text = "id,tstamp,worker,left,right,winner,language,weight\n" + "".join(rows)
    votes = read_votes(write(tmp_path, text))
    assert votes.features == ["language"] and votes.weights.tolist() == [i % 4 / 2 for i in range(12)]
    assert votes.form.endswith("contexts language; ids, times, or always the same: id, tstamp")
    assert read_votes(write(tmp_path, text), ["tstamp"]).features == ["tstamp"]
    assert len(votes.rows(np.arange(12) < 5).weights) == 5
    with pytest.raises(DataError, match=r"votes.tsv:4: weight: got 'much', wanted a number from 0"):
        read_votes(write(tmp_path, text.replace("en,1.0\n", "en,much\n", 1)))
    named = read_votes(write(tmp_path, text.replace("weight\n", "count\n")), columns="weight=count")
    assert named.weights.tolist() == votes.weights.tolist()


@pytest.mark.parametrize(("verdict", "outcome"), [("A>>B", 0), ("A>B", 0), ("B>A", 1), ("B>>A", 1), ("A=B", 2)])
def test_verdicts_of_arenas(tmp_path, verdict, outcome):
    votes = read_votes(write(tmp_path, f"worker,left,right,verdict\nann,x,y,{verdict}\n"))
    assert votes.outcomes.tolist() == [outcome]


def test_other_names_of_sides_and_a_header_of_four_other_names(tmp_path):
    votes = read_votes(write(tmp_path, "left_model\tright_model\tchoice\tuser\nx\ty\ty\tann\ny\tz\ttie\tbob\n"))
    assert votes.players == ["x", "y", "z"] and votes.outcomes.tolist() == [1, 2]
    with pytest.raises(DataError, match="names no left column, got llm_1, .*; --columns left=NAME,right=NAME names it"):
        read_votes(write(tmp_path, "llm_1\tllm_2\tchoice\tuser\nx\ty\ty\tann\n"))


def test_numbered_models_are_sides_and_numbered_answers_are_not(tmp_path):
    """AlpacaEval's annotations and FastChat's judgments; numbered answers are texts, which are no players."""
    record = '{"output_1": "a", "generator_1": "x", "output_2": "b", "generator_2": "y", "preference": 2.0}'
    votes = read_votes(write(tmp_path, f"[{record}]"))
    assert votes.players == ["x", "y"] and votes.outcomes.tolist() == [1]
    judged = '{"model_1": "x", "model_2": "y", "g1_winner": "model_2", "g2_winner": "model_1"}\n'
    with pytest.raises(DataError, match="names no winner column, got model_1, .*; --columns winner=NAME names it"):
        read_votes(write(tmp_path, judged))
    assert read_votes(write(tmp_path, judged), columns="winner=g1_winner").outcomes.tolist() == [1]


def test_a_column_of_one_value_is_no_context(tmp_path):
    text = "left,right,winner,anony,language\n" + "x,y,left,True,en\ny,x,tie,True,de\n" * 20
    votes = read_votes(write(tmp_path, text))
    assert votes.features == ["language"] and votes.form.endswith("ids, times, or always the same: anony")


def test_the_greater_score_wins(tmp_path):
    """Scores of both sides, goals, and columns of 0 and 1, as Kaggle's file of an arena has them."""
    text = "home_team,away_team,home_goals,away_goals,league\nx,y,2,1,n\ny,x,0,3,n\nx,z,1,1,n\nz,x,,2,s\n"
    problems = Problems()
    votes = read_votes(write(tmp_path, text), problems=problems)
    assert votes.outcomes.tolist() == [0, 1, 2] and votes.features == ["league"] and problems.total == 1
    text = "model_a,model_b,prompt_a,winner_model_a,winner_model_b,winner_tie,weight\n"
    votes = read_votes(write(tmp_path, text + "x,y,p,1,0,0,2\ny,z,p,0,0,1,1\nx,z,p,0,1,0,1\n"))
    assert votes.outcomes.tolist() == [0, 2, 1] and votes.weights.tolist() == [2, 1, 1]
    assert "winner_tie" not in votes.features
    records = '[{"model_a": "x", "model_b": "y", "score_a": 4, "score_b": 2.5}]'
    assert read_votes(write(tmp_path, records)).outcomes.tolist() == [0]
    with pytest.raises(DataError, match="score_b: got 'good', wanted a number: the side with the greater one wins"):
        read_votes(write(tmp_path, "model_a,model_b,score_a,score_b\nx,y,1,good\n"))


@pytest.mark.parametrize("header", ["chosen_model,rejected_model", "winner,loser", "chosen,rejected"])
def test_winners_may_stand_in_a_column_of_their_own(tmp_path, header):
    votes = read_votes(write(tmp_path, f"user,{header},topic\nann,x,y,a\nbob,z,x,b\nann,z,y,a\n"))
    assert votes.players == ["x", "z", "y"] and votes.outcomes.tolist() == [0, 0, 0]
    assert votes.worker_names == ["ann", "bob"] and votes.features == ["topic"]


@pytest.mark.parametrize("header", ["prompt,chosen_model,rejected_model", "prompt,model_a,model_b,score_a,score_b"])
def test_other_tables_of_votes_need_the_option_too(tmp_path, header):
    rows = [",".join([f"p{k}", *("xy12", "yz31", "zx22")[k % 3][: header.count(",")]]) for k in range(12)]
    with pytest.raises(DataError, match="votes on pairs need --pairs"):
        read_labels(write(tmp_path, "\n".join([header, *rows])))
