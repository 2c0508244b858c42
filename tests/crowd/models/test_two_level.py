import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import digamma as scipy_digamma
from scipy.special import logsumexp

from hutch.crowd.data.labels import from_triples
from hutch.crowd.models import two_level_kernels as kernels
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.models.special import digamma
from hutch.crowd.models.two_level import CLARITIES, TwoLevel, crowd_of, flat, level_prior, others
from hutch.crowd.simulate import simulate

_spec = importlib.util.spec_from_file_location("two_level_twin", Path(__file__).with_name("two_level_twin.py"))
twin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twin)


def test_digamma_matches_scipy():
    x = np.concatenate([np.geomspace(1e-4, 1e5, 200), [1.0, 2.0, 6.0]])
    assert np.allclose([digamma(v) for v in x], scipy_digamma(x), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("classes", "iterations"), [(2, 1), (3, 1), (3, 4), (4, 12)])
def test_kernels_equal_plain_python(classes, iterations):
    crowd = simulate(60, 12, classes, 4, seed=classes)
    labels = crowd.labels
    triples = list(zip(labels.workers.tolist(), labels.label_items.tolist(), labels.labels.tolist(), strict=True))
    expected = twin.fit(triples, 12, 60, classes, iterations)
    fit = TwoLevel(iterations=iterations, tolerance=0, clarity=0.15).fit(labels)
    q = fit.state.items["posterior"]
    assert fit.iterations == iterations
    assert np.allclose(q[:, :classes], expected[:, :, 0], atol=1e-9)
    assert np.allclose(q[:, classes:], expected[:, :, 1], atol=1e-9)


def test_better_than_votes_on_a_mixed_crowd():
    crowd = simulate(3000, 200, 4, 5, seed=1)
    fit = TwoLevel().fit(crowd.labels)
    assert accuracy(fit.posterior, crowd.truth) > accuracy(crowd.labels.vote_share(), crowd.truth) + 0.1
    assert log_loss(fit.posterior, crowd.truth) < 0.45


def test_order_of_items_and_workers_does_not_matter():
    labels = simulate(50, 10, 3, 4, seed=2).labels
    rows = [
        (labels.worker_names[w], labels.item_names[i], labels.classes[c])
        for w, i, c in zip(labels.workers, labels.label_items, labels.labels, strict=True)
    ]
    turned = from_triples(rows[::-1], classes=labels.classes)
    order = [turned.item_names.index(name) for name in labels.item_names]
    assert np.allclose(TwoLevel().fit(labels).posterior, TwoLevel().fit(turned).posterior[order], atol=1e-9)


def test_renaming_classes_permutes_the_posterior():
    labels = simulate(50, 10, 3, 4, seed=3).labels
    turned = replace(labels, labels=(2 - labels.labels).astype(np.int32))
    assert np.allclose(TwoLevel().fit(labels).posterior, TwoLevel().fit(turned).posterior[:, ::-1], atol=1e-9)


def factors_of(state, slot, label, own, own_habit):
    """P(label | class, level), its own share of the counts taken out."""
    first, second, _, strength, clarity = state.shared["strengths"]
    rows, skill = state.workers["counts"][slot].sum(axis=0) - own, state.workers["skill"][slot]
    coin = np.where(np.arange(len(rows)) == label, skill, (1 - skill) / (len(rows) - 1))
    top = first * state.shared["population"][label] + second * coin + state.workers["counts"][slot, label] - own
    clear = top / (first + second + 1e-4 + rows)
    habit = state.workers["habits"][slot, label] + strength * state.shared["habit_prior"][label] - own_habit
    habit /= state.workers["habits"][slot].sum() + strength - own_habit + 1e-4
    return np.concatenate([clear, clarity * clear + (1 - clarity) * habit])


def test_labels_are_predicted_by_the_others():
    """The kernel's short cut equals leaving each label out of its item, one by one."""
    labels = simulate(30, 6, 3, 4, seed=5).labels
    model = TwoLevel(clarity=0.1)
    state = model.start(labels, None)
    model.maximise(labels, state)
    crowd, shares, q = crowd_of(state), flat(state.scratch["counted_shares"]), state.items["posterior"]
    prior, levels = model.class_prior(state), level_prior(state)
    decided = others(labels, state, prior, shares, remove_own=True)
    arguments = (labels.item_ptr, labels.workers, labels.labels, labels.gold, prior[None], levels, 3, crowd, shares, q)
    total = 0.0
    for item in range(labels.items):
        places = range(labels.item_ptr[item], labels.item_ptr[item + 1])
        factors = {}
        for place in places:
            slot, label = labels.workers[place], labels.labels[place]
            share = state.scratch["counted_shares"][slot, label]
            own = q[item, :3] + q[item, 3:] * share
            own_habit = (q[item, 3:] * (1 - share)).sum()
            factors[place] = factors_of(state, slot, label, own, own_habit)
        for place in places:
            rest = np.outer(levels, prior).ravel() * np.prod([factors[p] for p in places if p != place], axis=0)
            total += np.log(rest @ factors[place] / rest.sum())
            by_class = (rest[:3] + state.shared["strengths"][kernels.CLARITY] * rest[3:]) / rest.sum()
            assert np.allclose(decided[place], by_class, atol=1e-9)
    assert kernels.held_out(*arguments) == pytest.approx(total, abs=1e-7)


