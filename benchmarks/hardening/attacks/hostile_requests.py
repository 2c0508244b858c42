"""Malformed requests to `hutch serve` and to the page on which people answer: refused with 4xx, and nothing changes.

    python benchmarks/hardening/attacks/hostile_requests.py [COUNT] [SEED]

Bodies to learn from hold, among good examples, one that is wrong; bodies to predict are good ones with bytes changed,
and must give numbers or a refusal; a third are malformed as HTTP. A finding is a status of 5xx, an answer that is no
JSON, a server that dies or does not answer, something wrong that is taken, or a model or store that is not as it was.
"""

import io
import json
import random
import re
import signal
import socket
import sqlite3
import subprocess
import tempfile
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from harness import HUTCH, Found, digest, lines, main, run

from hutch import Chain

_TEXT, _JSON, _ARROW = "text/plain", "application/json", "application/vnd.apache.arrow.stream"
_SECONDS = 20.0
_DECIDING: list[Any] = ["contextual_bandit", "cost_sensitive_with_features", "linear"]
_CHAINS: dict[str, list[Any]] = {
    "plain": [{"linear": {"loss": "logistic"}}],
    "costs": [{"cost_sensitive_one_against_all": {"classes": 3}}, "linear"],
    "choices": [{"action_per_class": {"classes": 3}}, "explore_epsilon", *_DECIDING],
    "decisions": _DECIDING,
}
"""Models by name; the first is the one that requests without a name reach."""
_WRONG_LINES = [
    *(f"{label} |w a" for label in ("nan", "inf", "1e400", "spam", "0x1", "1;2", "1,5", "--1")),
    *(f"1 {weight} |w a" for weight in ("-1", "nan", "inf", "x", "1e400")),
    *(f"1 |w a:{value}" for value in ("nan", "inf", "-inf", "1e400", "0x10", "1e39", "1:2")),
    *("|w unlabelled", "1 w no bar", "1 |w:nan a", "1 |w:x a", "2 |w a", "1 |w a\0b", "1\t2\t3\t4 |w a"),
]
_WRONG_VALUES: list[Any] = [
    *(7, 1.5, "", "spam", "nan", "1e400", [], [[]], {"a": {"b": {}}}, "\ud800", 10**30, 1e308, [1] * 50, "x" * 3000),
]
_COSTS: list[Any] = [
    *({"x": 1}, {"-1": 0}, {"1": "x"}, {"1": 1e39}, {"1": 10**400}, {str(2**40): 1}, {"1.5": 1}, {"1": []}, {"": 1}),
    *({"1": {}}, {"9" * 4000: 1}, {"\ud800": 1}, {"1": "0"}, {"0x1": 1}, 1, [1], "1:0", {"1": 0, "x": 1}),
]
_NO_NUMBERS: list[Any] = [None, "x", "", -1, 1e39, 10**400, 2**40, [], {}, [1], "1", 1e308]
_RAW_JSON = [
    *(b"", b"{", b"[", b"null", b"1", b'"a"', b"{}", b"[]", b"[{}]", b"[1]", b"[null]", b"[" * 3000 + b"]" * 3000),
    *(b'{"label": NaN, "w": "a"}', b'{"label": 1, "w": {"a": Infinity}}', b'{"label": 1e400, "w": "a"}'),
    *(b'{"label": ' + b"9" * 5000 + b', "w": "a"}', b'{"label": 1, "label": 1, "w": "a"}', b'{"w": "a"}'),
    *(
        b'{"label": 1, "w": {"a": NaN}}',
        b'{"label": 1, "w": "\\ud800"}',
        b'\xff\xfe{"label": 1}',
        b"\0",
        b'{"a":' * 9999,
    ),
    *(b'{"label": 1, "w": {"a": {"b": {"c": 1}}}}', b'{"label": 1, "w": {"a": 1e400}}', b'{"label": "x", "w": "a"}'),
]
_PATHS = ["/v1/predict", "/v1/learn", "/v1/rank", "/v1/reward", "/v1/labels", "/v1/model", "/healthz", "/metrics", "/"]
_PATHS += ["/openapi.json", "/%00", "/../../etc/passwd", "/v1/learn/", "//v1/learn", "/v1/%2e%2e/learn"]
_HEADERS = [
    *(b"Content-Length: -1", b"Content-Length: 99999999999999999999", b"Content-Length: x", b"Content-Length: 1, 2"),
    *(b"Transfer-Encoding: chunked", b"Transfer-Encoding: x", b"Host: evil.example", b"Host:", b"Host: \xff", b": x"),
    *(b"Origin: http://evil.example", b"Content-Type: text/plain", b"Expect: 100-continue", b"Upgrade: websocket"),
    *(b"Idempotency-Key: " + b"k" * 5000, b"Idempotency-Key: \xff", b"Authorization: Bearer x", b"x: " + b"y" * 70000),
    *(
        b"Content-Encoding: gzip",
        b"Connection: upgrade",
        b"Content-Length: 5\r\nContent-Length: 6",
        b" folded",
        b"a b: c",
    ),
]


