"""Personalizer's calls: decisions as the chain's own on the lines of its log, events, exclusions, errors of Azure."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch import Chain
from hutch.durable.choices import Default
from hutch.serve.decisions import learn_defaults

JSON = "application/json"
BASE = "/personalizer/v1.0"
LINEAR = {"linear": {"interactions": [[":", ":"]]}}
CONFIG = {
    "weights": {"bits": 14},
    "chain": ["explore_squarecb", "contextual_bandit", "cost_sensitive_with_features", LINEAR],
}
MEALS: dict[str, list[dict[str, Any]]] = {
    "pasta": [{"taste": "salty", "grams": [400, 800]}, {"kitchen": {"italian": True, "quick": False}}],
    "ice cream": [{"taste": "sweet"}],
    "juice": [{"taste": "sweet", "price": 2.5}],
}
CONTEXT = [{"time": "noon"}, {"device": {"mobile": True, "width": 390}}]


def request(excluded: tuple[str, ...] = (), **others: Any) -> dict[str, Any]:
    """A rank request."""
    actions = [{"id": id, "features": features} for id, features in MEALS.items()]
    return {"contextFeatures": CONTEXT, "actions": actions, "excludedActions": list(excluded), **others}


def log_line(ids: list[str], chosen: str, reward: float, probability: float) -> str:
    """What Personalizer mirrors into its log of such a request."""
    place = ids.index(chosen)
    label = {
        "_label_cost": -reward,
        "_label_probability": probability,
        "_label_Action": place + 1,
        "_labelIndex": place,
    }
    multi = [{"_tag": id, "i": {"constant": 1, "id": id}, "j": MEALS[id]} for id in ids]
    return json.dumps({**label, "EventId": "e", "a": [1, 2, 3][: len(ids)], "c": {"FromUrl": CONTEXT, "_multi": multi}})


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A new model."""
    Chain.from_config(CONFIG).save(tmp_path / "meals")
    return tmp_path / "meals"


async def ask(service: Any, path: str, body: Any = None, status: int = 201, **headers: str) -> Any:
    """The answer to a request, which must have this status."""
    content = "" if body is None else json.dumps(body)
    found = await service.client.post(path, content=content, headers={"content-type": JSON, **headers})
    assert found.status_code == status, found.text
    return found.json() if found.content else None


async def reward(service: Any, id: str, value: Any, status: int = 204) -> Any:
    """Tell the reward of an event."""
    return await ask(service, f"{BASE}/events/{id}/reward", {"value": value}, status)


def test_decisions_are_drawn_and_learned_as_the_chain_learns_the_mirrored_log(
    model: Path, tmp_path: Path, in_service: Any
) -> None:
    twin, log = Chain.load(model), tmp_path / "one.dsjson"

    async def use(service: Any) -> None:
        for k in range(40):
            excluded = ("ice cream",) if k % 4 == 0 else ()
            ids = [id for id in MEALS if id not in excluded]
            found = await ask(service, f"{BASE}/rank", request(excluded, eventId=f"visit {k}"))
            assert found["eventId"] == f"visit {k}"
            shares = {each["id"]: each["probability"] for each in found["ranking"]}
            chosen = found["rewardActionId"]
            value = {"pasta": 0.25, "ice cream": -1, "juice": 1.0}[chosen]
            log.write_text(log_line(ids, chosen, value, shares[chosen]) + "\n")
            np.testing.assert_allclose([shares[id] for id in ids], twin.predict(log), rtol=1e-6)
            assert sum(shares.values()) == pytest.approx(1) and all(shares[id] == 0 for id in excluded)
            await reward(service, f"visit%20{k}", value)
            twin.learn(log)
            assert service.first.chain.weights.tobytes() == twin.weights.tobytes()

    in_service([model], use)

    async def again(service: Any) -> None:  # the log replays them
        assert service.first.proofs.proved == service.first.replayed == 40
        assert service.first.chain.weights.tobytes() == twin.weights.tobytes()

    in_service([model], again)


