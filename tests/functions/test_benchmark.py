"""`hutch.Benchmark`: the loop of questions and answers in Python."""

import numpy as np
import pandas
import pytest

import hutch
from hutch.core.errors import DataError, HutchError, UsageError


@pytest.fixture
def made():
    """A frame of earlier answers, and the answers of two more models."""
    random = np.random.default_rng(0)
    logits = 2 * random.normal(size=(200, 1)) + random.normal(size=(200, 2)) @ random.normal(size=(2, 42))
    right = (random.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)
    frame = pandas.DataFrame(right[:, :40], columns=[f"m{k}" for k in range(40)])
    frame.insert(0, "question", [f"q{k}" for k in range(200)])
    frame["subject"] = ["maths", "law"] * 100
    return frame, *(dict(zip(frame.question, right[:, k], strict=True)) for k in (40, 41))


def test_a_loop_by_hand(made):
    frame, truth, _ = made
    benchmark = hutch.Benchmark(frame, by="subject")
    assert repr(benchmark) == "Benchmark of 200 questions and 40 earlier models"
    assert benchmark.estimate().verdict == "Cannot tell: no answer to 200 questions is known yet."
    for _ in range(5):
        asked = benchmark.next(10)
        assert benchmark.next(3) == asked, "they wait for answers"
        benchmark.update({question: truth[question] for question in asked[:4]})
        assert benchmark.next(3) == asked[4:]
        benchmark.update({question: bool(truth[question]) for question in asked[4:]})
    score, wanted = benchmark.estimate(), np.mean([*truth.values()])
    assert score.low < wanted < score.high and score.labels == 50
    assert repr(benchmark) == repr(score) == score.verdict and " from 50 of 200 questions: worth " in repr(score)
    assert score.half_width < benchmark.estimate(every_look=50).half_width
    assert score.half_width < benchmark.estimate(confidence=0.99).half_width
    groups = benchmark.groups()
    assert list(groups) == ["maths", "law"] and sum(each.labels for each in groups.values()) == 50
    assert groups["law"].value == benchmark.estimate(group="law").value


def test_a_loop_through_a_callable(made):
    frame, truth, other = made
    seen = []

    def judge(questions):
        seen.append(len(questions))
        return [truth[question] for question in questions]

    benchmark = hutch.Benchmark(frame.drop(columns="subject"))
    score = benchmark.run(judge, 100)
    assert seen == [10] * 10 and score.labels == 100
    assert repr(score) == repr(benchmark.estimate())
    axes = benchmark.plot().axes[0]
    assert axes.lines[0].get_xdata().tolist() == list(range(10, 101, 10))
    assert axes.lines[0].get_ydata()[-1] == score.value
    easy = hutch.Benchmark(frame.drop(columns="subject")).run(judge, 200, width=0.2)
    assert easy.labels < 200 and easy.half_width <= 0.2
    always = hutch.Benchmark(frame.drop(columns="subject")).run(judge, 200, width=0.2, every_look=True)
    assert always.labels > easy.labels and always.half_width <= 0.2
    both = hutch.Benchmark(frame.drop(columns="subject"), ["a", "b"])
    both.run(lambda questions: {"a": [truth[q] for q in questions], "b": [other[q] for q in questions]}, 60)
    difference = both.estimate("a", against="b")
    assert difference.low < np.mean([*truth.values()]) - np.mean([*other.values()]) < difference.high
    assert "from 60 of 200 questions." in difference.verdict and repr(both).startswith("a: ")
    assert "m3" in both.estimate("a", against="m3").verdict


def test_a_judge_may_name_the_questions_it_answers(made):
    frame, truth = made[0].drop(columns="subject"), made[1]
    series = pandas.Series(truth)
    judges = (
        lambda asked: [truth[question] for question in asked],
        lambda asked: {question: truth[question] for question in reversed(asked)},
        lambda asked: series[series.index.isin(asked)],
        lambda asked: pandas.Series([truth[question] for question in asked]),
    )
    scores = {repr(hutch.Benchmark(frame).run(judge, 60)) for judge in judges}
    assert len(scores) == 1
    for wrong, said in (
        (lambda asked: "1" * len(asked), "got str, wanted a list of answers, one for each question"),
        (lambda asked: None, "got NoneType, wanted a list of answers"),
        (lambda asked: {asked[0]: 1}, "got no answer, wanted one for each"),
    ):
        with pytest.raises(DataError, match=said):
            hutch.Benchmark(frame).run(wrong, 60)


