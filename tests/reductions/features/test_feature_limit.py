"""`feature_limit` against a twin in Python; decisions; what stays."""

import random

import numpy as np
import pytest

from hutch import Chain
from hutch.core.text.parser import TextParser


def limited(row, limit, names):
    """The features that stay, by namespace."""
    found = []
    for name, indices, values in row:
        pairs = list(zip(indices.tolist(), values.tolist(), strict=True))
        if name != 128 and (not names or name in names) and len(pairs) > limit:
            least = {}
            for index, value in sorted(pairs):
                least.setdefault(index, value)
            pairs = list(least.items())[:limit]
        found.append((name, pairs))
    return found


def lines(count, seed):
    draw = random.Random(seed)
    for _ in range(count):
        spaces = "".join(
            f"|{name} "
            + "".join(f"{draw.randrange(30)}:{draw.uniform(-1, 1):.2f} " for _ in range(draw.randint(0, 45)))
            for name in draw.sample("abc", draw.randint(1, 3))
        )
        yield f"{draw.choice((1, -1))} {spaces}\n"


@pytest.mark.parametrize(("limit", "names"), [(1, ()), (3, ()), (7, ("a", "c")), (40, ())])
def test_the_layers_below_see_the_features_of_the_twin(limit, names):
    whole = "".join(lines(60, limit))
    layer = {"feature_limit": {"features": limit, "namespaces": list(names)}}
    config = {"weights": {"bits": 5}, "input": {"namespaces": "letter"}}
    chain = Chain.from_config(config | {"chain": [layer, {"linear": {"interactions": ["ab"]}}]})
    plain = Chain.from_config(config | {"chain": [{"linear": {"interactions": ["ab"]}}]})
    batch = TextParser(plain.parser).parse(whole.encode()).copied()
    ids = [ord(name) for name in names]
    rows = [limited(batch.row(row), limit, ids) for row in range(len(batch))]
    batch.indices = np.array([index for row in rows for _, pairs in row for index, _ in pairs], np.uint32)
    batch.values = np.array([value for row in rows for _, pairs in row for _, value in pairs], np.float32)
    sizes = [len(pairs) for row in rows for _, pairs in row]
    batch.namespace_ptr = np.concatenate([[0], np.cumsum(sizes)])
    batch.row_ptr = batch.namespace_ptr[batch.row_namespaces]
    assert chain.learn(whole).tolist() == plain.learn(batch).tolist()
    assert chain.weights.tolist() == plain.weights.tolist()


def test_pieces_of_an_action_and_its_decision_have_limits_of_their_own():
    """As in VW, where lines are limited before they are merged; below `ngrams`, which leaves the pieces apart."""
    decision = "shared |u a b c\n0:1:0.5 |u d e f |x p\n|u g |x q\n\n"
    decides = ["contextual_bandit", "cost_sensitive_with_features"]
    for above in ([], [{"ngrams": {"size": 2}}]):
        chain = Chain.from_config({"chain": [*decides, *above, {"feature_limit": {"features": 2}}, "linear"]})
        chain.learn(decision)
        assert np.count_nonzero(chain.weights[:, 0]) == 2 + 2 + 1 + 1
