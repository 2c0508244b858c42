"""Matrix factorization: its formula in float64, and Vowpal Wabbit's `--rank`."""

from pathlib import Path

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.core.text.hashing import hash_namespace, hash_text
from hutch.vw.main import run


def _chain(**given):
    layer = {"rank": 2, "interactions": ["ui"], "learning_rate": 0.3, "l2": 0.01} | given
    config = {"chain": [{"matrix_factorization": layer}], "input": {"namespaces": "letter", "constant": False}}
    return Chain.from_config(config | {"weights": {"bits": 8}})


def test_one_step_by_its_formula():
    chain = _chain()
    before = chain.weights.astype(float)
    assert before.shape == (256, 8) and 0 <= before.min() < before.max() < 0.1
    u, i = (hash_text(name, hash_namespace(space, 0, "strings"), "strings") & 255 for space, name in ("ua", "ib"))
    [found] = chain.learn(["2 3 |u a:2 |i b:0.5"])
    x, left, right = np.array([2, 0.5]), 2 * before[u, 1:3], 0.5 * before[i, 3:5]
    raw = before[[u, i], 0] @ x + left @ right
    assert found == pytest.approx(raw, rel=1e-5)
    step = 0.3 / (1 + 3) ** 0.5 / 3 * 3
    update, shrunk = (2 - raw) * (1 - np.exp(-2 * step)), before * (1 - step * 0.01)
    wanted = before.copy()
    wanted[[u, i], 0] = shrunk[[u, i], 0] + update * x
    wanted[u, 1:3] = shrunk[u, 1:3] + update * right * 2
    wanted[i, 3:5] = shrunk[i, 3:5] + update * left * 0.5
    np.testing.assert_allclose(chain.weights, wanted, rtol=1e-5)


def test_products_are_found():
    """Ratings that only a product explains are predicted; without the pair they are not."""
    rng = np.random.default_rng(3)
    signs = rng.choice([-1, 1], (2, 20))
    pairs = rng.integers(20, size=(6000, 2))
    rows = [f"{3 + signs[0][u] * signs[1][i]} |u {u}x |i {i}x" for u, i in pairs]
    errors = {}
    for interactions in (["ui"], []):
        chain = _chain(interactions=interactions, learning_rate=0.5, power_t=0, l2=0)
        predictions = np.array(chain.learn(rows))
        errors[bool(interactions)] = np.mean((predictions - [float(row[0]) for row in rows])[-1000:] ** 2)
    assert errors[True] < 0.25 * errors[False]


@pytest.mark.parametrize("interactions", [["ui", "uj"], ["uij"], [":u"]])
def test_anything_but_one_pair_is_refused(interactions):
    with pytest.raises(ConfigError, match="wanted one pair of namespaces at most"):
        _chain(interactions=interactions)


ROWS = """1 'x|u a |i b c:2
2 |u a:3

3 0 |i b
-1 2.5 0.5|u d |i c:3
|u a |i c
1 |u a d |j k |i b
"""


@pytest.mark.parametrize(
    "options",
    [
        "-q ui",
        "",
        "-q uu --noconstant",
        "-q ui --passes 4 --decay_learning_rate 0.8 --holdout_off -c -k --l2 0.01",
        "-q ui --initial_t 3 --power_t 0.7 -l 0.5 --min_prediction 0 --max_prediction 2",
        "-q ui --loss_function logistic --binary",
        "-q ui --loss_function quantile --quantile_tau 0.3 -b 5 --audit",
    ],
)
def test_predictions_are_the_peers(options, tmp_path, monkeypatch, capsys):
    vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="the peer: pip install vowpalwabbit==9.11.9")
    monkeypatch.chdir(tmp_path)
    rows = ROWS.replace("2 ", "-1 ").replace("3 0", "1 0") if "logistic" in options else ROWS
    Path("rows.vw").write_text(rows)
    words = f"--rank 3 {options}"
    vowpalwabbit.Workspace(f"-d rows.vw {words} -p theirs --quiet", enable_logging=True).finish()
    assert run([*words.split(), "-d", "rows.vw", "-p", "ours", "--quiet"]) == 0
    assert Path("ours").read_text() == Path("theirs").read_text()
