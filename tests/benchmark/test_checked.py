"""A judge's answers, corrected by the few that people check."""

import csv

import numpy as np
import pytest

from hutch.benchmark.draws import draw
from hutch.benchmark.estimate import Values, estimate
from hutch.benchmark.judged import read_judged, write_judged
from hutch.benchmark.session import Session
from hutch.core.errors import DataError
from tests.benchmark.test_session import earlier


@pytest.mark.parametrize(("wrong", "share"), [(0.0, 0.2), (0.2, 0.3), (0.4, 0.5)])
def test_the_score_is_peoples_however_wrong_the_judge_is(wrong, share):
    """The judge passes wrong answers where they are least likely to be drawn."""
    random = np.random.default_rng(0)
    p = random.uniform(0.05, 0.95, 400)
    truth = (random.random(400) < p).astype(float)
    sure = np.argsort(-np.abs(p - 0.5))[: round(wrong * 400)]
    judge = np.where(np.isin(np.arange(400), sure), 1.0, truth)
    found, plain = [], []
    for seed in range(400):
        random, left, rounds = np.random.default_rng(seed), np.arange(400), []
        judged, people = np.full(400, np.nan), np.full(400, np.nan)
        for size in (20, 20, 60):
            rounds.append(draw(left, p, size, 0.3, random))
            drawn = rounds[-1].drawn
            left = np.setdiff1d(left, drawn)
            judged[drawn] = judge[drawn]
            checked = random.choice(drawn, round(share * size), replace=False)
            people[checked] = truth[checked]
        found.append(estimate(rounds, Values.of(judged, p, people)))
        plain.append(estimate(rounds, Values.of(judged, p)))
    values = np.array([each.value for each in found])
    assert abs(values.mean() - truth.mean()) < 4 * values.std() / 20 + 0.004
    assert np.mean([each.low <= truth.mean() <= each.high for each in found]) > 0.935
    assert np.mean([each.half_width for each in found]) > np.mean([each.half_width for each in plain])
    if wrong > 0.3:
        assert np.mean([each.low <= truth.mean() <= each.high for each in plain]) < 0.5


def test_all_checked_is_as_if_people_had_answered():
    random = np.random.default_rng(0)
    p, truth = random.uniform(0.1, 0.9, 50), random.integers(0, 2, 50).astype(float)
    rounds = [draw(np.arange(50), p, 50, 1.0, random)]
    found = estimate(rounds, Values.of(1 - truth, p, truth))
    assert found.value == pytest.approx(truth.mean())


def test_without_a_check_anything_is_possible():
    p = np.full(20, 0.5)
    rounds = [draw(np.arange(20), p, 5, 1.0, np.random.default_rng(0))]
    judged = np.where(np.isin(np.arange(20), rounds[0].drawn), 1.0, np.nan)
    found = estimate(rounds, Values.of(judged, p, np.full(20, np.nan)))
    assert (found.low, found.high) == (0, 1)


def test_an_open_benchmark_with_checks_goes_on_from_its_file(tmp_path):
    table, truth = earlier()
    one = Session.of(table, ["new"])
    for number in range(3):
        asked = one.ask(10, 0.25)
        one.tell(0, asked, np.where(np.arange(10) == 0, 1 - truth[asked], truth[asked]))
        assert len(one.open_checks) == 3
        if number < 2:
            one.tell(0, one.open_checks, truth[one.open_checks], by_people=True)
    write_judged(one, tmp_path / "judged.csv")
    with open(tmp_path / "judged.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["question", "round", "chance", "new", "new by people"]
    assert [sum(row[4] == cell for row in rows) for cell in ("-", "")] == [21, 3]
    other = Session.of(table, ["new"])
    read_judged(other, tmp_path / "judged.csv")
    assert other.estimate() == one.estimate()
    assert np.array_equal(np.sort(other.open_checks), np.sort(one.open_checks)) and len(one.open_checks) == 3
    for session in (one, other):
        checks = session.open_checks
        session.tell(0, checks, truth[checks], by_people=True)
    assert other.estimate() == one.estimate()
    assert np.array_equal(other.ask(7, 0.5), one.ask(7, 0.5))
    assert np.array_equal(other.checks[-1], one.checks[-1]) and len(one.checks[-1]) == 4


def test_a_check_that_changes_is_refused():
    table, truth = earlier()
    session = Session.of(table, ["new"])
    asked = session.ask(4, 1.0)
    session.tell(0, asked, truth[asked])
    session.tell(0, asked[:1], truth[asked[:1]], by_people=True)
    with pytest.raises(DataError, match="but had"):
        session.tell(0, asked[:1], 1 - truth[asked[:1]], by_people=True)
