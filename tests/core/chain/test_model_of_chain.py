"""What a model's file says of its chain."""

from pathlib import Path
from typing import Any

import pytest

from hutch.chain import Chain
from hutch.core.chain.model_file import load_model, save_model
from hutch.core.errors import ModelError

DYADIC = {"dyadic": {"left": "u", "right": "i"}}


def written(path: Path, **gone: Any) -> Chain:
    """A model whose chain has these parameters, too."""
    chain = Chain.from_config({"weights": {"bits": 6}, "chain": [DYADIC]})
    chain.learn([f"{i % 5} |u {i % 3} |i {i % 4}" for i in range(40)])
    chain.save(path)
    arrays, metadata = load_model(path)
    metadata["chain"]["chain"][0]["dyadic"] |= gone
    save_model(path, arrays, metadata)
    return chain


def test_parameters_of_earlier_versions_that_changed_nothing_are_left_out(tmp_path: Path) -> None:
    chain = written(tmp_path / "model", implicit=None, implicit_precision=0.5)
    loaded = Chain.load(tmp_path / "model")
    assert loaded.predict("|u 1 |i 2") == chain.predict("|u 1 |i 2")
    loaded.save(tmp_path / "again")
    assert "implicit" not in load_model(tmp_path / "again")[1]["chain"]["chain"][0]["dyadic"]


def test_a_parameter_of_an_earlier_version_that_changed_something_is_named(tmp_path: Path) -> None:
    written(tmp_path / "model", implicit="right", implicit_precision=0.5)
    with pytest.raises(ModelError, match=r"chain\[0\].dyadic.implicit: unknown key"):
        Chain.load(tmp_path / "model")
