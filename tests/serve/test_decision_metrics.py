"""Metrics of decisions over HTTP: told together or apart, learned once each, and over a restart as before."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, UsageError
from hutch.durable.choices import Default
from hutch.durable.log import Log
from hutch.serve.decisions import learn_defaults
from hutch.serve.served import Served
from hutch.serve.server import default_of, serve

JSON = "application/json"
CONFIG = {
    "weights": {"bits": 12},
    "chain": [
        {"explore_posterior": {"method": "thompson", "width": 1}},
        "contextual_bandit",
        "cost_sensitive_with_features",
        {"weighted_metrics": {"weights": {"right": 1, "price": -20}}},
        {"bayesian_linear": {"covariance": "blocks", "dimension": 16, "loss": "squared", "interactions": [["u", "m"]]}},
    ],
}
DECISION: dict[str, Any] = {"shared": {"u": ["ann"]}, "actions": [{"m": ["small"]}, {"m": ["large"]}]}
FORMS = {
    "json": (json.dumps(DECISION), JSON),
    "alone": (json.dumps({"actions": DECISION["actions"]}), JSON),
    "text": ("shared |u ann\n|m small\n|m large\n", "text/plain"),
}


@pytest.fixture
def router(tmp_path: Path) -> Path:
    """A model that has learned nothing."""
    Chain.from_config(CONFIG).save(tmp_path / "model")
    return tmp_path / "model"


def told(ranked: dict[str, Any], seen: dict[str, float], form: str = "json") -> dict[str, Any]:
    """The decision as a log has it."""
    actions: list[dict[str, Any]] = [{**action} for action in DECISION["actions"]]
    actions[ranked["action"]]["metrics"] = seen
    label = {"chosen": ranked["action"], "cost": 0.0, "probability": ranked["probability"]}
    return {"actions": actions, **({} if form == "alone" else {"shared": DECISION["shared"]}), **label}


def arrays(chain: Chain) -> dict[str, Any]:
    """All that was learned."""
    return {name: array.copy() for name, array in chain.arrays().items()}


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], name)


@pytest.mark.parametrize("form", FORMS)
def test_they_are_learned_as_the_chain_does_and_again_over_a_restart(form: str, router: Path, in_service: Any) -> None:
    twin, kept = Chain.load(router), []

    async def use(service: Any) -> None:
        body, kind = FORMS[form]
        for k in range(20):
            ranked = (await service.post(f"/v1/rank?id=d{k}", body, kind)).json()
            whole = {"right": float(k % 3 > 0), "price": 0.01 * (1 + ranked["action"])}
            parts = [whole] if k % 2 else [{"price": whole["price"]}, {"right": whole["right"]}]
            for seen in parts:
                done = await service.post("/v1/reward", json.dumps({"id": f"d{k}", "reward": seen}), JSON)
                assert done.json()["new"] == 1, done.text
                twin.learn([told(ranked, seen, form)])
        kept.append(arrays(service.first.chain))

    async def restarted(service: Any) -> None:
        assert (service.first.replayed, service.first.proofs.proved) == (30, 30)
        same(kept[0], arrays(service.first.chain))

    in_service([router], use)
    same(kept[0], arrays(twin))
    in_service([router], restarted)


def test_each_counts_once_and_another_value_is_refused(router: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        async def reward(*listed: Any, status: int = 200) -> Any:
            found = await service.post("/v1/reward", json.dumps(listed), JSON)
            assert found.status_code == status, found.text
            return found.json()

        for id in "abc":
            await service.post(f"/v1/rank?id={id}", *FORMS["json"])
        first = await reward({"id": "a", "reward": {"price": 0.01}}, {"id": "b", "reward": {"price": 0.02, "right": 1}})
        assert (first["new"], first["repeated"]) == (2, 0)
        again = await reward({"id": "b", "reward": {"right": 1, "price": 0.02}})
        assert again == {"model": "model", "position": 2, "new": 0, "repeated": 1}
        more = await reward({"id": "a", "reward": {"price": 0.01, "right": 0}})
        assert (more["new"], more["position"]) == (1, 3)
        before = arrays(service.first.chain)
        for body, said in (
            ({"id": "a", "reward": {"price": 0.5}}, "price: got 0.5 for decision 'a', but it was 0.01 before"),
            (
                {"id": "c", "reward": 1.0},
                "reward: got 1.0, wanted an object with some of the model's metrics: price, right",
            ),
            ({"id": "c", "cost": 1.0}, "got a cost, wanted a reward with some of the model's metrics"),
            ({"id": "c", "reward": {}}, "got {}, wanted an object"),
            ({"id": "c", "reward": {"rigth": 1}}, "got 'rigth'; did you mean 'right'"),
            ({"id": "c", "reward": {"right": True}}, "right: got true, wanted a number"),
            ({"id": "c", "reward": {"right": 1e30}}, "right: got 1e+30, wanted a number up to 1e+12"),
            ({"id": "d", "reward": {"right": 1}}, "there is no decision 'd' of the model 'model'"),
        ):
            found = await reward({"id": "c", "reward": {"right": 1}}, body, status=422)
            assert said in found["error"], found
        same(before, arrays(service.first.chain))  # all or none
        loop = (await service.client.get("/v1/loop")).json()
        assert loop["learned"] == 2 and loop["mean_reward"] == pytest.approx((0 - 0.2 + 1 - 0.4) / 2)
        plain = {**DECISION, "actions": [{"m": ["small"], "metrics": {"right": 1}}, {"m": ["large"]}]}
        assert "has no label" in (await service.post("/v1/rank", json.dumps(plain), JSON)).json()["error"]

    in_service([router], use)


def test_a_model_of_costs_refuses_metrics(tmp_path: Path, in_service: Any) -> None:
    layers = [layer for layer in CONFIG["chain"] if "weighted_metrics" not in layer]
    Chain.from_config({**CONFIG, "chain": layers}).save(tmp_path / "model")

    async def use(service: Any) -> None:
        await service.post("/v1/rank?id=a", *FORMS["json"])
        found = await service.post("/v1/reward", json.dumps({"id": "a", "reward": {"right": 1}}), JSON)
        assert found.status_code == 422 and 'reward: got {"right": 1}, wanted a number' in found.json()["error"]

    in_service([tmp_path / "model"], use)


def test_entries_taken_back_and_decisions_forgotten_lose_their_metrics(router: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        for k in range(4):
            await service.post(f"/v1/rank?id=d{k}", *FORMS["json"])
            seen = {"id": f"d{k}", "reward": {"price": 0.01, "right": 1}}
            await service.post("/v1/reward", json.dumps(seen), JSON)

    in_service([router], use)
    log = Log(router.with_suffix(".db"))
    assert log.drop_behind(1, 2) == 2
    log.close()

    async def later(service: Any) -> None:
        rows = service.log.store.rows("SELECT DISTINCT id FROM serve_metrics")
        assert rows == [("d0",), ("d1",)] and service.first.replayed == 2
        found = await service.post("/v1/reward", json.dumps({"id": "d3", "reward": {"right": 0.5}}), JSON)
        assert found.json()["new"] == 1
        service.log.now = lambda: 1e9
        await service.first.save()
        assert service.log.store.rows("SELECT count(*) FROM serve_metrics") == [(0,)]

    in_service([router], later, remember=50)


def test_the_weights_change_from_a_start_on(router: Path, in_service: Any) -> None:
    kept: list[Any] = []

    async def use(service: Any) -> None:
        for k in range(30):
            ranked = (await service.post(f"/v1/rank?id=d{k}", *FORMS["json"])).json()
            seen = {"right": float(k % 4 > 1 - ranked["action"]), "price": 0.01 * (1 + ranked["action"])}
            await service.post("/v1/reward", json.dumps({"id": f"d{k}", "reward": seen}), JSON)
        kept.extend((arrays(service.first.chain), service.first.chain.predict([DECISION])))

    in_service([router], use)
    log = Log(router.with_suffix(".db"))
    served = Served(router, log, "model", overrides=["weighted_metrics.weights.price=-500"])
    assert (served.replayed, served.proofs.proved) == (30, 30)
    same({name: array for name, array in kept[0].items() if "prove" not in name}, arrays(served.chain))
    changed = served.chain.predict([DECISION])
    assert changed[0] > kept[1][0] + 0.05
    served.close()
    log.close()

    async def later(service: Any) -> None:
        assert service.first.replayed == 0 and service.first.weigher.metrics == {"price": -500, "right": 1}
        np.testing.assert_array_equal(service.first.chain.predict([DECISION]), changed)
        await service.post("/v1/rank?id=e", *FORMS["json"])
        seen = {"right": 1, "price": 0.01}
        assert (await service.post("/v1/reward", json.dumps({"id": "e", "reward": seen}), JSON)).json()["new"] == 1

    in_service([router], later)
    log = Log(router.with_suffix(".db"))
    with pytest.raises(ConfigError, match="did you mean 'weights'"):
        Served(router, log, "model", overrides=["weighted_metrics.wieghts.price=-500"])
    log.close()


def test_metrics_that_do_not_come_are_learned_by_default_once(router: Path, in_service: Any) -> None:
    twin, kept = Chain.load(router), []
    default = default_of(10, "price=0.01,right=0", 1e12)

    async def use(service: Any) -> None:
        clock = [100.0]
        service.log.now = lambda: clock[0]
        service.first.default = default
        ranked = [(await service.post(f"/v1/rank?id=d{k}", *FORMS["json"])).json() for k in range(4)]
        for k, seen in enumerate(({"price": 0.03}, {"right": 1.0, "price": 0.02})):
            await service.post("/v1/reward", json.dumps({"id": f"d{k}", "reward": seen}), JSON)
            twin.learn([told(ranked[k], seen)])
        clock[0] = 111.0
        last = (await service.post("/v1/rank?id=d4", *FORMS["json"])).json()
        assert await learn_defaults(service.first) == 3  # not d1, which has all, nor d4, which is not due
        assert await learn_defaults(service.first) == 0
        for k, seen in ((0, {"right": 0.0}), (2, default.metrics), (3, default.metrics)):
            twin.learn([told(ranked[k], seen)])
        same(arrays(twin), arrays(service.first.chain))
        for seen, wanted in (
            ({"right": 1.0}, {"new": 0, "repeated": 0, "late": 1}),
            ({"price": 0.03}, {"new": 0, "repeated": 1, "late": 0}),
            ({"price": 0.03, "right": 1.0}, {"new": 0, "repeated": 0, "late": 1}),
        ):
            found = (await service.post("/v1/reward", json.dumps({"id": "d0", "reward": seen}), JSON)).json()
            assert {name: found[name] for name in wanted} == wanted
        await service.post("/v1/reward", json.dumps({"id": "d4", "reward": {"right": 1.0}}), JSON)
        twin.learn([told(last, {"right": 1.0})])
        same(arrays(twin), arrays(service.first.chain))
        kept.append(service.first.position)

    async def restarted(service: Any) -> None:
        assert service.first.replayed == service.first.proofs.proved == kept[0]
        same(arrays(twin), arrays(service.first.chain))
        service.first.default = default
        service.log.now = lambda: 111.0
        assert await learn_defaults(service.first) == 0  # also before it knows what it has learned
        service.log.now = lambda: 5000.0
        assert await learn_defaults(service.first) == 1  # the price of d4

    in_service([router], use)
    in_service([router], restarted)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("right", "got 'right', wanted a number up to --max-value 1e+12, or metrics as in right=0,price=0.01"),
        ("right=much", "got 'much', wanted a number"),
        ("right=1e13", "got '1e13', wanted a number up to --max-value 1e[+]12"),
        ("right=0,right=1", "wanted each metric once"),
    ],
)
def test_defaults_that_cannot_be_used(text: str, wanted: str) -> None:
    with pytest.raises(UsageError, match=wanted.replace("1e+12", "1e[+]12")):
        default_of(10, text, 1e12)


def test_defaults_of_another_kind_and_personalizer_are_refused(router: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        body = {"actions": [{"id": "a", "features": []}, {"id": "b", "features": []}]}
        found = await service.post("/personalizer/v1.0/rank", json.dumps(body), JSON)
        assert found.status_code == 400 and "learns metrics" in found.json()["error"]["message"]
        for default, wanted in (
            (Default(10, 0.0), "model: got one number, and it learns metrics: .* --default-reward price=0,right=0"),
            (Default(10, 0.0, {"rihgt": 0.0}), "model: got 'rihgt'; did you mean 'right'"),
        ):
            with pytest.raises(UsageError, match=wanted):
                nothing: Any = None
                await serve(service.models, service.log, nothing, nothing, host="", token="", save_every=1,
                            default=default)  # fmt: skip

    in_service([router], use)
