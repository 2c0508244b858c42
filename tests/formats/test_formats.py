"""Files of earlier versions are read and say the same; those of later formats are refused with both versions."""

import importlib.util
import json
import re
import sqlite3
import tarfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from hutch import Chain
from hutch.core.chain.model_file import FORMAT_VERSION, load_metadata
from hutch.core.data.cache import CACHE_ENDING
from hutch.core.errors import StoreError
from hutch.core.version import version
from hutch.durable.schema import SCHEMA_VERSION, open_store
from hutch.plugins.manager import Plugins
from tests.forked_hutch import hutch

HERE = Path(__file__).parent
ARCHIVES = sorted((HERE / "data").glob("format-*.tar.xz"))


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_formats", HERE / "make.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKE = _script()


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.name.partition(".")[0])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The files of a format."""
    with tarfile.open(request.param) as file:
        file.extractall(tmp_path, filter="data")
    return tmp_path


def alike(found: str, wanted: str) -> bool:
    """Whether texts are the same but for the last digits of numbers, for times, and for the sentences of verdicts."""
    number = r"-?\d+\.\d+(?:e[+-]\d+)?"
    changes = r'"seconds": [\d.e-]+|"verdict": \[[^]]*\]|"next_command": (?:null|"(?:[^"\\]|\\.)*")'
    plain = [re.sub(changes, "", text) for text in (found, wanted)]
    words = [re.split(number, text) for text in plain]
    figures = [np.array(re.findall(number, text), np.float64) for text in plain]
    return words[0] == words[1] and np.allclose(*figures, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:lbfgs. nothing is learned before a pass ends", "ignore:explore_decaying. ")
def test_every_layer_has_a_model_that_predicts_as_it_did(archive: Path) -> None:
    layers: set[str] = set()
    wrong: list[str] = []
    for path in sorted((archive / "chains").glob("*.json")):
        about = json.loads(path.read_text())
        layers |= set(about["layers"])
        chain = Chain.load(path.with_suffix(".model"))
        lines = "\n".join(about["lines"])
        if not np.allclose(chain.predict(lines), about["predictions"], rtol=1e-5, atol=1e-6, equal_nan=True):
            wrong.append(path.stem)
        chain.learn(lines)
    assert not wrong, f"other predictions than those of the version that wrote the model: {wrong}"
    missing = sorted(set(Plugins(only=()).registry.reductions) - layers)
    assert not missing, f"python tests/formats/make.py, for {missing}"


@pytest.mark.parametrize("kind", MAKE.KINDS)
def test_files_of_every_kind_give_what_they_gave(archive: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache is made again where it lies beside another file than it was made of, so that of the archive is."""
    folder = archive / "kinds"
    monkeypatch.setattr(MAKE, "HUTCH", [hutch()])
    if not (kept := folder / f"{kind}.json").exists():
        pytest.skip(f"the archive has no {kind}; python tests/formats/make.py")
    for words, wanted in json.loads(kept.read_text()).items():
        found = MAKE.hutch(words, folder)
        assert alike(found, wanted), f"hutch {words}: got\n{found}\nwanted\n{wanted}"


def test_every_file_says_its_format_and_the_version_that_wrote_it(archive: Path) -> None:
    folder = archive / "kinds"
    assert load_metadata(folder / "mail")["chain"]
    for path in [*(archive / "chains").glob("*.model"), *folder.glob("*.model"), folder / "mail"]:
        size = int.from_bytes(path.read_bytes()[:8], "little")
        header = json.loads(path.read_bytes()[8 : 8 + size])["__metadata__"]
        assert header["format"] == "hutch" and 1 <= int(header["format_version"]) <= FORMAT_VERSION
        assert re.fullmatch(r"\d+\.\d+.*", header["hutch_version"])
    for path in (folder / "labels.db", folder / "mail.log.db"):
        assert _noted(path) and 1 <= _pragma(path) <= SCHEMA_VERSION
    cache = (folder / f"data.vw{CACHE_ENDING}").read_bytes()
    assert cache.startswith(b"HUTCH BATCHES 1\n") and b'{"hutch_version": "' in cache


def _noted(path: Path) -> list[Any]:
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT value FROM store WHERE key = 'hutch_version'").fetchall()
    connection.close()
    return found


def _pragma(path: Path) -> int:
    connection = sqlite3.connect(path)
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    connection.close()
    return found


@pytest.mark.parametrize(("noted", "by"), [("9.9", "9.9"), (None, "None")])
def test_a_store_of_a_later_format_is_refused_with_both_versions(tmp_path: Path, noted: str | None, by: str) -> None:
    path = tmp_path / "labels.db"
    connection = open_store(path, create=True)
    connection.execute("UPDATE store SET value = ? WHERE key = 'hutch_version'" if noted else "DELETE FROM store", (
        [noted] if noted else []))  # fmt: skip
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    wanted = rf"labels.db: got store format {SCHEMA_VERSION + 1}, written by hutch {by}; "
    with pytest.raises(StoreError, match=wanted + rf"hutch {version()} reads up to {SCHEMA_VERSION}: upgrade it"):
        open_store(path, create=False)
