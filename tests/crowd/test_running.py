"""What a stream found: the same sums in pieces as at once, and guessers by labels that nothing selected."""

import numpy as np
import pytest

from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import from_codes
from hutch.crowd.label_stream import read_tasks, run_blocks, run_pieces
from hutch.crowd.models.one_coin import OneCoin
from hutch.crowd.models.online import stream_of
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.right import estimated
from hutch.crowd.running import Running
from hutch.crowd.verdict import findings, verdict
from tests.crowd.test_right import crowd


def in_random_order(labels, seed=0):
    """The labels one after the other, in an order that has nothing to do with tasks."""
    codes = np.stack([labels.workers, labels.label_items, labels.labels], axis=1).astype(np.int32)
    codes = codes[np.random.default_rng(seed).permutation(len(codes))]
    names = labels.worker_names, labels.item_names, labels.classes
    return from_codes(codes, *names, classes=labels.classes, arrivals=True)


def with_bot(labels, truth):
    """The same with a worker `bot` who guesses on every task."""
    random = np.random.default_rng(1)
    codes = np.stack([labels.workers, labels.label_items, labels.labels], axis=1)
    bot = np.full(labels.items, len(labels.worker_names))
    guesses = np.stack([bot, np.arange(labels.items), random.integers(len(labels.classes), size=labels.items)], axis=1)
    codes = np.concatenate([codes, guesses]).astype(np.int32)
    return from_codes(codes, [*labels.worker_names, "bot"], labels.item_names, labels.classes, classes=labels.classes)


def test_pieces_add_up_to_the_whole():
    result = aggregate(crowd()[0])
    running = Running()
    for first, last in ((0, 150), (150, 390), (390, 400)):
        piece = result.labels.between(first, last)
        running.add(piece, result.probability[first:last], result.fit.posterior[first:last])
    whole = findings(result)
    assert (running.unsettled, running.tasks, running.differ) == (whole.unsettled, whole.tasks, whole.differ)
    right = running.tally.right("two_level")
    for one, other in ((right.found, whole.right.found), (right.vote, whole.right.vote)):
        assert one == pytest.approx(other)
    assert right.tasks == 400


def learned(labels, most=0):
    stream = stream_of(TwoLevel(), labels.classes, 1 << 16)
    stream.hold(most)
    totals = run_pieces(stream, [labels], None, 1)
    running, read_from = read_tasks(stream, totals.met, None, None)
    return running.findings(read_from, totals.piece)


def test_a_stream_with_all_tasks_open_finds_what_all_labels_at_once_do():
    labels = in_random_order(with_bot(*crowd()))
    found = learned(labels)
    result = aggregate(labels, TwoLevel(), Options("online"))
    assert found.guessers == ["bot"] and found.judged_by == 0
    assert found.right.found == pytest.approx(estimated(result).found, abs=1e-3)
    assert abs(found.unsettled - findings(result).unsettled) <= 4


def test_votes_on_closed_tasks_are_not_compared():
    found = learned(in_random_order(with_bot(*crowd(workers=12))), most=40)
    assert found.right.found and found.right.vote is None and found.tasks == 400
    first, *rest = verdict(found).sentences
    assert first.startswith("Hutch is right on an estimated") and "votes on closed tasks are not kept" in first
    assert any("bot" in sentence and sentence.startswith("Judged by 2,000 labels, worker bot") for sentence in rest)


def test_nobody_is_named_for_the_tasks_that_stay_open():
    """They are those on which honest workers contradict each other."""
    for seed in range(5):
        found = learned(in_random_order(crowd(seed, workers=12, right=(0.7, 0.95))[0]), most=20)
        assert found.guessers == []


def test_a_stream_of_whole_tasks_counts_what_it_writes():
    labels = with_bot(*crowd(items=600))
    stream, running = stream_of(OneCoin(), labels.classes, 1 << 16), Running()
    blocks = ({"": labels.between(first, first + 200)} for first in (0, 200, 400))
    run_blocks({"": stream}, blocks, True, None, None, running={"": running})
    found = running.findings(stream)
    assert (found.tasks, found.right.tasks) == (600, 600)
    assert found.right.why == "the probabilities of the model one_coin are too often too sure in a stream"
    assert found.guessers == ["bot"] and found.judged_by == 1000
    assert "Judged by 1,000 labels, worker bot answers hardly better than chance" in str(verdict(found))


def test_an_empty_stream_has_no_labels():
    assert learned(in_random_order(crowd(items=1, each=1)[0])).right.why == "only 1 task has labels"
    stream = stream_of(OneCoin(), ["a", "b"], 16)
    assert verdict(Running().findings(stream)).sentences == ("There are no labels.",)
