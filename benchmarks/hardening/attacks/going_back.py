"""`hutch serve` for a long time, in lives that end by a kill or a signal, with rollbacks between them.

    python benchmarks/hardening/attacks/going_back.py [SECONDS] [SEED]

Two clients send learn requests with keys at a bounded rate, and what was not answered again after a restart. Between
two lives an earlier save often learns the log up to some entry, and what lies behind it is taken back. At every start
the model must be, to the bit, what learns the acknowledged ones in their order. Memory, bytes of the store and
latency are noted for the first life and the last; a finding is growth by more than a tenth and 20 MB, of the store by
more than 20 MB and 100 bytes for each id that it remembers, a p99 that doubled and is beyond 50 ms, an answer with
status 5xx, or another model.
"""

import json
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from harness import Found, lines, main, run
from hostile_requests import Client, Target
from soak import resident

from hutch import Chain

_RATE = 100
_LIVES = 12
_CHAIN = {"weights": {"bits": 16}, "chain": [{"linear": {"loss": "logistic"}}]}


class _Teacher:
    """A client: its learn requests have keys of their own, and each is sent until it is answered.

    Attributes:
        answered: number in the log -> learn request.
    """

    def __init__(self, name: str, seed: int) -> None:
        self.name, self._dice, self._lines = name, random.Random(f"{seed}/{name}"), lines(2000, seed, words=20_000)
        self._sent, self._open = 0, ""
        self.answered: dict[int, str] = {}
        self.seconds: list[float] = []
        self.findings: list[str] = []

    def teach(self, port: int, until: float) -> None:
        """Teach until it is time to stop, or the server has gone."""
        client, self.seconds = Client(port), []
        try:
            while time.monotonic() < until and self._send(client):
                time.sleep(max(0.0, 2 / _RATE - self.seconds[-1]))
        except OSError:
            return
        finally:
            client.close()

    def again(self, port: int) -> None:
        """Send what was not answered again."""
        client = Client(port)
        if self._open:
            self._send(client)
        client.close()

    def _send(self, client: Client) -> bool:
        """Send a learn request, the one before if it was not answered; returns whether this one was."""
        if not self._open:
            self._sent += 1
            self._open = self._dice.choice(self._lines)
        begun = time.monotonic()
        kind = f"text/plain\r\nIdempotency-Key: {self.name}-{self._sent}"
        status, body = client.send("POST", "/v1/learn", kind, self._open.encode())
        self.seconds.append(time.monotonic() - begun)
        if status == 200:
            self.answered[json.loads(body)["position"]] = self._open
        elif status:
            self.findings.append(f"a learn request was answered with {status}: {body[:200]!r}")
        if status:
            self._open = ""
        return status > 0


def _p99(teachers: list[_Teacher]) -> float:
    found = sorted(each for teacher in teachers for each in teacher.seconds)
    return 1000 * found[len(found) * 99 // 100] if found else 0.0


def _is_what_was_acknowledged(model: Path, teachers: list[_Teacher]) -> bool:
    taught = {number: line for teacher in teachers for number, line in teacher.answered.items()}
    wanted = Chain.from_config(_CHAIN)
    wanted.learn([taught[number] for number in sorted(taught)])
    found = Chain.load(model).arrays()
    return all(
        found[name].tobytes() == array.tobytes()
        for name, array in wanted.arrays().items()
        if name not in ("shared.testing", "shared.time")
    )


def _roll_back(folder: Path, dice: random.Random, teachers: list[_Teacher]) -> str:
    """Take entries back; what is wrong with that."""
    saves = {int(each.name.rpartition("-")[2]): each.name for each in folder.glob("model.at-*")}
    if not saves:
        return ""
    save = dice.choice(sorted(saves))
    numbers = sorted(number for teacher in teachers for number in teacher.answered if number >= save)
    through = dice.choice([save, *numbers[-500:]])
    command = f"serve log replay {saves[save]} --store model.log.db --through {through} --drop -f model"
    wrong = run(command.split(), folder).wrong(0)
    for teacher in teachers:
        teacher.answered = {number: line for number, line in teacher.answered.items() if number <= through}
    return wrong and f"{command}: {wrong}"


def attack(seconds: int, seed: int) -> Found:
    """Serve for so many seconds."""
    counts, findings, dice = Counter[str](), list[str](), random.Random(seed)
    teachers, noted = [_Teacher(f"t{k}", seed) for k in range(2)], list[dict[str, float]]()
    with tempfile.TemporaryDirectory() as place:
        folder, begun = Path(place), time.monotonic()
        Chain.from_config(_CHAIN).save(folder / "model")
        life = max(seconds / _LIVES, 4.0)
        while time.monotonic() < begun + seconds and not findings:
            target = Target(folder, "serve", "model", "--port", "0", "--save-every", "2", "--keep", "3")
            until = time.monotonic() + life
            threads = [threading.Thread(target=each.teach, args=(target.port, until)) for each in teachers]
            for thread in threads:
                thread.start()
            time.sleep(life / 4)
            early = resident(target.process.pid)
            time.sleep(life * 3 / 4 - dice.random())
            store = sum(each.stat().st_size for each in folder.glob("model.log.db*"))
            noted.append({"early": early, "late": resident(target.process.pid), "store": store / 2**20})
            if dice.random() < 0.5:
                target.process.send_signal(signal.SIGKILL)
                target.process.wait()
                counts["killed"] += 1
            for thread in threads:
                thread.join()
            noted[-1]["p99"] = _p99(teachers)
            print(json.dumps(noted[-1]), file=sys.stderr, flush=True)
            if target.process.poll() is None:
                findings += target.end()
                counts["stopped"] += 1
                if not _is_what_was_acknowledged(folder / "model", teachers):
                    findings.append("a stopped server's model is not what was acknowledged")
            else:  # the log holds what the file lacks, and may hold a learn request whose answer was lost
                findings += _recovered(folder, teachers)
            if dice.random() < 0.7:
                findings += filter(None, [_roll_back(folder, dice, teachers)])
                counts["rolled back"] += 1
                if not _is_what_was_acknowledged(folder / "model", teachers):
                    findings.append("a rollback gave another model")
        counts["entries in the model"] = sum(len(each.answered) for each in teachers)
    findings += [each for teacher in teachers for each in teacher.findings]
    first, last = noted[0], noted[-1]
    ids = 100 * counts["entries in the model"] / 2**20
    for name, what, most in (("late", "MB", 20), ("p99", "ms", 50), ("store", "MB of the store", 20 + ids)):
        counts |= {f"{what}, first life": round(first[name]), f"{what}, last life": round(last[name])}
        if last[name] > max(1.1 if name == "late" else 2.0, 1.0) * first[name] and last[name] > first[name] + most:
            findings.append(f"{what}: {first[name]:.0f} in the first life, {last[name]:.0f} in the last")
    if (grown := max(each["late"] - each["early"] for each in noted)) > 20:
        findings.append(f"memory grew by {grown:.0f} MB in a life")
    return counts, findings


def _recovered(folder: Path, teachers: list[_Teacher]) -> list[str]:
    """Start a server on a copy after a kill, and hear from it what was not answered before; what is wrong."""
    target = Target(folder, "serve", "model", "--port", "0", "--save-every", "60", "--keep", "3")
    for teacher in teachers:  # each sends its open learn request again, then no more
        teacher.again(target.port)
    wrong = target.end()
    if not _is_what_was_acknowledged(folder / "model", teachers):
        wrong.append("after a kill the model is not what was acknowledged")
    return wrong


if __name__ == "__main__":
    main(__doc__, attack, 1800)
