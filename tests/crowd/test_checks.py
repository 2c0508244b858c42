"""The contract checks of crowd models: ours pass, and each finds what it is for."""

import re
from dataclasses import replace

import numpy as np
import pytest

from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.table import BUILT_IN
from hutch.plugins.checks import check_crowd_model, checks_of, checks_of_crowd_model


@pytest.mark.parametrize("check", [c for model in BUILT_IN for c in checks_of_crowd_model(model)], ids=str)
def test_contract(check):
    check()


def test_the_command_finds_them_by_name():
    names = [str(check) for check in checks_of("ordinal")]
    assert names[:5] == [
        f"ordinal:{name}"
        for name in ("finds_probabilities", "counts_are_sums", "expects_item_by_item", "history_grows", "resumes")
    ]
    assert len(names) == 14


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


class Undocumented(DawidSkene):
    class Parameters(DawidSkene.Parameters):
        """Nothing is said of one."""

        riddle: float = 1.0


class Doubts(DawidSkene):
    def start(self, labels, history):
        return super().start(replace(labels, gold=np.full_like(labels.gold, -1)), history)

    def expect(self, labels, state, learned):
        return super().expect(replace(labels, gold=np.full_like(labels.gold, -1)), state, learned)


class Equal(DawidSkene):
    def fixed_prior(self, classes):
        return None


class Lost(DawidSkene):
    def expect(self, labels, state, learned):
        return float("nan"), super().expect(labels, state, learned)[1]


class Ends(DawidSkene):
    def expect(self, labels, state, learned):
        return super().expect(labels, state, learned)[0], 0.0


class Forgets(DawidSkene):
    def start(self, labels, history):
        return super().start(labels, None)


class Descends(DawidSkene):
    def expect(self, labels, state, learned):
        mean, change = super().expect(labels, state, learned)
        return -mean, change


class Overflows(DawidSkene):
    def expect(self, labels, state, learned):
        if labels.items > 100:
            raise RuntimeError("too many items")
        return super().expect(labels, state, learned)


@pytest.mark.parametrize(
    ("model", "found"),
    [
        (Undocumented, "parameters_documented: parameter riddle: got no description"),
        (Doubts, "believes_gold: class of an item known to be '1': got '0', wanted '1': read labels.gold"),
        (Equal, "follows_the_class_prior: posteriors with a class prior"),
        (Lost, "objective_is_a_number: objective: got nan"),
        (Ends, "tells_changes: change: got 0.0, wanted 0."),
        (Forgets, "learns_from_history: posteriors with a history: got those without"),
        (Descends, "climbs: objective: got .* wanted no fall"),
        (Odds, "finds_probabilities:.*posterior: sums over the last axis"),
        (Means, "counts_are_sums:.*count: counts of parts"),
        (Settles, "expects_item_by_item:.*parts"),
        (Looks, "expects_item_by_item:.*posteriors of parts"),
        (Grows, "resumes:.*stream that was saved"),
        (Overflows, "finds_probabilities:.*too many items"),
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
