"""JSON lines of requests and answers."""

import io
import json

import pytest

from hutch.core.errors import DataError
from hutch.durable.records import DONT_KNOW, Request, canonical_label, make_answer, read_answers, write_requests


@pytest.mark.parametrize(
    ("label", "canonical"),
    [
        (1, "1"),
        (-1.0, "-1"),
        ("2", "2"),
        ("0.5", "0.5"),
        ("skip", "skip"),
        ("Don’t know", DONT_KNOW),
        (True, None),
        (None, None),
        ("ham", None),
        ("nan", None),
        ("1e999", None),
        (123456789012345, "123456789012345"),
        (1e15, "1000000000000000.0"),
        (-1e300, "-1e+300"),
        ([1], None),
    ],
)
def test_canonical_label(label, canonical):
    assert canonical_label(label) == canonical


def test_answers_are_read_with_their_place():
    lines = ['{"id": "a", "worker": "ada", "label": 1}\n', "\n", '{"answer":"x9","worker":"bob","label":"skip","id":7}']
    first, second = read_answers(lines, "answers.jsonl")
    assert (first.request, first.worker, first.label, first.place) == ("a", "ada", "1", ("answers.jsonl", 1, 8))
    assert (second.request, second.id, second.label, second.place) == ("7", "x9", "skip", ("answers.jsonl", 3, 51))


def test_a_worker_has_one_label_a_request_but_may_skip_first():
    lines = [json.dumps({"id": "a", "worker": "ada", "label": label}) for label in ("skip", DONT_KNOW, 1, 2)]
    ids = [answer.id for answer in read_answers(lines, "-")]
    assert len(set(ids[:3])) == 3 and ids[2] == ids[3]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "a", "worker": "ada" "label": 1}', "a.jsonl:1:29: not JSON: Expecting ',' delimiter"),
        ("[1]", "a.jsonl:1:1: got [1], wanted an object with id, worker and label"),
        ('{"id": "a", "worker": "ada", "lable": 1}', "a.jsonl:1:39: unknown key 'lable'; did you mean 'label'?"),
        ('{"id": "a", "worker": "ada"}', "a.jsonl:1:1: 'label' is missing, wanted id, worker and label"),
        ('{"id": null, "worker": "ada", "label": 1}', "a.jsonl:1:8: id: got None, wanted text"),
        (
            '{"id": "a", "worker": "ada", "label": "ham"}',
            "a.jsonl:1:39: label: got 'ham', wanted a number, 'skip' or \"don't know\"",
        ),
        (
            '{"id": "a", "worker": " ", "label": 1}',
            "a.jsonl:1:8: worker: got an empty name, wanted the name of the worker",
        ),
    ],
)
def test_a_wrong_line_is_named_with_its_column(line, message):
    with pytest.raises(DataError) as raised:
        list(read_answers([line], "a.jsonl"))
    assert str(raised.value) == message


def test_requests_are_json_lines():
    request = Request("7", "|f ä b", 0.25, 0.5, 2.0, "abc")
    file = io.StringIO()
    write_requests([request, request], file)
    first, second = file.getvalue().splitlines()
    assert first == second
    assert json.loads(first) == {
        "id": "7",
        "line": "|f ä b",
        "prediction": 0.25,
        "probability": 0.5,
        "importance": 2.0,
        "model": "abc",
    }


LABEL = '{"id": "a", "worker": "ada", "label": '


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("[" * 100_000, "a.jsonl:1: got JSON that is nested too deeply", id="deep list"),
        pytest.param('{"id":' * 100_000, "a.jsonl:1: got JSON that is nested too deeply", id="deep objects"),
        pytest.param(LABEL + r'"\ud800"}', "a.jsonl:1: got half a surrogate pair", id="escaped surrogate"),
        pytest.param(LABEL + '"\udcff"}', "a.jsonl:1: got half a surrogate pair", id="surrogate"),
        pytest.param(LABEL + "9" * 5000 + "}", "a.jsonl:1: got an integer of thousands of digits", id="5000 digits"),
        pytest.param(LABEL + "9" * 4000 + "}", "a.jsonl:1:39: label: got 9999", id="4000 digits"),
        pytest.param(LABEL + "[" * 400 + "]" * 400 + "}", "a.jsonl:1:39: label: got a list, wanted", id="nested label"),
    ],
)
def test_hostile_json_is_refused_in_one_short_message(line, message):
    with pytest.raises(DataError) as raised:
        list(read_answers([line], "a.jsonl"))
    assert str(raised.value).startswith(message) and len(str(raised.value)) < 200


def test_a_whole_surrogate_pair_is_text():
    [answer] = read_answers([r'{"id": "a", "worker": "\ud83d\ude00", "label": 1}'], "a.jsonl")
    assert answer.worker == "\U0001f600"


@pytest.mark.parametrize("worker", ["", "  ", "a\nb", "a\x00", "\x1b[2J", "x" * 201])
def test_a_worker_has_one_rule_for_a_name_at_every_door(worker: str) -> None:
    with pytest.raises(DataError, match="<answer>: worker: got "):
        make_answer("r", worker, 1)
    with pytest.raises(DataError, match="a.jsonl:1:.*worker: got "):
        list(read_answers([json.dumps({"id": "r", "worker": worker, "label": 1})], "a.jsonl"))


def test_blanks_around_a_name_make_no_other_worker() -> None:
    assert make_answer("r", " ada ", 1) == make_answer("r", "ada", 1)


@pytest.mark.parametrize("own", ["x" * 1001, "a\tb"])
def test_the_id_of_an_answer_is_a_name_too(own: str) -> None:
    with pytest.raises(DataError, match="answer: got "):
        make_answer("r", "ada", 1, id=own)
