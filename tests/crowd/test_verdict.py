"""The sentences of a crowd: who is named, what is open, and what they say."""

import numpy as np
import pytest

from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import from_triples
from hutch.crowd.right import Right, Share
from hutch.crowd.verdict import SETTLED, Findings, findings, verdict
from tests.crowd.test_right import crowd

GOOD = Right(Share(0.94, 0.92, 0.95), Share(0.87, 0.85, 0.89), 2040)


def said(right=GOOD, guessers=(), unsettled=0, tasks=2040, differ=212):
    return verdict(Findings(right, list(guessers), unsettled, tasks, differ)).sentences


def test_an_estimate_is_said_with_its_intervals():
    assert said() == (
        "Majority voting is right on an estimated 87 % (85 to 89 %) of 2,040 tasks, Hutch on 94 % (92 to 95 %); "
        "they differ on 212.",
    )


def test_equal_labels_are_said_once():
    (sentence,) = said(differ=0)
    assert (
        sentence == "Hutch's labels are those of the majority, right on an estimated 94 % (92 to 95 %) of 2,040 tasks."
    )


def test_gold_of_all_tasks_leaves_nothing_to_infer():
    labels = from_triples([("ann", "t1", "cat"), ("bob", "t1", "dog")], gold={"t1": "cat"})
    wanted = "The only task with labels has gold: nothing is left to infer but how good the workers are."
    assert verdict(findings(aggregate(labels))).sentences == (wanted,)
    (sentence,) = said(Right(None, None, 0, why="only 0 tasks have labels"), tasks=1200)
    assert sentence.startswith("All 1,200 tasks with labels have gold:")


def test_known_classes_are_not_estimates():
    (sentence,) = said(Right(GOOD.found, GOOD.vote, 150, known=True))
    assert sentence.startswith("On the 150 tasks whose class is known, Hutch is right on 94 %")
    assert "estimated" not in sentence


def test_what_cannot_be_told_says_why_and_what_to_do():
    (sentence,) = said(Right(None, None, 400, why="most tasks have one label"))
    assert sentence.startswith("Cannot tell how many labels are right, because most tasks have one label:")
    assert "50 tasks drawn by lot" in sentence
    assert "label these tasks yourself" in said(Right(None, None, 40, why="only 40 tasks have labels"))[0]
    assert said(Right(None, None, 0, why="only 0 tasks have labels"), tasks=0) == ("There are no labels.",)


@pytest.mark.parametrize(
    ("guessers", "wanted"),
    [
        (["w7"], "Worker w7 answers hardly better than chance: leave them out or talk to them."),
        (["w7", "w2"], "2 workers (w7 and w2) answer hardly better than chance: leave them out or talk to them."),
        (
            list("abcdef"),
            "6 workers (a, b, c and 3 more) answer hardly better than chance: leave them out or talk to them.",
        ),
    ],
)
def test_guessers_are_named(guessers, wanted):
    assert said(guessers=guessers)[1] == wanted


def test_open_tasks_are_counted():
    assert said(unsettled=1)[-1] == "1 of 2,040 tasks is not settled, less than 70 % sure."
    assert said(unsettled=2040)[-1] == "All 2,040 tasks are not settled, less than 70 % sure."


def test_findings_are_those_of_the_crowd():
    labels, truth = crowd()
    random = np.random.default_rng(1)
    triples = [
        (labels.worker_names[w], labels.item_names[i], labels.classes[k])
        for w, i, k in zip(labels.workers, labels.label_items, labels.labels, strict=True)
    ]
    triples += [("bot", name, f"c{random.integers(3)}") for name in labels.item_names]
    result = aggregate(from_triples(triples))
    found = findings(result)
    assert found.guessers == ["bot"]
    top = result.probability.max(axis=1)
    assert found.unsettled == (top < SETTLED).sum()
    assert found.tasks == 400
    share = result.labels.vote_share()
    best = result.probability.argmax(axis=1)
    assert found.differ == sum(share[i, k] < share[i].max() for i, k in enumerate(best))
    assert 0 < found.differ < 100


def test_an_aggregate_shows_its_verdict():
    result = aggregate(crowd()[0])
    assert repr(result).startswith("<Aggregate: 1600 labels, 400 tasks, 20 workers. Majority voting is right on")
    assert str(result.verdict()) in repr(result)
    assert repr(aggregate(from_triples([]))) == "<Aggregate: 0 labels, 0 tasks, 0 workers. There are no labels.>"
