"""The model file: safetensors, so that reading one never runs code.

Its `__metadata__` holds `format` ("hutch"), `format_version`, `hutch_version`, `kind`, `metadata` (JSON of whatever
the writer adds: the chain, plugin versions, counters), `names` of the arrays, and `crc32` of the metadata and of the
arrays' content. An array of which few rows are in use is stored as `name#rows` (their numbers) and `name#values`, with
its shape in `sparse`.
"""

import json
import re
import zlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from hutch.core.atomic import atomic_write
from hutch.core.chain.stored import Stored, dense, rows_in_use
from hutch.core.errors import ModelError, at, counted, shortened, warn
from hutch.core.version import newer, version

FORMAT_VERSION = 1
"""Raised by one whenever an older version could misread the file."""

Arrays = dict[str, NDArray[Any]]


def save_model(
    path: str | Path,
    arrays: Mapping[str, NDArray[Any]],
    metadata: Mapping[str, Any],
    *,
    kind: str = "chain",
    whole: Collection[str] = (),
    written: Callable[[BinaryIO], object] | None = None,
) -> None:
    """Write a model in one step: a crash leaves the old file or the new one, never half of one.

    Args:
        path: where to.
        arrays: everything to keep, by name; numbers of any width, bit for bit.
        metadata: anything that JSON can hold; `load_model` returns it.
        kind: of model (`chain`, `crowd`, `em`); loading as another kind is refused.
        whole: names of arrays that are stored with all their rows, however few are in use: those whose size only
            the file determines.
        written: called with the complete file, before it replaces one that this process has locked; None:
            no process may have it locked.

    Raises:
        HutchError: the file cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(f"{folder}/model", {"weights": np.eye(2)}, {"seed": 1})
    ...     load_model(f"{folder}/model")
    ({'weights': array([[1., 0.],
           [0., 1.]])}, {'seed': 1})
    """
    tensors: Arrays = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for name, array in arrays.items():
        array = np.asarray(array, order="C")
        rows = None if name in whole else _rows_in_use(array)
        if rows is None:
            tensors[name] = array
        else:
            shapes[name] = array.shape
            tensors[f"{name}#rows"], tensors[f"{name}#values"] = rows, array[rows]
    header = {
        "format": "hutch",
        "format_version": str(FORMAT_VERSION),
        "hutch_version": version(),
        "kind": kind,
        "names": json.dumps(sorted(tensors)),
        "sparse": json.dumps(shapes),
        "metadata": json.dumps(dict(metadata)),
    }
    header["crc32"] = f"{_checksum(tensors, header):08x}"
    with atomic_write(path, held=written is not None) as file:
        for part in _in_order(save(tensors, header)):
            file.write(part)
        if written is not None:
            written(file)
    tell_overflow(path, tensors.get("weights#values", tensors.get("weights")))


