"""One example at a time gives what batches give, to the bit."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch import Chain
from hutch.core.data.roles import Roles
from hutch.core.data.rows import Rows
from hutch.core.errors import ConfigError, DataError

LOGISTIC: Any = {"chain": [{"linear": {"loss": "logistic"}}]}
MULTICLASS: Any = {"chain": [{"one_against_all": {"classes": 3}}, {"linear": {"loss": "logistic"}}]}
CHAINS: list[Any] = [
    LOGISTIC,
    {"input": {"namespaces": "letter"}, "chain": [{"linear": {"interactions": ["fg"]}}]},
    {"input": {"ignore": ["g"], "constant": False}, "chain": ["linear"]},
    {"input": {"hash": "all", "hash_seed": 7}, "weights": {"bits": 10}, "chain": ["linear"]},
    {"weights": {"bits": 12}, "chain": [{"dyadic": {"left": "f", "right": "g"}}]},
    {"seed": 3, "chain": [{"active": {"budget": 0.3}}, "linear"]},
    MULTICLASS,
]
IDS = ["logistic", "letter", "ignore", "hash", "dyadic", "active", "multiclass"]

names = st.sampled_from(["a", "b", "12", "012", "long name", "ä", "", "x" * 40])
numbers = st.one_of(
    st.sampled_from([0, 0.0, -0.0, 1, True, False, None, float("nan"), 1e-40, np.float32(0.5), -3.5]),
    st.floats(-1e6, 1e6),
    st.sampled_from(["red", "12", "", "a b|c:d"]),
)
features = st.one_of(st.dictionaries(names, numbers, max_size=6), st.lists(names, max_size=3), names)
records = st.fixed_dictionaries(
    {"label": st.sampled_from([1, 1.0, None, np.int64(1)])},
    optional={
        "f": features,
        "g": features,
        "fg": features,
        "": features,
        "tag": st.just("t"),
        "importance": st.sampled_from([0.5, 2, 0]),
        "base": st.just(0.25),
    },
)


def twins(config: Any) -> tuple[Chain, Chain]:
    """A chain, and one that is never given a single example: batches of two, whose second changes nothing."""
    return Chain.from_config(config), Chain.from_config(config)


def same(one: Chain, other: Chain) -> None:
    theirs = other.arrays()
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)


def by_batch(chain: Chain, example: Any, learn: bool) -> Any:
    """The way of batches: an iterator is none of the forms that the fast way takes."""
    return (chain.learn if learn else chain.predict)(iter([example]))


@pytest.mark.parametrize("config", CHAINS, ids=IDS)
def test_records(config: Any) -> None:
    @settings(max_examples=25, deadline=None)
    @given(examples=st.lists(records, max_size=5))
    def check(examples: list[Any]) -> None:
        one, other = twins(config)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for example in examples:
                np.testing.assert_array_equal(one.predict(example), by_batch(other, example, False))
                np.testing.assert_array_equal(one.learn([example]), by_batch(other, example, True))
        same(one, other)

    check()


@pytest.mark.parametrize("config", CHAINS, ids=IDS)
def test_lines(config: Any) -> None:
    one, other = twins(config)
    rng = np.random.default_rng(0)
    lines = ["|f a", "1 |f a:0 |f b:2 |g c", "2 0.5 'tag|g x y:3e-2|f z", "1|f a", "", "1 |", "1 |f " + "w " * 9000]
    lines += [
        f"{rng.integers(1, 3)} |f a{rng.integers(5)} b:{rng.random():.3f} |g c{rng.integers(5)}" for _ in range(80)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels of 2, and once a value that is malformed
        for line in lines:
            np.testing.assert_array_equal(one.predict(line), by_batch(other, line, False))
            np.testing.assert_array_equal(one.learn(line.encode()), by_batch(other, line, True))
    same(one, other)


def test_what_is_unusual_is_reported_as_ever() -> None:
    chain = Chain.from_config(LOGISTIC)
    with pytest.warns(UserWarning, match="<lines>:1:7: bad feature value"):
        chain.predict("|f a:1x b")
    with pytest.raises(DataError, match="<records>:1: feature 1: got inf, wanted a number below 3.4e38"):
        chain.learn({"label": 1, "f": {"a": float("inf")}})
    with pytest.raises(DataError, match="<records>:1: label: got 'x', wanted a number"):
        chain.learn({"label": "x", "f": "a"})
    with pytest.warns(UserWarning, match=r"label 5 \(example \d+\): this chain is not made for it"):
        chain.learn("5 |f a")
    with pytest.warns(UserWarning, match="names the namespace 'nobody', which no example has"):
        named = Chain.from_config({"chain": [{"linear": {"interactions": [["f", "nobody"]]}}]})
        for _ in range(100):
            named.learn("1 |f a")


def test_prediction_changes_nothing() -> None:
    chain = Chain.from_config(LOGISTIC)
    chain.learn("1 |f a b")
    before = {name: array.copy() for name, array in chain.arrays().items() if name != "shared.testing"}
    found = chain.predict("1 |f a b")
    chain.predict("|f c")
    assert found[0] > 0  # the array is the caller's, not the next call's
    for name, array in before.items():
        np.testing.assert_array_equal(chain.arrays()[name], array)


def test_many_names_are_not_kept_for_ever() -> None:
    one, other = twins(LOGISTIC)
    for start in range(0, 70_000, 1000):
        record = {"label": 1, "f": [f"n{k}" for k in range(start, start + 1000)]}
        one.learn(record)
        by_batch(other, record, True)
    same(one, other)


def test_in_the_manner_of_river() -> None:
    one, other = twins(LOGISTIC)
    x = {"age": 37.0, "city": "Oslo", "ad": {"size": 2}, "seen": ["a", "b"]}
    record = {"": {"age": 37.0, "city": "Oslo"}, "ad": {"size": 2}, "seen": ["a", "b"]}
    for y, label in ((True, 1), (False, -1), (1, 1)):
        one.learn_one(x, y, importance=2.0)
        other.learn([{**Rows(Roles(), labelled=False).record(x), "label": label, "importance": 2.0}])
    same(one, other)
    prediction = one.predict_one(x)
    assert isinstance(prediction, float) and prediction == other.predict([record])[0]
    chance = one.predict_proba_one(x)
    assert chance == pytest.approx({1.0: 1 / (1 + np.exp(-prediction)), -1.0: 1 / (1 + np.exp(prediction))})


def test_classes_one_by_one() -> None:
    chain = Chain.from_config(MULTICLASS)
    for _ in range(20):
        for y in (1, 2, 3):
            chain.learn_one({"name": str(y)}, y)
    assert chain.predict_one({"name": "2"}) == 2
    chances = chain.predict_proba_one({"name": "2"})
    assert max(chances, key=lambda k: chances[k]) == 2 and sum(chances.values()) == pytest.approx(1)
    huge = {"name": "2", "f": {"a": 1e-40}}  # only a batch takes it
    assert chain.predict_proba_one(huge) == chances
    with pytest.raises(DataError, match="y: got True, wanted a class"):
        chain.learn_one({"name": "1"}, True)


@pytest.mark.parametrize("chain", ["linear", {"linear": {"loss": "hinge"}}])
def test_probabilities_that_nobody_knows(chain: Any) -> None:
    with pytest.raises(ConfigError, match="wanted `loss: logistic`"):
        Chain.from_config({"chain": [chain]}).predict_proba_one({"a": 1})


def test_a_namespace_that_stands_for_the_label() -> None:
    with pytest.raises(DataError, match="got a namespace 'label', wanted another name"):
        Chain.from_config(LOGISTIC).learn_one({"label": {"a": 1}}, 1)
