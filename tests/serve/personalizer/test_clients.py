"""Microsoft's two clients against a server: what programs written for Personalizer do, with another endpoint."""

import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.research.bandits import personalizer as world

ROOT = Path(__file__).parents[3]
CONFIG = ROOT / "configs" / "personalizer.yaml"
DISHES: dict[str, dict[str, Any]] = {
    "lasagne": {"maker": {"company": "nonna"}, "attributes": {"pieces": 1, "price": 12}, "diet": {"vegan": False}},
    "ribs": {"maker": {"company": "smoke & sons"}, "attributes": {"pieces": 2, "price": 20}, "diet": {"lean": True}},
    "falafel": {"maker": {"company": "chick_pea"}, "attributes": {"pieces": 4, "price": 6}, "diet": {"vegan": True}},
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Of a server."""
    with world.serving(CONFIG) as found:
        yield found


@pytest.fixture
def client(address: str) -> Any:
    """Of version 1.0."""
    return world.client_of(address)


@pytest.fixture
def preview(address: str) -> Any:
    """Of the preview."""
    from azure.ai.personalizer import PersonalizerClient
    from azure.core.credentials import AzureKeyCredential

    with PersonalizerClient(address, AzureKeyCredential("none")) as found:
        yield found


def test_a_loop_of_rank_and_reward(client: Any) -> None:
    from azure.cognitiveservices.personalizer.models import RankableAction, RankRequest

    for k in range(15):
        actions = [RankableAction(id=id, features=[features]) for id, features in DISHES.items()]
        tastes = {"diet": {"vegan", "lean"} if k % 2 else "vegan"}  # the client writes a set as a text
        context = [tastes, {"place": random.choice(["west", "east"])}, {"time_of_day": "noon"}]
        answer = client.rank(rank_request=RankRequest(actions=actions, context_features=context))
        assert answer.reward_action_id == answer.ranking[0].id in DISHES
        assert sum(each.probability for each in answer.ranking) == pytest.approx(1)
        client.events.reward(event_id=answer.event_id, value=float(answer.reward_action_id == "falafel"))


def test_excluded_actions_an_event_id_of_the_caller_and_a_reward_as_text(client: Any) -> None:
    from azure.cognitiveservices.personalizer.models import RankableAction, RankRequest

    actions = [RankableAction(id=id, features=[{"taste": "salty"}, {"rank": k}]) for k, id in enumerate("abc")]
    event = str(uuid.uuid4())
    wanted = RankRequest(actions=actions, context_features=[], excluded_actions=["b"], event_id=event)
    answer = client.rank(wanted)
    assert answer.event_id == event and answer.reward_action_id != "b"
    assert (answer.ranking[1].id, answer.ranking[1].probability) == ("b", 0)
    client.events.reward(event_id=event, value="1.0")
    client.events.activate(event_id=event)


def test_events_that_are_activated_later(client: Any) -> None:
    from azure.cognitiveservices.personalizer.models import RankableAction, RankRequest

    actions = [RankableAction(id=id, features=[{"a": 1}]) for id in "ab"]
    event = client.rank(RankRequest(actions=actions, context_features=[{"u": 1}], defer_activation=True)).event_id
    client.events.reward(event_id=event, value=1)
    client.events.activate(event_id=event)


def test_errors_are_those_of_the_client(client: Any) -> None:
    from azure.cognitiveservices.personalizer.models import ErrorResponseException, RankableAction, RankRequest
    from msrest.exceptions import HttpOperationError

    twice = [RankableAction(id="a", features=[{"a": 1}])] * 2
    with pytest.raises(ErrorResponseException, match=r"actions\[1\].id: got 'a' again") as caught:
        client.rank(RankRequest(actions=twice, context_features=[]))
    assert caught.value.error.error.code == "InvalidRankRequest" and caught.value.response.status_code == 400
    with pytest.raises(HttpOperationError) as refused:
        client.events.reward(event_id="never", value=1.0)
    assert refused.value.response.status_code == 404


def test_the_client_of_the_preview(preview: Any) -> None:
    from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

    actions = [
        {"id": "film", "features": [{"kind": "film", "minutes": 120}, {"age": "40-45"}]},
        {"id": "talk", "features": [{"kind": "talk", "minutes": 35}, {"age": "50-55"}]},
    ]
    context = [{"now": {"day": "tuesday"}}, {"person": {"pays": True, "hours": 0.12}}]
    answer = preview.rank({"actions": actions, "contextFeatures": context})
    assert {each["id"] for each in answer["ranking"]} == {"film", "talk"}
    preview.reward(answer["eventId"], {"value": 1.0})
    preview.activate(answer["eventId"])
    alone = preview.rank({"actions": actions[:1]})
    assert alone["ranking"] == [{"id": "film", "probability": 1.0}] and alone["rewardActionId"] == "film"
    with pytest.raises(HttpResponseError, match="InvalidRankRequest"):
        preview.rank({"actions": []})
    with pytest.raises(ResourceNotFoundError, match="no decision 'never'"):
        preview.activate("never")


def test_several_slots(preview: Any) -> None:
    from azure.core.exceptions import HttpResponseError

    slots = [
        {"id": "Top Story", "baselineAction": "news", "features": [{"Size": "Large"}], "excludedActions": ["films"]},
        {"id": "Side", "baselineAction": "sports", "features": [{"Size": "Small"}]},
    ]
    actions = [{"id": id, "features": [{"type": id}]} for id in ("news", "sports", "films")]
    context = [{"User": {"ProfileType": "Anonymous"}}, {"Device": {"Mobile": True}}, {"Recent": {"InCart": 3}}]
    answer = preview.rank_multi_slot({"slots": slots, "actions": actions, "contextFeatures": context})
    chosen = [each["rewardActionId"] for each in answer["slots"]]
    assert [each["id"] for each in answer["slots"]] == ["Top Story", "Side"]
    assert len(set(chosen)) == 2 and chosen[0] != "films"
    preview.reward_multi_slot(answer["eventId"], {"reward": [{"slotId": "Top Story", "value": 1.0}]})
    preview.activate_multi_slot(answer["eventId"])
    with pytest.raises(HttpResponseError, match="did you mean 'Side'"):
        preview.reward_multi_slot(answer["eventId"], {"reward": [{"slotId": "side", "value": 1.0}]})


def test_the_key_of_the_client_is_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    from azure.ai.personalizer import PersonalizerClient
    from azure.core.credentials import AzureKeyCredential
    from azure.core.exceptions import ClientAuthenticationError

    monkeypatch.setenv("HUTCH_TOKEN", "0123456789abcdef")
    with world.serving(CONFIG) as address:
        wanted = {"actions": [{"id": "a", "features": [{"a": 1}]}]}
        with PersonalizerClient(address, AzureKeyCredential("0123456789abcdef")) as client:
            assert client.rank(wanted)["rewardActionId"] == "a"
        with PersonalizerClient(address, AzureKeyCredential("other")) as client:
            with pytest.raises(ClientAuthenticationError, match="401"):
                client.rank(wanted)


@pytest.mark.slow
def test_a_caller_whose_world_is_known_comes_near_the_best_choices() -> None:
    with world.serving(CONFIG) as address:
        found = world.regrets(world.client_of(address), 400, seed=5)
    uniform, first = world.beside(400)
    assert sum(found) < 0.85 * min(uniform, first)
    assert sum(found[-100:]) < 0.5 * min(uniform, first) / 4  # the last quarter
