"""Decisions over HTTP: drawn with the chain's probabilities, learned once with those of the draw."""

import asyncio
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hutch import Chain
from hutch.core.batch import shared_rows
from hutch.core.chain.reduction import Labels, Predictions
from hutch.durable import choices
from hutch.durable.choices import Choice, Default, draw
from hutch.serve.bodies import TEXT as PLAIN
from hutch.serve.bodies import batches_of, with_choice
from hutch.serve.decisions import _decide, learn_defaults

JSON = "application/json"
BASE = {"linear": {"interactions": [["user", "article"]]}}
ADF = ["contextual_bandit", "cost_sensitive_with_features", BASE]
CONFIG = {"weights": {"bits": 12}, "chain": ["explore_squarecb", *ADF]}
GREEDY = {"weights": {"bits": 12}, "chain": ADF}
CLASSES = {"weights": {"bits": 12}, "chain": [{"action_per_class": {"classes": 3}}, "explore_epsilon", *ADF]}
DECISION = {"shared": {"user": ["ann"]}, "actions": [{"article": [name]} for name in ("food", "sports", "music")]}
TEXT = "shared |user ann\n|article food\n|article sports\n|article music\n"
LOG = [{**DECISION, "chosen": k % 3, "cost": float(k % 3 != 1), "probability": 1 / 3} for k in range(30)]


@pytest.fixture
def bandit(tmp_path: Path) -> Path:
    """A model that has learned from a few decisions."""
    chain = Chain.from_config(CONFIG)
    chain.learn(LOG)
    chain.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize(("body", "kind"), [(json.dumps(DECISION), JSON), (TEXT, "text/plain")], ids=["json", "text"])
