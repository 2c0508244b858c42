"""Tables of choices: the same decisions as records of them, from files and frames, and what is wrong with its place."""

import json
import random

import numpy as np
import pytest

from hutch import Chain, evaluate
from hutch.core.batch import Batch, joined
from hutch.core.errors import ConfigError, DataError

ACTIONS = ["red", "green", "blue"]
LAYERS = [
    {"explore_epsilon": {"epsilon": 0.1}},
    "contextual_bandit",
    "cost_sensitive_with_features",
    {"linear": {"interactions": [["visitor", "action"]]}},
]


def rows(count=300, seed=0):
    """Visitors of two segments, an action of three at random, a click."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        segment, age, action = draw.choice(["new", "loyal"]), draw.randrange(18, 80), draw.randrange(3)
        likely = (0.6, 0.1, 0.1) if segment == "new" else (0.1, 0.1, 0.6)
        found.append((segment, age, ACTIONS[action], 0.25 if action else 0.5, int(draw.random() < likely[action])))
    return found


def text(given, header="segment,age,action,propensity,click"):
    return "\n".join([header, *(",".join(map(str, row)) for row in given)]) + "\n"


def config(**columns):
    return {
        "input": {"columns": {"classes": ACTIONS, "namespaces": {"visitor": "*"}, **columns}},
        "chain": LAYERS,
    }


def records(given):
    return [
        {
            "shared": {"visitor": {"segment": segment, "age": age}},
            "actions": [{"action": name} for name in ACTIONS],
            "chosen": ACTIONS.index(action),
            "cost": -click,
            "probability": probability,
        }
        for segment, age, action, probability, click in given
    ]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(text(rows()))
    return path


def test_a_table_is_the_decisions_of_its_rows(log):
    table, plain = Chain.from_config(config()), Chain.from_config({"chain": LAYERS})
    assert np.array_equal(table.learn(log), plain.learn(records(rows())))
    new = log.with_name("new.csv")
    new.write_text("segment,age\nnew,20\nloyal,70\n")
    visitors = [{"segment": "new", "age": 20}, {"segment": "loyal", "age": 70}]
    asked = [{"shared": {"visitor": each}, "actions": [{"action": name} for name in ACTIONS]} for each in visitors]
    assert np.array_equal(table.predict(new), plain.predict(asked))


def test_estimates_are_those_of_records(log):
    assert evaluate(log, config()) == evaluate(records(rows()), {"chain": LAYERS})
    found = evaluate(log, config())
    assert found.decisions == 300 and found.dr.high < found.logged


def test_frames_and_parquet_are_read_alike(log, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.read_csv(log)
    frame.to_parquet(tmp_path / "log.parquet")
    wanted = evaluate(log, config())
    assert evaluate(frame, config()) == wanted
    assert evaluate(tmp_path / "log.parquet", config()) == wanted
    chain = Chain.from_config(config())
    chain.learn(frame[:100])
    chain.learn(frame[100:])
    whole = Chain.from_config(config())
    whole.learn(frame)
    assert np.array_equal(chain.predict(frame[:5]), whole.predict(frame[:5]))


def test_rows_and_lines_of_json_are_read_alike(log, tmp_path):
    keys = ("segment", "age", "action", "propensity", "click")
    given = [dict(zip(keys, row, strict=True)) for row in rows()]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in given))
    wanted = evaluate(log, config())
    assert evaluate(given, config()) == wanted and evaluate(path, config()) == wanted
    asked = [{"segment": "new", "age": 20}]
    chain = Chain.from_config(config())
    chain.learn(given)
    assert chain.predict(asked).shape == (3,)
    with pytest.raises(DataError, match="<records>:2: action: got 'mauve', wanted an action; valid: blue, green, red"):
        chain.learn([given[0], given[1] | {"action": "mauve"}])
    with pytest.raises(DataError, match="<records>:1: cost: got None, wanted a number"):
        chain.learn([given[0] | {"click": "yes"}])
    with pytest.raises(DataError, match="<records>:1: probability: got None, wanted a number above 0, at most 1"):
        chain.learn([given[0] | {"propensity": None}])


def test_several_batches_hold_whole_decisions(tmp_path):
    path = tmp_path / "log.csv"
    given = rows(60_000)
    path.write_text(text(given))
    chain = Chain.from_config(config())
    batches = [batch.copied() for batch in chain.batches(path)]
    assert len(batches) > 1 and sum(len(batch) for batch in batches) == 4 * len(given)
    assert np.array_equal(np.concatenate([batch.group for batch in batches]), np.repeat(np.arange(60_000), 4))


def test_chains_of_classes_take_the_action_for_the_label(log):
    layers = [{"action_per_class": {"classes": 3}}, *LAYERS[:-1], "linear"]
    table, plain = (Chain.from_config({**config(), "chain": layers}) for _ in range(2))
    lines = [f"{1 + ACTIONS.index(a)}:{-click}:{p} |visitor segment:{s} age:{age}" for s, age, a, p, click in rows()]
    assert np.array_equal(table.learn(log)[:1], plain.learn(lines[:1]))
    (batch,) = table.batches(log)
    assert batch.cost_classes[:3].tolist() == [1 + ACTIONS.index(row[2]) for row in rows()[:3]]


def test_costs_other_names_and_rows_without_an_outcome(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("who,arm_id,loss,pi\nann,red,2.5,0.5\nbob,,,\ncy,blue,,0.5\n")
    columns = {"action": "arm_id", "cost": "loss", "probability": "pi"}
    batch = joined(*map(Batch.copied, Chain.from_config(config(**columns)).batches(path)))
    known = batch.probabilities > 0
    assert batch.costs[known].tolist() == [2.5] and batch.probabilities[known].tolist() == [0.5]
    assert np.count_nonzero(batch.probabilities == -1) == 3 and len(batch) == 12


USUAL = "x,action,propensity,click"


@pytest.mark.parametrize(
    ("header", "row", "columns", "message"),
    [
        (
            USUAL,
            "a,mauve,0.5,1",
            {},
            "log.csv:2: column 'action': got 'mauve', wanted an action; valid: blue, green, red",
        ),
        (USUAL, "a,red,1.5,1", {}, "log.csv:2: column 'propensity': got 1.5, wanted a number above 0, at most 1"),
        (USUAL, "a,red,,1", {}, "log.csv:2: column 'propensity': got none, wanted a number above 0, at most 1"),
        (USUAL, "a,red,0.5,yes", {}, "log.csv:2: column 'click' (label): got 'yes', wanted a number"),
        (
            "x,action,click",
            "a,red,1",
            {},
            "columns of probability: --set input.columns.probability=NAME; `hutch evaluate",
        ),
        ("x,what,gain", "a,red,1", {}, "got the columns x, what, gain, wanted columns of action and reward and probab"),
        (f"{USUAL},cost", "a,red,1,1,1", {}, "wanted costs or rewards: --set input.columns.cost=cost"),
        (USUAL, "a,red,0.5,1", {"classes": []}, "the names of all actions: --set 'input.columns.classes=[\"red\"]'"),
        (USUAL, "a,red,0.5,1", {"action": "actoin"}, "columns.action: no column 'actoin'; did you mean 'action'?"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, header, row, columns, message):
    path = tmp_path / "log.csv"
    path.write_text(f"{header}\n{row}\n")
    with pytest.raises((DataError, ConfigError)) as caught:
        Chain.from_config(config(**columns)).learn(path)
    assert message in str(caught.value)


def test_probabilities_may_be_estimated(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(text([row[:3] + row[4:] for row in rows()], "segment,age,action,click"))
    found = evaluate(path, config(), propensities="estimated")
    assert found.decisions == 300 and found.dr.value < found.logged


def test_other_chains_keep_such_columns_as_features(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("label,action,cost\n1,red,2\n-1,blue,3\n")
    (batch,) = Chain.from_config({"chain": ["linear"]}).batches(path)
    assert batch.row_ptr.tolist() == [0, 3, 6]


def test_rows_of_a_group_are_the_actions_of_one_decision(tmp_path):
    path = tmp_path / "asked.csv"
    path.write_text("group,action\n1,red\n1,blue\n2,red\n2,green\n2,blue\n")
    assert [len(each) for each in Chain.from_config({"chain": LAYERS}).predict_decisions(path)] == [2, 3]


def test_a_trial_has_one_probability_for_all(log, tmp_path):
    text = log.read_text().replace(",0.25,", ",0.5,")
    log.write_text(text)
    wanted = evaluate(log, config())
    lines = [line.rsplit(",", 2)[0] + "," + line.rsplit(",", 1)[1] for line in text.splitlines()]
    path = tmp_path / "trial.csv"
    path.write_text("\n".join(lines) + "\n")
    assert evaluate(path, config(probability=0.5)) == wanted
    keys = lines[0].split(",")
    given = [dict(zip(keys, line.split(","), strict=True)) for line in lines[1:]]
    given = [row | {"age": int(row["age"]), "click": int(row["click"])} for row in given]
    assert evaluate(given, config(probability=0.5)) == wanted
    with pytest.raises(DataError, match="trial.csv:2: columns.probability: got 1.5, wanted a number above 0"):
        Chain.from_config(config(probability=1.5)).learn(path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "got 'click' and 'converted', wanted costs or rewards: --set input.columns.reward=click, and each other"),
        ({"reward": "click"}, "got 'converted', wanted costs or rewards once: list another under input.columns.ignore"),
        ({"reward": "click", "ignore": ["converted"]}, ""),
        ({"reward": "click", "namespaces": {"visitor": ["x", "converted"]}}, ""),
    ],
)
def test_what_came_of_a_choice_is_no_context(tmp_path, columns, message):
    """A second outcome among the features would tell the chain what it is to foretell."""
    path = tmp_path / "log.csv"
    path.write_text("x,action,propensity,click,converted\na,red,0.5,1,1\n")
    row = {"x": "a", "action": "red", "propensity": 0.5, "click": 1, "converted": 1}
    for log in (path, [row]):
        chain = Chain.from_config(config(**columns))
        if message:
            with pytest.raises(ConfigError) as caught:
                chain.learn(log)
            assert message in str(caught.value)
        else:
            assert len(chain.learn(log)) == 3
