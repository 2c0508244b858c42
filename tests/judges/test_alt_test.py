import numpy as np
import pytest
from scipy import stats

from hutch.crowd.data.labels import from_triples
from hutch.crowd.mixed.model import matches
from hutch.crowd.models.special import student_tail
from hutch.judges.alt_test import discoveries, winning_rate


def parts(rows):
    labels = from_triples(rows)
    judge = matches(labels.worker_names, ("judge",))[labels.workers]
    return labels.chosen(~judge), labels.chosen(judge)


def crowd(judge_right, items=120, people=4, seed=0):
    """Everybody labels everything; people are right in 80 %."""
    random = np.random.default_rng(seed)
    rows = []
    for i in range(items):
        for name, right in [*((f"p{p}", 0.8) for p in range(people)), ("judge", judge_right)]:
            rows.append((name, f"t{i}", "yes" if random.random() < right else "no"))
    return rows


def plainly(rows, epsilon=0.15):
    """The test as its paper says it, with SciPy."""
    said = {}
    for worker, task, label in rows:
        said.setdefault(task, {})[worker] = label
    names = sorted({worker for worker, _, _ in rows} - {"judge"})
    chances = []
    for name in names:
        wins, losses = [], []
        for labels in said.values():
            others = [label for worker, label in labels.items() if worker not in (name, "judge")]
            if name not in labels or "judge" not in labels or not others:
                continue
            judge = np.mean([label == labels["judge"] for label in others])
            own = np.mean([label == labels[name] for label in others])
            wins.append(judge >= own)
            losses.append(own >= judge)
        if len(wins) >= 30:
            behind = np.array(losses, float) - np.array(wins, float)
            chances.append(stats.ttest_1samp(behind, epsilon, alternative="less").pvalue)
    rejected = stats.false_discovery_control(chances, method="by") <= 0.05
    return rejected.mean()


@pytest.mark.parametrize("judge_right", [0.6, 0.75, 0.8, 0.9])
@pytest.mark.parametrize("epsilon", [0.05, 0.15])
def test_it_is_the_test_of_the_paper(judge_right, epsilon):
    rows = [row for i, row in enumerate(crowd(judge_right)) if i % 7]
    assert winning_rate(*parts(rows), epsilon) == pytest.approx(plainly(rows, epsilon))


def test_a_good_judge_passes_and_a_bad_one_fails():
    assert winning_rate(*parts(crowd(0.95))) == 1
    assert winning_rate(*parts(crowd(0.5))) == 0


def test_one_person_an_item_can_be_compared_with_nobody():
    rows = [row for i, row in enumerate(crowd(0.9)) if i % 5 in (0, 4)]
    assert winning_rate(*parts(rows)) is None
    assert winning_rate(*parts(crowd(0.9, items=29))) is None
    assert winning_rate(*parts(crowd(0.9, items=30))) is not None


@pytest.mark.parametrize("chances", [[0.001, 0.5, 0.01], [0.2], [0.04], [], [0.01, 0.012, 0.013, 0.02]])
def test_discoveries_are_those_of_scipy(chances):
    wanted = (stats.false_discovery_control(chances, method="by") <= 0.05).sum() if chances else 0
    assert discoveries(np.array(chances), 0.05) == wanted


@pytest.mark.parametrize("degrees", [1, 2, 5, 29, 200, 5000])
def test_tail_of_student(degrees):
    for t in (-40.0, -3.0, -0.1, 0.0, 0.3, 1.0, 2.0, 7.0, 60.0):
        assert student_tail(t, degrees) == pytest.approx(stats.t.sf(t, degrees), rel=1e-8, abs=1e-14)
    assert (student_tail(np.inf, degrees), student_tail(-np.inf, degrees)) == (0, 1)
