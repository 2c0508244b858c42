"""Layers' declarations and their use by the layers above, which never ask for a class or parameters."""

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from hutch.core.chain import derived
from hutch.core.chain.declarations import Answers, Shortcuts
from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import Kernels, Labels, LayerConfig, Predictions, Reduction
from hutch.core.chain.registry import Registry
from hutch.core.config.adapter import checked
from hutch.core.kernel.passing import missing
from hutch.core.loss import kinds
from hutch.plugins.manager import installed


class Own(Reduction):
    """A base learner of somebody else's, which says of itself what the built-in ones do."""

    name: ClassVar[str] = "own"
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    is_base = True
    counter = np.zeros(1, np.int64)
    shortcuts = Shortcuts(updates_at=int(counter.ctypes.data))

    @property
    def kernels(self) -> Kernels:
        return Kernels(missing, missing, None, None, missing)

    @property
    def answers(self) -> Answers:
        return replace(super().answers, loss_kind=kinds.HINGE, decision_threshold=0.25)


KNOWN = installed().registry
REGISTRY = Registry({**KNOWN.reductions, "own": Own}, dict(KNOWN.losses))


def layers(*entries: Any) -> list[Reduction]:
    """The layers of a chain; an entry is a name, or a name with parameters."""
    configs = []
    for entry in entries:
        [(name, given)] = entry.items() if isinstance(entry, dict) else [(entry, {})]
        parameters = None if name == "own" else checked(REGISTRY.reductions[name].Parameters, given)
        configs.append(LayerConfig(name, parameters))
    return Engine(configs, REGISTRY, bits=8).layers


ALL = {"one_against_all": {"classes": 3}}
LOGISTIC, GLF1 = {"link": {"function": "logistic"}}, {"link": {"function": "glf1"}}


@pytest.mark.parametrize(
    ("chain", "threshold"),
    [
        (["linear"], 0.0),
        ([LOGISTIC, "linear"], 0.5),
        (["ngrams", LOGISTIC, "linear"], 0.5),
        ([LOGISTIC, LOGISTIC, "linear"], 1 / (1 + math.exp(-0.5))),
        ([GLF1, "linear"], 0.0),
        ([{"link": {"function": "poisson"}}, "linear"], 1.0),
        (["own"], 0.25),
        ([GLF1, "own"], 2 / (1 + math.exp(-0.25)) - 1),
    ],
)
def test_the_decision_threshold_passes_through_links(chain: list[Any], threshold: float) -> None:
    assert layers(*chain)[0].answers.decision_threshold == pytest.approx(threshold)


def test_a_learner_of_somebody_else_gets_the_fast_ways() -> None:
    tournament, own = layers({"error_correcting_tournament": {"classes": 3}}, "own")
    record: Any = tournament.state
    assert record["updates"][0] == own.shortcuts.updates_at and record["at_once"][0] == 1
    assert record["boundary"][0] == np.float32(0.25) and tournament.kernels.calls == ("predict_many",)
    split: Any = layers(ALL, "own")[0].state["split"]
    assert split[0] == 1


@pytest.mark.parametrize(
    ("chain", "kind"), [(["linear"], None), ([{"linear": {"loss": "hinge"}}], kinds.HINGE), (["own"], kinds.HINGE)]
)
def test_the_kind_of_the_loss_is_known_above(chain: list[Any], kind: int | None) -> None:
    top = layers("link", *chain)[0]
    assert top.answers.loss_kind == (KNOWN.losses["squared"].kind if kind is None else kind)


@pytest.mark.parametrize(
    ("chain", "classes", "probabilities"),
    [
        ([ALL, "linear"], 3, False),
        (["ngrams", {"one_against_all": {"classes": 3, "probabilities": True}}, "linear"], 3, True),
        ([{"crowd_em": {"classes": 3, "slots": 4}}, ALL, "linear"], 3, True),
        (["linear"], None, False),
    ],
)
def test_classes_and_scores_are_declared(chain: list[Any], classes: int | None, probabilities: bool) -> None:
    top = layers(*chain)[0]
    assert (top.answers.classes, top.answers.scores_are_probabilities) == (classes, probabilities)


@pytest.mark.parametrize(
    ("chain", "labels", "accepted"),
    [
        ([{"linear": {"loss": "hinge"}}], [-1, 0, 1, 2], [True, False, True, False]),
        (["binary", {"linear": {"loss": "hinge"}}], [-1, 0, 1, 2], [True, False, True, False]),
        ([ALL, {"linear": {"loss": "hinge"}}], [-1, 0, 3, 4], [False, True, True, False]),
        (["ngrams", ALL, "linear"], [-1, 0, 3, 4], [False, True, True, False]),
        ([{"cost_sensitive_filter_tree": {"classes": 3}}, "linear"], [-1, 7], [True, True]),
        (["own"], [-1, 7], [True, True]),
    ],
)
def test_the_top_layer_says_what_labels_are_expected(chain: list[Any], labels: list[int], accepted: list[bool]) -> None:
    found = derived.accepted(layers(*chain)[0], np.array(labels, np.float32))
    assert found.tolist() == accepted


def test_the_loss_itself_is_known_above() -> None:
    choice = layers("binary", {"linear": {"loss": "logistic"}})[0].answers.loss
    assert choice is not None and KNOWN.losses[choice.name].kind == kinds.LOGISTIC
