"""`hutch.label` in Python: functions label, and the certificate says how many labels are right."""

from typing import Any

import numpy as np
import pytest

import hutch
from hutch.core.errors import DataError, UsageError

pytest.importorskip("pandas")
CLASSES = ["spam", "ham"]


class Labeller:
    """Labels items rightly with a probability, and counts what it was asked."""

    def __init__(self, truth: Any, right: float, seed: int) -> None:
        self._truth, self._right, self._random = truth, right, np.random.default_rng(seed)
        self.asked: list[int] = []

    def __call__(self, items: list[int]) -> list[str]:
        self.asked += items
        wrong = self._random.random(len(items)) >= self._right
        return [CLASSES[int(self._truth[k]) ^ int(w)] for k, w in zip(items, wrong, strict=True)]


def run(seed: int, **options: Any) -> tuple[Any, float, list[Labeller]]:
    truth = np.random.default_rng(seed).integers(0, 2, 600)
    cheap, dear, people = (Labeller(truth, right, seed + k) for k, right in enumerate((0.8, 0.93, 1.0)))
    judges = {"dear": (dear, 0.04), "cheap": (cheap, 0.002)}
    found = hutch.label(list(range(600)), CLASSES, judges=judges, people=(people, 1.0), seed=seed, **options)
    frame = found.to_frame()
    return found, float((frame.label == np.array(CLASSES)[truth]).mean()), [cheap, dear, people]


def test_the_promise_is_kept_for_less_than_people_alone() -> None:
    held = []
    for seed in range(8):
        found, right, asked = run(seed, target=0.9)
        held.append(right >= 0.9)
        for one in asked:
            assert len(one.asked) == len(set(one.asked))  # nobody labels an item twice
        price = 0.002 * len(asked[0].asked) + 0.04 * len(asked[1].asked) + len(asked[2].asked)
        assert found.outcome.spent == pytest.approx(price) and price < 400
        assert found.to_frame().checked.sum() <= len(asked[2].asked)
    assert sum(held) >= 7


def test_it_says_what_was_bought() -> None:
    found, _, _ = run(1, target=0.9)
    assert repr(found).startswith("At least 9") and "instead of 600" in repr(found).replace("\n", " ")
    assert found.verdict[-1].startswith("They cost ")


def test_what_functions_may_not_say() -> None:
    people: Any = (lambda items: ["ham"] * len(items), 1.0)
    with pytest.raises(DataError, match="gpt: got the label 'spamm'; did you mean 'spam'"):
        hutch.label(range(50), CLASSES, judges={"gpt": (lambda items: ["spamm"] * len(items), 0.1)}, people=people)
    with pytest.raises(DataError, match="gpt: got 1 labels of 50 items"):
        hutch.label(range(50), CLASSES, judges={"gpt": (lambda items: ["spam"], 0.1)}, people=people)
    with pytest.raises(UsageError, match="target: got 1, wanted"):
        hutch.label(range(50), CLASSES, judges={}, people=people, target=1.0)
    with pytest.raises(UsageError, match="classes: got"):
        hutch.label(range(50), ["a", "a"], judges={}, people=people)


def test_a_judge_is_never_taken_for_people() -> None:
    wrong: Any = (lambda items: ["spam"] * len(items), 0.1)
    people: Any = (lambda items: ["ham"] * len(items), 1.0)
    with pytest.raises(UsageError, match="judges: got one named 'people', wanted another name"):
        hutch.label(range(80), CLASSES, judges={"people": wrong}, people=people)
    found = hutch.label(range(80), CLASSES, judges={"person": wrong}, people=people)
    assert (found.to_frame().label == "ham").mean() >= 0.95


def test_nothing_to_label_and_labels_that_are_lists_are_refused() -> None:
    people: Any = (lambda items: ["ham"] * len(items), 1.0)
    with pytest.raises(UsageError, match="items: got none"):
        hutch.label([], CLASSES, judges={}, people=people)
    with pytest.raises(DataError, match=r"j: got the label .'spam'.; did you mean 'spam'"):
        hutch.label(range(50), CLASSES, judges={"j": (lambda items: [["spam"]] * len(items), 0.1)}, people=people)


@pytest.mark.parametrize("target", ["recall=0.9", "precision=0.9", "f1=0.85"])
def test_one_class_is_found_with_its_promise(target: str) -> None:
    found, _, asked = run(3, target=target, positive="spam")
    truth, said = np.random.default_rng(3).integers(0, 2, 600) == 0, (found.to_frame().label == "spam").to_numpy()
    both = int((truth & said).sum())
    value = {"recall": both / truth.sum(), "precision": both / said.sum(), "f1": 2 * both / (truth.sum() + said.sum())}
    kept = found.outcome.kept[0]
    assert value[kept.promise.measure] >= kept.low >= kept.promise.level - 1e-9
    assert len(asked[-1].asked) < 500 and "of 'spam' is certified" in repr(found)


def test_what_a_target_of_one_class_may_not_be() -> None:
    people: Any = (lambda items: ["ham"] * len(items), 1.0)
    with pytest.raises(UsageError, match="positive: got None; did you mean|positive: got None"):
        hutch.label(range(50), CLASSES, judges={}, people=people, target="recall=0.9")
    with pytest.raises(UsageError, match="positive: got 'spamm'; did you mean 'spam'"):
        hutch.label(range(50), CLASSES, judges={}, people=people, target="recall=0.9", positive="spamm")
    with pytest.raises(UsageError, match="positive: got 'spam' with target=0.9"):
        hutch.label(range(50), CLASSES, judges={}, people=people, target=0.9, positive="spam")
    with pytest.raises(UsageError, match="--target: got 'recall=2'"):
        hutch.label(range(50), CLASSES, judges={}, people=people, target="recall=2", positive="spam")


def test_texts_without_judges_are_ranked_by_their_words() -> None:
    random = np.random.default_rng(0)
    spam = random.random(600) < 0.25
    items = [
        " ".join(f"w{k}" for k in [*random.integers(0, 99, 9), *(random.integers(0, 9, 3) + 9 * s + 100)]) for s in spam
    ]
    people: Any = (lambda some: ["spam" if int(text.split()[-1][1:]) >= 109 else "ham" for text in some], 1.0)
    found = hutch.label(items, CLASSES, judges={}, people=people, target="recall=0.8", positive="spam")
    said = (found.to_frame().label == "spam").to_numpy()
    assert (said & spam).sum() / spam.sum() >= 0.8 and not (said & ~spam).any()
    assert found.outcome.spent < 450