def _changed(body: bytes, dice: random.Random) -> bytes:
    found = bytearray(body)
    for _ in range(dice.choice([1, 1, 2, 5])):
        place, how = dice.randrange(len(found) + 1), dice.random()
        if how < 0.5:
            found[place : place + 1] = bytes([dice.randrange(256)])
        elif how < 0.7:
            del found[place : place + dice.randint(1, 9)]
        elif how < 0.9:
            found[place:place] = dice.choice([b"\n", b"|", b":", b"\0", b"nan", b"1e400", b"{", b"[", b'"', b"\\u0000"])
        else:
            del found[place:]
    return bytes(found)


def _table(labels: list[Any], values: list[Any]) -> bytes:
    table = pa.table({"label": labels, "w": values})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _wrong_record(model: str, dice: random.Random) -> Any:
    """A record from which a model may not learn."""
    if model == "costs":
        return {"label": dice.choice(_COSTS), "w": "a"}
    if model == "choices":
        choice = {"class": 1, "cost": 0.5, "probability": 0.5}
        name = dice.choice(list(choice))
        choice[name] = dice.choice([value for value in _NO_NUMBERS if name != "cost" or value not in (-1, 2**40)])
        return {
            "label": dice.choice([choice, {"class": 1}, 1, [1, 2, 3], "1:1:1", {**choice, "probability": 0}]),
            "w": "a",
        }
    decision: Any = {
        "shared": {"u": "a"},
        "actions": [{"a": "b"}, {"a": "c"}],
        "chosen": 1,
        "cost": 1,
        "probability": 0.5,
    }
    name = dice.choice(["actions", "chosen", "cost", "probability", "shared", "action", "new"])
    if name == "action":
        decision["actions"][1] = dice.choice([1, "a", [], None, {"a": [[1]]}, {"label": 1, "a": "b"}, {"a": {"b": []}}])
    else:
        allowed = {"cost": (-1, 2**40), "shared": (None, {}), "chosen": ()}.get(name, ())
        decision[name] = dice.choice([value for value in _NO_NUMBERS if value not in allowed])
    return decision


def _wrong(dice: random.Random, model: str) -> tuple[str, bytes]:
    """A body from which nothing may be learned."""
    if model != "plain":
        return _JSON, json.dumps(_wrong_record(model, dice)).encode()
    how = dice.random()
    if how < 0.45:
        good = lines(3, dice.randrange(9))
        good.insert(dice.randrange(4), dice.choice(_WRONG_LINES))
        return _TEXT, "\n".join(good).encode() + b"\n" * dice.randrange(2)
    if how < 0.6:
        return _JSON, dice.choice(_RAW_JSON)
    if how < 0.85:
        record: Any = {"label": dice.choice([v for v in _WRONG_VALUES if v is not None]), "w": {"a": 1.0}}
        if dice.random() < 0.3:
            record = {"label": 1, "w": {"a": 1.0}, "importance": dice.choice(["x", -1, [], {}, "nan", 1e39])}
        records = [{"label": 1, "w": "b"}, record]
        dice.shuffle(records)
        return _JSON, json.dumps(records).encode()
    bad = dice.choice([float("nan"), float("inf"), 7.0, 1e300])
    found = _table([1.0, bad], [1.0, 2.0]) if dice.random() < 0.5 else _table([1.0, -1.0], [1.0, 1e300])
    return _ARROW, found if dice.random() < 0.7 else found[: dice.randrange(len(found) - 100)]


