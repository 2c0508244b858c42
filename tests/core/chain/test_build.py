"""Building a stack by formula, restoring it, and the consequences of layers' declarations."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hutch import Chain
from hutch.core.chain import derived, state
from hutch.core.chain.declarations import Inputs
from hutch.core.chain.label_check import LabelCheck
from hutch.core.chain.reduction import Kernels
from hutch.core.errors import ConfigError, PluginError
from hutch.core.kernel.abi import UNLABELED
from hutch.core.kernel.passing import missing
from hutch.vw.options.option import Option

ALL = {"one_against_all": {"classes": 3}}
TOURNAMENT = {"error_correcting_tournament": {"classes": 4}}


def chain_of(*layers: Any, bits: int = 8) -> Chain:
    return Chain.from_config({"chain": [*layers], "weights": {"bits": bits}})


@pytest.mark.parametrize(
    ("layers", "submodels", "steps", "above"),
    [
        (["linear"], 1, [1], [1]),
        ([ALL, "linear"], 3, [1, 1], [1, 3]),
        (["ngrams", ALL, "linear"], 3, [3, 1, 1], [1, 1, 3]),
        (["explore_epsilon", {"contextual_bandit": {"type": "dr"}}, "cost_sensitive_with_features", "linear"], 2,
         [2, 1, 1, 1], [1, 1, 2, 2]),
    ],
)  # fmt: skip
def test_sub_models_lie_side_by_side(layers: list[Any], submodels: int, steps: list[int], above: list[int]) -> None:
    stack = chain_of(*layers).stack
    assert stack.submodels == submodels
    assert [layer.context.step for layer in stack.layers] == steps == stack.records["step"][:-1].tolist()
    assert [layer.context.submodels for layer in stack.layers] == above


@pytest.mark.parametrize(("classes", "spread"), [(2, 2), (3, 4), (4, 4), (5, 8), (8, 8)])
def test_rows_of_a_feature_take_a_power_of_two(classes: int, spread: int) -> None:
    layer = {"one_against_all": {"classes": classes}}
    bits = spread.bit_length() - 1
    assert chain_of(layer, "linear").stack.shared["multiplier"].tolist() == [spread]
    chain_of(layer, "linear", bits=bits) if bits else None
    if bits > 1:
        with pytest.raises(ConfigError, match=f"weights.bits: got {bits - 1}, wanted at least {bits}: one row per"):
            chain_of(layer, "linear", bits=bits - 1)


def test_decisions_are_never_cut() -> None:
    bandit = ["contextual_bandit", "cost_sensitive_with_features", "linear"]
    assert chain_of(*bandit).parser.whole_groups and not chain_of("linear").parser.whole_groups


@pytest.mark.parametrize(("first", "zeros"), [({}, True), ({"initial_weight": 0.5}, False)])
def test_whether_a_table_begins_with_zeros(first: dict[str, Any], zeros: bool) -> None:
    stack = chain_of({"linear": first}).stack
    assert stack.begins_with_zeros is zeros is not stack.weights.any()


def test_a_kernel_that_was_missed_is_said_once_with_its_caller() -> None:
    stack = chain_of(ALL, "linear").stack
    for k, message in (
        (1, r"chain\[0\].one_against_all: called a kernel of 'linear'"),
        (2, r"chain\[1\].linear: called"),
    ):
        stack._missed[0] = stack.records[k:].ctypes.data
        with pytest.raises(PluginError, match=message):
            stack.check_missed()
        stack.check_missed()


def test_every_layer_sees_what_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = chain_of("ngrams", ALL, "linear")
    arrays = {name: array.copy() for name, array in chain.arrays().items()}
    seen: list[tuple[str, str]] = []
    for layer in chain.layers:
        for what in ("check_saved", "loading", "loaded"):
            note = lambda *own, name=layer.name, what=what: seen.append((what, name))  # noqa: E731
            monkeypatch.setattr(layer, what, note)
    state.restore(chain.stack, arrays)
    names = [layer.name for layer in chain.layers]
    assert seen == [(what, name) for what in ("check_saved", "loading", "loaded") for name in names]


@pytest.mark.parametrize(
    ("loss", "batches", "doubted"),
    [
        ("logistic", [[0, 1]], True),
        ("logistic", [[0], [1]], True),
        ("logistic", [[-1], [0, 1]], False),
        ("logistic", [[0, 1], [-1]], False),
        ("logistic", [[0, 1, UNLABELED]], True),
        ("logistic", [[0, 0.5]], False),
        ({"logistic": {"lower": 0}}, [[0, 1]], False),
        ("squared", [[0, 1]], False),
    ],
)
def test_labels_are_doubted_by_all_that_were_seen(loss: Any, batches: list[list[float]], doubted: bool) -> None:
    check = LabelCheck(chain_of({"linear": {"loss": loss}}).layers[0])
    for labels in batches:
        batch: Any = SimpleNamespace(labels=np.array(labels, np.float32))
        assert UNLABELED not in check.unexpected(batch)[1]
    assert (check.doubts() is not None) is doubted


@pytest.mark.parametrize(
    ("first", "accepted"),
    [
        ("detect", [True, True, True, True, False]),
        (1, [False, True, True, True, False]),
        (0, [True, True, True, False, False]),
    ],
)
def test_classes_by_where_they_begin(first: Any, accepted: list[bool]) -> None:
    top = chain_of({"one_against_all": {"classes": 3, "first_class": first}}, "linear").layers[0]
    assert derived.accepted(top, np.arange(5, dtype=np.float32)).tolist() == accepted


def test_what_follows_from_the_layers_below() -> None:
    base: Any = SimpleNamespace(inputs=Inputs(one_pass=True), context=SimpleNamespace(below=None))
    assert derived.learns_once(SimpleNamespace(inputs=Inputs(), context=SimpleNamespace(below=base)))  # type: ignore[arg-type]
    assert not derived.learns_once(chain_of(ALL, "linear").layers[0])

    def layer(below: Any, *own: str) -> Any:
        return SimpleNamespace(
            kernels=Kernels(missing, missing, missing, self_contained=own), context=SimpleNamespace(below=below)
        )

    base = SimpleNamespace(kernels=Kernels(missing, missing), context=SimpleNamespace(below=None))
    assert derived.lacking(layer(base), "importance_to") is base
    assert derived.lacking(layer(base, "importance_to"), "importance_to") is None
    assert derived.lacking(layer(layer(base, "importance_to")), "importance_to") is None
    assert derived.first_class(base := SimpleNamespace(saved=dict, context=SimpleNamespace(below=None))) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "given", "meant"),
    [
        (Option(name="x", kind="int"), 0, 0),
        (Option(name="x", kind="int"), None, None),
        (Option(name="x", kind="float", reads="size"), -2.5, 2.5),
        (Option(name="x", kind="texts"), [], None),
        (Option(name="x", kind="text", means=(("a", 1),)), "a", 1),
        (Option(name="x", kind="text", means=(("a", 1),)), "b", "b"),
        (Option(name="x"), False, None),
        (Option(name="x", value="optimism"), True, "optimism"),
    ],
)
def test_what_an_option_means(option: Option, given: Any, meant: Any) -> None:
    assert option.meant(SimpleNamespace(x=given)) == meant and type(option.meant(SimpleNamespace(x=given))) is type(
        meant
    )


def test_an_option_brings_its_layer_unless_it_needs_another() -> None:
    assert Option(name="x", sets="active.mellowness").brings_layer
    assert not Option(name="x", sets="active.mellowness", needs=("active",)).brings_layer
    assert not Option(name="x", sets="weights.bits").brings_layer
