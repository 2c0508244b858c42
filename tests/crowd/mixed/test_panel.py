import numpy as np
import pytest

from hutch.core.errors import UsageError
from hutch.crowd.aggregate import Options, aggregate, load, save
from hutch.crowd.data.labels import from_triples
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.mixed.panel import Alone
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


def test_what_judges_say_without_gold_is_fitted_once(panel, monkeypatch):
    alone, model, fits, fit = Alone(), TwoLevel(judges=True, iterations=2), list[int](), TwoLevel.fit
    monkeypatch.setattr(TwoLevel, "fit", lambda self, labels: fits.append(len(labels)) or fit(self, labels))
    for items, again in ((30, True), (30, False), (20, True)):
        labels = from_triples([row for row in panel[0] if int(row[1][1:]) < items and row[0] < "judge3"])
        fresh = fit(model, labels)
        fits.clear()
        kept, _ = alone.fit(model, labels)
        assert (kept.posterior == fresh.posterior).all() and bool(fits) == again
        assert (kept.state.workers["counts"] == fresh.state.workers["counts"]).all()
        kept.state.workers["counts"][:] = 0.0  # its caller's own


@pytest.fixture(scope="module")
def lies():
    """Three of four judges repeat somebody who is mostly wrong, one is right in .85, and another always says 1."""
    random = np.random.default_rng(1)
    truth = (random.random(400) < 0.8).astype(int)
    lie = np.where(random.random(400) < 0.7, 1 - truth, truth)
    rows = []
    for i in range(400):
        for j in range(3):
            rows.append((f"liar{j}", f"t{i}", str(lie[i] if random.random() < 0.9 else 1 - lie[i])))
        rows.append(("honest", f"t{i}", str(truth[i] if random.random() < 0.85 else 1 - truth[i])))
        rows.append(("lazy", f"t{i}", "1"))
    return rows, {f"t{i}": str(k) for i, k in enumerate(truth)}


@pytest.mark.parametrize("size", [10, 20, 50])
@pytest.mark.parametrize("crowd", ["panel", "lies"])
def test_it_is_hardly_worse_than_any_of_its_experts(crowd, size, request):
    rows, truth = request.getfixturevalue(crowd)
    gold = {f"t{i}": truth[f"t{i}"] for i in range(size)}
    _, loss, result = measured(rows, truth, gold, Mixed())
    codes = np.array([int(truth[name]) for name in result.labels.item_names], np.int32)
    codes[:size] = -1
    counts = np.bincount([int(each) for each in gold.values()], minlength=2) + 1
    shares = log_loss(np.tile(counts / counts.sum(), (400, 1)), codes)
    unseen = from_triples(rows)
    alone = log_loss(aggregate(unseen, TwoLevel(judges=True)).probability, codes)
    assert loss < min(shares, alone) + 0.02
    assert loss < np.log(2)


def test_an_adversary_is_turned_around(lies):
    rows, truth = lies
    liars = [row for row in rows if row[0].startswith("liar")]
    gold = {f"t{i}": truth[f"t{i}"] for i in range(100)}
    right, loss, _ = measured(liars, truth, gold, Mixed())
    assert right > 0.75 and loss < 0.5  # the class shares alone have log-loss .50


def test_a_panel_that_is_right_gains_from_gold_with_every_label(panel):
    rows, truth = panel
    losses = [
        measured(rows, truth, {f"t{i}": truth[f"t{i}"] for i in range(size)}, Mixed())[1] for size in (10, 40, 160)
    ]
    assert losses[0] > losses[1] > losses[2]


def test_probabilities_do_not_depend_on_the_order_of_judges(panel):
    rows, truth = panel
    gold = {f"t{i}": truth[f"t{i}"] for i in range(40)}
    one = measured(rows, truth, gold, Mixed())[2]
    other = measured(sorted(rows, key=lambda row: (int(row[1][1:]), row[0] < "judge5", row[0])), truth, gold, Mixed())[
        2
    ]
    assert other.labels.item_names == one.labels.item_names
    assert other.probability == pytest.approx(one.probability, abs=0.02)


def test_what_gold_taught_is_kept(panel, tmp_path):
    rows, truth = panel
    first = [row for row in rows if int(row[1][1:]) < 200]
    later = [row for row in rows if int(row[1][1:]) >= 200]
    learned = measured(first, truth, {f"t{i}": truth[f"t{i}"] for i in range(40)}, Mixed())[2]
    save(str(tmp_path / "model"), Mixed(), Options(), learned.fit.state)
    _, history = load(str(tmp_path / "model"))
    assert measured(later, truth, {}, Mixed(), Options(test=True), history)[0] > 0.85
    assert measured(later, truth, {}, Mixed(), None, history)[0] > 0.85
    more = measured(later, truth, {f"t{i}": truth[f"t{i}"] for i in range(200, 240)}, Mixed(), None, history)
    assert more[1] < measured(later, truth, {}, Mixed(), None, history)[1]
    assert more[2].fit.state.shared["gold_counts"].sum() == 80


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
