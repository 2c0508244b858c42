"""Questions about all items: against what all labels say."""

from dataclasses import replace

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
    "difference among some": (
        lambda items: questions.difference(items, "c", "a"),
        lambda t, j: np.mean((t == j[:, 2])[j[:, 2] >= 0]) - np.mean((t == j[:, 0])[j[:, 2] >= 0]),
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


def test_what_is_left_is_never_negative():
    """With noisy people, whose answers do not bound what is true."""
    truth, judged = world()
    items = items_of(truth, judged, np.arange(590))
    said = 0.9 * items.said + 0.1 / 3
    found = questions.ask(replace(items, said=said, noisy=True), questions.left(items, "3"), 0.99).found
    sure = questions.ask(items, questions.left(items, "3")).found
    assert 0 == found.low < found.estimate < found.high and sure.high <= 10
    assert found.half_width > sure.half_width


def test_judges_who_never_differ_on_a_labelled_item_may_differ_elsewhere():
    truth, judged = world()
    judged[:, 1] = judged[:, 0]
    judged[500:530, 1] = (judged[500:530, 0] + 1) % 3
    items = items_of(truth, judged, np.arange(20))
    found = questions.ask(items, questions.difference(items, "a", "b")).found
    assert (found.low, found.high, found.labelled) == (pytest.approx(-0.05), pytest.approx(0.05), 0)
    judged[:, 2] = np.where(np.arange(600) < 300, -1, judged[:, 2])
    judged[300:, 0] = -1
    with pytest.raises(UsageError, match="a and c have labelled no item in common"):
        questions.difference(items, "a", "c")


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
    drawn.write_text("t1\t0.2\nt2\t0.5\nt9\t0.1\n")
    items = read_items(people, judges, drawn, 7)
    assert items.classes == ["no", "yes", "maybe"] and items.judges == ["gpt", "llama"]
    assert items.said.tolist() == [[0.5, 0.5, 0], [1, 0, 0]]
    assert items.judged.tolist() == [[1, -1], [-1, 0], [2, -1]] + [[-1, -1]] * 4
    assert items.probability is not None and items.probability.tolist() == [0.2, 0.5]
    assert len(read_items(people, judges, drawn, 4).judged) == 4
    with pytest.raises(UsageError, match="--items: got 3, but the files name 4 items"):
        read_items(people, judges, drawn, 3)
    for wrong in ("2", "0", "-0.1", "nan", "x"):
        drawn.write_text(f"t1\t0.5\nt2\t{wrong}\n")
        with pytest.raises(DataError, match=f"item 't2': got '{wrong}', wanted a probability"):
            read_items(people, judges, drawn)
    drawn.write_text("t1\t0.2\nt2\t0.5\nT3\t0.1\n")
    with pytest.raises(DataError, match="item 'T3' of people is 't3' of judges; wanted one spelling"):
        read_items(people, judges, drawn, 7)
    drawn.write_text("t1\t0.5\n")
    with pytest.raises(DataError, match="item 't2' has labels, but no probability"):
        read_items(people, judges, drawn)
    with pytest.raises(UsageError, match="--items: got 2, but the files name 3 items"):
        read_items(people, judges, total=2)
    with pytest.raises(UsageError, match="wanted at least 1.5"):
        read_items(judges, noisy=True)


@pytest.mark.parametrize(
    ("item", "label", "message"),
    [
        ("t1", "Yes", "class 'Yes' of people is 'yes' of judges; wanted one spelling"),
        ("T1", "yes", "item 'T1' of people is 't1' of judges; wanted one spelling"),
        ("5.0", "yes", "item '5.0' of people is '5' of judges; wanted one spelling"),
        ("x1", "yes", "people and judges have no item in common: the nearest to 'x1' of people is 't1'"),
        ("t1", "spam", "people and judges have no class in common: the nearest to 'spam' of people is 'yes'"),
    ],
)
def test_names_that_do_not_meet_are_refused(tmp_path, item, label, message):
    people, judges = tmp_path / "people.tsv", tmp_path / "judges.tsv"
    judges.write_text("gpt\tt1\tyes\ngpt\t5\tyes\ngpt\tt2\tyes\n")
    people.write_text(f"ann\t{item}\t{label}\n")
    with pytest.raises(DataError, match=message):
        read_items(people, judges)
    people.write_text(f"ann\t{item}\tyes\nann\tt2\t{label}\n")
    if "common" not in message:
        with pytest.raises(DataError, match=message):
            read_items(people, judges)
    people.write_text("ann\tt2\tyes\nann\tt3\tno\n")
    assert read_items(people, judges).classes == ["no", "yes"]


def test_probabilities_that_cannot_be_are_refused(tmp_path):
    people, drawn = tmp_path / "people.tsv", tmp_path / "drawn.tsv"
    people.write_text("".join(f"ann\tt{i}\t{i % 2}\n" for i in range(100)))
    for scale, fine in ((1.0, True), (0.9, True), (0.001, False), (0.5, False), (3.0, False)):
        drawn.write_text("".join(f"t{i}\t{0.1 * scale}\n" for i in range(100)))
        if fine:
            assert read_items(people, drawn=drawn, total=1000).probability is not None
            continue
        with pytest.raises(
            DataError, match="of the labelled items adds up to .* wanted about 1000, the number of items"
        ):
            read_items(people, drawn=drawn, total=1000)


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


def test_values_lie_between_the_least_and_the_greatest():
    judged = np.zeros((6, 1), np.int32)
    for names in (["2", "3.5"], ["-4", "-1", "0"]):
        said = np.eye(len(names))[[0, 1, 0]]
        values = [float(name) for name in names]
        question = questions.mean(Items(names, ["x"], judged, np.arange(3), said))
        assert question.ends == (min(values), max(values))


@pytest.mark.parametrize("noisy", [False, True])
def test_a_question_of_some_items_is_that_of_a_file_of_them(noisy):
    random = np.random.default_rng(4)
    judged = random.integers(0, 2, (90, 2)).astype(np.int32)
    judged[random.random(90) < 0.4, 0] = -1
    labelled, chance = random.permutation(90)[:40], random.uniform(0.2, 0.9, 40)
    said = random.dirichlet([1, 1], 40)
    inside = judged[:, 0] >= 0
    kept = inside[labelled]
    places = (np.cumsum(inside) - 1)[labelled[kept]]
    whole = Items(["a", "b"], ["x", "y"], judged, labelled, said, chance, noisy)
    part = Items(["a", "b"], ["x", "y"], judged[inside], places, said[kept], chance[kept], noisy)
    assert questions.ask(whole, questions.accuracy(whole, "x")) == questions.ask(part, questions.accuracy(part, "x"))


def test_noisy_people_who_are_sure_leave_no_more_doubt_than_others():
    random = np.random.default_rng(5)
    judged = random.integers(0, 3, (60, 1)).astype(np.int32)
    sure = np.eye(3)[random.integers(0, 3, 25)]
    found = []
    for noisy in (False, True):
        items = Items(["1", "2", "4"], ["x"], judged, np.arange(25), sure, None, noisy)
        found.append(questions.ask(items, questions.mean(items)).found.deviation)
    assert found[0] == pytest.approx(found[1])
