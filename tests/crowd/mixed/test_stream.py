import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hutch.core.errors import UsageError
from hutch.crowd.aggregate import Options, aggregate, load, save
from hutch.crowd.data.labels import from_triples
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.mixed.stream import GROWTH
from hutch.crowd.models.online import run, stream_of

_spec = importlib.util.spec_from_file_location("crowd_of_judges", Path(__file__).with_name("crowd_of_judges.py"))
crowds = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(crowds)
PEOPLE = Mixed(reference=("ann*",))
ONLINE = Options(method="online", slots=512)


@pytest.mark.parametrize(
    ("people", "classes"),
    [(1, 2), (3, 5), pytest.param(3, 2, marks=pytest.mark.slow), pytest.param(1, 5, marks=pytest.mark.slow)],
)
def test_one_pass_is_close_to_batch(people, classes):
    rows, truth = crowds.mixed_crowd(2000, classes, people=people, seed=1)
    batch = crowds.scored(rows, truth, PEOPLE)
    online = crowds.scored(rows, truth, PEOPLE, options=ONLINE)
    assert online[0] == pytest.approx(batch[0], abs=0.01)
    assert online[1] == pytest.approx(batch[1], abs=0.03)


@pytest.mark.slow
def test_what_is_said_of_an_item_before_it_is_learned_is_close_too():
    rows, truth = crowds.mixed_crowd(3000, 3, seed=2)
    labels, reports = from_triples(rows), []
    aggregate(labels, PEOPLE, ONLINE, report=lambda _, progress: reports.append(progress.posterior))
    batch = aggregate(labels, PEOPLE).probability
    hits = (posterior.argmax(axis=1) == crowds.codes(labels, truth) for posterior in (reports[0], batch))
    before, after = (hit[300:].mean() for hit in hits)
    assert before == pytest.approx(after, abs=0.01)


@pytest.mark.parametrize("slots", [512, 6])
def test_two_halves_equal_the_whole_bit_for_bit(slots, tmp_path):
    model, options = PEOPLE, replace(ONLINE, slots=slots)
    rows, truth = crowds.mixed_crowd(300, 3, people=2, seed=4)
    labels = from_triples(rows, gold={f"t{i}": truth[f"t{i}"] for i in range(5, 300, 50)})
    whole = aggregate(labels, model, options)
    first = aggregate(labels.between(0, 130), model, options)
    save(str(tmp_path / "model"), model, options, first.fit.state)
    metadata, history = load(str(tmp_path / "model"))
    second = aggregate(labels.between(130, 300), Mixed(**metadata["parameters"]), options, history)
    for kind in ("workers", "shared"):
        for name, array in getattr(whole.fit.state, kind).items():
            assert np.array_equal(array, getattr(second.fit.state, kind)[name]), name
    assert np.array_equal(whole.probability[130:], second.probability)


def test_gold_is_kept_and_teaches():
    rows, truth = crowds.mixed_crowd(400, 3, people=1, seed=5)
    few = [row for row in rows if not row[0].startswith("ann") or row[1] in ("t398", "t399")]
    labels = from_triples(few, gold={f"t{i}": truth[f"t{i}"] for i in range(100)})
    result = aggregate(labels, PEOPLE, ONLINE)
    right = result.probability.argmax(axis=1) == crowds.codes(labels, truth)
    assert right[:100].all()
    assert right[100:].mean() > 0.7


def test_memory_does_not_grow_and_more_judges_than_slots_share_them():
    rows, truth = crowds.mixed_crowd(600, 3, judges=12, seed=6)
    options = Options(method="online", slots=8)
    found, _ = crowds.scored(rows, truth, PEOPLE, options=options)
    alone = np.mean([truth[task] == label for worker, task, label in rows if worker.startswith("ann")])
    assert found > alone - 0.01
    state = aggregate(from_triples(rows), PEOPLE, options).fit.state
    assert state.workers["counts"].shape == (8, 3, 3)
    assert len(state.shared.get("pending", ())) < GROWTH * len(rows)


