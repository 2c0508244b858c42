"""Both filter trees: shapes, what is learned by whom, costs, soft labels, and that they classify."""

from typing import Any

import numpy as np
import pytest

from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import LayerConfig
from hutch.core.chain.registry import Registry
from hutch.core.config.adapter import checked
from hutch.core.loss.losses import BUILTIN_LOSSES, LossChoice
from hutch.core.text.parser import ParserOptions, TextParser
from hutch.reductions.dyadic.layer import Dyadic, DyadicParameters
from hutch.reductions.filter_tree import CostSensitiveFilterTree, FilterTree, FilterTreeParameters, matches
from hutch.reductions.scoring_filter_tree import CostSensitiveScoringFilterTree, ScoringFilterTree

TREES = ("filter_tree", "scoring_filter_tree")

REGISTRY = Registry()
for reduction in (Dyadic, FilterTree, CostSensitiveFilterTree, ScoringFilterTree, CostSensitiveScoringFilterTree):
    REGISTRY.add("reductions", reduction.name, reduction, "test")
for loss in BUILTIN_LOSSES:
    REGISTRY.add("losses", loss.name, loss, "test")


def build(tree: str, classes: int, shape: Any = "balanced", **base: Any) -> Engine:
    given = {"left": "u", "right": "i", "rank": 0, "loss": LossChoice("hinge"), "learning_rate": 0.5, **base}
    layers = [
        LayerConfig(tree, FilterTreeParameters(classes=classes, shape=shape)),
        LayerConfig("dyadic", DyadicParameters(**given)),
    ]
    return Engine(layers, REGISTRY, bits=14, parser=ParserOptions(constant=False))


def run(engine: Engine, text: str, learn: bool = True, **options: Any) -> Any:
    return engine.run_batch(TextParser(engine.parser).parse(text.encode()), learn=learn, **options)[0]


