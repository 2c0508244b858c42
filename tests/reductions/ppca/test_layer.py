"""The layer `ppca`: against the learner of `hutch.em` on the same rows, what it shows, what teaches it, resuming."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from hutch import Chain
from hutch.core.errors import ConfigError, DataError
from hutch.em.base.schedule import Schedule
from hutch.em.constrained.natural import NaturalPPCA
from hutch.reductions.ppca.layer import PPCALayer

DIMENSION = 12


def build(ppca=None, above=(), below="linear", **frame):
    parameters = {"namespace": "p", "dimension": DIMENSION, "rank": 3, **(ppca or {})}
    return Chain.from_config({"weights": {"bits": 16}, **frame, "chain": [*above, {"ppca": parameters}, below]})


def layer_of(chain):
    return next(layer for layer in chain.layers if isinstance(layer, PPCALayer))


def make_rows(count=120, seed=0):
    random = np.random.default_rng(seed)
    hidden = random.normal(size=(count, 3)) * [4, 2, 1]
    return (hidden @ random.normal(size=(3, DIMENSION)) + 3 + 0.3 * random.normal(size=(count, DIMENSION))).round(3)


def text(row, label=None):
    label = "" if label is None else f"{label} "
    return f"{label}|q a |p " + " ".join(f"{j}:{x:g}" for j, x in enumerate(row) if x) + " |r b:2"


def lines_of(rows):
    return [text(row, 1 if row[0] > 3 else -1) for row in rows]


def parsed(rows):
    """The rows in the parser's single precision."""
    [batch] = build().batches(lines_of(rows))
    return batch.values.reshape(len(rows), -1)[:, 1 : DIMENSION + 1].astype(float)


def twin(rows, rank, block, schedule=Schedule(1.0), warm_up=20):  # noqa: B008 - immutable
    learner = NaturalPPCA(rows[:warm_up], rank, schedule)
    for first, stop in [(0, warm_up), *((i, i + block) for i in range(warm_up, len(rows) - block + 1, block))]:
        if stop < len(rows):  # the last block waits for an example after it
            learner.learn(rows[first:stop])
    return learner.parameters


def assert_same_model(got, wanted):
    np.testing.assert_allclose(got.mean, wanted.mean, rtol=1e-10)
    np.testing.assert_allclose(got.noise, wanted.noise, rtol=1e-10)
    np.testing.assert_allclose(got.loadings.T @ got.loadings, wanted.loadings.T @ wanted.loadings, atol=1e-10)


@pytest.mark.parametrize(
    ("ppca", "schedule"),
    [
        ({}, Schedule(1.0)),
        ({"block": 1}, Schedule(1.0)),
        ({"rank": 1, "block": 7}, Schedule(1.0)),
        ({"exponent": 0.6}, Schedule(0.6)),
        ({"exponent": 0.0, "scale": 0.05, "block": 4}, Schedule(0.0, 0.05)),
    ],
)
def test_lines_teach_what_rows_teach_the_learner(ppca, schedule):
    rows = make_rows()
    chain = build(ppca)
    chain.learn(lines_of(rows))
    wanted = twin(parsed(rows), ppca.get("rank", 3), ppca.get("block", 10), schedule)
    assert_same_model(layer_of(chain).model, wanted)


def posterior_means(rows, parameters):
    """By the textbook, without using that axes are orthogonal."""
    w = parameters.loadings.T
    m = w.T @ w + parameters.noise * np.eye(w.shape[1])
    return (rows - parameters.mean) @ w @ np.linalg.inv(m)


def seen_below(chain, line):
    """Namespaces, indices and values of what the base learner saw of a line."""
    chain.predict([line])
    rows, values, _ = chain.layers[-1].gathered()
    return rows, values


def test_the_layer_below_sees_posterior_means_up_to_a_rotation():
    rows = make_rows()
    chain = build()
    chain.learn(lines_of(rows))
    model = layer_of(chain).model
    latent = np.array([seen_below(chain, text(row))[1][2:5] for row in rows])
    wanted = posterior_means(parsed(rows), model)
    rotation = np.linalg.lstsq(wanted, latent, rcond=None)[0]
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-5)
    np.testing.assert_allclose(latent, wanted @ rotation, atol=1e-5)


