"""`multilabel_one_against_all` against a chain per label; its labels, its predictions, what is refused."""

import random

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import DataError
from hutch.core.run.labels import label_lines, label_score_lines, labels_of
from hutch.core.text.parser import TextParser
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.multilabel_one_against_all import MultilabelOneAgainstAll

CLASSES = 5


def examples(count=80, seed=1):
    """Sets of labels, and the features of each example."""
    draw = random.Random(seed)
    for _ in range(count):
        labels = draw.sample(range(CLASSES), draw.choice((0, 1, 1, 2, 3)))
        words = [f"w{label}" for label in labels if draw.random() < 0.8] + [f"n{draw.randrange(5)}"]
        yield labels, "|a " + " ".join(words)


def chain(*below, classes=CLASSES, first=0):
    layer = {"multilabel_one_against_all": {"classes": classes, "first_class": first}}
    return Chain.from_config({"chain": [layer, *(below or ("linear",))]})


@pytest.mark.parametrize("link", [(), ({"link": {"function": "logistic"}},)])
def test_each_label_is_a_problem_of_its_own(link):
    loss = {"linear": {"loss": "logistic", "learning_rate": 0.3}}
    whole, alone = chain(*link, loss), [Chain.from_config({"chain": [*link, loss]}) for _ in range(CLASSES)]
    threshold = 0.5 if link else 0.0
    for labels, features in examples():
        before = whole.statistics.sum_loss
        count = whole.learn(f"{','.join(map(str, labels))} {features}")
        if labels:
            scores = [float(each.learn(f"{1 if k in labels else -1} {features}")[0])
                      for k, each in enumerate(alone)]  # fmt: skip
        else:
            scores = [float(each.predict(features)[0]) for each in alone]
        found = {k for k in range(CLASSES) if scores[k] > threshold}
        assert count.tolist() == [len(found)]
        if labels:
            assert whole.statistics.sum_loss - before == len(found ^ set(labels))
    text = [features for _, features in examples()]
    assert whole.scores(text).tolist() == np.stack([each.predict(text) for each in alone], axis=1).tolist()


def test_labels_in_any_order_in_text_and_records():
    ways = [chain() for _ in range(4)]
    ways[0].learn(["3,0 |a x", "1 |a y", " |a z", "2,4,1 |a x y"])
    ways[1].learn(["0,3 |a x", "1 |a y", "|a z", "4,2,1,1 |a x y"][:3] + ["1,2,4 |a x y"])
    ways[2].learn([
        {"label": [3, 0], "a": ["x"]}, {"label": "1", "a": ["y"]}, {"label": [], "a": ["z"]},
        {"label": "2,4, 1", "a": ["x", "y"]}])  # fmt: skip
    for record in ({"label": {0, 3}, "a": ["x"]}, {"label": 1, "a": ["y"]}, {"a": ["z"]}):
        ways[3].learn(record)
    ways[3].learn({"label": (1, 2, 4), "a": ["x", "y"]})
    assert len({each.weights.tobytes() for each in ways}) == 1


def test_lines_of_predictions():
    found = chain(classes=3, first=1)
    found.learn(["1,3 |a x", "2 |a y"] * 20)
    batch = TextParser(found.parser).parse(b"2 tag|a x\n|a y\n|a nothing\n")
    outputs, _ = found.run_batch(batch, learn=False)
    assert labels_of(found.layers[0], outputs.scores[0]) == [1, 3]
    assert bytes(label_lines(found)(batch, outputs)) == b"1,3 tag\n2\n" + bytes(label_lines(found)(batch, outputs))[10:]
    assert bytes(label_lines(found, blank=True)(batch, outputs)).startswith(b"1,3  tag\n2 \n")
    first = bytes(label_score_lines(found)(batch, outputs)).splitlines()[0].split()
    assert [word.partition(b":")[0] for word in first] == [b"1", b"2", b"3", b"tag"]
    assert float(first[0].partition(b":")[2]) == pytest.approx(outputs.scores[0, 0], rel=1e-5)


@pytest.mark.parametrize(
    ("line", "place", "what"),
    [
        ("1,1 |a x", 3, "repeated label: it counts once, got '1'"),
        ("1,,2 |a x", 3, "bad labels"),
        ("1, |a x", 2, "bad labels"),
        (",1 |a x", 1, "bad labels"),
        ("-1 |a x", 1, "bad labels"),
        ("2 x,1 |a x", 1, "bad labels"),
        ("1.5 |a x", 1, "bad labels"),
        ("16777217 |a x", 1, "bad labels"),
    ],
)
def test_malformed_labels_have_their_place(line, place, what):
    parser = TextParser(chain().parser, "data.vw")
    batch = parser.parse(f"0 |a y\n{line}\n".encode())
    [problem] = parser.problems
    assert str(problem).startswith(f"data.vw:2:{place}: {what}")
    assert batch.cost_classes.tolist() == ([0, 1] if "repeated" in what else [0])


def test_labels_that_there_are_not(tmp_path):
    found = chain()
    with pytest.warns(UserWarning, match=r"labels such as 5.*wanted classes from 0 to 4"):
        found.learn(["2,5 |a x"] * 3)
    with pytest.raises(DataError, match=r"label: got \['x'\], wanted classes such as"):
        found.learn({"label": ["x"], "a": ["x"]})


def test_contract():
    checks = checks_of_reduction(MultilabelOneAgainstAll, {"classes": 4, "first_class": 1})
    for check in checks:
        check()
