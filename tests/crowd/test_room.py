"""Classes for which there is no memory are refused before any is allocated."""

import tracemalloc

import numpy as np
import pytest

from hutch.core import memory
from hutch.core.errors import UsageError
from hutch.crowd import room
from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import from_triples
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.models import online
from hutch.crowd.models.many_classes import ManyClasses
from hutch.crowd.models.one_coin import OneCoin
from hutch.crowd.models.online import stream_of
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.table import EXCHANGEABLE


def many(classes, workers=50):
    return from_triples((f"w{i % workers}", f"t{i // 3}", f"c{i % classes}") for i in range(3 * classes))


@pytest.mark.parametrize(("classes", "wanted"), [(3000, "30.6 GiB"), (30_000, "3057.7 GiB")])
def test_too_many_classes_are_refused_before_anything_is_allocated(monkeypatch, classes, wanted):
    monkeypatch.setattr(room, "available_memory", lambda: 4 << 30)
    labels, model = many(classes), TwoLevel()
    tracemalloc.start()
    try:
        with pytest.raises(UsageError) as raised:
            aggregate(labels, model)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()
    text = str(raised.value)
    most = room.most_classes(TwoLevel, 50, classes, 4 << 30)
    assert text.startswith(
        f"{classes} classes of 50 workers and {classes} tasks need {wanted} with the model two_level"
    )
    assert f"in the 4.0 GiB that are free it can hold {most};" in text
    assert (
        f"--model many_classes ({ManyClasses.summary}) can hold {room.most_classes(ManyClasses, 50, classes, 4 << 30)}."
        in text
    )


def test_as_many_classes_as_are_said_to_fit_do_fit(monkeypatch):
    most = room.most_classes(OneCoin, 20, 100, 10 << 20)
    assert room.bytes_needed(OneCoin, 20, 100, most) <= 10 << 20 < room.bytes_needed(OneCoin, 20, 100, most + 1)
    monkeypatch.setattr(room, "available_memory", lambda: None)
    assert len(aggregate(many(12)).probability) == 12


@pytest.mark.parametrize("model", [*EXCHANGEABLE, Mixed])
def test_the_room_of_a_model_is_what_it_takes(model):
    labels = from_triples((f"w{i % 12}", f"t{i // 3}", f"c{i % 60}") for i in range(180))
    if model is Mixed:  # of judges it keeps the rows of labels that they gave
        labels = from_triples((f"w{i % 12}", f"t{i // 3}", f"c{i // 12}") for i in range(720))
    made = model(reference=("w0", "w1"), iterations=7) if model is Mixed else model(iterations=7)
    aggregate(from_triples([("w0", "t", "a"), ("w1", "t", "b"), ("w2", "t", "b")]), made)
    tracemalloc.start()
    try:
        aggregate(labels, made)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    needed = room.bytes_needed(model, 12, labels.items, 60)
    assert 0.9 * needed <= taken <= 3 * needed


def test_tables_of_workers_that_do_not_fit_are_refused_where_they_are_wanted(monkeypatch):
    found = aggregate(many(400), ManyClasses())
    monkeypatch.setattr(room, "available_memory", lambda: 100 << 20)
    with pytest.raises(UsageError, match=r"confusions of 50 workers between 400 classes need 0.1 GiB, and 0.1 GiB are"):
        found.report()


def test_a_stream_says_how_many_classes_its_slots_hold(monkeypatch):
    monkeypatch.setattr(online, "available_memory", lambda: 1 << 30)
    names = [str(k) for k in range(3000)]
    with pytest.raises(UsageError, match=r"65536 tables of 3000 x 3000 numbers \(in 1.0 GiB they hold 45 classes\)"):
        stream_of(TwoLevel(), names, 65536)


def test_available_memory_is_the_least_of_what_is_free_and_what_limits_leave(monkeypatch, tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 900 kB\nMemAvailable: 500 kB\nSwapFree: 100 kB\n")
    monkeypatch.setattr(memory, "_MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_GROUP", tmp_path)
    monkeypatch.setattr(memory, "_left_of_limit", lambda: None)
    assert memory.available_memory() == 600 * 1024
    (tmp_path / "memory.max").write_text("90000\n")
    (tmp_path / "memory.current").write_text("50000\n")
    assert memory.available_memory() == 40000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available_memory() == 600 * 1024
    (tmp_path / "meminfo").unlink()
    assert memory.available_memory() > 1 << 20
    assert np.iinfo(np.int64).max > memory.available_memory()
