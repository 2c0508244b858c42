"""The documented interface of a machine-learning backend, with the requests that Label Studio sends."""

import json

import pytest

from hutch.active.label_studio.backend import Backend, create_app
from hutch.active.label_studio.question import configuration_for
from hutch.active.loop import catch_up, model_version
from hutch.chain import Chain

NAMES = {"1": "spam", "-1": "ham"}
CONFIGURATION = configuration_for(("-1", "1"), NAMES, ["text"])
SETUP = {"project": "3.17", "schema": CONFIGURATION, "hostname": "http://x", "access_token": "t", "extra_params": {}}


@pytest.fixture
def backend(asked, model):
    return Backend(Chain.load(model), model, asked, NAMES, every=2)


@pytest.fixture
def client(backend, client_of):
    return client_of(create_app(backend, "secret"))


def task(id, text=None, request=None):
    return {"id": id, "data": ({"hutch_request": request} if request else {}) | ({"text": text} if text else {})}


def event(action, annotation, task=None, **more):
    return {"action": action, "annotation": annotation, "project": {"id": 3}, "task": task} | more


def annotation(choice, id=1, worker=5, **more):
    result = [{"from_name": "label", "to_name": "field_0", "type": "choices", "value": {"choices": [choice]}}]
    return {"id": id, "unique_id": f"u{id}", "completed_by": worker, "result": result, "task": 1, "project": 3} | more


def test_health_and_versions(client, backend):
    assert client.get("health").json()["status"] == "UP"
    assert client.get("versions").json()["versions"] == [backend.version]
    assert client.get("http://127.0.0.1/health").status_code == 404


def test_tasks_are_labelled_and_scored_by_how_easily_they_change(client, backend):
    assert client.post("setup", json=SETUP).json() == {"model_version": backend.version}
    tasks = [task(1, "free money"), task(2, "lunch at noon"), task(3, "quite unknown"), task(4, request="a")]
    body = {"tasks": tasks, "project": "3.17", "label_config": CONFIGURATION, "params": {}}
    results = client.post("predict", json=body).json()["results"]
    assert [found["result"][0]["value"]["choices"] for found in results[:2]] == [["spam"], ["ham"]]
    assert results[2]["score"] < min(results[0]["score"], results[1]["score"])
    assert all(0 <= found["score"] <= 1 and found["model_version"] == backend.version for found in results)
    assert client.post("predict", json={"tasks": []}).json()["results"] == []


def test_annotations_are_learned_once_whatever_is_repeated(client, backend, asked, model):
    client.post("setup", json=SETUP)
    before = backend.version
    first = event("ANNOTATION_CREATED", annotation("spam"), task(1, request="a"))
    assert [client.post("webhook", json=first).json()["new"] for _ in range(3)] == [1, 0, 0]
    assert backend.version == before
    second = event("ANNOTATION_CREATED", annotation("ham", 2), task(2, "see you soon"))
    assert client.post("webhook", json=second).json()["new"] == 1
    assert backend.version == model_version(model) != before
    assert asked.document("label-studio 3/2") == {"text": "see you soon"}
    rebuilt = Chain.load(model)
    assert catch_up(rebuilt, asked) == (0, asked.learned({}) - 1)
    assert {row[3] for row in asked.outcomes()} == {"1", "-1"}


def test_changes_and_deletions_reach_the_store(client, asked):
    client.post("setup", json=SETUP)
    client.post("webhook", json=event("ANNOTATION_CREATED", annotation("spam"), task(1, request="a")))
    changed = event("ANNOTATION_UPDATED", annotation("ham"), task(1, request="a"))
    assert client.post("webhook", json=changed).json()["changed"] == 1
    assert [row[3] for row in asked.outcomes()] == ["-1"]
    gone = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 1, "unique_id": "u1"}], "project": {"id": 3}}
    client.post("webhook", json=gone)
    assert asked.outcomes() == [] and asked.counts().open == 2


def test_training_is_asked_for(client, backend):
    client.post("setup", json=SETUP)
    client.post("webhook", json=event("ANNOTATION_CREATED", annotation("spam"), task(1, request="a")))
    version = backend.version
    client.post("webhook", json={"action": "START_TRAINING", "project": {"id": 3}})
    assert backend.version != version
    assert client.post("train", json={}).json()["learned"] == 0


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("setup", SETUP | {"schema": "<View/>"}, 422, "has no <Choices>"),
        ("predict", {"tasks": [{"id": 1, "data": {"text": "x"}}]}, 422, "was not set up"),
        ("predict", [1], 400, "got no JSON object"),
        ("webhook", "{", 400, "got no JSON object"),
    ],
)
def test_what_is_no_request_is_refused(client, path, body, status, words):
    content = body if isinstance(body, str) else json.dumps(body)
    sent = client.post(path, content=content, headers={"content-type": "application/json"})
    assert (sent.status_code, words in sent.json()["error"]) == (status, True)


def test_an_annotation_that_is_no_answer_is_said(client, asked):
    client.post("setup", json=SETUP)
    found = client.post("webhook", json=event("ANNOTATION_CREATED", annotation("maybe"), task(1, request="a"))).json()
    assert found["problems"] == ["annotation 1: got the choice 'maybe', wanted one of ham, spam"]
    assert asked.counts().answers == 0
