"""Receipts of predictions, and who made them."""

import numpy as np
import pytest

from hutch.durable.receipts import described, maker, receipt_of


def test_a_receipt_changes_with_a_bit() -> None:
    predictions = np.array([0.5, -1.25], np.float32)
    changed = np.nextafter(predictions, np.float32(9))
    assert receipt_of(predictions) == receipt_of(predictions.copy()) != receipt_of(changed)
    assert receipt_of(predictions[::2]) == receipt_of(predictions[:1])


@pytest.mark.parametrize(("then", "now", "said"), [({"hutch": "1"}, {"hutch": "2"}, "hutch 1"), ({}, {}, "an unknown")])
def test_two_makers_are_told_apart_by_what_differs(then: dict[str, str], now: dict[str, str], said: str) -> None:
    assert described(then, now).startswith(said)


def test_a_maker_names_versions_and_processor() -> None:
    assert {"hutch", "numpy", "numba", "processor"} <= maker().keys() and all(maker().values())
