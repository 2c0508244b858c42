"""Histories of the simulated world: lives of a server, its clients and its operator, and what must hold afterwards."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hutch.core.errors import HutchError
from hutch.durable.choices import Default
from hutch.durable.log import Log
from hutch.serve import server
from hutch.serve.served import Served
from tests.reliability.operator import Operator
from tests.reliability.world import RUIN, WIDE, Crash, Loop, Request, Stuck, Templates, World, put, real, simulated


async def _client(world: World, requests: list[Request]) -> None:
    """Send each request until it is known what became of it, then the next."""
    rng, loop = world.random, asyncio.get_running_loop()
    for request in requests:  # which grow
        while request.answer is None:
            await asyncio.sleep(rng.expovariate(100) + request.after * (not request.sent))
            if world.over:  # a cancellation may be lost where an answer came at the same moment
                return
            if request.sent and not request.key:  # nobody can tell: it may have been learned
                request.answer, request.status = {}, -1
                break
            reply = loop.create_future()
            request.sent += 1
            for _ in range(2 if request.key and rng.random() < 0.1 else 1):  # now and then it comes twice
                if rng.random() > 0.05 and world.apps:
                    loop.call_later(rng.expovariate(200), _deliver, world, request, reply)
            with suppress(TimeoutError):
                status, answer = await asyncio.wait_for(reply, 0.5)
                world.trace.append(f"{world.now:.3f} {request.key}: {status} {answer}")
                if rng.random() < 0.05 and request.key:  # the answer is lost
                    world.count("answer lost")
                elif status < 500:
                    request.status, request.answer, request.known_at = status, answer, world.now
                    if request.wants is not None and status == 200:
                        requests.append(request.wants(answer))
                else:
                    world.count(f"status {status}")


def _deliver(world: World, request: Request, reply: Any) -> None:
    if world.apps:
        app = world.apps[0] if len(world.apps) == 1 else world.random.choice(world.apps)
        app(request, reply)


def _life(
    world: World,
    clients: list[list[Request]],
    crash_in: float | None,
    stop_in: float | None,
    keep: int,
    default: Default | None,
    operator: Operator | None = None,
) -> str:
    """One life of the server, from its start to a stop or a crash; how it ended."""
    loop = Loop(world)
    world.chains_in_use, world.locks = 0, True
    world.trace.append(f"{world.now:.3f} a life begins")
    world.over = False

    async def serve() -> None:
        log = Log(world.folder / "log.db")
        try:
            models = server.load([f"m={world.folder / 'm'}"], log, WIDE, keep)
        except BaseException:
            log.close()
            raise
        listening = socket.socket()
        save_every = world.random.choice((0.02, 0.1, 1.0))
        try:
            await server.serve(
                models,
                log,
                listening,
                lambda: None,
                host="127.0.0.1",
                token="",
                save_every=save_every,
                limits=WIDE,
                default=default,
            )
        finally:
            listening.close()

    async def live() -> None:
        serving = [loop.create_task(serve())]
        await asyncio.sleep(0)  # it loads
        if serving[0].done():
            serving[0].result()
        sending = asyncio.gather(*(_client(world, requests) for requests in clients))
        if stop_in is not None:
            loop.call_later(stop_in, stop)
        operating = None if operator is None else loop.create_task(operator.during(serving, serve))
        try:
            while not (sending.done() or all(each.done() for each in serving)):
                running = [each for each in serving if not each.done()]
                await asyncio.wait([*running, sending], return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
                all_known.append(True)
                stop()
            ends: list[Any] = []
            while len(ends) < len(serving):  # a second one may have begun while the first one stops
                ends = await asyncio.gather(*serving, return_exceptions=True)
            if failed := [each for each in ends if isinstance(each, BaseException)]:
                if operator is None or not operator.expected(ends):
                    raise failed[0]
        finally:
            world.over = True
            for task in filter(None, (sending, operating)):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    def stop() -> None:
        for each in stops:
            each()

    stops: list[Callable[[], None]] = []
    all_known: list[bool] = []
    network = server.run

    async def with_stop(app: Any, listening: Any, ready: Any, limits: Any, stopping: asyncio.Event) -> None:
        stops.append(stopping.set)
        if all_known:
            stopping.set()
        await network(app, listening, ready, limits, stopping)

    with patch.object(server, "run", with_stop):
        if crash_in is not None:
            loop.call_later(crash_in, world.crash)
        main = loop.create_task(live())
        try:
            loop.run_until_complete(main)
            return "stopped"
        except Crash:
            return "crashed"
        except HutchError as error:
            return f"failed: {error}"
        finally:
            left = world.dead
            world.dead, world.faults = True, False
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            with suppress(Stuck, Crash):
                if tasks:
                    loop.run_until_complete(asyncio.wait(tasks))
            world.dead = left
            world.apps.clear()
            loop.close()
            for connection in [*world.connections]:  # a process that has ended holds nothing
                connection.close()
            for descriptor in world.descriptors:
                with suppress(OSError):
                    real["close"](descriptor)
            world.connections.clear()
            world.descriptors.clear()


def _rewarded(cost: float, after: float) -> Callable[[dict[str, Any]], Request]:
    """The reward of a decision."""

    def reward(found: dict[str, Any]) -> Request:
        body = json.dumps({"id": found["id"], "cost": cost})
        return Request("/v1/reward", body, "r" + found["id"], after=after)

    return reward


def _requests(rng: random.Random, bandit: bool, keyless: bool) -> list[list[Request]]:
    """Draw the requests of each client of a history."""
    clients: list[list[Request]] = []
    number = 0
    for _ in range(rng.randint(1, 3)):
        wanted = []
        for _ in range(rng.randint(1, 8)):
            number += 1
            if bandit:
                cost = rng.choice((0.0, 1.0, 2.5))
                body = json.dumps(
                    {"shared": {"s": [f"u{rng.randrange(4)}"]}, "actions": [{"a": [f"x{number}"]}, {"a": ["y"]}]}
                )
                after = rng.choice((0.0, 0.0, rng.expovariate(5)))
                wanted.append(Request("/v1/rank", body, f"d{number}", wants=_rewarded(cost, after)))
            elif rng.random() < 0.05:
                wanted.append(Request("/v1/learn", RUIN, f"k{number}"))
            elif rng.random() < 0.05:
                wanted.append(Request("/v1/learn", "|f no:label", f"k{number}"))
            else:
                lines = "\n".join(
                    f"{rng.randrange(5)} |f n{number} m{k} b:{rng.randrange(9)}.5" for k in range(rng.choice((1, 1, 3)))
                )
                wanted.append(Request("/v1/learn", lines, "" if keyless and rng.random() < 0.3 else f"k{number}"))
        clients.append(wanted)
    return clients


@dataclass
class History:
    """The outcome of one seed."""

    seed: int
    lives: list[str]
    operations: int
    requests: int
    counts: dict[str, int]
    trace: list[str]


def run(
    seed: int, templates: Templates, parent: Path | None = None, nth: int = 0, *, operated: bool = False
) -> History:
    """One history, and what must be true after it.

    Args:
        seed: decides all that happens.
        templates: what it begins with.
        parent: folder for its files.
        nth: the server fails at this operation, and at no other; 0: as the seed says.
        operated: an operator copies, restores, upgrades, and makes mistakes.

    Raises:
        AssertionError: it is not.
    """
    with tempfile.TemporaryDirectory(dir=parent) as found:
        root = Path(found).resolve()
        rng = random.Random(seed)
        bandit, keep, fresh_store = rng.random() < 0.3, rng.choice((0, 2, 1000)), rng.random() < 0.05
        clients = _requests(rng, bandit, keep == 1000)
        default = Default(rng.choice((0.02, 0.1, 0.4)), 0.75) if bandit and rng.random() < 0.6 else None
        files = dict(templates.files[bandit])
        if fresh_store:
            files = {"m": files["m"]}
        world = World(seed, put(root / "life0", files), errors=rng.choice((0.0, 0.0, 0.01, 0.05)), fail_at=nth)
        operator = Operator(world, templates, clients, keep, root) if operated else None
        world.errors *= not nth
        lives: list[str] = []
        with simulated(world, templates):
            for number in range(1 if nth else rng.randint(1, 4)):
                world.faults, world.operations = True, 0
                how = "none" if nth else rng.choice(("operation", "operation", "time", "stop", "none"))
                world.crash_at = int(rng.expovariate(1 / 40)) + 1 if how == "operation" else -1
                crash_in = rng.expovariate(20) if how == "time" else None
                stop_in = rng.expovariate(10) if how == "stop" else None
                lives.append(_life(world, clients, crash_in, stop_in, keep, default, operator))
                if world.dead:
                    assert world.image is not None
                    world.folder = put(root / f"life{number + 1}", world.image)
                assert world.dead == (lives[-1] == "crashed"), lives
                if lives[-1].startswith("failed"):
                    assert world.errors or nth, f"a start without faults failed: {lives}"
                world.dead, world.image = False, None
                world.renamed.clear()
                world.unsynced.clear()
                if operator is not None:
                    operator.between_lives()
            operations, world.errors, world.faults = world.operations, 0.0, False
            lives.append(
                _life(world, clients, None, None, keep, default, operator)
            )  # all that clients still want is answered
            assert lives[-1] == "stopped", lives
            must_hold(world, templates, clients, bandit, default, root)
        count = sum(request.teaches for requests in clients for request in requests)
        return History(seed, lives, operations, count, world.counts, world.trace)


def must_hold(
    world: World,
    templates: Templates,
    clients: list[list[Request]],
    bandit: bool,
    default: Default | None,
    root: Path,
) -> None:
    """Acknowledged is learned exactly once and in order, nothing else is learned, a restart gives the same bits."""
    first, position = _restarted(world, root / "again")
    if not world.seed % 4:
        second, _ = _restarted(world, root / "once more")
        assert first == second, "two restarts differ"
    decisions = {q.answer["id"]: (q.body, q.answer) for each in clients for q in each if q.path == "/v1/rank"}
    learned: dict[int, tuple[str, list[float] | None]] = {}
    unknown: list[str] = []
    late: set[str] = set()
    for requests in clients:
        last = -1
        for request in (each for each in requests if each.teaches):
            body = request.body
            if request.status == -1:
                unknown.append(body)
                continue
            assert request.status == (422 if body in (RUIN, "|f no:label") else 200), (request, "a wrong status")
            if request.status != 200:
                continue
            at, predicted = request.answer["position"], request.answer.get("predictions")
            if request.answer.get("late"):
                late.add(json.loads(body)["id"])
                continue
            if bandit:
                given = json.loads(body)
                decision, drawn = decisions[given["id"]]
                label = {"chosen": drawn["action"], "cost": given["cost"], "probability": drawn["probability"]}
                body = json.dumps(json.loads(decision) | label)
            assert at > last, "later learn requests of a client have later places"
            assert at not in learned, "two learn requests have one place"
            last, learned[at] = at, (body, None if request.answer.get("repeated") else predicted)
    if unknown:  # nobody was told: at most once each, where the log says
        for entry in _entries(world):
            if entry["number"] not in learned and not entry["refused"] and entry["kind"] != "refused":
                assert entry["body"] in unknown, "something that nobody sent, or a learn request twice"
                unknown.remove(entry["body"])
                learned[entry["number"]] = entry["body"], None
    if default is not None:
        for id, cost, at in _decisions(world):
            if at is not None and at not in learned:
                assert cost == default.cost, "what nobody rewarded is learned with the default"
                decision, drawn = decisions[id]
                label = {"chosen": drawn["action"], "cost": cost, "probability": drawn["probability"]}
                learned[at] = json.dumps(json.loads(decision) | label), None
                late.discard(id)
                world.count("learned by default")
        assert not late, "a reward came too late, and the default was not learned"
    bodies = [learned[at][0] for at in sorted(learned)]
    wanted, predictions = templates.taught(bandit, bodies)
    for name, content in wanted.items():
        assert first[name] == content or name in ("shared.testing", "shared.time"), (
            f"{name} is not what was acknowledged"
        )
    for at, predicted in zip(sorted(learned), predictions, strict=True):
        assert bandit or learned[at][1] in (None, predicted), "what a client was told is not what the model said then"


def _restarted(world: World, folder: Path) -> tuple[dict[str, bytes], int]:
    """The arrays of the model after a restart from a copy of the disk."""
    shutil.copytree(world.folder, folder, ignore=shutil.ignore_patterns("*-shm"))
    log = Log(folder / "log.db")
    served = Served(folder / "m", log, "m", WIDE)
    try:
        return {name: array.tobytes() for name, array in served.chain.arrays().items()}, served.position
    finally:
        log.close()
        served.close()


def _decisions(world: World) -> list[Any]:
    """Id, cost and entry of all decisions."""
    log = Log(world.folder / "log.db")
    try:
        return log.store.rows("SELECT id, cost, number FROM serve_decisions")
    finally:
        log.close()


def _entries(world: World) -> list[dict[str, Any]]:
    log = Log(world.folder / "log.db")
    try:
        return list(log.lines())
    finally:
        log.close()
