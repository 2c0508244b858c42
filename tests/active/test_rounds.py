"""Rounds from a pool of rows: at first one example of each cluster, then by margins and conditional variances."""

import numpy as np
import pytest

from hutch.active import rounds as module
from hutch.active.drawing import smallest
from hutch.active.lines import labelled
from hutch.active.loop import ask, catch_up
from hutch.active.pool import Pool
from hutch.active.records import make_answer
from hutch.active.rounds import sketch, typical, unlike
from hutch.active.store import Store
from hutch.chain import Chain
from hutch.core.batch import joined
from hutch.reductions.bayesian_linear import layer

BASE = {"bayesian_linear": {"dimension": 4}}


def pool(n=300, clusters=6, dimension=4):
    """Lines of rows in clusters that come one after the other."""
    random = np.random.default_rng(3)
    centres = random.normal(size=(clusters, dimension)) * 6
    rows = np.repeat(centres, n // clusters, axis=0) + random.normal(size=(n, dimension)) * 0.1
    return ["|x " + " ".join(f"{j}:{x:.4f}" for j, x in enumerate(row)) for row in rows]


def chain_of(rule="margin", base=BASE):
    return Chain.from_config({"chain": [{"active": {"rule": rule, "simulation": False}}, base]})


@pytest.mark.parametrize("dimension", [3, 512])
def test_rows_of_no_more_dimensions_than_columns_keep_their_distances(dimension):
    rows = np.random.default_rng(0).normal(size=(20, dimension)).astype(np.float32)
    [batch] = chain_of(base={"bayesian_linear": {"dimension": dimension}}).batches(rows)
    found = sketch(batch)
    for one, other in ((0, 1), (2, 17)):
        want = np.linalg.norm(rows[one] - rows[other])
        assert np.linalg.norm(found[one] - found[other]) == pytest.approx(want, rel=1e-5)
    part = sketch(batch.rows(5, 9))
    np.testing.assert_array_equal(part, found[5:9])


def test_rows_of_more_dimensions_than_columns_keep_them_about():
    rows = np.random.default_rng(0).normal(size=(40, 512)).astype(np.float32)
    [batch] = chain_of(base={"bayesian_linear": {"dimension": 512}}).batches(rows)
    found = sketch(batch, width=128)
    ratio = np.linalg.norm(found[:20] - found[20:], axis=1) / np.linalg.norm(rows[:20] - rows[20:], axis=1)
    assert 0.7 < ratio.min() and ratio.max() < 1.3 and ratio.mean() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("kinds", [1, 2, 5])
def test_as_many_as_are_wanted_and_all_different(kinds):
    for n in range(1, 31):
        rows = np.random.default_rng(n).integers(0, kinds, (n, 2)).astype(float)  # many come again
        for count in {1, (n + 1) // 2, n}:
            found = typical(rows, count, [n])
            assert len(found) == count and (np.diff(found) > 0).all() and 0 <= found[0] and found[-1] < n
            np.testing.assert_array_equal(found, typical(rows, count, [n]))


def test_the_example_nearest_to_the_mean_is_the_typical_one():
    rows = np.random.default_rng(1).normal(size=(200, 3))
    nearest = np.argmin(np.sum((rows - rows.mean(axis=0)) ** 2, axis=1))
    assert typical(rows, 1, [0]).tolist() == [nearest]


@pytest.mark.parametrize("looked_at", [4096, 150])
def test_the_first_round_of_margin_has_an_example_of_each_cluster(tmp_path, looked_at, monkeypatch):
    monkeypatch.setattr(module, "LOOKED_AT", looked_at)
    lines, chain = pool(), chain_of()
    for k in range(2):
        (tmp_path / f"part{k}.vw").write_text("\n".join(lines[150 * k : 150 * k + 150]) + "\n")
    asked = []
    for name, source in (("list", lines), ("files", Pool.of_files(str(tmp_path / "part*.vw"), chain))):
        with Store(tmp_path / f"{name}.db", create=True) as store:
            found = [ask(chain, source, store, 6, source="p", model="m") for _ in range(2)]
            asked.append([[request.line for request in part] for part in found])
            assert {request.probability for part in found for request in part} == {1.0}
            assert [round.examples for _, round in store.rounds()] == [6, 6]
    assert asked[0] == asked[1]  # of a list and of files
    first, second = asked[0]
    assert sorted(lines.index(line) // 50 for line in first) == [0, 1, 2, 3, 4, 5]
    assert len(second) == 6 and not set(first) & set(second)


def test_after_the_first_answers_margin_asks(tmp_path):
    lines, chain = pool(), chain_of()
    with Store(tmp_path / "labels.db", create=True) as store:
        first = ask(chain, lines, store, 6, source="p", model="m")
        store.answer([make_answer(request.id, "ann", k % 2 * 2 - 1) for k, request in enumerate(first)])
        catch_up(chain, store)
        second = [request.line for request in ask(chain, lines, store, 1, source="p", model="m")]
    left = [line for line in lines if line not in {request.line for request in first}]
    assert second == [left[np.abs(chain.predict(left)).argmin()]]


def test_other_learners_and_rules_begin_as_ever(tmp_path):
    lines = pool()
    with Store(tmp_path / "linear.db", create=True) as store:
        chain = chain_of(base={"linear": {"loss": "logistic"}})
        found = [request.line for request in ask(chain, lines, store, 6, source="p", model="m")]
        assert found == [lines[i] for i in smallest(np.zeros(300), 6)]
    with Store(tmp_path / "budget.db", create=True) as store:
        found = ask(chain_of("budget"), lines, store, 6, source="p", model="m")
        assert {round(request.probability, 9) for request in found} == {0.02}
    learned = chain_of()
    learned.learn([labelled(lines[0], "1", 1.0), labelled(lines[299], "-1", 1.0)])
    with Store(tmp_path / "learned.db", create=True) as store:
        found = [request.line for request in ask(learned, lines, store, 1, source="p", model="m")]
    assert found == [lines[np.abs(learned.predict(lines)).argmin()]]


def rows_of(n, seed=3, dimension=4):
    return np.random.default_rng(seed).normal(size=(n, dimension)).round(3)


def lines_of(rows):
    return ["|x " + " ".join(f"{j}:{x}" for j, x in enumerate(row)) for row in rows]


def trained(base=BASE, rule="margin", seed=5):
    chain = Chain.from_config({"chain": [{"active": {"rule": rule, "simulation": False}}, base]})
    rows = rows_of(12, seed)
    chain.learn(
        [labelled(line, "1" if row[0] > 0 else "-1", 1.0) for line, row in zip(lines_of(rows), rows, strict=True)]
    )
    return chain


def asked_of(chain, pool, path, count):
    with Store(path, create=True) as store:
        return [request.line for request in ask(chain, pool, store, count, source="p", model="m")]


def twin(margins, rows, covariance, count):
    """The same by the definition: variances given the values at all those chosen, from one inverse."""
    found = [int(np.argmin(margins))]
    joint = rows @ covariance @ rows.T
    for _ in range(count - 1):
        given = joint[np.ix_(found, found)]
        known = np.einsum("ij,ij->i", joint[:, found] @ np.linalg.inv(given), joint[:, found])
        left = np.maximum(np.diag(joint) - known, 1e-3 * np.diag(joint))
        scores = margins * np.diag(joint) / left
        scores[found] = np.inf
        found.append(int(np.argmin(scores)))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_a_round_is_chosen_by_margin_and_conditional_variance(seed):
    random = np.random.default_rng(seed)
    rows, factor = random.normal(size=(60, 8)), random.normal(size=(8, 8))
    margins, covariance = np.abs(random.normal(size=60)), factor @ factor.T
    found = unlike(margins, rows, rows @ covariance, 6)
    assert found.tolist() == twin(margins, rows, covariance, 6)
    assert unlike(margins, rows, rows @ covariance, 3).tolist() == found[:3].tolist()


@pytest.mark.parametrize("kinds", [1, 3, 20])
def test_a_round_has_as_many_as_are_wanted_and_all_different(kinds):
    rows = np.random.default_rng(0).integers(0, kinds, (20, 2)).astype(float)  # many come again, some are 0
    margins = np.abs(rows[:, 0] - 0.5)
    for count in (1, 7, 20):
        found = unlike(margins, rows, rows, count)
        assert len(set(found.tolist())) == count and 0 <= found.min() and found.max() < 20


@pytest.mark.parametrize("rank", [None, 0, 2])
def test_covariances_are_those_by_which_the_learner_measures(rank):
    chain = trained({"bayesian_linear": {"dimension": 4, "rank": rank, "loss": "squared"}}, "budget")
    lines, base = lines_of(rows_of(6, 8)), chain.layers[1]
    trace = chain.layers[0].trace(6)
    chain.predict(lines)
    rows, products = base.covariances(joined(*chain.batches(lines)))
    np.testing.assert_allclose(rows[:, :4], rows_of(6, 8), rtol=1e-6)
    np.testing.assert_allclose(rows @ products.T, products @ rows.T, rtol=1e-9, atol=1e-12)
    variance = np.abs(rows @ base.means[0]) / (2 * trace["score"])  # h_min of squared loss is |p| / 2q
    np.testing.assert_allclose(np.einsum("ij,ij->i", rows, products), variance, rtol=1e-5)
    part = base.covariances(joined(*chain.batches(lines)).rows(2, 5))
    np.testing.assert_array_equal(part[0], rows[2:5])


def test_later_rounds_of_margin_are_diverse(tmp_path, monkeypatch):
    rows, chain = rows_of(200, 1), trained()
    rows[100:] = rows[:100] + 0.001  # each comes twice, nearly
    lines = lines_of(rows)
    for k in range(2):
        (tmp_path / f"part{k}.vw").write_text("\n".join(lines[100 * k : 100 * k + 100]) + "\n")
    found = asked_of(chain, lines, tmp_path / "list.db", 4)
    assert found == asked_of(chain, Pool.of_files(str(tmp_path / "part*.vw"), chain), tmp_path / "files.db", 4)
    margins = np.abs(chain.predict(lines)).astype(float)
    want = unlike(margins, *chain.layers[1].covariances(joined(*chain.batches(lines))), 4)
    assert found == [lines[i] for i in np.sort(want)]
    assert len({lines.index(line) % 100 for line in found}) == 4
    assert len(set(smallest(margins, 4) % 100)) < 4  # the nearest are twins
    monkeypatch.setattr(module, "LOOKED_AT", 4)
    some = smallest(margins, 16)
    want = some[
        unlike(margins[some], *chain.layers[1].covariances(joined(*chain.batches([lines[i] for i in some]))), 4)
    ]
    assert asked_of(chain, lines, tmp_path / "few.db", 4) == [lines[i] for i in np.sort(want)]
    with Store(tmp_path / "rounds.db", create=True) as store:
        asked = [ask(chain, lines, store, 90, source="p", model="m") for _ in range(3)]
        assert sorted(request.line for part in asked for request in part) == sorted(lines)
        assert {request.probability for part in asked for request in part} == {1.0}


def test_rounds_of_one_and_rows_too_long_to_compare_take_the_nearest(tmp_path, monkeypatch):
    lines, chain = lines_of(rows_of(50, 1)), trained()
    margins = np.abs(chain.predict(lines)).astype(float)
    assert asked_of(chain, lines, tmp_path / "one.db", 1) == [lines[margins.argmin()]]
    monkeypatch.setattr(layer, "_MOST_NUMBERS", 100)
    assert asked_of(chain, lines, tmp_path / "long.db", 5) == [lines[i] for i in smallest(margins, 5)]


def test_of_classes_the_nearest_are_taken(tmp_path):
    layers = [{"active": {"rule": "margin", "simulation": False}}, {"one_against_all": {"classes": 3}}, BASE]
    lines, chain = lines_of(rows_of(50, 1)), Chain.from_config({"chain": layers})
    chain.learn([f"{k % 3 + 1} {line}" for k, line in enumerate(lines[:20])])
    highest = np.sort(chain.scores(lines).astype(float), axis=1)
    want = smallest(highest[:, 2] - highest[:, 1], 5)
    assert asked_of(chain, lines, tmp_path / "classes.db", 5) == [lines[i] for i in want]
