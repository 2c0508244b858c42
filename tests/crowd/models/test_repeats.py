from dataclasses import replace

import numpy as np
import pytest

from hutch.crowd.aggregate import Options, aggregate, load, save
from hutch.crowd.data.labels import from_triples
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.online import stream_of
from hutch.crowd.models.repeats import DIVIDED, joined, parted
from hutch.crowd.models.trust import size_of
from hutch.crowd.models.two_level import TwoLevel


def runs(judges, count, items=300, seed=0):
    """Labels of judges who are right, on each item, in a share of the runs of its own; and the truth."""
    random = np.random.default_rng(seed)
    truth = random.integers(2, size=items)
    right = [random.beta(3.0, 1.3, items) for _ in range(judges)]
    triples = [
        (f"j{j}", f"t{i}", str(truth[i] if random.random() < right[j][i] else 1 - truth[i]))
        for j in range(judges)
        for i in range(items)
        for _ in range(count)
    ]
    return from_triples(triples, classes=["0", "1"]), truth.astype(np.int32)


@pytest.mark.parametrize(
    ("votes", "kept", "divided"),
    [
        ("y" * 9 + "n", "y", False),
        ("y" * 7 + "n" * 3, "y", True),
        ("yyn", "y", True),
        ("nyy", "y", True),
        ("yn", "yn", False),
        ("yynn", "yn", True),
        ("ynnyy", "y", True),
        ("aabby", "ab", True),
        ("y", "y", False),
    ],
)
def test_nine_of_ten_runs_speak_for_all_and_seven_are_divided(votes, kept, divided):
    labels = from_triples([("gpt", "t", vote) for vote in votes] + [("ann", "t", "y")])
    gpt = labels.worker_names.index("gpt")
    mine = labels.workers == gpt
    assert sorted(labels.classes[k] for k in labels.labels[mine]) == sorted(kept)
    flags = labels.divided if len(labels.divided) else np.zeros(len(labels), bool)
    assert flags[mine].all() == flags.any() == divided


def test_what_an_item_leaves_behind_does_not_touch_the_next():
    labels = from_triples([("g", "a", "y"), ("g", "a", "n"), ("g", "b", "y"), ("g", "b", "y"), ("g", "b", "n")])
    assert labels.divided.tolist() == [False, False, True]
    assert labels.repeats.tolist() == [[4, 1]]


def test_runs_of_nobody_are_not_divided():
    assert not len(from_triples([("", "t", vote) for vote in "yyn"]).divided)


@pytest.mark.parametrize(("judges", "count"), [(5, 3), (5, 10)])
def test_divided_runs_beat_the_majority_and_all_runs_as_independent(judges, count):
    labels, truth = runs(judges, count)
    found = aggregate(labels)
    majority = aggregate(replace(labels, divided=labels.divided[:0]))
    assert log_loss(found.probability, truth) < log_loss(majority.probability, truth)
    assert accuracy(found.probability, truth) >= accuracy(majority.probability, truth) - 0.01


def test_a_divided_say_is_worth_less_and_a_worker_is_one_in_the_report():
    labels, truth = runs(5, 10)
    found = aggregate(labels)
    state, model = found.fit.state, TwoLevel()
    assert state.worker_names == [f"j{j}" for j in range(5)] + [f"j{j}{DIVIDED}" for j in range(5)]
    right = np.einsum("k,wkk->w", found.class_prior, model.confusions(state))
    assert right[:5].mean() > right[5:].mean() + 0.05
    report = found.report()
    assert len(report.labels) == 5 and (report.labels >= 300).all()
    between = np.sort([right[:5], right[5:]], axis=0)
    assert ((report.accuracy >= between[0]) & (report.accuracy <= between[1])).all()
    assert (report.noise > 0.2).all()


def test_panels_are_as_small_as_they_are():
    labels, _ = runs(3, 3, items=100)
    assert size_of(parted(labels)) == size_of(labels)


def test_a_saved_model_knows_the_voices(tmp_path):
    labels, truth = runs(5, 3)
    path = str(tmp_path / "crowd.model")
    found = aggregate(labels)
    save(path, TwoLevel(), Options(), found.fit.state)
    _, history = load(path)
    few = [("j0", "new", vote) for vote in "001"] + [("j1", "new", "0"), ("j2", "new", "0"), ("other", "new", "1")]
    later = from_triples(few, history.classes, history.worker_names)
    tested = aggregate(later, TwoLevel(), Options(test=True), history)
    assert parted(later).worker_names == [*history.worker_names, "other"]
    assert tested.probability[0, 0] > 0.5 and np.isfinite(tested.report().low).all()


@pytest.mark.parametrize("count", [3, 10])
def test_divided_runs_are_a_voice_of_their_own_in_a_stream_too(count):
    labels, truth = runs(5, count)
    online = Options("online", slots=512)
    found, majority = (
        aggregate(each, options=online) for each in (labels, replace(labels, divided=labels.divided[:0]))
    )
    assert log_loss(found.probability, truth) < log_loss(majority.probability, truth) - 0.01
    assert len(found.confusions) == len(found.report().labels) == 5
    stream = stream_of(TwoLevel(), labels.classes, 512, found.fit.state)
    plain, divided = (stream.confusions(stream.slots_of([f"j{j}{end}" for j in range(5)])) for end in ("", DIVIDED))
    assert np.trace(plain, axis1=1, axis2=2).mean() > np.trace(divided, axis1=1, axis2=2).mean() + 0.1


def test_ten_runs_of_which_nine_agree_are_that_answer_in_a_stream():
    votes = [("gpt", "t", "y")] * 9 + [("gpt", "t", "n"), ("ann", "t", "y")]
    found = [
        aggregate(from_triples(rows, ["n", "y"]), options=Options("online"))
        for rows in (votes, votes[8:9] + votes[10:])
    ]
    assert found[0].probability.tolist() == found[1].probability.tolist()


def test_only_judges_beside_people_have_two_voices():
    labels, _ = runs(4, 3, items=60)
    result = aggregate(labels, reference=["j0"])
    assert [name for name in result.fit.state.worker_names if name.endswith(DIVIDED)] == [
        f"j{j}{DIVIDED}" for j in (1, 2, 3)
    ]


def test_joined_tables_are_means_over_labels():
    labels, _ = runs(2, 3, items=200)
    parts = parted(labels)
    tables = np.arange(4.0)[:, None]
    share = [labels.divided[labels.workers == j].mean() for j in range(2)]
    np.testing.assert_allclose(joined(tables, labels, parts)[:, 0], [2 * share[0], 1 + 2 * share[1]])
