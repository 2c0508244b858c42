"""`hutch predict --interval`: a line of three numbers for each example, and what has none."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, UsageError
from hutch.core.run.prediction_intervals import Intervals

ROW = {"loss": "squared", "covariance": "moments", "features": "named", "dimension": 8, "namespace": "", "reach": 10}


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table of which the second half is predicted, its labels, and a chain that keeps moments."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    a, word = random.normal(size=600), random.integers(3, size=600)
    y = 10 + 3 * a + 2 * word + random.normal(size=600)
    lines = [f"{label:.5f},{x:.5f},w{k}" for label, x, k in zip(y, a, word, strict=True)]
    for name, part in (("train.csv", lines[:300]), ("test.csv", lines[300:])):
        (tmp_path / name).write_text("label,a,word\n" + "\n".join(part) + "\n")
    (tmp_path / "chain.yaml").write_text(f"chain: [{{bayesian_linear: {ROW}}}]")
    return y[300:]


def test_lines_hold_the_prediction_and_the_ends(table, hutch):
    assert hutch("train", "train.csv", "-C", "chain.yaml", "-f", "model", "--quiet").code == 0
    plain = hutch("predict", "test.csv", "-i", "model", "--quiet").out.split()
    result = hutch("predict", "test.csv", "-i", "model", "--interval", "0.9", "--quiet")
    found = np.array([line.split() for line in result.out.splitlines()], float)
    assert found.shape == (300, 3)
    np.testing.assert_allclose(found[:, 0], np.array(plain, float), rtol=1e-5)
    assert np.mean((found[:, 1] <= table) & (table <= found[:, 2])) == pytest.approx(0.9, abs=0.05)
    np.testing.assert_allclose(found[:, 0] - found[:, 1], found[:, 2] - found[:, 0], atol=1e-3)
    wide = hutch("predict", "test.csv", "-i", "model", "--interval", "0.99", "--quiet").out.splitlines()[0].split()
    assert float(wide[1]) < found[0, 1] and float(wide[2]) > found[0, 2]


@pytest.mark.parametrize("dimension", [1, 8])
@pytest.mark.parametrize("constant", [True, False])
def test_words_of_other_namespaces_are_known_as_well_as_they_were_learned(dimension, constant):
    random = np.random.default_rng(1)
    rows = [
        {"": {"a": a, **({} if dimension > 1 else {"b": 1.0})}, "words": {f"w{k}": size for k in picked}}
        for a, size, picked in zip(
            random.normal(size=1200),
            random.choice([1.0, 2.0], size=1200),
            (random.choice(20, 3, replace=False) for _ in range(1200)),
            strict=True,
        )
    ]
    truth = [3 * row[""]["a"] + sum(int(word[1:]) % 3 * size for word, size in row["words"].items()) for row in rows]
    labels = truth + random.normal(size=1200)
    base = {"bayesian_linear": {**ROW, "dimension": dimension}}
    chain = Chain.from_config({"input": {"constant": constant}, "chain": [base]})
    chain.learn([{**row, "label": label} for row, label in zip(rows[:800], labels, strict=False)])
    [batch] = chain.batches(rows[800:])
    low, high = Intervals(chain, 0.9).ends(batch, chain.run_apart(batch, False)).T
    assert np.mean((low <= labels[800:]) & (labels[800:] <= high)) == pytest.approx(0.9, abs=0.05)
    off = np.abs(labels[800:] - (low + high) / 2)
    assert np.mean(high - low) / 2 == pytest.approx(np.quantile(off, 0.9), rel=0.25)


@pytest.mark.parametrize("left_out", [{"ignore": ["other"]}, {"keep": [""]}])
def test_namespaces_that_are_left_out_make_no_difference(left_out):
    random = np.random.default_rng(2)
    rows = [{"": {"a": a}, "label": 3 * a + random.normal()} for a in random.normal(size=300)]
    others = [{**row, "other": [f"w{k % 7}", f"v{k}"]} for k, row in enumerate(rows)]
    found = []
    for examples in (rows, others):
        chain = Chain.from_config({"input": left_out, "chain": [{"bayesian_linear": ROW}]})
        chain.learn(examples[:200])
        [batch] = chain.batches(examples[200:])
        found.append(Intervals(chain, 0.9).ends(batch, chain.run_apart(batch, False)))
    np.testing.assert_array_equal(*found)


def test_tags_follow(table, hutch, tmp_path):
    lines = "".join(f"{k % 5} 1 row{k}| a:{k % 5} b:{k % 3}\n" for k in range(60))
    (tmp_path / "lines.vw").write_text(lines)
    assert hutch("train", "lines.vw", "-C", "chain.yaml", "-f", "model", "--quiet").code == 0
    result = hutch("predict", "lines.vw", "-i", "model", "--interval", "0.5", "--quiet")
    assert [line.split()[3] for line in result.out.splitlines()] == [f"row{k}" for k in range(60)]


def test_refuses_other_chains_and_levels(table, hutch):
    assert hutch("train", "train.csv", "-f", "plain", "--quiet").code == 0
    assert hutch("train", "train.csv", "-C", "chain.yaml", "-f", "model", "--quiet").code == 0
    for given, text in (
        (("-i", "plain", "--interval", "0.9"), "interval: this chain keeps no moments of two rows or more"),
        (("-i", "model", "--interval", "90"), "interval: got 90, wanted a number between 0 and 1"),
        (("-i", "model", "--interval", "0.9", "--probabilities"), "--interval: got it beside --probabilities"),
        (("-i", "model", "--interval", "0.9", "--into", "d"), "--interval: cannot be combined with --into"),
    ):
        result = hutch("predict", "test.csv", *given, "--quiet")
        assert result.code == 2 and text in result.err
    chain = Chain.from_config({"chain": [{"bayesian_linear": ROW}]})
    with pytest.raises(ConfigError, match="keeps no moments"):
        Intervals(chain, 0.9)
    with pytest.raises(UsageError, match="interval: got 0, wanted"):
        Intervals(chain, 0.0)
