"""The whole round with Label Studio itself: push, pre-label, order, annotate, learn, pull.

It takes two minutes and 800 MB of packages, so that it runs only where Label Studio is: in this environment, or as the
command that the variable LABEL_STUDIO names.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from hutch.active.label_studio.client import Client
from hutch.active.loop import ask, model_version
from hutch.chain import Chain
from hutch.core.errors import HutchError
from hutch.durable.store import Store

COMMAND = os.environ.get("LABEL_STUDIO") or shutil.which("label-studio", path=str(Path(sys.executable).parent))
HUTCH = str(Path(sys.executable).with_name("hutch"))
TOKEN = "0123456789abcdef0123456789abcdef01234567"
pytestmark = [
    pytest.mark.label_studio,
    pytest.mark.skipif(not COMMAND, reason="Label Studio is not installed (pip install 'hutch[label-studio]')"),
]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    """The address of a server with an empty database."""
    folder, port = tmp_path_factory.mktemp("studio"), free_port()
    environment = os.environ | {
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder),
        "SSRF_PROTECTION_ENABLED": "false",
        "ML_BLOCK_LOCAL_IP": "false",
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "LABEL_STUDIO_USERNAME": "lead@example.org",
        "LABEL_STUDIO_PASSWORD": "a long password",
        "LABEL_STUDIO_USER_TOKEN": TOKEN,
        "COLLECT_ANALYTICS": "False",
        "LABEL_STUDIO_HOST": f"http://127.0.0.1:{port}",
    }
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [COMMAND, "start", "--no-browser", "--port", str(port)], env=environment, stdout=log, stderr=log
        )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: urllib.request.urlopen(f"{url}/health", timeout=5), 480, (OSError,))
        yield url
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def wait_for(look, seconds, errors=()):
    """Call `look` until it returns something, and return that."""
    end = time.monotonic() + seconds
    while True:
        try:
            if found := look():
                return found
        except errors:
            pass
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.5)


def hutch(*arguments):
    command = [HUTCH, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_whole_round(studio, store, model, tmp_path):
    words = ["win", "lunch", "money", "you", "soon", "free", "noon", "see"]
    lines = [f"'r{i}|text {words[i]} {words[(i + 3) % 8]}" for i in range(8)]
    ask(Chain.load(model), lines, store, 6, source="pool", model=model_version(model))
    client = Client(studio, TOKEN)
    common = ["--store", store.path, "--url", studio, "--api-key", TOKEN, "--name", "1=spam", "--name", "-1=ham"]
    made = json.loads(hutch("label-studio", "push", *common, "--create", "Mail", "--json"))
    project = made["project"]
    assert made["added"] == 6
    again = json.loads(hutch("label-studio", "push", *common, "--project", project, "--json"))
    assert (again["added"], again["there"]) == (0, 6)

    following = client.call("GET", f"projects/{project}/next/")  # the surest to be asked for comes first
    chances = {request.id: request.probability for request in store.open_requests()}
    assert chances[following["data"]["hutch_request"]] == max(chances.values())

    serving = [HUTCH, "label-studio", "serve", "-i", str(model), "--store",
               str(store.path), "--port", "0", "--every", "2", "--name", "1=spam", "--name", "-1=ham"]  # fmt: skip
    backend = subprocess.Popen(serving, stdout=subprocess.PIPE, text=True)
    try:
        address = backend.stdout.readline().strip()
        client.call("POST", "ml/", {"project": project, "url": address, "title": "Hutch"})
        tasks = list(client.tasks(project))
        version = model_version(model)
        with Store(store.path) as seen:
            for number, task in enumerate(tasks[:2]):
                result = [{"from_name": "label", "to_name": "field_0", "type": "choices",
                           "value": {"choices": ["spam" if number else "ham"]}}]  # fmt: skip
                client.call("POST", f"tasks/{task['id']}/annotations/", {"result": result})
            wait_for(lambda: seen.counts().labels == 2, 60)
            wait_for(lambda: model_version(model) != version, 30)
            client.call("POST", f"projects/{project}/import", [{"data": {"text": "a task of the team's own"}}])
            own = list(client.tasks(project))[-1]
            result = [{"from_name": "label", "to_name": "field_0", "type": "choices", "value": {"choices": ["spam"]}}]
            client.call("POST", f"tasks/{own['id']}/annotations/", {"result": result})
            wait_for(lambda: seen.counts().labels == 3, 60)
        predicted = client.call("POST", f"dm/actions?id=retrieve_tasks_predictions&project={project}",
                                {"selectedItems": {"all": True, "excluded": []}})  # fmt: skip
        assert "error" not in str(predicted).lower()
        found = client.call("GET", f"predictions?project={project}")
        found = found["results"] if isinstance(found, dict) else found
        fresh = [each for each in found if each["model_version"] == model_version(model)]
        assert len(fresh) == 7 and all(each["result"] for each in fresh)
        hutch("label-studio", "pull", *common, "--project", project)  # events gave the same answers before
        pulled = json.loads(hutch("label-studio", "pull", *common, "--project", project, "--json"))
        assert (pulled["new"], pulled["known"], pulled["changed"]) == (0, 2, 0)
    finally:
        backend.terminate()
        backend.wait(20)
        backend.stdout.close()
    with pytest.raises(HutchError, match="401"):
        Client(studio, "wrong").configuration(project)
