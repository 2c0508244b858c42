import numpy as np
import pytest

from hutch.core.errors import UsageError
from hutch.crowd.aggregate import Options, aggregate, load, save
from hutch.crowd.data.labels import from_triples
from hutch.crowd.mixed import panel as panel_of_judges
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.online import stream_of
from hutch.crowd.models.two_level import TwoLevel


@pytest.fixture(scope="module")
def panel():
    """Twelve judges, eight of whom share one error on a third of the items; rows and truth by task."""
    random = np.random.default_rng(0)
    truth = random.integers(2, size=400)
    misread = np.where(random.random(400) < 0.5, 1 - truth, truth)
    rows = []
    for i in range(400):
        for j in range(12):
            meant = misread[i] if j < 8 else truth[i]
            rows.append((f"judge{j}", f"t{i}", str(meant if random.random() < 0.85 else 1 - meant)))
    return rows, {f"t{i}": str(k) for i, k in enumerate(truth)}


def measured(rows, truth, gold, model, options=None, history=None):
    labels = from_triples(rows, gold=gold)
    result = aggregate(labels, model, options, history)
    codes = np.array([int(truth[name]) for name in labels.item_names], np.int32)
    codes[labels.gold >= 0] = -1
    return accuracy(result.probability, codes), log_loss(result.probability, codes), result


def test_a_little_gold_says_whom_to_believe(panel):
    rows, truth = panel
    gold = {f"t{i}": truth[f"t{i}"] for i in range(40)}
    taught, alike = measured(rows, truth, gold, Mixed()), measured(rows, truth, gold, TwoLevel())
    assert taught[0] > alike[0] + 0.2
    assert taught[1] < 0.5 * alike[1]
    assert taught[0] > 0.85
    known = taught[2].labels.gold >= 0
    assert (taught[2].probability[known].argmax(axis=1) == taught[2].labels.gold[known]).all()


def test_forecasts_are_the_tempered_posterior_and_what_each_label_adds(panel):
    rows, truth = panel
    labels = from_triples(rows, gold={f"t{i}": truth[f"t{i}"] for i in range(40)})
    state = Mixed().start(labels, None)
    alike = TwoLevel().fit(from_triples(rows)).posterior
    score = np.log(alike + 1e-9) / (1 + 0.5 * (12 - 1))
    for place, item in enumerate(labels.label_items):
        score[item] += state.scratch["factor"][labels.workers[place], labels.labels[place]]
    wanted = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    assert np.exp(state.items["forecast"]) == pytest.approx(wanted, abs=1e-9)
    assert np.abs(state.scratch["factor"]).max() > 0.1


@pytest.mark.parametrize("gold", [5, 40])
def test_weights_are_where_gold_and_ridge_pull_alike(panel, gold):
    rows, truth = panel
    labels = from_triples(rows, gold={f"t{i}": truth[f"t{i}"] for i in range(gold)})
    state = Mixed().start(labels, None)
    known = labels.gold >= 0
    missed = np.eye(2)[labels.gold[known]] - np.exp(state.items["forecast"][known])
    place = np.cumsum(known) - 1
    pull = np.zeros_like(state.workers["weights"])
    for worker, item, label in zip(labels.workers, labels.label_items, labels.labels, strict=True):
        if known[item]:
            pull[worker] += np.outer(np.eye(2)[label] - 0.5, missed[place[item]])
    assert np.abs(pull).max() > 0.1
    assert panel_of_judges.RIDGE * state.workers["weights"] == pytest.approx(pull, abs=0.02)


def test_what_gold_taught_is_kept(panel, tmp_path):
    rows, truth = panel
    first = [row for row in rows if int(row[1][1:]) < 200]
    later = [row for row in rows if int(row[1][1:]) >= 200]
    learned = measured(first, truth, {f"t{i}": truth[f"t{i}"] for i in range(40)}, Mixed())[2]
    save(str(tmp_path / "model"), Mixed(), Options(), learned.fit.state)
    _, history = load(str(tmp_path / "model"))
    assert measured(later, truth, {}, Mixed(), Options(test=True), history)[0] > 0.85
    assert measured(later, truth, {}, Mixed(), None, history)[0] > 0.85


def test_without_gold_nothing_can_be_said(panel):
    with pytest.raises(UsageError, match="without them gold"):
        Mixed().fit(from_triples(panel[0]))
    with pytest.raises(UsageError, match="wanted a reference"):
        stream_of(Mixed(), ["0", "1"], 16)


def test_others_leave_each_label_out(panel):
    rows, truth = panel
    result = measured(rows, truth, {f"t{i}": truth[f"t{i}"] for i in range(40)}, Mixed())[2]
    others = result.others()
    assert others.sum(axis=1) == pytest.approx(np.ones(len(result.labels)))
    assert result.confusions.sum(axis=2) == pytest.approx(np.ones((12, 2)))
