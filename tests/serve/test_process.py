"""`hutch serve` as a process: sudden death, a graceful stop, slow and hostile clients."""

import http.client
import importlib.util
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from hutch import Chain

HUTCH = [sys.executable, "-c", "from hutch.cli.main import main; main()"]
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def script(name: str) -> Any:
    """A script of the benchmarks, as a module."""
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize(("what", "kills"), [("examples", 2), ("decisions", 1), ("labels", 1)])
def test_sudden_death_loses_nothing_that_was_acknowledged(what: str, kills: int) -> None:
    done = script("hardening/attacks/serve_kills").attack(kills, clients=3, seed=7, longest=1.0, what=what)
    assert done.acknowledged > 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "missing: cannot be"),
        (["model", "model"], "got two models named 'model', wanted NAME=model for one of them"),
        (["model", "--host", "0.0.0.0"], "--host 0.0.0.0: others can reach it, so it needs a token"),
        (["model", "--token", "a b"], "--token: wanted printable ASCII without blanks"),
        (["model", "--store", "model"], "model: .*not a (label )?store|cannot be used as a label store"),
    ],
)
def test_what_is_refused(model: Path, arguments: list[str], message: str) -> None:
    done = subprocess.run([*HUTCH, "serve", *arguments], cwd=model.parent, capture_output=True, text=True, timeout=60)
    assert done.returncode in (1, 2) and not done.stdout
    assert re.search(message, done.stderr), done.stderr
    assert "Traceback" not in done.stderr


def test_a_model_whose_folder_is_gone_does_not_keep_the_server_or_other_models(tmp_path: Path) -> None:
    for name in ("gone", "kept"):
        (tmp_path / name).mkdir()
        Chain.from_config({"weights": {"bits": 10}, "chain": ["linear"]}).save(tmp_path / name / "model")
    options = ["a=gone/model", "b=kept/model", "--store", "kept/log.db", "--port", "0", "--save-every", "1"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*HUTCH, "serve", *options], cwd=tmp_path, **streams) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline().rpartition(":")[2])
        shutil.rmtree(tmp_path / "gone")
        for name in "ab":
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
                connection.request("POST", f"/v1/learn?model={name}", "1 |f a", {"Content-Type": "text/plain"})
                assert connection.getresponse().status == 200
        time.sleep(1.5)  # a save fails while it serves, too
        server.send_signal(signal.SIGTERM)
        said = server.communicate(timeout=60)[1]
    assert server.returncode == 1 and "gone/model: cannot be written" in said and "Traceback" not in said
    assert Chain.load(tmp_path / "kept" / "model").statistics.examples == 1


SHORT_OF_MEMORY = """
from hutch.cli.main import main
from hutch.core.run.one import OneExample
real = OneExample.run
def run(one, example, learns):
    if b"large" in example:
        raise MemoryError
    return real(one, example, learns)
OneExample.run = run
main()
"""


def test_a_server_without_memory_goes_on_after_a_prediction_and_ends_after_a_learn_request_which_the_next_learns(
    tmp_path: Path,
) -> None:
    Chain.from_config({"weights": {"bits": 10}, "chain": ["linear"]}).save(tmp_path / "model")
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    options = ["serve", "model", "--port", "0"]
    for command, body, status, code in (
        ([sys.executable, "-c", SHORT_OF_MEMORY], "1 |f large", 503, 1),
        (HUTCH, "1 |f small", 200, 0),
    ):
        with subprocess.Popen([*command, *options], cwd=tmp_path, **streams) as server:
            assert server.stdout is not None
            port = int(server.stdout.readline().rpartition(":")[2])
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
                for path in ("/v1/predict", "/v1/predict", "/v1/learn"):
                    connection.request("POST", path, body, {"Content-Type": "text/plain"})
                    response = connection.getresponse()
                    said = response.read().decode()
                    assert response.status == status and ("memory" in said.lower()) == code
            if status == 200:
                server.send_signal(signal.SIGTERM)
            said = server.communicate(timeout=60)[1]
        assert server.returncode == code and "Traceback" not in said
        assert ("model: MemoryError: half a request may have been learned; start the server again" in said) == code
    assert Chain.load(tmp_path / "model").statistics.examples == 2


def test_a_log_that_is_deleted_acknowledges_nothing(tmp_path: Path) -> None:
    Chain.from_config({"weights": {"bits": 10}, "chain": ["linear"]}).save(tmp_path / "model")
    command = [*HUTCH, "serve", "model", "--store", "log.db", "--port", "0", "--vw-port", "0"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, **streams) as server:
        assert server.stdout is not None
        port, lines = (int(server.stdout.readline().rpartition(":")[2]) for _ in range(2))

        def ask(path: str) -> tuple[int, bytes]:
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
                connection.request("POST", path, "1 |f a", {"Content-Type": "text/plain"})
                response = connection.getresponse()
                return response.status, response.read()

        assert ask("/v1/learn")[0] == 200
        for path in tmp_path.glob("log.db*"):
            path.unlink()
        status, said = ask("/v1/learn")
        assert status == 503 and b"log.db: was deleted or moved while it was in use: nothing was stored" in said
        with socket.create_connection(("127.0.0.1", lines), timeout=30) as connection:
            connection.sendall(b"1 'x|f a\n")
            assert connection.recv(500).startswith(b"error: log.db: was deleted or moved")
        assert ask("/v1/predict")[0] == 200
        server.send_signal(signal.SIGTERM)
        told = server.communicate(timeout=60)[1]
    assert server.returncode == 1 and "log.db: was deleted or moved" in told and "Traceback" not in told
    assert Chain.load(tmp_path / "model").statistics.examples == 1  # what was acknowledged, saved at the end


