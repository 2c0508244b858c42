"""A learning loop: the apprentice shows what the caller would, settings, statistics, calls without a counterpart."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch import Chain
from hutch.durable.choices import Default
from hutch.serve.decisions import learn_defaults
from hutch.serve.personalizer.refused import REFUSED

JSON = "application/json"
BASE = "/personalizer/v1.1-preview.3"
SERVICE = f"{BASE}/configurations/service"
LINEAR = {"linear": {"interactions": [[":", ":"]]}}
CONFIG = {
    "weights": {"bits": 14},
    "chain": [{"explore_epsilon": {"epsilon": 0.1}}, "contextual_bandit", "cost_sensitive_with_features", LINEAR],
}
NAMES = ("a", "b", "c")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A new model."""
    Chain.from_config(CONFIG).save(tmp_path / "loop")
    return tmp_path / "loop"


async def ask(service: Any, method: str, path: str, body: Any = None, status: int = 200) -> Any:
    """The answer to a request, which must have this status."""
    content = "" if body is None else json.dumps(body)
    found = await service.client.request(method, path, content=content, headers={"content-type": JSON})
    assert found.status_code == status, found.text
    return found.json() if found.content else None


async def event(service: Any, id: str, user: str = "u", first: str = "a", excluded: tuple[str, ...] = ()) -> Any:
    """The answer to a rank request in which the caller would choose `first`."""
    names = [first, *(name for name in NAMES if name != first)]
    actions = [{"id": name, "features": [{"name": name}]} for name in names]
    body = {"contextFeatures": [{"user": user}], "actions": actions, "eventId": id, "excludedActions": excluded}
    return await ask(service, "POST", f"{BASE}/rank", body, 201)


async def reward(service: Any, id: str, value: float) -> None:
    """Tell the reward of an event."""
    await ask(service, "POST", f"{BASE}/events/{id}/reward", {"value": value}, 204)


async def statistics(service: Any) -> Any:
    """How the loop goes."""
    return await ask(service, "GET", "/v1/loop")


def test_an_apprentice_shows_the_callers_own_choice_and_learns_its_rewards(model: Path, in_service: Any) -> None:
    good = {"u": "a", "v": "b"}

    async def use(service: Any) -> None:
        found = await ask(service, "PUT", SERVICE, {"learningMode": "Apprentice"})
        assert (found["learningMode"], found["explorationPercentage"]) == ("Apprentice", 0.0)
        for k in range(120):
            user = "uv"[k % 2]
            answer = await event(service, f"e{k}", user, good[user], excluded=("c",))
            assert answer["rewardActionId"] == good[user]
            assert answer["ranking"][0] == {"id": good[user], "probability": 1.0}
            await reward(service, f"e{k}", 1)
        answer = await event(service, "last", "u", "c", excluded=("c",))  # the first that is not excluded
        assert answer["rewardActionId"] == "a"
        found = await statistics(service)
        assert (found["events"], found["learned"], found["mean_reward"]) == (121, 120, 1.0)
        compared = found["apprentice"]
        assert (compared["events"], compared["share"], compared["better_since"]) == (120, 0.0, None)
        assert 0.6 < compared["agreement"] < 0.95 and "advantage" not in compared
        assert "cannot be known" in compared["said"]

    in_service([model], use)

    async def again(service: Any) -> None:  # over a restart it stays an apprentice, until it is told otherwise
        for k in range(10):
            assert (await event(service, f"x{k}", "u", "b"))["rewardActionId"] == "b"
        assert (await ask(service, "PUT", SERVICE, {"learningMode": "Online"}))["explorationPercentage"] == 0.1
        answer = await event(service, "y", "u", "b")
        shares = {each["id"]: each["probability"] for each in answer["ranking"]}
        assert max(shares, key=lambda name: shares[name]) == "a" and 0.9 < shares["a"] < 1
        assert (await statistics(service))["learningMode"] == "Online"

    in_service([model], again)


