"""The model for many classes equals its formulas, and shards, history and gold go with it."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.research.crowd.many_classes import neighbours, own_ways
from hutch.crowd.aggregate import Options, aggregate, load, save
from hutch.crowd.data.labels import from_triples
from hutch.crowd.models.calibration import accuracy
from hutch.crowd.models.many_classes import ManyClasses
from hutch.crowd.models.one_coin import LEAST, MOST
from hutch.crowd.sharded import crowd as over_shards


def formulas(labels, spread, strength, anchor, iterations):
    """Posteriors of each item's candidates by plain loops, {class: probability}; what is left under None."""
    rows = list(zip(labels.workers.tolist(), labels.label_items.tolist(), labels.labels.tolist(), strict=True))
    classes, workers = len(labels.classes), len(labels.worker_names)
    given = [[(w, c) for w, i, c in rows if i == item] for item in range(labels.items)]
    q = []
    for item, answers in enumerate(given):
        votes = {c: sum(c == said for _, said in answers) / len(answers) for _, c in answers}
        truth = int(labels.gold[item])
        q.append({c: float(c == truth) for c in {*votes, truth}} if truth >= 0 else votes)
    start = [dict(each) for each in q]
    for _ in range(iterations):
        right, said = np.zeros(workers), np.zeros((workers, classes))
        for w, i, c in rows:
            right[w] += q[i].get(c, 0.0)
            said[w, c] += 1
        total = said.sum(axis=1)
        mean = (right.sum() + 1) / (total.sum() + 2)
        skill = np.clip((right + strength * mean) / (total + strength), LEAST / classes, MOST)
        habit = np.array([sum(n * np.log(n / total[w]) for n in said[w] if n) for w in range(workers)])
        odds = right * np.log(skill) + (total - right) * np.log((1 - skill) / (classes - 1)) - habit
        odds += (classes - 1) / 2 * np.log(np.maximum(total, 1)) + np.log(9)
        looks = 1 / (1 + np.exp(-odds))
        errors = np.zeros((labels.items, classes, classes))  # what each item adds
        for w, i, c in rows:
            for k, share in q[i].items():
                errors[i, k, c] += share * looks[w] * (k != c)
        counts = np.array([sum(q[i].get(k, 0.0) + anchor * start[i].get(k, 0.0) for i in range(labels.items))
                           for k in range(classes)]) + 1  # fmt: skip
        fresh = []
        for i, answers in enumerate(given):
            cells, scores, known = errors.sum(axis=0) - errors[i], {}, {}
            for k in q[i]:
                own = q[i][k] + anchor * start[i].get(k, 0.0)
                scores[k] = np.log((counts[k] - own) / ((labels.items - 1) * (1 + anchor) + classes))
                for w, c in answers:
                    r = np.clip(
                        (right[w] - q[i][c] + strength * mean) / (total[w] - 1 + strength), LEAST / classes, MOST
                    )
                    known[w] = r = looks[w] * r + (1 - looks[w]) / classes
                    wrong = (cells[k, c] + spread / (classes - 1)) / (cells[k].sum() + spread)
                    wrong = looks[w] * wrong + (1 - looks[w]) / (classes - 1)
                    scores[k] += np.log(r if c == k else (1 - r) * wrong)
            scores[None] = np.log(1 - sum(counts[k] / counts.sum() for k in q[i]))
            scores[None] += sum(np.log((1 - r) / (classes - 1)) for r in known.values())
            if labels.gold[i] >= 0:
                fresh.append({k: float(k == labels.gold[i]) for k in q[i]})
                continue
            whole = np.logaddexp.reduce(list(scores.values()))
            fresh.append({k: float(np.exp(score - whole)) for k, score in scores.items()})
        q = [{k: share for k, share in each.items() if k is not None} for each in fresh]
    return q


def few(gold=False):
    """Forty tasks, seven workers, one of whom always says the same; gold of some, also of a class nobody gave it."""
    random = np.random.default_rng(3)
    truth = random.integers(0, 9, 40)
    rows = [
        (f"w{w}", f"t{i}", str(truth[i] if random.random() < 0.7 else random.integers(9)) if w else "4")
        for i in range(40)
        for w in random.permutation(7)[:4].tolist()
    ]
    known = {f"t{i}": str(truth[i]) for i in range(0, 40, 5)} | {"t1": "8"} if gold else {}
    return from_triples(rows, classes=list("012345678"), gold=known)


@pytest.mark.parametrize("gold", [False, True])
def test_it_equals_the_formulas(gold):
    labels = few(gold)
    fit = ManyClasses(iterations=4, tolerance=0, spread=7.0, strength=3.0, class_anchor=0.4).fit(labels)
    wanted = formulas(labels, 7.0, 3.0, 0.4, 4)
    for found, each in zip(fit.posterior, wanted, strict=True):
        assert {k: found[k] for k in each} == pytest.approx(each, abs=1e-10)
    assert np.allclose(fit.posterior.sum(axis=1), 1)


