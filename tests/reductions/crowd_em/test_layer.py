"""crowd_em: plain aggregation without features, a prior from the learner with them, exact wherever it stops."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hutch.chain import Chain
from hutch.core.errors import ConfigError, DataError
from hutch.core.text.hashing import hash_feature
from hutch.crowd.simulate import simulate
from hutch.reductions.crowd_em.prior import probabilities, soft_label, temper, weigh_evidence
from tests.reductions.crowd_em.item_by_item import ItemByItem

CLASSES = 3
Block = list[tuple[str, int]]


def chain_of(**parameters: Any) -> Chain:
    layers = [
        {"crowd_em": {"classes": CLASSES, "slots": 4096, **parameters}},
        {"one_against_all": {"classes": CLASSES}},
    ]
    return Chain.from_config({"weights": {"bits": 16}, "chain": [*layers, {"linear": {"loss": "logistic"}}]})


def lines_of(labels: Block, features: str = "") -> list[str]:
    """The lines of an item, the empty one that ends it included."""
    found = [f"{label} |worker {worker} {features}" for worker, label in labels] or [features or "|"]
    return [*found, ""]


def items(count: int, seed: int = 0, ratings: int = 3) -> tuple[list[list[str]], np.ndarray]:
    """Blocks of lines with words that tell the class, and the true classes."""
    random = np.random.default_rng(seed)
    truth, blocks = random.integers(CLASSES, size=count), []
    skill = random.beta(4, 2, 15)
    for z in truth:
        words = f"|item c{z}_{random.integers(8)} n{random.integers(40)} n{random.integers(40)}:0.5"
        people = random.choice(15, ratings, replace=False)
        right = random.random(ratings) < skill[people]
        answers = np.where(right, z, random.integers(CLASSES, size=ratings)) + 1
        blocks.append(lines_of([(f"w{w}", int(a)) for w, a in zip(people, answers, strict=True)], words))
    return blocks, truth


def joined(blocks: list[list[str]]) -> list[str]:
    return [line for block in blocks for line in block]


def posteriors(chain: Chain, lines: list[str], learn: bool = True) -> np.ndarray:
    """Posteriors (items, classes) of all blocks."""
    found = [chain.run_batch(batch, learn=learn, scores=True)[0] for batch in chain.batches(lines)]
    return np.concatenate([outputs.scores[~np.isnan(outputs.predictions)] for outputs in found])


def test_only_the_last_line_of_a_block_has_a_prediction() -> None:
    found = chain_of().learn(["1 |worker a |item x", "2 |worker b |item x", "1 |worker c |item x", "", "3 |worker a"])
    assert np.isnan(found).tolist() == [True, True, False, False]
    assert found[2:].tolist() == [1.0, 3.0]


@pytest.mark.slow
@pytest.mark.parametrize("passes", [1, 2])
def test_without_features_it_gives_the_numbers_of_labels_item_by_item(passes: int) -> None:
    labels = simulate(700, 25, CLASSES, 4, seed=1).labels
    pairs = [
        [(labels.worker_names[labels.workers[j]], int(labels.labels[j]) + 1) for j in range(first, last)]
        for first, last in zip(labels.item_ptr[:-1], labels.item_ptr[1:], strict=True)
    ]
    lines = joined([lines_of(some) for some in pairs])
    chain, stream = chain_of(passes=passes), ItemByItem(labels.classes, 4096)
    for number in range(passes):
        progress = stream.learn(labels, first_pass=number == 0)
        assert posteriors(chain, lines) == pytest.approx(progress.posterior, abs=1e-6)
        wanted = stream.score(labels)
        stream.end_pass()
        chain.end_pass()
    assert posteriors(chain, lines, learn=False) == pytest.approx(wanted, abs=1e-6)


def test_the_prediction_is_made_before_the_item_is_learned() -> None:
    chain, (blocks, _) = chain_of(), items(60)
    for block in blocks:
        before = posteriors(chain, block, learn=False)
        assert np.array_equal(posteriors(chain, block), before)


def test_the_posterior_is_prior_times_likelihood() -> None:
    chain, (blocks, _) = chain_of(), items(400)
    chain.learn(joined(blocks))
    words = "|item c1_3 n7 n8:0.5"
    prior = posteriors(chain, lines_of([], words), learn=False)[0]
    layer: Any = chain.layers[0]
    crowd, levels = layer.crowd, layer.saved()["level_counts"]
    tau = (levels + 10) / (levels.sum() + 20)
    likelihood = np.stack([np.full(CLASSES, tau[0]), np.full(CLASSES, tau[1])])
    for worker, label in (("w1", 1), ("w2", 2), ("w9", 2)):
        slot = (hash_feature("worker", worker) & 0xFFFF) % 4096
        first, second, _, habit_strength, clarity = crowd.strengths
        coin = np.where(np.arange(CLASSES) == label - 1, crowd.skill[slot], (1 - crowd.skill[slot]) / (CLASSES - 1))
        population = crowd.population.reshape(CLASSES, CLASSES)[label - 1]
        counts = crowd.counts.reshape(-1, CLASSES, CLASSES)[slot, label - 1]
        total = first + second + 1e-4 + crowd.rows.reshape(-1, CLASSES)[slot]
        clear = (first * population + second * coin + counts) / total
        habits = crowd.habits.reshape(-1, CLASSES)[slot, label - 1] + habit_strength * crowd.habit_prior[label - 1]
        habit = habits / (crowd.masses[slot] + habit_strength + 1e-4)
        likelihood *= np.stack([clear, clarity * clear + (1 - clarity) * habit])
    wanted = prior * likelihood.sum(axis=0)
    found = posteriors(chain, lines_of([("w1", 1), ("w2", 2), ("w9", 2)], words), learn=False)[0]
    assert found == pytest.approx(wanted / wanted.sum(), abs=1e-5)


positive = st.floats(1e-6, 1.0)
vectors = arrays(np.float64, CLASSES, elements=positive).map(lambda a: a / a.sum())
POWERS = np.array([0.0, 0.5, 1.0, 2.0])


@settings(max_examples=50, deadline=None)
@given(vectors, vectors, vectors, vectors, arrays(np.float64, 4, elements=st.floats(-30, 5)), st.floats(0, 1))
def test_priors_and_targets_against_numpy(p: Any, pi: Any, likelihood: Any, votes: Any, v: Any, share: float) -> None:
    by_power, prior = np.zeros(4 * CLASSES), np.zeros(CLASSES)
    temper(p, pi, POWERS, v, by_power, prior)
    terms = p[None] ** POWERS[:, None] * pi[None] ** (1 - POWERS[:, None])
    terms /= terms.sum(axis=1, keepdims=True)
    weights = np.exp(v - v.max()) / np.exp(v - v.max()).sum()
    assert by_power.reshape(4, CLASSES) == pytest.approx(terms)
    assert prior == pytest.approx(weights @ terms)
    moved = v.copy()
    weigh_evidence(by_power, likelihood, 0.9, moved)
    assert moved == pytest.approx(0.9 * v + np.log(terms @ likelihood))
    target = np.zeros(CLASSES, np.float32)
    soft_label(p, likelihood, votes, share, target)
    wanted = p * likelihood / (p @ likelihood)
    assert target == pytest.approx((1 - share) * wanted + share * votes, abs=1e-6)


def test_scores_as_probabilities() -> None:
    p = np.zeros(3)
    probabilities(np.array([0.0, math.log(3), -200.0], np.float32), p)
    assert p == pytest.approx([0.4, 0.6, 0.0], abs=1e-7)


MODES: dict[str, dict[str, Any]] = {
    "stream": {},
    "own shift": {"passes": 2},
    "crossfit": {"passes": 2, "crossfit": True, "vote_share": 0.1},
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stop", [0, 1, 2])
def test_resuming_at_the_end_of_a_block_is_exact(tmp_path: Path, mode: str, stop: int) -> None:
    """The third pass teaches, but for a stream; the run stops in the middle of pass `stop`."""
    blocks, _ = items(90)
    first, second = joined(blocks[:40]), joined(blocks[40:])
    whole, part = chain_of(**MODES[mode]), chain_of(**MODES[mode])
    for number in range(3):
        if number:
            whole.end_pass()
            part.end_pass()
        wanted = np.concatenate([posteriors(whole, first), posteriors(whole, second)])
        found = [posteriors(part, first)]
        if number == stop:
            part.save(tmp_path / "model")
            part = Chain.load(tmp_path / "model")
        assert np.array_equal(np.concatenate([*found, posteriors(part, second)]), wanted)
    for name, array in whole.arrays().items():
        assert np.array_equal(array, part.arrays()[name]), name


def test_an_items_own_shift_is_taken_out_again() -> None:
    """After one item alone, the learner knows nothing but what that item did to it."""
    chain, block = chain_of(passes=2), lines_of([("w1", 2), ("w2", 2)], "|item a b:2")
    chain.learn(block)
    assert np.abs(chain.layers[0].saved()["shifts"]).min() > 0.1
    chain.end_pass()
    chain.learn(block)
    opinion = chain.layers[0]._memory.record.targets["p"]  # type: ignore[attr-defined]
    assert opinion == pytest.approx(np.full(CLASSES, 1 / CLASSES), abs=1e-6)


def test_crossfit_judges_an_item_by_the_other_half() -> None:
    chain, block = chain_of(passes=2, crossfit=True), lines_of([("w1", 2), ("w2", 2)], "|item a b:2")
    chain.learn(block)
    chain.end_pass()
    chain.learn(block)
    opinion = chain.layers[0]._memory.record.targets["p"]  # type: ignore[attr-defined]
    assert opinion == pytest.approx(np.full(CLASSES, 1 / CLASSES), abs=1e-6)


def test_after_the_last_pass_that_infers_only_the_student_learns() -> None:
    chain, (blocks, truth) = chain_of(passes=2), items(400, ratings=2)
    lines, before = joined(blocks), np.zeros(0)
    for number in range(4):
        if number:
            chain.end_pass()
        learned = {name: array.copy() for name, array in chain.layers[0].saved().items()}
        found = posteriors(chain, lines)
        if number == 3:
            assert np.array_equal(found, before)
            for name in ("counts", "skill", "class_counts", "log_weights", "shifts"):
                assert np.array_equal(chain.layers[0].saved()[name], learned[name]), name
        before = found
    assert np.mean(found.argmax(axis=1) == truth) > 0.95
    assert chain.layers[0].saved()["taught"] == 800


@pytest.mark.parametrize("mode", MODES)
def test_the_learner_makes_labels_and_predictions_better(mode: str) -> None:
    blocks, truth = items(1500, ratings=2, seed=3)
    plain = posteriors(chain_of(), joined([[line.split(" |item")[0] for line in block] for block in blocks]))
    chain = chain_of(**MODES[mode])
    for number in range(1 if mode == "stream" else 4):
        if number:
            chain.end_pass()
        found = posteriors(chain, joined(blocks))
    alone = np.mean(plain[500:].argmax(axis=1) == truth[500:])
    assert np.mean(found[500:].argmax(axis=1) == truth[500:]) > alone + 0.1
    fresh, fresh_truth = items(500, seed=4)
    words = joined([["|item" + block[0].split("|item")[1], ""] for block in fresh])
    assert np.mean(chain.predict(words) == fresh_truth + 1) > 0.9


def test_a_gold_worker_settles_the_item() -> None:
    chain = chain_of(gold="oracle")
    lines = ["1 |worker a |item x", "3 |worker oracle |item x", "1 |worker b |item x", ""]
    assert posteriors(chain, lines)[0] == pytest.approx([0, 0, 1])
    assert posteriors(chain, ["2 |worker oracle |item y"])[0].tolist() == [0, 1, 0]


def test_items_without_labels_change_nothing() -> None:
    chain, (blocks, _) = chain_of(), items(50)
    chain.learn(joined(blocks))
    before = {name: array.copy() for name, array in chain.layers[0].saved().items() if name != "item"}
    weights = chain.weights.copy()
    chain.learn(["|item c1_1 n3", "", "2 0 |worker w1 |item c1_1", ""])
    assert np.array_equal(chain.weights, weights)
    for name, array in before.items():
        assert np.array_equal(chain.layers[0].saved()[name], array), name


def test_the_importance_of_an_item_is_the_largest_of_its_own_lines() -> None:
    chain, alone = chain_of(), chain_of()
    chain.learn(
        ["1 2 |worker a |item x", "2 5 |worker b |item x", "", "1 |worker a |item y", "", "2 0.5 |worker c", ""]
    )
    assert chain.statistics.weighted_labeled == 5 + 1 + 0.5
    alone.learn(["1 |worker a |item x", ""])
    assert alone.statistics.weighted_labeled == 1


def test_a_label_that_is_no_class_is_refused_and_not_read_when_predicting() -> None:
    chain = chain_of()
    with pytest.raises(DataError, match="crowd_em: got label 4, wanted a class from 1 to 3"):
        chain.learn(["1 |worker a |item x", "4 |worker b |item x"])
    good = chain.predict(["1 |worker a |item x", "1 |worker b |item x"])
    assert good[1] == chain.predict(["1 |worker a |item x", "4 |worker c |item x", "1 |worker b |item x"])[2] == 1


@pytest.mark.parametrize(
    ("below", "message"),
    [
        (
            [{"filter_tree": {"classes": 3}}],
            "a score for each of 3 classes from the layer below, 'filter_tree' has none",
        ),
        (
            [{"one_against_all": {"classes": 4}}],
            "a score for each of 3 classes from the layer below, 'one_against_all' has 4",
        ),
        ([{"one_against_all": {"classes": 3, "probabilities": True}}], "wanted one_against_all.probabilities: false"),
    ],
)
def test_layers_below_that_do_not_fit(below: list[Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Chain.from_config({"chain": [{"crowd_em": {"classes": 3}}, *below, "linear"]})


def test_worker_lines_in_any_order_of_namespaces() -> None:
    first, second = chain_of(), chain_of()
    first.learn(joined([["1 |worker a |item x y |more z", "2 |worker b |item x y |more z", ""]] * 3))
    second.learn(joined([["1 |item x y |worker a |more z", "2 |item x y |more z |worker b", ""]] * 3))
    assert np.array_equal(first.weights, second.weights)


def test_features_that_a_layer_above_makes_have_room() -> None:
    crowd = {"crowd_em": {"classes": CLASSES, "slots": 4096}}
    grams, base = {"ngrams": {"size": 3, "skips": 2}}, [{"one_against_all": {"classes": CLASSES}}, "linear"]
    words = "|item " + " ".join(f"n{k}" for k in range(200))
    blocks = joined([lines_of([("a", 1 + k % 3), ("b", 1 + k % 2)], f"{words} c{k % 3}") for k in range(12)])
    above, below = (
        Chain.from_config({"weights": {"bits": 16}, "chain": [*layers, *base]})
        for layers in ([grams, grams, crowd], [crowd, grams, grams])
    )
    np.testing.assert_array_equal(posteriors(above, blocks), posteriors(below, blocks))
