"""The page in a real browser: Chromium, headless, driven over its debugging pipe."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from hutch.durable.entries import Round
from hutch.durable.records import Request
from hutch.durable.store import Store

driver = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "browser.py"))
CHROMIUM, Browser = driver["CHROMIUM"], driver["Browser"]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM, reason="needs Chromium on the path"),
]

SERVE = """
import sys
from hutch.active.page import HOST, Look, create_app
from hutch.net.web import listen, run_app
from hutch.durable.store import Store
with listen(HOST, 0) as listening:
    told = lambda: print(listening.getsockname()[1], flush=True)
    run_app(create_app(Store(sys.argv[1]), "secret", look=Look({"1": "spam"})), listening, told)
"""


@pytest.fixture
def browser(tmp_path):
    opened = Browser(tmp_path / "profile")
    try:
        opened.open_tab()
        yield opened
    finally:
        opened.close()


@pytest.fixture
def address(tmp_path):
    path = tmp_path / "labels.db"
    with Store(path, create=True) as store:
        requests = [Request(f"r{i}", f"|f x{i} <img src=x>", 0.1, 0.5, 2.0, "m") for i in range(4)]
        store.ask(requests, Round("pool.vw", 9, 4.0, 0.0))
        store.allow_labels(["-1", "1"])
    process = subprocess.Popen([sys.executable, "-c", SERVE, path], stdout=subprocess.PIPE, text=True)
    yield f"http://127.0.0.1:{int(process.stdout.readline())}/secret/"
    process.kill()
    process.wait()
    process.stdout.close()


def test_labels_are_given_with_keys_and_the_mouse(browser, address, tmp_path):
    browser.call("Page.navigate", url=address)
    browser.wait_for("document.readyState === 'complete' && document.querySelector('#message').textContent")
    assert "Enter your name" in browser.run("document.querySelector('#message').textContent")
    browser.run("worker.value = 'ada'; worker.dispatchEvent(new Event('change'))")

    def item(text):
        browser.wait_for(f"document.querySelector('#item').textContent === {json.dumps(text)}")

    item("|f x0 <img src=x>")
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.run("[...document.querySelectorAll('#labels button')].map(b => b.innerText).join()") == (
        "1spam,2-1,sskip,ddon't know"
    )
    browser.press("1")
    item("|f x1 <img src=x>")
    browser.press("s")
    item("|f x2 <img src=x>")
    browser.press("d")
    item("|f x3 <img src=x>")
    browser.run("document.querySelectorAll('#labels button')[1].click()")
    browser.wait_for("document.querySelector('#message').textContent === 'Nothing to label now.'")
    assert browser.run("document.querySelector('#count').textContent") == "3 of 4 answered"
    assert browser.run("document.querySelector('#progress').value") == 0.75
    with Store(tmp_path / "labels.db") as store:
        given = store.rows("SELECT request, worker, label FROM labels ORDER BY number")
    assert given == [("r0", "ada", "1"), ("r1", "ada", "skip"), ("r2", "ada", "don't know"), ("r3", "ada", "-1")]
    asked = [e["params"]["request"]["url"] for e in browser.events if e["method"] == "Network.requestWillBeSent"]
    assert asked and all(url.startswith(address) or url.endswith("/favicon.ico") for url in asked)
    said = [event["params"]["entry"] for event in browser.events if event["method"] == "Log.entryAdded"]
    assert [entry["text"] for entry in said if "favicon" not in entry.get("url", "")] == []


def test_a_document_is_shown_and_answers_are_taken_back(browser, address, tmp_path):
    with Store(tmp_path / "labels.db") as store:
        request = Request("doc", "|text so", 0.1, 0.5, 2.0, "m")
        store.ask([request], Round("pool.csv", 9, 1.0, 0.0), documents={"doc": {"id": 7, "text": "So <b>it</b> is"}})
    browser.call("Page.navigate", url=address)
    browser.wait_for("document.readyState === 'complete' && document.querySelector('#message').textContent")
    browser.run("worker.value = 'ada'; worker.dispatchEvent(new Event('change'))")
    for i in range(4):
        browser.wait_for(f"document.querySelector('#item').textContent.includes('x{i} ')")
        browser.press("1")
    browser.wait_for("!!document.querySelector('#item dl')")
    shown = "[...document.querySelectorAll('#item dt, #item dd')].map(e => e.textContent).join('|')"
    assert browser.run(shown) == "id|7|text|So <b>it</b> is"
    browser.press("2")
    browser.wait_for("document.querySelector('#message').textContent === 'Nothing to label now.'")
    browser.press("u")
    browser.wait_for("!!document.querySelector('#item dl')")
    browser.call("Page.reload")
    browser.wait_for("document.readyState === 'complete' && !!document.querySelector('#item dl')")
    browser.press("u")
    browser.wait_for("document.querySelector('#item').textContent.includes('x3 ')")
    browser.press("2")
    browser.wait_for("!!document.querySelector('#item dl')")
    with Store(tmp_path / "labels.db") as store:
        given = store.rows("SELECT request, label FROM labels ORDER BY number")
    assert given == [("r0", "1"), ("r1", "1"), ("r2", "1"), ("r3", "-1")]
