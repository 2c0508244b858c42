"""Several slots: a decision for each, none with an action of another, learned as the chain learns them one by one."""

import asyncio
import json
import random
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch import Chain
from hutch.durable.choices import Default
from hutch.serve.decisions import learn_defaults
from hutch.serve.personalizer.slots import Slot, name_of, possible, slots_request

ROOT = Path(__file__).parents[3]
BASE = "/personalizer/v1.1-preview.1/multislot"
LINEAR = {"linear": {"interactions": [[":", ":"]]}}
CONFIG = {
    "weights": {"bits": 14},
    "chain": ["explore_squarecb", "contextual_bandit", "cost_sensitive_with_features", LINEAR],
}
ARTICLES = {"news": {"kind": "News"}, "sports": {"kind": "Sports"}, "films": {"kind": "Films"}}
PLACES = {"main": [{"size": "large"}], "side bar": [{"size": "small", "box": {"left": True}}]}
CONTEXT = [{"person": {"pays": True}}]


def request(*excluded: tuple[str, ...], **others: Any) -> dict[str, Any]:
    """A request for two slots, with the actions excluded from each."""
    slots = [
        {"id": id, "features": features, "baselineAction": baseline, "excludedActions": list(without)}
        for (id, features), baseline, without in zip(
            PLACES.items(), ("news", "sports"), (*excluded, (), ())[:2], strict=True
        )
    ]
    actions = [{"id": id, "features": [features]} for id, features in ARTICLES.items()]
    return {"contextFeatures": CONTEXT, "actions": actions, "slots": slots, **others}


def log_line(slot: str, among: list[str], chosen: str, value: float, probability: float) -> str:
    """The decision of a slot in the form of a log."""
    place = among.index(chosen)
    label = {"_label_cost": -value, "_label_probability": probability, "_label_Action": place + 1, "_labelIndex": place}
    multi = [{"_tag": id, "i": {"constant": 1, "id": id}, "j": [ARTICLES[id]]} for id in among]
    features = {"FromUrl": CONTEXT, "slot": [{"id": slot}, *PLACES[slot]], "_multi": multi}
    return json.dumps({**label, "a": list(range(1, len(among) + 1)), "c": features}) + "\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A new model."""
    Chain.from_config(CONFIG).save(tmp_path / "page")
    return tmp_path / "page"


async def ask(service: Any, path: str, body: Any = None, status: int = 201) -> Any:
    """The answer to a request, which must have this status."""
    content = "" if body is None else json.dumps(body)
    found = await service.client.post(f"{BASE}/{path}", content=content, headers={"content-type": "application/json"})
    assert found.status_code == status, found.text
    return found.json() if found.content else None


async def reward(service: Any, event: str, status: int = 204, **values: Any) -> Any:
    """Tell the rewards of slots."""
    told = [{"slotId": slot.replace("_", " "), "value": value} for slot, value in values.items()]
    return await ask(service, f"events/{event}/reward", {"reward": told}, status)


def test_each_slot_is_drawn_and_learned_as_a_decision_of_its_own(model: Path, tmp_path: Path, in_service: Any) -> None:
    twin, log = Chain.load(model), tmp_path / "one.dsjson"

    async def use(service: Any) -> None:
        seen = set()
        for k in range(30):
            found = await ask(service, "rank", request(eventId=f"e{k}"))
            assert found["eventId"] == f"e{k}" and [each["id"] for each in found["slots"]] == list(PLACES)
            main, side = (each["rewardActionId"] for each in found["slots"])
            seen.add((main, side))
            rows = service.log.store.rows(
                "SELECT probability FROM serve_decisions WHERE id IN (?, ?) ORDER BY rowid",
                [name_of(f"e{k}", slot) for slot in PLACES],
            )
            lines, values = [], {"main": 0.5, "side bar": float(k % 2)}
            for (slot, chosen, among), [share] in zip(
                (("main", main, list(ARTICLES)), ("side bar", side, [id for id in ARTICLES if id != main])),
                rows,
                strict=True,
            ):
                log.write_text(log_line(slot, among, chosen, values[slot], share))
                assert share == pytest.approx(float(twin.predict(log)[among.index(chosen)]), rel=1e-6)
                lines.append(log.read_text())
            await reward(service, f"e{k}", main=0.5, side_bar=k % 2)
            for line in lines:
                log.write_text(line)
                twin.learn(log)
            assert service.first.chain.weights.tobytes() == twin.weights.tobytes()
        assert all(main != side for main, side in seen) and len(seen) > 1  # the draws depend on the log

    in_service([model], use)


