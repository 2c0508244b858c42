"""Ray: the bits of the reference, whatever dies. One cluster of two nodes for all tests here."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed_tasks import Dying, both, die_once, refuse

from hutch.core.errors import DataError
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.simulate import simulate
from hutch.distributed import Here, OnRay, crowd, predict, train

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'hutch[ray]'")
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]  # Ray's own warnings are not ours


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes with a processor each."""
    from ray.cluster_utils import Cluster

    kept = {name: os.environ.get(name) for name in ("PYTHONPATH", "RAY_USAGE_STATS_ENABLED")}
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), kept["PYTHONPATH"] or ""])
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    try:
        yield made
    finally:
        ray.shutdown()
        made.shutdown()
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@pytest.fixture(scope="module")
def engine(cluster: Any) -> Iterator[OnRay]:
    with OnRay(cluster.address) as made:
        yield made


def test_tasks_take_values_and_results_of_tasks(engine: OnRay) -> None:
    plus, minus = engine.submit(both, engine.put(5), engine.put(3), results=2)
    [again] = engine.submit(both, plus, minus, results=1)
    assert engine.get(again) == (10, 6)
    ready, pending = engine.wait([plus, minus])
    assert len(ready) + len(pending) == 2 and ready and engine.wait([]) == ([], [])


def test_an_error_of_the_user_is_not_tried_again(engine: OnRay) -> None:
    [failed] = engine.submit(refuse, engine.put(0))
    with pytest.raises(DataError, match="labels.tsv:7: a line is too long"):
        engine.get(failed)


def test_a_task_whose_process_is_killed_runs_again(engine: OnRay, tmp_path: Path) -> None:
    [killed] = engine.submit(die_once, engine.put(str(tmp_path / "marker")))
    assert engine.get(killed) == "alive"


def test_crowds_have_the_bits_of_the_reference_with_a_process_killed_in_every_round(
    engine: OnRay, tmp_path: Path
) -> None:
    model = TwoLevel(clarity=0.4, iterations=2)
    labels = simulate(300, 30, 3, 4, seed=3).labels
    dying = Dying(engine, tmp_path, 4)
    here, there = (crowd(labels, model, shards=4, engine=each).fit for each in (Here(), dying))
    assert dying.killed >= 2
    assert np.array_equal(here.posterior, there.posterior) and here.objective == there.objective
    for name, array in here.state.workers.items():
        assert np.array_equal(array, there.state.workers[name])


def test_chains_have_the_bits_of_the_reference_with_a_process_killed_in_every_round(
    engine: OnRay, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        lines = [f"{i % 2 * 2 - 1} |words w{i % 2} {name}{i % 9} |user u{i % 5}" for i in range(300)]
        (tmp_path / f"{name}.vw").write_text("\n".join(lines) + "\n")
    config = {"chain": [{"linear": {"loss": "logistic"}}], "weights": {"bits": 10}}
    (deaths := tmp_path / "deaths").mkdir()
    dying = Dying(engine, deaths, 3)
    here, there = (
        train([f"{tmp_path}/*.vw"], config, shards=3, by=("user",), passes=2, engine=each) for each in (Here(), dying)
    )
    assert dying.killed == 2
    for name, array in here.arrays().items():
        assert np.array_equal(array, there.arrays()[name]), name
    here.save(tmp_path / "model")
    results = predict([f"{tmp_path}/*.vw"], tmp_path / "model", tmp_path / "out", engine=engine)
    assert [result.examples for result in results] == [300, 300]