def test_people_check_a_judge(made):
    frame, truth, _ = made
    benchmark = hutch.Benchmark(frame, by="subject")
    for _ in range(4):
        asked = benchmark.next(20, check=0.5)
        benchmark.update(dict.fromkeys(asked, 0))  # this judge fails everything
        checks = benchmark.checks()
        assert len(checks) == 10 and set(checks) <= set(asked)
        benchmark.update({question: truth[question] for question in checks}, by_people=True)
    score = benchmark.estimate()
    assert 0 < score.low < np.mean([*truth.values()]) < score.high and not benchmark.checks()
    other = next(question for question in asked if question not in checks)
    with pytest.raises(DataError, match="wanted one of those that `checks` returned"):
        benchmark.update({other: 1}, by_people=True)
    with pytest.raises(UsageError, match="check: got 2"):
        benchmark.next(check=2)


def test_save_and_load(made, tmp_path):
    frame, truth, _ = made
    one = hutch.Benchmark(frame, by="subject", seed=7)
    one.run(lambda questions: [truth[question] for question in questions], 40)
    one.save(tmp_path / "open.csv")
    other = hutch.Benchmark(frame, by="subject", seed=7).load(tmp_path / "open.csv")
    assert other.plot().axes[0].lines[0].get_ydata()[-1] == one.estimate().value
    assert one.next(12) == other.next(12)
    assert one.estimate() == other.estimate()
    with pytest.raises(UsageError, match="from which no questions have been drawn"):
        other.load(tmp_path / "open.csv")


def test_questions_are_named_as_the_frame_names_them():
    frame = pandas.DataFrame(np.eye(20), columns=[f"m{k}" for k in range(20)], index=range(100, 120))
    benchmark = hutch.Benchmark(frame)
    asked = benchmark.next(4)
    assert all(isinstance(question, int) and question in frame.index for question in asked)
    benchmark.update({question: 1 for question in asked})
    assert benchmark.estimate().labels == 4 and benchmark.questions == list(range(100, 120))


def test_what_is_refused(made):
    frame, truth, _ = made
    benchmark = hutch.Benchmark(frame, by="subject")
    asked = benchmark.next(5)
    other = next(question for question in frame.question if question not in asked)
    wrong = [
        (DataError, "was not drawn", lambda: benchmark.update({other: 1})),
        (DataError, "no question is 'nothing'", lambda: benchmark.update({"nothing": 1})),
        (DataError, "got '2', wanted a number from 0 to 1", lambda: benchmark.update({asked[0]: 2})),
        (DataError, "got no answer", lambda: benchmark.update({asked[0]: None})),
        (DataError, "got no answer", lambda: benchmark.update({asked[0]: float("nan")})),
        (UsageError, "count: got 0", lambda: benchmark.next(0)),
        (UsageError, "count: got 2.5", lambda: benchmark.next(2.5)),
        (UsageError, "seed: got -1", lambda: hutch.Benchmark(frame, by="subject", seed=-1)),
        (UsageError, "new: got an empty name", lambda: hutch.Benchmark(frame, [], by="subject")),
        (UsageError, "does not end in ' by people'", lambda: hutch.Benchmark(frame, "a by people", by="subject")),
        (UsageError, "confidence: got 95", lambda: benchmark.estimate(confidence=95)),
        (UsageError, "every_look: got 0", lambda: benchmark.estimate(every_look=0)),
        (UsageError, "no group is 'maths '", lambda: benchmark.estimate(group="maths ")),
        (UsageError, "no new model is 'x'", lambda: benchmark.estimate("x")),
        (UsageError, "budget: got 0", lambda: benchmark.run(list, 0)),
        (UsageError, "width: got -1", lambda: benchmark.run(list, 5, width=-1)),
        (DataError, "got 1 answers to 5 questions", lambda: benchmark.run(lambda questions: [1], 5)),
        (UsageError, "wanted a round", lambda: benchmark.plot()),
        (UsageError, "'m3' is a model of the earlier answers", lambda: hutch.Benchmark(frame, "m3", by="subject")),
        (HutchError, "wanted a frame", lambda: hutch.Benchmark([1, 2])),
    ]
    with pytest.warns(UserWarning, match="left out columns of words: subject"):
        hutch.Benchmark(frame)
    for kind, said, call in wrong:
        with pytest.raises(kind, match=said):
            call()
