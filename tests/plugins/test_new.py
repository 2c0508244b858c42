"""`hutch plugins new` writes packages that pass their own checks and tests."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hutch.core.chain.registry import Registry
from hutch.core.errors import UsageError
from hutch.plugins.manager import installed
from hutch.plugins.new import KINDS, Package


@pytest.mark.parametrize("kind", KINDS)
def test_a_package_is_whole_and_has_its_own_names(kind: str) -> None:
    files = Package(kind, "hutch-top-two", Registry()).files
    assert sorted(files) == ["LICENSE", "README.md", "hutch_top_two.py", "pyproject.toml", "tests/test_top_two.py"]
    project = tomllib.loads(files["pyproject.toml"])
    assert project["project"]["name"] == "hutch-top-two"
    assert project["project"]["entry-points"]["hutch"] == {"top_two": "hutch_top_two"}
    for path, text in files.items():
        assert not [word for word in ("mine", "Mine", "MINE") if word in text.replace("determined", "")], path
        if path.endswith(".py"):
            compile(text, path, "exec")


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("los", "huber", "KIND: got 'los'; did you mean 'loss'?"),
        ("loss", "Huber", "NAME: got 'Huber', wanted lower-case letters and digits, as in top-two"),
        ("loss", "2x", "NAME: got '2x', wanted"),
        ("loss", "squared", "NAME: the loss 'squared' is there already, wanted another name"),
        ("base-learner", "linear", "NAME: the base-learner 'linear' is there already"),
        ("reader", "csv", "NAME: the reader '.csv' is there already"),
        ("command", "train", "NAME: the command 'train' is there already"),
    ],
)
def test_what_cannot_become_a_plugin_is_refused(kind: str, name: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        Package(kind, name, installed().registry)
    assert message in str(refused.value)


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    package = Package("loss", "huber", Registry())
    assert package.write(tmp_path / "new") == tmp_path / "new"
    with pytest.raises(UsageError, match="exists; wanted a new folder"):
        package.write(tmp_path / "new")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_passes_its_own_checks(tmp_path: Path, kind: str) -> None:
    """Installed as an editable install does it: its module on the path, and its metadata beside it."""
    package = Package(kind, "top-two", installed().registry)
    target = package.write(tmp_path / "package")
    metadata = tmp_path / "hutch_top_two-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: hutch-top-two\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text("[hutch]\ntop_two = hutch_top_two\n")
    paths = [str(target), str(tmp_path), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "HUTCH_LOAD_PLUGINS": "hutch-top-two",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    commands = [[sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"]]
    if KINDS[kind].checked:
        commands.append([str(Path(sys.executable).with_name("hutch")), "plugins", "check", "hutch-top-two"])
    for command in commands:
        done = subprocess.run(command, cwd=target, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
