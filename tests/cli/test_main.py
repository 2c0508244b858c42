import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch.cli import plugin as failing
from hutch.cli.commands import Commands
from hutch.core.chain.model_file import load_compact
from hutch.core.chain.registry import Command
from hutch.core.chain.stored import dense
from hutch.core.errors import HutchError
from hutch.plugins.manager import installed

HUTCH = [sys.executable, "-c", "from hutch.cli.main import main; main()"]
HEAVY = ("numpy", "numba", "pydantic", "rich", "yaml", "safetensors")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
import atexit, sys
atexit.register(lambda: print("HEAVY", [name for name in {HEAVY} if name in sys.modules]))
sys.argv = ["hutch", *{arguments!r}]
from hutch.cli.main import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.endswith("HEAVY []\n"), done.stdout + done.stderr


def test_the_help_of_commands_loads_no_kernels() -> None:
    code = """
import sys
from hutch.cli.commands import Commands, app
for name in Commands.names():
    try:
        app([name, "--help"], prog_name="hutch")
    except SystemExit as exit:
        assert exit.code == 0
    print("HEAVY", name, [name for name in ("numba", "numpy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in Commands.names():
        assert f"Usage: hutch {name}" in done.stdout and f"HEAVY {name} []" in done.stdout


def test_help_lists_every_command_with_its_purpose(hutch: Callable[..., Any]) -> None:
    text = hutch("--help").out
    for name in Commands.names():
        assert name in text and installed().registry.commands[name].help.split()[0] in text


def test_the_version_is_the_distribution_s(hutch: Callable[..., Any]) -> None:
    assert hutch("--version").out == f"hutch {version('hutch')}\n"


def test_a_misspelt_command_gets_the_nearest(hutch: Callable[..., Any]) -> None:
    result = hutch("tran", "x")
    assert result.code == 2 and "no command 'tran'; did you mean 'train'?" in result.err and not result.out


def _register(monkeypatch: pytest.MonkeyPatch, name: str, command: Command) -> None:
    commands = installed().registry.commands
    assert commands
    monkeypatch.setitem(commands, name, command)


def test_a_command_without_its_module_is_left_out(monkeypatch: pytest.MonkeyPatch, hutch: Callable[..., Any]) -> None:
    _register(monkeypatch, "gone", Command("hutch.cli.gone:gone", "Not here."))
    assert "gone" not in Commands.names() and hutch("gone").code == 2


class Failing(HutchError):
    exit_code = 7


NO_ROOM = "out of memory: a library cannot be loaded, or a thread not be started\n"


def _because(error: Exception, cause: Exception) -> Exception:
    error.__context__ = cause
    return error


@pytest.mark.skipif(sys.platform != "linux", reason="limits on memory as Linux has them")
@pytest.mark.parametrize(
    "megabytes", [64, pytest.param(200, marks=pytest.mark.slow), 400]
)  # about 120 the interpreter itself fails, in any of its ways
@pytest.mark.parametrize("command", ["train {} --quiet -b 28", "vw -d {} --quiet", "config show"])
def test_little_memory_is_enough_or_said(tmp_path: Path, command: str, megabytes: int) -> None:
    (tmp_path / "data.vw").write_text("1 |f a b\n-1 |f c\n" * 100)
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({megabytes << 20},) * 2); {HUTCH[2]}"
    words = command.format(tmp_path / "data.vw").split()
    done = subprocess.run([sys.executable, "-c", limit, *words], capture_output=True, text=True, timeout=200)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1, 2) and bool(done.returncode) == (done.stderr.count("\n") == 1), done.stderr
    assert done.returncode or megabytes > 64
    assert not done.returncode or "memory" in done.stderr.lower()


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (Failing("data.vw:3:1: what, got, wanted"), 7, "data.vw:3:1: what, got, wanted\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (OSError(28, "No space left on device", "here"), 1, "here: No space left on device\n"),
        (EOFError("no end of the stream"), 1, "ended too soon: no end of the stream\n"),
        (MemoryError("3 GiB"), 1, "out of memory: 3 GiB\n"),
        (RuntimeError("can't start new thread"), 1, NO_ROOM),
        (ImportError("x.so: failed to map segment from shared object"), 1, NO_ROOM),
        (_because(HutchError("rows.csv: cannot be read"), OSError("x.so: cannot allocate memory")), 1, NO_ROOM),
    ],
)
def test_errors_become_one_message_and_a_status(
    monkeypatch: pytest.MonkeyPatch, hutch: Callable[..., Any], error: BaseException, code: int, text: str
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(failing, "fail", fail, raising=False)
    _register(monkeypatch, "failing", Command(f"{failing.__name__}:fail", "Fail."))
    result = hutch("failing")
    assert (result.code, result.err) == (code, text)


def test_a_bug_is_a_traceback(monkeypatch: pytest.MonkeyPatch, hutch: Callable[..., Any]) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(failing, "fail", fail, raising=False)
    _register(monkeypatch, "failing", Command(f"{failing.__name__}:fail", "Fail."))
    with pytest.raises(ZeroDivisionError):
        hutch("failing")


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    data = tmp_path / "data.vw"
    data.write_text("1 |f a b c\n" * 200_000)
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [*HUTCH, "train", str(data), "--quiet", "-p", "-"], stdout=writer, stderr=subprocess.PIPE, text=True
    )
    os.close(writer)
    os.read(reader, 10)
    os.close(reader)
    assert process.communicate(timeout=120)[1] == "" and process.returncode == 141


@pytest.mark.parametrize("command", ["crowd labels.tsv --reference w8 --quiet -f {}", "em fit rows.npy -f {}"])
@pytest.mark.slow
def test_models_do_not_depend_on_threads_of_linear_algebra(tmp_path: Path, command: str) -> None:
    random = np.random.default_rng(0)
    labels = [f"w{w}\tt{i}\t{i % 4 if random.random() < 0.7 else 0}" for i in range(4000) for w in range(i % 3, 9, 2)]
    (tmp_path / "labels.tsv").write_text("\n".join(labels) + "\n")
    np.save(tmp_path / "rows.npy", random.normal(size=(600, 200)))
    found = set()
    for count in ("1", "2"):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": count}
        subprocess.run([*HUTCH, *command.format(count).split()], cwd=tmp_path, env=environment, check=True, timeout=900)
        arrays, _ = load_compact(tmp_path / count, kind=command.split()[0])
        found.add(b"".join(dense(arrays[name]).tobytes() for name in sorted(arrays)))
    assert len(found) == 1
