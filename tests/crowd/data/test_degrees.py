"""Classes that are degrees: which are, and in which order."""

import pytest

from hutch.crowd.data.degrees import are_degrees, numbers_of, ranks_of
from hutch.crowd.data.labels import class_order
from hutch.crowd.models.ordered import scale, scale_of


@pytest.mark.parametrize(
    ("classes", "values"),
    [
        (["1.0", "1.5", "2.0", "3.0"], [1, 1.5, 2, 3]),
        (["0%", "25 %", "100%"], [0, 25, 100]),
        (["0%", "25%", "100%"], [0, 25, 100]),
        (["1/5", "3/5", "5/5"], [1, 3, 5]),
        (["★", "★★", "★★★★★"], [1, 2, 5]),
        (["1/4", "2/5", "3/5"], None),
        (["aa", "aaa", "a"], None),
        (["1", "2", "n"], None),
        ([], None),
    ],
)
def test_numbers_of_classes(classes, values):
    assert numbers_of(classes) == values
    if values is not None:
        assert are_degrees(classes) and scale_of(classes, None).tolist() == values


@pytest.mark.parametrize(
    "classes", [["1", "2.3", "7.1"], ["0", "1"], [str(k) for k in range(13)], ["3", "2", "1"], ["0.1", "0.25", "0.37"]]
)
def test_other_numbers_are_no_degrees(classes):
    assert not are_degrees(classes)


@pytest.mark.parametrize(
    "wanted",
    [
        ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"],
        ["never", "rarely", "sometimes", "often", "always"],
        ["very_negative", "negative", "neutral", "positive", "very_positive"],
        ["low", "medium", "high", "critical"],
        ["poor", "fair", "good", "excellent"],
        ["not relevant", "somewhat relevant", "relevant", "highly relevant"],
        ["25%", "50%", "100%"],
        ["★★", "★★★", "★★★★"],
        ["9", "10", "cat"],
        ["high", "low"],  # two words are no scale
        ["A", "B", "C"],
    ],
)
def test_classes_go_from_the_least_to_the_greatest(wanted):
    assert class_order(sorted(wanted, reverse=True)) == wanted


def test_two_words_for_one_degree_are_no_scale():
    assert ranks_of(["low", "minor", "high"]) is None


def test_words_of_a_scale_are_ordered_only_if_that_is_said():
    words = ["low", "medium", "high"]
    assert scale_of(words, None) is None and scale_of(words, True).tolist() == [1, 2, 3]
    assert scale(["25%", "50%"]).tolist() == [25, 50]
