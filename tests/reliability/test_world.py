"""Histories of the simulated world; `benchmarks/hardening/world.py` runs as many as are wanted."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reliability import world
from tests.reliability.histories import run
from tests.reliability.world import Templates

HISTORIES = 100


@pytest.fixture(scope="module")
def templates() -> Templates:
    return Templates()


@pytest.mark.slow
@pytest.mark.parametrize("operated", [True, False])
@pytest.mark.parametrize("begin", range(0, HISTORIES, 50))
def test_what_must_hold_holds_after_every_history(
    begin: int, operated: bool, templates: Templates, tmp_path: Path
) -> None:
    for seed in range(begin, begin + 50):
        run(seed, templates, tmp_path, operated=operated)


@pytest.mark.parametrize("seed", [61, 81, 445, 200546, 1006560, 2000492])
def test_histories_that_were_wrong_once(seed: int, templates: Templates, tmp_path: Path) -> None:
    """A refusal or a folder that could not be written or synced, a request twice, an early crash, refusals at saves."""
    run(seed, templates, tmp_path)


def test_a_seed_is_a_history(templates: Templates, tmp_path: Path) -> None:
    first, second = run(7, templates, tmp_path), run(7, templates, tmp_path)
    assert [line.partition(": cannot")[0][:9] for line in first.trace] == [
        line.partition(": cannot")[0][:9] for line in second.trace
    ]
    assert (first.lives, first.operations, first.counts) == (second.lives, second.operations, second.counts)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [9, 31])
def test_a_server_whose_nth_operation_fails_loses_nothing(seed: int, templates: Templates, tmp_path: Path) -> None:
    """For every n: writes, syncs, renames and statements of the log, and memory for what it learns and predicts."""
    nth = 1
    while run(seed, templates, tmp_path, nth).operations >= nth:
        nth += 1
    assert nth > 40


@pytest.mark.parametrize("fault", ["forgets", "syncs nothing", "learns twice"])
def test_a_server_with_a_fault_is_found_out(
    fault: str, templates: Templates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "forgets":  # the file is not written, the log forgets all the same
        monkeypatch.setattr("hutch.durable.model_file.save_model", lambda *arguments, **options: None)
    elif fault == "syncs nothing":
        monkeypatch.setattr("hutch.core.atomic.sync_directory", lambda directory: None)
    else:  # ids are not remembered
        monkeypatch.setattr("hutch.durable.log.Log._insert", _without_ids)
    with pytest.raises(AssertionError):
        for seed in range(150):
            run(seed, templates, tmp_path)


def _unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second writer."""
    monkeypatch.setattr("hutch.durable.log.Log._check_generation", lambda log, found: None)


def _overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Receipts of the version that wrote the log."""
    monkeypatch.setattr("hutch.serve.proofs.Proofs.goes_on", True)


def _unnamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a restore drops."""
    monkeypatch.setattr("hutch.serve.copies._later", lambda present, copy: "")


def _unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A restore."""
    monkeypatch.setattr("hutch.serve.copies.sync_directory", lambda folder: None)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [_unnoticed, _overwritten, _unnamed, _unsynced])
def test_a_fault_that_an_operator_meets_is_found_out(
    fault: Callable[[pytest.MonkeyPatch], None], templates: Templates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        for seed in range(600):
            run(seed, templates, tmp_path, operated=True)


def _without_ids(log: world.Log, connection: object, entry: object) -> object:
    from hutch.durable.log import Logged

    return Logged(log.write(connection, entry))  # type: ignore[arg-type]
