import numpy as np
import pytest

from hutch.core.errors import ModelError, UsageError
from hutch.crowd.aggregate import Options, aggregate, load, save
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.simulate import simulate
from hutch.crowd.table import EXCHANGEABLE, create

MODELS = {model.name: model for model in EXCHANGEABLE}
RUNS = [(name, "batch") for name in MODELS] + [("two_level", "online"), ("nominal", "online")]


@pytest.mark.parametrize(("name", "method"), RUNS)
def test_a_saved_model_continues_as_if_it_had_stayed(tmp_path, name, method):
    model, options = create(name, MODELS), Options(method, slots=64)
    labels = simulate(200, 20, 3, 4, seed=1).labels
    first = aggregate(labels, model, options)
    path = str(tmp_path / "model")
    save(path, model, options, first.fit.state)
    metadata, state = load(path)
    assert (metadata["model"], metadata["method"], metadata["slots"]) == (name, method, 64)
    assert create(name, MODELS, **metadata["parameters"]).parameters == model.parameters
    assert (state.classes, state.worker_names) == (first.fit.state.classes, first.fit.state.worker_names)
    kept, stayed = (aggregate(labels, model, options, s) for s in (state, first.fit.state))
    assert np.array_equal(kept.fit.posterior, stayed.fit.posterior)
    assert np.array_equal(kept.confusions, stayed.confusions)
    for kind in ("workers", "shared"):
        for key, array in getattr(stayed.fit.state, kind).items():
            assert np.array_equal(getattr(kept.fit.state, kind)[key], array), key


def test_odd_worker_names_survive(tmp_path):
    from hutch.crowd.data.labels import from_triples

    labels = from_triples([("a\nb", "t", "x"), ("ü\0ß", "t", "y"), ("", "t", "x")])
    result = aggregate(labels, TwoLevel())
    save(str(tmp_path / "model"), TwoLevel(), Options(), result.fit.state)
    assert load(str(tmp_path / "model"))[1].worker_names == labels.worker_names


def test_what_is_no_crowd_model_is_refused(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"rubbish")
    with pytest.raises(ModelError, match="model"):
        load(str(path))


def test_testing_needs_a_model():
    with pytest.raises(UsageError, match="needs a saved model"):
        aggregate(simulate(5, 2, 2, 1).labels, TwoLevel(), Options(test=True))


def test_posteriors_are_calibrated_unless_told():
    labels = simulate(100, 10, 3, 5, seed=2).labels
    assert np.array_equal(
        aggregate(labels, TwoLevel(rho=0)).probability, aggregate(labels, TwoLevel(rho=0)).fit.posterior
    )
    assert aggregate(labels, TwoLevel()).probability.max() <= 0.95 + 0.05 / 3
