import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from hutch.chain import Chain
from hutch.core.chain.model_file import FORMAT_VERSION, check_plugins, is_model, load_metadata, load_model, save_model
from hutch.core.errors import HutchError, ModelError


def same_bits(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def test_round_trip_of_all_kinds_of_arrays(tmp_path: Path) -> None:
    saved = {
        "table": np.array([[1.5, -0.0], [5e-324, np.inf], [np.nan, -1e308]]),
        "tiny": np.array([1e-45, -0.0, 3.4e38], np.float32),
        "scalar": np.array(7, np.uint64),
        "signed": np.array([-(1 << 63)], np.int64),
        "bytes": np.arange(5, dtype=np.uint8),
        "yes": np.array([True, False]),
        "empty": np.zeros((0, 3), np.float32),
        "transposed": np.arange(6.0).reshape(2, 3).T,
        "strided": np.arange(10, dtype=np.int32)[::3],
    }
    metadata = {"chain": ["linear"], "counters": {"examples": 1 << 60, "loss": 0.1}, "text": "ü\n"}
    save_model(tmp_path / "model", saved, metadata)
    loaded, read = load_model(tmp_path / "model")
    assert read == metadata == load_metadata(tmp_path / "model")
    assert is_model(tmp_path / "model") and not is_model(__file__) and not is_model(tmp_path)
    assert loaded.keys() == saved.keys()
    for name, array in saved.items():
        assert same_bits(loaded[name], np.asarray(array, order="C")), name


def test_few_rows_in_use_make_a_small_file(tmp_path: Path) -> None:
    weights = np.zeros((1 << 16, 4), np.float32)
    weights[[3, 70, 65535], [0, 1, 3]] = [1.0, -0.0, 1e-45]
    save_model(tmp_path / "model", {"weights": weights}, {})
    assert os.path.getsize(tmp_path / "model") < 2000
    assert load_file(tmp_path / "model")["weights#rows"].tolist() == [3, 70, 65535]
    assert same_bits(load_model(tmp_path / "model")[0]["weights"], weights)
    weights += 1
    save_model(tmp_path / "model", {"weights": weights}, {})
    assert set(load_file(tmp_path / "model")) == {"weights"}
    assert same_bits(load_model(tmp_path / "model")[0]["weights"], weights)


@settings(max_examples=30, deadline=None)
@given(
    array=arrays.arrays(
        st.sampled_from([np.float32, np.float64, np.uint32]),
        st.tuples(st.integers(0, 700), st.integers(1, 4)),
        fill=st.just(0),
    )
)
def test_any_table_comes_back_bit_for_bit(tmp_path_factory: pytest.TempPathFactory, array: NDArray[Any]) -> None:
    path = tmp_path_factory.mktemp("model") / "m"
    save_model(path, {"a": array}, {})
    assert same_bits(load_model(path)[0]["a"], array)


def test_loaded_arrays_can_be_written_to(tmp_path: Path) -> None:
    save_model(tmp_path / "model", {"a": np.ones(3)}, {})
    load_model(tmp_path / "model")[0]["a"][0] = 2


def model(path: Path) -> bytes:
    save_model(path, {"weights": np.arange(2000.0)}, {"chain": ["linear"]})
    return path.read_bytes()


VW_HEADER = b"\x07\x00\x00\x00" + b"9.11.9\x00" + b"\x01\x00\x00\x00\x00m\x00\x00\x00\x00\x00\x00\x80?\x12\x00\x00\x00"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda whole: b"", "the model is empty"),
        (lambda whole: whole[:5], "is not a model of Hutch"),
        (lambda whole: whole[:40], "the model is truncated: it was not written to its end"),
        (lambda whole: whole[: len(whole) // 2], "the model is truncated: it was not written to its end"),
        (lambda whole: whole[:-1], "the model is truncated: it was not written to its end"),
        (lambda whole: whole[:-1] + bytes([whole[-1] ^ 1]), "the model is damaged: its checksum differs"),
        (lambda _: VW_HEADER + bytes(5000), "is a model of Vowpal Wabbit 9.11.9: `hutch convert` makes one of Hutch"),
        (lambda whole: np.random.default_rng(1).bytes(3000), "is not a model of Hutch"),
        (lambda whole: b"1 |f a b c\n" * 50, "is not a model of Hutch"),
        (lambda whole: b"\x80\x04\x95 pickle", "is not a model of Hutch"),
    ],
)
def test_what_is_no_whole_model_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes], message: str) -> None:
    path = tmp_path / "model"
    path.write_bytes(damage(model(path)))
    with pytest.raises(ModelError) as caught:
        load_model(path)
    assert str(caught.value) == f"{path}: {message}"


