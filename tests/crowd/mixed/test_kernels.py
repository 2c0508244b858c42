"""The kernels of people's rows against a plain twin."""

from dataclasses import replace

import numpy as np
import pytest

from hutch.crowd.data.labels import from_triples
from hutch.crowd.mixed.model import PERSON, Mixed, guard

CLASSES = 3


def crowd() -> list[tuple[str, str, str]]:
    random = np.random.default_rng(3)
    rows = []
    for item in range(60):
        for worker in ("ann", "bob", "cy", "gpt", "llama"):
            if random.random() < 0.7:
                rows.append((worker, f"t{item}", f"c{random.integers(CLASSES)}"))
    return rows


def without(scores: np.ndarray, part: np.ndarray, gold: int) -> np.ndarray:
    rest = np.exp(scores - part)
    return rest / rest.sum() if gold < 0 else np.eye(CLASSES)[gold]


@pytest.mark.parametrize("learned", [True, False])
def test_rows_and_posteriors_leave_each_label_out(learned: bool) -> None:
    labels = from_triples(crowd(), gold={"t3": "c1", "t4": "c0"})
    model = Mixed(reference=("ann", "bob", "cy"), people_rho=0.4)
    state = model.start(labels, None)
    model.maximise(labels, state)
    said, forecast = state.labels["said"].copy(), state.items["forecast"]
    counts = np.zeros_like(state.workers["counts"])
    people = np.array([name in model.parameters.reference for name in labels.worker_names])[labels.workers]
    own, places = np.zeros((len(labels), CLASSES)), [np.arange(*span) for span in np.stack(
        [labels.item_ptr[:-1], labels.item_ptr[1:]], axis=1)]  # fmt: skip
    rates = [1 / (1 + 0.4 * max(people[here].sum() - 1, 0)) for here in places]
    for item, here in enumerate(places):
        scores = forecast[item] + rates[item] * said[here[people[here]]].sum(axis=0)
        for place in here[people[here]]:
            own[place] = without(scores, rates[item] * said[place], labels.gold[item])
            counts[labels.workers[place], labels.labels[place]] += own[place]
    known = np.unique(labels.workers[people])
    np.testing.assert_allclose(state.workers["counts"][known], counts[known], rtol=1e-12)

    model.expect(labels, state, learned)
    pooled, trust = model._pooled(state), guard(state.shared["explained"])
    for item, here in enumerate(places):
        scores = forecast[item].copy()
        for place in here[people[here]]:
            worker, label, mine = labels.workers[place], labels.labels[place], own[place] if learned else 0.0
            row = counts[worker, label] - mine + PERSON * pooled[label]
            row = row / (counts[worker].sum(axis=0) - mine + PERSON)
            wanted = np.log((1 - trust) * row + trust * np.eye(CLASSES)[label])
            np.testing.assert_allclose(state.labels["said"][place], wanted, rtol=1e-12)
            scores += rates[item] * wanted
        wanted = without(scores, np.zeros(CLASSES), labels.gold[item])
        np.testing.assert_allclose(state.items["posterior"][item], wanted, rtol=1e-10)


def test_labels_of_judges_alone_leave_the_forecast() -> None:
    labels = from_triples(crowd())
    model = Mixed(reference=("ann", "bob", "cy"))
    state = model.start(labels, None)
    judges = np.flatnonzero(np.isin(np.array(labels.worker_names)[labels.workers], ["gpt", "llama"]))
    kept = np.concatenate([[0], np.cumsum(np.isin(np.arange(len(labels)), judges))])[labels.item_ptr]
    only = replace(labels, item_ptr=kept, workers=labels.workers[judges], labels=labels.labels[judges])
    state.labels["said"] = state.labels["said"][judges]
    model.expect(only, state, learned=False)
    np.testing.assert_allclose(state.items["posterior"], np.exp(state.items["forecast"]), rtol=1e-12)
