"""Whom to ask: the value of answers, and the assignment of requests to workers."""

import numpy as np
import pytest

from hutch.active.whom import AUDITS, LITTLE, Whom, judge
from hutch.durable.entries import Round
from hutch.durable.records import Request, make_answer
from hutch.durable.store import Store

WORKERS = {"ann": 0.9, "bob": 0.9, "cyd": 0.85, "dan": 0.85, "rnd": 0.5}


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "labels.db", create=True) as opened:
        opened.allow_labels(["-1", "1"])
        yield opened


def ask(store, first, last, wanted, predictions=None):
    requests = [
        Request(f"t{i}", "|f x", 0.0 if predictions is None else float(predictions[i]), 1.0, 1.0, "m")
        for i in range(first, last)
    ]
    store.ask(requests, Round("pool", last - first, float(last - first), 0.0), wanted=wanted)


def say(store, worker, item, label):
    store.answer([make_answer(f"t{item}", worker, label)])


def labelled(store, seed, items=120, wanted=3, predictions=None):
    """Answers of `WORKERS` in turn to requests that want some; returns the classes."""
    random = np.random.default_rng(seed)
    truth = random.choice([-1, 1], items)
    ask(
        store,
        0,
        items,
        wanted,
        None if predictions is None else np.where(random.random(items) < predictions, 1, -1) * truth,
    )
    names = list(WORKERS)
    for i in range(items):
        for turn in range(wanted):
            name = names[(i + turn * (1 + i // len(names) % 2)) % len(names)]
            say(store, name, i, int(truth[i] if random.random() < WORKERS[name] else -truth[i]))
    return truth


def test_a_rater_at_random_gets_audits_only(store):
    labelled(store, 0)
    ask(store, 120, 200, 3)
    known, whom = judge(store), Whom(store)
    assert list(known.little) == ["rnd"] and known.little["rnd"] < LITTLE
    assert whom.requests_for("rnd") == []
    assert len(whom.requests_for("ann")) == 80
    assert len(Whom(store, audits=1.0).requests_for("rnd")) == 80
    mean = np.mean([known.labels[known.codes[name]] for name in WORKERS if name != "rnd"])
    assert known.labels[known.codes["rnd"]] > AUDITS * mean
    generous = 1.01 * known.labels[known.codes["rnd"]] / mean
    assert len(Whom(store, audits=generous).requests_for("rnd")) == 80  # their share of audits is not used up


def test_predictions_are_a_voice_where_requests_want_one_answer(store):
    labelled(store, 1, items=400, wanted=1, predictions=0.8)
    assert list(judge(store).little) == ["rnd"]


def test_without_overlap_nobody_is_judged(store):
    labelled(store, 2, items=200, wanted=1)
    assert judge(store).little == {}


def test_a_new_worker_is_tried(store):
    labelled(store, 0)
    ask(store, 120, 125, 3)
    whom = Whom(store)
    assert whom.requests_for("eve") == [f"t{i}" for i in range(120, 125)]
    for i in range(10):
        say(store, "eve", i, -1)
    assert "eve" not in judge(store).little


def test_a_request_on_which_others_disagree_is_worth_more_than_one_on_which_they_agree(store):
    labelled(store, 0)
    ask(store, 120, 123, 4)
    for item, second in ((120, 1), (121, -1)):
        say(store, "ann", item, 1)
        say(store, "bob", item, second)
    assert Whom(store).requests_for("cyd")[2] == "t120"


def test_little_known_means_the_order_of_asking(store):
    ask(store, 0, 5, 2)
    whom = Whom(store)
    assert whom.requests_for("ann") is None
    for i in range(5):
        say(store, "ann", i, 1)
    assert judge(store) is None and whom.requests_for("bob") is None  # one worker


def test_labels_that_may_be_any_number_say_nothing_of_workers(tmp_path):
    with Store(tmp_path / "labels.db", create=True) as opened:
        ask(opened, 0, 30, 2)
        for i in range(30):
            for name in ("ann", "bob"):
                say(opened, name, i, i / 7)
        assert judge(opened) is None and Whom(opened).requests_for("ann") is None


def test_answers_change_what_is_known(store):
    labelled(store, 0)
    ask(store, 120, 320, 2)
    whom = Whom(store)
    assert whom.requests_for("rnd") == []
    random = np.random.default_rng(1)
    for i in range(120, 320):  # the rater becomes as good as anybody
        truth = int(random.choice([-1, 1]))
        say(store, "ann", i, truth)
        say(store, "rnd", i, truth)
    ask(store, 320, 330, 2)
    assert len(whom.requests_for("rnd")) == 10


def test_the_share_of_audits_is_one_of_the_work_of_others(store):
    """Who guesses has done half of their work: measured by everyone's, the share would be used up too early."""
    truth = labelled(store, 0)
    ask(store, 120, 280, 3)
    random = np.random.default_rng(1)
    for item in range(120, 200):
        for name in ("ann", "bob", "cyd"):
            label = int(truth[item - 120])
            say(store, name, item, label if random.random() < WORKERS[name] else -label)
    known = judge(store)
    assert list(known.little) == ["rnd"]
    given = known.labels[known.codes["rnd"]]
    others = np.mean([known.labels[known.codes[name]] for name in WORKERS if name != "rnd"])
    assert given < 0.7 * others
    assert Whom(store, audits=0.99 * given / others).requests_for("rnd") == []
    assert Whom(store, audits=1.01 * given / others).requests_for("rnd")
