"""The contract checks of crowd models: ours pass, and each finds what it is for."""

import re

import numpy as np
import pytest

from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.table import BUILT_IN
from hutch.plugins.checks import check_crowd_model, checks_of, checks_of_crowd_model


@pytest.mark.parametrize("check", [c for model in BUILT_IN for c in checks_of_crowd_model(model)], ids=str)
def test_contract(check):
    check()


def test_the_command_finds_them_by_name():
    assert [str(check) for check in checks_of("ordinal")] == [
        f"ordinal:{name}"
        for name in ("finds_probabilities", "counts_are_sums", "expects_item_by_item", "history_grows", "resumes")
    ]


class Odds(DawidSkene):
    def posterior(self, state):
        return super().posterior(state) * 2


class Means(DawidSkene):
    def count(self, labels, state):
        return {name: array / max(labels.items, 1) for name, array in super().count(labels, state).items()}


class Settles(DawidSkene):
    def expect(self, labels, state, learned):
        found = super().expect(labels, state, learned)
        state.shared["class_counts"] += 1
        return found


class Looks(DawidSkene):
    def expect(self, labels, state, learned):
        found = super().expect(labels, state, learned)
        state.items["posterior"][...] = state.items["posterior"].mean(axis=0)
        return found


class Grows(DawidSkene):
    def start(self, labels, history):
        state = super().start(labels, history)
        state.shared["class_counts"] = state.shared["class_counts"] + (history is not None)
        return state


@pytest.mark.parametrize(
    ("model", "found"),
    [
        (Odds, "finds_probabilities:.*posterior: sums over the last axis"),
        (Means, "counts_are_sums:.*count: counts of parts"),
        (Settles, "expects_item_by_item:.*parts"),
        (Looks, "expects_item_by_item:.*posteriors of parts"),
        (Grows, "resumes:.*stream that was saved"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_check_finds_what_it_is_for(model, found):
    with pytest.raises(AssertionError) as error:
        check_crowd_model(model)
    assert re.search(found, str(error.value), re.DOTALL), error.value


def test_a_fixed_shape_is_found():
    class Rigid(DawidSkene):
        def confusions(self, state):
            return np.full((6, 3, 3), 1 / 3)

    with pytest.raises(AssertionError, match="confusions: got \\(6, 3, 3\\), wanted shape"):
        check_crowd_model(Rigid)
