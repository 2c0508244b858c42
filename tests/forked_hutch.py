"""A command `hutch` that begins in a few milliseconds: each is a fork of one process that has imported what it needs.

For tests of what commands do, not of how they start. This file is all sides: `hutch` starts
`python forked_hutch.py SOCKET`, the process that forks, and writes a script `hutch`, which runs
`python -IS forked_hutch.py SOCKET COMMAND WORDS`: it hands over its descriptors, folder, environment and signals, and
ends as the fork ends. What a fork cannot be, one with a closed standard stream or other variables that are read when
modules are imported, is a process of its own.
"""

import _signal
import _socket
import atexit
import contextlib
import marshal
import os
import sys
from collections.abc import Mapping
from functools import cache

FORWARDED = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM)
PYTHONPATH = os.environ.get("PYTHONPATH", "")
"""As it is before the first test."""
APART = 512
"""Descriptors from here on are not those of a command."""
READ_AT_IMPORT = (
    "HUTCH_CACHE_DIR",
    "HUTCH_CHECKED",
    "HUTCH_INTERPRETED",
    "LANG",
    "LC_",
    "NUMBA_",
    "OMP_",
    "PYTHON",
    "XDG_",
)
OF_ITS_OWN = 1 << 16
"""The answer to what cannot be a fork; others are the status that `os.waitpid` returns."""


@cache
def hutch() -> str:
    """The path of a `hutch` for this process, in a folder of its own; the real one but on Linux."""
    real = os.path.join(os.path.dirname(sys.executable), "hutch")
    if sys.platform != "linux":
        return real
    import subprocess
    import tempfile

    folder = tempfile.TemporaryDirectory()
    command, socket = (os.path.join(folder.name, name) for name in ("hutch", "socket"))
    words = " ".join(f"'{word}'" for word in (sys.executable, "-IS", os.path.abspath(__file__), socket, real))
    with open(command, "w") as script:
        script.write(f'#!/bin/sh\nexec {words} "$@"\n')
    os.chmod(command, 0o755)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    environment = os.environ | {"PYTHONPATH": PYTHONPATH}  # that of a test is its own
    server = subprocess.Popen([sys.executable, os.path.abspath(__file__), socket], env=environment, **pipes)
    assert server.stdout and server.stdout.read(1), "it says when it is ready"
    atexit.register(folder.cleanup)
    atexit.register(server.communicate)  # which ends its standard input, and so it
    return command


def ask(socket: str, words: list[str]) -> None:
    """Let the process behind a socket run a command as if it were this one, and end as it ends.

    Returns:
        Where it cannot.
    """
    descriptors = list(filter(_is_open, (int(name) for name in os.listdir("/dev/fd"))))
    if descriptors[:3] != [0, 1, 2]:
        return
    ignored = [number for number in FORWARDED if _signal.getsignal(number) == _signal.SIG_IGN]
    mask = os.umask(0)
    os.umask(mask)
    request = marshal.dumps((words, os.getcwd(), dict(os.environ), mask, ignored, descriptors))
    rights = b"".join(number.to_bytes(4, sys.byteorder) for number in descriptors)
    server = _socket.socket(_socket.AF_UNIX)
    server.connect(socket)
    for number in FORWARDED:
        _signal.signal(number, lambda number, _: server.send(bytes([number])))
    server.sendmsg([len(request).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    server.sendall(request)
    status = int.from_bytes(server.recv(4), "big")
    for number in FORWARDED:
        _signal.signal(number, _signal.SIG_IGN if number in ignored else _signal.SIG_DFL)
    if status == OF_ITS_OWN:
        return
    if os.WIFSIGNALED(status):
        _signal.signal(os.WTERMSIG(status), _signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def serve(path: str) -> None:
    """Fork for every command until standard input ends; returns in the fork."""
    import gc
    import select
    import socket

    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as commands set it; more would be threads, which a fork does not have
    _import_all()
    assert len(os.listdir("/proc/self/task")) == 1
    gc.collect()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    print(flush=True)
    while listener in select.select([0, listener], [], [])[0]:
        connection = listener.accept()[0]
        if os.fork() == 0:
            listener.detach()
            return _answer(connection)
        connection.close()
        _reap()
    os._exit(0)


def _reap() -> None:
    """Of the processes that ended: their processor time becomes part of ours."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _import_all() -> None:
    """Import all modules that commands import when they start."""
    import io
    from importlib import import_module

    from hutch.cli.dispatch import run
    from hutch.plugins import manager

    registry = manager.Plugins(third_parties=False).registry
    later = ("chain", "cli.main", "core.config.adapter", "core.config.check", "core.run.reporters", "run_files")
    for module in {*(command.module for command in registry.commands.values()), *(f"hutch.{name}" for name in later)}:
        import_module(module)
    for kind in ("reductions", "losses", "readers", "em_models"):
        [*getattr(registry, kind).values()]
    with contextlib.redirect_stdout(io.StringIO()):
        run(["train", "--help"])
    manager._installed.cache_clear()  # a test installs plugins of its own


def _answer(connection: "socket.socket") -> None:  # noqa: F821
    """Fork for the command that a connection asks for, and wait for it; returns in the fork."""
    import socket
    import threading

    size, received, _, _ = socket.recv_fds(connection, 4, 253)
    text = bytearray()
    while len(text) < int.from_bytes(size, "big"):
        text += connection.recv(1 << 20) or os._exit(0)
    request = marshal.loads(text)
    if _read_at_import(request[2]) != _read_at_import(os.environ):
        connection.sendall(OF_ITS_OWN.to_bytes(4, "big"))
        os._exit(0)
    child = os.fork()
    if child == 0:
        connection.detach()
        return _become(*request, received)

    def forward() -> None:
        with contextlib.suppress(ProcessLookupError):
            while number := connection.recv(1):
                os.kill(child, number[0])
            os.kill(child, _signal.SIGKILL)  # whoever asked is no more

    threading.Thread(target=forward, daemon=True).start()
    status = os.waitpid(child, 0)[1]
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(status.to_bytes(4, "big"))
    os._exit(0)


def _become(
    words: list[str],
    folder: str,
    environment: dict[str, str],
    mask: int,
    ignored: list[int],
    descriptors: list[int],
    received: list[int],
) -> None:
    """Have what a process has that began with these words."""
    import fcntl

    received = [fcntl.fcntl(number, fcntl.F_DUPFD, APART) for number in received]
    os.closerange(0, APART)
    for number, wanted in zip(received, descriptors, strict=True):
        os.dup2(number, wanted)
        os.close(number)
    os.chdir(folder)
    os.umask(mask)
    os.environ.clear()
    os.environ.update(environment)
    for number in FORWARDED:
        _signal.signal(number, _signal.SIG_IGN if number in ignored else _signal.SIG_DFL)
    sys.argv = words
    more = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:1] = [os.path.dirname(words[0]), *(each for each in more if each not in sys.path)]


def _read_at_import(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value for name, value in environment.items() if name.startswith(READ_AT_IMPORT) and name != "PYTHONPATH"
    }


if __name__ == "__main__":
    if sys.argv[2:]:
        ask(sys.argv[1], sys.argv[2:])
        os.execv(sys.argv[2], sys.argv[2:])
    serve(sys.argv[1])  # returns in the process of a command
    from hutch.cli.main import main

    main()
