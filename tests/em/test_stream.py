import numpy as np
import pytest

from hutch.core.errors import DataError
from hutch.em.base.learner import Learner, State
from hutch.em.base.model import Array
from hutch.em.constrained.drift import DriftDetector
from hutch.em.constrained.natural_class import ClassPPCA
from hutch.em.stream import learn_classes, learn_drifting


class Recorder(Learner[None]):
    """Learns nothing, remembers what it was told."""

    samples, parameters = 0, None

    def __init__(self) -> None:
        self.told: list[object] = []

    def learn(self, batch: Array) -> None:
        self.told.extend(batch.ravel().tolist())

    def boundary(self) -> None:
        self.told.append("|")

    def log_likelihood(self, batch: Array) -> Array:
        return -np.abs(batch.ravel())

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        pass


@pytest.mark.parametrize(
    ("classes", "expected"),
    [("aabb", [0, 1, "|", 2, 3]), ("abab", [0, "|", 1, "|", 2, "|", 3]), ("cccc", [0, 1, 2, 3])],
)
def test_boundaries_lie_where_the_class_changes(classes: str, expected: list[object]) -> None:
    learner = Recorder()
    cuts = learn_classes(learner, np.arange(4)[:, None], np.array(list(classes)))
    assert learner.told == expected
    assert cuts == expected.count("|")


def test_every_row_needs_a_class() -> None:
    with pytest.raises(DataError, match="got 3, wanted 4"):
        learn_classes(Recorder(), np.zeros((4, 1)), np.zeros(3))


def test_drift_is_found_soon_and_no_row_is_lost_or_taken_twice() -> None:
    random = np.random.default_rng(0)
    rows = np.concatenate([random.normal(size=80), 9 + random.normal(size=80)])[:, None]
    learner = Recorder()
    cuts = learn_drifting(learner, rows, DriftDetector())
    assert len(cuts) == 1 and 80 <= cuts[0] <= 84
    assert [told for told in learner.told if told != "|"] == rows.ravel().tolist()
    assert learner.told.index("|") == cuts[0]


def test_a_steady_stream_has_few_boundaries() -> None:
    rows = np.random.default_rng(1).normal(size=(2000, 1))
    assert len(learn_drifting(Recorder(), rows, DriftDetector(15.0))) <= 2


def test_classes_of_a_stream_are_found_without_labels() -> None:
    random = np.random.default_rng(0)
    parts = [5 * random.normal(size=20) + random.normal(size=(100, 20)) for _ in range(6)]
    rows = np.concatenate(parts)
    learner = ClassPPCA(rows[:50], 3, block=1)
    cuts = learn_drifting(learner, rows, DriftDetector(), score=learner.current_log_likelihood)
    assert len(cuts) == 5
    assert np.abs(np.array(cuts) - np.arange(100, 600, 100)).max() <= 3