def test_clarity_is_chosen_from_labels_alone_and_kept_in_the_model():
    labels = simulate(400, 20, 3, 5, seed=5).labels
    chosen = TwoLevel().fit(labels).state.shared["strengths"][kernels.CLARITY]
    assert chosen in CLARITIES
    rates = {clarity: TwoLevel()._try(labels, clarity, 3)[0] for clarity in CLARITIES}
    assert rates[chosen] == max(rates.values())
    history = TwoLevel(clarity=0.05).fit(labels).state
    assert TwoLevel().fit(labels, history).state.shared["strengths"][kernels.CLARITY] == 0.05
    assert TwoLevel(clarity=0.3).fit(labels, history).state.shared["strengths"][kernels.CLARITY] == 0.3
    assert TwoLevel(iterations=1).fit(labels).iterations == 1


def test_a_crowd_without_murky_items_is_read_as_one():
    crowd = simulate(500, 30, 3, 7, seed=15)
    fit = TwoLevel().fit(crowd.labels)
    assert fit.state.shared["strengths"][kernels.CLARITY] == 1
    assert accuracy(fit.posterior, crowd.truth) > 0.9


def test_a_start_that_predicts_better_is_taken():
    """Vote shares alone end in a worse maximum here."""
    crowd = simulate(924, 7, 2, 4.93, seed=43)
    model = TwoLevel()
    clarity = model.fit(crowd.labels).state.shared["strengths"][kernels.CLARITY]
    alone = TwoLevel(clarity=clarity).fit(crowd.labels)
    rival = DawidSkene(iterations=20).fit(crowd.labels).posterior
    predicted = [model._try(crowd.labels, clarity, 6, start)[0] for start in (None, rival)]
    best = accuracy(model.fit(crowd.labels).posterior, crowd.truth)
    assert predicted[1] > predicted[0]
    assert best > accuracy(alone.posterior, crowd.truth)


def test_the_start_that_was_taken_keeps_a_part():
    crowd = simulate(924, 7, 2, 4.93, seed=43)
    labels = replace(crowd.labels, gold=np.where(np.arange(924) < 5, crowd.truth, -1).astype(np.int32))
    model = TwoLevel()
    fit = model.fit(labels)
    rival = DawidSkene(iterations=20).fit(labels).posterior
    _, state = model._try(labels, fit.state.shared["strengths"][kernels.CLARITY], 6, rival)
    alone, kept = model.improve(labels, state, 6).posterior, 1 / (4 + 0.924)
    assert np.allclose(fit.posterior, (1 - kept) * alone + kept * rival, atol=1e-12)
    assert (fit.posterior[np.arange(5), crowd.truth[:5]] > 1 - 1e-12).all()
    expected = model.count(labels, fit.state)
    assert np.allclose(fit.state.workers["counts"].sum(), expected["counts"].sum(), rtol=1e-3)


@pytest.mark.parametrize("seed", [41, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (43, 146))])
def test_a_crowd_whose_votes_are_biased_is_not_drawn_to_them(seed):
    """The class prior is anchored at the class shares of the start, not at the votes', if these are not the start."""
    items, workers, classes, ratings = {41: (488, 12, 3, 2.3), 43: (924, 7, 2, 4.9), 146: (1683, 9, 4, 3.3)}[seed]
    gaps = []
    for again in range(10):
        crowd = simulate(items, workers, classes, ratings, seed=1000 * again + seed)
        found = [model.fit(crowd.labels).posterior for model in (TwoLevel(), DawidSkene())]
        gaps.append(accuracy(found[0], crowd.truth) - accuracy(found[1], crowd.truth))
    assert np.mean(gaps) > -0.003
    assert min(gaps) > -0.025


def test_murky_items_are_told_from_clear_ones():
    clear = [(f"w{w}", f"c{i}", str(i % 2)) for i in range(40) for w in range(8)]
    murky = [(f"w{w}", f"m{i}", str((w + i) % 2)) for i in range(10) for w in range(8)]
    fit = TwoLevel().fit(from_triples(clear + murky))
    assert fit.informative[:40].min() > 0.9
    assert fit.informative[40:].max() < 0.5


def test_hundreds_of_labels_on_one_item_do_not_underflow():
    rows = [(f"w{w}", "t", "ab"[w % 2]) for w in range(3000)] + [(f"w{w}", "u", "a") for w in range(3000)]
    fit = TwoLevel().fit(from_triples(rows))
    assert np.isfinite(fit.posterior).all()
    assert fit.posterior[1, 0] > 0.99


def test_the_likelihood_of_hundreds_of_labels_does_not_underflow():
    random = np.random.default_rng(8)
    rows = [(f"w{w}", f"t{i}", "abc"[i % 3 if random.random() < 0.6 else random.integers(3)])
            for i in range(3) for w in range(1000)]  # fmt: skip
    labels, model = from_triples(rows), TwoLevel(clarity=0.2)
    state = model.fit(labels).state
    log_start, terms = np.log(np.outer(level_prior(state), model.class_prior(state)).ravel()), []
    for item in range(labels.items):
        places = range(labels.item_ptr[item], labels.item_ptr[item + 1])
        factors = [factors_of(state, labels.workers[p], labels.labels[p], np.zeros(3), 0.0) for p in places]
        terms.append(logsumexp(log_start + np.log(factors).sum(axis=0)))
    assert max(terms) < -470  # twice what is made good at once
    assert model.expect(labels, state, learned=False)[0] == pytest.approx(np.mean(terms))