@pytest.mark.parametrize("classes", range(2, 12))
@pytest.mark.parametrize("shape", ["balanced", "chain"])
def test_every_player_but_the_champion_plays_once(shape: Any, classes: int) -> None:
    players = matches(shape, classes)
    assert sorted(players.ravel()) == list(range(2 * classes - 2))
    assert all(players[m].max() < classes + m for m in range(classes - 1))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([[1, 2], 4], "wanted each of 1 to 3 once"),
        ([[1, 2], [3, 3]], "wanted each of 1 to 3 once"),
        ([[1, 2, 3]], "wanted a class or a pair"),
        ([1, "b"], "got 'b'"),
        ("round", "balanced"),
    ],
)
def test_shapes_that_are_no_trees_are_refused(shape: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        checked(FilterTreeParameters, {"classes": 3, "shape": shape})


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("shape", ["balanced", "chain", [[[5, 3], 1], [2, 4]]])
def test_learns_classes(tree: str, shape: Any) -> None:
    random = np.random.default_rng(3)
    users, items = random.integers(0, 10, 1500), random.integers(0, 10, 1500)
    labels = 1 + users // 2
    text = "".join(f"{y} |u u{u} |i i{i}\n" for y, u, i in zip(labels, users, items, strict=True))
    engine = build(tree, 5, shape)
    run(engine, text)
    outputs = run(engine, text, learn=False)
    assert np.mean(outputs.predictions != labels) < 0.02
    np.testing.assert_array_equal(outputs.losses, outputs.predictions != labels)


def sub_models_changed(engine: Engine, width: int) -> list[int]:
    """Which sub-models have a weight that is not zero."""
    rows = np.flatnonzero(engine.weights[:, 0])
    return sorted(set((rows % int(engine.shared["multiplier"][0])).tolist()))


def test_a_match_learns_only_of_its_players() -> None:
    """Class 4 of a chain of 4 plays the last match alone; class 1 the first, and the next ones once it has won."""
    engine = build("filter_tree", 4, "chain")
    run(engine, "4 |u a |i b\n")
    assert sub_models_changed(engine, 3) == [2]
    engine = build("filter_tree", 4, "chain", learning_rate=10.0)
    run(engine, "1 |u a |i b\n")
    assert sub_models_changed(engine, 3) == [0, 1, 2]


def test_who_loses_a_match_drops_out() -> None:
    engine = build("filter_tree", 3, "chain")
    run(engine, "1 100 |u a |i b\n")  # class 1 wins here by a wide margin
    before = engine.weights.copy()
    run(engine, "2 0.01 |u a |i b\n")  # class 2 loses to it, and is not played against 3
    changed = np.flatnonzero((engine.weights != before).any(axis=1)) % 2
    assert set(changed.tolist()) == {0}


def test_who_loses_a_match_drops_out_even_where_it_could_still_learn() -> None:
    """Class 3 beats the winner of classes 1 and 2; class 2, which loses to class 1, leaves that match alone."""
    engine = build("filter_tree", 3, "chain")
    run(engine, "1 100 |u a |i b\n3 100 |u a |i b\n")
    before = engine.weights.copy()
    run(engine, "2 0.01 |u a |i b\n")
    changed = np.flatnonzero((engine.weights != before).any(axis=1)) % 2
    assert set(changed.tolist()) == {0}


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("rank", [0, 2])
def test_learning_returns_what_was_predicted_before(tree: str, rank: int) -> None:
    """Also where a match that is learned on the way up turns round."""
    engine, random = build(tree, 5, rank=rank, spread=0.1), np.random.default_rng(6)
    for _ in range(60):
        line = f"|u u{random.integers(4)} |i i{random.integers(4)}\n"
        wanted = run(engine, line, learn=False).predictions[0]
        assert run(engine, f"{random.integers(1, 6)} 20 {line}").predictions[0] == wanted


@pytest.mark.parametrize("tree", TREES)
def test_importance_multiplies_costs(tree: str) -> None:
    """Importance 3 is three times the cost; the trees take every match with the difference of its players' costs."""
    given = {"loss": LossChoice(name="logistic"), "rates": "power", "power_t": 0.0}
    weighted, dear = build(f"cost_sensitive_{tree}", 3, **given), build(f"cost_sensitive_{tree}", 3, **given)
    for engine, costs, importance in ((weighted, "1:1 2:0 3:0.5", 3.0), (dear, "1:3 2:0 3:1.5", 1.0)):
        batch = TextParser(engine.parser).parse(f"{costs} |u a |i b\n".encode())
        batch.importance[:] = importance
        engine.run_batch(batch)
    assert weighted.weights.any()
    np.testing.assert_array_equal(weighted.weights, dear.weights)


def test_scores_move_towards_the_label_and_away_from_its_rival_alone() -> None:
    engine = build("scoring_filter_tree", 4, "chain")
    run(engine, "4 |u a |i b\n")
    scores = run(engine, "|u a |i b\n", learn=False, scores=True).scores[0]
    assert scores[3] > 0 > scores[0] and not scores[1:3].any()
    assert scores[3] - scores[0] >= 1 - 1e-6
    run(engine, "2 |u a |i b\n" * 9)
    assert run(engine, "|u a |i b\n", learn=False).predictions[0] == 2


@pytest.mark.parametrize("tree", TREES)
def test_costs_decide_which_class_is_learned(tree: str) -> None:
    engine = build(f"cost_sensitive_{tree}", 3)
    outputs = run(engine, "1:5 2:1 3:3 |u a |i b\n" * 20)
    assert outputs.predictions[-1] == 2 and outputs.losses[-1] == 0
    assert outputs.losses[0] == {1: 4, 2: 0, 3: 2}[int(outputs.predictions[0])]
    assert run(engine, "1 3 |u a |i b\n", learn=False).predictions[0] in (1, 3)  # only those listed compete


@pytest.mark.parametrize("tree", TREES)
def test_costs_of_zero_and_one_classify(tree: str) -> None:
    random = np.random.default_rng(4)
    users = random.integers(0, 8, 1500)
    labels = 1 + users // 2
    rows = [
        " ".join(f"{k}:{int(k != y)}" for k in range(1, 5)) + f" |u u{u} |i x\n"
        for y, u in zip(labels, users, strict=True)
    ]
    engine = build(f"cost_sensitive_{tree}", 4)
    run(engine, "".join(rows))
    assert np.mean(run(engine, "".join(rows), learn=False).predictions != labels) < 0.02


@pytest.mark.parametrize("tree", TREES)
def test_labels_that_are_no_class_train_nothing(tree: str) -> None:
    engine = build(tree, 3)
    outputs = run(engine, "7 |u a |i b\n4 |u a |i b\n")
    assert not engine.weights.any() and outputs.losses.tolist() == [1, 1]
    assert outputs.predictions.tolist() == [1, 1]


@pytest.mark.parametrize("tree", TREES)
def test_the_same_tree_over_a_dyad(tree: str) -> None:
    """Classes that depend on user and item together are out of reach for a linear model, not for a dyad."""
    random = np.random.default_rng(5)
    users, items = random.integers(0, 12, 4000), random.integers(0, 12, 4000)
    labels = 1 + (users % 2 + items % 2) % 2
    text = "".join(f"{y} |u u{u} |i i{i}\n" for y, u, i in zip(labels, users, items, strict=True))
    errors = []
    for rank in (0, 2):
        engine = build(tree, 2, rank=rank, spread=0.1, learning_rate=0.2)
        for _ in range(3):
            run(engine, text)
        errors.append(np.mean(run(engine, text, learn=False).predictions != labels))
    assert errors[0] > 0.3 and errors[1] < 0.05
