"""A million requests that are all different or refused: does the server's memory stay where it is?

    python benchmarks/hardening/soak.py [--requests 1000000] [--pipeline 50]

One connection sends lines, records, rows of tables and decisions with names that never come again, bodies with faults,
unknown paths and unknown decisions, several before it reads the answers. Prints megabytes of memory after each tenth;
exit status 1 if the last is more than 20 MB above the second. Linux only: it looks into /proc.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hutch import Chain

_HUTCH = "from hutch.cli.main import main; main()"
MOST = 20.0
"""Megabytes that may come between the second tenth and the last."""


def asked(path: str, body: str, kind: str) -> bytes:
    """A request."""
    content = body.encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


def request(k: int) -> bytes:
    """Request number k; none is like another."""
    text, record = "text/plain", "application/json"
    kinds = [
        ("/v1/predict", f"|f{k} a{k}:0.5 b{k}", text),
        ("/v1/predict", json.dumps({f"f{k}": {f"a{k}": 0.5, "w": f"w{k}"}}), record),
        ("/v1/predict", json.dumps({f"x{k}": 1.5, f"y{k}": f"word {k}"}), record),
        ("/v1/predict", json.dumps([{"f": {f"a{k}": 1}}, {"f": [f"b{k}", f"c{k}"]}]), record),
        ("/v1/learn", f"1 |f a{k}:x{k}", text),
        ("/v1/learn", f"|f no:label{k}", text),
        ("/v1/learn", json.dumps({"label": 1, f"f{k}": {f"a{k}": [k]}}), record),
        ("/v1/learn", json.dumps({"label": f"word{k}", "f": {"a": 1}}), record),
        (f"/v1/predict?model=m{k}", "|f a", text),
        (f"/v1/none{k}", "|f a", text),
        ("/v1/rank?model=policy", json.dumps({"actions": [{f"a{k}": "b"}, {"a": [f"c{k}", {}]}]}), record),
        ("/v1/reward?model=policy", json.dumps({"id": f"visit {k}", "cost": 0.5}), record),
    ]
    return asked(*kinds[k % len(kinds)])


def resident(pid: int) -> float:
    """Megabytes of memory that a process has now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _read(client: socket.socket, count: int, left: bytes) -> bytes:
    """Read so many answers; returns what follows them."""
    while count:
        end = left.find(b"\r\n\r\n")
        if end >= 0:
            at = left.lower().find(b"content-length: ") + 16
            whole = end + 4 + int(left[at : left.find(b"\r\n", at)])
            if len(left) >= whole:
                if left[9:10] == b"5":
                    raise RuntimeError(left[:whole].decode())
                left, count = left[whole:], count - 1
                continue
        piece = client.recv(1 << 16)
        if not piece:
            raise ConnectionError("the server has gone")
        left += piece
    return left


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--pipeline", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Chain.from_config({"chain": [{"linear": {"loss": "logistic"}}]}).save(folder / "model")
        layers = ["explore_squarecb", "contextual_bandit", "cost_sensitive_with_features", "linear"]
        Chain.from_config({"chain": layers}).save(folder / "policy")
        command = [sys.executable, "-c", _HUTCH, "serve", "model", "policy", "--port", "0"]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            port, found, begun = int(process.stdout.readline().rpartition(":")[2]), [], time.monotonic()
            with socket.create_connection(("127.0.0.1", port)) as client:
                left, tenth = b"", -(-options.requests // 10)
                for start in range(0, options.requests, options.pipeline):
                    many = min(options.pipeline, options.requests - start)
                    client.sendall(b"".join(map(request, range(start, start + many))))
                    left = _read(client, many, left)
                    if (start + many) // tenth > start // tenth:
                        found.append(resident(process.pid))
                        seconds = time.monotonic() - begun
                        print(f"{start + many:>9,} requests {found[-1]:7.1f} MB {seconds:7.0f} s", flush=True)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
    return int(found[-1] - found[min(1, len(found) - 1)] > MOST)


if __name__ == "__main__":
    sys.exit(main())
