"""Decisions that make no sense, in every form: each is named with its place, and the model is that of the others."""

import json
import re
import warnings

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import DataError
from hutch.core.text.parser import ParserOptions, TextParser
from hutch.vw.main import run

CHOICE = {"chain": ["contextual_bandit", "cost_sensitive_with_features", "linear"], "weights": {"bits": 10}}
COSTS = {"chain": ["cost_sensitive_with_features", "linear"], "weights": {"bits": 10}}
BEFORE = "shared |u x\n0:2:0.5 |a p\n|a q\n\n"
AFTER = "shared |u y\n|a p\n1:1:0.25 |a q\n\n"
AFTER_COSTS = "shared |u y\n1:2 |a p\n2:0 |a q\n\n"

TEXT = {
    "probability 0": ("shared |u x\n|a p\n0:1:0 |a q\n\n", "3:1: bad probability"),
    "negative probability": ("0:1:-0.5 |a p\n|a q\n\n", "1:1: bad probability"),
    "probability above 1": ("|a p\n 0:1:1.5 |a q\n\n", "2:2: bad probability"),
    "no probability": ("|a p\n0:1 |a q\n\n", "2:1: bad probability"),
    "probability that is not a number": ("|a p\n0:1:nan |a q\n\n", "2:1: bad probability"),
    "label on two actions": ("shared |u x\n0:1:0.5 |a p\n1:2:0.5 |a q\n\n", "3:1: several labels"),
    "two labels on an action": ("0:1:0.5 1:1:0.5 |a p\n|a q\n\n", "1:1: several labels"),
    "action without features": ("shared |u x\n0:1:0.5 |a p\n|\n\n", "3:1: action without features"),
    "action with names of namespaces only": ("0:1:0.5 |a |b\n|a q\n\n", "1:1: action without features"),
    "action without a bar": ("|a q\n0:1:0.5 \n\n", "2:1: action without features"),
    "cost that is a word": ("0:one:0.5 |a p\n|a q\n\n", "1:1: bad action"),
    "cost that is NaN": ("|a q\n|a r\n7 0:nan:0.5 |a p\n\n", "3:3: bad action"),
    "cost that is infinite": ("0:-inf:0.5 |a p\n|a q\n\n", "1:1: bad action"),
    "shared line alone": ("shared |u x\n\n", "1:1: shared line alone"),
    "shared line after an action": ("0:1:0.5 |a p\nshared |u x\n|a q\n\n", "2:1: shared line after actions"),
    "two shared lines": ("shared |u x\nshared |u y\n0:1:0.5 |a p\n\n", "2:1: shared line after actions"),
    "label on the shared line": ("shared 0:1:0.5 |u x\n|a p\n\n", "1:1: label of a shared line"),
    "label on the shared line and an action": ("shared 0:1:0.5 |u x\n0:1:0.5 |a p\n\n", "1:1: label of a shared line"),
}
TEXT_OF_COSTS = {
    "cost that is NaN": ("1:nan |a p\n2:1 |a q\n\n", "1:1: bad action"),
    "some costs": ("1:1 |a p\n2 |a q\n\n", "1:1: some costs"),
    "two costs of an action": ("1:1 2:3 |a p\n2:1 |a q\n\n", "1:1: several labels"),
    "probability": ("1:1:0.5 |a p\n2:1 |a q\n\n", "1:1: bad action"),
    "action without features": ("1:1 |\n2:1 |a q\n\n", "1:1: action without features"),
    "shared line alone": ("shared |u x\n\n", "1:1: shared line alone"),
    "two shared lines": ("shared |u x\nshared |u y\n1:1 |a p\n\n", "1:1: some costs"),
    "label on the shared line": ("shared 1:1 |u x\n1:1 |a p\n\n", "1:1: label of a shared line"),
}
FORMS = [(CHOICE, BEFORE, AFTER, *one) for one in TEXT.values()]
FORMS += [(COSTS, "1:1 |a p\n2:0 |a q\n\n", AFTER_COSTS, *one) for one in TEXT_OF_COSTS.values()]


