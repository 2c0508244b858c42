"""Logs as runs: orders, clusters, slices, people; what does not fit is refused with its place."""

import json

import numpy as np
import pytest

from hutch.core.errors import HutchError
from hutch.crowd.data.asked import ColumnNames
from hutch.judges.runs import Reading, read_runs

PAIRS = "judge,item,label,swapped,lang,talk\ng,1,A,0,en,x\ng,1,B,1,en,x\ng,2,B,0,de,x\ng,2,B,1,de,x\nh,3,A,0,,y\n"


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_columns_of_a_table(tmp_path):
    log, gold = written(tmp_path, "a.csv", PAIRS), written(tmp_path, "gold.tsv", "1\tA\n2\tB\n")
    how = Reading(order="swapped", cluster="talk", slices=("lang",))
    runs = read_runs([log], gold=gold, how=how)
    assert (runs.judges, runs.items, runs.classes, runs.answers) == (["g", "h"], ["1", "2", "3"], ["A", "B"], (0, 1))
    assert runs.swapped.tolist() == [False, True, False, True, False]
    assert runs.cluster[0] == runs.cluster[1] != runs.cluster[2]
    assert runs.slices["lang"][0].tolist() == [1, 0, -1] and runs.slices["lang"][1] == ["de", "en"]
    assert runs.truth[:2].tolist() == [[1, 0], [0, 1]] and runs.known.tolist() == [True, True, False]


def test_labels_that_name_places_are_turned(tmp_path):
    log = written(tmp_path, "a.csv", PAIRS)
    runs = read_runs([log], how=Reading(order="swapped", by_place=True))
    assert [runs.classes[k] for k in runs.label] == ["A", "A", "B", "A", "A"]


def test_swapped_judges_by_their_names(tmp_path):
    log = written(tmp_path, "a.tsv", "g\t1\tA\ng@rev\t1\tB\ng\t2\tB\nh\t1\ttie\n")
    people = written(tmp_path, "people.tsv", "ann\t1\tA\nann\t2\tB\n")
    runs = read_runs([log], people, how=Reading(swapped="@rev"))
    assert runs.judges == ["g", "h"] and runs.swapped.tolist() == [False, True, False, False]
    assert [runs.classes[k] for k in runs.answers] == ["A", "B"]  # those that people name: the third is a tie


def test_several_people_are_shares_and_gold_goes_before_them(tmp_path):
    log = written(tmp_path, "a.tsv", "ann\t1\tA\nbob\t1\tB\nann\t2\tA\ng\t1\tA\ng\t2\tB\ng\t3\tB\n")
    gold = written(tmp_path, "gold.tsv", "2\tB\n")
    runs = read_runs([log], gold=gold, how=Reading(reference=("ann", "b*")))
    assert runs.judges == ["g"] and runs.truth[:2].tolist() == [[0.5, 0.5], [0, 1]] and not runs.known[2]


def test_logs_of_one_judge_are_runs_or_versions(tmp_path):
    one, two = (written(tmp_path, f"{name}.tsv", "g\t1\tA\ng\t2\tB\n") for name in ("old", "new"))
    runs = read_runs([one, two])
    assert runs.judges == ["g"] and len(runs.judge) == 4 and "repeated runs" in runs.notices[-1]
    assert read_runs([one, two], how=Reading(versions=True)).judges == ["g@new", "g@old"]


def test_numbers_are_scores_unless_they_are_names(tmp_path):
    log = written(tmp_path, "a.tsv", "g\t1\t80\ng\t2\t35.5\nh\t1\t100\n")
    people = written(tmp_path, "people.tsv", "ann\t1\t70\nbob\t1\t90\n")
    runs = read_runs([log], people)
    assert runs.values.tolist() == [35.5, 70, 80, 90, 100] and runs.truth[0, 0] == 80 and np.isnan(runs.truth[1, 0])
    assert "taken as scores" in runs.notices[-1]
    assert read_runs([log], people, how=Reading(scores=False)).values is None
    assert read_runs([written(tmp_path, "b.tsv", "g\t1\t0\ng\t2\t1\n")]).values is None


INSPECT = {
    "version": 2, "status": "success", "eval": {"task": "t", "model": "m"},
    "samples": [{"id": "a", "epoch": e, "metadata": {"lang": "en"}, "scores": {"s": {"value": "C"}}} for e in (1, 2)],
}  # fmt: skip
PROMPTFOO = {"results": {"results": [
    {"testIdx": 0, "vars": {"lang": "de"}, "gradingResult": {"componentResults": [
        {"pass": True, "score": 0.7, "assertion": {"type": "llm-rubric", "value": "polite"}}]}}]}}  # fmt: skip
