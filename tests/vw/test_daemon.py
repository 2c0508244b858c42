"""`hutch vw --daemon`: a process that answers lines as `-p` writes them."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import HutchError
from hutch.vw.daemon import Daemon
from hutch.vw.parse import parse

HUTCH = [sys.executable, "-c", "from hutch.cli.main import main; main()", "vw", "--daemon"]


def say(port: int, text: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(text)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        while piece := connection.recv(1 << 16):
            found += piece
    return found


def wait_for(path: Path) -> int:
    for _ in range(600):
        if path.exists():
            return int(path.read_text())
        time.sleep(0.1)
    raise TimeoutError(path)


def test_it_leaves_the_terminal_and_saves_when_told(tmp_path: Path) -> None:
    options = ["--port", "0", "--port_file", "port", "--pid_file", "pid", "-f", "last", "--loss_function", "logistic"]
    subprocess.run([*HUTCH, *options, "--quiet"], cwd=tmp_path, check=True, timeout=60, stdout=subprocess.DEVNULL)
    port, process = wait_for(tmp_path / "port"), wait_for(tmp_path / "pid")
    try:
        lines = [f"{1 - 2 * (k % 2)} 't{k}|f a{k % 7}:{k % 5 + 1}" for k in range(300)]
        found = say(port, "\n".join(lines).encode()).decode().splitlines()
        config = {"input": {"namespaces": "letter"}, "chain": [{"linear": {"loss": "logistic"}}]}
        wanted = Chain.from_config(config).learn(lines)
        np.testing.assert_allclose([float(line.split(" ")[0]) for line in found], wanted, atol=1e-6)
        assert [line.split(" ")[1] for line in found] == [f"t{k}" for k in range(300)]
        assert say(port, b"'save_now|f a\n\n|f a\n").count(b"\n") == 1
        assert Chain.load(tmp_path / "now").statistics.examples == 300
        assert say(port, b"GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400")
    finally:
        os.kill(process, signal.SIGTERM)
    for _ in range(600):
        if not (tmp_path / "pid").exists():
            break
        time.sleep(0.1)
    assert Chain.load(tmp_path / "last").statistics.examples == 301


_LOG = (
    b'{"_label_cost":-1,"_label_probability":0.5,"_label_Action":2,"_labelIndex":1,"a":[2,1],'
    b'"c":{"_multi":[{"a":{"x":1}},{"a":{"y":1}}]},"p":[0.5,0.5]}'
)


@pytest.mark.parametrize(
    ("options", "lines", "wanted"),
    [
        ([], b"1 |f a\n", b"0\n"),
        (["-t"], b"1 |f a\n1 |f a\n", b"0\n0\n"),
        ([], b"\n\n", b""),
        (["--oaa", "3"], b"2 |f a\n2 'x|f a\n", b"1\n2 x\n"),
        (["--oaa", "3", "--named_labels", "a,b,c"], b"2 |f a\n", b"a\n"),
        (["--bootstrap", "2"], b"1 't|f a\n", b"0.000000 t 0.000000 0.000000\n"),
        (["--dsjson", "--cb_explore_adf"], _LOG + b"\n", b"0:0.5,1:0.5\n\n"),
        (["--dsjson", "--cb_explore_adf"], 2 * (_LOG + b"\n"), b"0:0.5,1:0.5\n\n1:0.975,0:0.025\n\n"),
        (["--dsjson", "--cb_explore_adf", "-t"], 2 * (_LOG + b"\n"), 2 * b"0:0.5,1:0.5\n\n"),
        (["--dsjson", "--cb_explore_adf"], b'{"c":}\n', b""),
        (["--strict_parse"], b"1 |f a:1y b\n", b"error: <client>:1:9: bad feature value"),
    ],
)
def test_answers(options: list[str], lines: bytes, wanted: bytes) -> None:
    found = Daemon(parse([*options, "--quiet"])).answer(lines)
    assert found.startswith(wanted) if wanted.startswith(b"error") else found == wanted


@pytest.mark.parametrize("options", [[], ["-t"], ["--loss_function", "logistic"], ["--oaa", "3"]])
def test_line_by_line_is_all_at_once(options: list[str]) -> None:
    one, many = (Daemon(parse([*options, "--quiet"])) for _ in range(2))
    lines = [f"{k % 3 + 1} 't{k}|f a{k % 7}:{k % 5 + 1} b{k % 2}\n".encode() for k in range(60)]
    lines[5], lines[9], lines[20] = b"|f a1\n", b"1 2.5 |f a1:1e5\n", b"\n"
    lines[11], lines[12] = b"1 |f a:x b\n", b"2 'no_features|\n"
    assert b"".join(map(one.answer, lines)) == many.answer(b"".join(lines))
    for name, array in one.chain.arrays().items():
        np.testing.assert_array_equal(array, many.chain.arrays()[name], name)


@pytest.mark.parametrize(
    ("options", "line", "message"),
    [
        ([], b"'save|f a\n", "save: got no name"),
        (["-f", "x"], b"'save_../y|f a\n", "save_../y: got a path, wanted a name"),
    ],
)
def test_what_a_client_may_not_save(
    options: list[str],
    line: bytes,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Daemon(parse([*options, "--quiet"])).answer(line) == b""
    assert message in capsys.readouterr().err
    assert not list(tmp_path.parent.glob("y"))


def test_a_decision_that_arrives_in_pieces_is_one(tmp_path: Path) -> None:
    options = ["--foreground", "--port", "0", "--port_file", "port", "--cb_explore_adf", "--quiet"]
    with subprocess.Popen([*HUTCH, *options], cwd=tmp_path) as process:
        try:
            with socket.create_connection(("127.0.0.1", wait_for(tmp_path / "port")), timeout=60) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                found = b""
                for piece in (
                    b"shared |s a\n0:1:0.5 |a x\n",
                    b"|a y\n",
                    b"\n",
                    b"shared |s a\n|a x\n|a y",
                    b"\n|a z\n\n",
                ):
                    connection.sendall(piece)
                    time.sleep(0.1)
                while found.count(b"\n\n") < 2:
                    found += connection.recv(1 << 16)
        finally:
            process.terminate()
    assert found == b"0:0.5,1:0.5\n\n1:0.491667,2:0.491667,0:0.016667\n\n"  # as Vowpal Wabbit 9.11.9 answers


def test_a_file_that_cannot_be_written_is_said_before() -> None:
    with pytest.raises(HutchError, match="cannot be written"):
        Daemon(parse(["-f", "/nowhere/model"]))
