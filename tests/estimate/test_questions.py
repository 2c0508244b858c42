"""Questions about all items: against what all labels say."""

import numpy as np
import pytest

from hutch.core.errors import DataError, UsageError
from hutch.estimate import questions
from hutch.estimate.files import read_items
from hutch.estimate.questions import Items


def world(seed=0, count=600):
    random = np.random.default_rng(seed)
    truth = random.choice(3, count, p=[0.5, 0.3, 0.2])
    judged = np.stack(
        [np.where(random.random(count) < p, truth, random.integers(0, 3, count)) for p in (0.9, 0.7, 0.5)], 1
    )
    judged[random.random(count) < 0.1, 2] = -1
    return truth, judged.astype(np.int32)


def items_of(truth, judged, places, names=("1", "2", "3")):
    return Items(list(names), ["a", "b", "c"], judged, places, np.eye(3)[truth[places]])


QUESTIONS = {
    "rate": (lambda items: questions.rate(items, "1"), lambda t, j: np.mean(t == 0)),
    "mean": (questions.mean, lambda t, j: np.mean(t + 1)),
    "accuracy": (lambda items: questions.accuracy(items, "b"), lambda t, j: np.mean(t == j[:, 1])),
    "accuracy of some": (
        lambda items: questions.accuracy(items, "c"),
        lambda t, j: np.mean((t == j[:, 2])[j[:, 2] >= 0]),
    ),
    "difference": (
        lambda items: questions.difference(items, "a", "b"),
        lambda t, j: np.mean(t == j[:, 0]) - np.mean(t == j[:, 1]),
    ),
}


@pytest.mark.parametrize("kind", QUESTIONS)
def test_with_all_labels_the_answer_is_exact(kind):
    make, wanted = QUESTIONS[kind]
    truth, judged = world()
    items = items_of(truth, judged, np.arange(600))
    found = questions.ask(items, make(items)).found
    assert found.estimate == pytest.approx(wanted(truth, judged)) and found.half_width < 1e-9


@pytest.mark.parametrize("kind", QUESTIONS)
def test_few_labels_cover_what_all_say(kind):
    make, wanted = QUESTIONS[kind]
    held = []
    for seed in range(60):
        truth, judged = world(seed)
        items = items_of(truth, judged, np.random.default_rng(seed).permutation(600)[:120])
        answer = questions.ask(items, make(items))
        held.append(answer.found.low <= wanted(truth, judged) <= answer.found.high)
        assert answer.found.half_width < 1.1 * answer.people_only.half_width
    assert np.mean(held) > 0.85


def test_what_is_left():
    truth, judged = world()
    items = items_of(truth, judged, np.arange(100))
    found = questions.ask(items, questions.left(items, "3")).found
    rate = questions.ask(items, questions.rate(items, "3")).found
    assert found.estimate == pytest.approx(600 * rate.estimate - np.sum(truth[:100] == 2))
    assert found.low >= 0
    everything = items_of(truth, judged, np.arange(600))
    assert questions.ask(everything, questions.left(everything, "3")).found.estimate == pytest.approx(0, abs=1e-9)


def test_what_cannot_be_asked():
    truth, judged = world()
    items = items_of(truth, judged, np.arange(10), ("no", "maybe", "yes"))
    with pytest.raises(UsageError, match="mean: got the label 'no', wanted numbers"):
        questions.mean(items)
    with pytest.raises(UsageError, match="no class is 'maybee'; did you mean 'maybe'"):
        questions.rate(items, "maybee")
    with pytest.raises(UsageError, match="no judge is 'd'"):
        questions.accuracy(items, "d")


def test_files(tmp_path):
    people, judges, drawn = (tmp_path / name for name in ("people.tsv", "judges.tsv", "drawn.tsv"))
    people.write_text("ann\tt1\tyes\nbob\tt1\tno\nann\tt2\tno\n")
    judges.write_text("gpt\tt3\tmaybe\ngpt\tt1\tyes\nllama\tt2\tno\n")
    drawn.write_text("t1\t0.5\nt2\t1\nt9\t0.1\n")
    items = read_items(people, judges, drawn, 7)
    assert items.classes == ["no", "yes", "maybe"] and items.judges == ["gpt", "llama"]
    assert items.said.tolist() == [[0.5, 0.5, 0], [1, 0, 0]]
    assert items.judged.tolist() == [[1, -1], [-1, 0], [2, -1]] + [[-1, -1]] * 4
    assert items.probability is not None and items.probability.tolist() == [0.5, 1.0]
    drawn.write_text("t1\t0.5\nt2\t2\n")
    with pytest.raises(DataError, match="item 't2': got '2', wanted a probability"):
        read_items(people, judges, drawn)
    drawn.write_text("t1\t0.5\n")
    with pytest.raises(DataError, match="item 't2' has labels, but no probability"):
        read_items(people, judges, drawn)
    with pytest.raises(UsageError, match="--items: got 2, but the files name 3 items"):
        read_items(people, judges, total=2)
    with pytest.raises(UsageError, match="wanted at least 1.5"):
        read_items(judges, noisy=True)


def test_noisy_people_widen_the_interval(tmp_path):
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, 150)
    path = tmp_path / "people.tsv"
    path.write_text("".join(
        f"w{w}\tt{i}\t{truth[i] if random.random() < 0.8 else 1 - truth[i]}\n" for i in range(150) for w in range(3)
    ))  # fmt: skip
    noisy, plain = (read_items(path, total=1000, noisy=noisy) for noisy in (True, False))
    answer = questions.ask(noisy, questions.rate(noisy, "1")).found
    assert answer.low < truth.mean() < answer.high
    sure = questions.ask(Items(**{**vars(noisy), "noisy": False}), questions.rate(noisy, "1")).found
    assert answer.half_width > sure.half_width
    assert not plain.noisy
