"""Engines: the same values everywhere, errors of users as they are, nothing lost with a process."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from distributed_tasks import both, die, die_once, refuse, scribble, total

from hutch.core.errors import DataError, HutchError, UsageError
from hutch.jobs.engine import Engine, Here, opened, packed, sum_of
from hutch.jobs.processes import Processes
from hutch.jobs.where import check_places, engine_for


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2) as engine:
        yield engine


@pytest.fixture(params=["here", "processes"])
def engine(request: pytest.FixtureRequest, processes: Processes) -> Engine:
    return processes if request.param == "processes" else Here()


def test_tasks_take_values_and_results_of_tasks(engine: Engine) -> None:
    plus, minus = engine.submit(both, engine.put(5), engine.put(3), results=2)
    [again] = engine.submit(both, plus, minus)
    assert engine.get(again) == (10, 6)


def test_no_task_sees_what_another_does_to_a_value(engine: Engine) -> None:
    ones = engine.put(np.ones(3))
    assert [engine.get(engine.submit(scribble, ones)[0]) for _ in range(2)] == [6.0, 6.0]


def test_an_error_of_the_user_reaches_whoever_asks_and_no_task_runs_on_it(engine: Engine) -> None:
    [failed] = engine.submit(refuse, engine.put(0))
    first, second = engine.submit(both, failed, engine.put(1), results=2)
    for ref in (failed, first, second):
        with pytest.raises(DataError, match="labels.tsv:7: a line is too long"):
            engine.get(ref)


def test_waiting_tells_what_is_there(engine: Engine) -> None:
    pending = [engine.submit(both, engine.put(i), engine.put(i))[0] for i in range(5)]
    found = []
    while pending:
        ready, pending = engine.wait(pending)
        assert ready
        found += [engine.get(ref)[0] for ref in ready]
    assert sorted(found) == [0, 2, 4, 6, 8]
    assert engine.wait([]) == ([], [])


@pytest.mark.parametrize("count", [1, 2, 4, 5, 16, 17, 33])
def test_the_tree_of_sums_has_one_shape(engine: Engine, count: int) -> None:
    parts = [np.float64(0.1) * 3.0**-i for i in range(count)]
    refs = [engine.submit(total, engine.put(part))[0] for part in parts]
    level = parts
    while len(level) > 1:
        level = [sum(level[i + 1 : i + 4], level[i]) for i in range(0, len(level), 4)]
    assert engine.get(sum_of(engine, refs))["sum"] == level[0]


def test_a_task_whose_process_is_killed_runs_again(processes: Processes, tmp_path: Path) -> None:
    others = [processes.submit(both, processes.put(i), processes.put(1))[0] for i in range(4)]
    [killed] = processes.submit(die_once, processes.put(str(tmp_path / "marker")))
    [after] = processes.submit(die_once, processes.put(str(tmp_path / "marker")))
    assert processes.get(killed) == processes.get(after) == "alive"
    assert [processes.get(other) for other in others] == [(i + 1, i - 1) for i in range(4)]


@pytest.mark.slow
def test_a_task_that_always_kills_its_process_is_given_up() -> None:
    with Processes(1) as engine:
        [killed] = engine.submit(die, engine.put(0))
        with pytest.raises(HutchError, match="processes died 11 times in a row"):
            engine.get(killed)


def test_files_of_values_go_with_them() -> None:
    with Processes(1) as engine:
        value = engine.put(1)
        [folder] = {Path(value.path).parent}
        assert len(list(folder.iterdir())) == 1
        del value
        assert not list(folder.iterdir())
    assert not folder.exists()


def test_without_ray_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(HutchError, match=re.escape("Ray is not installed: pip install 'hutch[ray]'")):
        engine_for(2, "auto")


def test_a_cluster_alone_says_nothing() -> None:
    with pytest.raises(UsageError, match="--ray: only says where shards are computed"):
        check_places(1, "auto")
    assert isinstance(engine_for(1), Here)


def test_what_users_import_is_at_the_top() -> None:
    import hutch.distributed as jobs

    assert {getattr(jobs, name).__name__ for name in jobs.__all__} == set(jobs.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'trian'"):
        jobs.trian  # noqa: B018


@pytest.mark.parametrize("writable", [False, True])
def test_values_are_what_was_packed_and_belong_to_who_opens_them(writable):
    shared = np.arange(5.0)
    value = {
        "plain": [1, "two", None],
        "same": (shared, shared),
        "turned": np.arange(12).reshape(3, 4).T,
        "some": np.arange(9)[::2],
        "none": np.empty((0, 3)),
        "one": np.float32(3),
        "names": np.array(["a", "bc"]),
        "records": np.zeros(2, [("x", "f8"), ("y", "i4")]),
        "objects": np.array([1, "x"], object),
    }
    content = packed(value)
    found = opened(memoryview(bytearray(content)) if writable else content)
    assert found["plain"] == value["plain"] and found["same"][0] is found["same"][1]
    for name in ("turned", "some", "none", "one", "names", "records", "objects"):
        assert np.array_equal(found[name], value[name]) and found[name].dtype == value[name].dtype
    found["same"][0][:] = 7
    assert np.array_equal(opened(content)["same"][0], shared)  # what one does with it no other sees


def test_a_task_may_change_what_it_gets(processes):
    shared = processes.put(np.zeros(100_000))
    tasks = [processes.submit(scribble, shared)[0] for _ in range(3)]
    assert [processes.get(task) for task in tasks] == [100_000.0] * 3
    assert not processes.get(shared).any()


KILLED = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from distributed_tasks import both
from hutch.jobs.processes import Processes
if __name__ == "__main__":
    engine = Processes(2)
    tasks = [engine.submit(both, engine.put(k), engine.put(1), results=2) for k in range(4)]
    print([engine.get(sum) for sum, _ in tasks], *engine._pool._processes, engine._folder, flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_nothing_stays_of_a_command_that_is_killed(tmp_path):
    (tmp_path / "main.py").write_text(KILLED)
    command = [sys.executable, tmp_path / "main.py", Path(__file__).parent]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        *sums, first, second, folder = process.stdout.readline().split()
        assert sums == ["[1,", "2,", "3,", "4]"] and Path(folder).is_dir()
        process.kill()
    deadline = time.monotonic() + 30
    while any(running(pid) for pid in (first, second)) or Path(folder).exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
