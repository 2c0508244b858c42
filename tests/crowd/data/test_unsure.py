"""Words that are no answer."""

import numpy as np
import pytest

from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.unsure import AS_CLASS, AS_LEVEL, Unsure, says_unsure, taken_as


@pytest.mark.parametrize(
    "label",
    ["unsure", "Not sure", "DON'T KNOW", "I don’t know", "dont_know", "cannot tell", "Can't tell.", "Weiß nicht",
     "WEISS NICHT", "je ne sais pas", "No sé", "non lo so", "не знаю", "不知道", "わからない", "पता नहीं", "Não sei!"],
)  # fmt: skip
def test_usual_words_in_usual_languages(label):
    assert says_unsure(label)


@pytest.mark.parametrize("label", ["", "sure", "unknown", "maybe", "neutral", "other", "yes", "0", "?", "not surely"])
def test_words_that_may_be_classes(label):
    assert not says_unsure(label)


def test_a_name_that_is_known_is_a_class():
    asked = ColumnNames(unsure=("x",), classes=("a", "unsure"), known=("idk",))
    assert [asked.is_unsure(label) for label in ("x", "unsure", "idk", "not sure")] == [True, False, False, True]
    assert not ColumnNames(usual=False).is_unsure("unsure") and ColumnNames(sets=True).unsure_in("a\x1fidk") == "idk"


def test_the_sentence_of_a_summary():
    assert taken_as({"unsure": 1}) == "1 label of 'unsure' is taken as missing"
    three = taken_as({"unsure": 37, "idk": 2, "?": 1}, AS_LEVEL)
    assert three == "37 labels of 'unsure', 2 of 'idk' and 1 of '?' are taken as a sign of a hard task"
    assert taken_as({"unsure": 2}, AS_CLASS) == "2 labels of 'unsure' are taken as a sign of the class"


def test_those_of_some_items():
    part = Unsure(np.array([0, 1, 2], np.int32), np.array([0, 3, 5], np.int32)).between(3, 5)
    assert (part.workers.tolist(), part.items.tolist(), len(part)) == ([1], [0], 1)
