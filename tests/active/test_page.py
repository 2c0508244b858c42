"""The page: its answers, its walls, and fifty people at once while the server dies."""

import asyncio
import base64
import hashlib
import os
import re
import signal
import subprocess
import sys

import httpx
import pytest

from hutch.active.page import HOST, Look, create_app, page, security_headers
from hutch.core.errors import UsageError
from hutch.durable.entries import Round
from hutch.durable.records import Request
from hutch.durable.store import Store
from hutch.net.web import listen, require_web

ROUND = Round("pool.vw", 100, 3.0, 0.0)


def make_requests(n):
    return [Request(f"r{i}", f"'r{i}|f x{i} <b>", 0.1, 0.5, 2.0, "m0") for i in range(n)]


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "labels.db", create=True) as opened:
        opened.ask(make_requests(3), ROUND)
        opened.allow_labels(["-1", "1"])
        yield opened


@pytest.fixture
def client(store, client_of):
    return client_of(create_app(store, "secret", look=Look({"1": "spam"})))


def answer(client, id, worker, label):
    return client.post("answer", json={"id": id, "worker": worker, "label": label})


def test_a_worker_gets_an_item_and_answers_it(client, store):
    found = client.get("next", params={"worker": "ada"}).json()
    assert found["request"] == {"id": "r0", "text": "|f x0 <b>"}
    assert found["labels"] == [{"value": "1", "name": "spam"}, {"value": "-1", "name": "-1"}]
    assert client.get("next", params={"worker": "bob"}).json()["request"]["id"] == "r1"
    assert answer(client, "r0", "ada", "1").json() == {"new": 1, "repeated": 0}
    assert answer(client, "r0", "ada", "1").json() == {"new": 0, "repeated": 1}
    assert answer(client, "r1", "bob", "skip").json()["new"] == 1
    assert answer(client, "r2", "cy", "don't know").json()["new"] == 1
    found = client.get("next", params={"worker": "bob"}).json()
    assert found["request"] is None and found["progress"] == {"requests": 3, "open": 1}
    assert [event.kind for event in store.log()] == ["ask", "answer", "answer", "answer"]


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"id": "r9", "worker": "ada", "label": "1"}, 409, "there is no request 'r9'"),
        ({"id": "r0", "worker": "ada", "label": "7"}, 409, "wanted -1, 1, skip or don't know"),
        ({"id": "r0", "worker": " ", "label": "1"}, 409, "worker: got an empty name"),
        ({"id": "r0", "worker": ["ada"], "label": "1"}, 409, "worker: got list"),
        ({"id": "r0", "worker": "a" * 201, "label": "1"}, 409, "worker: got 201 characters, wanted at most 200"),
        ({"id": "r0", "worker": "a\nb", "label": "1"}, 409, "wanted printable characters"),
        ({"id": ["r0"], "worker": "ada", "label": "1"}, 400, "wanted an object with id, worker and label"),
        ({"id": "r0", "worker": "ada"}, 400, "wanted an object with id, worker and label"),
        ([1], 400, "wanted an object"),
    ],
)
def test_what_is_no_answer_is_refused(client, store, body, status, error):
    response = client.post("answer", json=body)
    assert response.status_code == status and error in response.json()["error"]
    assert store.counts().answers == 0


def test_a_page_whose_store_is_deleted_acknowledges_nothing(client, store):
    store.path.unlink()
    for response in (answer(client, "r0", "ada", "1"), client.get("next", params={"worker": "ada"})):
        assert response.status_code == 503
        assert "labels.db: was deleted or moved while it was in use: nothing was stored" in response.json()["error"]
    assert store.counts().answers == 0


