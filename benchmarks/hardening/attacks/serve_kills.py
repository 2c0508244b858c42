"""Kill `hutch serve` at random moments while clients teach it; nothing acknowledged may be lost or counted twice.

    python benchmarks/hardening/attacks/serve_kills.py [--what examples|decisions|labels] [--kills 200]
        [--clients 4] [--seed 0]

Clients send everything under an id of its own, and again if the server died before it answered: examples with labels;
decisions, whose rewards come at once, late, twice or never; answers to label requests. In the end the model must equal,
bit for bit, one that learned the same in the order of the log and was never killed.
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
from abc import ABC, abstractmethod
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from hutch import Chain
from hutch.active.loop import ask, catch_up
from hutch.durable.store import Store

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


class Traffic(ABC):
    """Clients that teach a server which is killed now and then.

    Args:
        model: the model file; `first` beside it is what it began as.
        seed: of the examples and of the moments.

    Attributes:
        acknowledged: how much the server has said it learned.
        repeated: how much of it when it was sent again.
    """

    config: ClassVar[dict[str, Any]] = {"weights": {"bits": 12}, "chain": [{"linear": {"loss": "logistic"}}]}
    usual: ClassVar[list[Any]] = ["1 |f a b:0.5"]

    def __init__(self, model: Path, seed: int) -> None:
        self.model, self.random = model, random.Random(seed)
        chain = Chain.from_config(self.config)
        chain.save(model)
        chain.save(model.with_name("first"))
        chain.learn(self.usual)  # compiles what the server will need
        self.prepare()
        self.server = Server(model)
        self.answered = self.repeated = 0
        self.stopping = False
        self.failure: Exception | None = None
        self._lock = threading.Lock()

    @property
    @abstractmethod
    def acknowledged(self) -> int:
        """How much was taught."""

    def prepare(self) -> None:
        """What must be there before the server starts."""

    @abstractmethod
    def teach(self, rng: random.Random, client: int, count: int) -> None:
        """Teach something that is new."""

    @abstractmethod
    def wanted(self) -> Chain:
        """A model that has learned the same and was never killed."""

    def send(self, path: str, body: Any, **headers: str) -> Any:
        """Send a request until it is answered."""
        kind = "text/plain" if isinstance(body, str) else "application/json"
        content = body if isinstance(body, str) else json.dumps(body)
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            try:
                with closing(http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=10)) as connection:
                    connection.request("POST", path, content, {"Content-Type": kind, **headers})
                    answer = connection.getresponse()
                    found = json.loads(answer.read())
                if answer.status == 200:
                    with self._lock:
                        self.answered += 1
                        self.repeated += bool(found.get("repeated"))
                    return found
                if answer.status != 503:
                    raise RuntimeError(f"{answer.status}: {found}")
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.01)
        raise TimeoutError("the server does not come back")

    def client(self, number: int) -> None:
        """Teach until told to stop; each thing is acknowledged before the next."""
        rng, count = random.Random(f"{number} {self.random.random()}"), 0
        try:
            while not self.stopping:
                self.teach(rng, number, count)
                count += 1
        except Exception as error:
            self.failure = error

    def run(self, kills: int, clients: int, longest: float) -> None:
        """Kill the server so often, then stop it as one should."""
        threads = [threading.Thread(target=self.client, args=(k,)) for k in range(clients)]
        for thread in threads:
            thread.start()
        for _ in range(kills):
            if self.random.random() < 0.8:  # else it may die before it has answered anything
                self._wait_for_answers(10)
            time.sleep(self.random.random() * longest)
            self.server.end(signal.SIGKILL)
            self.server = Server(self.model)
        self._wait_for_answers(10)
        self.stopping = True
        for thread in threads:
            thread.join()
        if self.failure is not None:
            raise self.failure
        status = self.server.end(signal.SIGTERM)
        if status != 0:
            raise RuntimeError(f"SIGTERM ended the server with status {status}")

    def _wait_for_answers(self, count: int) -> None:
        """Wait until the server has answered so many more requests."""
        before, deadline = self.answered, time.monotonic() + _PATIENCE
        while self.answered < before + count and self.failure is None and time.monotonic() < deadline:
            time.sleep(0.01)

    def check(self) -> None:
        """Compare the served model to one that was never killed.

        Raises:
            RuntimeError: they differ.
        """
        theirs = Chain.load(self.model).arrays()
        for name, array in self.wanted().arrays().items():
            if array.tobytes() != theirs[name].tobytes():
                raise RuntimeError(f"{name} differs")


class Examples(Traffic):
    """Examples with labels."""

    def prepare(self) -> None:
        """Nothing has been learned."""
        self.learned: dict[int, Any] = {}

    @property
    def acknowledged(self) -> int:
        """Examples learned."""
        return len(self.learned)

    def note(self, position: int, example: Any) -> None:
        """Note what the server has learned, and where it stands in the log."""
        with self._lock:
            if self.learned.setdefault(position, example) != example:
                raise RuntimeError(f"entry {position} was acknowledged for two examples")

    def teach(self, rng: random.Random, client: int, count: int) -> None:
        """Teach an example."""
        line = f"{rng.choice((1, -1))} |f a{rng.randrange(50)}:{rng.random():.3f} b{rng.randrange(50)}"
        found = self.send("/v1/learn", line, **{"Idempotency-Key": f"{client}-{count}"})
        self.note(found["position"], line)

    def wanted(self) -> Chain:
        """A model that has learned the examples in the order of the log."""
        chain = Chain.load(self.model.with_name("first"))
        for number in sorted(self.learned):
            example = self.learned[number]
            chain.learn(example if isinstance(example, str) else [example])
        return chain


class Decisions(Examples):
    """Decisions and their rewards."""

    config: ClassVar[dict[str, Any]] = {
        "weights": {"bits": 12},
        "chain": ["explore_squarecb", "contextual_bandit", "cost_sensitive_with_features", "linear"],
    }
    usual: ClassVar[list[Any]] = [
        {"shared": {"u": ["a"]}, "actions": [{"a": ["b"]}], "chosen": 0, "cost": 1.0, "probability": 1.0}
    ]

    def prepare(self) -> None:
        """No reward waits."""
        super().prepare()
        self._late: dict[int, list[tuple[str, dict[str, Any]]]] = {}

    def teach(self, rng: random.Random, client: int, count: int) -> None:
        """Let the server decide; the reward comes at once, late, or never."""
        actions = [{"a": {f"x{rng.randrange(20)}": rng.random()}} for _ in range(rng.randint(2, 4))]
        decision = {"shared": {"u": [f"u{rng.randrange(9)}"]}, "actions": actions}
        id = f"{client}-{count}"
        found = self.send(f"/v1/rank?id={id}", decision)
        label = {"chosen": found["action"], "probability": found["probability"], "cost": rng.random()}
        late = self._late.setdefault(client, [])
        late.append((id, {**decision, **label}))
        if rng.random() < 0.6:
            self._reward(*late.pop(rng.randrange(len(late))), twice=rng.random() < 0.2)

    def _reward(self, id: str, labelled: dict[str, Any], twice: bool) -> None:
        for _ in range(1 + twice):
            found = self.send("/v1/reward", {"id": id, "cost": labelled["cost"]})
            self.note(found["position"], labelled)


class Labels(Traffic):
    """Answers to label requests."""

    config: ClassVar[dict[str, Any]] = {
        "weights": {"bits": 12},
        "chain": [{"active": {"labels": [-1, 1]}}, {"linear": {"loss": "logistic"}}],
    }

    def prepare(self) -> None:
        """A store in which the model has asked for labels."""
        self.store = self.model.with_name(self.model.name + ".log.db")
        pool = [f"'t{k}|f a{k % 97} b{k % 53} c{k}" for k in range(6000)]
        with Store(self.store, create=True) as store:
            asked = ask(Chain.load(self.model), pool, store, len(pool), source="pool", model="m")
        self._ids = [request.id for request in asked]
        self._answered: set[str] = set()

    @property
    def acknowledged(self) -> int:
        """Answers stored."""
        return len(self._answered)

    def teach(self, rng: random.Random, client: int, count: int) -> None:
        """Answer a request, now and then twice; once all are answered, answer them again."""
        id = self._ids[(4 * count + client) % len(self._ids)] if client < 4 else rng.choice(self._ids)
        for _ in range(1 + (rng.random() < 0.1)):
            answer = {"id": id, "worker": "ada", "label": 1 - 2 * (sum(id.encode()) % 2)}
            self.send("/v1/labels", answer)
        with self._lock:
            self._answered.add(id)

    def wanted(self) -> Chain:
        """A model that has learned the answers in the order of the store's log."""
        chain = Chain.load(self.model.with_name("first"))
        with Store(self.store) as store:
            stored = store.counts().labels
            if stored != len(self._answered):
                raise RuntimeError(f"{len(self._answered)} answers were acknowledged, {stored} are stored")
            catch_up(chain, store)
        return chain


KINDS: dict[str, type[Traffic]] = {"examples": Examples, "decisions": Decisions, "labels": Labels}


def attack(kills: int, clients: int, seed: int, longest: float = 1.5, what: str = "examples") -> Traffic:
    """Do it all in a directory of its own; raises as `Traffic.check` does."""
    with tempfile.TemporaryDirectory() as folder:
        traffic = KINDS[what](Path(folder) / "model", seed)
        try:
            traffic.run(kills, clients, longest)
        finally:
            traffic.stopping = True
            if traffic.server.process.poll() is None:
                traffic.server.end(signal.SIGKILL)
        traffic.check()
    return traffic


def main() -> None:
    """Run, and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", choices=list(KINDS), default="examples")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    done = attack(options.kills, options.clients, options.seed, what=options.what)
    print(f"{options.kills} kills, {done.acknowledged} {options.what} acknowledged, {done.repeated} when sent again")
    print("the model equals the one that was never killed, bit for bit")


if __name__ == "__main__":
    main()
