"""Recipes of docs/dask-and-spark.md: the bits of the reference."""

import importlib.util
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch.chain import Chain
from hutch.core.errors import DataError
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.simulate import simulate
from hutch.distributed import Here, crowd, em, predict, train
from hutch.em.fit import Settings

PAGE = Path(__file__).parents[2] / "docs" / "dask-and-spark.md"


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a block of the page by its title."""

    def load(title: str) -> Any:
        found = re.search(rf'^```python title="{title}"\n(.*?)^```$', PAGE.read_text(), re.DOTALL | re.MULTILINE)
        assert found, title
        (tmp_path / title).write_text(found[1])
        monkeypatch.syspath_prepend(str(tmp_path))
        spec = importlib.util.spec_from_file_location(title.removesuffix(".py"), tmp_path / title)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.mark.filterwarnings("ignore")  # Dask's own warnings are not ours
def test_dask_gives_the_bits_of_the_reference_though_a_worker_is_killed(recipe: Any, tmp_path: Path) -> None:
    pytest.importorskip("dask.distributed", reason="Dask is not installed: pip install 'dask[distributed]'")
    from dask.distributed import Client, LocalCluster

    labels, model = simulate(300, 30, 3, 4, seed=3).labels, TwoLevel()
    (tmp_path / "a.vw").write_text("".join(f"{i % 2 * 2 - 1} |f w{i % 2} x{i % 9}\n" for i in range(300)))
    config = {"chain": [{"linear": {"loss": "logistic"}}], "weights": {"bits": 10}}
    rows = np.random.default_rng(0).normal(size=(400, 6))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
        recipe("on_dask.py").OnDask(client) as engine,
    ):
        first = next(iter(client.run(os.getpid).values()))
        killer = threading.Thread(target=lambda: (time.sleep(0.5), os.kill(first, signal.SIGKILL)))
        killer.start()
        here, there = (crowd(labels, model, shards=4, engine=each).fit for each in (Here(), engine))
        killer.join()
        assert np.array_equal(here.posterior, there.posterior) and here.objective == there.objective
        chains = [train([tmp_path / "a.vw"], config, shards=3, passes=2, engine=each) for each in (Here(), engine)]
        assert all(np.array_equal(array, chains[1].arrays()[name]) for name, array in chains[0].arrays().items())
        states = [em(rows, Settings(rank=2), shards=3, engine=each).state() for each in (Here(), engine)]
        assert all(np.array_equal(array, states[1][name]) for name, array in states[0].items())
        chains[0].save(tmp_path / "model")
        [result] = predict([tmp_path / "a.vw"], tmp_path / "model", tmp_path / "out", engine=engine)
        assert result.examples == 300
        with pytest.raises(DataError, match=r"bad.vw:1:4"):
            (tmp_path / "bad.vw").write_text("1 |f:x a\n")
            train([tmp_path / "bad.vw"], config, shards=2, engine=engine, strict=True)


@pytest.mark.filterwarnings("ignore")  # Spark's own warnings are not ours
def test_spark_predicts_as_one_process_does(recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyspark", reason="Spark is not installed: pip install pyspark, and Java")
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    random = np.random.default_rng(0)
    table = pa.table({"a": random.normal(size=5000), "b": random.choice(["x", "y"], 5000)})
    labelled = table.append_column("label", pa.array((random.random(5000) > 0.5).astype(float)))
    chain = Chain.from_config({"chain": ["linear"], "input": {"columns": {"label": "label"}}})
    chain.learn(labelled)
    chain.save(tmp_path / "model")
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    try:
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        spark = builder.getOrCreate()
    except PySparkRuntimeError as error:
        pytest.skip(f"Spark does not start, as without Java: {error}")
    try:
        import pyarrow.parquet

        pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
        frame = recipe("on_spark.py").predicted(
            spark.read.parquet(str(tmp_path / "rows.parquet")), str(tmp_path / "model")
        )
        found = np.array([row.prediction for row in frame.collect()], np.float32)
    finally:
        spark.stop()
    assert np.array_equal(found, chain.predict(table))
