"""A process that has imported Hutch once and forks a child for each command.

    folder = forkserver.commands()    # before others in PATH: its `hutch` asks the server

A command then costs a fork instead of an interpreter, its imports and what Numba prepares before its first kernel. The
child is a process of its own, with the folder, environment and streams of the one that asks, and runs what the script
`hutch` runs.
"""

import ast
import atexit
import contextlib
import gc
import importlib
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from functools import cache
from pathlib import Path

LENGTH = 8
IMPORTED_LATE = ("pydantic.main", "pydantic.type_adapter", "safetensors.numpy", "typer._adapters", "zoneinfo")
"""What Hutch's modules import only when they are used; it saves time, and may be missing."""
CLIENT = f"""#!{sys.executable} -IS
import _signal, _socket, os, sys
request = repr((sys.argv[1:], os.getcwd(), dict(os.environ))).encode()
server = _socket.socket(_socket.AF_UNIX)
server.connect(os.path.join(os.path.dirname(__file__), "socket"))
streams = b"".join(stream.to_bytes(4, sys.byteorder) for stream in (0, 1, 2))
server.sendmsg([len(request).to_bytes({LENGTH}, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
server.sendall(request)
child = int.from_bytes(server.recv({LENGTH}), "big")
_signal.signal(_signal.SIGTERM, lambda number, frame: os.kill(child, number))
os._exit((server.recv(1) or bytes([1]))[0])
"""
"""The command that asks: it imports next to nothing. Of a child that is killed it hears no status, and its own is 1."""


@cache
def commands() -> str:
    """The folder of a `hutch` that asks a server; the first call starts it, and it ends with this process."""
    folder = tempfile.TemporaryDirectory()
    client = Path(folder.name) / "hutch"
    client.write_text(CLIENT)
    client.chmod(0o700)
    server = subprocess.Popen(
        [sys.executable, __file__, str(client.with_name("socket"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"},
        start_new_session=True,
    )
    assert server.stdout and server.stdout.readline() == b"ready\n"
    atexit.register(folder.cleanup)
    atexit.register(server.communicate)
    return folder.name


def prepare() -> None:
    """Import what commands import, and have Numba compile once; nothing of Hutch is called."""
    import numba

    import hutch

    for module in pkgutil.walk_packages(hutch.__path__, "hutch."):
        if module.name.count(".") > 1:  # those at the top are for programs, some with scikit-learn
            importlib.import_module(module.name)
    for name in IMPORTED_LATE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    numba.njit("float64(float32[::1])")(lambda values: values.sum())
    gc.collect()
    gc.freeze()  # a collection in a child would write to every page that it shares


def next_request(address: str) -> socket.socket:
    """Fork for each connection: returns in the children, and ends all of them when standard input ends."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            if os.fork() == 0:
                return connection
            connection.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    os.killpg(os.getpid(), signal.SIGKILL)  # it leads a group, of which all children are
    raise AssertionError("this process has ended")


def become(connection: socket.socket) -> None:
    """Take over the words, folder, environment and streams of a request."""
    size, streams, _, _ = socket.recv_fds(connection, LENGTH, 3)
    with connection.makefile("rb") as request:
        words, folder, environment = ast.literal_eval(request.read(int.from_bytes(size)).decode())
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.argv = ["hutch", *words]
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))  # before: the folder of this file
    connection.sendall(os.getpid().to_bytes(LENGTH))
    threading.Thread(target=end_with, args=(connection,), daemon=True).start()


def end_with(connection: socket.socket) -> None:
    """End this process when the one that asks is killed."""
    if not connection.recv(1):
        os.kill(os.getpid(), signal.SIGKILL)


def answer(connection: socket.socket) -> None:
    """Run the command of a request and end this process as an interpreter ends."""
    from hutch.cli.main import main

    status: object = 1
    become(connection)
    try:
        main()
    except SystemExit as left:
        status = left.code
    except BaseException:
        traceback.print_exc()
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads that are no daemons
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BrokenPipeError):
            stream.flush()
    code = status if isinstance(status, int) else int(status is not None)
    connection.sendall(bytes([code & 255]))
    os._exit(code)


if __name__ == "__main__":
    prepare()
    answer(next_request(sys.argv[1]))
