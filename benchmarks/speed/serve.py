"""`hutch serve` and `hutch vw --daemon` under a bounded load on loopback, beside Vowpal Wabbit's own daemon.

    python benchmarks/speed/serve.py lines [--count 200000] [--connections 1 10]
    python benchmarks/speed/serve.py turns [--count 10000] [--connections 1 8]
    python benchmarks/speed/serve.py http [--seconds 60] [--predictions 2000] [--learns 500] [--connections 16]

`lines` sends lines with labels as fast as they are answered. `turns` sends one, waits for its answer and sends the
next, and prints the microseconds of CPU that the server takes for each. `http` sends single examples at a fixed mean
rate, answered or not, and counts latency from the moment at which each was due; it also prints how much memory the
server took early and late.
Linux only: it looks into /proc.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from hutch import Chain

_HUTCH = "from hutch.cli.main import main; main()"
_PEER = """
import sys
from vowpalwabbit import Workspace
daemon = Workspace("--daemon --foreground --num_children 10 --quiet --loss_function logistic --port " + sys.argv[1])
daemon.run_parser()
"""


def example(rng: random.Random) -> str:
    """A line with ten features."""
    features = " ".join(f"w{rng.randrange(1000)}:{rng.random():.3f}" for _ in range(10))
    return f"{rng.choice((1, -1))} |f {features}"


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def wait_for(port: int) -> None:
    """Wait until somebody listens, without connecting: a child of VW's daemon serves one connection at a time."""
    wanted = f"0100007F:{port:04X} 00000000:0000 0A", f"00000000:{port:04X} 00000000:0000 0A"
    for _ in range(600):
        if any(one in Path("/proc/net/tcp").read_text() for one in wanted):
            return
        time.sleep(0.05)
    raise TimeoutError(f"nobody listens on port {port}")


async def _send_lines(port: int, lines: list[bytes]) -> None:
    """Send lines and read as many answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def send() -> None:
        for start in range(0, len(lines), 500):
            writer.write(b"".join(lines[start : start + 500]))
            await writer.drain()

    async def receive() -> None:
        answered = 0
        while answered < len(lines):
            piece = await reader.read(1 << 16)
            if not piece:
                raise ConnectionError("the server has gone")
            answered += piece.count(b"\n")

    try:
        await asyncio.gather(send(), receive())
    finally:
        writer.close()


def lines_per_second(port: int, lines: list[bytes], connections: int) -> float:
    """Lines a second over so many connections."""

    async def all_of_them() -> None:
        await asyncio.gather(*(_send_lines(port, lines[k::connections]) for k in range(connections)))

    begun = time.perf_counter()
    asyncio.run(all_of_them())
    return len(lines) / (time.perf_counter() - begun)


def _line_servers(folder: str) -> dict[str, Callable[[int], list[str]]]:
    """The arguments of Python that start each server on a port, by its name."""
    model = Path(folder) / "model"
    Chain.from_config({"chain": [{"linear": {"loss": "logistic"}}]}).save(model)
    return {
        "vw --daemon": lambda port: ["-c", _PEER, str(port)],
        "hutch vw --daemon": lambda port: [
            *["-c", _HUTCH, "vw", "--daemon", "--foreground", "--quiet"],
            *["--loss_function", "logistic", "--port", str(port)],
        ],
        "hutch serve --vw-port": lambda port: [
            *["-c", _HUTCH, "serve", str(model), "--port", "0", "--vw-port", str(port)]
        ],
    }


def _take_turns(port: int, lines: list[bytes]) -> None:
    """Send a line and read its answer, then the next."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for line in lines:
            client.sendall(line)
            while not client.recv(1 << 12).endswith(b"\n"):
                pass


