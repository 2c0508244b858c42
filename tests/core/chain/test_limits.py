"""Limits on the content of a model: each layer's arrays, even with a valid checksum."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.chain.limits import COUNT, FINITE, POSITIVE, Limits, check_values
from hutch.core.chain.model_file import save_model
from hutch.core.chain.reduction import Kernels, Reduction
from hutch.core.chain.registry import Registry
from hutch.core.chain.stored import rows_in_use
from hutch.core.errors import ModelError, PluginError
from hutch.core.kernel.passing import pass_learn, pass_predict

LINES = [f"{1 if i % 3 else -1} |w a{i % 5}:0.5 b{i % 7} |u r{i % 4}" for i in range(30)]
CLASSES = [f"{1 + i % 3} |w a{i % 5} |u r{i % 4}" for i in range(30)]
BLOCKS = [line for i in range(8) for line in (*(f"{1 + (i + j) % 3} |w a{i % 5} |u r{j}" for j in range(3)), "")]
ACTIVE = [{"active": {"budget": 0.5, "memory": 0.01}}, "linear"]
DYADIC = [{"dyadic": {"left": "w", "right": "u", "rank": 2}}]
ROW = {"namespace": "w", "dimension": 8, "rank": 2, "features": "hashed", "block": 4, "warm_up": 6}
PPCA = [{"nat_oem": {"boundary": "drift"}}, {"ppca": ROW}, "linear"]
CROWD = [{"crowd_em": {"classes": 3, "worker": "u", "slots": 4}}, {"one_against_all": {"classes": 3}}, "linear"]


@pytest.mark.parametrize(
    ("limits", "value", "message"),
    [
        (COUNT, -1, "x: got -1, wanted at least 0"),
        (COUNT, 1 << 62, "x: got 4611686018427387904, wanted at most 4611686018427387903"),
        (Limits(0, 7), 8, "x: got 8, wanted at most 7"),
        (POSITIVE, np.nan, "x: got nan, wanted a number"),
        (Limits(least=0), np.nan, "x: got nan, wanted a number"),
        (POSITIVE, np.inf, "x: got inf, wanted finite numbers"),
        (FINITE, -np.inf, "x: got -inf, wanted finite numbers"),
    ],
)
def test_values_beyond_limits_are_named(limits: Limits, value: float, message: str) -> None:
    good = np.array([0, 1], np.int64 if isinstance(value, int) else np.float64)
    check_values("x", good, limits)
    good[1] = value
    with pytest.raises(ModelError) as raised:
        check_values("x", good, limits)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("shape", "rows", "values", "message"),
    [
        ([1 << 40, 1 << 30], [0], [[1.0]], "which no memory can hold"),
        ([-1, 1], [0], [[1.0]], "wanted a list of sizes"),
        ([True, 1], [0], [[1.0]], "wanted a list of sizes"),
        ([], [0], [[1.0]], "wanted a list of sizes"),
        (None, [0], [[1.0]], "wanted a list of sizes"),
        ([4, 1], [4], [[1.0]], "lie beyond the 4 there are"),
        ([4, 1], [2, 1], [[1.0], [1.0]], "do not rise"),
        ([4, 1], [1, 1], [[1.0], [1.0]], "do not rise"),
        ([4, 2], [1], [[1.0]], "wanted one for each"),
        ([4, 1], [1, 2], [[1.0]], "wanted one for each"),
    ],
)
def test_rows_that_do_not_fit_are_refused(shape: Any, rows: list[int], values: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        rows_in_use("w", shape, {"w#rows": np.array(rows, np.uint32), "w#values": np.array(values)})


def learned(layers: Any, lines: list[str]) -> Chain:
    chain = Chain.from_config({"weights": {"bits": 6}, "chain": layers})
    chain.learn(lines)
    return chain


FORGED = [
    (ACTIVE, LINES, "shared.mask", 0, (1 << 32) - 1, "got 4294967295, wanted 63, which its chain has"),
    (ACTIVE, LINES, "shared.stride", 0, 1 << 16, "got 65536, wanted 4"),
    (ACTIVE, LINES, "shared.time", 0, np.nan, "got nan"),
    (ACTIVE, LINES, "shared.examples", 0, 1 << 63, "wanted at most"),
    (ACTIVE, LINES, "layer.0.active.memory.count", 0, 1 << 40, "wanted at most 81"),
    (ACTIVE, LINES, "layer.0.active.memory.first", 0, 81, "wanted at most 80"),
    (ACTIVE, LINES, "layer.0.active.memory.position", 0, 1 << 20, "wanted at most 1310"),
    (ACTIVE, LINES, "layer.0.active.memory.table", 0, 1 << 30, "example 0 to replay was never kept"),
    (ACTIVE, LINES, "layer.0.active.memory.table", 1, 1 << 60, "example 0 to replay was never kept"),
    (ACTIVE, LINES, "layer.0.active.memory.words", 1, 1 << 20, "example 0 to replay was never kept"),
    (ACTIVE, LINES, "layer.0.active.replayed", 0, 1000, "at most the 30 examples seen"),
    (ACTIVE, LINES, "layer.0.active.spent", 0, -1.0, "wanted at least 0"),
    (ACTIVE, LINES, "layer.1.linear.norms", 0, np.inf, "wanted finite numbers"),
    (DYADIC, LINES, "layer.0.dyadic.noise", 0, np.nan, "got nan"),
    (CROWD[1:], CLASSES, "layer.0.one_against_all.first_class", 0, 3, "wanted at most 2"),
    (PPCA, LINES, "layer.1.ppca.count", 0, 7, "wanted at most 6"),
    (PPCA, LINES, "layer.1.ppca.count", 0, 5, "5 waiting"),
    (PPCA, LINES, "layer.1.ppca.current", 0, 0.0, "wanted some"),
    (PPCA, LINES, "layer.1.ppca.pending", 0, np.nan, "got nan"),
    (PPCA, LINES, "layer.0.nat_oem.drift.seen", 0, -1, "wanted at least 0"),
    (CROWD, BLOCKS, "layer.0.crowd_em.clock", 3, 0.0, "wanted at least 500"),
    (CROWD, BLOCKS, "layer.0.crowd_em.pass_number", 0, 2, "wanted at most 1"),
    (CROWD, BLOCKS, "layer.0.crowd_em.items", 0, 5, "wanted shifts of each item"),
    (CROWD, BLOCKS, "layer.0.crowd_em.counts", 0, -1.0, "wanted at least"),
]


@pytest.mark.parametrize(
    ("layers", "lines", "name", "place", "value", "message"), FORGED, ids=[f"{f[2]}-{f[4]}" for f in FORGED]
)
def test_each_layer_refuses_what_its_kernels_could_not_bear(
    layers: Any, lines: list[str], name: str, place: int, value: Any, message: str
) -> None:
    chain = learned(layers, lines)
    arrays = {name: array.copy() for name, array in chain.arrays().items()}
    before = {name: array.copy() for name, array in arrays.items()}
    arrays[name].reshape(-1)[place] = value
    with pytest.raises(ModelError, match=message) as raised:
        chain.restore(arrays)
    assert name.rpartition(".")[0].rpartition(".")[2].partition("#")[0] in str(raised.value)
    for name, array in chain.arrays().items():
        assert array.tobytes() == before[name].tobytes(), f"{name} changed"


def other_kind(arrays: dict[str, NDArray[Any]]) -> None:
    arrays["shared.time"] = arrays["shared.time"].astype(np.float32)


def other_shape(arrays: dict[str, NDArray[Any]]) -> None:
    arrays["layer.0.linear.norms"] = arrays["layer.0.linear.norms"][:, :1]


def unknown(arrays: dict[str, NDArray[Any]]) -> None:
    arrays["layer.1.linear.norms"] = arrays["layer.0.linear.norms"]


def missing(arrays: dict[str, NDArray[Any]]) -> None:
    del arrays["shared.pass"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (other_kind, "shared.time: got numbers of type float32, wanted float64"),
        (other_shape, r"layer.0.linear.norms: got shape \(1, 1\), wanted \(1, 2\)"),
        (unknown, "the model holds 'layer.1.linear.norms', which its chain does not have"),
        (missing, "the model lacks 'shared.pass': it was written by an incompatible version"),
    ],
)
def test_names_types_and_shapes_are_those_of_the_chain(change: Any, message: str) -> None:
    chain = learned(["linear"], LINES)
    arrays = {name: array.copy() for name, array in chain.arrays().items()}
    change(arrays)
    with pytest.raises(ModelError, match=message):
        chain.restore(arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.pop("chain"), "its chain 'None' cannot be that of a chain"),
        (lambda m: m["chain"].update(weights={"bits": 40}), "weights: got 64 rows, wanted 1099511627776"),
        (lambda m: m["chain"].update(weights={"bits": 10**30}), "got 1000000000000000000000000000000 bits"),
        (lambda m: m["chain"].update(weights=None), "its weights 'None' cannot be"),
        (lambda m: m["chain"].update(input=3), "its input '3' cannot be"),
        (lambda m: m["chain"].update(chain=[{"linear": [1]}]), "its linear"),
        (lambda m: m["chain"].update(chain=["linier"]), "its chain cannot be built here"),
        (lambda m: m.update(plugins=[]), "its plugins"),
        (lambda m: m.update(plugins={"hutch": 3}), "its hutch '3' cannot be"),
    ],
)
def test_metadata_that_describe_no_chain_are_refused_before_it_is_built(
    tmp_path: Path, change: Any, message: str
) -> None:
    chain = learned(["linear"], LINES)
    metadata = chain.metadata()
    change(metadata)
    save_model(tmp_path / "model", chain.arrays(), metadata)
    with pytest.raises(ModelError, match=message):
        Chain.load(tmp_path / "model")


class Odd(Reduction):
    """Says something about an array that it does not save."""

    name = "odd"

    @property
    def kernels(self) -> Kernels:
        return Kernels(pass_learn, pass_predict)

    def limits(self) -> dict[str, Limits]:
        return {"count": COUNT}


def test_limits_of_no_array_are_the_plugins_mistake() -> None:
    from hutch.core.chain.engine import Engine
    from hutch.core.chain.reduction import LayerConfig
    from hutch.plugins.manager import Plugins

    known = Plugins(only=()).registry
    registry = Registry({**known.reductions, "odd": Odd}, known.losses)
    linear = LayerConfig("linear", registry.reductions["linear"].Parameters())
    engine = Engine([LayerConfig("odd", None), linear], registry, bits=6)
    with pytest.raises(PluginError, match=r"Odd.limits of the layer 'odd': got 'count', wanted names of saved\(\)"):
        engine.restore(engine.arrays())
