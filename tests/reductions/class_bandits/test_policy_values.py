"""Costs of policies that features name: the means of inverse propensity, and what the layers below see."""

import numpy as np
import pytest

from hutch import Chain
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

BELOW = [
    {"bandit_per_class": {"classes": 3}},
    {"cost_sensitive_one_against_all": {"classes": 3, "first_class": 1}},
    "linear",
]


def chain_of_layer(**parameters):
    given = {"namespaces": ["p"], "policies": 5} | parameters
    return Chain.from_config({"chain": [{"policy_values": given}, *BELOW], "weights": {"bits": 12}})


def log(count=80, seed=0):
    random = np.random.default_rng(seed)
    rows, lines = [], []
    for _ in range(count):
        word, choices = random.integers(4), random.integers(1, 4, 3)
        a, p, c = random.integers(1, 4), random.choice([0.25, 0.5]), random.random()
        named = [k for k in range(3) if k < 2 or random.random() < 0.7]
        rows.append((a, p, c, {k: choices[k] for k in named}))
        lines.append(f"{a}:{c:.9g}:{p} |p {' '.join(f'policy{k}:{choices[k]}' for k in named)} |w word{word}")
    return rows, lines


def test_means_of_inverse_propensity():
    rows, lines = log()
    chain, sums = chain_of_layer(), np.zeros(3)
    for number, (line, (a, p, c, choices)) in enumerate(zip(lines, rows, strict=True), 1):
        [outputs] = [chain.run_batch(batch, scores=True)[0] for batch in chain.batches([line])]
        sums += [c / p if choices.get(k) == a else 0 for k in range(3)]
        met = outputs.scores[0][~np.isnan(outputs.scores[0])]
        np.testing.assert_allclose(met, (sums / number)[: len(met)], rtol=1e-6)
    np.testing.assert_allclose(chain.layers[0].values(), sums / len(lines), rtol=1e-6)


@pytest.mark.parametrize("learns", ["others", "all"])
def test_the_layers_below_learn_what_they_are_shown(learns):
    """The same as without it, from lines whose policies are left out, or are words for each choice."""
    rows, lines = log()
    chain, plain = chain_of_layer(learns=learns), Chain.from_config({"chain": BELOW, "weights": {"bits": 12}})
    words = [line.partition(" |p ") for line in lines]
    if learns == "others":
        shown = [f"{label} |w {rest.partition('|w ')[2]}" for label, _, rest in words]
        np.testing.assert_array_equal(chain.learn(lines), plain.learn(shown))
        np.testing.assert_array_equal(chain.weights, plain.weights)
        return
    found = chain.learn(lines)
    assert set(found.tolist()) <= {1.0, 2.0, 3.0}
    used = np.flatnonzero(chain.weights.any(axis=1))
    plain.learn([f"{label} |w {rest.partition('|w ')[2]}" for label, _, rest in words])
    assert len(used) > len(np.flatnonzero(plain.weights.any(axis=1)))


def test_nothing_is_learned_where_nothing_is_asked_for():
    chain = chain_of_layer(learns="nothing")
    chain.learn(log()[1])
    assert not chain.weights.any() and len(chain.layers[0].values()) == 3


def test_unlabelled_lines_and_predictions_change_no_estimate():
    chain, lines = chain_of_layer(), log()[1]
    chain.learn(lines)
    before = chain.layers[0].values().copy()
    chain.learn([*(line.partition(" ")[2] for line in lines[:5]), lines[0].partition(" ")[2]])
    chain.predict(lines)
    np.testing.assert_array_equal(chain.layers[0].values(), before)


def test_saved_and_continued_with_policies_that_come_later(tmp_path):
    lines = log()[1]
    late = [line.replace("|p ", "|p policy9:2 ") for line in lines[40:]]
    one, other = chain_of_layer(), chain_of_layer()
    one.learn([*lines[:40], *late])
    other.learn(lines[:40])
    other.save(tmp_path / "model")
    other = Chain.load(tmp_path / "model")
    other.learn(late)
    np.testing.assert_array_equal(one.layers[0].values(), other.layers[0].values())
    assert len(one.layers[0].values()) == 4


def test_policies_without_room_are_told():
    with pytest.warns(UserWarning, match="got more than 2 policies, and leaves out the others"):
        chain = chain_of_layer(policies=2)
        chain.learn(log()[1])
    assert len(chain.layers[0].values()) == 2


def test_as_vw_names_it():
    layers = chain_of(parse("--multiworld_test f --learn 2 --exclude_eval".split()))["chain"]
    assert layers[0] == {"policy_values": {"namespaces": ["f"]}}
    assert [next(iter(layer)) for layer in layers[1:3]] == ["bandit_per_class", "cost_sensitive_one_against_all"]
