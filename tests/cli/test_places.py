"""Places that cannot be written: every command that writes says so in one line, and leaves nothing behind."""

import ctypes
import errno
import json
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="rights of files as Linux has them")

COMMANDS = {
    "train -f": "train data.vw -f {} --quiet",
    "train -p": "train data.vw -p {} --quiet",
    "train -r": "train data.vw -r {} --quiet",
    "train --events": "train data.vw --events {} -P 1 --quiet",
    "vw -f": "vw -d data.vw -f {} --quiet",
    "vw --cache_file": "vw -d data.vw --cache_file {} --quiet",
    "vw --readable_model": "vw -d data.vw --readable_model {} --quiet",
    "predict -p": "predict data.vw -i model -p {} --quiet",
    "predict --into": "predict data.csv -i of_tables --into {}/made --quiet",
    "crowd -p": "crowd labels.tsv -p {} --quiet",
    "crowd --workers": "crowd labels.tsv --workers {} --quiet",
    "crowd -f": "crowd labels.tsv --method online --slots 512 -f {} --quiet",
    "crowd --pairs": "crowd votes.tsv --pairs -p {} --quiet",
    "em fit": "em fit rows.csv --rank 2 -f {}",
    "em transform": "em transform rows.csv -i latent -p {}.npy",
    "active ask": "active ask data.vw -i active --store {} -n 3",
    "active learn": "active learn -i active -f {} --store labels.db",
    "active export": "active export --store labels.db -o {}",
    "active answer": "active answer answers.jsonl --store {}",
    "config schema": "config schema {}",
    "demo": "demo clicks --to {}/clicks",
    "reproduce --write": "reproduce dyadic --quick --write {}/ratings",
    "inspect --readable": "inspect model --readable {}",
    "reproduce": "reproduce priors --plots {}/plots",
}
NEED_THEIR_FILE = ("active answer",)
NOT_FILLING = (
    "predict --into",
    "em transform",
    "em fit",
    "active learn",
    "active export",
    "config schema",
)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("process", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint32) for name in ("effective", "permitted", "inheritable", "e", "p", "i"))


@contextmanager
def no_more_rights_than_the_files_give() -> Iterator[None]:
    """Without the capabilities by which root may do everything."""
    libc, header, sets = ctypes.CDLL(None, use_errno=True), _Header(0x20080522, 0), _Sets()
    assert libc.capget(ctypes.byref(header), ctypes.byref(sets)) == 0
    before, sets.effective = sets.effective, sets.effective & ~0b110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    assert libc.capset(ctypes.byref(header), ctypes.byref(sets)) == 0
    try:
        yield
    finally:
        sets.effective = before
        assert libc.capset(ctypes.byref(header), ctypes.byref(sets)) == 0


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("places")
    lines = [f"{1 if i % 3 else -1} 'tag{i}|f w{i % 7} v{i % 211}" for i in range(300)]
    (folder / "data.vw").write_text("\n".join(lines) + "\n")
    (folder / "data.csv").write_text("y,a,b\n" + "".join(f"{i % 2},{i % 7},{i % 5}\n" for i in range(300)))
    (folder / "tables.yaml").write_text("input: {columns: {label: y}}\nchain: [linear]\n")
    (folder / "active.yaml").write_text("chain: [active, linear]\n")
    (folder / "rows.csv").write_text("a,b,c\n" + "".join(f"{i % 3},{i % 5},{i % 7}\n" for i in range(60)))
    (folder / "labels.tsv").write_text("".join(f"w{i % 97}\tt{i // 7}\t{i // 7 % 3}\n" for i in range(2100)))
    (folder / "votes.tsv").write_text("".join(f"w{i % 97}\ta{i % 41}\tb{i % 43}\ta{i % 41}\n" for i in range(600)))
    return folder


@pytest.fixture
def here(files: Path, monkeypatch: pytest.MonkeyPatch, hutch: Run) -> Path:
    monkeypatch.chdir(files)
    if not (files / "latent").exists():
        for command in (
            "train data.vw -f model --quiet",
            "train data.csv -C tables.yaml -f of_tables --quiet",
            "train data.vw -C active.yaml -f active --quiet",
            "active ask data.vw -i active --store labels.db -n 5",
            "em fit rows.csv --rank 2 -f latent",
        ):
            assert hutch(*command.split()).code == 0
        requests = hutch("active", "requests", "--store", "labels.db").out.splitlines()
        answers = [{"id": json.loads(line)["id"], "worker": "w", "label": 1} for line in requests]
        (files / "answers.jsonl").write_text("".join(json.dumps(each) + "\n" for each in answers))
        assert hutch(*"active answer answers.jsonl --store labels.db".split()).code == 0
    return files