def test_excluded_actions_keep_their_places_in_the_ranking_and_the_chosen_one_comes_first(
    model: Path, in_service: Any
) -> None:
    async def use(service: Any) -> None:
        alone = await ask(service, f"{BASE}/rank", request(("pasta", "juice"), eventId="one"))
        assert alone == {
            "ranking": [
                {"id": "pasta", "probability": 0.0},
                {"id": "ice cream", "probability": 1.0},
                {"id": "juice", "probability": 0.0},
            ],
            "eventId": "one",
            "rewardActionId": "ice cream",
        }
        chosen = set()
        for _ in range(40):
            found = await ask(service, f"{BASE}/rank", request(("ice cream", "not on the menu")))
            ids = [each["id"] for each in found["ranking"]]
            assert ids[1] == "ice cream" and sorted(ids) == sorted(MEALS) and ids[0] == found["rewardActionId"]
            chosen.add(ids[0])
        assert chosen == {"pasta", "juice"}

    in_service([model], use)


def test_of_several_rewards_the_first_counts(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        await ask(service, f"{BASE}/rank", request(eventId="a"))
        for value in (0.5, 1, 0.5, -1):
            await reward(service, "a", value)
        assert service.log.store.rows("SELECT cost, number FROM serve_decisions") == [(-0.5, 1)]
        assert service.first.position == 1

    in_service([model], use)


def rewards_of(service: Any) -> dict[str, float | None]:
    """By event, what was learned of it."""
    rows = service.log.store.rows("SELECT id, cost, number FROM serve_decisions")
    return {id: None if number is None else -cost for id, cost, number in rows}


def test_inactive_events_are_learned_only_if_they_are_activated_in_time(model: Path, in_service: Any) -> None:
    async def activate(service: Any, id: str) -> None:
        await ask(service, f"{BASE}/events/{id}/activate", None, 204)

    async def use(service: Any) -> None:
        clock = [100.0]
        service.log.now = lambda: clock[0]
        service.first.default = Default(10, -0.125)
        for id in ("never", "rewarded", "then", "before", "default", "late"):
            await ask(service, f"{BASE}/rank", request(eventId=id, deferActivation=True))
        await ask(service, f"{BASE}/rank", request(eventId="active", deferActivation=False))
        await reward(service, "rewarded", 1)
        await activate(service, "then")
        await reward(service, "then", 0.5)
        await reward(service, "before", 0.75)
        await reward(service, "before", 0.25)  # the first one is held
        assert service.first.position == 1
        await activate(service, "before")
        await activate(service, "before")
        assert service.first.position == 2
        await activate(service, "default")
        await activate(service, "active")
        clock[0] = 111.0
        await activate(service, "late")
        assert await learn_defaults(service.first) == 2  # default and active
        await reward(service, "late", 1)
        wanted = {"never": None, "rewarded": None, "then": 0.5, "before": 0.75, "default": 0.125, "late": None}
        assert rewards_of(service) == {**wanted, "active": 0.125}
        assert service.first.position == 4

    in_service([model], use)

    async def again(service: Any) -> None:  # what is inactive stays so over a restart
        service.log.now = lambda: 500.0
        service.first.default = Default(10, -0.125)
        assert await learn_defaults(service.first) == 0
        assert service.log.store.rows("SELECT count(*) FROM serve_deferred") == [(3,)]
        service.first.default = None
        await activate(service, "rewarded")
        assert rewards_of(service)["rewarded"] == 1.0

    in_service([model], again)


def test_what_is_held_is_forgotten_with_its_decision(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        await ask(service, f"{BASE}/rank", request(eventId="old", deferActivation=True))
        await reward(service, "old", 1)
        service.log.now = lambda: 100.0
        await ask(service, f"{BASE}/rank", request(eventId="new", deferActivation=True))
        await service.first.save()
        assert service.log.store.rows("SELECT id FROM serve_deferred") == [("new",)]
        await reward(service, "old", 1, 404)

    in_service([model], use, remember=50)


def test_the_same_event_gets_the_same_answer_and_another_body_is_refused(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        first = await ask(service, f"{BASE}/rank", request(eventId="a"))
        await reward(service, "a", 1)
        for _ in range(3):
            assert await ask(service, f"{BASE}/rank", request(eventId="a")) == first
        found = await ask(service, f"{BASE}/rank", request(("juice",), eventId="a"), 409)
        assert "eventId: got 'a' with another body than before" in found["error"]["message"]
        made = {(await ask(service, f"{BASE}/rank", request(eventId=id)))["eventId"] for id in (None, "", None)}
        assert len(made) == 3

    in_service([model], use)


@pytest.mark.parametrize("before", [False, True])
def test_an_event_is_deferred_each_time_or_never(before: bool, model: Path, in_service: Any) -> None:
    def asked(deferred: bool | None) -> dict[str, Any]:
        return request(eventId="a") if deferred is None else request(eventId="a", deferActivation=deferred)

    async def use(service: Any) -> None:
        first = await ask(service, f"{BASE}/rank", asked(before))
        for _ in range(2):
            assert await ask(service, f"{BASE}/rank", asked(before)) == first
            for other in [True] if not before else [False, None]:
                found = await ask(service, f"{BASE}/rank", asked(other), 409)
                assert found["error"]["message"].startswith("eventId: got 'a' " + ("not " * before) + "deferred, and")
            await service.client.post(f"{BASE}/events/a/activate")  # what is active came deferred all the same
        await reward(service, "a", 1)
        assert (await service.client.get("/v1/loop")).json()["learned"] == 1

    in_service([model], use)


def test_names_that_begin_with_an_underscore_are_ignored(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        plain = [{"id": id, "features": [{"x": {"a": id}}]} for id in "ab"]
        other = [{"id": id, "features": [{"_label": 1, "x": {"a": id, "_multi": []}, "_x": {}}]} for id in "ab"]
        context: list[Any] = [{"_slots": [1], "u": 1}]
        await ask(service, f"{BASE}/rank", {"actions": plain, "contextFeatures": [{"u": 1}], "eventId": "e"})
        await ask(service, f"{BASE}/rank", {"actions": other, "contextFeatures": context, "eventId": "e"})  # no 409

    in_service([model], use)


FEATURES = [{"a": 1}]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "got [], wanted an object with actions"),
        ({}, "actions: got null, wanted a list"),
        ({"actions": []}, "actions: got none"),
        ({"actions": [1]}, "actions[0]: got 1, wanted an object with id and features"),
        ({"actions": [{"features": FEATURES}]}, "actions[0].id: got null, wanted an id"),
        ({"actions": [{"id": "", "features": FEATURES}]}, 'actions[0].id: got "", wanted an id'),
        ({"actions": [{"id": "x" * 257, "features": FEATURES}]}, "actions[0].id: got 257 characters"),
        ({"actions": [{"id": "a", "features": FEATURES}] * 2}, "actions[1].id: got 'a' again"),
        ({"actions": [{"id": "a", "feature": FEATURES}]}, "unknown key 'feature'; did you mean 'features'?"),
        ({"actions": [{"id": "a", "features": {"a": 1}}]}, 'actions[0].features: got {"a": 1}, wanted a list'),
        ({"actions": [{"id": "a", "features": ["x"]}]}, 'actions[0].features[0]: got "x"'),
        ({"actions": [{"id": "a", "features": [{"b": {"c": ["x"]}}]}]}, 'actions[0].features[0].b.c: got "x" in a'),
        (
            {"actions": [{"id": "a", "features": [{"b": {"c": [-1e60]}}]}]},
            "<body>: actions[0].features[0].b.c: got -1e+60, wanted a number below 3.4e38",
        ),
        (request(excludedAction=["juice"]), "unknown key 'excludedAction'; did you mean 'excludedActions'?"),
        (request(tuple(MEALS)), "excludedActions: got all of the actions"),
        (request((1,)), "excludedActions: got 1, wanted an id"),  # type: ignore[arg-type]
        (request(deferActivation="yes"), 'deferActivation: got "yes", wanted true or false'),
        (request(eventId="x" * 257), "eventId: got 257 characters"),
        (request(eventId=7), "eventId: got 7, wanted an id"),
    ],
)
def test_requests_that_cannot_be_used_are_refused_in_azures_form(
    body: Any, said: str, model: Path, in_service: Any
) -> None:
    async def use(service: Any) -> None:
        found = await ask(service, f"{BASE}/rank", body, 400)
        assert found["error"]["code"] == "InvalidRankRequest"
        assert said in found["error"]["message"], found
        assert service.log.store.rows("SELECT count(*) FROM serve_decisions") == [(0,)]

    in_service([model], use)


@pytest.mark.parametrize("value", [1.5, -1.01, None, "1", True, float("nan")])
def test_rewards_are_numbers_from_minus_one_to_one(value: Any, model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        await ask(service, f"{BASE}/rank", request(eventId="a"))
        found = await reward(service, "a", value, 400)
        assert found["error"]["code"] == "InvalidRewardRequest"
        assert service.first.position == 0

    in_service([model], use)


def test_addresses_versions_and_models(model: Path, in_service: Any) -> None:
    other = model.parent / "drinks"
    Chain.from_config(CONFIG).save(other)
    plain = model.parent / "plain"
    Chain.from_config({"weights": {"bits": 10}, "chain": ["linear"]}).save(plain)

    async def use(service: Any) -> None:
        dated = "api-version=2022-09-01-preview"
        for path in (
            f"{BASE}/rank", "/personalizer/v1.1-preview.3/rank", f"/personalizer/rank?{dated}",
            "/drinks/personalizer/v1.0/rank", f"/drinks/personalizer/rank?{dated}",
        ):  # fmt: skip
            await ask(service, path, request())
        decided = service.log.store.rows("SELECT model, count(*) FROM serve_decisions GROUP BY model")
        assert decided == [(service.models["meals"].key, 3), (service.models["drinks"].key, 2)]
        for path, status, code, said in (
            ("/personalizer/v2.0/rank", 404, "ResourceNotFound", "version: got 'v2.0', wanted one of v1.0"),
            ("/personalizer/rank", 400, "InvalidRankRequest", "api-version: got None"),
            ("/drink/personalizer/v1.0/rank", 404, "ResourceNotFound", "did you mean 'drinks'?"),
            (
                "/plain/personalizer/v1.0/rank",
                400,
                "InvalidRankRequest",
                "'plain' takes labels 'simple', wanted a chain",
            ),
            ("/personalizer/v1.0/ranks", 404, "ResourceNotFound", "/personalizer/{version}/rank"),
            (f"{BASE}/rank?modle=a", 400, "InvalidRankRequest", "unknown query parameter"),
            (
                f"{BASE}/events/none/reward",
                404,
                "ResourceNotFound",
                "eventId: there is no decision 'none' of the model 'meals'",
            ),
            (
                f"{BASE}/events/none/activate",
                404,
                "ResourceNotFound",
                "eventId: there is no decision 'none' of the model 'meals'",
            ),
            (f"{BASE}/events/{'x' * 257}/activate", 400, "InvalidEventIdToActivate", "got 257 characters"),
        ):
            body = {"value": 1} if path.endswith("reward") else request()
            found = await ask(service, path, body, status)
            assert found["error"]["code"] == code and said in found["error"]["message"], (path, found)
        found = await service.client.get(f"{BASE}/rank")
        assert found.status_code == 405 and "wanted POST" in found.json()["error"]["message"]
        assert found.json()["error"]["code"] == "OperationNotAllowed"
        found = await service.client.post(f"{BASE}/rank", content="{}")
        assert found.status_code == 415 and found.json()["error"]["code"] == "BadRequest"
        await ask(service, f"{BASE}/rank", request(eventId="a/b %"))
        await reward(service, "a%2Fb%20%25", 1)
        figures = (await service.client.get("/metrics")).text
        assert 'http_route="/{model}/personalizer/{version}/rank"' in figures and "a%2Fb" not in figures

    in_service([model, other, plain], use)


def test_the_subscription_key_is_the_token(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        key = {"Ocp-Apim-Subscription-Key": "secret"}
        await ask(service, f"{BASE}/rank", request(), **key)
        await ask(service, f"{BASE}/rank", request(), Authorization="Bearer secret")
        for headers in ({"Ocp-Apim-Subscription-Key": "other"}, {"Authorization": "Bearer other"}, {}):
            found = await ask(service, f"{BASE}/rank", request(), 401, **headers)
            assert found["error"]["code"] == "401" and "ocp-apim-subscription-key" in found["error"]["message"]
        found = await ask(service, "/v1/rank", {}, 401, **key)  # Hutch's own requests want its own header
        assert found == {"error": "wanted the header 'Authorization: Bearer TOKEN'"}

    in_service([model], use, token="secret")


def test_the_interface_is_described(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        paths = (await service.client.get("/openapi.json")).json()["paths"]
        ours = {path: each["post"] for path, each in paths.items() if "personalizer" in path and "post" in each}
        assert set(ours) == {f"/personalizer/{{version}}/{each}" for each in
                             (slots + each for slots in ("", "multislot/") for each in
                              ("rank", "events/{eventId}/reward", "events/{eventId}/activate"))}  # fmt: skip
        rank, activate = ours["/personalizer/{version}/rank"], ours["/personalizer/{version}/events/{eventId}/activate"]
        assert "201" in rank["responses"] and "content" not in activate["responses"]["204"]
        parameters = {each["name"]: each for each in activate["parameters"]}
        assert parameters["eventId"]["in"] == "path" and parameters["eventId"]["required"]
        assert parameters["eventId"]["schema"]["maxLength"] == 256

    in_service([model], use)