def test_ranked_rewarded_and_learned_as_the_chain_does(bandit: Path, body: str, kind: str, in_service: Any) -> None:
    twin = Chain.load(bandit)

    async def use(service: Any) -> None:
        for k in range(60):
            ranked = (await service.post(f"/v1/rank?id=d{k}", body, kind)).json()
            shares = twin.predict([DECISION])
            np.testing.assert_allclose(ranked["probabilities"], shares, rtol=1e-6)
            action = ranked["action"]
            assert ranked["probability"] == ranked["probabilities"][action] > 0
            assert ranked["ranked"][0] == shares.argmax() and sorted(ranked["ranked"]) == [0, 1, 2]
            if k % 3:
                continue  # its reward never comes
            cost = float(action != 2)
            done = await service.post("/v1/reward", json.dumps({"id": ranked["id"], "reward": -cost}), JSON)
            assert done.json() == {"model": "model", "position": k // 3 + 1, "new": 1, "repeated": 0}
            twin.learn([{**DECISION, "chosen": action, "cost": cost, "probability": ranked["probability"]}])
            assert service.first.chain.weights.tobytes() == twin.weights.tobytes()

    in_service([bandit], use)


@pytest.mark.parametrize("name", ["explore_epsilon", "explore_softmax"])
def test_actions_are_drawn_with_their_probabilities(name: str, tmp_path: Path, in_service: Any) -> None:
    explores = {name: {"epsilon": 0.6}}
    Chain.from_config({**CONFIG, "chain": [explores, *ADF]}).save(tmp_path / "model")
    drawn = np.zeros(3)

    async def use(service: Any) -> None:
        for _ in range(300):
            ranked = (await service.post("/v1/rank", TEXT)).json()
            drawn[ranked["action"]] += 1
        shares = np.array(ranked["probabilities"])
        assert (abs(drawn - 300 * shares) < 6 * np.sqrt(300 * shares * (1 - shares))).all()

    in_service([tmp_path / "model"], use)


def test_rewards_late_repeated_and_unknown(bandit: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        async def reward(*found: Any) -> Any:
            return await service.post("/v1/reward", json.dumps(list(found) if len(found) > 1 else found[0]), JSON)

        examples = service.first.chain.statistics.examples
        first = (await service.post("/v1/rank?id=a", TEXT)).json()
        for _ in range(5):  # the model moves on before the reward comes
            await service.post("/v1/learn", json.dumps(LOG), JSON)
        again = (await service.post("/v1/rank?id=a", TEXT)).json()
        assert again == first | {"repeated": True}
        assert (await service.post("/v1/rank?id=a", TEXT + "|article more\n")).status_code == 409
        await service.post("/v1/rank?id=b", TEXT)
        assert (await reward({"id": "a", "cost": 1})).json() == {
            "model": "model",
            "position": 6,
            "new": 1,
            "repeated": 0,
        }
        late = await reward({"id": "a", "cost": 1.0}, {"id": "b", "cost": 0})
        assert late.json() == {"model": "model", "position": 7, "new": 1, "repeated": 1}
        other = await reward({"id": "a", "cost": 2})
        assert other.status_code == 422 and "got 2.0 for decision 'a', but it was 1.0 before" in other.json()["error"]
        other = await reward({"id": "a", "reward": 2})
        assert other.json()["error"] == "<body>:1: reward: got 2.0 for decision 'a', but it was -1.0 before"
        await service.post("/v1/rank?id=cc", TEXT)
        unknown = await reward({"id": "cc", "cost": 0}, {"id": "ccc", "cost": 0})
        assert unknown.status_code == 422
        assert unknown.json()["error"] == (
            "<body>:2: id: there is no decision 'ccc' of the model 'model'; did you mean 'cc'?"
        )
        assert (await reward({"id": "cc", "cost": 0})).json()["new"] == 1  # all of a list or nothing
        assert service.first.chain.statistics.examples == examples + 150 + 3
        [[probability]] = service.log.store.rows("SELECT probability FROM serve_decisions WHERE id = 'a'")
        assert probability == first["probability"]

    in_service([bandit], use)


def test_without_a_reward_the_default_is_learned_once(bandit: Path, in_service: Any, tmp_path: Path) -> None:
    twin = Chain.load(bandit)

    async def use(service: Any) -> None:
        async def reward(*found: Any) -> Any:
            return (await service.post("/v1/reward", json.dumps(list(found)), JSON)).json()

        served, clock = service.first, [100.0]
        service.log.now = lambda: clock[0]
        served.default = Default(10, 0.75)
        ranked = {}
        for k in range(5):
            clock[0] = 100.0 + k
            ranked[k] = (await service.post(f"/v1/rank?id=d{k}", TEXT)).json()
        assert (await reward({"id": "d1", "cost": 0}))["new"] == 1
        clock[0] = 112.0
        assert await learn_defaults(served) == 2  # d0 and d2; d3 is not due
        assert await learn_defaults(served) == 0
        late = await reward({"id": "d0", "cost": 1}, {"id": "d2", "cost": 0.75}, {"id": "d3", "cost": 1})
        assert (late["new"], late["repeated"], late["late"]) == (1, 1, 1)
        alone = await reward({"id": "d0", "cost": 1})
        assert (alone["position"], alone["late"]) == (service.first.position, 1)
        clock[0] = 1000.0
        assert await learn_defaults(served) == 1 and served.position == 5
        for k, cost in ((1, 0), (0, 0.75), (2, 0.75), (3, 1), (4, 0.75)):
            label = {"chosen": ranked[k]["action"], "cost": cost, "probability": ranked[k]["probability"]}
            twin.learn([{**DECISION, **label}])
        assert served.chain.weights.tobytes() == twin.weights.tobytes()

    in_service([bandit], use)

    async def again(service: Any) -> None:
        service.first.default = Default(10, 0.75)
        service.log.now = lambda: 5000.0
        assert await learn_defaults(service.first) == 0  # after a restart, too
        assert service.first.chain.weights.tobytes() == twin.weights.tobytes()

    in_service([bandit], again)


def test_the_nearest_of_the_newest_decisions_is_named(
    bandit: Path, in_service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choices, "NEIGHBOURS", 2)

    async def use(service: Any) -> None:
        for id in ("visit-70", "other", "visit-99"):
            await service.post(f"/v1/rank?id={id}", json.dumps(DECISION), JSON)
        found = await service.post("/v1/reward", '{"id": "visit-7", "cost": 1}', JSON)
        assert found.json()["error"].endswith("did you mean 'visit-99'?")

    in_service([bandit], use)


def test_after_a_crash_the_log_gives_the_same_model(bandit: Path, in_service: Any) -> None:
    left: list[bytes] = []

    async def use(service: Any) -> None:
        await service.first.drain()
        if left:
            assert service.first.chain.weights.tobytes() == left[0]
            repeated = await service.post("/v1/reward", '{"id": "d3", "cost": 0.5}', JSON)
            assert repeated.json()["repeated"] == 1
            return
        for k in range(9):
            await service.post(
                f"/v1/rank?id=d{k}", TEXT if k % 2 else json.dumps(DECISION), "text/plain" if k % 2 else JSON
            )
            if k % 3 == 0:
                await service.post("/v1/reward", json.dumps({"id": f"d{k}", "cost": 0.5}), JSON)
        left.append(service.first.chain.weights.tobytes())

    in_service([bandit], use)
    in_service([bandit], use)


def test_old_ids_are_forgotten(bandit: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        for id in "ab":
            await service.post(f"/v1/rank?id={id}", TEXT)
        assert (await service.post("/v1/learn", json.dumps(LOG), JSON, **{"idempotency-key": "k"})).status_code == 200
        await service.post("/v1/reward", '{"id": "b", "cost": 1}', JSON)
        assert await service.first.save()
        service.log._remember = -60.0
        assert (await service.post("/v1/reward", '{"id": "b", "cost": 1}', JSON)).json()["repeated"] == 1
        await service.post("/v1/rank?id=c", TEXT)
        await service.post("/v1/reward", '{"id": "c", "cost": 1}', JSON)
        await asyncio.to_thread(service.log.saved, service.first.key, service.first.saved)
        rows = service.log.store.rows
        assert rows("SELECT id FROM serve_decisions") == [("c",)]  # the log still needs it
        assert rows("SELECT id FROM serve_ids") == []
        assert (await service.post("/v1/reward", '{"id": "b", "cost": 1}', JSON)).status_code == 422

    in_service([bandit], use)


def test_greedy_chains_and_classes(tmp_path: Path, in_service: Any) -> None:
    for name, config in {"greedy": GREEDY, "classes": CLASSES}.items():
        Chain.from_config(config).save(tmp_path / name)
    twin = Chain.from_config(CLASSES)

    async def use(service: Any) -> None:
        ranked = (await service.post("/v1/rank?model=greedy", TEXT)).json()
        assert ranked["probabilities"] == [1, 0, 0] and ranked["probability"] == 1
        for k in range(30):
            ranked = (await service.post(f"/v1/rank?model=classes&id={k}", "|user ann x:2")).json()
            assert sorted(ranked["ranked"]) == [1, 2, 3]
            assert ranked["probability"] == ranked["probabilities"][ranked["action"] - 1]
            cost = ranked["action"] / 4
            await service.post("/v1/reward?model=classes", json.dumps({"id": str(k), "cost": cost}), JSON)
            record = {"user": {"ann": 1, "x": 2}, "label": {"class": ranked["action"], "cost": cost}}
            record["label"]["probability"] = ranked["probability"]
            twin.learn([record])
        assert service.models["classes"].chain.weights.tobytes() == twin.weights.tobytes()
        assert ranked["ranked"][0] == 1

    in_service([tmp_path / "greedy", tmp_path / "classes"], use)


def test_predictions_of_decisions_are_lists(bandit: Path, in_service: Any) -> None:
    twin = Chain.load(bandit)
    shorter = {"actions": DECISION["actions"][:2]}

    async def use(service: Any) -> None:
        found = (await service.post("/v1/predict", json.dumps([DECISION, shorter] * 120), JSON)).json()["predictions"]
        assert [len(one) for one in found[:3]] == [3, 2, 3] and len(found) == 240
        np.testing.assert_array_equal(np.float32(sum(found[:2], [])), twin.predict([DECISION, shorter]))
        many = await service.post("/v1/learn", json.dumps(LOG * 10), JSON)
        twin.learn(LOG * 10)
        assert len(many.json()["predictions"]) == 300
        assert service.first.chain.weights.tobytes() == twin.weights.tobytes()

    in_service([bandit], use)


REFUSED: list[tuple[str, str, str, int, str]] = [
    ("rank", TEXT + "\n" + TEXT, "text/plain", 422, "got several decisions, wanted one"),
    ("rank", json.dumps([DECISION, DECISION]), JSON, 422, "got several decisions, wanted one"),
    ("rank", json.dumps(LOG[0]), JSON, 422, "got a label, wanted none"),
    ("rank", TEXT.replace("|article food", "0:1:0.5 |article food"), "text/plain", 422, "got a label, wanted none"),
    ("rank", "shared |user ann\n", "text/plain", 422, "<body>:1:1: "),
    ("rank", TEXT.replace("food", "food:1y"), "text/plain", 422, "<body>:2:"),
    ("rank", '{"actions": []}', JSON, 422, "actions: got []"),
    ("rank?id=" + "x" * 201, TEXT, "text/plain", 400, "id: got 201 characters"),
    ("rank?model=no", TEXT, "text/plain", 404, "there is no 'no'"),
    ("rank?model=plain", "|f a", "text/plain", 422, "'plain' takes labels 'simple', wanted a chain of decisions"),
    ("reward?model=plain", '{"id": "a", "cost": 1}', JSON, 422, "wanted a chain of decisions"),
    ("reward", '{"id": "a"}', JSON, 422, "<body>:1: got neither cost nor reward"),
    ("reward", '{"id": "a", "cost": 1, "reward": 1}', JSON, 422, "got cost and reward, wanted one"),
    ("reward", '{"id": "a", "cost": "1"}', JSON, 422, 'cost: got "1", wanted a number'),
    ("reward", '{"id": "a", "cost": true}', JSON, 422, "cost: got true"),
    ("reward", '{"id": "a", "cost": 1e39}', JSON, 422, "cost: got 1e+39"),
    ("reward", '{"id": "a", "cost": NaN}', JSON, 422, "got NaN, wanted JSON"),
    ("reward", '{"id": 7, "cost": 1}', JSON, 422, "id: got 7"),
    ("reward", '{"id": "a", "cots": 1}', JSON, 422, "unknown key 'cots'"),
    ("reward", "[]", JSON, 422, "got no reward"),
    ("reward", "7", JSON, 422, "got 7, wanted an object"),
    ("reward", TEXT, "text/plain", 415, "wanted application/json"),
    ("learn", TEXT, "text/plain", 422, "got no label"),
]


def test_what_is_refused(bandit: Path, saved_model: Any, in_service: Any) -> None:
    plain = saved_model(bandit.with_name("plain"))

    async def use(service: Any) -> None:
        before = service.first.chain.weights.tobytes()
        for path, body, kind, status, message in REFUSED:
            found = await service.post(f"/v1/{path}", body, kind)
            assert found.status_code == status and message in found.json()["error"], (path, body, found.text)
        assert service.first.chain.weights.tobytes() == before
        assert service.log.store.rows("SELECT count(*) FROM serve_decisions") == [(0,)]

    in_service([bandit, plain], use)


@pytest.mark.parametrize("shared", ["", "shared |user ann\n"], ids=["alone", "shared"])
@pytest.mark.parametrize("action", [0, 1])
def test_a_label_put_into_a_batch_is_that_of_the_text(shared: str, action: int) -> None:
    chain, lines = Chain.from_config(CONFIG), ["|article food\n", "|article sports\n"]
    [batch] = batches_of(chain, PLAIN, (shared + "".join(lines)).encode())
    found = with_choice(batch, Labels.LOGGED_ACTION, Choice(action, 0.5, 0.25))
    lines[action] = f"{action}:0.5:0.25 " + lines[action]
    [wanted] = batches_of(chain, PLAIN, (shared + "".join(lines)).encode())
    for name in ("cost_ptr", "cost_classes", "costs", "probabilities"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
    assert shared_rows(found).tolist() == shared_rows(wanted).tolist()


def test_figures_that_are_no_numbers_are_named(saved_model: Any, tmp_path: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        service.first.chain.shared["sum_loss"] = np.nan
        found = (await service.client.get("/v1/model")).json()
        assert found["counters"]["progressive_loss"] is None
        assert found["not_finite"] == {"counters.progressive_loss": "NaN"}

    in_service([saved_model(tmp_path / "model")], use)


@pytest.mark.parametrize(("share", "place"), [(0.0, 0), (0.24, 0), (0.25, 2), (0.75, 2), (np.nextafter(1.0, 0.0), 2)])
def test_a_share_of_the_whole_draws_the_first_sum_beyond_it(share: float, place: int) -> None:
    assert draw([0.25, 0.0, 0.75, 0.0], share) == draw([0.5, 0.0, 1.5, 0.0], share) == place


def test_what_does_not_sum_to_one_is_told_as_it_is_drawn() -> None:
    chain = SimpleNamespace(predicts=Predictions.ACTION_PROBABILITIES, takes=Labels.LOGGED_CLASS)
    served: Any = SimpleNamespace(
        chain=chain, log=SimpleNamespace(store=SimpleNamespace(identity=1)), name="m", position=3
    )
    values = np.array([0.5, 1.5], np.float32)
    decided = [_decide(served, f"id{k}", "text", b"", values, np.array([1, 0], np.uint32)) for k in range(400)]
    assert all(each.answer["probabilities"] == [0.25, 0.75] and each.answer["ranked"] == [2, 1] for each in decided)
    assert {(each.action, each.probability) for each in decided} == {(1, 0.25), (2, 0.75)}
    assert np.mean([each.action == 2 for each in decided]) == pytest.approx(0.75, abs=0.07)


DSJSON = "application/x-dsjson"


def logged(k: int, **others: Any) -> str:
    """A line of dsjson."""
    actions = [{"article": {name: 1}} for name in ("food", "sports", "music")]
    label = {
        "_label_cost": float(k % 3 != 1),
        "_label_probability": 0.5,
        "_label_Action": k % 3 + 1,
        "_labelIndex": k % 3,
    }
    found = {**label, "a": [k % 3 + 1, (k + 1) % 3 + 1, (k + 2) % 3 + 1]}
    return json.dumps({**found, "p": [0.5, 0.25, 0.25], "c": {"user": {"ann": 1}, "_multi": actions}, **others})


def test_logs_of_decisions_in_dsjson_are_learned_as_from_a_file(bandit: Path, in_service: Any, tmp_path: Path) -> None:
    lines = [logged(k) for k in range(40)]
    (log := tmp_path / "log.dsjson").write_text("\n".join(lines) + "\n")
    twin = Chain.load(bandit)

    async def use(service: Any) -> None:
        first = await service.post("/v1/learn", lines[0], DSJSON)
        assert len(first.json()["predictions"][0]) == 3
        rest = await service.post("/v1/learn", "\n".join(lines[1:]), DSJSON)
        assert (rest.json()["position"], len(rest.json()["predictions"])) == (2, 39)
        service.first.chain.save(tmp_path / "served")
        unlabelled = json.loads(lines[0])
        del unlabelled["_label_cost"]
        found = await service.post("/v1/predict", json.dumps(unlabelled), DSJSON)
        assert len(found.json()["predictions"]) == 1
        assert (await service.post("/v1/learn", json.dumps(unlabelled), DSJSON)).status_code == 422

    in_service([bandit], use)
    twin.learn(log)
    assert Chain.load(tmp_path / "served").weights.tobytes() == twin.weights.tobytes()

    async def again(service: Any) -> None:  # the log replays them
        assert service.first.chain.weights.tobytes() == twin.weights.tobytes()
        assert service.first.proofs.proved == service.first.replayed == 2

    in_service([bandit], again)


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        ("{}", DSJSON, "got no example"),
        (logged(0, _skipLearn=True), DSJSON, "got no example"),
        (f"{logged(0)}\n1 | a", DSJSON, "<body>:2:1: got '1 . a', wanted a JSON object"),
        (logged(0, pdrop=2), DSJSON, "<body>:1:.*pdrop"),
        (logged(0, c=1), DSJSON, "<body>:1:.*no features"),
        (logged(0), JSON, "got a line of dsjson, wanted it with the content type application/x-dsjson"),
        (logged(0, _label_cost=1e30), DSJSON, "cost"),
    ],
)
def test_dsjson_that_cannot_be_learned_is_refused(
    bandit: Path, in_service: Any, body: str, kind: str, said: str
) -> None:
    async def use(service: Any) -> None:
        found = await service.post("/v1/learn", body, kind)
        assert found.status_code == 422
        assert re.search(said, found.json()["error"]), found.json()
        assert service.first.position == 0

    in_service([bandit], use)


def test_dsjson_wants_a_chain_of_decisions(saved_model: Any, tmp_path: Path, in_service: Any) -> None:
    saved_model(tmp_path / "plain", lines=["1 |f a"])

    async def use(service: Any) -> None:
        found = await service.post("/v1/learn", logged(0), DSJSON)
        assert (found.status_code, "single examples" in found.json()["error"]) == (422, True)

    in_service([tmp_path / "plain"], use)
