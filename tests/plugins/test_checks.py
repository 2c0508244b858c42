"""Every loss and reduction that comes with Hutch passes the public checks, and the checks find what is broken."""

import math

import numpy as np
import pytest

from hutch.core.abi import kernel, learn_next, predict_next
from hutch.core.errors import PluginError
from hutch.core.losses import Loss
from hutch.core.reduction import Kernels, Parameters, Reduction
from hutch.plugins.checks import Check, check_loss, check_reduction, checks_of
from hutch.plugins.manager import Plugins

BUILT_IN = Plugins(only=())


def every_check() -> list[Check]:
    registry = BUILT_IN.registry
    found = [check for loss in registry.losses.values() for check in check_loss(loss)]
    for reduction in registry.reductions.values():
        found += check_reduction(reduction, registry=registry)
    return found


@pytest.mark.parametrize("check", every_check(), ids=str)
def test_built_in(check: Check) -> None:
    if not check.known_failure:
        check()
        return
    with pytest.raises(AssertionError):
        check()


def squared(prediction: float, label: float, parameter: float) -> float:
    return (prediction - label) ** 2


def half_slope(prediction: float, label: float, parameter: float) -> float:
    return prediction - label


def saturating(prediction: float, label: float, parameter: float) -> float:
    return 1.0 - math.exp(-((prediction - label) ** 2))


def its_slope(prediction: float, label: float, parameter: float) -> float:
    return 2.0 * (prediction - label) * math.exp(-((prediction - label) ** 2))


def failures(checks: list[Check]) -> dict[str, str]:
    found = {}
    for check in checks:
        try:
            check()
        except AssertionError as error:
            found[check.name] = str(error)
    return found


def test_a_wrong_derivative_is_found() -> None:
    found = failures(check_loss(Loss.plain("wrong", squared, half_slope))[:3])
    assert list(found) == ["gradient"]
    assert found["gradient"].startswith("derivative at prediction -3.3, label -2: got -1.3, wanted -2.6")


def test_a_wrong_convexity_flag_is_found() -> None:
    assert list(failures(check_loss(Loss.plain("bent", saturating, its_slope))[:3])) == ["convexity"]
    assert not failures(check_loss(Loss.plain("bent", saturating, its_slope, convex=False))[:3])


class Nothing(Parameters):
    """No parameters."""


@kernel
def forgetful_learn(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    return predict_next(layer, example, label, importance, offset)


@kernel
def pass_on(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    return predict_next(layer, example, label, importance, offset)


@kernel
def teaching_predict(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    return learn_next(layer, example, np.float32(1), np.float32(1), offset)


class Forgetful(Reduction):
    """Never learns."""

    name = "forgetful"
    Parameters = Nothing

    @property
    def kernels(self) -> Kernels:
        return Kernels(forgetful_learn, pass_on)


class Teaching(Forgetful):
    """Learns when it should only predict."""

    name = "teaching"

    @property
    def kernels(self) -> Kernels:
        return Kernels(forgetful_learn, teaching_predict)


class Undocumented(Nothing):
    rate: float = 1.0


class Silent(Forgetful):
    """Has a parameter that nobody explains."""

    name = "silent"
    Parameters = Undocumented


@pytest.mark.parametrize(
    ("reduction", "check", "message"),
    [
        (Forgetful, "learns", "predictions after learning: got those from before, wanted others"),
        (Teaching, "unlabeled_examples", "weights after unlabeled examples: got others, wanted the same"),
        (Silent, "parameters_documented", "parameter rate: got no description, wanted one"),
    ],
)
def test_a_broken_reduction_is_found(reduction: type[Reduction], check: str, message: str) -> None:
    [found] = [each for each in check_reduction(reduction, registry=BUILT_IN.registry) if each.name == check]
    with pytest.raises(AssertionError, match=message):
        found()


def test_names_stand_for_what_they_registered() -> None:
    assert {check.subject for check in checks_of("hinge", BUILT_IN)} == {"hinge"}
    assert {check.subject for check in checks_of("hutch.reductions.linear", BUILT_IN)} == {"linear"}
    assert {check.subject for check in checks_of("hutch", BUILT_IN)} >= {"hinge", "linear"}
    with pytest.raises(PluginError, match="'hinj' is not installed; did you mean 'hinge'?"):
        checks_of("hinj", BUILT_IN)
    with pytest.raises(PluginError, match="has no loss and no reduction to check"):
        checks_of("hutch.core.readers_csv", BUILT_IN)