def test_latent_features_replace_the_namespace_or_stand_beside_it():
    rows = make_rows()
    for keep, count in ((False, 2 + 3 + 1), (True, 2 + 3 + 1 + DIMENSION)):
        chain = build({"keep": keep})
        chain.learn(lines_of(rows))
        indices, values = seen_below(chain, text(rows[0]))
        assert len(indices) == count
        assert values[0] == 1 and values[-1] == 1  # `a` first, the constant last
        assert chain.last_features == count


def test_latent_features_interact_like_others():
    rows = make_rows()
    chain = build(below={"linear": {"interactions": [["latent", "latent"], ["q", "latent"]]}})
    chain.learn(lines_of(rows))
    assert chain.last_features == 2 + 3 + 1 + 6 + 3


def test_a_line_without_the_namespace_has_no_row():
    rows = make_rows(60)
    plain, mixed = build(), build()
    plain.learn([*lines_of(rows), "1 |q a"])
    mixed.learn([line for row in lines_of(rows) for line in (row, "1 |q a")])
    assert layer_of(mixed).samples == 60
    np.testing.assert_array_equal(layer_of(mixed).model.mean, layer_of(plain).model.mean)


def test_lines_without_labels_teach_it_and_only_in_runs_that_learn():
    rows = make_rows()
    labelled, bare = build(), build()
    labelled.learn(lines_of(rows))
    bare.predict([text(row) for row in rows])
    assert layer_of(bare).samples == 0 and layer_of(bare).state["count"] == 0
    bare.learn([text(row) for row in rows])
    assert_same_model(layer_of(bare).model, layer_of(labelled).model)


def test_held_out_lines_do_not_teach_it():
    rows = make_rows(100)
    chain = build()
    chain.run(chain.batches(lines_of(rows)), holdout_period=4)
    assert layer_of(chain).samples + layer_of(chain).state["count"][0] == 75


def test_a_row_is_learned_once_however_often_layers_above_ask():
    rows = make_rows()
    lines = [line.replace("-1 ", "2 ", 1) for line in lines_of(rows)]
    parameters = {"namespace": "p", "dimension": DIMENSION, "rank": 3}
    below = [{"ppca": parameters}, {"one_against_all": {"classes": 2}}, "linear"]
    above = [{"one_against_all": {"classes": 2}}, {"ppca": parameters}, "linear"]
    models = []
    for chain in (Chain.from_config({"chain": layers}) for layers in (below, above)):
        chain.learn(lines)
        models.append(layer_of(chain).model)
    assert_same_model(*models)


def test_active_learning_looks_through_it():
    chain = build(above=[{"active": {"budget": 0.3}}], below={"linear": {"loss": "logistic"}})
    rows = make_rows(200)
    chain.learn(lines_of(rows))
    assert 0 < chain.statistics.queries < 200
    found = chain.run_batch(next(iter(chain.batches([text(row) for row in rows]))))[0]
    assert np.isfinite(found.predictions).all()


@settings(max_examples=15, deadline=None)
@given(cut=st.integers(0, 60), block=st.integers(1, 30), warm_up=st.integers(1, 25), unlabelled=st.booleans())
def test_resuming_is_exact(cut, block, warm_up, unlabelled, tmp_path_factory):
    lines = [text(row) if unlabelled and i % 3 else line for i, (row, line) in enumerate(zip(ROWS, LINES, strict=True))]
    path = tmp_path_factory.mktemp("model") / "model"
    whole, first = (build({"block": block, "warm_up": warm_up}) for _ in range(2))
    whole.learn(lines)
    first.learn(lines[:cut])
    first.save(path)
    second = Chain.load(path)
    second.learn(lines[cut:])
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, second.arrays()[name], err_msg=name)


ROWS = make_rows(60)
LINES = lines_of(ROWS)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), st.integers(1, 8), st.sampled_from([0.0, 1.0, 1e6]), st.booleans(), st.integers(0, 99))
def test_the_model_stays_valid(dimension, rank, offset, constant, seed):
    random = np.random.default_rng(seed)
    rows = offset + (np.ones((70, dimension)) if constant else random.normal(size=(70, dimension)))
    chain = build({"dimension": dimension, "rank": rank})
    chain.learn([text(row, random.choice([-1, 1])) for row in rows])
    model = layer_of(chain).model
    assert 0 < model.noise < np.inf
    assert np.isfinite(model.loadings).all() and np.isfinite(chain.weights).all()


