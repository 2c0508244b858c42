"""Kill the server of the page while people answer; every answer that was acknowledged is stored, once.

    python benchmarks/hardening/attacks/kill_page.py [COUNT] [SEED]

Each worker takes requests and answers them, and sends an answer again until it is acknowledged.
"""

import http.client
import json
import random
import re
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from harness import HUTCH, Found, lines, main, run

from hutch import Chain

_WORKERS, _PATIENCE = 3, 120.0


class _Page:
    """The page's server, started again each time it was killed."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._errors = folder, (folder / "errors").open("w+")
        self.start()

    def start(self) -> None:
        """Start it and learn its address."""
        self.process = subprocess.Popen(
            [*HUTCH, "active", "serve", "--store", "store.db", "--port", "0"],
            cwd=self._folder,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        assert self.process.stdout is not None
        found = re.search(r":(\d+)(/.*)", self.process.stdout.readline())
        self.process.stdout.close()
        if found is None:
            raise RuntimeError(f"the server ended with status {self.process.wait()}")
        self.port, self.place = int(found[1]), found[2].strip()

    def kill(self) -> None:
        """End it without a warning."""
        self.process.kill()
        self.process.wait()

    def end(self) -> str:
        """Stop it as one should; what it said on standard error."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        self._errors.seek(0)
        said = self._errors.read()
        self._errors.close()
        return said

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Ask until there is an answer."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            with suppress(OSError, http.client.HTTPException, ValueError):
                with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
                    content = None if body is None else json.dumps(body)
                    connection.request(method, self.place + path, content, {"Content-Type": "application/json"})
                    answer = connection.getresponse()
                    return answer.status, json.loads(answer.read())
            time.sleep(0.02)
        raise TimeoutError("the server does not come back")


class _Workers:
    """People who answer."""

    def __init__(self, page: _Page, seed: int) -> None:
        self.page, self.seed, self.stopping = page, seed, False
        self.acknowledged: dict[tuple[str, str], str] = {}
        self.counts: Counter[str] = Counter()
        self.failure: BaseException | None = None

    def work(self, number: int) -> None:
        """Answer until there is nothing left or it is time to stop."""
        dice, name = random.Random(f"{self.seed}/{number}"), f"worker{number}"
        try:
            while not self.stopping:
                status, found = self.page.ask("GET", f"next?worker={name}")
                if status != 200 or not found["request"]:
                    return
                id, label = found["request"]["id"], str(dice.choice([1, -1]))
                status, said = self.page.ask("POST", "answer", {"id": id, "worker": name, "label": label})
                if status != 200:
                    raise RuntimeError(f"an answer was refused with {status}: {said}")
                self.acknowledged[id, name] = label
                self.counts["acknowledged"] += said["new"]
                self.counts["acknowledged when sent again"] += said["repeated"]
        except BaseException as error:
            self.failure = error

    def wait_for(self, answers: int) -> None:
        """Wait until so many more answers are acknowledged."""
        wanted, deadline = len(self.acknowledged) + answers, time.monotonic() + _PATIENCE
        while len(self.acknowledged) < wanted and self.failure is None and time.monotonic() < deadline:
            time.sleep(0.01)


def _prepare(folder: Path, requests: int) -> None:
    config = {"weights": {"bits": 12}, "chain": [{"active": {"labels": [-1, 1]}}, {"linear": {"loss": "logistic"}}]}
    Chain.from_config(config).save(folder / "model")
    pool = [line.partition(" ")[2] for line in lines(requests, 3, words=5000)]
    (folder / "pool.vw").write_text("\n".join(pool) + "\n")
    asked = run(["active", "ask", "pool.vw", "-i", "model", "--store", "store.db", "-n", str(requests)], folder)
    if wrong := asked.wrong(0):
        raise RuntimeError(wrong)


def attack(count: int, seed: int) -> Found:
    """Kill so often."""
    dice, findings = random.Random(seed), []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _prepare(folder, 60 * (count + 2))
        page = _Page(folder)
        workers = _Workers(page, seed)
        threads = [threading.Thread(target=workers.work, args=(k,)) for k in range(_WORKERS)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(count):
                if dice.random() < 0.8:  # else it may die before it has answered anything
                    workers.wait_for(5)
                time.sleep(dice.random() * 0.3)
                page.kill()
                page.start()
            time.sleep(1.0)
        finally:
            workers.stopping = True
            for thread in threads:
                thread.join()
            said = page.end()
        if workers.failure is not None:
            findings.append(f"a worker gave up: {workers.failure}")
        with closing(sqlite3.connect(folder / "store.db")) as connection:
            stored = connection.execute("SELECT request, worker, label FROM labels").fetchall()
            sound = connection.execute("PRAGMA integrity_check").fetchone()[0]
        given = [(*key, label) for key, label in workers.acknowledged.items()]
        if sorted(stored) != sorted(given):
            lost, more = set(given) - set(stored), set(stored) - set(given)
            findings.append(f"{len(given)} acknowledged, {len(stored)} stored; lost: {lost}, not acknowledged: {more}")
        if sound != "ok":
            findings.append(f"the store is damaged: {sound}")
        if said.strip():
            findings.append(f"on standard error: {said.strip()[-300:]}")
    return Counter({"killed": count, **workers.counts}), [f"seed {seed}: {text}" for text in findings]


if __name__ == "__main__":
    main(__doc__, attack, 100)
