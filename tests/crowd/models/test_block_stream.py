"""The online form that every model has: blocks of items, each with those before as its history."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hutch.core.errors import ModelError, UsageError
from hutch.crowd.aggregate import Options, aggregate, load, save
from hutch.crowd.models import block_stream
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.models.one_coin import OneCoin
from hutch.crowd.models.online import hash_workers, run, stream_of
from hutch.crowd.models.ordinal import Ordinal
from hutch.crowd.simulate import simulate

_spec = importlib.util.spec_from_file_location("simulated_ratings", Path(__file__).with_name("simulated_ratings.py"))
_ratings = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = _ratings
_spec.loader.exec_module(_ratings)
simulate_ratings = _ratings.simulate_ratings

SLOTS = 1 << 10
every_model = pytest.mark.parametrize("model", [DawidSkene(), OneCoin(), Ordinal()], ids=lambda model: model.name)


def crowd_for(model, items, seed):
    return (simulate_ratings if model.name == "ordinal" else simulate)(items, 60, 4, 5, seed=seed)


@every_model
def test_one_block_is_batch(model):
    labels = crowd_for(model, 300, seed=1).labels
    assert len(labels) < block_stream.FIRST
    online, batch = aggregate(labels, model, Options("online")), model.fit(labels)
    assert np.allclose(online.fit.posterior, model.infer(labels, batch.state).posterior)
    assert np.allclose(online.confusions, model.confusions(batch.state))
    assert np.allclose(online.class_prior, model.class_prior(batch.state))


@every_model
def test_online_is_close_to_batch(model):
    crowd = crowd_for(model, 4000, seed=5)
    online, batch = (aggregate(crowd.labels, model, Options(method)) for method in ("online", "batch"))
    assert accuracy(online.probability, crowd.truth) > accuracy(batch.probability, crowd.truth) - 0.02
    assert log_loss(online.probability, crowd.truth) < log_loss(batch.probability, crowd.truth) + 0.04
    assert accuracy(online.probability, crowd.truth) > accuracy(crowd.labels.vote_share(), crowd.truth) + 0.05


@every_model
@pytest.mark.parametrize("cuts", [(1, 2, 3), (1600, 1601, 2100), (700, 1400, 2100)])
def test_pieces_and_files_change_no_bit(model, cuts, tmp_path):
    labels = crowd_for(model, 3000, seed=2).labels
    names, options = labels.classes, Options("online", slots=SLOTS)
    whole = run(stream_of(model, names, SLOTS), labels, 1)
    state = None
    for begin, end in zip((0, *cuts), (*cuts, labels.items), strict=True):
        last = run(stream_of(model, names, SLOTS, state), labels.between(begin, end), 1)
        save(tmp_path / "crowd.model", model, options, last.state)
        _, state = load(tmp_path / "crowd.model")
        aggregate(labels.between(0, 1), model, replace(options, test=True), state)  # its shapes are checked
    for kind in ("workers", "shared"):
        for name, array in getattr(whole.state, kind).items():
            assert np.array_equal(array, getattr(state, kind)[name]), name
    assert np.array_equal(whole.posterior[cuts[-1] :], last.posterior)


def test_the_state_does_not_grow_with_the_labels():
    model, sizes = DawidSkene(), []
    for items in (2000, 8000):
        fit = run(stream_of(model, list("0123"), SLOTS), simulate(items, 60, 4, 5, seed=3).labels, 1)
        sizes.append(sum(array.nbytes for name, array in fit.state.workers.items()))
        assert len(fit.state.shared.get("pending", ())) < block_stream.BLOCK
    assert sizes[0] == sizes[1]


def test_gold_clamps_and_teaches_a_block():
    crowd = simulate(2000, 30, 3, 5, seed=4)
    gold = np.where(np.arange(2000) % 2, crowd.truth, -1).astype(np.int32)
    taught = replace(crowd.labels, gold=gold)
    plain, found = (aggregate(each, DawidSkene(), Options("online")) for each in (crowd.labels, taught))
    rest = np.where(gold < 0, crowd.truth, -1)
    assert (found.fit.posterior.argmax(axis=1) == crowd.truth)[gold >= 0].all()
    assert log_loss(found.probability, rest) < log_loss(plain.probability, rest)


def test_unknown_workers_are_the_population():
    labels = simulate_ratings(1500, 30, 4, 5, seed=1).labels
    stream = stream_of(Ordinal(), labels.classes, 1 << 16)
    run(stream, labels, 1)
    known, new = hash_workers([labels.worker_names[0]], 1 << 16), hash_workers(["new", "newer"], 1 << 16)
    rows = stream.confusions(np.concatenate([new, known]))
    assert np.array_equal(rows[0], rows[1])
    assert not np.allclose(rows[0], rows[2])


def test_labels_without_a_vote_and_second_passes():
    labels = simulate(20, 5, 3, 3, seed=1).labels
    nothing = labels.chosen(np.zeros(len(labels), np.bool_))
    fit = run(stream_of(OneCoin(), labels.classes, SLOTS), nothing, 1)
    assert np.allclose(fit.posterior, 1 / 3)
    with pytest.raises(UsageError, match="wanted 1 pass"):
        run(stream_of(OneCoin(), labels.classes, SLOTS), labels, 2)


@pytest.mark.parametrize("row", [[0, SLOTS, 0, -1], [0, 0, 3, -1], [0, 0, 0, 3], [0, 0.5, 0, -1], [-1, 0, 0, -1]])
def test_a_forged_block_is_refused(row):
    labels = simulate(20, 5, 3, 3, seed=1).labels
    state = run(stream_of(DawidSkene(), labels.classes, SLOTS), labels, 1).state
    state.shared["pending"] = np.array([row], np.float64)
    with pytest.raises(ModelError, match="pending"):
        stream_of(DawidSkene(), labels.classes, SLOTS, state)