@pytest.mark.slow
def test_an_apprentice_that_draws_says_when_it_is_better_than_the_caller(
    tmp_path: Path, in_service: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    Chain.from_config(Path(__file__).parents[3] / "configs" / "personalizer.yaml").save(tmp_path / "loop")
    draw = random.Random(8)

    async def use(service: Any) -> None:
        await ask(service, "PUT", SERVICE, {"learningMode": "Apprentice", "explorationPercentage": 0.25})
        shown, wanted = 0, {"u": "a", "v": "b"}
        for k in range(700):
            user = draw.choice("uv")
            answer = await event(service, f"e{k}", user, "a")
            shown += answer["rewardActionId"] == "a"
            await reward(
                service, f"e{k}", float(draw.random() < (0.9 if answer["rewardActionId"] == wanted[user] else 0.1))
            )
        assert 0.8 < shown / 700 < 0.95  # of the quarter that the model draws, half is the caller's choice
        compared = (await statistics(service))["apprentice"]
        low, high = compared["advantage_interval"]
        assert 0 < low < compared["advantage"] < high and 0.2 < compared["advantage"] < 0.5  # 0.4 once it has learned
        assert compared["caller_reward"] == pytest.approx(0.5, abs=0.1)
        assert compared["better_since"] and "found to be better than the caller" in compared["said"]
        await ask(service, "PUT", SERVICE, {"learningMode": "Apprentice", "explorationPercentage": 0.5})
        assert "apprentice" not in await statistics(service)  # a comparison of its own

    in_service([tmp_path / "loop"], use)
    said = [line for line in capfd.readouterr().err.splitlines() if "found to be better than the caller" in line]
    assert len(said) == 1 and said[0].startswith("loop: the model was found to be better")


def test_the_log_has_the_probability_with_which_an_apprentice_shows_an_action(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        await ask(service, "PUT", SERVICE, {"learningMode": "Apprentice", "explorationPercentage": 0.5})
        for k in range(30):
            answer = await event(service, f"e{k}", "u", "b")
            shares = {each["id"]: each["probability"] for each in answer["ranking"]}
            np.testing.assert_allclose(sum(shares.values()), 1, rtol=1e-6)
            assert shares["b"] > 0.5 > shares["a"] + shares["c"] and min(shares.values()) > 0
            await reward(service, f"e{k}", 0.5)
        rows = service.log.store.rows("SELECT probability, answer FROM serve_decisions")
        for probability, answer in rows:
            told = json.loads(answer)
            assert probability == told["probabilities"][told["action"]]

    in_service([model], use)


def test_defaults_count_in_the_comparison_and_what_is_forgotten_does_not(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        clock = [100.0]
        service.log.now = lambda: clock[0]
        service.first.default = Default(10, -0.25)
        await ask(service, "PUT", SERVICE, {"learningMode": "Apprentice"})
        await event(service, "a")
        clock[0] = 120.0
        assert await learn_defaults(service.first) == 1
        found = await statistics(service)
        assert found["apprentice"]["events"] == 1 and found["mean_reward"] == 0.25
        service.first.default = None
        await event(service, "b")
        clock[0] = 1000.0
        await service.first.save()
        assert service.log.store.rows("SELECT count(*) FROM serve_beside") == [(0,)]

    in_service([model], use, remember=50)


def test_slots_of_an_apprentice_have_their_own_baselines(model: Path, in_service: Any) -> None:
    slots = [{"id": "top", "baselineAction": "c"}, {"id": "side", "baselineAction": "a"}]
    body = {"actions": [{"id": name, "features": [{"name": name}]} for name in NAMES], "slots": slots}

    async def use(service: Any) -> None:
        await ask(service, "PUT", SERVICE, {"learningMode": "Apprentice"})
        for _ in range(10):
            found = await ask(service, "POST", f"{BASE}/multislot/rank", body, 201)
            assert [each["rewardActionId"] for each in found["slots"]] == ["c", "a"]
        await ask(service, "PUT", SERVICE, {"learningMode": "Apprentice", "explorationPercentage": 0.75})
        seen = set()
        for _ in range(60):
            found = await ask(service, "POST", f"{BASE}/multislot/rank", body, 201)
            seen.add(tuple(each["rewardActionId"] for each in found["slots"]))
        assert all(top != side for top, side in seen) and {top for top, _ in seen} == set(NAMES)

    in_service([model], use)


def test_settings_are_told_and_those_that_cannot_be_changed_are_refused_with_a_way(
    model: Path, in_service: Any
) -> None:
    async def use(service: Any) -> None:
        found = await ask(service, "GET", SERVICE)
        assert found["rewardWaitTime"] is None is found["defaultReward"] and found["logRetentionDays"] == -1
        assert found["learningMode"] == "Online" and found["explorationPercentage"] == 0.1
        service.first.default = Default(14400, -0.5)
        found = await ask(service, "GET", SERVICE)
        assert (found["rewardWaitTime"], found["defaultReward"]) == ("PT14400S", 0.5)
        same = {**found, "rewardWaitTime": "PT4H", "autoOptimizationFrequency": "P7D"}
        assert await ask(service, "PUT", SERVICE, same) == found
        for name, value, said in (
            (
                "rewardWaitTime",
                "PT10M",
                'got "PT10M", but it is "PT14400S"; start the server with --reward-wait SECONDS',
            ),
            ("rewardWaitTime", "4 h", 'got "4 h"'),
            ("defaultReward", 0, "but it is 0.5; start the server with --default-reward X"),
            ("rewardAggregation", "sum", "add rewards up before you send them"),
            ("explorationPercentage", 0.2, "but it is 0.1; the chain decides how it explores"),
            ("modelExportFrequency", "PT5M", "learns each reward at once"),
            ("logRetentionDays", 7, "start the server with --remember DAYS"),
            ("isAutoOptimizationEnabled", True, "hutch evaluate compares chains"),
            ("learningMode", "LoggingOnly", 'got "LoggingOnly", wanted Online or Apprentice'),
            ("learningmode", "Online", "did you mean 'learningMode'?"),
        ):
            refused = await ask(service, "PUT", SERVICE, {**found, name: value}, 400)
            assert refused["error"]["code"] == "InvalidServiceConfiguration"
            assert name in refused["error"]["message"] and said in refused["error"]["message"], refused
        for share in (1, -0.1, "0.1", True):
            body = {"learningMode": "Apprentice", "explorationPercentage": share}
            assert "explorationPercentage: got" in (await ask(service, "PUT", SERVICE, body, 400))["error"]["message"]
        assert (await ask(service, "GET", SERVICE)) == found

    in_service([model], use)


def test_model_properties_and_calls_without_a_counterpart(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        found = await ask(service, "GET", f"{BASE}/model/properties")
        assert found["creationTime"].endswith("Z") and found["lastModifiedTime"].endswith("Z")
        assert sum(len(methods.split()) for methods, _ in REFUSED.values()) > 15
        for path, (methods, instead) in REFUSED.items():
            for method in methods.split():
                at = path.replace("{evaluationId}", "e").replace("{featureImportanceId}", "f")
                refused = (await ask(service, method, f"{BASE}{at}", None, 501))["error"]
                assert refused["code"] == "OperationNotAllowed" and instead in refused["message"]
                assert path.removeprefix("/") in refused["message"]
        assert (await ask(service, "GET", "/v1/loop?model=lop", None, 404))["error"].endswith("did you mean 'loop'?")

    in_service([model], use)