@pytest.mark.slow
def test_exponents_are_close_to_those_of_batch():
    rows, _ = crowds.mixed_crowd(3000, 3, seed=7)
    labels = from_triples(rows)
    stream = stream_of(PEOPLE, labels.classes, 512)
    run(stream, labels, 1)
    batch = PEOPLE.fit(labels).state
    judges = [name.startswith("judge") for name in labels.worker_names]
    names = [name for name in labels.worker_names if name.startswith("judge")]
    slots, learned = stream._learned()
    places = [slots.tolist().index(slot) for slot in stream.slots_of(names)]
    assert learned.workers["exponent"][places] == pytest.approx(batch.workers["exponent"][judges], abs=0.05)
    assert learned.shared["targets"] == pytest.approx(batch.shared["targets"])


def test_judges_who_say_nothing_do_no_harm():
    rows, truth = crowds.mixed_crowd(items=200, seed=3)
    random = np.random.default_rng(0)
    shuffled = [(w, t, x if w.startswith("ann") else str(random.integers(3))) for w, t, x in rows]
    alone = np.mean([truth[task] == label for worker, task, label in rows if worker.startswith("ann")])
    assert crowds.scored(shuffled, truth, PEOPLE, options=ONLINE)[0] >= alone - 0.01


def test_report_parts_are_distributions():
    rows, _ = crowds.mixed_crowd(300, 3, people=2, seed=8)
    labels = from_triples(rows)
    result = aggregate(labels, PEOPLE, ONLINE)
    others = result.others()
    assert others.sum(axis=1) == pytest.approx(np.ones(len(labels)))
    assert result.confusions.sum(axis=2) == pytest.approx(np.ones((len(labels.worker_names), 3)))
    assert result.class_prior.sum() == pytest.approx(1)


def test_what_cannot_be_is_refused():
    rows, _ = crowds.mixed_crowd(30)
    labels = from_triples(rows)
    with pytest.raises(UsageError, match="no worker is 'anm0' or 'bob'"):
        aggregate(labels, Mixed(reference=("anm0", "bob")), ONLINE)
    with pytest.raises(UsageError, match="every worker is one"):
        aggregate(labels, Mixed(reference=("*",)), ONLINE)
    with pytest.raises(UsageError, match="learns a block once"):
        aggregate(labels, PEOPLE, replace(ONLINE, passes=2))
    with pytest.raises(UsageError, match="slots: got 1, wanted at least 2"):
        stream_of(PEOPLE, labels.classes, 1)
    with pytest.raises(UsageError, match="no memory for 1048576 tables of 3000 x 3000"):
        stream_of(PEOPLE, [str(k) for k in range(3000)], 1 << 20)
    assert aggregate(from_triples([]), PEOPLE, ONLINE).probability.shape == (0, 0)


def test_what_others_say_and_the_class_prior_are_what_they_are():
    labels = from_triples(crowds.mixed_crowd(120, 3, people=3, seed=4)[0])
    stream = stream_of(PEOPLE, labels.classes, 512)
    run(stream, labels, 1)
    counts = stream._learned()[1].shared["class_counts"]
    assert stream.class_prior() == pytest.approx((counts + 1) / (counts.sum() + 3))
    hashed = stream.in_slots(labels)
    posterior, others = stream.score(hashed)[0], stream.others(hashed)
    factors = stream.factors(hashed.workers)
    for place, (slot, item) in enumerate(zip(hashed.workers, hashed.label_items, strict=True)):
        here = hashed.workers[hashed.item_ptr[item] : hashed.item_ptr[item + 1]]
        factor = factors[place, hashed.labels[place]]
        if slot % 2 == 0:  # a person, whose labels count less beside those of others
            factor = factor ** (1 / (1 + 0.3 * ((here % 2 == 0).sum() - 1)))
        rest = posterior[item] / factor
        assert others[place] == pytest.approx(rest / rest.sum())
