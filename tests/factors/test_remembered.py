"""Factors that were learned before are the same, to the bit, and only for the same table and method."""

import numpy as np
import pytest

from hutch.core.kernel import home
from hutch.factors import remembered, table
from hutch.factors.remembered import KEPT, remembered_factors
from hutch.factors.table import learn_factors


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, which keeps all factors however fast they are; the number of times that some were learned."""
    monkeypatch.setenv("HUTCH_CACHE_DIR", str(tmp_path / "cache"))
    home.cache_home.cache_clear()
    monkeypatch.setattr(remembered, "SLOW", 0.0)
    learned = []

    def learn(answers, rank, seed):
        learned.append(seed)
        return learn_factors(answers, rank, seed=seed)

    monkeypatch.setattr(remembered, "learn_factors", learn)
    yield tmp_path / "cache" / "factors", learned
    home.cache_home.cache_clear()


def answers(seed=0):
    return (np.random.default_rng(seed).random((30, 40)) < 0.5).astype(np.float32)


def same(one, other):
    return all((getattr(one, name) == getattr(other, name)).all() for name in ("ability", "rows", "ease", "columns"))


def test_they_are_the_same_and_learned_once(cache):
    first, second = (remembered_factors(answers(), 3) for _ in range(2))
    assert cache[1] == [0] and same(first, second) and same(first, learn_factors(answers(), 3))
    assert second.directions.shape == (40, 4)


def test_another_table_rank_seed_or_method_learns_anew(cache, monkeypatch):
    other = answers()
    other[3, 4] = np.nan
    for given in (
        (answers(), 3, 0),
        (other, 3, 0),
        (answers(), 2, 0),
        (answers(), 3, 5),
        (answers().reshape(40, 30), 3, 0),
    ):
        remembered_factors(*given)
    assert len(cache[1]) == 5
    monkeypatch.setattr(remembered, "_method", lambda: b"other")
    remembered_factors(answers(), 3)
    assert len(cache[1]) == 6


def test_few_are_kept_and_damage_is_no_error(cache):
    for seed in range(KEPT + 3):
        remembered_factors(answers(seed), 2)
    files = [*cache[0].iterdir()]
    assert len(files) == KEPT
    for file in files:
        file.write_bytes(file.read_bytes()[:-9])
    assert same(remembered_factors(answers(KEPT + 2), 2), learn_factors(answers(KEPT + 2), 2))


def test_fast_ones_and_a_closed_cache_are_learned_again(cache, monkeypatch, tmp_path):
    monkeypatch.setattr(remembered, "SLOW", 60.0)
    remembered_factors(answers(), 2)
    assert not cache[0].exists()
    monkeypatch.setattr(remembered, "SLOW", 0.0)
    (tmp_path / "cache").write_text("a file")
    assert same(remembered_factors(answers(), 2), learn_factors(answers(), 2))
    assert "learn_factors" in remembered._method().decode() and table.RANK
