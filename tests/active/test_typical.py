"""The first round from a pool of rows of numbers: one example of each cluster, whatever the pool is."""

import numpy as np
import pytest

from hutch.active import typical as module
from hutch.active.lines import labelled
from hutch.active.loop import ask, catch_up
from hutch.active.pool import Pool
from hutch.active.typical import sketch, typical
from hutch.chain import Chain
from hutch.durable.records import make_answer
from hutch.durable.store import Store
from hutch.reductions.active.drawing import smallest

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
        second = [request.line for request in ask(chain, lines, store, 6, source="p", model="m")]
    left = [line for line in lines if line not in {request.line for request in first}]
    assert second == [left[i] for i in smallest(np.abs(chain.predict(left)).astype(float), 6)]


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
        found = [request.line for request in ask(learned, lines, store, 6, source="p", model="m")]
    assert found == [lines[i] for i in smallest(np.abs(learned.predict(lines)), 6)]