def refused(result: Any, path: Path) -> None:
    assert result.code in (1, 2), result
    assert path.name in result.err and result.err.count("\n") == 1, result.err
    assert "Errno" not in result.err


@pytest.mark.parametrize("name", COMMANDS)
def test_a_read_only_folder_is_said_in_one_line(here: Path, hutch: Run, name: str, tmp_path: Path) -> None:
    place = tmp_path / "closed"
    place.mkdir()
    if name in NEED_THEIR_FILE:
        (place / "out").write_bytes((here / "labels.db").read_bytes())
    before = sorted(place.iterdir())
    place.chmod(0o555)
    with no_more_rights_than_the_files_give():
        result = hutch(*COMMANDS[name].replace("{}/", f"{place}/").replace("{}", str(place / "out")).split())
    refused(result, place)
    assert os.strerror(errno.EACCES) in result.err or "writable" in result.err
    assert sorted(place.iterdir()) == before


@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_that_is_a_file_is_said_in_one_line(here: Path, hutch: Run, name: str, tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("kept")
    refused(hutch(*COMMANDS[name].replace("{}", str(place / "out")).split()), place)
    assert place.read_text() == "kept"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in NOT_FILLING])
def test_a_disk_that_fills_is_said_in_one_line(
    here: Path, hutch: Run, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python keeps cut bytecode as if it were whole
    place = tmp_path / "full"
    place.mkdir()
    if name in NEED_THEIR_FILE:
        (place / "out").write_bytes((here / "labels.db").read_bytes())
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    command = COMMANDS[name].replace("{}/", f"{place}/").replace("{}", str(place / "out")).split()
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, hard[1]))
    try:
        result = hutch(*command)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, hard)
    kept = "".join(line for line in result.err.splitlines(True) if "no kernel cache" not in line)
    refused(replace(result, err=kept), place)
    files = [each for each in place.rglob("*") if each.is_file() and not each.name.startswith("out")]
    assert not files or "{}/" in COMMANDS[name] and sum(each.stat().st_size for each in files) <= 2048


ONE_FILE = [
    ("train data.vw -f data.vw --quiet", "data.vw: cannot be written: this run reads it"),
    ("train data.vw -f new -p ./new --quiet", "./new: cannot be written: two options name it"),
    ("vw -d data.vw -p data.vw --quiet", "data.vw: cannot be written: this run reads it"),
    ("predict data.vw -i model -p data.vw --quiet", "data.vw: cannot be written: this run reads it"),
    ("crowd labels.tsv -p labels.tsv --quiet", "labels.tsv: cannot be written: this run reads it"),
    ("crowd labels.tsv -p new --workers new --quiet", "new: cannot be written: two options name it"),
    ("crowd votes.tsv --pairs -p votes.tsv --quiet", "votes.tsv: cannot be written: this run reads it"),
    ("em fit rows.csv --rank 2 -f rows.csv", "rows.csv: cannot be written: this run reads it"),
    ("em transform rows.csv -i latent -p rows.csv", "rows.csv: cannot be written: this run reads it"),
]


@pytest.mark.parametrize(("command", "message"), ONE_FILE)
def test_data_is_not_overwritten(here: Path, hutch: Run, command: str, message: str) -> None:
    before = {path.name: path.read_bytes() for path in here.iterdir() if path.is_file()}
    result = hutch(*command.split())
    assert result.code == 2 and message in result.err and result.err.count("\n") == 1, result
    assert {path.name: path.read_bytes() for path in here.iterdir() if path.is_file()} == before


@pytest.mark.parametrize("command", ["predict data.vw -i pipe", "vw -d data.vw -i pipe", "crowd labels.tsv -i pipe"])
def test_a_model_that_is_a_pipe_is_not_waited_for(here: Path, hutch: Run, command: str) -> None:
    os.mkfifo(here / "pipe")
    try:
        result = hutch(*command.split(), *(["--method", "online"] if command.startswith("crowd") else []))
    finally:
        (here / "pipe").unlink()
    assert result.code == 1 and "pipe: is a pipe or a device, wanted a file" in result.err


def test_a_chain_without_an_end_is_refused(here: Path, hutch: Run) -> None:
    result = hutch("config", "check", "/dev/zero")
    assert result.code == 2 and "/dev/zero: got " in result.err and "characters, wanted at most" in result.err
