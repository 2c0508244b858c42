import pytest

from hutch.active.loop import ask, catch_up
from hutch.active.page import UNDO, Look, create_app
from hutch.chain import Chain
from hutch.durable.entries import Round
from hutch.durable.records import Request, make_answer
from hutch.durable.store import Store
from hutch.durable.undo import answers_of, find_answer, retract

pytest.importorskip("uvicorn")


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "labels.db", create=True) as opened:
        requests = [Request(f"r{i}", f"'r{i}|f x{i}", 0.1, 0.5, 2.0, "m0") for i in range(12)]
        opened.ask(requests, Round("pool.vw", 100, 12.0, 0.0))
        opened.allow_labels(["-1", "1"])
        yield opened


def test_an_answer_is_taken_back_and_given_anew(store):
    store.answer([make_answer("r0", "ada", 1), make_answer("r1", "ada", -1), make_answer("r1", "bob", 1)])
    assert [given.request for given in answers_of(store, "ada", 5)] == ["r1", "r0"]
    first = answers_of(store, "ada", 5)[1]
    assert retract(store, first.id) and not retract(store, first.id)
    assert find_answer(store, first.id) is None
    assert store.counts().open == 11 and store.counts().labels == 2
    assert store.answer([make_answer("r0", "ada", -1)]).new == 1
    assert [(row[3]) for row in store.outcomes()] == ["-1", "-1", "1"]


def test_an_answer_that_was_not_needed_leaves_the_request_closed(store):
    store.answer([make_answer("r0", "ada", 1), make_answer("r0", "bob", 1)])
    retract(store, answers_of(store, "ada", 1)[0].id)
    assert store.counts().open == 11


@pytest.mark.parametrize("learned_before", [False, True])
def test_a_model_learns_the_same_from_the_log_however_often_it_is_rebuilt(store, trained, learned_before, tmp_path):
    chain = trained()
    store.answer([make_answer("r0", "ada", 1), make_answer("r1", "ada", 1)])
    if learned_before:
        catch_up(chain, store)
        store.learned({})
    retract(store, answers_of(store, "ada", 1)[0].id)
    store.answer([make_answer("r1", "ada", -1), make_answer("r2", "ada", 1)])
    catch_up(chain, store)
    again = trained()
    assert catch_up(again, store)[0] == (4 if learned_before else 3)
    assert (chain.weights == again.weights).all()


def test_the_page_takes_back_the_last_ten(store, client_of):
    client = client_of(create_app(store, "secret", look=Look({"1": "spam"}, "Look closely.")))
    for i in range(12):
        client.post("answer", json={"id": f"r{i}", "worker": "ada", "label": "1"})
    assert client.get("next", params={"worker": "ada"}).json()["instructions"] == "Look closely."
    for n in range(UNDO):
        assert client.post("undo", json={"worker": "ada"}).json() == {"request": f"r{11 - n}", "label": "1"}
        assert client.get("next", params={"worker": "ada"}).json()["request"]["id"] == f"r{11 - n}"
        assert client.get("next", params={"worker": f"other{n}"}).json()["request"] is None or n
    refused = client.post("undo", json={"worker": "ada"})
    assert (refused.status_code, refused.json()["error"]) == (409, "only the last 10 answers are taken back")
    client.post("answer", json={"id": "r2", "worker": "ada", "label": "-1"})
    assert client.post("undo", json={"worker": "ada"}).json()["request"] == "r2"
    assert client.post("undo", json={"worker": "eve"}).json()["error"] == "nothing to take back"


def test_all_that_is_taken_back_is_asked_for_again(store, client_of):
    client = client_of(create_app(store, "secret"))

    def shown(worker):
        asked = client.get("next", params={"worker": worker}).json()["request"]
        return asked and asked["id"]

    def give(worker):
        client.post("answer", json={"id": (id := shown(worker)), "worker": worker, "label": "1"})
        return id

    assert [give("ada") for _ in range(4)] == ["r0", "r1", "r2", "r3"]
    assert shown("bob") == "r4"
    for n in range(3):
        client.post("undo", json={"worker": "ada"})
        assert shown("ada") == f"r{3 - n}"
    assert [give("ada") for _ in range(2)] == ["r1", "r2"]
    give("bob")
    assert give("bob") == "r3"  # whoever is next gets what nobody has answered
    with Store(store.path) as another:
        retract(another, answers_of(another, "ada", 2)[1].id)  # r1, out of the page's sight
    assert [give("ada") for _ in range(8)] == ["r1", *(f"r{i}" for i in range(5, 12))]
    assert shown("ada") is None and store.counts().open == 0


def test_a_page_for_other_machines_has_any_name(store, client_of):
    near, far = (client_of(create_app(store, "secret", host=host)) for host in ("127.0.0.1", "0.0.0.0"))
    named = {"params": {"worker": "a"}, "headers": {"host": "desk.example"}}
    assert near.get("next", **named).status_code == 400
    assert far.get("next", **named).status_code == 200


def test_a_pool_with_documents(store, trained):
    lines = [f"|text w{i}" for i in range(6)] + ["|text w1"]
    documents = [{"text": f"word {i}"} for i in range(6)] + [{"text": "another"}]
    found = ask(trained(), lines, store, 7, source="pool", model="m", documents=documents)
    assert [store.document(request.id)["text"] for request in found] == [each["text"] for each in documents]
    assert isinstance(trained(), Chain)


def test_answers_can_be_taken_back_after_the_page_is_loaded_again_and_the_server_started_again(store, client_of):
    client = client_of(create_app(store, "secret"))
    for i in range(3):
        client.post("answer", json={"id": f"r{i}", "worker": "ada", "label": "1"})
    with Store(store.path) as opened:
        again = client_of(create_app(opened, "secret"))
        assert again.get("next", params={"worker": "ada"}).json()["given"] == 3
        assert again.post("undo", json={"worker": "ada"}).json() == {"request": "r2", "label": "1"}
        found = again.get("next", params={"worker": "ada"}).json()
        assert found["request"]["id"] == "r2" and found["given"] == 2
