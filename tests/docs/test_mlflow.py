"""The MLflow plugin of the page on hooks logs to a local store."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

mlflow = pytest.importorskip("mlflow", reason="MLflow is not a dependency, not even of the tests; .ci/run installs it")
ROOT = Path(__file__).parents[2]


@pytest.mark.filterwarnings("default")
def test_the_plugin_logs_to_a_local_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a store of files needs no database
    page = (ROOT / "docs" / "hooks.md").read_text()
    source = page.partition('title="hutch_mlflow.py"\n')[2].partition("```")[0]
    (tmp_path / "hutch_mlflow.py").write_text(source)
    folder = tmp_path / "hutch_mlflow-0.1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: hutch-mlflow\nVersion: 0.1.0\n")
    (folder / "entry_points.txt").write_text("[hutch]\nmlflow = hutch_mlflow\n")
    (tmp_path / "train.vw").write_text("1 |f a\n-1 |f b\n" * 100)
    store = (tmp_path / "mlruns").as_uri()
    paths = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [str(Path(sys.executable).with_name("hutch")), "train", "train.vw", "--quiet"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": paths, "MLFLOW_TRACKING_URI": store},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "failed in" not in done.stderr, done.stderr
    client = mlflow.MlflowClient(store)
    [run] = client.search_runs(["0"])
    losses = client.get_metric_history(run.info.run_id, "average_loss")
    assert [entry.step for entry in losses] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert losses[-1].value < losses[0].value
