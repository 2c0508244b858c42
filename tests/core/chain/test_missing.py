"""A kernel that is not there is never called by its address 0: the chain is refused, or says later who did so."""

from typing import Any, ClassVar

import numpy as np
import pytest

from hutch.core.chain.derived import lacking
from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import Kernels, Labels, LayerConfig, Predictions, Reduction
from hutch.core.chain.registry import Registry
from hutch.core.errors import ConfigError, PluginError
from hutch.core.kernel.abi import importance_to_next, kernel, learn_next, predict_next
from hutch.core.kernel.passing import pass_importance_to, pass_learn, pass_predict
from hutch.core.text.parser import TextParser


@kernel
def forget(layer, example, label, importance, offset):
    """Learn nothing."""
    return np.float32(0)


@kernel
def ask(layer, example, label, importance, offset):
    """Ask the layer below for h_min."""
    return importance_to_next(layer, example, label, importance, offset)


@kernel
def ask_after(layer, example, label, importance, offset):
    """Predict, and ask then."""
    predict_next(layer, example, label, importance, offset)
    return importance_to_next(layer, example, label, importance, offset)


@kernel
def descend(layer, example, label, importance, offset):
    """Let the layer below learn, even where there is none."""
    return learn_next(layer, example, label, importance, offset)


class Layer(Reduction):
    """A layer of given kernels."""

    takes: ClassVar[Labels | None] = Labels.SIMPLE
    predicts: ClassVar[Predictions | None] = Predictions.SCALAR
    own: ClassVar[Kernels]

    @property
    def kernels(self) -> Kernels:
        return self.own


def layer(name: str, own: Kernels, **declared: Any) -> type[Reduction]:
    return type(name, (Layer,), {"name": name, "own": own, **declared})


REGISTRY = Registry()
for each in (
    layer("idle", Kernels(forget, forget), is_base=True),
    layer("knowing", Kernels(forget, forget, forget), is_base=True),
    layer("bottomless", Kernels(descend, forget), is_base=True),
    layer("passing", Kernels(pass_learn, pass_predict, pass_importance_to)),
    layer("mute", Kernels(pass_learn, pass_predict)),
    layer("able", Kernels(pass_learn, pass_predict, ask_after, self_contained=("importance_to",))),
    layer("careless", Kernels(ask, pass_predict)),
    layer("honest", Kernels(ask, pass_predict, calls=("importance_to",))),
):
    REGISTRY.add("reductions", each.name, each, "test")


def build(*names: str) -> Engine:
    return Engine([LayerConfig(name, None) for name in names], REGISTRY, bits=4)


def learn(engine: Engine) -> Any:
    return engine.run_batch(TextParser(engine.parser).parse(b"1 |f a\n"))


@pytest.mark.parametrize(
    ("chain", "lacks"),
    [(["honest", "idle"], "idle"), (["honest", "passing", "idle"], "idle"), (["honest", "mute", "knowing"], "mute")],
)
def test_what_a_layer_declares_to_call_must_be_offered(chain: list[str], lacks: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(*chain)
    assert f"chain[0].honest needs importance_to from the layers below it, which {lacks!r} lacks" in str(caught.value)


@pytest.mark.parametrize("chain", [["honest", "knowing"], ["honest", "passing", "passing", "knowing"]])
def test_what_is_offered_is_called(chain: list[str]) -> None:
    assert learn(build(*chain))[0].predictions.tolist() == [0]


def test_a_layer_may_find_h_min_by_itself() -> None:
    assert lacking(build("honest", "able", "idle").layers[1], "importance_to") is None


@pytest.mark.parametrize(
    ("chain", "message"),
    [
        (["careless", "idle"], "chain[0].careless: called a kernel of 'idle' below it that does not exist"),
        (["careless", "knowing"], "chain[0].careless: called a kernel of 'knowing' below it that does not exist"),
        (["mute", "careless", "knowing"], "chain[1].careless: called a kernel of 'knowing'"),
        (["bottomless"], "chain[0].bottomless: called a layer below it, but a base learner has none"),
        (["mute", "bottomless"], "chain[1].bottomless: called a layer below it, but a base learner has none"),
    ],
)
def test_what_is_called_without_being_there_is_said(chain: list[str], message: str) -> None:
    engine = build(*chain)
    for _ in range(2):
        with pytest.raises(PluginError) as caught:
            learn(engine)
        assert message in str(caught.value)
