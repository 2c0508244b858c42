import io

import numpy as np
import pytest

from hutch.crowd import output
from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import from_triples
from hutch.crowd.report import krippendorff_alpha

LEVELS = ("nominal", "ordinal", "interval")


def rated(items=60, workers=5, share=0.7, seed=0):
    random = np.random.default_rng(seed)
    truth = random.integers(1, 6, items)
    rows = []
    for i in range(items):
        for w in range(workers):
            if random.random() < share:
                rows.append((f"w{w}", f"t{i}", str(int(np.clip(truth[i] + random.integers(-1, 2), 1, 5)))))
    return rows


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(3))
def test_alpha_is_that_of_the_package(level, seed):
    krippendorff = pytest.importorskip("krippendorff")
    rows = rated(seed=seed, share=0.4 + 0.2 * seed)
    table = np.full((5, 60), np.nan)
    for worker, task, label in rows:
        table[int(worker[1:]), int(task[1:])] = int(label)
    wanted = krippendorff.alpha(reliability_data=table, level_of_measurement=level, value_domain=[1, 2, 3, 4, 5])
    assert krippendorff_alpha(from_triples(rows), level) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_is_one_minus_observed_over_expected_disagreement(level):
    rows = rated(items=30)
    units = {}
    for _, task, x in rows:
        units.setdefault(task, []).append(int(x))
    units = [unit for unit in units.values() if len(unit) > 1]
    everything = [x for unit in units for x in unit]

    def distance(a, b):
        low, high = min(a, b), max(a, b)
        ends = (everything.count(low) + everything.count(high)) / 2
        between = sum(everything.count(x) for x in range(low, high + 1)) - ends
        return {"nominal": float(a != b), "ordinal": float(between) ** 2, "interval": (a - b) ** 2}[level]

    total = len(everything)
    observed = sum(distance(a, b) / (len(unit) - 1) for unit in units for a in unit for b in unit) / total
    expected = sum(distance(a, b) for a in everything for b in everything) / total / (total - 1)
    assert krippendorff_alpha(from_triples(rows), level) == pytest.approx(1 - observed / expected)


def test_what_is_written_of_ordered_classes():
    labels = from_triples(rated())
    result, names = aggregate(labels), aggregate(labels, options=Options(ordered=False))
    file = io.BytesIO()
    output.write_posteriors(file, result)
    header, *lines = [line.split("\t") for line in file.getvalue().decode().splitlines()]
    assert header[-4:] == ["mean", "median", "low", "high"]
    values = np.array([[float(x) for x in line[-4:]] for line in lines])
    assert values[:, 0] == pytest.approx(result.probability @ np.arange(1, 6), rel=1e-5)
    assert (values[:, 2] <= values[:, 1]).all() and (values[:, 1] <= values[:, 3]).all()
    found = output.summary(result)
    assert found["krippendorff_interval"] > found["krippendorff_alpha"]
    assert names.scale is None and "krippendorff_interval" not in output.summary(names)
    file = io.BytesIO()
    output.write_posteriors(file, names)
    assert "mean" not in file.getvalue().decode().splitlines()[0]


def test_error_of_the_median_is_scored():
    labels = from_triples(rated())
    result = aggregate(labels)
    truth = np.full(labels.items, -1, np.int32)
    truth[:10] = 2
    found = output.score(result, truth)
    medians = 1 + (result.probability[:10].cumsum(axis=1) < 0.5 - 1e-12).sum(axis=1)
    assert found["mean_absolute_error"] == pytest.approx(np.abs(medians - 3).mean())
    assert output.score(result, np.full(labels.items, -1, np.int32))["mean_absolute_error"] is None


def test_words_are_ordered_if_they_are_said_to_be():
    names = {"1": "bad", "2": "poor", "3": "fair", "4": "good", "5": "best"}
    labels = from_triples([(w, t, names[x]) for w, t, x in rated()], classes=list(names.values()))
    assert aggregate(labels).scale is None
    assert aggregate(labels, options=Options(ordered=True)).scale.tolist() == [1, 2, 3, 4, 5]