def _half_right(dice: random.Random) -> tuple[str, bytes]:
    """A body whose bytes were changed, which may still say something."""
    text = "\n".join(lines(3, dice.randrange(9))).encode()
    record = json.dumps([{"w": {"a": 1.0, "b": [1, 2]}, "label": 1}, {"w": ["x", "y"]}]).encode()
    kind, body = dice.choice([(_TEXT, text), (_JSON, record), (_ARROW, _table([1.0], [2.0]))])
    return kind, _changed(body, dice)


def _raw(dice: random.Random) -> bytes:
    """Bytes that are hardly HTTP."""
    method = dice.choice(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PRI", "\x16\x03\x01"])
    head = f"{method} {dice.choice(_PATHS)} HTTP/{dice.choice(['1.1', '1.1', '1.0', '0.9', '2', 'x'])}".encode()
    headers = [b"Host: 127.0.0.1", b"Content-Type: text/plain"] + dice.sample(_HEADERS, dice.randrange(3))
    body = dice.choice([b"", b"1 |w a\n", b"5\r\n1 |w \r\n", b"zz\r\n", b"0\r\n\r\n", b"ffffffffffffffff\r\n"])
    sent = head + b"\r\n" + b"\r\n".join(headers) + b"\r\n\r\n" + body
    return _changed(sent, dice) if dice.random() < 0.5 else sent


class Client:
    """One connection at a time."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None
        self._file: Any = None

    def close(self) -> None:
        """End the connection."""
        if self._socket is not None:
            with suppress(OSError):  # what could not be sent
                self._file.close()
            self._socket.close()
            self._socket = None

    def send(self, method: str, path: str, kind: str, body: bytes) -> tuple[int, bytes]:
        """A well-formed request; returns status and body."""
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}"
        return self._exchange(head.encode() + b"\r\n\r\n" + body, whole=True)

    def send_raw(self, data: bytes) -> tuple[int, bytes]:
        """Whatever it is, on a connection of its own; status 0 if the server only closes it."""
        self.close()
        try:
            return self._exchange(data, whole=False)
        finally:
            self.close()

    def _exchange(self, data: bytes, whole: bool) -> tuple[int, bytes]:
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), _SECONDS)
            self._file = self._socket.makefile("rwb")
        try:
            self._file.write(data)
            self._file.flush()
            if not whole:
                self._socket.shutdown(socket.SHUT_WR)
            head = b""
            while not head.endswith(b"\r\n\r\n") and (line := self._file.readline()):
                head += line
        except ConnectionError:
            head = b""
        found = re.match(rb"HTTP/1\.\d (\d{3})", head)
        if found is None:
            self.close()
            return 0, head
        size = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        body = self._file.read(int(size[1])) if size and whole else b""
        if b"connection: close" in head.lower():
            self.close()
        return int(found[1]), body


class Target:
    """A server that is attacked; `address` is the line that it prints first."""

    def __init__(self, folder: Path, *command: str) -> None:
        self._errors = (folder / "errors").open("w+")
        self.process = subprocess.Popen(
            [*HUTCH, *command], cwd=folder, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        found = re.search(r":(\d+)", self.address)
        if found is None:
            raise RuntimeError(f"the server ended with status {self.process.wait()}")
        self.port = int(found[1])
        self.client = Client(self.port)

    def end(self) -> list[str]:
        """Stop it as one should; what was wrong with its end."""
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._errors.seek(0)
        said = self._errors.read().strip()
        self._errors.close()
        wrong = [] if status == 0 else [f"SIGTERM ended the server with status {status}"]
        return wrong + ([f"on standard error: {said[-300:]}"] if said else [])


def _judge(status: int, body: bytes, taken: bool, raw: bool) -> str:
    """What is wrong with an answer; empty if nothing is."""
    if status >= 500 or (status == 0 and not raw):
        return f"status {status}"
    if status < 300 and not (taken or raw):
        return f"was taken: {body[:100]!r}"
    if body and not raw:
        try:
            json.loads(body, parse_constant=lambda word: 1 / 0)
        except (ValueError, ZeroDivisionError):
            return f"status {status}, which is not JSON: {body[:100]!r}"
    return ""


def serve(count: int, dice: random.Random, folder: Path, chains: dict[str, list[Any]] = _CHAINS) -> Found:
    """Requests to `hutch serve`, which has models of these chains."""
    counts: Counter[str] = Counter()
    findings: list[str] = []
    for name, layers in chains.items():
        Chain.from_config({"weights": {"bits": 12}, "chain": layers}).save(folder / name)
    before = {name: digest(folder / name) for name in chains}
    target = Target(folder, "serve", *chains, "--port", "0", "--save-every", "5")
    for number in range(count):
        how, taken = dice.random(), False
        if raw := how < 0.33:
            sent = _raw(dice)
            status, body = target.client.send_raw(sent)
        else:
            taken = how > 0.75
            path = "/v1/predict" if taken else dice.choice(["/v1/learn"] * 7 + ["/v1/rank", "/v1/reward", "/v1/labels"])
            if path in ("/v1/reward", "/v1/labels"):
                kind, sent = _JSON, dice.choice([b'{"id": "x", "cost": 1}', *_RAW_JSON])
            else:
                model = dice.choice([*chains, "plain", "plain"]) if path == "/v1/learn" else "plain"
                kind, sent = _half_right(dice) if taken else _wrong(dice, model)
                path += f"?model={model}"
            status, body = target.client.send("POST", path, kind, sent)
        counts[f"serve: {'raw' if raw else 'body'}: {status or 'closed'}"] += 1
        if wrong := _judge(status, body, taken, raw):
            findings.append(f"serve, number {number}: {wrong}: {sent[:300]!r}")
        if target.process.poll() is not None:
            return counts, [*findings, f"serve, number {number}: the server is gone"]
    for name in chains:
        status, body = target.client.send("GET", f"/v1/model?model={name}", _JSON, b"")
        if status != 200 or json.loads(body)["position"] != 0:
            findings.append(f"serve: {name} has learned: {body[:200]!r}")
    findings += target.end()
    changed = [name for name in chains if digest(folder / name) != before[name]]
    return counts, findings + [f"serve: {name} has changed" for name in changed]


def page(count: int, dice: random.Random, folder: Path) -> Found:
    """Requests to the page."""
    counts: Counter[str] = Counter()
    findings: list[str] = []
    config = {"weights": {"bits": 12}, "chain": [{"active": {"labels": [-1, 1]}}, {"linear": {"loss": "logistic"}}]}
    Chain.from_config(config).save(folder / "asking")
    (folder / "pool.vw").write_text("\n".join(line.partition(" ")[2] for line in lines(50, 3)) + "\n")
    asked = run(["active", "ask", "pool.vw", "-i", "asking", "--store", "store.db", "-n", "10"], folder)
    ids = [json.loads(line)["id"] for line in asked.out.splitlines()]
    target = Target(folder, "active", "serve", "--store", "store.db", "--port", "0")
    place = "/" + target.address.split("/", 3)[3]
    for number in range(count):
        how = dice.random()
        if raw := how < 0.33:
            sent = _raw(dice).replace(b" /", b" " + place.encode(), 1)
            status, body = target.client.send_raw(sent)
        else:
            answer: Any = {"id": dice.choice(ids), "worker": "ann", "label": 1}
            key = dice.choice(list(answer))
            answer[key] = dice.choice([v for v in _WRONG_VALUES if key != "worker" or not isinstance(v, str)])
            if dice.random() < 0.2:
                del answer[key]
            sent = json.dumps(answer).encode() if how < 0.7 else dice.choice(_RAW_JSON)
            status, body = target.client.send("POST", place + dice.choice(["answer", "answer", "undo"]), _JSON, sent)
        counts[f"page: {'raw' if raw else 'body'}: {status or 'closed'}"] += 1
        if wrong := _judge(status, body, False, raw):
            findings.append(f"page, number {number}: {wrong}: {sent[:300]!r}")
        if target.process.poll() is not None:
            return counts, [*findings, f"page, number {number}: the server is gone"]
    findings += target.end()
    with closing(sqlite3.connect(folder / "store.db")) as connection:
        stored = connection.execute("SELECT count(*) FROM labels").fetchone()[0]
    if stored:
        findings.append(f"page: {stored} labels are stored")
    return counts, findings


def attack(count: int, seed: int) -> Found:
    """Send so many requests, three of four to `hutch serve`."""
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        counts, findings = serve(count - count // 4, dice, Path(one))
        more, wrong = page(count // 4, dice, Path(other))
    return counts + more, [f"seed {seed}: {text}" for text in findings + wrong]


if __name__ == "__main__":
    main(__doc__, attack, 10_000)
