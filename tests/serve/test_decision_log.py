"""Decisions of a service as a log: what is trained from it is what the service has learned."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import StoreError
from hutch.serve.decision_log import decision_lines
from tests.forked_hutch import hutch

LINEAR = {"linear": {"interactions": [[":", ":"]]}}
CONFIG = {
    "weights": {"bits": 14},
    "chain": ["explore_squarecb", "contextual_bandit", "cost_sensitive_with_features", LINEAR],
}
RANK = "/personalizer/v1.0/rank"


@pytest.fixture
def served(tmp_path: Path, in_service: Any) -> Path:
    """A model after 300 events, one of which has no reward, and a decision in another form."""
    Chain.from_config(CONFIG).save(tmp_path / "loop")

    async def use(service: Any) -> None:
        async def post(path: str, body: Any) -> Any:
            found = await service.client.post(path, json=body)
            return found.json() if found.content else None

        for k in range(301):
            actions = [{"id": name, "features": [{"é": name, "n": k % 5}]} for name in "abc"]
            body = {"contextFeatures": [{"u": "xy"[k % 2]}], "actions": actions, "eventId": f"e{k}"}
            chosen = (await post(RANK, body))["rewardActionId"]
            if k < 300:
                await post(f"/personalizer/v1.0/events/e{k}/reward", {"value": float(chosen == "ab"[k % 2])})
        own = {"shared": {"u": ["x"]}, "actions": [{"a": ["b"]}, {"a": ["c"]}]}
        await post("/v1/rank?id=own", own)
        await post("/v1/reward", {"id": "own", "cost": 1})
        await service.first.save()

    in_service([tmp_path / "loop"], use)
    return tmp_path


def run(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([hutch(), *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_what_is_trained_from_the_log_is_what_the_service_learned(served: Path) -> None:
    done = run(served, "serve", "log", "decisions", "--store", "loop.db")
    assert done.returncode == 0 and done.stderr.startswith("1 decision asked for in another form"), done.stderr
    (served / "log.dsjson").write_text(done.stdout)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["EventId"] for line in lines] == [f"e{k}" for k in range(300)]
    for line in lines:
        assert line["a"][0] == line["_label_Action"] == line["_labelIndex"] + 1 and sorted(line["a"]) == [1, 2, 3]
        assert line["p"][0] == line["_label_probability"] and sum(line["p"]) == pytest.approx(1)
    twin = Chain.from_config(CONFIG)
    twin.learn(served / "log.dsjson")
    last = {"shared": {"u": ["x"]}, "actions": [{"a": ["b"]}, {"a": ["c"]}]}
    twin.learn([{**last, **label_of_own(served)}])
    np.testing.assert_array_equal(twin.weights, Chain.load(served / "loop").weights)


def label_of_own(folder: Path) -> dict[str, Any]:
    """The label of the decision in another form."""
    from hutch.durable.store import Store

    rows = Store(folder / "loop.db").rows("SELECT action, probability FROM serve_decisions WHERE id = 'own'")
    return {"chosen": rows[0][0], "cost": 1.0, "probability": rows[0][1]}


def test_another_chain_is_evaluated_on_it(served: Path) -> None:
    (served / "log.dsjson").write_text(run(served, "serve", "log", "decisions", "--store", "loop.db").stdout)
    (served / "chain.yaml").write_text(
        "chain: [explore_epsilon, contextual_bandit, cost_sensitive_with_features,"
        " {linear: {interactions: [[':', ':']]}}]\n"
    )
    done = run(served, "evaluate", "log.dsjson", "-C", "chain.yaml")
    assert done.returncode == 0 and done.stdout.startswith("300 decisions, mean cost in the log -0."), done.stdout


def test_a_model_is_named_where_there_are_several(served: Path, in_service: Any) -> None:
    Chain.from_config(CONFIG).save(served / "other")

    async def use(service: Any) -> None:
        with pytest.raises(StoreError, match="has the models loop, other: wanted --model NAME"):
            next(decision_lines(service.log.store))
        with pytest.raises(StoreError, match="no model 'lop'; did you mean 'loop'"):
            next(decision_lines(service.log.store, "lop"))
        assert sum(line is not None for line in decision_lines(service.log.store, "loop")) == 300
        assert not list(decision_lines(service.log.store, "other"))

    in_service([served / "loop", served / "other"], use)