DEEPEVAL = {"testCases": [{"name": "a", "additionalMetadata": {"lang": "fr"}, "metricsData": [
    {"name": "Bias", "score": 0.25, "success": False}]}]}  # fmt: skip
LM_EVAL = (
    '{"doc_id": 4, "doc": {"lang": "es"}, "target": "yes", "filtered_resps": ["no"], "metrics": ["em"], "em": 0.0}\n'
)


@pytest.mark.parametrize(
    ("content", "judge", "label", "score", "lang"),
    [(INSPECT, "s", "C", None, "en"), (PROMPTFOO, "llm-rubric: polite", "pass", 0.7, "de"),
     (DEEPEVAL, "Bias", "fail", 0.25, "fr"), (LM_EVAL, "em", "0", 0, "es")],
)  # fmt: skip
def test_logs_of_evaluations(tmp_path, content, judge, label, score, lang):
    log = written(tmp_path, "log.json", content)
    runs = read_runs([log], how=Reading(slices=("lang",)))
    assert runs.judges == [judge] and set(runs.classes) == {label} and runs.slices["lang"][1] == [lang]
    if score is not None:
        scored = read_runs([log], how=Reading(scores=True, columns=ColumnNames(scores=True)))
        assert scored.values.tolist() == [score]


def test_epochs_of_a_sample_are_a_cluster(tmp_path):
    runs = read_runs([written(tmp_path, "log.json", INSPECT)], how=Reading(cluster="id"))
    assert runs.items == ["a epoch 1", "a epoch 2"] and len(set(runs.cluster.tolist())) == 1


def test_a_model_in_lm_eval_is_a_judge_of_the_target(tmp_path):
    runs = read_runs(
        [written(tmp_path, "s.jsonl", LM_EVAL + LM_EVAL.replace("4", "5").replace("no", "yes"))],
        how=Reading(columns=ColumnNames.of("label=filtered_resps")),
    )
    assert runs.judges == ["model"] and [runs.classes[k] for k in runs.label] == ["no", "yes"]
    assert runs.truth.tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("content", "people", "how", "message"),
    [
        (PAIRS, "ann\t7\tA\n", Reading(), "people and judges have no item in common"),
        (PAIRS, "ann\t1\ta\n", Reading(), "class 'a' of people is 'A' of judges"),
        (PAIRS, None, Reading(slices=("long",)), "a.csv:1:1: no column 'long'"),
        (INSPECT, None, Reading(slices=("long",)), "no row or sample of the logs has 'long'"),
        (PAIRS, None, Reading(order="item"), "--order: 'item' has 3 values, wanted two orders"),
        (PAIRS, None, Reading(swapped="@x"), "--swapped: the name of no judge ends with '@x'"),
        (PAIRS, None, Reading(reference=("ann",)), "--reference: no worker is 'ann'"),
        (PAIRS, None, Reading(scores=True), "--scores: got the label 'A', wanted numbers"),
        (PAIRS, None, Reading(order="swapped", answers=("A", "C")), "--answers: no label is 'C'"),
        ("judge,item,label,talk\ng,1,A,x\nh,1,A,y\n", None, Reading(cluster="talk"), "item '1': got talk 'x' and 'y'"),
        ("g\t1\tA\nh\t1\tB\nh@s\t1\tC\n", None, Reading(swapped="@s"), "--answers: which two labels name the answers"),
        ("ann\t1\tA\n", None, Reading(reference=("ann",)), "all labels are people's"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(tmp_path, content, people, how, message):
    log = written(tmp_path, "a.csv", content)
    with pytest.raises(HutchError, match=message.replace("(", r"\(")):
        read_runs([log], people and written(tmp_path, "people.tsv", people), how=how)


def test_who_does_not_know_gives_no_label(tmp_path):
    log = written(tmp_path, "a.tsv", "g\t1\tA\ng\t2\tB\nh\t1\tunsure\nh\t2\tpass\n")
    people = written(tmp_path, "people.tsv", "ann\t1\tA\nann\t2\tdon't know\n")
    runs = read_runs([log], people, how=Reading(columns=ColumnNames(unsure=("pass",))))
    assert runs.classes == ["A", "B"] and len(runs.judge) == 2 and runs.known.tolist() == [True, False]
    assert any("1 of 'unsure', which is no answer" in notice for notice in runs.notices)
    gold = written(tmp_path, "gold.tsv", "1\tunsure\n2\tB\n")
    assert "unsure" in read_runs([log], gold=gold).classes
    with pytest.raises(HutchError, match="unsure: no label is 'nobody'"):
        read_runs([log], people, how=Reading(columns=ColumnNames(unsure=("nobody",))))