def _learned(config, examples):
    chain = Chain.from_config(config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chain.learn(examples)
    return chain.weights.copy()


@pytest.mark.parametrize(("config", "before", "after", "bad", "told"), FORMS, ids=[*TEXT, *TEXT_OF_COSTS])
def test_text(config, before, after, bad, told):
    label = "logged_action" if config is CHOICE else "action_costs"
    parser = TextParser(ParserOptions(label=label), "log.vw")
    parser.parse(bad.encode())
    assert str(parser.problems.kept[0]).startswith(f"log.vw:{told}")
    with pytest.raises(DataError, match=f"log.vw:{told}"):
        TextParser(ParserOptions(label=label, strict=True), "log.vw").parse(bad.encode())
    wanted = _learned(config, before + after)
    assert wanted.any()
    np.testing.assert_array_equal(_learned(config, before + bad + after), wanted)


def _run(tmp_path, capsys, data, *arguments):
    """Run `hutch vw`; return its messages and the weights."""
    (tmp_path / "log").write_text(data)
    model = tmp_path / "weights"
    assert (
        run(["-d", str(tmp_path / "log"), "--cb_explore_adf", "-b", "10", "--readable_model", str(model), *arguments])
        == 0
    )
    return capsys.readouterr().err, re.findall(r"^\d.*", model.read_text(), re.MULTILINE)


_WANTED: dict[str, list[str]] = {}


def _wanted(tmp_path, capsys, data, *arguments):
    """The weights of a run that several cases share."""
    key = " ".join((data, *arguments))
    if key not in _WANTED:
        _WANTED[key] = _run(tmp_path, capsys, data, *arguments)[1]
    return _WANTED[key]


@pytest.mark.parametrize("name", [name for name in TEXT if "action with" not in name])
def test_text_of_vw(name, tmp_path, capsys):
    bad, told = TEXT[name]
    line, _, rest = told.partition(":")
    said, weights = _run(tmp_path, capsys, BEFORE + bad + AFTER)
    assert f"{tmp_path / 'log'}:{int(line) + 4}:{rest}" in said
    assert weights == _wanted(tmp_path, capsys, BEFORE + AFTER)


def test_an_action_without_features_is_named_and_learned_as_vw_does(tmp_path, capsys):
    bad = "0:1:0.5 |a p\n|\n\n"
    said, weights = _run(tmp_path, capsys, BEFORE + bad + AFTER, "--strict_parse")
    assert f"{tmp_path / 'log'}:6:1: action without features: it has only the constant" in said
    assert weights != _wanted(tmp_path, capsys, BEFORE + AFTER)
    assert weights == _run(tmp_path, capsys, BEFORE + bad.replace("|\n", "| zero:0\n") + AFTER)[1]


def test_a_feature_of_value_0_is_one():
    parser = TextParser(ParserOptions(label="logged_action"))
    parser.parse(b"0:1:0.5 |a p:0\n|a q\n\n")
    assert not parser.problems.counts.any()


@pytest.mark.parametrize("number", ["0", "1", "7", "4294967295", "banner"])
def test_the_number_of_an_action_has_no_meaning_in_text(number):
    wanted = _learned(CHOICE, BEFORE + "|a p\n0:1:0.5 |a q\n\n")
    np.testing.assert_array_equal(_learned(CHOICE, BEFORE + f"|a p\n{number}:1:0.5 |a q\n\n"), wanted)


def test_empty_lines_make_no_decision():
    np.testing.assert_array_equal(_learned(CHOICE, f"\n\n{BEFORE}\n\n\n{AFTER}"), _learned(CHOICE, BEFORE + AFTER))


LABEL = {"_label_cost": 1, "_label_probability": 0.5, "_label_Action": 1, "_labelIndex": 0}
TWO = {"u": {"x": 1}, "_multi": [{"a": {"p": 1}}, {"a": {"q": 1}}]}
OWN = {"_label": "0:1:0.5"}
JSON = {  # the label, the context, what stands where the column points to, and the message
    "probability 0": ({**LABEL, "_label_probability": 0}, TWO, "_label_probability", "probability: 0"),
    "negative probability": ({**LABEL, "_label_probability": -0.5}, TWO, "_label_probability", "probability: -0.5"),
    "probability above 1": ({**LABEL, "_label_probability": 1.5}, TWO, "_label_probability", "probability: 1.5"),
    "no probability": ({"_label_cost": 1, "_labelIndex": 0}, TWO, "_labelIndex", "probability: 0"),
    "probability that is a word": ({**LABEL, "_label_probability": "x"}, TWO, "_label_probability", "probability: 'x'"),
    "cost that is a word": ({**LABEL, "_label_cost": "one"}, TWO, "_label_cost", "cost: 'one'"),
    "cost that is NaN": ({**LABEL, "_label_cost": float("nan")}, TWO, "_label_cost", "NaN"),
    "cost beyond float32": ({**LABEL, "_label_cost": 1e39}, TWO, "_label_cost", "cost: 1e+39"),
    "negative action": ({**LABEL, "_label_Action": -2}, TWO, "_label_Action", "action: -2"),
    "label of no action": ({**LABEL, "_labelIndex": 2}, TWO, "_labelIndex", "_labelIndex 2"),
    "label of a negative action": ({**LABEL, "_labelIndex": -1}, TWO, "_labelIndex", "_labelIndex -1"),
    "label without an action": ({"_label_cost": 1, "_label_probability": 1}, TWO, "_label_cost", "without _labelIndex"),
    "labels in two actions": (
        {},
        {"_multi": [{"p": 1, **OWN}, {"p": 1, "q": 2, "_label": "1:2:0.5"}]},
        "1:2:0.5",
        "several actions",
    ),
    "label in an action and beside": (
        LABEL,
        {"_multi": [{"p": 1}, {"q": 1, "_label": "1:2:0.5"}]},
        "1:2:0.5",
        "several actions",
    ),
    "bad label in an action": ({}, {"_multi": [{"p": 1}, {"q": 1, "_label": "0:1:2"}]}, "0:1:2", "bad probability"),
    "no actions": (LABEL, {"u": {"x": 1}, "_multi": []}, "_multi", "no actions"),
    "actions that are no list": (LABEL, {"u": {"x": 1}, "_multi": {"a": 1}}, "_multi", "wanted a list of objects"),
    "action that is no object": (LABEL, {"_multi": [{"p": 1}, 3]}, "_multi", "wanted a list of objects"),
    "actions within actions": (LABEL, {"_multi": [{"p": {"_multi": []}}]}, "[]", "_multi within another object"),
    "value beyond float32": (LABEL, {"_multi": [{"p": 1}, {"a": {"q": 1e39}}]}, "1e+39", "wanted a number below"),
    "value that is infinite": (LABEL, {"_multi": [{"p": 1}, {"a": {"q": float("inf")}}]}, "Infinity", "Infinity"),
    "word in a list": (LABEL, {"u": {"x": [1, "w"]}, "_multi": [{"p": 1}]}, '"w"', "wanted numbers or objects"),
}


def _line(label, context, log):
    """A line of `--json`, or of a log."""
    return json.dumps({**label, "a": [1, 2], "c": context} if log else {**label, **context})


def _place(line, mark):
    """The column of a value after its key, or of the value itself."""
    start = line.index(mark)
    if mark.startswith("_"):
        start = line.index(":", start) + 1
        start += line[start:].index(line[start:].strip()[0])
    elif line[start - 1] == '"':
        start -= 1
    return start + 1


@pytest.mark.parametrize("log", [False, True], ids=["json", "dsjson"])
@pytest.mark.parametrize("name", JSON)
def test_json(name, log, tmp_path, capsys):
    label, context, mark, message = JSON[name]
    form = "--dsjson" if log else "--json"
    good, bad = _line(LABEL, TWO, log) + "\n", _line(label, context, log)
    column = 1 if name == "no probability" else _place(bad, mark)
    said, weights = _run(tmp_path, capsys, f"{good}{bad}\n{good}", form)
    assert f"{tmp_path / 'log'}:2:{column}: bad JSON: the line is skipped, got" in said and message in said
    assert weights == _wanted(tmp_path, capsys, good * 2, form)


@pytest.mark.parametrize("empty", [{}, {"a": {}}, {"_tag": "t", "a": {"b": {}}, "c": None, "d": [None]}])
def test_json_with_an_action_without_features(empty, tmp_path, capsys):
    good = _line(LABEL, TWO, True) + "\n"
    bad = _line(LABEL, {"u": {"x": 1}, "_multi": [{"a": {"p": 1}}, empty]}, True) + "\n"
    said, weights = _run(tmp_path, capsys, good + bad, "--dsjson")
    column = bad.index(json.dumps(empty), bad.index('"p"') + 7) + 1
    assert f"{tmp_path / 'log'}:2:{column}: action without features" in said
    text = "shared |u x\n0:1:0.5 |a p\n|a q\n\nshared |u x\n0:1:0.5 |a p\n|\n\n"
    assert weights == _wanted(tmp_path, capsys, text)


ACTIONS = [{"a": ["p"]}, {"a": ["q"]}]
GOOD = {"shared": {"u": ["x"]}, "actions": ACTIONS, "chosen": 0, "cost": 1.0, "probability": 0.5}
RECORDS = {
    "probability 0": ({"probability": 0.0}, "probability: got 0"),
    "negative probability": ({"probability": -0.5}, "probability: got -0.5"),
    "probability above 1": ({"probability": 1.5}, "probability: got 1.5"),
    "no probability": ({"probability": None}, "probability: got None"),
    "probability that is NaN": ({"probability": float("nan")}, "probability: got nan"),
    "cost that is NaN": ({"cost": float("nan")}, "cost: got nan"),
    "no cost": ({"cost": None}, "cost: got None"),
    "no chosen action": ({"chosen": None}, "chosen: got None"),
    "chosen action that is none": ({"chosen": 2}, "chosen: got 2, wanted the number of an action, 0 to 1"),
    "negative chosen action": ({"chosen": -1}, "chosen: got -1"),
    "no actions": ({"actions": []}, "actions: got"),
    "shared line alone": ({"actions": None}, "actions: got None"),
    "action without features": ({"actions": [ACTIONS[0], {"a": []}]}, "actions: got no features in action 1"),
    "action of nothing": ({"actions": [{"a": None}, ACTIONS[1]]}, "actions: got no features in action 0"),
    "action that is null": ({"actions": [ACTIONS[0], None]}, "got NoneType, wanted a mapping"),
}
ONLY_RECORDS = {  # what a column of one type cannot hold
    "cost that is a word": ({"cost": "one"}, "cost: got 'one'"),
    "label on two actions": ({"chosen": [0, 1]}, r"chosen: got \[0, 1\]"),
    "chosen action that is a truth value": ({"chosen": True}, "chosen: got True"),
    "label in an action": ({"actions": [{"a": ["p"], "label": 1}]}, "got the key 'label'"),
    "label in what is shared": ({"shared": {"u": ["x"], "label": 1}}, "got the key 'label'"),
    "two shared lines": ({"shared": [{"u": ["x"]}, {"u": ["y"]}]}, "got list, wanted a mapping"),
}


def _refused(examples, message):
    chain = Chain.from_config(CHOICE)
    with pytest.raises(DataError, match=message):
        chain.learn(examples)
    assert not chain.weights.any()


@pytest.mark.parametrize("name", [*RECORDS, *ONLY_RECORDS])
def test_records(name, tmp_path):
    change, message = (RECORDS | ONLY_RECORDS)[name]
    bad = {**GOOD, **change}
    _refused([GOOD, bad], f"<records>:2: .*{message}")
    if not any(isinstance(value, float) and np.isnan(value) for value in change.values()):
        (tmp_path / "log.jsonl").write_text("\n" + "\n".join(map(json.dumps, (GOOD, bad))))
        _refused(tmp_path / "log.jsonl", f"log.jsonl:3: .*{message}")


@pytest.mark.parametrize("name", RECORDS)
def test_arrow(name):
    pa = pytest.importorskip("pyarrow")
    change, message = RECORDS[name]
    _refused(pa.Table.from_pylist([GOOD, {**GOOD, **change}, GOOD]), f"<table>:2: .*{message}")
