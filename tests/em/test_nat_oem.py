from typing import Any

import numpy as np
import pytest

from hutch.core.errors import ConfigError
from hutch.em.base.model import Array
from hutch.em.base.schedule import Schedule
from hutch.em.engine import OnlineEM
from hutch.em.nat_oem import NatOEM
from hutch.em.ppca.model import PPCA, PPCAParameters

FORMS: list[dict[str, Any]] = [{"form": "kl"}] + [
    {"form": form, "metric": metric} for form in ("implicit", "literal") for metric in ("complete", "identity")
]


def stream(count: int = 120, scale: float = 1.0) -> Array:
    random = np.random.default_rng(0)
    factor = np.random.default_rng(1).normal(size=(2, 6))
    return scale * (random.normal(size=(count, 2)) @ factor + 0.5 * random.normal(size=(count, 6)))


def run(constraint: NatOEM[PPCAParameters] | None, scale: float = 1.0, exponent: float = 0.6) -> OnlineEM:
    rows = stream(scale=scale)
    model = PPCA.of(rows[:40], 2)
    learner = OnlineEM(model, model.start(0), Schedule(exponent), constraint=constraint)
    for part in np.split(rows, 3):
        learner.learn(part)
        learner.boundary()
    return learner


@pytest.mark.parametrize("mode", ["step", "class"])
@pytest.mark.parametrize("options", FORMS)
def test_beta_0_is_online_em_bit_for_bit(mode: str, options: dict[str, Any]) -> None:
    plain, held = run(None), run(NatOEM(0.0, mode=mode, **options))
    state = held.state()
    for name, value in plain.state().items():
        np.testing.assert_array_equal(state[name], value)


@pytest.mark.parametrize("mode", ["step", "class"])
@pytest.mark.parametrize("options", FORMS)
def test_the_penalty_changes_the_result(mode: str, options: dict[str, Any]) -> None:
    plain, held = run(None), run(NatOEM(2e-4, mode=mode, **options))
    change = np.abs(held.parameters.loadings - plain.parameters.loadings).max()
    assert 1e-8 < change < np.inf
    assert held.parameters.noise > 0


@pytest.mark.parametrize("options", [option for option in FORMS if option["form"] != "literal"])
def test_a_strong_penalty_holds_the_anchor(options: dict[str, Any]) -> None:
    rows = stream()
    model = PPCA.of(rows[:40], 2)
    distances = []
    for beta in (0.1, 1e6):
        learner = OnlineEM(model, model.start(0), Schedule(0.6), constraint=NatOEM(beta, mode="class", **options))
        learner.learn(rows[:60])
        anchor = learner.parameters
        learner.boundary()
        learner.learn(rows[60:] + 1.0)
        distances.append(float(np.abs(learner.parameters.mean - anchor.mean).max()))
    assert distances[1] < 1e-3 < distances[0]


@pytest.mark.parametrize("mode", ["step", "class"])
@pytest.mark.parametrize("scale", [1 / 16, 16.0])
def test_the_kl_form_does_not_see_the_unit_of_the_data(mode: str, scale: float) -> None:
    plain, scaled = (run(NatOEM(3.0, mode=mode), unit).parameters for unit in (1.0, scale))
    np.testing.assert_allclose(scaled.loadings, scale * plain.loadings, rtol=1e-7, atol=1e-9)
    assert scaled.noise == pytest.approx(scale**2 * plain.noise)


def test_the_complete_fisher_form_does_see_it() -> None:
    plain, scaled = (run(NatOEM(3.0, form="implicit"), unit).parameters for unit in (1.0, 16.0))
    assert np.abs(scaled.loadings - 16 * plain.loadings).max() > 0.1


def test_class_mode_is_free_before_the_first_boundary() -> None:
    rows = stream()
    model = PPCA.of(rows[:40], 2)
    plain, held = (
        OnlineEM(model, model.start(0), constraint=constraint) for constraint in (None, NatOEM(5.0, mode="class"))
    )
    for learner in (plain, held):
        learner.learn(rows)
    np.testing.assert_array_equal(plain.parameters.loadings, held.parameters.loadings)


def test_step_mode_keeps_the_fixed_points_of_online_em() -> None:
    model = PPCA(6, 2, np.zeros(6), 1.0)
    point = PPCAParameters(np.ones(6), np.random.default_rng(0).normal(size=(2, 6)), 0.5)
    statistics = model.expected_statistics(point)
    for options in FORMS:
        kept = NatOEM[PPCAParameters](0.1, **options).maximise(model, statistics, point)
        np.testing.assert_allclose(kept.loadings, point.loadings, atol=1e-9)
        assert kept.noise == pytest.approx(point.noise)


def test_the_literal_form_is_the_formula_of_the_slides() -> None:
    model = PPCA(6, 2, np.zeros(6), 1.0)
    random = np.random.default_rng(0)
    anchor = PPCAParameters(random.normal(size=6), random.normal(size=(2, 6)), 0.5)
    free = PPCAParameters(random.normal(size=6), random.normal(size=(2, 6)), 0.7)
    held = NatOEM[PPCAParameters](1.5, form="literal").maximise(model, model.expected_statistics(free), anchor)
    # F*^-1 is s for the mean and the loadings, 2 s² / d for the noise, s that of the anchor.
    np.testing.assert_allclose(held.mean, free.mean - 1.5 * 0.5 * (free.mean - anchor.mean), atol=1e-9)
    np.testing.assert_allclose(held.loadings, free.loadings - 0.75 * (free.loadings - anchor.loadings), atol=1e-9)
    assert held.noise == pytest.approx(0.7 - 1.5 * 2 * 0.25 / 6 * 0.2)


def test_the_bound_of_the_literal_form_is_checked_and_reported() -> None:
    fine = NatOEM[PPCAParameters](0.5, form="literal")
    run(fine)
    assert 0 < fine.report()["stability"] <= 2
    with pytest.raises(ConfigError, match=r"beta: got 100, wanted at most .* diverges"):
        run(NatOEM(100.0, form="literal"))


def test_beyond_the_bound_the_literal_step_really_diverges() -> None:
    model = PPCA(6, 2, np.zeros(6), 1.0)
    anchor = PPCAParameters(np.zeros(6), np.random.default_rng(0).normal(size=(2, 6)), 0.5)
    for beta, grows in ((3.9, False), (4.1, True)):
        mean = np.ones(6)
        for _ in range(50):
            mean = model.pull(
                PPCAParameters(mean, anchor.loadings, 0.5), anchor, lambda f, b=beta: b * f, "complete"
            ).mean
        assert bool(np.abs(mean).max() > 1) is grows
        assert (beta * model.stiffness(anchor, "complete") > 2) is grows


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beta": -1.0}, "beta"),
        ({"beta": np.inf}, "beta"),
        ({"mode": "steps"}, "did you mean 'step'"),
        ({"form": "k"}, "form"),
        ({"form": "implicit", "metric": "identities"}, "did you mean 'identity'"),
        ({"form": "kl", "metric": "complete"}, "the form kl has none"),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        NatOEM(**options)
