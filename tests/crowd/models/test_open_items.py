import numpy as np
import pytest

from hutch.core.errors import ModelError
from hutch.crowd.models import open_items_learn as kernels
from hutch.crowd.models.calibration import accuracy
from hutch.crowd.models.open_items import OpenItems, Settings
from hutch.crowd.models.open_items_file import packed, unpack
from hutch.crowd.models.open_items_kernels import CLOSED, CORRECTED, OPENED, REOPENED
from hutch.crowd.simulate import simulate
from tests.crowd.models.open_items_twin import Twin

COUNTS = ("counts", "rows", "habits", "masses", "class_counts", "level_counts")
WORKERS = 20


def shuffled(items=150, each=5, classes=3, seed=0, workers=WORKERS):
    """Rows of item, worker, label in random order, and the truth."""
    crowd = simulate(items, workers, classes, each, seed)
    rows = np.stack([crowd.labels.label_items, crowd.labels.workers, crowd.labels.labels], axis=1).astype(np.int64)
    return rows[np.random.default_rng(seed).permutation(len(rows))], crowd.truth


def empty(items=150, classes=3, workers=WORKERS, **settings):
    engine = OpenItems.empty(classes, workers, settings=Settings(**settings))
    engine.meet(items, np.arange(workers, dtype=np.int32))
    return engine


def feed(engine, rows):
    engine.learn(*(np.ascontiguousarray(column) for column in rows.T))
    return engine


def read(engine):
    items = np.arange(engine.items)
    pointer, workers, labels = engine.labels_of(items)
    return engine.read(items, pointer, engine.opened.slots[workers].astype(np.int64), labels)[0]


def equal(a, b):
    one, other = packed(a), packed(b)
    return all(np.array_equal(one[name], other[name]) for name in one) and all(map(np.array_equal, a.crowds, b.crowds))


def test_a_stream_does_what_its_twin_does():
    rows, _ = shuffled(items=120, each=6)
    again = rows[:40] + [0, 0, 1]
    again[:, 2] %= 3
    rows = np.concatenate([rows, again])  # corrections
    engine, twin = feed(empty(120, effort=1e9), rows), Twin(3, WORKERS)
    for item, worker, label in rows.tolist():
        twin.label(item, worker, label)
    assert np.abs(engine.crowds.counts.transpose(1, 0, 2, 3) - twin.C).max() < 1e-6 * 2**32
    assert np.abs(engine.crowds.level_counts - twin.L).max() < 1e-6 * 2**32
    assert np.allclose(engine.crowds.evidence / 2**20, twin.E, atol=1e-3)
    wanted = twin.posteriors()
    assert np.allclose(read(engine), [wanted[item] for item in range(120)], atol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"room": 30}, {"drift": 1e-2}, {"room": 1}], ids=str)
def test_saved_half_way_and_cut_anywhere_it_is_the_same_to_the_bit(settings):
    rows, _ = shuffled()
    whole, first = feed(empty(**settings), rows), feed(empty(**settings), rows[:333])
    second = empty(**settings)
    second.crowds = first.crowds
    unpack(second, packed(first))
    assert equal(first, second)
    feed(second, rows[333:])
    cut, random, begin = empty(**settings), np.random.default_rng(1), 0
    while begin < len(rows):
        size = int(random.integers(1, 90))
        feed(cut, rows[begin : begin + size])
        read(cut)
        begin += size
    assert equal(whole, second) and equal(whole, cut)
    assert np.array_equal(read(whole), read(second)) and np.array_equal(read(whole), read(cut))


@pytest.mark.parametrize("drift", [0.0, 1e-2])
def test_all_that_open_items_contribute_can_be_taken_back(drift):
    rows, _ = shuffled()
    engine = feed(empty(drift=drift), rows)
    before = [getattr(engine.crowds, name).copy() for name in COUNTS]
    assert all(array.any() for array in before)
    kernels.recount(engine.crowds, engine.opened, engine.settings, -1)
    if not drift:  # under drift, old counts are rounded when they are made lighter
        assert not any(getattr(engine.crowds, name).any() for name in COUNTS)
    kernels.recount(engine.crowds, engine.opened, engine.settings, 1)
    assert all(map(np.array_equal, before, [getattr(engine.crowds, name) for name in COUNTS]))


