"""Detection of copies, on simulated crowds of honest workers and of workers who share answers."""

import numpy as np
import pytest

from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import from_codes, from_triples
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.copies import Group, find_copies, one_voice
from hutch.crowd.models.special import binomial_tail, incomplete_beta, student_tail
from hutch.crowd.simulate import simulate
from hutch.crowd.spam import SPAM_PRIOR


def crowd(seed=0, items=600, workers=10, ratings=5, classes=4, right=0.8, copies=4, source=None, rate=1.0):
    """Labels and truth; the first `copies` say at a rate what a source says that is right in a share, or random."""
    random = np.random.default_rng(seed)
    truth = random.integers(classes, size=items)
    item = np.repeat(np.arange(items), ratings)
    worker = np.argsort(random.random((items, workers)), axis=1)[:, :ratings].reshape(-1)

    def noisy(of, share):
        wrong = (of + random.integers(1, classes, size=len(of))) % classes
        return np.where(random.random(len(of)) < share, of, wrong)

    shared = noisy(truth, 1 / classes if source is None else source)
    copied = (worker < copies) & (random.random(len(item)) < rate)
    said = np.where(copied, shared[item], noisy(truth[item], right))
    codes = np.stack([worker, item, said], axis=1).astype(np.int32)
    names = [[f"w{w}" for w in range(workers)], [f"t{i}" for i in range(items)], [str(k) for k in range(classes)]]
    return from_codes(codes, *names, classes=names[2]), truth.astype(np.int32)


@pytest.mark.parametrize(
    ("case", "members"),
    [
        ({}, 4),
        ({"classes": 2}, 4),
        ({"workers": 20, "copies": 7}, 7),
        ({"workers": 12, "ratings": 12, "copies": 3}, 3),
        ({"items": 120}, 4),
        ({"workers": 30, "copies": 10, "right": 0.7, "source": 0.55, "classes": 2, "items": 1000}, 10),
        ({"copies": 5}, 5),
    ],
)
def test_a_minority_that_copies_turns_nothing_around(case, members):
    labels, truth = crowd(**case)
    (group,) = find_copies(labels)
    assert group.workers == tuple(range(members)) and group.one_voice
    assert group.agreement == 1 and group.expected < 0.6
    result = aggregate(labels, options=Options(ordered=False))
    voices, _ = one_voice(labels, [group])
    honest = voices.chosen(voices.workers >= members)
    assert accuracy(result.probability, truth) > accuracy(honest.vote_share(), truth) - 0.05
    assert accuracy(result.probability, truth) > accuracy(labels.vote_share(), truth)
    assert log_loss(result.probability, truth) < 0.65
    found = result.report()
    assert found.spam[members:].max() < 0.5
    assert found.labels.tolist() == np.bincount(labels.workers).tolist()


@pytest.mark.parametrize("classes", [2, 4])
def test_several_who_copy_seven_labels_of_ten_are_found(classes):
    labels, truth = crowd(items=1000, classes=classes, rate=0.7)
    (group,) = find_copies(labels)
    assert group.workers == (0, 1, 2, 3) and group.one_voice and 0.5 < group.agreement < 0.9
    each = aggregate(labels.chosen(labels.workers > 2), options=Options(ordered=False))
    assert accuracy(aggregate(labels, options=Options(ordered=False)).probability, truth) > accuracy(
        each.probability, truth
    )


def test_a_stream_says_who_copies_and_counts_each():
    labels, _ = crowd()
    online = aggregate(labels, options=Options("online", ordered=False))
    (group,), (known,) = online.copies, find_copies(labels)
    assert vars(group) == vars(known) | {"in_stream": True}
    assert "each counts in a stream" in group.describe(labels.worker_names) and not online.doubt
    experts, _ = crowd(items=200, workers=9, ratings=8, right=0.45, copies=4, source=0.99)
    assert not aggregate(experts, options=Options("online", ordered=False)).copies


def test_honest_crowds_raise_few_alarms():
    alarms = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        shape = int(random.choice([60, 300, 1000])), int(random.integers(5, 40)), int(random.integers(2, 6))
        alarms += bool(find_copies(simulate(*shape, float(random.integers(2, 10)), seed=seed).labels))
        right = float(random.choice([0.6, 0.8, 0.99]))
        alarms += bool(find_copies(crowd(seed, *shape[:2], 5, shape[2], right, copies=0)[0]))
    assert alarms <= 1


