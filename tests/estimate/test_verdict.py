"""What an estimate says: each question, what cannot be told, what judges are worth."""

import pytest

from hutch.estimate.verdict import sentences

FOUND = {
    "question": "rate", "of": "pass", "estimate": 0.7, "low": 0.66, "high": 0.73, "items": 1200, "labels": 150,
    "effective_labels": 150.0, "judges": 3, "worth_labels": 678.02, "warnings": [],
}  # fmt: skip


def said(confidence=0.95, **changes):
    return sentences(FOUND | changes, confidence)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, "An estimated 70 % (66 to 73 %) of 1,200 items are 'pass'."),
        (
            {"question": "accuracy", "of": "gpt"},
            "gpt agrees with people on an estimated 70 % (66 to 73 %) of 1,200 items.",
        ),
        (
            {"question": "mean", "of": None, "estimate": 3.41, "low": 3.3, "high": 3.52},
            "The mean of 1,200 items is 3.41 (3.3 to 3.52).",
        ),
        (
            {"question": "count", "estimate": 836.4, "low": 795.0, "high": 1074.2},
            "An estimated 836 (795 to 1,074) items are 'pass'.",
        ),
        (
            {"question": "left", "estimate": 31.0, "low": 10.0, "high": 55.0},
            "An estimated 31 (10 to 55) items that people have not labelled are 'pass'.",
        ),
        (
            {"question": "difference", "of": "a,b", "estimate": -0.04, "low": -0.07, "high": -0.01},
            "b is right more often than a, by 4 % (1 to 7 %) of the items.",
        ),
        ({"labels": 1200}, "70 % of 1,200 items are 'pass': people labelled all of them."),
    ],
)
def test_each_question_is_answered(changes, wanted):
    assert said(**changes)[0] == wanted


def test_what_cannot_be_told():
    assert said(effective_labels=3.0)[0].startswith("Cannot tell, because people's labels count as 3:")
    assert said(low=0.2, high=0.9)[0].startswith("Cannot tell: from 150 labels by people, anything from 20 to 90 %")
    undecided = said(question="difference", of="a,b", estimate=0.01, low=-0.02, high=0.03)[0]
    assert undecided.startswith("Cannot tell whether a or b is right more often: a may be right on 2.0 % fewer")


def test_judges_and_warnings_are_said():
    assert said()[1] == "Without the judges, so narrow an interval takes about 680 labels instead of 150."
    assert said(worth_labels=151.0)[1] == "The judges add next to nothing to people's labels."
    assert len(said(judges=0)) == 1
    lot = said(warnings=["labels were not drawn by lot: gpt says other things"])
    assert lot[0] == "An estimated 70 % (66 to 73 %) of items like the 150 that people labelled are 'pass'."
    assert lot[2] == "Labels were not drawn by lot: gpt says other things."
    assert said(0.9)[0].endswith("are 'pass', with a confidence of 0.9.")