def test_rows_and_masses_are_the_sums_of_their_tables():
    crowds = feed(empty(room=20, drift=1e-2), shuffled()[0]).crowds
    assert np.array_equal(crowds.counts.sum(axis=2), crowds.rows)
    assert np.array_equal(crowds.habits.sum(axis=2), crowds.masses)


def test_reading_changes_nothing():
    rows, _ = shuffled()
    engine, other = feed(empty(), rows), feed(empty(), rows)
    read(engine)
    assert equal(engine, other)


def test_a_corrected_label_replaces_the_wrong_one():
    rows, _ = shuffled()
    wrong = rows[:50] + [0, 0, 1]
    wrong[:, 2] %= 3
    engine = feed(empty(), np.concatenate([wrong, rows[50:], rows[:50]]))
    assert engine.opened.clock[CORRECTED] == 50
    pointer, workers, labels = engine.labels_of(np.arange(150))
    kept = {(item, worker): label for item, worker, label in rows.tolist()}
    items = np.repeat(np.arange(150), np.diff(pointer)).tolist()
    assert {(i, w): label for i, w, label in zip(items, workers.tolist(), labels.tolist(), strict=True)} == kept
    total = engine.crowds.rows.sum(axis=(0, 2)) + engine.crowds.masses.sum(axis=0)
    assert np.allclose(total / 2**32, len(rows), atol=1e-4)  # each label counts once


def test_labels_of_the_anonymous_worker_never_replace_each_other():
    rows, _ = shuffled(items=3, each=5)
    rows[:, 1] = 4
    columns = [np.ascontiguousarray(column) for column in rows.T]
    known, nobody = empty(3), empty(3)
    known.learn(*columns)
    nobody.learn(*columns, anonymous=4)
    assert np.diff(known.labels_of(np.arange(3))[0]).tolist() == [1, 1, 1]
    assert np.diff(nobody.labels_of(np.arange(3))[0]).sum() == len(rows)


def test_the_surest_is_closed_keeps_its_evidence_and_is_opened_again():
    rows, _ = shuffled(items=40, each=6)
    engine = feed(empty(40, room=10), rows)
    clock = engine.opened.clock
    assert clock[OPENED] == 10 and clock[CLOSED] - clock[REOPENED] == 30
    closed = np.flatnonzero(engine.opened.where[:40] < 0)
    before = read(engine)
    assert np.abs(before[closed].max(axis=1) - 1 / 3).max() > 0.5  # evidence is kept
    late = np.array([[closed[0], 0, 1]], np.int64)
    reopened = int(clock[REOPENED])
    feed(engine, late)
    assert engine.opened.where[closed[0]] >= 0 and engine.opened.clock[REOPENED] == reopened + 1
    opened = np.flatnonzero(engine.opened.where[:40] >= 0)
    assert len(opened) == 10


def test_the_item_closed_is_the_first_by_a_scan():
    rows, _ = shuffled(items=60, each=5)
    engine = empty(60, room=12)
    for number, row in enumerate(rows):
        opened = engine.opened
        places = {item: r for item, r in enumerate(opened.where[:60].tolist()) if r >= 0}
        before = {item: (-opened.sure[r], opened.times[r]) for item, r in places.items()}
        feed(engine, row[None])
        gone = [item for item in before if engine.opened.where[item] < 0]
        assert gone == ([min(before, key=before.__getitem__)] if gone else []), number
    assert engine.opened.clock[CLOSED] > 40


def test_a_class_that_becomes_known_late_teaches_and_is_the_verdict():
    rows, truth = shuffled()
    engine = feed(empty(), rows)
    before = engine.crowds.counts.copy()
    for item in range(50):
        engine.tell(item, int(truth[item]))
    assert not np.array_equal(before, engine.crowds.counts)
    assert np.array_equal(read(engine)[:50].argmax(axis=1), truth[:50])
    kernels.recount(engine.crowds, engine.opened, engine.settings, -1)
    assert not engine.crowds.counts.any()


