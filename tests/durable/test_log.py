"""The write-ahead log against a plain model of it: what is written, once, in order, per model, and what stays."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from hutch.core.errors import DataError, StoreError
from hutch.durable.log import Log, Logged
from hutch.durable.log_reader import Entry

Delivered = list[Any]


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[Log]:
    """A log of the models 1 and 2."""
    log = Log(path, **options)
    try:
        for k in range(2 if not log.store.rows("SELECT 1 FROM serve_models") else 0):
            assert log.adopt({}, path, "ab"[k]).model == k + 1
        yield log
    finally:
        log.close()


def append_all(log: Log, entries: list[Entry], *works: Callable[[Any], Any]) -> Delivered:
    """Hand in entries and other work before the thread begins, so that all are one group; returns the outcomes."""
    outcomes: Delivered = []

    async def run() -> None:
        for entry in entries:
            log.append(entry, outcomes.append)
        for work in works:
            log.commits.submit(work, outcomes.append)
        log.start(asyncio.get_running_loop())
        await asyncio.to_thread(log.commits.flush)
        await asyncio.sleep(0)  # what flush waited for is delivered in the loop

    asyncio.run(run())
    return outcomes


def bodies(log: Log, model: int, after: int = 0) -> list[tuple[int, bytes]]:
    return [(number, entry.body) for number, entry in islice(log.entries(model, after), 1000) if entry]


def test_each_entry_of_a_group_has_its_place_and_its_answer(tmp_path: Path) -> None:
    sent = [Entry(1 + k % 2, "text", b"%d |f a" % k) for k in range(7)]
    with opened(tmp_path / "log.db") as log:
        assert append_all(log, sent) == [Logged(k + 1) for k in range(7)]
        for model in (1, 2):
            assert bodies(log, model) == [(k + 1, entry.body) for k, entry in enumerate(sent) if entry.model == model]
        assert bodies(log, 1, 3) == [(5, b"4 |f a"), (7, b"6 |f a")]
        assert bodies(log, 3) == [] and log.last() == 7


def test_an_id_is_known_in_its_own_model_with_its_own_body(tmp_path: Path) -> None:
    sent = [Entry(1, "text", b"1 |f", "x"), Entry(2, "text", b"2 |f", "x"), Entry(1, "text", b"1 |f", "x")]
    wrong = [Entry(2, "text", b"3 |f", "x"), Entry(1, "json", b"1 |f", "x"), Entry(1, "text", b"4 |f", "y")]
    with opened(tmp_path / "log.db") as log:
        first, second, again, *refused, last = append_all(log, sent + wrong)
        assert (first, second, again) == (Logged(1), Logged(2), Logged(1, repeated=True))
        assert all(isinstance(error, DataError) and "another body" in str(error) for error in refused)
        assert bodies(log, 1) == [(1, b"1 |f"), (last.number, b"4 |f")] and bodies(log, 2) == [(2, b"2 |f")]


@pytest.mark.parametrize("change", ["number = 7", "digest = x'00'", "id = 'x '", "model = 2"])
def test_an_id_that_is_damaged_answers_nothing(tmp_path: Path, change: str) -> None:
    with opened(tmp_path / "log.db") as log:
        append_all(log, [Entry(1, "text", b"1 |f", "x")])
        with log.store.transaction() as connection:
            connection.execute(f"UPDATE serve_ids SET {change}")
        [again] = append_all(
            log, [Entry(2 if "model" in change else 1, "text", b"1 |f", "x " if "id =" in change else "x")]
        )
        assert isinstance(again, StoreError) and "a row has another checksum than when it was written" in str(again)


def test_refused_work_leaves_nothing_and_the_rest_of_its_group_stays(tmp_path: Path) -> None:
    def half(connection: Any) -> None:
        log.write(connection, Entry(1, "text", b"half"))
        raise DataError("no")

    with opened(tmp_path / "log.db") as log:
        append_all(log, [Entry(1, "text", b"before")], half, lambda c: Log.write(c, Entry(1, "text", b"after")))
        assert [body for _, body in bodies(log, 1)] == [b"before", b"after"]


def test_many_entries_are_read_in_order(tmp_path: Path) -> None:
    with opened(tmp_path / "log.db") as log:
        append_all(log, [Entry(1, "text", b"%d" % k) for k in range(600)])
        assert bodies(log, 1) == [(k + 1, b"%d" % k) for k in range(600)]


@pytest.mark.parametrize("through", [0, 1, 4, 5, 6])
def test_a_saved_model_keeps_what_came_after_and_what_is_of_others(tmp_path: Path, through: int) -> None:
    sent = [Entry(1 + k % 2, "text", b"%d" % k) for k in range(6)]
    with opened(tmp_path / "log.db") as log:
        append_all(log, sent)
        log.saved(1, through)
        assert [number for number, _ in bodies(log, 1)] == [number for number in (1, 3, 5) if number > through]
        assert [number for number, _ in bodies(log, 2)] == [2, 4, 6]
        assert log.append_now(Entry(1, "text", b"new")) == 7  # a number is never given twice
    with opened(tmp_path / "log.db") as log:
        assert log.last() == 7


@pytest.mark.parametrize(("remember", "known"), [(3600.0, True), (0.0, False)])
def test_ids_are_remembered_as_long_as_is_said(tmp_path: Path, remember: float, known: bool) -> None:
    sent = [Entry(1, "text", b"1 |f", "x")]
    with opened(tmp_path / "log.db", remember=remember) as log:
        append_all(log, sent)
        time.sleep(0.01)
        log.saved(1, 1)
        assert append_all(log, sent)[0].repeated is known


def test_a_new_model_begins_behind_what_was_there(tmp_path: Path) -> None:
    with opened(tmp_path / "log.db") as log:
        append_all(log, [Entry(1, "text", b"old")])
        place = log.adopt({}, tmp_path / "model", "new")
        assert place.through == place.note == 1 and bodies(log, place.model) == []


def test_one_server_at_a_time(tmp_path: Path) -> None:
    with opened(tmp_path / "log.db"), pytest.raises(StoreError, match="another server is using it"):
        Log(tmp_path / "log.db")
