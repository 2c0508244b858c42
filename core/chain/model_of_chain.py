"""The model of a chain: checks of its metadata before the chain is built."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hutch.core.chain.model_file import load_compact, load_metadata, tell_overflow
from hutch.core.chain.stored import Stored, parts_of
from hutch.core.errors import ModelError, at

_MOST_BITS = 62


def load_chain_model(path: str | Path) -> tuple[dict[str, Stored], dict[str, Any]]:
    """The arrays of a chain's model and its metadata.

    Args:
        path: of the model.

    Raises:
        ModelError: the file cannot be used, is not that of a chain, or has another weight table than its chain.
    """
    arrays, metadata = load_compact(path)
    check_chain(arrays, metadata, str(path))
    tell_overflow(path, parts_of(arrays["weights"]))
    return arrays, metadata


def load_chain(path: str | Path) -> dict[str, Any]:
    """Only the chain, as its YAML gives it.

    Raises:
        ModelError: as `load_chain_model`.
    """
    metadata = load_metadata(path)
    _check_metadata(metadata, str(path))
    found: dict[str, Any] = metadata["chain"]
    return found


def check_chain(arrays: Mapping[str, Stored], metadata: Mapping[str, Any], source: str) -> None:
    """Check that metadata describe a chain with this weight table.

    Args:
        arrays, metadata: of a model.
        source: name of the model in messages.

    Raises:
        ModelError: a check fails.
    """
    _check_metadata(metadata, source)
    if "weights" not in arrays or not arrays["weights"].shape:
        raise ModelError(at(source, None, None, "the model lacks 'weights': it was written by an incompatible version"))
    bits, rows = metadata["chain"]["weights"]["bits"], arrays["weights"].shape[0]
    if rows != 1 << bits:
        raise ModelError(at(source, None, None, f"weights: got {rows} rows, wanted {1 << bits}, those of {bits} bits"))


def _check_metadata(metadata: Mapping[str, Any], source: str) -> None:
    def of(value: Any, key: str, kind: type) -> Any:
        found = value.get(key)
        if type(found) is not kind:
            text = f"the model is damaged: its {key} {str(found)[:40]!r} cannot be that of a chain"
            raise ModelError(at(source, None, None, text))
        return found

    chain = of(metadata, "chain", dict)
    bits = of(of(chain, "weights", dict), "bits", int)
    if not 0 <= bits <= _MOST_BITS:
        raise ModelError(at(source, None, None, f"the model is damaged: got {str(bits)[:40]} bits"))
    of(chain, "input", dict)
    for layer in of(chain, "chain", list):
        if not isinstance(layer, str):
            of({"layer": layer}, "layer", dict)
            for name, parameters in layer.items():
                of({name: parameters or {}}, name, dict)
    for name, wanted in of(metadata, "plugins", dict).items():
        if not isinstance(wanted, str):
            of(metadata["plugins"], name, str)