def test_a_new_class_gets_the_place_of_one_known_from_the_start():
    rows, truth = shuffled(items=900, classes=4)
    late = (truth == 3)[rows[:, 0]] | (rows[:, 2] == 3)
    rows = np.concatenate([rows[~late], rows[late]])
    first = int((~late).sum())
    declared = feed(empty(900, classes=4), rows)
    added = feed(empty(900), rows[:first])
    added.widen(4)
    feed(added, rows[first:])
    found = [accuracy(read(engine), truth.astype(np.int32)) for engine in (declared, added)]
    assert abs(found[0] - found[1]) < 0.02 and found[1] > 0.7
    kernels.recount(added.crowds, added.opened, added.settings, -1)
    assert not added.crowds.counts.any()


def test_many_labels_of_one_item():
    engine = OpenItems.empty(2, 3000)
    engine.meet(2, np.arange(3000, dtype=np.int32))
    workers = np.arange(3000)
    rows = np.stack([np.zeros(3000, np.int64), workers, (workers % 3 == 0).astype(np.int64)], axis=1)
    found = read(feed(engine, rows))
    assert np.isfinite(found).all() and found[0, 0] > 0.9


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("item", lambda a: a + 1000),
        ("count", lambda a: a + 1),
        ("labels", lambda a: a + [0, 9]),
        ("labels", lambda a: a + [900, 0]),
        ("free", lambda a: np.arange(3, dtype=np.int32)),
        ("gold", lambda a: a + 9),
        ("q", lambda a: a * 3),
        ("closed", lambda a: a[::-1].copy()),
        ("base", lambda a: a * np.nan),
        ("clock", lambda a: a * 0),
        ("came", lambda a: a.astype(np.int32)),
        ("shares", lambda a: a[:-1]),
    ],
)
def test_what_a_file_says_of_open_items_must_fit_together(name, change):
    engine = feed(empty(room=40), shuffled()[0])
    found = packed(engine)
    found[name] = change(found[name])
    fresh = empty(room=40)
    fresh.crowds = engine.crowds
    with pytest.raises(ModelError, match=rf"open\.{name}"):
        unpack(fresh, found)


@pytest.mark.parametrize("most", [0, 40])
def test_what_is_withdrawn_leaves_nothing(most):
    """Counts are those of the labels that are left, to the integer, however many are withdrawn, and in any order."""
    rows, _ = shuffled()
    engine = feed(empty(), rows)
    engine.settings[kernels.ROOM] = most
    random = np.random.default_rng(3)
    gone = random.permutation(len(rows))[:300]
    for place in gone.tolist():
        assert engine.withdraw(int(rows[place, 0]), int(rows[place, 1]))
        assert not engine.withdraw(int(rows[place, 0]), int(rows[place, 1]))
    pointer, workers, labels = engine.labels_of(np.arange(150))
    left = np.delete(rows, gone, axis=0)
    kept = np.stack([np.repeat(np.arange(150), np.diff(pointer)), workers, labels], axis=1)
    assert sorted(kept.tolist()) == sorted(left.tolist())
    again = feed(engine, rows[gone[:50]])
    kernels.recount(again.crowds, again.opened, again.settings, -1)
    for name in COUNTS:
        assert not getattr(again.crowds, name).any(), name


def test_evidence_goes_with_a_label():
    rows, _ = shuffled(items=30)
    engine = feed(empty(30), rows)
    before = engine.crowds.evidence.copy()
    extra = np.array([[0, int(np.setdiff1d(np.arange(WORKERS), rows[rows[:, 0] == 0, 1])[0]), 1]])
    feed(engine, extra)
    assert (engine.crowds.evidence != before).any()
    engine.withdraw(0, int(extra[0, 1]))
    np.testing.assert_array_equal(engine.crowds.evidence, before)
