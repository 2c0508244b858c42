"""An open benchmark: exact, whatever the order of the answers, and resumed from its file."""

import math

import numpy as np
import pytest

from hutch.benchmark.answers import Answers
from hutch.benchmark.judged import read_judged, write_judged
from hutch.benchmark.session import Session
from hutch.core.errors import DataError, UsageError


def earlier(models=30, questions=120, seed=0):
    """Earlier answers, and those of one more model."""
    random = np.random.default_rng(seed)
    logits = 2 * random.normal(size=questions) + random.normal(size=(models + 1, 1))
    logits += random.normal(size=(models + 1, 2)) @ random.normal(size=(2, questions))
    right = (random.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(np.float32)
    table = Answers([f"q{k}" for k in range(questions)], [f"m{k}" for k in range(models)], right[:models])
    return table, right[models].astype(float)


def answered(session, truth, rounds, count=8):
    for _ in range(rounds):
        asked = session.ask(count)
        session.tell(0, asked, truth[asked])
    return session


def test_the_same_seed_gives_the_same_questions():
    table, truth = earlier()
    one, other, changed = (answered(Session.of(table, ["new"], seed), truth, 4) for seed in (3, 3, 4))
    drawn = [np.concatenate([each.drawn for each in session.rounds]).tolist() for session in (one, other, changed)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert one.estimate() == other.estimate()


def test_the_order_of_answers_and_looks_changes_nothing():
    table, truth = earlier()
    one, other = Session.of(table, ["new"]), Session.of(table, ["new"])
    for _ in range(4):
        asked = one.ask(8)
        one.tell(0, asked, truth[asked])
        for question in reversed(other.ask(8).tolist()):
            other.tell(0, np.array([question]), truth[[question]])
            other.estimate()
    assert one.estimate() == other.estimate()
    assert np.array_equal(one.ask(5), other.ask(5))


@pytest.mark.parametrize("stop", [0, 1, 3, 8])
def test_a_benchmark_goes_on_from_its_file_bit_for_bit(tmp_path, stop):
    """Stop after some answers of the third round."""
    table, truth = earlier()
    whole = answered(Session.of(table, ["new"], 5), truth, 2)
    asked = whole.ask(8)
    whole.tell(0, asked[:stop], truth[asked[:stop]])
    write_judged(whole, tmp_path / "judged.csv")
    again = Session.of(table, ["new"], 5)
    read_judged(again, tmp_path / "judged.csv")
    assert again.estimate() == whole.estimate()
    for session in (whole, again):
        waiting = session.open
        session.tell(0, waiting, truth[waiting])
        answered(session, truth, 2)
    assert again.estimate() == whole.estimate()
    assert np.array_equal(again.ask(9), whole.ask(9))
    write_judged(whole, tmp_path / "one.csv")
    write_judged(again, tmp_path / "other.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()


def test_a_spreadsheet_may_round_the_chances(tmp_path):
    table, truth = earlier()
    whole = answered(Session.of(table, ["new"]), truth, 3)
    write_judged(whole, tmp_path / "judged.csv")
    lines = [line.split(",") for line in (tmp_path / "judged.csv").read_text().splitlines()]
    text = "\r\n".join(";".join([row[0], row[1], f"{float(row[2]):.15g}", row[3]]) for row in lines[1:])
    (tmp_path / "judged.csv").write_bytes(("\ufeff" + ";".join(lines[0]) + "\r\n" + text + "\r\n").encode())
    again = Session.of(table, ["new"])
    read_judged(again, tmp_path / "judged.csv")
    assert again.estimate() == whole.estimate()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("question,round", "q,r"), "judged.csv:1:1: got the columns q,r,chance,new"),
        (lambda text: text.replace(",1.0,", ",2,", 1), None),
        (lambda text: text + "q999,3,0.1,1\n", "judged.csv:18:1: no question is 'q999'"),
        (lambda text: text + text.splitlines()[1] + "\n", "twice, wanted it once"),
        (lambda text: text.replace(",1\n", ",7\n", 1), "got '7', wanted a number from 0 to 1"),
        (lambda text: text.replace(",1\n", ",\n", 1), "the answer is empty, but there is a later round"),
        (lambda text: text.replace(",2,", ",4,"), "got no rows of round 2, but of round 4"),
        (lambda text: text.replace(",2,", ",0,"), "got the round '0', wanted 1 or more"),
        (lambda text: text.replace(",2,", ",x,"), "got the round 'x', wanted 1 or more"),
        (lambda text: "\n".join(text.splitlines()[:-1]), "or rows of their round are missing"),
        (lambda text: text.replace("0.0", "0.9"), "these questions were drawn from other earlier answers"),
        (lambda text: text.replace("0.0", "-"), "wanted a number above 0, up to 1"),
        (lambda text: text.replace(",new", ",old"), "got columns of old, wanted new, the new models; keep others"),
        (lambda text: text.replace(",1\n", ",1,1\n", 1), "got 5 columns, wanted 4"),
    ],
)
def test_places_in_the_file_that_are_wrong(tmp_path, change, said):
    table, truth = earlier()
    write_judged(answered(Session.of(table, ["new"]), truth, 2), tmp_path / "judged.csv")
    text = (tmp_path / "judged.csv").read_text()
    (tmp_path / "judged.csv").write_text(change(text))
    if said is None:
        return
    with pytest.raises(DataError) as error:
        read_judged(Session.of(table, ["new"]), tmp_path / "judged.csv")
    assert said in str(error.value) and "judged.csv:" in str(error.value)


