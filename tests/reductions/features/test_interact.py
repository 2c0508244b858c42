"""`interact` against a twin in Python; what stays as it is, and what is reported."""

import random

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.core.text.parser import TextParser

BITS = 12


def chain(*layers):
    return Chain.from_config({"weights": {"bits": BITS}, "chain": [*layers, "linear"]})


def multiplied(left, right):
    """The products of two lists of features, by their distance from the first."""
    mask = (1 << BITS) - 1
    other = {(index - right[0][0]) & mask: value for index, value in right[1:]}
    found = [(left[0][0], left[0][1] * right[0][1])]
    return found + [(i, x * other[(i - left[0][0]) & mask]) for i, x in left[1:] if (i - left[0][0]) & mask in other]


def line(draw):
    def numbers():
        return " ".join(
            f"{k}:{draw.choice((0.5, 2, -1))}" for k in sorted(draw.sample(range(1, 30), draw.randint(0, 9)))
        )

    spaces = [f"|user 0:1 {numbers()}", f"|item 0:1 {numbers()}", f"|more w{draw.randrange(3)}"]
    draw.shuffle(spaces)
    return f"{draw.choice((1, -1))} {' '.join(spaces[: draw.choice((2, 3, 3, 3))])}\n"


def test_the_layers_below_see_the_products_of_the_twin():
    draw = random.Random(2)
    text = "".join(line(draw) for _ in range(80))
    found, plain = chain({"interact": {"left": "user", "right": "item"}}), chain()
    batch = TextParser(plain.parser).parse(text.encode()).copied()
    user, item = (TextParser(plain.parser).parse(f"|{name} a".encode()).namespace_id[0] for name in ("user", "item"))
    spaces, row_namespaces, ids = [], [0], []
    for row in range(len(batch)):
        seen = {name: list(zip(i.tolist(), v.tolist(), strict=True)) for name, i, v in batch.row(row)}
        if user in seen and item in seen:
            seen[user] = multiplied(seen[user], seen.pop(item))
        spaces += seen.values()
        ids += seen
        row_namespaces.append(len(spaces))
    batch.indices = np.array([index for space in spaces for index, _ in space], np.uint32)
    batch.values = np.array([value for space in spaces for _, value in space], np.float32)
    batch.namespace_ptr = np.concatenate([[0], np.cumsum([len(space) for space in spaces])])
    batch.namespace_id, batch.row_namespaces = np.array(ids, np.uint32), np.array(row_namespaces)
    batch.row_ptr = batch.namespace_ptr[batch.row_namespaces]
    assert found.learn(text).tolist() == plain.learn(batch).tolist()
    assert found.weights.tolist() == plain.weights.tolist()


def test_all_features_count_as_used():
    found = chain({"interact": {"left": "a", "right": "b"}})
    found.learn("1 |a 0:1 1:1 2:1 |b 0:1 2:1")
    assert found.last_features == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 |a 0:2 3:1 |b 0:1 3:1", "1 example without a first feature of value 1 in both namespaces"),
        ("1 |a 0:1 7:1 3:1 |b 0:1 3:1 7:1 9:1", "1 example with features out of order"),
    ],
)
def test_what_is_reported(text, message):
    found = chain({"interact": {"left": "a", "right": "b"}})
    with pytest.warns(UserWarning, match=message):
        found.learn(text)


def test_two_namespaces():
    with pytest.raises(ConfigError, match="left and right: got 'a' for both"):
        chain({"interact": {"left": "a", "right": "a"}})