def test_a_stop_answers_what_is_under_way_and_saves(model: Path) -> None:
    command = [*HUTCH, "serve", f"m={model}", "--port", "0", "--vw-port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ports = [int(process.stdout.readline().rpartition(":")[2]) for _ in range(2)]
        with socket.create_connection(("127.0.0.1", ports[1]), timeout=30) as connection:
            connection.sendall(b"1 'x|f a\n")
            assert connection.recv(100).endswith(b" x\n")
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
    assert Chain.load(model).statistics.examples == 15 + 1


WHOLE = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
SLOW = """
import sys
from pathlib import Path
import asyncio
from hutch.net.limits import Limits
from hutch.net.web import listen, run_app
from hutch.net.application import Application, Reply, Route
async def echo(asked): return Reply(asked.body, "text/plain")
here = Route("GET", "/", lambda asked: Reply(b"here", "text/plain"))
large = Route("GET", "/large", lambda asked: Reply(b"x" * (1 << 24), "text/plain"))
app = Application([here, large, Route("POST", "/", echo, bodies={"text/plain": {}})], {})
with listen("127.0.0.1", 0) as listening:
    limits = Limits(header_seconds=0.5 if len(sys.argv) < 2 else 60.0, waiting=20, unread_seconds=0.5)
    run_app(app, listening, lambda: print(listening.getsockname()[1], flush=True), limits)
"""


def test_headers_that_do_not_end() -> None:
    with subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            for before, begun in ((b"", b""), (b"", b"GET / HTTP/1.1\r\nHost: "), (WHOLE, b"GET / HT")):
                with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
                    if before:
                        connection.sendall(before)
                        assert b"200 OK" in connection.recv(1000)
                    connection.sendall(begun)
                    begin = time.monotonic()
                    try:
                        assert connection.recv(1000) in (b"", b"here")
                    except ConnectionResetError:
                        pass
                    assert time.monotonic() - begin < 20
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        finally:
            process.kill()


def test_a_client_that_does_not_read_its_answer_is_cut_off(tmp_path: Path) -> None:
    asked = WHOLE.replace(b"GET /", b"GET /large")
    with open(tmp_path / "said", "w+") as said:
        program = [sys.executable, "-c", SLOW, "patient"]
        with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=said, text=True) as process:
            try:
                assert process.stdout is not None
                port = int(process.stdout.readline())
                with socket.create_connection(("127.0.0.1", port), timeout=30) as slow:
                    with socket.create_connection(("127.0.0.1", port), timeout=30) as quick:
                        quick.sendall(asked)
                        got = 0
                        while got < 1 << 24:
                            got += len(quick.recv(1 << 16))
                    slow.sendall(asked * 3)
                    time.sleep(2)
                    got = 0
                    with suppress(ConnectionError):
                        while piece := slow.recv(1 << 16):
                            got += len(piece)
                    assert got < 1 << 24
                process.send_signal(signal.SIGTERM)
                assert process.wait(30) == 0
            finally:
                process.kill()
        assert (tmp_path / "said").read_text() == ""


def test_headers_that_do_not_fit_and_requests_whose_answers_are_not_read() -> None:
    with subprocess.Popen([sys.executable, "-c", SLOW, "patient"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            for header in (b"X-A: " + b"x" * 1000, b"X: y\r\n" * 200):
                with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
                    connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
                    found = b""
                    with suppress(ConnectionError):
                        for _ in range(2000):
                            connection.sendall(header)
                        found = connection.recv(1000)
                    assert found in (b"",) or found.startswith(b"HTTP/1.1 431 ")
            with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
                with suppress(ConnectionError):
                    connection.sendall(WHOLE * 3000)
                    while connection.recv(1 << 16):
                        pass
            offer = b"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAEAAEAAAAIAAAAA\r\nUpgrade: h2c\r\n"
            with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
                connection.sendall(
                    b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\nContent-Type: text/plain\r\n"
                    + offer
                    + b"\r\nbody"
                )
                found = b""
                while not found.endswith(b"body"):
                    found += connection.recv(1000) or b"closed: body"
                assert b"200 OK" in found and b"closed" not in found
            with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
                connection.sendall(WHOLE * 10)
                found = b""
                while found.count(b"200 OK") < 10:
                    found += connection.recv(1 << 16)
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        finally:
            process.kill()


def test_a_client_that_sends_all_before_it_reads_gets_the_answer_to_a_body_that_is_too_large(model: Path) -> None:
    """As Python's http.client does: a connection that is closed while it sends is an error without an answer."""
    serving = [*HUTCH, "serve", "model", "--port", "0", "--max-body", "100000"]
    with subprocess.Popen(serving, cwd=model.parent, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r":(\d+)\s", process.stdout.readline())
            assert found is not None
            line = b"|a b\n" * 1000
            for body, more in ((line * 8_000, {}), (iter([line] * 8_000), {"encode_chunked": True})):
                with closing(http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=60)) as client:
                    client.request("POST", "/v1/predict", body, {"Content-Type": "text/plain"}, **more)
                    answer = client.getresponse()
                    assert (answer.status, answer.getheader("connection")) == (413, "close")
                    assert b"wanted at most 100000" in answer.read() or more
        finally:
            process.terminate()