def test_a_changed_name_of_an_array_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "model"
    whole = model(path)
    path.write_bytes(whole.replace(b'"weights":', b'"weightr":'))
    with pytest.raises(ModelError, match="the model is damaged: its checksum differs"):
        load_model(path)


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_no_cut_and_no_flipped_bit_goes_unnoticed(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("model") / "m"
    whole = bytearray(model(path))
    place = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        del whole[place:]
    else:
        whole[place] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(whole)
    try:
        arrays, metadata = load_model(path)
    except ModelError:
        return
    assert same_bits(arrays["weights"], np.arange(2000.0)) and metadata == {"chain": ["linear"]}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "cannot be read: No such file or directory"),
        (lambda path: path.mkdir(), "cannot be read: Is a directory"),
    ],
)
def test_no_file_at_all(tmp_path: Path, make: Callable[[Path], Any], message: str) -> None:
    make(tmp_path / "model")
    with pytest.raises(ModelError, match=message):
        load_model(tmp_path / "model")


def test_a_foreign_safetensors_file_is_refused(tmp_path: Path) -> None:
    save_file({"a": np.ones(3)}, tmp_path / "model")
    with pytest.raises(ModelError, match="is a safetensors file, but not a model of Hutch"):
        load_model(tmp_path / "model")


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    header = {"format": "hutch", "format_version": str(FORMAT_VERSION + 1), "hutch_version": "9.9"}
    save_file({"a": np.ones(3)}, tmp_path / "model", header)
    with pytest.raises(
        ModelError, match=rf"got model format {FORMAT_VERSION + 1}, written by hutch 9.9; .* upgrade it"
    ):
        load_model(tmp_path / "model")


def test_another_kind_of_model_is_refused(tmp_path: Path) -> None:
    save_model(tmp_path / "model", {"a": np.ones(3)}, {}, kind="crowd")
    assert load_model(tmp_path / "model", kind="crowd")[1] == {}
    with pytest.raises(ModelError, match="model: got a crowd model, wanted the model of a chain"):
        load_model(tmp_path / "model")


def test_an_unwritable_path_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HutchError, match="cannot be written: No such file or directory"):
        save_model(tmp_path / "no" / "model", {}, {})


def test_plugins_are_compared() -> None:
    assert check_plugins("m", {"a": "1", "b": "2"}, {"a": "1", "b": "2", "c": "3"}) == []
    assert check_plugins("m", {"hutch": "1"}, {"hutch": "2"}) == []
    assert check_plugins("m", {"a": "1"}, {"a": "2"}) == ["m: made with a 1, now 2: predictions may differ"]
    with pytest.raises(ModelError, match="m: the model needs plugins that are not loaded: pip install a==1 b==2"):
        check_plugins("m", {"a": "1", "b": "2", "hutch": "0"}, {"hutch": "0"})


def test_weights_that_overflowed_are_kept_and_told(tmp_path: Path) -> None:
    chain = Chain.from_config({"chain": ["linear"]})
    chain.learn(["1 |f a b", "-1 |f c"])
    weights = chain.arrays()["weights"]
    weights[np.flatnonzero(weights.any(axis=1))[0], 0] = np.nan
    for do in (chain.save, Chain.load):
        with pytest.warns(UserWarning, match="model: 1 weight overflowed to nan or infinity: features, labels"):
            do(tmp_path / "model")
    with pytest.warns(UserWarning, match="overflowed"):
        again = Chain.load(tmp_path / "model")
    assert np.array_equal(again.arrays()["weights"], weights, equal_nan=True)


def test_a_chain_whose_counters_overflowed_does_not_replace_a_model_that_can_be_read(tmp_path: Path) -> None:
    chain = Chain.from_config({"chain": ["linear"]})
    chain.learn(["1 |f a b"])
    chain.save(tmp_path / "model")
    before = (tmp_path / "model").read_bytes()
    chain.arrays()["layer.0.linear.norms"][0, 0] = np.inf
    with pytest.raises(ModelError, match="model: not written: layer.0.linear.norms: got inf"):
        chain.save(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == before
