"""Every loss and reduction that comes with Hutch passes the public checks; wrong losses do not."""

import math

import numpy as np
import pytest

from hutch.chain import Chain
from hutch.core.config.read import read_chain, validate
from hutch.core.errors import PluginError
from hutch.core.loss.losses import Loss
from hutch.plugins.checks.chain import identical
from hutch.plugins.checks.run import Check, check_loss, check_reduction, checks_of, checks_of_loss, checks_of_reduction
from hutch.plugins.manager import Plugins

BUILT_IN = Plugins(only=())


def every_check() -> list[Check]:
    registry = BUILT_IN.registry
    found = [check for loss in registry.losses.values() for check in checks_of_loss(loss)]
    for reduction in registry.reductions.values():
        found += checks_of_reduction(reduction, registry=registry)
    return found


USUAL = ("logistic", "poisson", "squared")
PEERED = set(
    "active_cover baseline boosting cost_sensitive_active feature_limit freegrad interact kernel_svm lbfgs marginal "
    "low_rank_quadratic matrix_factorization multilabel_one_against_all offset_tree one_hidden_layer policy_values "
    "polynomial_link sketched_newton stagewise_polynomial svrg".split()
)
"""Layers whose predictions are Vowpal Wabbit's, bit for bit: tests of their own compare them."""
FEW = ("parameters_documented", "learns", "seeded", "batch_borders", "resume", "zero_importance", "submodels_saved")


def is_slow(check: Check) -> bool:
    """Whether it is left to the slow tests: what says least beside the others, for the time that it takes."""
    if check.name == "in_a_chain":  # of losses, whose formulas have checks of their own
        return check.subject not in USUAL
    if check.subject in (
        "multinomial",
        "latent_dirichlet_allocation",
        "probabilistic_label_tree",
        "recall_tree",
        "eigen_memory_tree",
        "memory_tree",
        "explore_decaying",
        "interaction_grounded",
        "few_actions",
    ):  # their own tests check them, above few
        return True
    reduction = BUILT_IN.registry.reductions.get(check.subject)
    alike = reduction is not None and any(room in reduction.__module__ for room in ("bandits.", "continuous_actions."))
    return (alike or check.subject in PEERED) and check.name not in FEW


@pytest.mark.parametrize(
    "check",
    [pytest.param(check, id=str(check), marks=[pytest.mark.slow] * is_slow(check)) for check in every_check()],
)
def test_built_in(check: Check) -> None:
    check()


def test_a_difference_is_told_in_plain_numbers() -> None:
    with pytest.raises(AssertionError, match="^learned on: example 1: got 0.1, wanted 0.5$"):
        identical(np.array([0, 0.1], np.float32), np.array([0, 0.5], np.float32), "learned on")


def squared(prediction: float, label: float, parameter: float) -> float:
    return (prediction - label) ** 2


def half_slope(prediction: float, label: float, parameter: float) -> float:
    return prediction - label


def full_slope(prediction: float, label: float, parameter: float) -> float:
    return 2.0 * (prediction - label)


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
    found = failures(checks_of_loss(Loss.plain("wrong", squared, half_slope))[:3])
    assert list(found) == ["gradient"]
    assert found["gradient"].startswith("derivative at prediction -3.3, label -2: got -1.3, wanted -2.6")


def exponential(prediction: float, label: float, parameter: float) -> float:
    return math.exp(prediction - label) - (prediction - label) - 1.0


def rounded_slope(prediction: float, label: float, parameter: float) -> float:
    return math.exp(prediction - label) - 1.0


def its_smooth_slope(prediction: float, label: float, parameter: float) -> float:
    return math.expm1(prediction - label)


def uphill(prediction: float, label: float, parameter: float) -> float:
    return -math.expm1(prediction - label)


def test_a_derivative_that_is_rounding_next_to_its_optimum_is_named_and_costs_no_more() -> None:
    rounded, smooth, wrong = (
        Loss.plain(name, exponential, slope)
        for name, slope in (("rounded", rounded_slope), ("smooth", its_smooth_slope), ("uphill", uphill))
    )
    assert not list(failures(checks_of_loss(smooth)))
    assert [*failures(checks_of_loss(rounded))] == ["smooth"]
    [check] = [each for each in checks_of_loss(rounded) if each.name == "smooth"]
    assert "math.expm1(x) for math.exp(x) - 1" in (check.failure() or "")
    failed = [each.name for each in checks_of_loss(wrong) if each.failure()]
    assert "gradient" in failed  # and the flow uphill ends


def test_steps_of_a_rounded_derivative_are_those_of_the_smooth_one() -> None:
    lines, found = [f"{k % 3} 50 | a{k % 4}" for k in range(60)], []
    for slope in (rounded_slope, its_smooth_slope):
        plugins = Plugins(only=())
        plugins.registry.add("losses", "linex", Loss.plain("linex", exponential, slope), "test")
        config = validate(read_chain({"chain": [{"linear": {"loss": "linex"}}]}), plugins.registry)
        found.append(Chain(config, plugins=plugins).learn(lines))
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-5)


def test_a_wrong_convexity_flag_is_found() -> None:
    assert list(failures(checks_of_loss(Loss.plain("bent", saturating, its_slope))[:3])) == ["convexity"]
    assert not failures(checks_of_loss(Loss.plain("bent", saturating, its_slope, convex=False))[:3])


class Neighbours(BUILT_IN.registry.reductions["ngrams"]):  # type: ignore[name-defined,misc]
    """Grams that say too much or nothing of what they fail."""


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({}, "relative change after shuffling features: got .*, wanted rounding only"),
        ({"seeded": "it is not"}, "ngrams:seeded: got no failure, wanted the known one: it is not"),
        ({"seded": "it is not"}, r"ngrams\.known_failures: no check 'seded'; did you mean 'seeded'\?"),
    ],
)
def test_known_failures_are_declared_and_true(known: dict[str, str], message: str) -> None:
    subject = type("Neighbours", (Neighbours,), {"known_failures": known})
    name = next(iter(known), "shuffled_features")
    with pytest.raises((AssertionError, PluginError), match=message):
        [found] = [each for each in checks_of_reduction(subject, registry=BUILT_IN.registry) if each.name == name]
        found()


def test_names_stand_for_what_they_registered() -> None:
    assert {check.subject for check in checks_of("hinge", BUILT_IN)} == {"hinge"}
    assert {check.subject for check in checks_of("hutch.reductions", BUILT_IN)} == {*BUILT_IN.registry.reductions}
    assert {check.subject for check in checks_of("hutch", BUILT_IN)} >= {"hinge", "linear"}
    with pytest.raises(PluginError, match="'hinj' is not installed; did you mean 'hinge'?"):
        checks_of("hinj", BUILT_IN)
    with pytest.raises(PluginError, match="has none of .*losses, reductions, .* to check"):
        checks_of("hutch.plugins", BUILT_IN)


def test_one_call_runs_all_checks_and_raises_with_those_that_fail():
    check_loss(BUILT_IN.registry.losses["hinge"])
    check_reduction(BUILT_IN.registry.reductions["linear"], registry=BUILT_IN.registry)
    with pytest.raises(AssertionError, match=r"(?s)^[0-9]+ of [0-9]+ checks failed\nwrong:gradient: .*"):
        check_loss(Loss.plain("wrong", squared, half_slope))
    kept = Loss.plain("kept", squared, full_slope, known_failures={"gradient": "none"})
    with pytest.raises(AssertionError, match=r"^1 of [0-9]+ checks failed\nkept:gradient: got no failure, wanted"):
        check_loss(kept)
