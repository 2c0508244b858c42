"""`probabilistic_label_tree` against a chain per node, and a search through the whole tree; what is refused."""

import random

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, ModelError
from hutch.core.run.labels import label_lines
from hutch.core.text.parser import TextParser
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.probabilistic_label_tree import ProbabilisticLabelTree

LOGISTIC = {"linear": {"loss": "logistic", "learning_rate": 2.0}}


def examples(classes, count=120, seed=1):
    """Sets of labels, and the features of each example."""
    draw = random.Random(seed)
    for _ in range(count):
        labels = sorted(draw.sample(range(classes), min(draw.choice((0, 1, 1, 2)), classes)))
        yield (
            labels,
            "|a " + " ".join([f"w{label}" for label in labels if draw.random() < 0.9] + [f"n{draw.randrange(3)}"]),
        )


def chain(**parameters):
    return Chain.from_config({"chain": [{"probabilistic_label_tree": parameters}, LOGISTIC]})


@pytest.mark.parametrize(
    ("classes", "arity"),
    [(5, 2), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((1, 2), (8, 2), (7, 3), (10, 4), (3, 9)))],
)
@pytest.mark.parametrize("more", [{}, {"threshold": 0.2}, {"best": 2}])
def test_each_node_is_a_problem_of_its_own(classes, arity, more):
    whole = chain(classes=classes, arity=arity, **more)
    inner = -(-(classes - 1) // (arity - 1))
    nodes = [Chain.from_config({"chain": [LOGISTIC]}) for _ in range(classes + inner)]
    for labels, features in examples(classes):
        chances = np.array([1 / (1 + np.exp(-each.predict(features)[0])) for each in nodes])
        paths = []
        for leaf in range(inner, inner + classes):
            path = [leaf]
            while path[-1] > 0:
                path.append((path[-1] - 1) // arity)
            paths.append(path)
        of_labels = np.array([chances[path].prod() for path in paths])
        wanted = np.sort(np.argsort(-of_labels, kind="stable")[: more["best"]]) if "best" in more else (
            np.flatnonzero(of_labels > more.get("threshold", 0.5)))  # fmt: skip
        before = whole.statistics.sum_loss
        got = whole.scores([features])[0]
        if "best" not in more or len(set(of_labels.round(6))) == classes:  # else some are equally good
            np.testing.assert_array_equal(np.flatnonzero(got), wanted)
        np.testing.assert_allclose(got[got > 0], of_labels[got > 0], rtol=1e-4)
        whole.learn(f"{','.join(map(str, labels))} {features}")
        above = {node for label in labels for node in paths[label]}
        beside = {arity * node + k for node in above for k in range(1, arity + 1)} - above
        loss = 0.0
        for group, sign in ((above, 1), (beside, -1)):
            for node in (each for each in group if each < len(nodes)):
                nodes[node].learn(f"{sign} {features}")
                loss += np.log1p(np.exp(-sign * np.log(chances[node] / (1 - chances[node]))))
        np.testing.assert_allclose(whole.statistics.sum_loss - before, loss, rtol=1e-3, atol=1e-5)


def test_labels_and_their_order():
    found = chain(classes=6, first_class=1)
    found.learn(["1,3 |a x", "2 |a y", "6 |a z"] * 20)
    batch = TextParser(found.parser).parse(b"2 tag|a x\n|a z\n|a nothing\n")
    outputs, _ = found.run_batch(batch, learn=False)
    assert bytes(label_lines(found)(batch, outputs)).startswith(b"1,3 tag\n6\n")
    assert outputs.predictions.tolist()[:2] == [2, 1]
    assert sorted(found.layers[0].order()) == [1, 2, 3, 4, 5, 6]


def test_labels_beyond_the_classes_teach_nothing():
    known, beyond = chain(classes=4), chain(classes=4)
    known.learn(["1 |a x", "2 |a y"])
    with pytest.warns(UserWarning, match="label 9"):
        beyond.learn(["1,9 |a x", "2 |a y"])
    assert known.weights.tobytes() == beyond.weights.tobytes()


def test_rates_fall_with_what_each_node_has_learned(tmp_path):
    layers = [
        {"probabilistic_label_tree": {"classes": 4}},
        {"linear": {"loss": "logistic", "adaptive": False, "normalized": False, "initial_t": 1.0}},
    ]
    whole = Chain.from_config({"chain": layers})
    whole.learn(["0 |a x"] * 7)
    assert whole.layers[0].saved()["times"].tolist() == [8, 8, 8, 8, 8, 1, 1]
    whole.save(tmp_path / "model")
    again = Chain.load(tmp_path / "model")
    for each in (whole, again):
        each.learn(["3 |a x"])
    assert whole.weights.tobytes() == again.weights.tobytes()


def test_refused():
    with pytest.raises(ConfigError, match="got the loss squared below it, wanted logistic"):
        Chain.from_config({"chain": [{"probabilistic_label_tree": {"classes": 3}}, "linear"]})
    found = chain(classes=4)
    arrays = dict(found.arrays()) | {"layer.0.probabilistic_label_tree.times": np.full(7, -1, np.float32)}
    with pytest.raises(ModelError, match="times: got -1"):
        Chain.from_arrays(arrays, found.metadata(), "forged")


@pytest.mark.slow
@pytest.mark.parametrize(
    "check",
    checks_of_reduction(ProbabilisticLabelTree, {"classes": 6, "arity": 3, "threshold": 0.3}),
    ids=str,
)
def test_contract(check):
    check()
