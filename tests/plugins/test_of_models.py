"""Models of crowds and of online EM say which package they come from, and ask for it when they are read."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hutch.core.chain.model_file import load_metadata
from hutch.plugins.manager import Plugins
from hutch.plugins.new import Package
from tests import forked_hutch

LABELS = "task,worker,label\nt1,a,1\nt1,b,1\nt2,a,2\nt2,b,1\nt2,c,2\nt3,a,1\nt3,c,1\n"
MADE = {
    "crowd-model": ("crowd l.csv --model mine", "crowd l.csv", "crowd"),
    "em-model": ("em fit c.npy --model mine --regularizer none", "em fit c.npy", "em"),
}


@pytest.fixture(scope="module", params=MADE)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A folder with a plugin as `hutch plugins new` writes it, and a model made with it."""
    folder = tmp_path_factory.mktemp("made")
    Package(request.param, "mine", Plugins(only=()).registry).write(folder / "package")
    shutil.move(folder / "package" / "hutch_mine.py", folder)
    (folder / "l.csv").write_text(LABELS)
    np.save(folder / "c.npy", np.random.default_rng(0).poisson(3.0, (60, 1)).astype(float))
    install(folder, "1.5")
    done = hutch(folder, f"{MADE[request.param][0]} -f m.model")
    assert done.returncode == 0, done.stderr
    yield request.param, folder


def install(folder: Path, version: str) -> None:
    for old in folder.glob("*.dist-info"):
        shutil.rmtree(old)
    info = folder / f"hutch_mine-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: hutch-mine\nVersion: {version}\n")
    (info / "entry_points.txt").write_text("[hutch]\nmine = hutch_mine\n")


def hutch(folder: Path, words: str) -> subprocess.CompletedProcess[str]:
    known = {**os.environ, "PYTHONPATH": str(folder)}
    command = [forked_hutch.hutch(), *words.split()]
    return subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True)


def test_a_model_names_its_package_and_version(made: tuple[str, Path]) -> None:
    kind, folder = made
    assert load_metadata(folder / "m.model", kind=MADE[kind][2])["plugins"] == {"hutch-mine": "1.5"}
    done = hutch(folder, f"{MADE[kind][1]} -i m.model")
    assert (done.returncode, "hutch-mine" in done.stderr) == (0, False)


def test_another_version_is_told(made: tuple[str, Path]) -> None:
    kind, folder = made
    install(folder, "1.6")
    done = hutch(folder, f"{MADE[kind][1]} -i m.model")
    install(folder, "1.5")
    assert done.returncode == 0
    assert "m.model: made with hutch-mine 1.5, now 1.6: predictions may differ" in done.stderr


def test_a_missing_package_is_named(made: tuple[str, Path]) -> None:
    kind, folder = made
    [info] = folder.glob("*.dist-info")
    info.rename(folder / "gone")
    done = hutch(folder, f"{MADE[kind][1]} -i m.model")
    (folder / "gone").rename(info)
    wanted = "m.model: the model needs a plugin that is not loaded: pip install hutch-mine==1.5\n"
    assert (done.returncode, done.stderr) == (1, wanted)


def test_a_model_that_comes_with_hutch_names_nothing(made: tuple[str, Path]) -> None:
    kind, folder = made
    words = {"crowd": "crowd l.csv", "em": "em fit c.npy --rank 1"}[MADE[kind][2]]
    assert hutch(folder, f"{words} -f own.model").returncode == 0
    assert "plugins" not in load_metadata(folder / "own.model", kind=MADE[kind][2])


def test_damaged_names_are_refused(tmp_path: Path) -> None:
    from hutch.core.chain.model_file import save_model
    from hutch.core.errors import ModelError
    from hutch.crowd.aggregate import load

    save_model(tmp_path / "m", {"worker_names": np.zeros(2, np.uint8)}, {"plugins": {"a": 3}}, kind="crowd")
    with pytest.raises(ModelError, match="the model is damaged: its plugins are"):
        load(str(tmp_path / "m"))