@pytest.mark.parametrize(("right", "source"), [(0.45, 0.99), (0.25, 0.99), (0.25, None)])
def test_experts_among_guessers_are_left_alone_and_nobody_is_a_spammer(right, source):
    labels, _ = crowd(items=200, workers=9, ratings=8, right=right, copies=4, source=source)
    (group,) = find_copies(labels)
    assert group.workers == (0, 1, 2, 3) and not group.one_voice
    assert one_voice(labels, [group])[0] is labels
    result = aggregate(labels, options=Options(ordered=False))
    assert "experts or copies" in result.doubt
    assert result.report().spam.tolist() == [SPAM_PRIOR] * 9
    assert "these labels cannot tell" in group.describe(labels.worker_names)


def test_one_voice_says_what_most_members_say():
    rows = [("a", "t", "x"), ("b", "t", "y"), ("c", "t", "y"), ("d", "t", "x"), ("a", "u", "x"), ("d", "u", "y")]
    labels = from_triples(rows)
    voices, places = one_voice(labels, [Group((0, 1, 2), 9, 1.0, 0.5, True)])
    said = [
        (voices.worker_names[w], i, voices.classes[k])
        for w, i, k in zip(voices.workers, voices.label_items, voices.labels, strict=True)
    ]
    assert said == [("a", 0, "y"), ("d", 0, "x"), ("a", 1, "x"), ("d", 1, "y")]
    assert places.tolist() == [0, 0, 0, 1, 2, 3]


def test_the_anonymous_worker_and_judges_are_not_compared():
    labels, _ = crowd()
    names = ["", *labels.worker_names[1:]]
    rows = [
        (names[w], f"t{i}", str(k)) for w, i, k in zip(labels.workers, labels.label_items, labels.labels, strict=True)
    ]
    (group,) = find_copies(from_triples(rows, workers=names))
    assert group.workers == (1, 2, 3)
    assert find_copies(labels, np.arange(10) > 2) == []


def test_tails_equal_their_sums():
    for trials, share in [(7, 0.3), (40, 0.9), (200, 0.02)]:
        terms = [1.0]
        for k in range(trials):
            terms.append(terms[-1] * (trials - k) / (k + 1) * share / (1 - share))
        terms = np.array(terms) / np.sum(terms)
        for count in range(1, trials + 1):
            assert binomial_tail(float(count), float(trials), share) == pytest.approx(terms[count:].sum(), abs=1e-9)
    assert incomplete_beta(2.0, 3.0, 0.0) == 0 and incomplete_beta(2.0, 3.0, 1.0) == 1
    assert student_tail(1.0, 1) == pytest.approx(0.25)


def two_parties(items=400, seed=0):
    """Six variants of one judge, right in .8, and twelve judges whom half of the items mislead; and the truth."""
    random = np.random.default_rng(seed)
    truth, fooled = random.integers(2, size=items), random.random(items) < 0.5
    one = np.where(random.random(items) < 0.8, truth, 1 - truth)
    columns = [np.where(random.random(items) < 0.08, 1 - one, one) for _ in range(6)]
    for _ in range(12):
        wrong = random.random(items) < np.where(fooled, 0.7, 0.3)
        columns.append(np.where(wrong, 1 - truth, truth))
    triples = [(f"j{j}", f"t{i}", str(said)) for j, column in enumerate(columns) for i, said in enumerate(column)]
    return from_triples(triples, classes=["0", "1"]), truth.astype(np.int32)


def test_who_may_be_alike_without_copying_does_not_turn_the_verdict_in_silence():
    labels, truth = two_parties()
    found = aggregate(labels)
    assert [group.workers for group in found.copies] == [tuple(range(6))] and found.copies[0].one_voice
    assert found.turned and "gold can show" in found.doubt
    assert log_loss(found.probability, truth) < np.log(2)
    np.testing.assert_allclose(found.probability.sum(axis=1), 1)
    assert (found.report().spam == 0.1).all()
