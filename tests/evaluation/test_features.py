"""What a log shows of its policy."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import UsageError
from hutch.evaluation import features
from hutch.evaluation.features import alternatives_of, logged_of
from hutch.evaluation.logit import Alternatives
from hutch.evaluation.off_policy import of_actions, of_classes

CHAIN = {"chain": ["explore_epsilon", "contextual_bandit", "cost_sensitive_with_features", "linear"]}
CLASSES = {"chain": [{"action_per_class": {"classes": 2}}, *CHAIN["chain"]]}


def _of(text: str) -> tuple[Alternatives, np.ndarray]:
    batches = list(Chain.from_config(CHAIN).batches(text.splitlines()))
    choices = [of_actions(batch) for batch in batches]
    logged = [logged_of(batch, one) for batch, one in zip(batches, choices, strict=True)]
    return alternatives_of(batches, choices, logged, classes=False)


def _rows(found: Alternatives) -> list[list[int]]:
    return [sorted(found.columns[low:high].tolist()) for low, high in zip(found.ends, found.ends[1:], strict=False)]


def test_each_has_its_own_features_alone_and_with_each_common_one() -> None:
    found, _ = _of("shared |s u v\n|a x\n0:1:1 |a y z\n\n")
    assert found.sizes.tolist() == [2] and found.taken.tolist() == [1]
    assert [len(row) for row in _rows(found)] == [1 + 2 + 1, 2 * (1 + 2) + 1]  # alone, with u and v, and the place
    assert found.width == 4 + 7  # nothing in common


def test_what_every_action_has_is_common() -> None:
    apart, _ = _of("shared |s u\n|a x\n0:1:1 |a y\n\n")
    within, _ = _of("|a x |s u\n0:1:1 |a y |s u\n\n")
    assert _rows(apart) == _rows(within)
    other, _ = _of("|a x |s u:1\n0:1:1 |a y |s u:2\n\n")  # with another value it tells them apart
    assert [len(row) for row in _rows(other)] == [3, 3]


def test_only_decisions_with_one_logged_choice_count() -> None:
    one = "shared |s u\n|a x\n0:1:1 |a y\n\n"
    wanted, _ = _of(one + one)
    with pytest.warns(UserWarning, match="several labels"):
        found, _ = _of(f"|a x\n|a y\n\n{one}0:1:1 |a x\n0:1:1 |a y\n\n{one}")
    assert found.sizes.tolist() == [2, 2] and _rows(found) == _rows(wanted)


def test_equal_alternatives_have_one_number_in_any_place() -> None:
    _, twins = _of(
        "shared |s u\n|a x\n0:1:1 |a y\n\nshared |s u\n0:1:1 |a y\n|a x\n\nshared |s v\n0:1:1 |a y\n|a x\n\n"
    )
    assert twins[0] == twins[3] and twins[1] == twins[2]
    assert len(set(twins.tolist())) == 4


def test_classes_have_the_features_of_the_row() -> None:
    (batch,) = Chain.from_config(CLASSES).batches(["2:1:0.5 |f a b", "|f a", "1:0:0.5 |f b"])
    choices = of_classes(batch, 3, 2)
    found, _ = alternatives_of([batch], [choices], [logged_of(batch, choices)], classes=True)
    assert found.sizes.tolist() == [2, 2] and found.taken.tolist() == [1, 0]
    assert [len(row) for row in _rows(found)] == [3, 3, 2, 2]
    assert found.width == 6


def test_columns_have_one_scale() -> None:
    found, _ = _of("|a x:1000\n0:1:1 |a y:0.001\n\n|a x:3000\n0:1:1 |a y:0.003\n\n")
    for column in range(found.width):
        values = found.values[found.columns == column]
        assert np.mean(values**2) == pytest.approx(1)


def test_too_many_products_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(features, "MOST", 10)
    with pytest.raises(UsageError, match="more than 10 products"):
        _of("shared |s u v\n|a x\n0:1:1 |a y z\n\n")
