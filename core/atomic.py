"""Files that appear under their name only when they are whole."""

import contextlib
import errno
import os
import re
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from hutch.core.errors import HutchError, UsageError, at

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None  # type: ignore[assignment]


def _failed(path: Path, error: OSError) -> HutchError:
    return HutchError(at(str(path), None, None, f"cannot be written: {error.strerror or error}"))


def _is_special(path: Path) -> bool:
    """True for a path that cannot be replaced: a terminal, a pipe, anything behind /dev/stdout."""
    return path.parent == Path("/dev") or (path.exists() and not path.is_file() and not path.is_dir())


def _permissions(path: Path) -> int:
    """Those of the file that is replaced, else those a plain open() would give; a temporary file is private."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync(descriptor: int) -> None:
    """Make the written bytes durable, where the file system can."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
            raise


def sync_directory(directory: Path) -> None:
    """Make a rename durable; not every system lets a directory be opened."""
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError:
        return
    try:
        _sync(descriptor)
    except OSError as error:
        raise _failed(directory, error) from None
    finally:
        os.close(descriptor)


def locked(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file for this process, or shared with others; returns whether no other process has locked it.

    On systems or file systems without locks it is never locked.
    """
    if fcntl is not None:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            return shared or error.errno not in (errno.EACCES, errno.EAGAIN)
    return True


@contextmanager
def kept_from_servers(path: str | Path | None) -> Iterator[None]:
    """Keep servers from taking a file that is written at the end of the block, which may be hours away.

    Args:
        path: of the file; it need not exist. None: nothing is locked.

    Raises:
        HutchError: a server is using it.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            found = stack.enter_context(open(path, "rb")) if path is not None and Path(path).is_file() else None
            if found is not None and not locked(found.fileno(), shared=True):
                raise HutchError(at(str(path), None, None, "cannot be written: a server is using it"))
        yield


def _temporary(path: Path, held: bool = False) -> tuple[int, str]:
    if not held:
        with kept_from_servers(path):
            pass
    if path.is_dir():
        raise HutchError(at(str(path), None, None, "cannot be written: it is a directory"))
    if path.exists() and not os.access(path, os.W_OK):  # a rename would replace it all the same
        raise HutchError(at(str(path), None, None, "cannot be written: it is read-only"))
    machine = _machine()
    _remove_abandoned(path.parent, machine)
    begin = path.name[:100]
    while len(os.fsencode(begin)) > 100:  # names are limited in bytes
        begin = begin[:-1]
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    while True:
        name = path.parent / f".{begin}.{machine}-{os.getpid()}-{os.urandom(6).hex()}{_ENDING}"
        try:
            return os.open(name, flags, 0o600), str(name)
        except FileExistsError:
            continue
        except OSError as error:
            raise _failed(path, error) from None


_ENDING = ".part"


def _machine() -> str:
    """Names whose process numbers ours are: this machine, or this container of it."""
    name = os.uname().nodename if sys.platform != "win32" else ""
    number, processes = b"", 0
    with contextlib.suppress(OSError):  # machines on a shared folder may have one name
        number = Path("/etc/machine-id").read_bytes()
    with contextlib.suppress(OSError):
        processes = os.stat("/proc/self/ns/pid").st_ino
    return f"{zlib.crc32(f'{name} {processes} {number!r}'.encode()):08x}"


def _remove_abandoned(directory: Path, machine: str) -> None:
    """Remove temporary files of this user whose process is gone: it was killed while it wrote."""
    if sys.platform == "win32":
        return  # asking whether a process lives would end it
    named = re.compile(rf"\..*\.{machine}-(\d+)-[^.]*\{_ENDING}", re.DOTALL)
    try:
        entries = [entry for entry in os.scandir(directory) if entry.name.endswith(_ENDING)]
    except OSError:
        return  # the write that follows reports the error
    for entry in entries:
        found = named.fullmatch(entry.name)
        with contextlib.suppress(OSError):
            if found and entry.is_file(follow_symlinks=False) and entry.stat().st_uid == os.geteuid():
                if not _lives(int(found[1])):
                    os.unlink(entry.path)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # another process owns it
    return True


def _resolved(path: str | Path) -> Path:
    try:
        found = Path(os.path.realpath(path))
    except OSError as error:  # the directory of this process is gone
        raise _failed(Path(path), error) from None
    if found.is_symlink():
        raise HutchError(at(str(path), None, None, "cannot be written: its links form a loop"))
    return found


def check_writable(path: str | Path, *, held: bool = False) -> None:
    """Find out before a long run whether `path` can be written after it; `held` as of `atomic_write`.

    Raises:
        HutchError: the directory is missing or closed, or `path` is a directory.
    """
    if _is_special(Path(path)):
        return
    target = _resolved(path)
    descriptor, name = _temporary(target, held)
    os.close(descriptor)
    os.unlink(name)


def check_apart(written: Iterable[str | Path], read: Iterable[str | Path] = ()) -> None:
    """Check before a run that its outputs do not replace each other or the data that it reads.

    Args:
        written: paths of the outputs; a pipe, a terminal and `/dev/null` may appear several times.
        read: paths of the data.

    Raises:
        UsageError: two of the paths are one file.
    """
    known = {_place(path): "this run reads it" for path in read}
    for path in written:
        if not _is_special(Path(path)):
            if (place := _place(path)) in known:
                raise UsageError(at(str(path), None, None, f"cannot be written: {known[place]}; wanted another file"))
            known[place] = "two options name it"


def check_outputs(written: Iterable[str | Path | None], read: Iterable[str | Path | None] = ()) -> None:
    """`check_writable` of all that a run writes, and `check_apart`; None and `-` are left out."""
    outputs = [path for path in written if path is not None and path != "-"]
    for path in outputs:
        check_writable(path)
    check_apart(outputs, [path for path in read if path is not None])


def _place(path: str | Path) -> object:
    """A key that all names of one file share."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return _resolved(path)
    return found.st_dev, found.st_ino


def make_directory(path: str | Path) -> Path:
    """Make a directory that files will be written into, and find out before a long run whether they can be.

    Args:
        path: of the directory; it may be there already.

    Returns:
        The path.

    Raises:
        HutchError: it cannot be made, or is closed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     make_directory(Path(folder) / "plots" / "today").is_dir()
    True
    """
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = "it is not a directory" if path.exists() else error.strerror or error
        raise HutchError(at(str(path), None, None, f"cannot be made: {why}")) from None
    check_writable(path / "file")
    return path


@contextmanager
def atomic_write(path: str | Path, *, private: bool = False, held: bool = False) -> Iterator[BinaryIO]:
    """Open `path` for writing bytes; it is replaced in one step when the block succeeds, else left unchanged.

    The bytes go to a temporary file beside it, which is synced and renamed; if the process is killed before that, the
    next one that writes into this directory removes it. Links are followed; a terminal, a pipe and
    `/dev/null` are written directly.

    Args:
        path: of the file.
        private: only this user may read or write it; else it has the permissions of the file before, or those
            that a plain `open` gives.
        held: this process has locked it; without that, a file that a server has locked is refused.

    Raises:
        HutchError: the file cannot be written, with the system's reason (also from inside the block: a full disk).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "model") as file:
    ...         _ = file.write(b"whole")
    ...     (Path(folder) / "model").read_bytes()
    b'whole'
    """
    if _is_special(Path(path)):
        try:
            with open(path, "wb") as file:
                yield file
        except OSError as error:
            if error.filename in (None, path, str(path)) and not isinstance(error, BrokenPipeError):
                raise _failed(Path(path), error) from None
            raise
        return
    target = _resolved(path)
    descriptor, name = _temporary(target, held)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            _sync(file.fileno())
        with contextlib.suppress(PermissionError):  # some file systems have none; it is private then
            os.chmod(name, 0o600 if private else _permissions(target))
        os.replace(name, target)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, name) and not isinstance(error, BrokenPipeError):
            raise _failed(target, error) from None
        raise
    sync_directory(target.parent)


def write_bytes(path: str | Path, content: bytes, *, private: bool = False) -> None:
    """Write a whole file in one step; see `atomic_write`."""
    with atomic_write(path, private=private) as file:
        file.write(content)


def write_text(path: str | Path, content: str) -> None:
    """Write a whole UTF-8 text file in one step, lines ending as they are; raises as `atomic_write` does."""
    write_bytes(path, content.encode())
