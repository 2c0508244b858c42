"""Online EM's models over shards of rows: the closed form of PPCA, batch EM of every model, on every engine."""

import json

import numpy as np
import pytest
from distributed_tasks import POISSON
from typer.testing import CliRunner

from hutch.core.errors import DataError, UsageError
from hutch.em.cli import app
from hutch.em.fit import Settings, load
from hutch.em.models import BUILT_IN
from hutch.em.ppca.model import PPCA, closed_form, log_likelihood
from hutch.em.sharded import em, mean_log_likelihood
from hutch.jobs.engine import Here
from hutch.jobs.processes import Processes
from hutch.shell.declared import as_app

ENTRIES = {entry.name: entry for entry in BUILT_IN}


@pytest.fixture(scope="module")
def rows():
    """A signal of rank 5 in 30 dimensions, whose last axes are near the noise."""
    random = np.random.default_rng(0)
    lengths = np.array([4.0, 3.0, 2.0, 1.2, 0.8])
    mixed = random.normal(size=(6000, 5)) * lengths @ np.linalg.qr(random.normal(size=(30, 5)))[0].T
    return mixed + 0.7 * random.normal(size=(6000, 30)) + random.normal(size=30)


def batch_em(rows, model, *, tolerance, iterations):
    """EM on all rows until the mean log-likelihood changes by less than the tolerance, in nats."""
    parameters, before = model.start(0), -np.inf
    for _ in range(iterations):
        parameters = model.maximise(model.statistics(rows, parameters))
        now = float(model.log_likelihood(rows, parameters).mean())
        if now - before < tolerance:
            break
        before = now
    return parameters


def gap(rows, parameters, rank):
    """Nats per row that the closed form is ahead."""
    return float((log_likelihood(rows, closed_form(rows, rank)) - log_likelihood(rows, parameters)).mean())


@pytest.mark.parametrize("shards", [1, 4, 16])
def test_merged_sketches_are_the_closed_form(rows, shards):
    learner = em(rows, Settings(rank=5), shards=shards)
    assert learner.samples == len(rows)
    assert 0 <= gap(rows, learner.parameters, 5) < 1e-3


def test_shards_need_more_than_the_rank(rows):
    """Shards whose rows have different axes: what a sketch of the rank alone cuts off is missing in the merge."""
    random = np.random.default_rng(1)
    axes = np.linalg.qr(random.normal(size=(30, 12)))[0].T
    parts = [random.normal(size=(500, 3)) @ axes[3 * k : 3 * k + 3] * 2 for k in range(4)]
    whole = np.concatenate(parts) + 0.5 * random.normal(size=(2000, 30))
    lost = [gap(whole, em(whole, Settings(rank=6, sketch=sketch), shards=4).parameters, 6) for sketch in (1, 2)]
    assert 0 <= lost[1] < 0.3 * lost[0]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("shards", [1, 4, 16])
def test_sums_of_statistics_are_batch_em(rows, shards, missing):
    some = rows[:900].copy()
    if missing:
        some[np.random.default_rng(2).random(some.shape) < 0.1] = np.nan
    settings = Settings(rank=3, regularizer="none", missing=missing)
    learner = em(some, settings, shards=shards, tolerance=1e-4, iterations=40)
    model = PPCA.of(some[:100], 3, missing=missing)
    want = batch_em(some, model, tolerance=1e-4, iterations=40)
    for name in ("mean", "loadings", "noise"):
        assert np.allclose(getattr(learner.parameters, name), getattr(want, name), rtol=0, atol=1e-9)
    again = learner.model.maximise(learner.state()["statistics"])  # a stream goes on from these
    assert np.array_equal(again.loadings, learner.parameters.loadings)


def test_batch_em_reaches_the_closed_form(rows):
    learner = em(rows[:2000], Settings(rank=5, regularizer="none"), shards=16)
    assert abs(gap(rows[:2000], learner.parameters, 5)) < 1e-3


