"""Requests and answers against a server that speaks as much of Label Studio's REST interface as they need."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from typer.testing import CliRunner

from hutch.active.cli.label_studio import app
from hutch.active.label_studio.client import Client
from hutch.active.label_studio.exchange import pull, push
from hutch.active.label_studio.question import configuration_for
from hutch.core.errors import HutchError, UsageError
from hutch.shell.declared import as_app

NAMES = {"1": "spam", "-1": "ham"}


class Studio(BaseHTTPRequestHandler):
    """One project."""

    def log_message(self, *_):
        pass

    def reply(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def handle_any(self):
        state, place = self.server.state, urlsplit(self.path)
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        state["calls"].append((self.command, place.path))
        if place.path == "/api/token/refresh":
            state["access"] += 1
            return self.reply({"access": f"short{state['access']}"})
        key = self.headers["authorization"]
        if key not in ("Token legacy", f"Bearer short{state['access']}") or state.pop("expired", False):
            return self.reply({"detail": "Invalid token."}, 401)
        if place.path == "/api/projects/":
            state.update(body)
            return self.reply({"id": 3}, 201)
        if place.path == "/api/projects/3/" and self.command == "PATCH":
            state.update(body)
            return self.reply({})
        if place.path == "/api/projects/3/":
            return self.reply({"label_config": state["label_config"]})
        if place.path == "/api/tasks":
            page = int(parse_qs(place.query)["page"][0])
            if page > 1 and page > -(-len(state["tasks"]) // 500):
                return self.reply({"detail": "Invalid page."}, 404)
            return self.reply({"tasks": state["tasks"][500 * (page - 1) : 500 * page]})
        if place.path == "/api/projects/3/import":
            state["tasks"] += [{"id": len(state["tasks"]) + n, **task} for n, task in enumerate(body, 1)]
            return self.reply({"task_count": len(body)}, 201)
        if place.path == "/api/projects/3/export":
            return self.reply([task for task in state["tasks"] if task.get("annotations")])
        return self.reply({"detail": "Not found."}, 404)

    do_GET = do_POST = do_PATCH = handle_any


@pytest.fixture
def studio():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Studio)
    server.state = {
        "tasks": [],
        "calls": [],
        "access": 0,
        "label_config": configuration_for(("-1", "1"), NAMES, ["text"]),
    }
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_port}"
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def annotation(choices, id=1, worker=5, **more):
    result = [{"from_name": "label", "to_name": "field_0", "type": "choices", "value": {"choices": choices}}]
    return {"id": id, "unique_id": f"u{id}", "completed_by": worker, "result": result, "was_cancelled": False} | more


def test_requests_are_pushed_once(studio, asked, question):
    client = Client(studio.url, "legacy")
    assert push(asked, client, 3, question) == (2, 0)
    assert push(asked, client, 3, question) == (0, 2)
    first = studio.state["tasks"][0]
    assert first["data"] == {"text": "|text win lunch", "hutch_request": "a"}
    request, _ = asked.request("a")
    [prediction] = first["predictions"]
    assert (prediction["score"], prediction["model_version"]) == (1 - request.probability, request.model)
    assert prediction["result"][0]["value"]["choices"][0] in ("spam", "ham")
    assert studio.state["model_version"] == request.model


def test_a_push_that_was_cut_off_is_finished(studio, asked, question):
    client = Client(studio.url, "legacy")
    push(asked, client, 3, question)
    del studio.state["tasks"][0]
    assert push(asked, client, 3, question) == (1, 1)
    assert sorted(task["data"]["hutch_request"] for task in studio.state["tasks"]) == ["a", "b"]


def test_annotations_are_pulled_once_and_changes_replace(studio, asked, question):
    client = Client(studio.url, "legacy")
    push(asked, client, 3, question)
    first, second = studio.state["tasks"]
    first["annotations"] = [annotation(["spam"]), annotation(["spam", "ham"], 2, 6)]
    second["annotations"] = [annotation([], 3, {"id": 7, "email": "x@y"}, was_cancelled=True)]
    studio.state["tasks"].append({"id": 9, "data": {}, "annotations": [annotation(["ham"], 4)]})
    found = pull(asked, client, 3, question)
    assert (found.new, found.known, found.changed) == (2, 0, 0)
    assert found.problems == ["annotation 2: got 2 choices, wanted 1", "task 9: is not a request of this store"]
    assert [(row[3]) for row in asked.outcomes()] == ["1"]
    assert pull(asked, client, 3, question).known == 2
    first["annotations"][0]["result"][0]["value"]["choices"] = ["ham"]
    found = pull(asked, client, 3, question)
    assert (found.new, found.known, found.changed) == (0, 1, 1)
    assert [(row[3]) for row in asked.outcomes()] == ["-1"]


def test_a_personal_token_is_exchanged_and_renewed(studio, asked, question):
    client = Client(studio.url, "a.b.c")
    assert push(asked, client, 3, question) == (2, 0)
    studio.state["expired"] = True
    assert push(asked, client, 3, question) == (0, 2)
    assert studio.state["access"] == 2


def test_many_tasks_are_paged(studio, asked, question):
    studio.state["tasks"] = [{"id": n, "data": {}} for n in range(1000)]
    assert push(asked, Client(studio.url, "legacy"), 3, question) == (2, 0)
    assert push(asked, Client(studio.url, "legacy"), 3, question) == (0, 2)


def test_what_cannot_be_done_says_why(studio, asked, question):
    with pytest.raises(HutchError, match="401 .*Invalid token"):
        push(asked, Client(studio.url, "wrong"), 3, question)
    with pytest.raises(HutchError, match="404 .*Not found"):
        Client(studio.url, "legacy").configuration(4)
    with pytest.raises(HutchError, match="cannot be reached"):
        Client("http://127.0.0.1:1", "legacy").configuration(4)
    with pytest.raises(UsageError, match="wanted an address"):
        Client("localhost:8080", "legacy")


def run(*arguments):
    """Standard output of the command; an error is raised as it is."""
    result = CliRunner().invoke(as_app(app, "label-studio"), [str(argument) for argument in arguments])
    if isinstance(result.exception, HutchError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_commands(studio, asked, monkeypatch):
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "legacy")
    options = ["--store", asked.path, "--url", studio.url, "--name", "1=spam", "--name", "-1=ham"]
    assert run("push", *options, "--create", "Mail") == "project 3: 2 tasks added, 0 there already\n"
    assert studio.state["sampling"] == "Uncertainty sampling" and studio.state["maximum_annotations"] == 1
    assert re.findall('value="([^"]*)"', studio.state["label_config"]) == ["$text", "ham", "spam"]
    studio.state["tasks"][0]["annotations"] = [annotation(["spam"])]
    assert run("pull", *options, "--project", 3) == "1 new answer, 0 known already, 0 changed\n"
    again = json.loads(run("pull", *options, "--project", 3, "--json"))
    assert again == {"new": 0, "known": 1, "changed": 0, "left_out": 0}
    with pytest.raises(UsageError, match="either --project"):
        run("push", *options)
    with pytest.raises(HutchError, match="no choice for -1, 1, got ham, spam; --name LABEL=CHOICE"):
        run("push", *options[:-4], "--project", 3)