def test_a_slot_leaves_the_others_an_action(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        for _ in range(20):
            found = await ask(service, "rank", request(("sports", "films"), ("films",)))
            assert [each["rewardActionId"] for each in found["slots"]] == ["news", "sports"]
            found = await ask(service, "rank", request((), ("films", "news")))  # main must not take sports
            assert found["slots"][1]["rewardActionId"] == "sports"

    in_service([model], use)


def test_which_actions_are_possible_agrees_with_all_assignments() -> None:
    draw = random.Random(3)
    for _ in range(300):
        actions, count = draw.randrange(1, 6), draw.randrange(1, 5)
        slots = [Slot(str(k), frozenset(a for a in range(actions) if draw.random() < 0.5), 0) for k in range(count)]
        used = frozenset(a for a in range(actions) if draw.random() < 0.2)
        whole = [
            each
            for each in permutations(range(actions), count)
            if all(a in slot.allowed - used for a, slot in zip(each, slots, strict=True))
        ]
        assert possible(slots, used) == sorted({each[0] for each in whole})


def test_the_same_event_gets_the_same_actions_also_at_once_and_over_a_restart(model: Path, in_service: Any) -> None:
    first: list[Any] = []

    async def use(service: Any) -> None:
        found = await asyncio.gather(*(ask(service, "rank", request(eventId="a")) for _ in range(5)))
        assert all(each == found[0] for each in found)
        assert service.log.store.rows("SELECT count(*) FROM serve_decisions") == [(2,)]
        await reward(service, "a", main=1)
        for k in range(10):
            await ask(service, "rank", request(eventId=f"b{k}"))
            await reward(service, f"b{k}", main=-1, side_bar=1)
        first.append(found[0])
        assert await ask(service, "rank", request(eventId="a")) == found[0]

    async def again(service: Any) -> None:
        assert await ask(service, "rank", request(eventId="a")) == first[0]
        for body in (request(("films",), eventId="a"), {**request(eventId="a"), "contextFeatures": []}):
            assert "another body" in (await ask(service, "rank", body, 409))["error"]["message"]
        found = await ask(service, "rank", request(eventId="a", deferActivation=True), 409)
        assert "eventId: got 'a' deferred, and before not" in found["error"]["message"]
        one = {**request(eventId="a"), "slots": request()["slots"][:1]}
        assert "other slots" in (await ask(service, "rank", one, 409))["error"]["message"]

    in_service([model], use)
    in_service([model], again)


def learned(service: Any) -> dict[str, float]:
    """What was learned, by slot and event."""
    rows = service.log.store.rows("SELECT id, cost FROM serve_decisions WHERE number IS NOT NULL")
    return {" ".join(json.loads(id)): -cost for id, cost in rows}


def test_rewards_defaults_and_activation_are_those_of_slots(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        clock = [100.0]
        service.log.now = lambda: clock[0]
        service.first.default = Default(10, -0.125)
        await ask(service, "rank", request(eventId="now"))
        await ask(service, "rank", request(eventId="later", deferActivation=True))
        await ask(service, "rank", request(eventId="never", deferActivation=True))
        await reward(service, "now", main=1)
        await reward(service, "now", main=0.5)
        for event in ("later", "never"):
            await reward(service, event, side_bar=0.75)
        assert learned(service) == {"now main": 1.0}
        await ask(service, "events/later/activate", None, 204)
        assert learned(service) == {"now main": 1.0, "later side bar": 0.75}
        clock[0] = 111.0
        assert await learn_defaults(service.first) == 2
        both = {"now main": 1.0, "now side bar": 0.125, "later main": 0.125, "later side bar": 0.75}
        assert learned(service) == both
        await ask(service, "events/never/activate", None, 204)
        assert learned(service) == both

    in_service([model], use)


def test_rewards_of_an_event_count_together_or_not_at_all(model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        await ask(service, "rank", request(eventId="a"))
        for told, said in (
            ([{"slotId": "main", "value": 1}, {"slotId": "mian", "value": 1}], "got 'mian'; did you mean 'main'?"),
            ([{"slotId": "main", "value": 1}, {"slotId": "side bar", "value": 2}], "reward[1].value: got 2"),
            ([{"slotId": "main", "value": 1}, {"slotId": "side bar"}], "reward[1].value: got null"),
            ([], "reward: got none"),
        ):
            found = await ask(service, "events/a/reward", {"reward": told}, 400)
            assert found["error"]["code"] == "InvalidRewardRequest" and said in found["error"]["message"]
            assert learned(service) == {}
        for path in ("events/b/reward", "events/b/activate"):
            found = await ask(service, path, {"reward": [{"slotId": "main", "value": 1}]}, 404)
            assert "there is no event 'b' with slots of the model 'page'" in found["error"]["message"]

    in_service([model], use)


SLOT = {"id": "main", "baselineAction": "news"}


@pytest.mark.parametrize(
    ("slots", "said"),
    [
        (None, "slots: got null, wanted a list"),
        ([], "slots: got none"),
        ([{"id": "main"}], "slots[0].baselineAction: got null"),
        ([{"id": "main", "baselineAction": "new"}], "slots[0].baselineAction: got \"new\"; did you mean 'news'?"),
        ([{**SLOT, "excludedActions": ["news"]}], "baselineAction: got 'news', an excluded action"),
        ([SLOT, {**SLOT, "id": "side"}], "slots[1].baselineAction: got 'news', that of another slot"),
        ([SLOT, {**SLOT, "baselineAction": "films"}], "slots[1].id: got 'main' again"),
        ([{**SLOT, "feature": []}], "unknown key 'feature'; did you mean 'features'?"),
        ([{**SLOT, "features": [{"a": ["b"]}]}], 'slots[0].features[0].a: got "b" in a list'),
    ],
)
def test_slots_that_cannot_be_used_are_refused(slots: Any, said: str, model: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        found = await ask(service, "rank", {**request(), "slots": slots}, 400)
        assert found["error"]["code"] == "InvalidRankRequest" and said in found["error"]["message"], found

    in_service([model], use)


def test_a_baseline_for_each_slot_means_that_there_are_enough_actions() -> None:
    """So no request that is let in leaves a slot without an action."""
    draw = random.Random(5)
    for _ in range(100):
        actions = [f"a{k}" for k in range(draw.randrange(1, 6))]
        slots = []
        for baseline in draw.sample(actions, draw.randrange(1, len(actions) + 1)):
            excluded = [each for each in actions if each != baseline and draw.random() < 0.6]
            slots.append({"id": baseline, "baselineAction": baseline, "excludedActions": excluded})
        body = {"actions": [{"id": id, "features": []} for id in actions], "slots": slots}
        found, used = slots_request(json.dumps(body).encode()), frozenset()
        for k in range(len(slots)):
            among = possible(found.slots[k:], used)
            assert among
            used |= {draw.choice(among)}


@pytest.mark.slow
def test_places_are_learned(tmp_path: Path, in_service: Any) -> None:
    """News are clicked in the main place, films in the side bar: by chance 0.67 clicks an event."""
    Chain.from_config(ROOT / "configs" / "personalizer.yaml").save(tmp_path / "loop")
    good = {("main", "news"), ("side bar", "films")}

    async def use(service: Any) -> None:
        clicks = []
        for k in range(200):
            found = await ask(service, "rank", request(eventId=f"e{k}"))
            values = [float((each["id"], each["rewardActionId"]) in good) for each in found["slots"]]
            await reward(service, f"e{k}", main=values[0], side_bar=values[1])
            clicks.append(sum(values))
        assert np.mean(clicks[-50:]) > 1.5

    in_service([tmp_path / "loop"], use)
