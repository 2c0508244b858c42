import pytest

from hutch.active.label_studio.question import configuration_for, question_of
from hutch.core.errors import DataError

NAMES = {"1": "spam", "-1": "ham & eggs"}


def test_a_configuration_asks_what_it_was_made_for():
    question = question_of(configuration_for(("-1", "1"), NAMES, ["a<b", "c"]), ("-1", "1"), NAMES)
    assert (question.from_name, question.to_name, dict(question.labels)) == (
        "label", "field_0", {"ham & eggs": "-1", "spam": "1"})  # fmt: skip
    result = question.result_of("-1")
    assert question.label_of({"result": result}) == "-1"
    assert question.result_of("7") == []
    assert question.label_of({"result": result, "was_cancelled": True}) == "skip"


def test_an_alias_is_the_choice():
    choices = '<Choice value="Yes!" alias="1"/><Choice value="No" alias="-1"/>'
    text = f'<View><Choices name="q" toName="t">{choices}</Choices></View>'
    assert dict(question_of(text, ("-1", "1"), {}).labels) == {"1": "1", "-1": "-1"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<View", "is not XML"),
        ("<View/>", "has no <Choices>"),
        ('<View><Choices name="q" choice="multiple"/></View>', "takes several choices"),
        ('<View><Choices name="q"><Choice value="1"/></Choices></View>', "no choice for -1, got 1"),
    ],
)
def test_what_does_not_ask_for_the_labels(text, words):
    with pytest.raises(DataError, match=words):
        question_of(text, ("-1", "1"), {})


@pytest.mark.parametrize(
    ("given", "words"), [(["spam", "ham & eggs"], "got 2 choices"), (["?"], "got the choice '\\?'")]
)
def test_annotations_that_are_no_answer(given, words):
    question = question_of(configuration_for(("-1", "1"), NAMES, ["a"]), ("-1", "1"), NAMES)
    result = [{"type": "choices", "from_name": "label", "value": {"choices": given}}]
    with pytest.raises(DataError, match=words):
        question.label_of({"result": result})
