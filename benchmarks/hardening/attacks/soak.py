"""Load on `hutch serve` for minutes: its memory must stay flat and its answers right.

    python benchmarks/hardening/attacks/soak.py [SECONDS] [SEED]

Clients predict, learn, and send what is refused, on connections that stay and on new ones; the model is saved every few
seconds. The resident memory is noted after a tenth of the time and at the end; a finding is growth by more than a tenth
and 20 MB, an answer with status 5xx, or a server that has gone.
"""

import random
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from harness import Found, lines, main
from hostile_requests import Client, Target

from hutch import Chain

_CLIENTS = 4
_REFUSED = [b"1 |w a:nan", b"", b"|w a\0b", b'{"w": ', b"spam |w a"]


def resident(process: int) -> float:
    """Resident memory of a process, in MB."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


class _Load:
    def __init__(self, port: int) -> None:
        self.port, self.stopping = port, False
        self.counts: Counter[str] = Counter()
        self.findings: list[str] = []

    def client(self, seed: str) -> None:
        """Send requests until it is time to stop."""
        dice, sent, good = random.Random(seed), 0, lines(500, 1, words=20_000)
        client = Client(self.port)
        try:
            while not self.stopping:
                sent += 1
                if sent % 100 == 0:
                    client.close()
                path, kind, body = "/v1/learn", "text/plain", dice.choice(good).encode()
                how = dice.random()
                if how < 0.6:
                    path = "/v1/predict"
                elif how < 0.7:
                    body = dice.choice(_REFUSED)
                elif how < 0.8:
                    kind, body = "application/json", b'{"label": 1, "w": {"n%d": 0.5}}' % dice.randrange(20_000)
                status, answer = client.send("POST", path, kind, body)
                self.counts[f"{path}: {status}"] += 1
                if not 200 <= status < 500:
                    self.findings.append(f"{path} was answered with {status}: {answer[:200]!r}")
        except OSError as error:
            self.findings.append(f"a client failed: {error}")
        finally:
            client.close()


def attack(seconds: int, seed: int) -> Found:
    """Load it for so many seconds."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        Chain.from_config({"weights": {"bits": 16}, "chain": [{"linear": {"loss": "logistic"}}]}).save(folder / "model")
        target = Target(folder, "serve", "model", "--port", "0", "--save-every", "5")
        load = _Load(target.port)
        threads = [threading.Thread(target=load.client, args=(f"{seed}/{k}",)) for k in range(_CLIENTS)]
        for thread in threads:
            thread.start()
        try:
            time.sleep(seconds / 10)
            early = resident(target.process.pid)
            time.sleep(seconds * 9 / 10)
            late = resident(target.process.pid)
        finally:
            load.stopping = True
            for thread in threads:
                thread.join()
            load.findings += target.end()
    if late > 1.1 * early and late > early + 20:
        load.findings.append(f"memory grew from {early:.0f} to {late:.0f} MB")
    load.counts.update({"MB after a tenth of the time": round(early), "MB at the end": round(late)})
    return load.counts, load.findings


if __name__ == "__main__":
    main(__doc__, attack, 600)
