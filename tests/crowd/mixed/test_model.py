import importlib.util
from pathlib import Path

import numpy as np
import pytest

from hutch.core.errors import UsageError
from hutch.crowd.aggregate import Options, aggregate, load, save
from hutch.crowd.data.labels import from_triples
from hutch.crowd.mixed.model import GUARD, LEAST, MOST, WEAK, Mixed, explained, guard, matches
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.two_level import TwoLevel

_spec = importlib.util.spec_from_file_location("crowd_of_judges", Path(__file__).with_name("crowd_of_judges.py"))
crowds = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(crowds)
mixed_crowd, scored, codes_of = crowds.mixed_crowd, crowds.scored, crowds.codes


PEOPLE = Mixed(reference=("ann*",))


@pytest.mark.parametrize("seed", range(3))
def test_better_than_the_one_person_and_than_everybody_alike(seed):
    rows, truth = mixed_crowd(seed=seed, together=0.6)
    alone = np.mean([truth[task] == label for worker, task, label in rows if worker.startswith("ann")])
    mixed, loss = scored(rows, truth, PEOPLE)
    alike, alike_loss = scored(rows, truth, TwoLevel())
    assert mixed > alone + 0.02
    assert mixed > alike + 0.02
    assert loss < alike_loss


@pytest.mark.parametrize("people", [1, 3])
def test_judges_who_say_nothing_do_no_harm(people):
    rows, truth = mixed_crowd(items=200, people=people, seed=3)
    random = np.random.default_rng(0)
    shuffled = [(w, t, x if w.startswith("ann") else str(random.integers(3))) for w, t, x in rows]
    labels = from_triples([row for row in rows if row[0].startswith("ann")])
    codes = codes_of(labels, truth)
    assert scored(shuffled, truth, PEOPLE)[0] >= accuracy(labels.vote_share(), codes) - 0.005


def test_judges_who_mean_another_class_help_as_well():
    rows, truth = mixed_crowd(seed=4)
    turned = [(w, t, x if w.startswith("ann") else str((int(x) + 1) % 3)) for w, t, x in rows]
    assert scored(turned, truth, PEOPLE)[0] == pytest.approx(scored(rows, truth, PEOPLE)[0], abs=0.02)


def test_gold_is_kept_and_helps_where_there_are_no_people():
    rows, truth = mixed_crowd(seed=5)
    known = {f"t{i}": truth[f"t{i}"] for i in range(100)}
    few = [row for row in rows if not row[0].startswith("ann") or row[1] in ("t598", "t599")]
    labels = from_triples(few, gold=known)
    result = aggregate(labels, PEOPLE)
    codes = codes_of(labels, truth)
    assert (result.probability.argmax(axis=1)[:100] == codes[:100]).all()
    assert accuracy(result.probability[100:], codes[100:]) > 0.7


def test_items_without_people_get_the_forecast():
    rows, truth = mixed_crowd(seed=6)
    half = [row for row in rows if not row[0].startswith("ann") or int(row[1][1:]) % 2]
    labels = from_triples(half)
    fit = PEOPLE.fit(labels)
    without = np.array([int(name[1:]) % 2 == 0 for name in labels.item_names])
    assert fit.posterior[without] == pytest.approx(np.exp(fit.state.items["forecast"][without]))
    codes = codes_of(labels, truth)
    assert accuracy(fit.posterior[without], codes[without]) > 0.75


def test_order_of_rows_and_names_of_classes_do_not_matter():
    rows, _ = mixed_crowd(items=80, people=2, seed=7)
    names = {"0": "zebra", "1": "ant", "2": "cow"}
    renamed = from_triples([(w, t, names[x]) for w, t, x in rows], classes=["zebra", "ant", "cow"])
    model = Mixed(reference=("ann*",), ordered=False)
    assert model.fit(renamed).posterior == pytest.approx(model.fit(from_triples(rows)).posterior, abs=1e-9)


def test_copies_of_a_judge_share_their_weight():
    rows, truth = mixed_crowd(judges=1, seed=8)
    copies = rows + [(f"{w}_{c}", t, x) for w, t, x in rows if w == "judge0" for c in range(4)]
    once, often = scored(rows, truth, PEOPLE), scored(copies, truth, PEOPLE)
    assert often[0] >= once[0] - 0.01
    assert often[1] <= once[1] + 0.02


def test_history_is_a_prior_and_testing_learns_nothing(tmp_path):
    rows, truth = mixed_crowd(items=800, seed=9)
    first = [row for row in rows if int(row[1][1:]) < 700]
    later = [row for row in rows if int(row[1][1:]) >= 700]
    learned = aggregate(from_triples(first), PEOPLE)
    save(str(tmp_path / "model"), PEOPLE, Options(), learned.fit.state)
    metadata, history = load(str(tmp_path / "model"))
    model = Mixed(**metadata["parameters"])
    labels = from_triples(later, history.classes, history.worker_names)
    codes = codes_of(labels, truth)
    tested = aggregate(labels, model, Options(test=True), history)
    going_on = aggregate(labels, model, Options(), history)
    whole = aggregate(from_triples(first + later), PEOPLE).probability[700:]
    for result in (tested, going_on):
        assert accuracy(result.probability, codes) == pytest.approx(accuracy(whole, codes), abs=0.03)
        assert log_loss(result.probability, codes) == pytest.approx(log_loss(whole, codes), abs=0.03)
    assert going_on.fit.state.shared["targets"].sum() == pytest.approx(800)
    assert (tested.fit.state.shared["targets"] == history.shared["targets"]).all()
    assert going_on.fit.state.workers["precision"].max() > history.workers["precision"].max()