def test_classes_that_a_task_was_not_given_share_the_rest_as_the_class_prior_does():
    labels, model = few(), ManyClasses()
    fit = model.fit(labels)
    prior, item = model.class_prior(fit.state), 0
    absent = np.setdiff1d(np.arange(9), labels.labels[: labels.item_ptr[1]])
    assert len(absent) > 4
    assert np.ptp(fit.posterior[item, absent] / prior[absent]) < 1e-12
    assert fit.posterior[item, absent].sum() == pytest.approx(fit.state.items["rest"][item])


def test_a_given_class_prior_counts():
    prior = (0, *range(1, 9))
    fit = ManyClasses(class_prior=prior).fit(few())
    assert fit.posterior[:, 0].max() < 1e-9
    assert ManyClasses(class_prior=prior).class_prior(fit.state) == pytest.approx(np.array(prior) / 36)


def test_errors_that_the_crowd_shares_count_against_a_vote():
    """Of two classes that get as many votes, the one that the crowd often names for the other is less probable."""
    rows = [(f"w{w}", f"t{i}", "cat" if w < 3 else "lynx") for i in range(30) for w in range(4)]
    rows += [(f"w{w}", f"u{i}", "lynx") for i in range(5) for w in range(4)]
    rows += [(f"w{w}", f"v{i}", f"c{i % 20:02}") for i in range(60) for w in range(4)]
    rows += [("w4", "last", "cat"), ("w5", "last", "lynx")]
    found = aggregate(from_triples(rows), ManyClasses(spread=5.0))
    classes, last = found.labels.classes, found.fit.posterior[-1]
    assert last[classes.index("cat")] > 2 * last[classes.index("lynx")]


def test_shards_history_and_a_stream_of_blocks():
    labels, _ = neighbours(1, items=300, workers=20, classes=60)
    model = ManyClasses()
    whole, parts = aggregate(labels, model), over_shards(labels, model, shards=3)
    assert np.abs(whole.probability - parts.probability).max() < 1e-9
    half = labels.items // 2
    first, second = labels.between(0, half), labels.between(half, labels.items)
    history = model.fit(first).state
    again = model.fit(second, history)
    assert again.state.workers["said"].sum() == len(labels)
    assert again.state.shared["mass"][0] == pytest.approx(labels.items * 1.2)
    stream = aggregate(labels, model, Options("online", slots=64))
    assert stream.probability.shape == whole.probability.shape


def test_a_saved_model_scores_as_the_one_that_was_not_saved(tmp_path):
    labels, _ = neighbours(2, items=300, workers=20, classes=60)
    model, path = ManyClasses(), str(tmp_path / "crowd.model")
    fit = model.fit(labels.between(0, 200))
    save(path, model, Options(), fit.state)
    metadata, state = load(path)
    rest = labels.between(200, 300)
    assert metadata["model"] == "many_classes"
    assert np.array_equal(model.infer(rest, state).posterior, model.infer(rest, fit.state).posterior)


@pytest.mark.parametrize("seed", range(3))
def test_the_default_takes_it_for_many_classes_and_is_above_the_vote(seed):
    labels, truth = neighbours(seed, items=1000, workers=40, classes=100)
    found = aggregate(labels)
    assert "cells" in found.fit.state.shared
    assert accuracy(found.probability, truth) >= accuracy(labels.vote_share(), truth)
    again = aggregate(labels.between(0, 50), history=found.fit.state)
    assert "cells" in again.fit.state.shared


def test_the_default_keeps_rows_where_workers_err_each_in_their_own_way():
    labels, truth = own_ways(0, items=1000, workers=10, classes=30)
    found = aggregate(labels)
    assert "cells" not in found.fit.state.shared
    assert accuracy(found.probability, truth) > accuracy(aggregate(labels, ManyClasses()).probability, truth)


def test_twelve_classes_keep_the_default():
    labels, _ = neighbours(0, items=300, workers=20, classes=12)
    assert "cells" not in aggregate(labels).fit.state.shared
    more = replace(labels, classes=[*labels.classes, "another"])
    assert "cells" in aggregate(more).fit.state.shared


def test_labels_at_random_are_in_doubt():
    random = np.random.default_rng(0)
    rows = [(f"w{w}", f"t{i}", f"c{random.integers(20)}") for i in range(300) for w in random.permutation(9)[:3]]
    found = aggregate(from_triples(rows))
    assert "cells" in found.fit.state.shared
    assert found.doubt.startswith("two halves of the workers do not predict each other")
    assert found.probability.max() < 0.3
    assert aggregate(neighbours(0, items=500, workers=30, classes=40)[0]).doubt == ""


def test_tasks_of_one_label_keep_it():
    labels, truth = neighbours(0, items=500, workers=20, classes=40, per_item=1)
    assert accuracy(aggregate(labels).probability, truth) == accuracy(labels.vote_share(), truth)
