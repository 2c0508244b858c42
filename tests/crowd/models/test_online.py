import numpy as np
import pytest

from hutch.crowd.data.labels import from_triples
from hutch.crowd.models.calibration import accuracy
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.models.nominal import Nominal
from hutch.crowd.models.one_coin import OneCoin
from hutch.crowd.models.online import Progress, Table, hash_workers, run, stream_of
from hutch.crowd.models.ordinal import Ordinal
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.simulate import simulate

BY_ITEM = [TwoLevel(), TwoLevel(clarity=0.15), Nominal(), Nominal(decay=1.0, learning_rate=60)]
DRIFTING = [TwoLevel(drift=1e-4), Nominal(drift=1e-4)]
MODELS = [*BY_ITEM, *DRIFTING, DawidSkene(), OneCoin(), Ordinal()]


def name_of(model):
    return "-".join([model.name, *(str(getattr(model.parameters, name, "")) for name in ("decay", "clarity", "drift"))])


steady_model = pytest.mark.parametrize("model", BY_ITEM, ids=name_of)
by_item = pytest.mark.parametrize("model", BY_ITEM + DRIFTING, ids=name_of)
every_model = pytest.mark.parametrize("model", MODELS, ids=name_of)
SLOTS = 1 << 10


@every_model
def test_two_halves_equal_the_whole_bit_for_bit(model):
    labels = simulate(1500, 60, 3, 4, seed=1).labels
    whole = run(stream_of(model, labels.classes, SLOTS), labels, 1)
    first = run(stream_of(model, labels.classes, SLOTS), labels.between(0, 700), 1)
    second = run(stream_of(model, labels.classes, SLOTS, first.state), labels.between(700, 1500), 1)
    for kind in ("workers", "shared"):
        for name, array in getattr(whole.state, kind).items():
            assert np.array_equal(array, getattr(second.state, kind)[name]), name
    assert np.array_equal(whole.posterior[700:], second.posterior)


@by_item
def test_a_stream_learns_the_crowd(model):
    crowd = simulate(4000, 60, 3, 4, seed=5)
    reports = []
    fit = run(stream_of(model, crowd.labels.classes, SLOTS), crowd.labels, 2, lambda _, p: reports.append(p))
    votes = accuracy(crowd.labels.vote_share(), crowd.truth)
    batch = accuracy(model.fit(crowd.labels).posterior, crowd.truth)
    assert accuracy(fit.posterior, crowd.truth) > votes + 0.05
    assert accuracy(fit.posterior, crowd.truth) > batch - 0.04
    assert reports[1].objective.mean() > reports[0].objective.mean()
    assert np.allclose(reports[0].posterior.sum(axis=1), 1)


@every_model
def test_scoring_learns_nothing(model):
    labels = simulate(200, 20, 3, 4, seed=2).labels
    stream = stream_of(model, labels.classes, SLOTS)
    run(stream, labels, 1)
    before = {name: array.copy() for name, array in (stream.state.workers | stream.state.shared).items()}
    again = run(stream, labels, 0)
    assert all(
        np.array_equal(before[name], array) for name, array in (stream.state.workers | stream.state.shared).items()
    )
    assert np.isfinite(again.objective)


@every_model
def test_more_workers_than_slots_is_no_worse_than_one_worker_for_all(model):
    crowd = simulate(3000, 300, 3, 4, seed=5)
    results = [
        accuracy(run(stream_of(model, crowd.labels.classes, slots), crowd.labels, 1).posterior, crowd.truth)
        for slots in (1, 32, 1 << 14)
    ]
    assert results[2] > results[0]
    assert results[1] > results[0] - 0.02
    assert results[0] > accuracy(crowd.labels.vote_share(), crowd.truth) - 0.03


@steady_model
def test_gold_is_clamped_and_an_unknown_worker_is_the_population(model):
    rows = [(f"w{w}", f"t{i}", str(i % 2)) for i in range(300) for w in range(10)]
    labels = from_triples(rows, gold={f"t{i}": str(1 - i % 2) for i in range(200)})
    stream = stream_of(model, labels.classes, SLOTS)
    fit = run(stream, labels, 3)
    known = labels.gold >= 0
    assert np.allclose(fit.posterior[known, labels.gold[known]], 1)
    assert accuracy(fit.posterior[200:], np.array([1 - i % 2 for i in range(200, 300)])) > 0.95
    rows = stream.confusions(hash_workers(["nobody"], SLOTS))
    assert np.allclose(rows.sum(axis=2), 1)
    assert rows[0, 0, 1] > 0.5