@pytest.mark.parametrize("regularizer", ["exact", "none"])
def test_every_engine_gives_the_same_bits(rows, regularizer, tmp_path):
    np.save(tmp_path / "a.npy", rows[:700])
    np.savez(tmp_path / "b.npz", X=rows[700:703])  # fewer rows than shards
    files = [tmp_path / "*.np?"]
    settings = Settings(rank=4, regularizer=regularizer)
    with Processes(2) as processes:
        states = [em(files, settings, shards=5, engine=e, iterations=9).state() for e in (Here(), processes)]
        learner = em(files, settings, shards=5, iterations=9)
        scores = [mean_log_likelihood(learner, files, engine) for engine in (Here(), processes)]
    assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0])
    assert scores[0] == scores[1] == pytest.approx(learner.log_likelihood(rows[:703]).mean(), abs=1e-12)


def test_a_plugins_model_takes_part():
    counts = np.random.default_rng(3).poisson([1.0, 5.0, 9.0], (300, 3)).astype(float)
    with Processes(2) as engine:
        settings = Settings(model="poisson", regularizer="none")
        learner = em(counts, settings, shards=4, entries={"poisson": POISSON}, engine=engine)
    assert np.allclose(learner.parameters.value, counts.mean(axis=0))


def run(*arguments):
    return CliRunner().invoke(as_app(app, "em"), [str(argument) for argument in arguments], catch_exceptions=False)


def test_the_command_fits_shards(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for k in range(3):
        np.save(f"part{k}.npy", rows[k * 500 : k * 500 + 500])
    np.save("test.npy", rows[1500:1700])
    options = ["--rank", 5, "--shards", 4, "-f", "model", "--test", "test.npy", "--json"]
    found = json.loads(run("fit", "part*.npy", *options).stdout)
    assert (found["shards"], found["samples"]) == (4, 1500)
    learner, settings = load("model", ENTRIES)
    assert settings.sketch == 2 and learner.samples == 1500
    want = em(["part*.npy"], settings, shards=4).parameters
    assert np.array_equal(learner.parameters.loadings, want.loadings)
    assert found["log_likelihood"] == pytest.approx(log_likelihood(rows[:1500], want).mean(), abs=1e-9)
    assert found["test_log_likelihood"] == pytest.approx(log_likelihood(rows[1500:1700], want).mean(), abs=1e-9)
    assert "2000" in run("fit", "part0.npy", "-i", "model").stdout  # a stream goes on


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shards", 2, "--regularizer", "nat_oem"], "regularizer: nat_oem holds a stream to its past"),
        (["--shards", 2, "--mode", "class", "--classes", "y"], "mode: class holds a stream to its past"),
        (["--shards", 2, "--exponent", 0.9], "exponent: is for streams"),
        (["--shards", 2, "--regularizer", "none", "--block", 3], "block: is for streams"),
        (["--shards", 2, "--passes", 2], "--passes: cannot be combined with --shards"),
        (["--ray", "local"], "--ray: needs --shards N"),
    ],
)
def test_what_shards_cannot_do_is_refused(options, message, rows, tmp_path):
    np.save(tmp_path / "rows.npy", rows[:20])
    with pytest.raises(UsageError, match=message):
        run("fit", tmp_path / "rows.npy", *options)


def test_wrong_data_is_named(rows, tmp_path):
    np.save(tmp_path / "a.npy", rows[:20])
    np.save(tmp_path / "b.npy", rows[:20, :7])
    with pytest.raises(DataError, match=r"b.npy: got 7 features, wanted 30 as in .*a.npy"):
        em([tmp_path / "a.npy", tmp_path / "b.npy"], shards=2)
    with pytest.raises(DataError, match="matches no file"):
        em([tmp_path / "*.none"], shards=2)
    with pytest.raises(UsageError, match="shards: got 0"):
        em(rows, shards=0)
    with pytest.raises(UsageError, match="iterations"):
        em(rows, shards=1, iterations=0)