def _in_order(file: bytes) -> tuple[bytes, memoryview]:
    """A safetensors file with its metadata sorted, which come in a random order: equal models are equal bytes."""
    end = 8 + int.from_bytes(file[:8], "little")
    header = json.loads(file[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text, memoryview(file)[end:]


def tell_overflow(path: str | Path, weights: NDArray[Any] | None) -> None:
    """Warn of weights that are not numbers; they are kept, so that a resumed run equals an uninterrupted one.

    Args:
        path: of the model.
        weights: those in use; None if it has none.
    """
    if weights is not None and (text := overflow_of(weights)):
        warn(at(str(path), None, None, text))


def overflow_of(weights: NDArray[Any]) -> str | None:
    """The number of weights that are not numbers, and its cause; None if all are numbers.

    Examples:
        >>> overflow_of(np.array([1.0, np.inf]))
        '1 weight overflowed to nan or infinity: features, labels, importances or a learning rate were too large'
    """
    if weights.dtype.kind != "f" or not (wrong := weights.size - np.isfinite(weights).sum()):
        return None
    why = "features, labels, importances or a learning rate were too large"
    return f"{counted(int(wrong), 'weight')} overflowed to nan or infinity: {why}"


def _rows_in_use(array: NDArray[Any]) -> NDArray[np.uint32] | None:
    """Numbers of the rows with any bit set, if storing only them is smaller; None if not."""
    if array.ndim == 0 or array.nbytes < 4096 or len(array) >= 1 << 32:
        return None
    row_bytes = array.nbytes // len(array)
    bits = array.reshape(len(array), -1).view(np.uint8).any(axis=1)  # -0.0 is zero to numpy, but has a bit set
    in_use = np.flatnonzero(bits)
    return in_use.astype(np.uint32) if len(in_use) * (row_bytes + 4) < array.nbytes else None


def _checksum(tensors: Arrays, header: Mapping[str, str]) -> int:
    total = zlib.crc32((header["sparse"] + header["metadata"]).encode())
    for name in sorted(tensors):
        total = zlib.crc32(tensors[name].reshape(-1).view(np.uint8).data, total)
    return total


def load_model(path: str | Path, *, kind: str = "chain") -> tuple[Arrays, dict[str, Any]]:
    """Read a model: its arrays, bit for bit as they were saved, and the writer's metadata.

    Args:
        path: a file written by `save_model`.
        kind: the expected kind of model.

    Raises:
        ModelError: the file is missing, empty, truncated, damaged, foreign, newer than this version or of another kind.
    """
    try:
        arrays, metadata = load_compact(path, kind=kind)
        return {name: dense(array) for name, array in arrays.items()}, metadata
    except ModelError as error:
        raise error if str(error).startswith(f"{path}:") else _unusable(path, str(error)) from None


def load_compact(path: str | Path, *, kind: str = "chain") -> tuple[dict[str, Stored], dict[str, Any]]:
    """As `load_model`, but arrays stored by rows stay so: nothing larger than the file is allocated.

    Raises:
        ModelError: as `load_model`, or the file contradicts itself.
    """
    header = _header(path, kind)
    try:
        with safe_open(path, framework="numpy") as file:
            tensors: Arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        intact = _checksum(tensors, header) == int(header["crc32"], 16)
        intact &= json.loads(header["names"]) == sorted(tensors)
        metadata, shapes = json.loads(header["metadata"]), json.loads(header["sparse"])
    except (SafetensorError, OSError, LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise _unusable(path, f"the model is damaged: {shortened(str(error), 200)}") from None
    except MemoryError:
        raise _unusable(path, "the model is larger than the memory there is") from None
    if not intact:
        raise _unusable(path, "the model is damaged: its checksum differs")
    if not isinstance(metadata, dict) or not isinstance(shapes, dict):
        raise _unusable(path, "the model is damaged: its header holds no names")
    try:
        stored: dict[str, Stored] = {name: rows_in_use(name, shape, tensors) for name, shape in shapes.items()}
    except ModelError as error:
        raise _unusable(path, str(error)) from None
    return {**tensors, **stored}, metadata


def is_model(path: str | Path) -> bool:
    """Whether a file begins as a model does; False if it cannot be read, or is a pipe that would wait."""
    try:
        if not Path(path).is_file():
            return False
        with open(path, "rb") as file:
            return file.read(10)[8:] == b'{"'
    except OSError:
        return False


def load_metadata(path: str | Path, *, kind: str = "chain") -> dict[str, Any]:
    """Read only the writer's metadata, without the arrays; raises as `load_model` does."""
    try:
        metadata = json.loads(_header(path, kind)["metadata"])
    except (KeyError, ValueError, RecursionError) as error:
        raise _unusable(path, f"the model is damaged: {shortened(str(error), 200)}") from None
    if not isinstance(metadata, dict):
        raise _unusable(path, "the model is damaged: its header holds no names")
    return metadata


def kind_of(path: str | Path) -> str:
    """The kind of a model: `chain`, `crowd`, `pairs` or `em`; raises as `load_model` does."""
    return _header(path, None).get("kind", "nothing")


def _header(path: str | Path, kind: str | None) -> dict[str, str]:
    """The metadata of a model that this version can read; None accepts any kind."""
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise _unusable(path, "is a pipe or a device, wanted a file")
    try:
        with safe_open(path, framework="numpy") as file:
            header: dict[str, str] = file.metadata() or {}
    except (SafetensorError, OSError):
        raise _unusable(path, _diagnosis(Path(path))) from None
    if header.get("format") != "hutch":
        raise _unusable(path, "is a safetensors file, but not a model of Hutch")
    written = header.get("format_version", "")
    if not re.fullmatch("[0-9]{1,9}", written) or int(written) > FORMAT_VERSION:
        by = shortened(str(header.get("hutch_version")))
        raise _unusable(path, newer("model", shortened(written), by, FORMAT_VERSION))
    if kind is not None and header.get("kind") != kind:
        text = f"got {_of(shortened(header.get('kind', 'nothing')))}, wanted {_of(kind)}"
        raise _unusable(path, text)
    return header


def _of(kind: str) -> str:
    names = {"chain": "the model of a chain", "crowd": "a crowd model", "pairs": "a model of pairs"}
    return {**names, "em": "a model of online EM"}.get(kind, kind)


def _unusable(path: str | Path, text: str) -> ModelError:
    return ModelError(at(str(path), None, None, text))


def _diagnosis(path: Path) -> str:
    """Why a file is not safetensors, judging by its first bytes."""
    try:
        with open(path, "rb") as file:
            start = file.read(64)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not start:
        return "the model is empty"
    if found := re.match(rb".\0\0\0(\d+\.\d+\.\d+)\0", start, re.DOTALL):
        return f"is a model of Vowpal Wabbit {found[1].decode()}: `hutch convert` makes one of Hutch"
    if start[8:10] == b'{"':
        return "the model is truncated: it was not written to its end"
    return "is not a model of Hutch"


def check_plugins(
    path: str | Path,
    needed: Mapping[str, str],
    installed: Mapping[str, str],
    left_out: Mapping[str, str] | None = None,
) -> list[str]:
    """Compare the plugins that a model was made with to those that are installed.

    Args:
        path: of the model, for messages.
        needed: version by distribution when it was saved.
        installed: version by distribution now.
        left_out: why installed plugins are not loaded, by `name (distribution version)`.

    Returns:
        One notice for each distribution whose version differs; Hutch itself is held to its format's version instead.

    Raises:
        ModelError: distributions are not installed, the message names all of them; or one is left out.
    """
    for name in needed:
        for plugin, why in (left_out or {}).items():
            if name not in installed and f"({name} " in plugin:
                raise _unusable(path, f"the model needs the plugin {plugin}, which is left out: {why}")
    missing = [f"{name}=={wanted}" for name, wanted in needed.items() if name not in installed]
    if missing:
        what = "plugins that are not loaded" if len(missing) > 1 else "a plugin that is not loaded"
        raise _unusable(path, f"the model needs {what}: pip install {' '.join(missing)}")
    return [
        at(str(path), None, None, f"made with {name} {wanted}, now {installed[name]}: predictions may differ")
        for name, wanted in needed.items()
        if installed[name] != wanted and name != "hutch"
    ]