def used(group: int) -> float:
    """CPU seconds of the processes of a group so far."""
    ticks = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:13])) if int(fields[2]) == group else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def measure_turns(count: int, connections: list[int]) -> dict[str, float]:
    """Microseconds of a server's CPU for a line, by its name and the number of clients."""
    rng, found = random.Random(1), {}
    lines = [(example(rng) + "\n").encode() for _ in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        for name, command in _line_servers(folder).items():
            for many in connections:
                port = free_port()
                process = subprocess.Popen(
                    [sys.executable, *command(port)], stdout=subprocess.DEVNULL, start_new_session=True
                )
                try:
                    wait_for(port)
                    time.sleep(2)
                    with ThreadPoolExecutor(many) as clients:
                        for some in (lines[: count // 10], lines):  # the first ones warm it up
                            begun = used(process.pid)
                            list(clients.map(_take_turns, [port] * many, [some[k::many] for k in range(many)]))
                        taken = used(process.pid) - begun
                finally:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                found[f"{name}, {many} clients"] = round(1e6 * taken / count, 1)
    return found


def measure_lines(count: int, connections: list[int]) -> dict[str, float]:
    """Lines a second of each server, by its name and the number of connections."""
    rng, found = random.Random(1), {}
    lines = [(example(rng) + "\n").encode() for _ in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        for name, command in _line_servers(folder).items():
            for many in connections:
                rates = [_rate(command, lines, many) for _ in range(3)]
                found[f"{name}, {many} connections"] = max((rate for rate in rates if rate), default=0.0)
    return found


def _rate(command: Callable[[int], list[str]], lines: list[bytes], connections: int) -> float | None:
    """Lines a second; None if the server closed a connection, as VW's does now and then on many."""
    port = free_port()
    process = subprocess.Popen([sys.executable, *command(port)], stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_for(port)
        time.sleep(0.5)  # VW's children begin
        return lines_per_second(port, lines, connections)
    except ConnectionError:
        return None
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def request(path: str, body: bytes, kind: str = "text/plain") -> bytes:
    """An HTTP request as bytes."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class _Client(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, pool: "asyncio.Queue[_Client]") -> None:
        self._pool, self._received = pool, bytearray()
        self._done: Callable[[int], None] | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def ask(self, data: bytes, done: Callable[[int], None]) -> None:
        self._done = done
        self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        at = self._received.lower().find(b"content-length: ") + 16
        length = int(self._received[at : self._received.find(b"\r\n", at)])
        if len(self._received) < end + 4 + length:
            return
        status = int(self._received[9:12])
        self._received.clear()
        assert self._done is not None
        self._done(status)
        self._pool.put_nowait(self)


async def _load(port: int, schedule: list[tuple[float, int]], bodies: list[list[bytes]], connections: int) -> list[Any]:
    """Send each request when it is due; (kind, seconds from then to the answer, status) of each."""
    loop, results = asyncio.get_running_loop(), []
    pool: asyncio.Queue[_Client] = asyncio.Queue()
    for _ in range(connections):
        _, client = await loop.create_connection(lambda: _Client(pool), "127.0.0.1", port)
        pool.put_nowait(client)
    begun, rng = loop.time() + 0.1, random.Random(2)
    for due, kind in schedule:
        wait = begun + due - loop.time()
        if wait > 0.0005:
            await asyncio.sleep(wait)
        client = await pool.get()

        def done(status: int, kind: int = kind, due: float = due) -> None:
            results.append((kind, loop.time() - begun - due, status))

        client.ask(rng.choice(bodies[kind]), done)
    for _ in range(connections):
        await pool.get()
    return results


def _quantiles(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {f"p{q:g}": 1e3 * ordered[min(int(q / 100 * len(ordered)), len(ordered) - 1)] for q in (50, 90, 99, 99.9)}


def resident(pid: int) -> float:
    """Megabytes of memory that a process has now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _server(folder: str) -> tuple[subprocess.Popen[bytes], int, Path]:
    model, port = Path(folder) / "model", free_port()
    Chain.from_config({"chain": [{"linear": {"loss": "logistic"}}]}).save(model)
    command = [sys.executable, "-c", _HUTCH, "serve", str(model), "--port", str(port), "--save-every", "10"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_for(port)
    return process, port, model


def measure_http(seconds: float, predictions: float, learns: float, connections: int) -> dict[str, Any]:
    """Latencies in milliseconds by quantile, of predictions and of learning, and the server's memory."""
    rng = random.Random(1)
    lines = [example(rng) for _ in range(1000)]
    bodies = [
        [request("/v1/predict", line.partition(" ")[2].encode()) for line in lines],
        [request("/v1/learn", line.encode()) for line in lines],
    ]
    schedule = []
    for kind, rate in enumerate((predictions, learns)):
        due = 0.0
        while rate and (due := due + rng.expovariate(rate)) < seconds:  # a Poisson process
            schedule.append((due, kind))
    schedule.sort()
    with tempfile.TemporaryDirectory() as folder:
        process, port, _ = _server(folder)
        try:
            warm = [(k / 200, k % 2) for k in range(400)]
            asyncio.run(_load(port, warm, bodies, connections))
            early = resident(process.pid)
            results = asyncio.run(_load(port, schedule, bodies, connections))
            late = resident(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            status = process.wait()
    found: dict[str, Any] = {"exit_status": status, "memory_early": early, "memory_late": late}
    for kind, name in enumerate(("predict", "learn")):
        taken = [taken for k, taken, _ in results if k == kind]
        if taken:
            found[name] = {"requests": len(taken), "per_second": len(taken) / seconds, **_quantiles(taken)}
    found["errors"] = sum(status != 200 for _, _, status in results)
    return found


def main() -> None:
    """Measure, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="what", required=True)
    lines = kinds.add_parser("lines")
    lines.add_argument("--count", type=int, default=200_000)
    lines.add_argument("--connections", type=int, nargs="+", default=[1, 10])
    turns = kinds.add_parser("turns")
    turns.add_argument("--count", type=int, default=10_000)
    turns.add_argument("--connections", type=int, nargs="+", default=[1, 8])
    web = kinds.add_parser("http")
    web.add_argument("--seconds", type=float, default=60)
    web.add_argument("--predictions", type=float, default=2000)
    web.add_argument("--learns", type=float, default=500)
    web.add_argument("--connections", type=int, default=16)
    given = parser.parse_args()
    if given.what == "lines":
        found: Any = measure_lines(given.count, given.connections)
    elif given.what == "turns":
        found = measure_turns(given.count, given.connections)
    else:
        found = measure_http(given.seconds, given.predictions, given.learns, given.connections)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
