"""Asking, answering and learning over one store: exact draws, and models that are rebuilt from the log."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from hutch.active import loop
from hutch.active.lines import labelled, split_line, unlabelled
from hutch.active.report import report_of
from hutch.chain import Chain
from hutch.core.errors import DataError, ModelError, StoreError, UsageError
from hutch.durable.records import make_answer
from hutch.durable.store import Store
from hutch.sampling.draws import smallest


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "labels.db", create=True) as opened:
        yield opened


def truth(line):
    return line.split(" ", 1)[0]


def arrays_of(chain):
    return {name: array.tobytes() for name, array in chain.arrays().items()}


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("1 2 't1|f a", ("1 2", "t1", "|f a")),
        ("1 2 t1|f a", ("1 2", "t1", "|f a")),
        ("1 't1 |f a", ("1", "t1", "|f a")),
        ("1 |f a", ("1", "", "|f a")),
        ("|f a |g b", ("", "", "|f a |g b")),
        (" |f a", ("", "", "|f a")),
        ("t1|f a", ("", "t1", "|f a")),
    ],
)
def test_lines_come_apart_as_the_parser_reads_them(line, parts, trained):
    assert split_line(line) == parts
    [batch] = trained().batches([line])
    assert batch.tag(0).decode() == parts[1]
    [bare] = trained().batches([unlabelled(line)])
    assert bare.tag(0) == batch.tag(0) and bare.labels[0] > 1e38
    [again] = trained().batches([labelled(unlabelled(line), "-1", 0.5)])
    assert (again.labels[0], again.importance[0], again.tag(0)) == (-1, 0.5, batch.tag(0))
    assert (again.indices == batch.indices).all()


def test_asking_leaves_the_model_alone_and_does_not_ask_twice(store, lines, trained):
    chain, pool = trained(), lines(100, 2)
    before = arrays_of(chain)
    first = loop.ask(chain, pool, store, 30, source="pool.vw", model="m")
    assert arrays_of(chain) == before
    assert len(first) == 30 and all(request.line.startswith("|f ") for request in first)
    assert all(request.importance == pytest.approx(1 / request.probability) for request in first)
    second = loop.ask(chain, pool, store, 80, source="pool.vw", model="m")
    assert len(second) == 70
    assert loop.ask(chain, pool, store, 5, source="pool.vw", model="m") == []
    assert store.labels_allowed == ("-1", "1")
    [(_, one), (_, two)] = store.rounds()
    assert (one.examples, one.probability, one.threshold, two.examples) == (100, 30.0, 0.0, 70)


def test_what_would_change_the_prediction_is_asked_for_first(store, lines, trained):
    chain, pool = trained(), lines(400, 2)
    predictions = np.abs(chain.predict([unlabelled(line) for line in pool]))
    asked = {request.line for request in loop.ask(chain, pool, store, 40, source="p", model="m")}
    chosen = np.array([unlabelled(line) in asked for line in pool])
    assert predictions[chosen].mean() < 0.6 * predictions[~chosen].mean()


def test_rules_differ_in_what_they_can_say_of_the_rest(tmp_path, lines, trained):
    with Store(tmp_path / "margin.db", create=True) as store:
        requests = loop.ask(trained({"rule": "margin"}), lines(50, 2), store, 7, source="p", model="m")
        assert {request.probability for request in requests} == {1.0} and store.rounds()[0][1].examples == 7
    with Store(tmp_path / "random.db", create=True) as store:
        requests = loop.ask(trained({"rule": "random"}), lines(50, 2), store, 7, source="p", model="m")
        assert {round(request.probability, 9) for request in requests} == {0.14}
    with Store(tmp_path / "vw.db", create=True) as store, pytest.raises(UsageError, match="decides line by line"):
        loop.ask(trained({"rule": "vw"}), lines(50, 2), store, 7, source="p", model="m")


@pytest.mark.parametrize("base", ["linear", {"bayesian_linear": {"dimension": 32, "features": "named"}}])
def test_the_first_round_of_margin_is_random_and_the_next_asks_for_the_nearest(store, lines, base):
    chain = Chain.from_config({"chain": [{"active": {"rule": "margin", "simulation": False}}, base]})
    labels = {unlabelled(line): truth(line) for line in lines(300, 2)}
    pool = sorted(labels)
    first = loop.ask(chain, pool, store, 30, source="p", model="m")
    places = [pool.index(request.line) for request in first]
    assert places == sorted(set(places)) and places[-1] > 200 and sum(place < 150 for place in places) in range(6, 25)
    assert {request.probability for request in first} == {1.0} and store.rounds()[0][1].examples == 30
    for request in first:
        store.answer([make_answer(request.id, "ann", labels[request.line])])
    loop.catch_up(chain, store)
    left = [line for line in pool if line not in {request.line for request in first}]
    second = [request.line for request in loop.ask(chain, pool, store, 6, source="p", model="m")]
    assert second == [left[i] for i in smallest(np.abs(chain.predict(left)).astype(float), 6)]


def test_tags_are_the_ids_of_requests(store, trained):
    chain = trained()
    requests = loop.ask(chain, ["'a|f w1", "b|f w2", "|f w3", "|f w3"], store, 4, source="pool.vw", model="m")
    assert [request.id for request in requests[:2]] == ["a", "b"]
    assert requests[3].id == requests[2].id + "#2"
    with pytest.raises(DataError, match=r"^pool.vw:2:1: tag 'a' is the id of another line"):
        loop.ask(chain, ["'b|f w2", "'a|f w9"], store, 1, source="pool.vw", model="m")


def test_a_chain_without_the_layer_says_so(store):
    plain = Chain.from_config({"chain": ["linear"]})
    with pytest.raises(UsageError, match=r"chain\[0\]: got 'linear', wanted 'active' on top"):
        loop.ask(plain, ["|f a"], store, 1, source="p", model="m")


@pytest.mark.parametrize("rule", [{"budget": 0.2}, {"rule": "iwal", "budget": 0.2}], ids=["budget", "iwal"])
def test_the_log_replays_to_the_same_model(store, lines, trained, tmp_path, rule):
    pool = lines(200, 2)
    labels = {unlabelled(line): truth(line) for line in pool}
    chain = trained(rule)
    for step in range(3):
        requests = loop.ask(chain, pool, store, 20, source="pool.vw", model=f"m{step}")
        random = np.random.default_rng(step).permutation(20)
        store.answer([make_answer(requests[i].id, f"w{i % 3}", labels[requests[i].line]) for i in random[:15]])
        store.answer([make_answer(requests[i].id, "w9", "skip") for i in random[15:17]])
        store.answer([make_answer(requests[i].id, "w9", "don't know") for i in random[17:]])
        assert loop.learn(chain, store, tmp_path / "model")[0] == 15
        chain = Chain.load(tmp_path / "model")
        assert loop.learn(chain, store, tmp_path / "model")[0] == 0
        chain = Chain.load(tmp_path / "model")
    replayed = trained(rule)
    loop.catch_up(replayed, store)
    kept, again = arrays_of(chain), arrays_of(replayed)
    assert {name for name in kept if kept[name] != again[name]} <= {"layer.0.active.learned"}
    assert np.mean((chain.predict(pool) > 0) == [truth(line) == "1" for line in pool]) > 0.7


@pytest.mark.parametrize(("wanted", "stands_for"), [(1, 5.0), (2, 2.5)])
def test_a_label_is_replayed_for_the_lines_it_stands_for(store, lines, trained, wanted, stands_for):
    chain, other = trained(), trained()
    requests = loop.ask(chain, lines(60, 2), store, 12, source="pool.vw", model="m", wanted=wanted)
    store.answer([make_answer(request.id, "ada", 1) for request in requests])
    loop.catch_up(chain, store)
    other.layers[0].simulation, other.layers[0].examples_per_label = False, stands_for
    other.learn([labelled(request.line, "1", 1 / wanted) for request in requests])
    assert chain.weights.tobytes() == other.weights.tobytes() != trained().weights.tobytes()
    assert chain.layers[0].examples_per_label == 0


def test_labels_of_several_workers_share_the_weight_of_one(store, trained):
    chain = trained({"budget": 0.2, "replay": 0})
    [request] = loop.ask(chain, ["|f w1 w2"], store, 1, source="p", model="m", wanted=2)
    store.answer([make_answer(request.id, "ada", 1), make_answer(request.id, "bob", -1)])
    other = trained({"budget": 0.2, "replay": 0})
    other.layers[0].simulation = False
    other.learn(["1 0.5 |f w1 w2", "-1 0.5 |f w1 w2"])
    loop.catch_up(chain, store)
    assert chain.weights.tobytes() == other.weights.tobytes()


def test_the_report_estimates_the_loss_of_the_pool(lines, trained, tmp_path):
    chain, pool = trained(), lines(1000, 2)
    labels = {unlabelled(line): truth(line) for line in pool}
    wrong = np.mean((chain.predict(pool) > 0) != [truth(line) == "1" for line in pool])
    half, whole = [], []
    for seed in range(10):
        object.__setattr__(chain.config, "seed", seed)
        with Store(tmp_path / f"{seed}.db", create=True) as store:
            requests = loop.ask(chain, pool, store, 200, source="pool.vw", model="m")
            assert report_of(store).estimate["loss"] is None
            store.answer([make_answer(request.id, "ada", labels[request.line]) for request in requests[::2]])
            half.append(report_of(store).estimate)
            store.answer([make_answer(request.id, "ada", labels[request.line]) for request in requests[1::2]])
            whole.append(report_of(store).estimate)
        mistakes = sum((request.prediction > 0) != (labels[request.line] == "1") for request in requests)
        assert whole[-1]["wrong_left"] == pytest.approx(max(0, whole[-1]["loss"] * 1000 - mistakes))
    for estimates in (half, whole):
        losses = [estimate["loss"] for estimate in estimates]
        assert abs(np.mean(losses) - wrong) < 3 * np.std(losses) / np.sqrt(10)
        assert sum(estimate["low"] <= wrong <= estimate["high"] for estimate in estimates) >= 7


LEARN = """
import sys
from hutch.active.loop import learn
from hutch.durable.store import Store
from hutch.chain import Chain
store, model = sys.argv[1:]
chain = Chain.load(model)
print("ready", flush=True)
while True:
    learn(chain, Store(store), model)
"""


def test_learning_may_be_killed_anywhere(store, lines, trained, tmp_path):
    model, pool = tmp_path / "model", lines(300, 2)
    labels = {unlabelled(line): truth(line) for line in pool}
    chain = trained()
    requests = loop.ask(chain, pool, store, 60, source="p", model="m")
    chain.save(model)
    command = [sys.executable, "-c", LEARN, tmp_path / "labels.db", model]
    for k in range(2):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        for request in requests[30 * k : 30 * k + 30]:
            store.answer([make_answer(request.id, "ada", labels[request.line])])
        time.sleep(0.1 * k)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    survivor = Chain.load(model)
    loop.catch_up(survivor, store)
    replayed = trained()
    loop.catch_up(replayed, store)
    kept, again = arrays_of(survivor), arrays_of(replayed)
    assert {name for name in kept if kept[name] != again[name]} == set()


def test_missing_things_are_named(tmp_path, store):
    with pytest.raises(ModelError, match="nowhere: cannot be read: No such file"):
        loop.model_version(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="no such store"):
        Store(tmp_path / "nowhere.db")
