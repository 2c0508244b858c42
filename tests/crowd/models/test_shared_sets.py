"""Published crowds, where they are at hand: the figures in benchmarks/results/crowds.md."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hutch.crowd.data.labels import from_codes
from hutch.crowd.models.any_order_stream import AnyOrderStream
from hutch.crowd.models.calibration import accuracy, calibrate, calibration_error, log_loss
from hutch.crowd.models.online import run, stream_of
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.read.labels import read_gold, read_labels

shared = Path(__file__).parents[3].parent / "shared" / "data" / "crowd"
pytestmark = pytest.mark.skipif(not shared.is_dir(), reason="the crowd data sets are not at hand")
SLOTS = 1 << 16


def folders():
    for folder in sorted(path.parent for path in shared.glob("*/labels.tsv")):
        labels = read_labels(folder / "labels.tsv", gold=read_gold(folder / "gold.tsv"))
        yield folder.name, replace(labels, gold=np.full_like(labels.gold, -1)), labels.gold


@pytest.mark.slow
def test_batch_and_online_reach_their_means():
    scores, differences = [], []
    for _, labels, truth in folders():
        fit = TwoLevel().fit(labels)
        cooked = calibrate(fit.posterior, np.diff(labels.item_ptr))
        scores.append(
            [accuracy(fit.posterior, truth), log_loss(fit.posterior, truth), log_loss(cooked, truth)]
            + [calibration_error(cooked, truth)]
        )
        online = [
            accuracy(run(stream_of(TwoLevel(), labels.classes, SLOTS), labels, n).posterior, truth) for n in (1, 5)
        ]
        differences.append(np.array(online) - scores[-1][0])
    found = np.mean(scores, axis=0)
    assert found[0] >= 0.8185
    assert (found[1:] <= [0.76, 0.50, 0.07]).all()
    assert (np.mean(differences, axis=0) > [-0.015, -0.01]).all()


@pytest.mark.slow
def test_shuffled_labels_in_ten_saved_parts_come_near_batch():
    scores = {}
    for name, labels, truth in folders():
        rows = np.random.default_rng(9001).permutation(labels.coming)
        names, state = (labels.worker_names, labels.item_names, labels.classes), None
        for part in np.array_split(rows, 10):
            stream = AnyOrderStream(TwoLevel(), labels.classes, SLOTS, state)
            stream.learn(from_codes(part, *names, classes=labels.classes, arrivals=True), first_pass=True)
            state = stream.final_state()
        kept = stream.kept(labels.item_names)
        found = stream.score(kept)[0]
        scores[name] = accuracy(found, truth), log_loss(stream.probability(kept, found), truth)
    mean = np.mean([*scores.values()], axis=0)
    assert mean[0] > 0.8226 and mean[1] < 0.50, mean
    assert scores["rte"][0] >= 0.925 and scores["bluebird"][0] >= 0.87


def test_repeated_labels_are_counted_as_published():
    repeats = {"zc_in": 131, "zc_us": 116, "zc_all": 247, "relevance": 281, "adult": 149}
    for name, labels, _ in folders():
        assert labels.duplicates == 0
        assert labels.contradictions == repeats.get(name, 0), name
