"""Kill `hutch serve` at random moments while clients teach it; nothing acknowledged may be lost or counted twice.

    python benchmarks/serve_kills.py [--kills 200] [--clients 4] [--seed 0]

Clients send each example under an id of its own, and again if the server died before it answered. In the end the model
must equal, bit for bit, one that learned the same examples in the order of the log and was never killed.
"""

import argparse
import http.client
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from hutch import Chain

_PATIENCE = 120.0


class Server:
    """A server process.

    Args:
        model: its model file.
        save_every: seconds between saves.
    """

    def __init__(self, model: Path, save_every: float = 1.0) -> None:
        command = [sys.executable, "-c", "from hutch.cli.main import main; main()", "serve", str(model)]
        options = ["--port", "0", "--save-every", str(save_every)]
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"the server ended with status {self.process.wait()}")
        self.port = int(line.rpartition(":")[2])

    def end(self, how: signal.Signals) -> int:
        """Send a signal, and wait for the end; returns the exit status."""
        self.process.send_signal(how)
        status = self.process.wait(_PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status


class Harness:
    """Clients that teach a server which is killed now and then.

    Args:
        model: the model file.
        seed: of the examples and of the moments.
    """

    def __init__(self, model: Path, seed: int) -> None:
        self.model, self.random = model, random.Random(seed)
        self.server = Server(model)
        self.learned: dict[int, str] = {}
        self.repeated = 0
        self.stopping = False
        self._lock = threading.Lock()

    def client(self, number: int) -> None:
        """Teach until told to stop; every example is acknowledged before the next."""
        rng, count = random.Random(f"{number} {self.random.random()}"), 0
        while not self.stopping:
            line = f"{rng.choice((1, -1))} |f a{rng.randrange(50)}:{rng.random():.3f} b{rng.randrange(50)}"
            self.teach(line, f"{number}-{count}")
            count += 1

    def teach(self, line: str, id: str) -> None:
        """Send an example until it is acknowledged."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=10)
                headers = {"Content-Type": "text/plain", "Idempotency-Key": id}
                connection.request("POST", "/v1/learn", line, headers)
                answer = connection.getresponse()
                found = json.loads(answer.read())
                connection.close()
                if answer.status == 200:
                    break
                if answer.status != 503:
                    raise RuntimeError(f"{answer.status}: {found}")
            except (OSError, http.client.HTTPException):
                pass
            if time.monotonic() > deadline:
                raise TimeoutError("the server does not come back")
            time.sleep(0.01)
        with self._lock:
            self.repeated += found.get("repeated", False)
            if self.learned.setdefault(found["position"], line) != line:
                raise RuntimeError(f"entry {found['position']} was acknowledged for two examples")

    def run(self, kills: int, clients: int, longest: float) -> None:
        """Kill the server so often, then stop it as one should."""
        threads = [threading.Thread(target=self.client, args=(k,)) for k in range(clients)]
        for thread in threads:
            thread.start()
        for _ in range(kills):
            time.sleep(self.random.random() * longest)
            self.server.end(signal.SIGKILL)
            self.server = Server(self.model)
        time.sleep(0.2)
        self.stopping = True
        for thread in threads:
            thread.join()
        status = self.server.end(signal.SIGTERM)
        if status != 0:
            raise RuntimeError(f"SIGTERM ended the server with status {status}")


def check(first: Path, last: Path, learned: dict[int, str]) -> None:
    """Compare the served model to one that learned the same in order and was never killed.

    Raises:
        RuntimeError: they differ.
    """
    wanted, found = Chain.load(first), Chain.load(last)
    for number in sorted(learned):
        wanted.learn(learned[number])
    theirs = found.arrays()
    for name, array in wanted.arrays().items():
        if array.tobytes() != theirs[name].tobytes():
            raise RuntimeError(f"{name} differs")


def attack(kills: int, clients: int, seed: int, longest: float = 1.5) -> Harness:
    """Do it all in a directory of its own; raises as `check` does."""
    with tempfile.TemporaryDirectory() as folder:
        first, model = Path(folder) / "first", Path(folder) / "model"
        chain = Chain.from_config({"weights": {"bits": 12}, "chain": [{"linear": {"loss": "logistic"}}]})
        chain.learn(["1 |f a1 b2", "-1 |f a3"] * 3)
        chain.save(first)
        model.write_bytes(first.read_bytes())
        harness = Harness(model, seed)
        try:
            harness.run(kills, clients, longest)
        finally:
            harness.stopping = True
            if harness.server.process.poll() is None:
                harness.server.end(signal.SIGKILL)
        check(first, model, harness.learned)
    return harness


def main() -> None:
    """Run, and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    done = attack(options.kills, options.clients, options.seed)
    print(f"{options.kills} kills, {len(done.learned)} examples acknowledged, {done.repeated} of them when sent again")
    print("the model equals the one that was never killed, bit for bit")


if __name__ == "__main__":
    main()