def test_report_of_workers():
    rows, truth = mixed_crowd(items=800, people=2, seed=12)
    random = np.random.default_rng(1)
    rows = [(w, t, str(random.integers(3)) if w in ("judge0", "ann0") else x) for w, t, x in rows]
    labels = from_triples(rows)
    result = aggregate(labels, reference=("ann*",))
    found = result.report()
    assert result.confusions.sum(axis=2) == pytest.approx(np.ones((len(labels.worker_names), 3)))
    spammers = np.array([name in ("judge0", "ann0") for name in labels.worker_names])
    assert found.spam[spammers].min() > 0.2
    assert found.spam[labels.worker_names.index("judge0")] > 0.99
    assert np.quantile(found.spam[~spammers], 0.9) < 0.05
    judges = np.array([name.startswith("judge") for name in labels.worker_names])
    right = np.bincount(
        labels.workers,
        [
            truth[labels.item_names[i]] == labels.classes[k]
            for i, k in zip(labels.label_items, labels.labels, strict=True)
        ],
        minlength=len(judges),
    )
    assert found.accuracy[judges] == pytest.approx((right / found.labels)[judges], abs=0.07)


@pytest.mark.parametrize(
    ("reference", "message"),
    [((), "wanted people .*, or without them gold"), (("anm0",), "did you mean 'ann"), (("*",), "every worker is one")],
)
def test_a_reference_that_cannot_be_is_refused(reference, message):
    rows, _ = mixed_crowd(items=30)
    with pytest.raises(UsageError, match=message):
        Mixed(reference=reference).fit(from_triples(rows))


@pytest.mark.parametrize(("classes", "judges", "right"), [(2, 5, 0.6), (4, 2, 0.6), (3, 4, 0.8)])
def test_judges_who_are_independent_of_each_other_do_no_harm_either(classes, judges, right):
    gains = []
    for seed in range(3):
        rows, truth = mixed_crowd(600, classes, judges, together=0.0, right=right, seed=seed)
        alone = np.mean([truth[task] == label for worker, task, label in rows if worker.startswith("ann")])
        gains.append(scored(rows, truth, Mixed(reference=("ann*",), ordered=False))[0] - alone)
    assert np.mean(gains) > (-0.003 if right < 0.7 else 0.05)


def test_no_labels():
    assert PEOPLE.fit(from_triples([])).posterior.shape == (0, 0)


def test_names_and_globs():
    names = ["ann", "a[1]", "gpt-4o", "gpt-4"]
    assert matches(names, ("a[1]", "gpt-4?")).tolist() == [False, True, True, False]
    assert matches(names, ("gpt*",)).tolist() == [False, False, True, True]


def test_the_guard_of_people_by_its_formula():
    random = np.random.default_rng(4)
    people = from_triples([(f"w{w}", f"t{i}", "abc"[random.integers(3)]) for i in range(40) for w in range(2)])
    for strength in (0.0, 0.02, 0.05, 3.0):
        votes = np.log(random.dirichlet(np.ones(3), 40)) * 0.1 + strength * people.vote_share()
        log_forecast = votes - np.log(np.exp(votes).sum(axis=1, keepdims=True))
        f = np.exp(log_forecast)
        pi = f.mean(axis=0)
        gains = [f[i, h] - pi @ f[i] for i, h in zip(people.label_items, people.labels, strict=True)]
        share = (np.mean(gains) - np.std(gains) / np.sqrt(80)) / (1 - pi @ pi)
        wanted = min(max(LEAST, GUARD * (1 - share / WEAK)), MOST)
        assert guard(explained(people, log_forecast)) == pytest.approx(wanted)
    assert guard(np.zeros(4)) == GUARD


@pytest.mark.parametrize(("classes", "right", "judged"), [(4, 0.36, [0.4]), (2, 0.55, [0.55]), (2, 0.6, [0.5] * 3)])
def test_unsupported_people_are_no_worse_than_knowing_nothing(classes, right, judged):
    random = np.random.default_rng(0)
    truth = random.integers(classes, size=1500)
    rows = []
    for name, share in [("ann", right), *((f"judge{j}", share) for j, share in enumerate(judged))]:
        wrong = (truth + random.integers(1, classes, size=len(truth))) % classes
        said = np.where(random.random(len(truth)) < share, truth, wrong)
        rows += [(name, f"t{i}", str(x)) for i, x in enumerate(said.tolist())]
    found = aggregate(from_triples(rows), reference=("ann",))
    assert log_loss(found.probability, truth.astype(np.int32)) < np.log(classes) + 0.01
    assert accuracy(found.probability, truth) >= np.mean(from_triples(rows[:1500]).labels == truth) - 0.005
