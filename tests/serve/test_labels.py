"""Label requests over HTTP: answers are stored once and learned once, whoever took them."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hutch import Chain
from hutch.active.loop import ask, catch_up
from hutch.durable.records import make_answer
from hutch.durable.store import Store

JSON = "application/json"
CONFIG = {"weights": {"bits": 12}, "chain": [{"active": {"labels": [-1, 1]}}, {"linear": {"loss": "logistic"}}]}
POOL = [f"'t{k}|f a{k % 5} b{k % 3}" for k in range(30)]


@pytest.fixture
def asked(tmp_path: Path, saved_model: Any) -> Path:
    """A model, and a store beside it in which it has asked for labels."""
    model: Path = saved_model(tmp_path / "model", CONFIG)
    with Store(model.with_suffix(".db"), create=True) as store:
        ask(Chain.load(model), POOL, store, 6, source="pool", model="m")
    return model


def test_answers_are_learned_once(asked: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        requests = (await service.client.get("/v1/labels")).json()["requests"]
        assert len(requests) == 6 and set(requests[0]) >= {"id", "line", "probability"}
        [leased] = (await service.client.get("/v1/labels?worker=ada")).json()["requests"]
        [other] = (await service.client.get("/v1/labels?worker=bob")).json()["requests"]
        assert leased["id"] != other["id"]
        answer = f'{{"id": "{leased["id"]}", "worker": "ada", "label": 1}}'
        before = service.first.chain.statistics.examples
        assert (await service.post("/v1/labels", answer, JSON)).json() == {"new": 1, "repeated": 0}
        assert (await service.post("/v1/labels", answer, JSON)).json() == {"new": 0, "repeated": 1}
        await service.post("/v1/learn", "1 |f a1")
        many = f'[{{"id": "{other["id"]}", "worker": "bob", "label": -1}}, {answer}]'
        assert (await service.post("/v1/labels", many, JSON)).json() == {"new": 1, "repeated": 1}
        good = f'{{"id": "{requests[2]["id"]}", "worker": "bob", "label": -1}}'
        bad = f'[{good}, {{"id": "no", "worker": "b", "label": 1}}]'
        refused = await service.post("/v1/labels", bad, JSON)
        assert refused.status_code == 422 and "<body>:2:" in refused.json()["error"]
        skip = f'{{"id": "{requests[3]["id"]}", "worker": "cy", "label": "skip"}}'
        assert (await service.post("/v1/labels", skip, JSON)).json()["new"] == 1
        assert service.first.chain.statistics.examples == before + 3
        assert service.log.store.counts().labels == 2

    in_service([asked], use)


def test_what_others_answered_is_learned_at_the_start(asked: Path, in_service: Any) -> None:
    with Store(asked.with_suffix(".db")) as store:
        for k, request in enumerate(list(store.open_requests())[:4]):
            store.answer([make_answer(request.id, "ada", 1 - 2 * (k % 2))])
        twin = Chain.load(asked)
        catch_up(twin, store)
    arrays: dict[str, bytes] = {}

    async def use(service: Any) -> None:
        await service.first.drain()
        found = {name: array.tobytes() for name, array in service.first.chain.arrays().items()}
        assert arrays in ({}, found)  # after a crash it is the same, and nothing is learned twice
        arrays.update(found)

    for _ in range(2):
        in_service([asked], use)
    assert arrays["weights"] == twin.weights.tobytes()
    assert arrays["layer.0.active.learned"] == twin.arrays()["layer.0.active.learned"].tobytes()


def test_an_answer_that_came_next_while_no_server_ran_is_learned(asked: Path, in_service: Any) -> None:
    def answer(count: int) -> None:
        with Store(asked.with_suffix(".db")) as store:
            for request in list(store.open_requests())[:count]:
                store.answer([make_answer(request.id, "ada", 1)])

    async def learned(service: Any) -> None:
        await service.first.drain()
        await service.first.save()
        counts.append(service.first.chain.statistics.examples)

    counts: list[int] = []
    for count in (2, 1, 0, 2):
        answer(count)
        in_service([asked], learned)
    assert [b - a for a, b in pairwise(counts)] == [1, 0, 2]
