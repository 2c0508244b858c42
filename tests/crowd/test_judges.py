import importlib.util
import io
import math
from pathlib import Path

import numpy as np
import pytest

from hutch.core.errors import UsageError
from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import from_triples
from hutch.crowd.judges import judges, write_judges
from hutch.crowd.mixed.model import Mixed

_spec = importlib.util.spec_from_file_location(
    "crowd_of_judges", Path(__file__).parent / "mixed" / "crowd_of_judges.py"
)
crowds = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(crowds)
PEOPLE = Mixed(reference=("ann*",))


@pytest.fixture(scope="module")
def reported():
    """Three judges, a copy of the first and one who guesses; the truth by task."""
    rows, truth = crowds.mixed_crowd(900, 3, judges=3, together=0.0, people=2, seed=1)
    random = np.random.default_rng(2)
    rows += [("copy", t, x) for w, t, x in rows if w == "judge0"]
    rows += [("guess", f"t{i}", str(random.integers(3))) for i in range(900)]
    result = aggregate(from_triples(rows), PEOPLE)
    return {judge.name: judge for judge in judges(result, PEOPLE, {"judge1": 0.5})}, rows, truth


def test_accuracy_is_close_to_the_truth(reported):
    found, rows, truth = reported
    for name, judge in found.items():
        right = np.mean([truth[task] == label for worker, task, label in rows if worker == name])
        assert judge.accuracy == pytest.approx(right, abs=0.08)
        assert judge.labels == 900


def test_copies_are_found_and_share_their_use(reported):
    found, _, _ = reported
    assert found["copy"].redundancy > 0.95 and found["judge0"].redundancy > 0.95
    assert (found["copy"].similar, found["judge0"].similar) == ("judge0", "copy")
    for name in ("judge1", "judge2", "guess"):
        assert found[name].redundancy < 0.3
    assert found["copy"].use < 0.2 * found["judge1"].use
    assert found["copy"].exponent < found["judge1"].exponent


def test_who_guesses_is_of_no_use(reported):
    found, _, _ = reported
    assert abs(found["guess"].use) < 0.003
    assert found["judge1"].use > 0.01
    assert found["guess"].winning_rate == 0


def test_what_is_written(reported):
    file = io.BytesIO()
    write_judges(file, list(reported[0].values()))
    header, *lines = [line.split("\t") for line in file.getvalue().decode().splitlines()]
    rows = {line[0]: dict(zip(header, line, strict=True)) for line in lines}
    assert len(rows) == 5
    uses = [float(line[header.index("use")]) for line in lines]
    assert uses == sorted(uses, reverse=True)
    assert rows["copy"]["copy"] == "yes" and rows["judge2"]["copy"] == "no"
    assert rows["judge1"]["price"] == "0.5" and rows["judge2"]["price"] == ""
    use = reported[0]["judge1"].use
    assert float(rows["judge1"]["use_per_price"]) == pytest.approx(use / 0.5, rel=1e-4)


def test_one_judge_and_one_person():
    rows, _ = crowds.mixed_crowd(60, 2, judges=1)
    (only,) = judges(aggregate(from_triples(rows), PEOPLE), PEOPLE)
    assert (only.redundancy, only.similar) == (0.0, "")
    assert math.isnan(only.winning_rate) and math.isnan(only.price)


def test_no_reference_and_no_batch_are_refused():
    rows, truth = crowds.mixed_crowd(40, 2)
    labels = from_triples(rows)
    with pytest.raises(UsageError, match="--judges: wanted a reference"):
        judges(aggregate(labels, PEOPLE, Options(method="online", slots=64)), PEOPLE)
    taught = from_triples(rows, gold=truth)
    with pytest.raises(UsageError, match="--judges: wanted a reference"):
        judges(aggregate(taught, Mixed()), Mixed())
