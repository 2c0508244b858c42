import io
import re
from xml.dom import minidom

import numpy as np
import pytest

from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import from_triples
from hutch.crowd.quality.agreement import lowest, pair_agreement, suspects, task_agreement
from hutch.crowd.quality.page import write_page
from hutch.crowd.quality.text import quality_of, text_lines, write_suspects
from hutch.crowd.simulate import simulate


@pytest.fixture(scope="module")
def crowd():
    return simulate(400, 15, 3, 5, seed=3)


@pytest.fixture(scope="module")
def result(crowd):
    return aggregate(crowd.labels)


def test_pairs_are_counted_over_shared_tasks(crowd):
    labels = crowd.labels
    pairs = pair_agreement(labels)
    given = {(w, i): k for w, i, k in zip(labels.workers, labels.label_items, labels.labels, strict=True)}
    habits = np.array([np.bincount(labels.labels[labels.workers == w], minlength=3) for w in range(15)])
    habits = habits + 2 * habits.sum(axis=0) / len(labels)
    habits /= habits.sum(axis=1, keepdims=True)
    assert len(pairs.tasks) > 90
    for n in range(0, len(pairs.tasks), 7):
        v, w = pairs.first[n], pairs.second[n]
        shared = [i for i in range(labels.items) if (v, i) in given and (w, i) in given]
        equal, chance = np.mean([given[v, i] == given[w, i] for i in shared]), habits[v] @ habits[w]
        assert pairs.tasks[n] == len(shared)
        assert pairs.agreed[n] / pairs.tasks[n] == pytest.approx(equal)
        assert pairs.kappa[n] == pytest.approx((equal - chance) / (1 - chance))
    worst = lowest(pairs, 8)
    assert worst.kappa.tolist() == sorted(worst.kappa) and worst.tasks.min() >= 5
    assert worst.kappa[-1] <= np.sort(pairs.kappa[pairs.tasks >= 5])[8]
    few = pair_agreement(labels, most=3)
    busiest = np.argsort(-np.bincount(labels.workers), kind="stable")[:3]
    assert set(few.first.tolist()) | set(few.second.tolist()) <= set(busiest.tolist())


def test_tasks_agree_by_pairs_of_labels():
    rows = [("a", "1", "x"), ("b", "1", "x"), ("c", "1", "y"), ("a", "2", "x"), ("a", "3", "y"), ("b", "3", "y")]
    assert task_agreement(from_triples(rows)).tolist() == pytest.approx([1 / 3, np.nan, 1.0], nan_ok=True)


def test_suspects_are_wrong_as_often_as_is_said(crowd, result):
    found = suspects(result)
    really = crowd.labels.labels[found.labels] != crowd.truth[found.items]
    assert len(found) > 100
    assert abs(really.mean() - found.wrong.mean()) < 0.08
    assert really[: len(found) // 2].mean() > really[len(found) // 2 :].mean()
    assert (crowd.truth[found.items] == found.suggested)[really].mean() > 0.8
    assert (np.diff(found.wrong) <= 0).all() and found.wrong.min() > 0.5


def test_gold_says_what_is_wrong():
    rows = [("a", "1", "x"), ("b", "1", "x"), ("c", "1", "y")]
    result = aggregate(from_triples(rows, gold={"1": "y"}))
    found, file = suspects(result), io.BytesIO()
    assert found.wrong.tolist() == [1.0, 1.0]
    write_suspects(file, found, result)
    assert file.getvalue().decode().splitlines()[1] == "1\ta\tx\ty\t1.0000\tyes"


def test_the_text_names_the_worst(result):
    text = "\n".join(text_lines(quality_of(result)))
    worst = result.labels.worker_names[quality_of(result).by_accuracy()[0]]
    assert re.search(rf"least accurate first\nworker\tlabels.*\n{worst}\t", text)
    assert "labels that are probably wrong: " in text


def test_the_page_is_one_file_that_loads_nothing(result):
    file = io.BytesIO()
    write_page(file, quality_of(result), "<b>labels")
    page = file.getvalue().decode()
    assert "<script" not in page and "<h1>&lt;b&gt;labels</h1>" in page
    assert not re.findall(r"(?:src|href)=[\"'](?!#|data:)", page.replace("xlink:href", "href"))
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(pictures) == 3
    for picture in pictures:
        minidom.parseString(picture)


@pytest.mark.parametrize("rows", [[], [("", "1", "x")], [("a$b_{", "1", "<x>"), ("b", "1", "y")]])
def test_few_labels_make_a_report_too(rows):
    quality, file = quality_of(aggregate(from_triples(rows))), io.BytesIO()
    write_page(file, quality, "few")
    assert list(text_lines(quality))
    assert b"<x>" not in file.getvalue()
