import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hutch.crowd.data.labels import from_triples
from hutch.crowd.mixed.model import matches, targets
from hutch.crowd.mixed.skill import skill_of_rows, squared_skill

_spec = importlib.util.spec_from_file_location("crowd_of_judges", Path(__file__).with_name("crowd_of_judges.py"))
crowds = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(crowds)


def arguments(rows):
    """What `squared_skill` takes, counted plainly."""
    labels = from_triples(rows)
    reference = matches(labels.worker_names, ("ann*",))
    people, judges = (labels.chosen(keep[labels.workers]) for keep in (reference, ~reference))
    judges = replace(judges, workers=(np.cumsum(~reference) - 1).astype(np.int32)[judges.workers])
    votes, classes = targets(people), len(labels.classes)
    counts = np.zeros((int((~reference).sum()), classes, classes))
    for place, item in enumerate(judges.label_items):
        counts[judges.workers[place], judges.labels[place]] += votes[item]
    return people, judges, votes, counts, votes.sum(axis=0)


@pytest.mark.parametrize(("classes", "person", "right"), [(2, 0.8, 0.7), (4, 0.8, 0.6), (3, 0.6, 0.8)])
def test_the_skill_of_people_is_found_where_judges_are_independent(classes, person, right):
    rows, _ = crowds.mixed_crowd(8000, classes, 4, person, together=0.0, right=right)
    skill = (person - 1 / classes) / (1 - 1 / classes)
    assert squared_skill(*arguments(rows)) == pytest.approx(skill**2, abs=0.05)


def test_judges_who_mean_another_class_say_the_same():
    rows, _ = crowds.mixed_crowd(4000, 3, 4, together=0.0)
    turned = [(w, t, x if w.startswith("ann") else str((int(x) + 1) % 3)) for w, t, x in rows]
    assert squared_skill(*arguments(turned)) == pytest.approx(squared_skill(*arguments(rows)))


def test_copies_make_it_smaller_and_one_judge_says_nothing():
    rows, _ = crowds.mixed_crowd(4000, 3, 1)
    copies = rows + [(f"{w}_{c}", t, x) for w, t, x in rows if w == "judge0" for c in range(3)]
    assert squared_skill(*arguments(copies)) < 0.25
    assert squared_skill(*arguments(rows)) == 0.0
    assert squared_skill(*arguments([row for row in rows if row[0] != "judge0"])) == 0.0


def test_it_is_the_sum_over_pairs_of_judges():
    rows, _ = crowds.mixed_crowd(120, 3, 3, people=2, seed=3)
    people, judges, votes, counts, total = arguments([row for i, row in enumerate(rows) if i % 7])
    items, classes = votes.shape
    said = np.zeros((items, len(counts), classes))
    labelled = np.zeros((items, len(counts)), bool)
    terms = [[] for _ in counts]
    for place, item in enumerate(judges.label_items):
        j = judges.workers[place]
        prior = (total - votes[item] + 1 / classes) / (total.sum() - votes[item].sum() + 1)
        cell = counts[j, judges.labels[place]] - votes[item]
        said[item, j] = (cell + prior) / (cell.sum() + 1) - prior
        labelled[item, j] = True
        for h in people.labels[people.label_items == item]:
            terms[j].append(said[item, j, h] - prior @ said[item, j])
    covariance = [np.mean(of) for of in terms]
    above = below = 0.0
    for j in range(len(counts)):
        for k in range(j):
            both = labelled[:, j] & labelled[:, k]
            above += both.sum() * covariance[j] * covariance[k]
            below += (said[both, j] * said[both, k]).sum()
    share = total / total.sum()
    assert squared_skill(people, judges, votes, counts, total) == pytest.approx(above / below / (1 - share @ share))


def test_it_is_a_share_however_few_items_there_are():
    found = [squared_skill(*arguments(crowds.mixed_crowd(6, 2, 2, 0.9, seed=seed)[0])) for seed in range(40)]
    assert min(found) >= 0 and max(found) == 1


@pytest.mark.parametrize("share", [[0.5, 0.5], [0.2, 0.8], [0.1, 0.3, 0.6]])
def test_the_skill_of_rows_is_corrected_for_chance(share):
    share, same = np.array(share), np.eye(len(share))
    for skill in (0.0, 0.3, 1.0):
        rows = skill * same + (1 - skill) * share[:, None]
        assert skill_of_rows(rows, share) == pytest.approx(skill)
