"""A model in service by formula, without HTTP: its recent loss, requests that would ruin it, bodies it refuses."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import DataError
from hutch.durable.log import Log
from hutch.net.limits import Limits
from hutch.serve.answers import WINDOW
from hutch.serve.bodies import JSON, TEXT, batches_of, check_labels, check_numbers, single
from hutch.serve.served import NotFinite, Served

LINEAR: dict[str, Any] = {"weights": {"bits": 12}, "chain": [{"linear": {"loss": "squared"}}]}
BANDIT: dict[str, Any] = {
    "weights": {"bits": 12},
    "chain": ["explore_epsilon", "contextual_bandit", "cost_sensitive_with_features", "linear"],
}
COSTS: dict[str, Any] = {"weights": {"bits": 12}, "chain": ["cost_sensitive_with_features", "linear"]}
CROWD: dict[str, Any] = {
    "weights": {"bits": 12},
    "chain": [{"crowd_em": {"classes": 3, "slots": 4}}, {"one_against_all": {"classes": 3}}, "linear"],
}
WIDE = Limits(importance=1e38, value=1e39)
RUIN = b"1e38 |f a:1e30"


def in_service(path: Path, use: Callable[[Served], Awaitable[Any]], config: Any = None) -> Any:
    """Run a coroutine on a model in service, without saving at the end, and return its result."""
    if not path.exists():
        Chain.from_config(config or LINEAR).save(path)

    async def main() -> Any:
        log = Log(path.with_suffix(".db"))
        served = Served(path, log, "m", WIDE)
        try:
            log.start(asyncio.get_running_loop())
            return await use(served)
        finally:
            await served.drain()
            await asyncio.to_thread(log.close)
            served.close()

    return asyncio.run(main())


def weights_after(lines: list[bytes]) -> Any:
    chain = Chain.from_config(LINEAR)
    for line in lines:
        chain.learn([line.decode()])
    return chain.weights


def test_the_recent_loss_is_a_mean_over_a_window(tmp_path: Path) -> None:
    lines = [f"{(k * 7) % 5} |f a{k % 50} b:{k % 3}" for k in range(WINDOW + 500)]

    async def use(served: Served) -> tuple[float, int]:
        await served.learn(TEXT, "\n".join(lines).encode())
        return served.recent.mean, served.recent.count

    chain, recent = Chain.from_config(LINEAR), 0.0
    losses = np.concatenate([chain.run_batch(batch)[0].losses.copy() for batch in chain.batches(lines)])
    for k, loss in enumerate(losses.tolist()):
        recent += (loss - recent) / min(k + 1, WINDOW)
    found, examples = in_service(tmp_path / "m", use)
    assert examples == WINDOW and found == pytest.approx(recent)


def test_a_decision_counts_once_in_the_recent_loss(tmp_path: Path) -> None:
    decisions = b"shared |u a\n0:1:0.5 |a x\n|a y\n\nshared |u b\n|a x\n1:0:0.5 |a z\n\n"

    async def use(served: Served) -> Any:
        await served.learn(TEXT, decisions)
        return served.recent.count, (await served.predict(TEXT, decisions)).actions

    assert in_service(tmp_path / "m", use, BANDIT) == (2, [2, 2])


def test_several_learn_requests_that_would_ruin_a_model_change_nothing(tmp_path: Path) -> None:
    good = [b"%d |f a b%d" % (k, k) for k in range(4)]
    sent = [good[0], RUIN, RUIN, good[1], b"\n".join([good[2]] * 300 + [RUIN]), RUIN, good[3]]

    async def use(served: Served) -> Any:
        answers = await asyncio.gather(*(served.learn(TEXT, body) for body in sent), return_exceptions=True)
        await served.drain()
        before = served.recent.count
        with pytest.raises(NotFinite):
            await served.learn(TEXT, RUIN)
        assert served.recent.count == before == len(good) - 1
        assert served.rejected == {"not_finite": 5}  # none is tried a second time
        return [isinstance(answer, NotFinite) for answer in answers], served.chain.weights.copy()

    refused, weights = in_service(tmp_path / "m", use)
    assert refused == [False, True, True, False, True, True, False]
    np.testing.assert_array_equal(weights, weights_after([good[0], good[1], good[3]]))


def test_a_model_knows_when_it_learned_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def learn(served: Served) -> None:
        await served.learn(TEXT, b"1 |f a")

    async def look(served: Served) -> float:
        return served.learned_at

    monkeypatch.setattr(time, "time", lambda: 1e9)
    in_service(tmp_path / "m", learn)
    monkeypatch.setattr(time, "time", lambda: 2e9)
    assert in_service(tmp_path / "m", look) == 1e9


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b'{"f": {"a": NaN}}', "got NaN, wanted JSON: a number or null"),
        (b'{"f": {"a": 1}, "f": {"b": 1}}', "got the key 'f' twice in one object"),
        (b'{"rows": [{"f": "a"}]}', "got an object with the list 'rows', wanted a record or a list of records"),
        (b'{"mine": ["1 |f a", "|f b"]}', "got an object with the list 'mine', wanted a record or a list of records"),
    ],
)
def test_json_that_cannot_be_meant(body: bytes, what: str) -> None:
    with pytest.raises(DataError, match=what):
        single(JSON, body)
    assert single(JSON, b'{"mine": ["a", "b"]}') == {"mine": ["a", "b"]}


def test_a_byte_that_is_not_utf8_has_its_place() -> None:
    with pytest.raises(DataError, match="<body>:2:4: not UTF-8"):
        single(TEXT, b"1 |f a\n1 |\xff")


@pytest.mark.parametrize(
    ("body", "place", "what"),
    [
        (b"1 |f a:1\n1 |f b:9 c:1\n1 |f c:1", 2, "value 9, wanted at most 5; --max-value"),
        (b"1 |f a:1\n1 |f b:1 c:1\n1 |f c:-9", 3, "value -9, wanted at most 5; --max-value"),
        (b"1 |f a:1\n9 |f b:1", 2, "label 9, wanted at most 5; --max-value"),
        (b"1 3 |f a:1\n1 2.5 |f b", 1, "importance 3, wanted at most 2; --max-importance"),
    ],
)
def test_numbers_beyond_their_own_limits_have_their_places(body: bytes, place: int, what: str) -> None:
    chain, limits = Chain.from_config({**LINEAR, "input": {"constant": False}}), Limits(importance=2, value=5)
    [batch] = batches_of(chain, TEXT, body)
    first = batches_of(chain, TEXT, b"5 2 |f a:5\n|f b:-5")
    with pytest.raises(DataError, match=f"<body>:{place + 2}:1: got the {what}"):
        check_numbers([*first, batch], limits)
    check_numbers(first, limits)


@pytest.mark.parametrize(
    ("config", "body", "place"),
    [
        (LINEAR, b"1 |f a\n|f b", 2),
        (LINEAR, b"1 |f a\n2 |f b", None),
        (COSTS, b"1:1 |a x\n2:0 |a y\n\n|a x\n|a y\n\n", 3),
        (COSTS, b"shared |s s\n1:1 |a x\n2:0 |a y\n\n", None),
        (CROWD, b"1 |worker ann |f a\n|worker bob |f a\n\n", None),
        (CROWD, b"|worker ann |f a\n|worker bob |f a\n\n", 1),
        (BANDIT, b"0:1:0.5 |a x\n|a y\n\n|a x\n|a y\n\n", 3),
        (BANDIT, b"shared |s s\n0:1:0.5 |a x\n|a y\n\n", None),
    ],
)
def test_there_is_something_to_learn_everywhere(config: Any, body: bytes, place: int | None) -> None:
    chain = Chain.from_config(config)
    batches = batches_of(chain, TEXT, body)
    if place is None:
        check_labels(chain, batches)
    else:
        with pytest.raises(DataError, match=f"<body>:{place}:1: got no label, wanted one to learn from"):
            check_labels(chain, batches)