def test_people_may_sort_the_rows(tmp_path):
    table, truth = earlier()
    whole = answered(Session.of(table, ["new"]), truth, 3)
    write_judged(whole, tmp_path / "judged.csv")
    head, *rows = (tmp_path / "judged.csv").read_text().splitlines()
    (tmp_path / "judged.csv").write_text("\n".join([head, *sorted(rows)]) + "\n")
    again = Session.of(table, ["new"])
    read_judged(again, tmp_path / "judged.csv")
    assert again.estimate() == whole.estimate()
    assert np.array_equal(again.ask(9), whole.ask(9))


def test_other_earlier_answers_are_refused(tmp_path):
    table, truth = earlier()
    write_judged(answered(Session.of(table, ["new"]), truth, 4), tmp_path / "judged.csv")
    with pytest.raises(DataError, match="drawn from other earlier answers"):
        read_judged(Session.of(earlier(seed=1)[0], ["new"]), tmp_path / "judged.csv")


def test_several_new_models_share_their_questions():
    table, truth = earlier()
    session = Session.of(table, ["a", "b"])
    other = np.where(np.arange(120) < 12, 1 - truth, truth)
    for _ in range(5):
        asked = session.ask(10)
        session.tell(0, asked, truth[asked])
        assert np.array_equal(session.ask(10), asked), "the other model has no answers yet"
        session.tell(1, asked, other[asked])
    difference = session.estimate(0, against="b")
    assert difference.low <= truth.mean() - other.mean() <= difference.high
    assert difference.labels == 50
    assert session.estimate(1, against="a").value == pytest.approx(-difference.value)


def test_a_difference_to_an_earlier_model_is_on_the_questions_of_both():
    table, truth = earlier()
    table.matrix[3, 60:] = np.nan
    session = answered(Session.of(table, ["new"]), truth, 6)
    found = session.estimate(against="m3")
    assert found.questions == 60
    assert found.low <= truth[:60].mean() - table.matrix[3, :60].mean() <= found.high
    table.matrix[3] = np.nan
    with pytest.raises(UsageError, match="no question has an answer of it"):
        session.estimate(against="m3")
    with pytest.raises(UsageError, match="no model is 'm99'"):
        session.estimate(against="m99")


def test_until_all_questions_are_judged():
    table, truth = earlier(questions=30)
    session = answered(Session.of(table, ["new"]), truth, 5, count=8)
    assert not len(session.ask(8)) and not len(session.left)
    found = session.estimate()
    assert found.value == found.low == found.high == pytest.approx(truth.mean())


def test_an_answer_that_changes_is_refused():
    table, truth = earlier()
    session = Session.of(table, ["new"])
    asked = session.ask(3)
    session.tell(0, asked, truth[asked])
    session.tell(0, asked, truth[asked])
    with pytest.raises(DataError, match="but had"):
        session.tell(0, asked, 1 - truth[asked])
    with pytest.raises(UsageError, match="is a model of the earlier answers"):
        Session.of(table, ["m3"])
    with pytest.raises(UsageError, match="wanted different names"):
        Session.of(table, ["a", "a"])


@pytest.mark.slow
def test_it_gains_and_covers():
    """Forty models of three factors; ten new ones."""
    hits, worth = 0, []
    for seed in range(20):
        table, truth = earlier(60, 300, seed)
        found = answered(Session.of(table, ["new"], seed), truth, 6, count=10).estimate()
        hits += found.low <= truth.mean() <= found.high
        worth.append(found.worth)
    assert hits >= 17
    assert np.mean(worth) > 80 and not any(map(math.isnan, worth))