@pytest.mark.parametrize("warm_up", [4, 7])
@pytest.mark.parametrize("value", [1.0, 0.1])
def test_rows_that_never_vary_have_no_latent_features(value, warm_up):
    line = "|p " + " ".join(f"{j}:{value}" for j in range(DIMENSION))
    chain = build({"warm_up": warm_up}, below={"linear": {"loss": "squared"}})
    chain.learn([f"1 {line}"] * 40)
    assert np.isfinite(chain.weights).all()
    assert seen_below(chain, line)[1].tolist() == [1.0]  # the constant


def test_hashed_features_that_share_a_dimension_are_added():
    chain = build({"features": "hashed", "dimension": 1, "rank": 1})
    chain.learn([f"1 |p some:{i} other:{2 * i}" for i in range(1, 22)])
    assert layer_of(chain).model.mean == pytest.approx([3 * 10.5])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 |p 12:1", "example 21 of this run, namespace 'p': got a feature whose name is not a number from 0 to 11"),
        ("1 |p red:1", "not a number from 0 to 11; wanted one, a larger ppca.dimension, or other ppca.features"),
        ("1 |p 3:1e39", "example 21 of this run, namespace 'p': got the value inf"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*infinite number")  # the reader tells, too
def test_what_has_no_place_is_refused(line, message):
    chain = build()
    chain.learn(lines_of(make_rows(20)))
    before = {name: array.copy() for name, array in chain.arrays().items()}
    for use in (chain.learn, chain.predict):
        with pytest.raises(DataError, match=message):
            use([line])
    for name, array in chain.arrays().items():
        if name != "shared.testing":
            np.testing.assert_array_equal(array, before[name], err_msg=name)


@pytest.mark.parametrize(
    ("ppca", "frame", "message"),
    [
        ({}, {"input": {"hash": "all"}}, "ppca.features: input.hash 'all' hashes numbers, too"),
        ({"dimension": 1 << 17}, {}, "ppca.dimension: got 131072, wanted at most the table's 65536 rows"),
        ({"output": "p"}, {}, "ppca.output: got 'p', which the chain cannot tell from 'p'"),
        ({"output": "pca"}, {"input": {"namespaces": "letter"}}, "which the chain cannot tell from 'p'"),
        ({"exponent": 1.5}, {}, "exponent"),
        ({"block": 0}, {}, "block"),
    ],
)
def test_parameters_are_checked(ppca, frame, message):
    with pytest.raises(ConfigError, match=message):
        build(ppca, **frame)


def test_matrices_have_numbered_features():
    rows = make_rows().astype(np.float32)
    chains = [build(input={"columns": {"namespaces": {"p": "*"}}}) for _ in range(2)]
    for chain, matrix in zip(chains, (rows, csr_matrix(rows)), strict=True):
        chain.learn(matrix, labels=np.sign(rows[:, 0] - 3))
        assert layer_of(chain).samples == 110
        assert_same_model(layer_of(chain).model, twin(rows.astype(float), 3, 10))


def test_a_crowd_above_teaches_each_item_once():
    rows, random = make_rows(90), np.random.default_rng(0)
    lines = []
    for row in rows:
        lines += [f"{1 + (row[0] > 3)} |w w{random.integers(4)} {text(row)}" for _ in range(3)] + [""]
    above = [{"crowd_em": {"classes": 2, "worker": "w"}}]
    layers = [
        *above,
        {"ppca": {"namespace": "p", "dimension": DIMENSION, "rank": 3}},
        {"one_against_all": {"classes": 2}},
    ]
    chain = Chain.from_config({"chain": [*layers, {"linear": {"loss": "logistic"}}]})
    found = chain.learn(lines)
    assert layer_of(chain).samples + layer_of(chain).state["count"][0] == 90
    found = found[~np.isnan(found)][45:]
    assert np.mean(found == 1 + (rows[45:, 0] > 3)) > 0.95


def test_the_shipped_chain_builds():
    chain = Chain.from_config(Path(__file__).parents[3] / "configs" / "ppca.yaml")
    assert layer_of(chain).parameters.rank == 15


def test_it_needs_no_scipy():
    code = """if True:
        import sys
        sys.modules["scipy"] = None
        from hutch import Chain
        chain = Chain.from_config({"chain": [{"ppca": {"namespace": "p", "dimension": 3, "rank": 2}}, "linear"]})
        chain.learn([f"1 |p 0:{i} 1:{i * i % 7} 2:1" for i in range(1, 50)])
        print(chain.layers[0].samples)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "40", done.stderr


def test_it_wants_a_layer_below():
    with pytest.raises(ConfigError, match="wanted a base learner"):
        Chain.from_config({"chain": [{"ppca": {"namespace": "p", "dimension": 3}}]})