def test_walls(client):
    assert client.get("http://127.0.0.1/").status_code == 404
    assert client.get("http://127.0.0.1/wrong/next", params={"worker": "a"}).status_code == 404
    assert client.get("next", params={"worker": " "}).status_code == 400
    assert client.get("next", headers={"host": "evil.example"}).status_code == 400
    body = '{"id": "r0", "worker": "a", "label": "1"}'
    assert client.post("answer", content=body, headers={"content-type": "text/plain"}).status_code == 415
    surrogate, digits = r'{"id": "\ud800", "worker": "a", "label": "1"}', '{"id": ' + "9" * 5000 + "}"
    deep = '{"id": "r0", "worker": "a", "label": ' + "[" * 900 + "]" * 900 + "}"
    bad = [(text, 400) for text in ("{", "[" * 50_000, surrogate, digits)]
    for content, status in (*bad, (deep, 409), (" " * 70_000, 413)):
        response = client.post("answer", content=content, headers={"content-type": "application/json"})
        assert response.status_code == status


def test_the_page_may_load_nothing_from_elsewhere(client):
    response = client.get("")
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy and response.headers["referrer-policy"] == "no-referrer"
    script = re.search("<script>(.*?)</script>", response.text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert not re.search(r"https?://|src=|@import|url\(", response.text)
    assert response.text == page() and security_headers()["Cache-Control"] == "no-store"


def test_only_the_owner_reads_the_store(store):
    assert store.path.stat().st_mode & 0o777 == 0o600


def test_the_address_stays_the_same(store):
    assert store.token == store.token and len(store.token) >= 24


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(UsageError, match=r"pip install 'hutch\[web\]'"):
        require_web("the page")


def test_a_taken_port_is_named():
    with listen(HOST, 0) as listening, pytest.raises(UsageError, match=r"port \d+: Address already in use"):
        listen(HOST, listening.getsockname()[1])


SERVE = """
import sys
from hutch.active.page import HOST, create_app
from hutch.net.web import listen, run_app
from hutch.durable.store import Store
with listen(HOST, int(sys.argv[2])) as listening:
    told = lambda: print(listening.getsockname()[1], flush=True)
    run_app(create_app(Store(sys.argv[1]), "secret", lease_seconds=2.0), listening, told)
"""


def start(path, port):
    process = subprocess.Popen([sys.executable, "-c", SERVE, path, str(port)], stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline())


async def annotate(client, name, accepted):
    """Work as the page's script does: send an answer again until it is acknowledged."""

    async def insist(method, path, **options):
        while True:
            try:
                response = await client.request(method, path, **options)
                response.raise_for_status()
                return response.json()
            except httpx.TransportError:
                await asyncio.sleep(0.05)

    while True:
        found = await insist("GET", "next", params={"worker": name})
        if found["request"] is None:
            if found["progress"]["open"] == 0:
                return
            await asyncio.sleep(0.2)
            continue
        id = found["request"]["id"]
        await insist("POST", "answer", json={"id": id, "worker": name, "label": 1})
        accepted.append((id, name))


async def crowd(path, people):
    process, port = start(path, 0)
    limits = httpx.Limits(max_connections=people)
    accepted = []
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/secret/", limits=limits, timeout=30) as client:
            work = asyncio.gather(*(annotate(client, f"w{i}", accepted) for i in range(people)))
            for death in range(2):
                while len(accepted) < 40 * (death + 1) and not work.done():
                    await asyncio.sleep(0.01)
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                process.stdout.close()
                process, _ = start(path, port)
            await asyncio.wait_for(work, 60)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    return accepted


@pytest.mark.slow
def test_fifty_people_while_the_server_is_killed_and_started_again(tmp_path):
    path, total = tmp_path / "labels.db", 200
    with Store(path, create=True) as store:
        store.ask(make_requests(total), ROUND)
    accepted = asyncio.run(crowd(path, 50))
    with Store(path) as store:
        given = store.rows("SELECT request, worker FROM labels")
        assert len(given) == len(set(given)) == store.counts().labels
        assert len(accepted) == len(set(accepted)) and set(accepted) == set(given)
        assert store.counts().answered == total and store.counts().open == 0