@every_model
@pytest.mark.parametrize("rows", [[], [("a", "t", "x")], [("a", "t", "x"), ("a", "t", "y"), ("a", "t", "x")]])
def test_small_streams(model, rows):
    labels = from_triples(rows, classes=["x", "y"])
    fit = run(stream_of(model, labels.classes, 4), labels, 2 if model in BY_ITEM + DRIFTING else 1)
    assert fit.posterior.shape == (labels.items, 2)
    assert np.isfinite(fit.posterior).all()


def test_hashing_shares_slots_but_not_out_of_range():
    slots = hash_workers([f"w{i}" for i in range(1000)], 37)
    assert set(slots.tolist()) == set(range(37))


@pytest.mark.parametrize("blocks", [[400], [1, 3, 70, 326], [100] * 4])
def test_table_prints_at_its_counters_however_items_arrive(blocks):
    items = sum(blocks)
    labels = from_triples([("w", f"t{i}", "a") for i in range(items)] + [("v", "t1", "b")])
    objective = -np.arange(1.0, items + 1)
    lines, begin = [], 0
    table = Table(lines.append)
    for size in blocks:
        block = labels.between(begin, begin + size)
        table(block, Progress(objective[begin : begin + size], np.tile([0.2, 0.8], (size, 1))))
        begin += size
    table.finish()
    rows = [line.split() for line in lines[2:]]
    assert [int(row[2]) for row in rows] == [2, 5, 10, 19, 36, 69, 134, 263, 400]
    assert rows[0] == ["-1.5000", "-1.5000", "2", "-1", "1", "2"]
    assert float(rows[1][1]) == pytest.approx(-4)
    assert float(rows[-1][0]) == pytest.approx(objective.mean(), abs=1e-4)
    assert rows[-1][3:] == ["-1", "-1", "-1"]


def changing_crowd(seed, tasks=4000, workers=30, changed=9):
    """Workers right in .9 of their labels, some of whom answer at random in the second half."""
    random = np.random.default_rng(seed)
    truth, triples = random.integers(0, 2, tasks), []
    for i, z in enumerate(truth.tolist()):
        for w in random.choice(workers, 4, replace=False).tolist():
            right = random.random() < (0.5 if w < changed and i >= tasks // 2 else 0.9)
            triples.append((f"w{w}", f"t{i}", str(z if right else 1 - z)))
    return from_triples(triples, ["0", "1"]), [f"w{w}" for w in range(workers)], np.arange(workers) < changed


@pytest.mark.parametrize("model", [TwoLevel, Nominal])
def test_drift_follows_workers_who_change(model):
    labels, names, changed = changing_crowd(3)
    errors = []
    for drift in (0.0, 1e-3):
        stream = stream_of(model(drift=drift), labels.classes, SLOTS)
        run(stream, labels, 1)
        accuracy = stream.confusions(stream.slots_of(names))[:, [0, 1], [0, 1]].mean(axis=1)
        errors.append(np.abs(accuracy - np.where(changed, 0.5, 0.9)).mean())
    assert errors[1] < 0.85 * errors[0]


def test_reading_a_drifting_stream_does_not_change_it():
    labels, names, _ = changing_crowd(1, tasks=300)
    stream = stream_of(TwoLevel(drift=1e-3), labels.classes, SLOTS)
    run(stream, labels, 1)
    before = {name: array.copy() for name, array in stream.state.workers.items()}
    stream.score(stream.in_slots(labels))
    stream.confusions(stream.slots_of(names))
    stream.others(stream.in_slots(labels))
    assert all(np.array_equal(before[name], array) for name, array in stream.state.workers.items())


@pytest.mark.parametrize("parameters", [{"learning_rate": 0}, {"initial_t": 0}, {"initial_t": 0, "decay": 1.5}])
def test_the_schedules_of_the_source(parameters):
    labels = simulate(300, 20, 3, 4, seed=1).labels
    found = run(stream_of(Nominal(**parameters), labels.classes, SLOTS), labels, 1)
    assert np.isfinite(found.posterior).all()
    assert np.isfinite(found.state.workers["distance"]).all()
    if "learning_rate" in parameters:
        assert found.state.workers["distance"].max() == 0


def test_all_item_steps_are_taken_without_a_tolerance():
    labels = simulate(50, 10, 2, 6, seed=2).labels
    optima = []
    for tolerance, steps in ((0.02, 200), (0.0, 200), (0.0, 400)):
        model, shown = Nominal(item_tolerance=tolerance, item_steps=steps, learning_rate=0, class_prior=(1, 1)), []
        stream = stream_of(model, labels.classes, SLOTS)
        run(stream, labels, 1, lambda _, progress: shown.append(progress.objective))  # noqa: B023
        optima.append(shown[0])
    assert np.allclose(optima[1], optima[2], atol=1e-12)
    assert (optima[1] >= optima[0] - 1e-12).all() and (optima[1] > optima[0] + 1e-6).any()
