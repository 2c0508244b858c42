import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hutch.core.atomic import atomic_write, check_apart, check_outputs, check_writable, write_bytes, write_text
from hutch.core.errors import HutchError, UsageError


def test_appears_only_when_whole(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with atomic_write(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), BrokenPipeError(errno.EPIPE, "pipe")])
def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"old")
    with pytest.raises(type(error)), atomic_write(path) as file:
        file.write(b"half")
        raise error
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with pytest.raises(HutchError, match="model: cannot be written: No space left on device"), atomic_write(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert not list(tmp_path.iterdir())


def test_permissions_are_those_of_a_plain_file_or_of_the_file_replaced(tmp_path: Path) -> None:
    plain, path = tmp_path / "plain", tmp_path / "model"
    plain.write_bytes(b"")
    write_bytes(path, b"1")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    path.chmod(0o640)
    write_bytes(path, b"2")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_links_are_followed(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_text(link, "neu ü")
    assert link.is_symlink() and real.read_text(encoding="utf-8") == "neu ü"


def test_devices_are_written_directly() -> None:
    check_writable("/dev/null")
    write_bytes("/dev/null", b"gone")
    assert not Path("/dev/null").is_file()


def test_redirected_standard_output_is_written_directly(tmp_path: Path) -> None:
    code = "from hutch.core.atomic import write_bytes; write_bytes('/dev/stdout', b'said')"
    with open(tmp_path / "out", "wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_bytes() == b"said"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"said"


@pytest.mark.parametrize(
    ("path", "reason"),
    [("missing/model", "No such file or directory"), ("file/model", "Not a directory"), (".", "it is a directory")],
)
def test_an_unwritable_path_is_known_before(tmp_path: Path, path: str, reason: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    target = tmp_path / path
    for attempt in (check_writable, lambda path: write_bytes(path, b"")):
        with pytest.raises(HutchError, match=f"cannot be written: {reason}"):
            attempt(target)


def test_a_read_only_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda asked, mode: asked != path)
    with pytest.raises(HutchError, match="model: cannot be written: it is read-only"):
        check_writable(path)


def test_checking_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "model"
    check_writable(path)
    assert not list(tmp_path.iterdir())


KILLED = """
import os, signal, sys
from hutch.core.atomic import atomic_write
with atomic_write(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not asked whether they live")
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    for name in ("model", "model", "other"):
        done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / name)])
        assert done.returncode < 0
    assert len(list(tmp_path.iterdir())) == 1, "each of them removes what the one before left"
    strangers = [".model.part", ".model.0badcafe-1-x.part", f".model.{'0' * 8}-999999999-x.part", "notes.part"]
    for name in strangers:
        (tmp_path / name).write_bytes(b"not ours")
    with atomic_write(tmp_path / "first") as first:
        first.write(b"1")
        write_bytes(tmp_path / "second", b"2")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*strangers, "first", "second"])


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not asked whether they live")
def test_a_machine_of_the_same_name_keeps_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "model")]).returncode < 0
    for identity, left in ((b"another", 2), (None, 1)):
        with monkeypatch.context() as patched:
            if identity:
                patched.setattr(Path, "read_bytes", lambda path, identity=identity: identity)
            write_bytes(tmp_path / "second", b"2")
        assert len(list(tmp_path.iterdir())) == left


def test_a_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for write in (lambda: write_bytes("model", b"x"), lambda: check_writable("model")):
        with pytest.raises(HutchError, match="model: cannot be written: No such file"):
            write()


NAMES = ["e" * 250, "\N{GRINNING FACE}" * 60, "two\nlines", "plain"]


@pytest.mark.skipif(sys.platform == "win32", reason="names there are limited otherwise")
def test_names_of_any_length_and_kind(tmp_path: Path) -> None:
    for name in [*NAMES, os.fsdecode(b"not utf-8 \xff")]:
        write_bytes(tmp_path / name, b"whole")
        assert (tmp_path / name).read_bytes() == b"whole"
        done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / name)])
        assert done.returncode < 0
        write_bytes(tmp_path / name, b"again")
    assert len(list(tmp_path.iterdir())) == 5  # nothing temporary is left


def test_links_that_lead_to_each_other(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for write in (check_writable, lambda path: write_bytes(path, b"x")):
        with pytest.raises(HutchError, match="a: cannot be written: "):
            write(tmp_path / "a")


@pytest.mark.parametrize(
    ("number", "saved"), [(errno.EINVAL, True), (errno.ENOTSUP, True), (errno.EIO, False), (errno.ENOSPC, False)]
)
def test_file_systems_that_cannot_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, saved: bool
) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"old")

    def failing(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", failing)
    if saved:
        write_bytes(path, b"new")
    else:
        with pytest.raises(HutchError, match=f"model: cannot be written: {os.strerror(number)}"):
            write_bytes(path, b"new")
    assert path.read_bytes() == (b"new" if saved else b"old") and len(list(tmp_path.iterdir())) == 1


def test_file_systems_without_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(path: str, mode: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted", path)

    monkeypatch.setattr(os, "chmod", refusing)
    write_bytes(tmp_path / "model", b"new")
    assert (tmp_path / "model").read_bytes() == b"new"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
def test_a_device_that_takes_nothing_is_named() -> None:
    with pytest.raises(HutchError, match="/dev/full: cannot be written: No space left on device"):
        write_bytes("/dev/full", b"x" * 100_000)


def test_outputs_that_are_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").write_bytes(b"1 |f a")
    Path("link").symlink_to("data")
    check_apart(["model", "other", os.devnull, os.devnull], ["data", "s3://bucket/model", "-"])
    for output in ("data", "./data", "link", tmp_path / "data"):
        with pytest.raises(UsageError, match="cannot be written: this run reads it"):
            check_apart([output], ["data"])
    with pytest.raises(UsageError, match="model: cannot be written: two options name it"):
        check_apart(["model", tmp_path / "model"])
    check_outputs(["model", None, "-"], ["data", None, "-"])
    with pytest.raises(HutchError, match="missing"):
        check_outputs([None, "missing/model"])
    with pytest.raises(UsageError, match="reads it"):
        check_outputs(["data"], [None, "data"])
