"""Models of `--predict_only_model`, and weights as JSON, beside VW 9.11.9's."""

import json

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import UsageError
from hutch.vw.main import run

DATA = "1 |a x |n p q\n2 |a y |n p\n0 |a x y |n q\n"


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.vw").write_text(DATA)
    return tmp_path


def predictions(words, data):
    run(f"-d data.vw --quiet -p p {words}".split())
    return (data / "p").read_text().split()


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ("", "0.673773 0.894727 1.066355"),
        ("-q an --l1 0.001", "0.701800 0.887514 0.794788"),
        ("--coin", "0.992637 0.190909 0.164706"),
        ("--ftrl", "0.973730 0.146188 0.915935"),
        ("--pistol", "0 1.836341 2"),
        ("--sgd -l 0.1", "0.715999 0.793846 0.891536"),
    ],
)
def test_learning_goes_on_with_the_weights_alone_as_in_vw(data, options, wanted):
    predictions(f"{options} -f model --predict_only_model", data)
    assert predictions(f"{options} -i model", data) == wanted.split()
    assert Chain.load("model").shared["examples"][0] == 3  # the file holds all


def test_predicting_needs_nothing_else(data):
    for more in ("", "--predict_only_model"):
        predictions(f"--l2 0.01 -f model{more} {more}", data)
    assert predictions("-i model -t", data) == predictions("-i model--predict_only_model -t", data)


def test_weights_as_json(data):
    flag = "--dump_json_weights"
    names = f"{flag}_include_feature_names_experimental {flag}_include_extra_online_state_experimental"
    predictions(f"-q an --noconstant {flag}_experimental weights {names}", data)
    assert json.loads((data / "weights").read_text()) == json.loads(JSON)
    predictions(f"-q an --noconstant {flag}_experimental weights", data)
    found = json.loads((data / "weights").read_text())["weights"]
    assert found == [{key: each[key] for key in ("index", "value")} for each in json.loads(JSON)["weights"]]
    with pytest.raises(UsageError, match="wanted the learner without options, got ftrl_proximal"):
        predictions(f"--ftrl {flag}_experimental weights {names}", data)


def test_names_of_sub_models_and_texts(data):
    (data / "data.vw").write_text("1 |a x:ann |n\n2 | y\n")
    flag = "--dump_json_weights"
    predictions(f"--oaa 2 {flag}_experimental weights {flag}_include_feature_names_experimental", data)
    found = json.loads((data / "weights").read_text())["weights"]
    terms = {(json.dumps(each["terms"][0], sort_keys=True), each["offset"]) for each in found}
    assert terms == {
        (json.dumps({"name": name, "namespace": space, "string_value": text}, sort_keys=True), k)
        for name, space, text in (("x", "a", "ann"), ("y", " ", None), ("Constant", "", None))
        for k in (0, 1)
    }
    assert np.all([each["value"] for each in found])


JSON = """{"weights":[{"terms":[
{"name":"x","namespace":"a","string_value":null},
{"name":"q","namespace":"n","string_value":null}],
"offset":0,"index":6408,"value":0.059574685990810394,"gd_extra_online_state":{"adaptive":5.49442720413208,"normalized":1.0}},
{"terms":[
{"name":"y","namespace":"a","string_value":null}],
"offset":0,"index":42847,"value":0.16258321702480316,"gd_extra_online_state":{"adaptive":15.413063049316406,"normalized":1.0}},
{"terms":[
{"name":"q","namespace":"n","string_value":null}],
"offset":0,"index":50960,"value":0.059574685990810394,"gd_extra_online_state":{"adaptive":5.49442720413208,"normalized":1.0}},
{"terms":[
{"name":"x","namespace":"a","string_value":null}],
"offset":0,"index":55432,"value":0.059574685990810394,"gd_extra_online_state":{"adaptive":5.49442720413208,"normalized":1.0}},
{"terms":[
{"name":"y","namespace":"a","string_value":null},
{"name":"p","namespace":"n","string_value":null}],
"offset":0,"index":65873,"value":0.2073870301246643,"gd_extra_online_state":{"adaptive":13.918635368347168,"normalized":1.0}},
{"terms":[
{"name":"p","namespace":"n","string_value":null}],
"offset":0,"index":162780,"value":0.31739509105682373,"gd_extra_online_state":{"adaptive":17.918636322021484,"normalized":1.0}},
{"terms":[
{"name":"x","namespace":"a","string_value":null},
{"name":"p","namespace":"n","string_value":null}],
"offset":0,"index":173508,"value":0.13461561501026154,"gd_extra_online_state":{"adaptive":4.0,"normalized":1.0}},
{"terms":[
{"name":"y","namespace":"a","string_value":null},
{"name":"q","namespace":"n","string_value":null}],
"offset":0,"index":245149,"value":-0.14388716220855713,"gd_extra_online_state":{"adaptive":1.49442720413208,"normalized":1.0}}]}"""
"""`-q an --noconstant` with names and the state of rates."""
