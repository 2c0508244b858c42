"""The contract of a crowd model, and that it trusts good workers more."""

import numpy as np
import pandas
from hutch_mine import Mine

import hutch
from hutch.plugin import check_crowd_model


def test_contract():
    check_crowd_model(Mine)


def test_two_good_workers_outvote_three_bad_ones():
    random = np.random.default_rng(0)
    truth = random.integers(2, size=400)
    right = {"ann": 0.95, "bob": 0.9, "cy": 0.6, "di": 0.55, "ed": 0.5}
    rows = [
        (worker, task, int(label if random.random() < share else 1 - label))
        for task, label in enumerate(truth)
        for worker, share in right.items()
    ]
    frame = pandas.DataFrame(rows, columns=["worker", "task", "label"])
    found = hutch.crowd(frame, model="mine").to_frame()
    majority = frame.groupby("task").label.median().to_numpy()
    labels = found.set_axis(found.index.astype(int)).sort_index().label.astype(int).to_numpy()
    assert np.mean(labels == truth) > np.mean(majority == truth) + 0.03
