import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch.core.chain.model_file import load_model, save_model
from hutch.core.errors import ConfigError, ModelError
from hutch.em.base.learner import Learner
from hutch.em.base.model import Array, Model
from hutch.em.fit import Settings, create, find, load, save
from hutch.em.models import BUILT_IN, ModelEntry
from hutch.plugins.manager import Plugins

ENTRIES = {entry.name: entry for entry in BUILT_IN}


@dataclass(frozen=True)
class Mean:
    """Parameters of the stranger's model below."""

    value: Array


class Average(Model[Mean]):
    """A model without latent variables: its statistics are the rows' mean."""

    def statistics(self, batch: Array, parameters: Mean) -> Array:
        return batch.mean(axis=0)

    def maximise(self, statistics: Array) -> Mean:
        return Mean(statistics.copy())

    def log_likelihood(self, batch: Array, parameters: Mean) -> Array:
        return -((batch - parameters.value) ** 2).sum(axis=1)

    def expected_statistics(self, parameters: Mean) -> Array:
        return parameters.value.copy()

    def constants(self) -> dict[str, Any]:
        return {}


STRANGER = ModelEntry(
    "average",
    lambda rows, rank, seed, missing: (Average(), Mean(rows[0].astype(np.float64))),
    Mean,
    lambda constants: Average(),
    "The mean of the rows.",
)


def rows_of(count: int = 90) -> Array:
    random = np.random.default_rng(0)
    return random.normal(size=(count, 2)) @ random.normal(size=(2, 5)) + 0.3 * random.normal(size=(count, 5))


SETTINGS = [
    {},
    {"block": 1, "sketch": 2},
    {"mode": "class", "balanced": True, "past": 0.5},
    {"missing": True},
    {"missing": True, "regularizer": "none"},
    {"regularizer": "none", "block": 8},
    {"regularizer": "nat_oem", "mode": "class", "beta": 2.0},
    {"regularizer": "nat_oem", "form": "implicit", "metric": "complete", "exponent": 0.8, "scale": 0.5},
    {"regularizer": "nat_oem", "form": "literal", "beta": 0.01},
    {"model": "average", "regularizer": "none"},
    {"model": "average", "regularizer": "nat_oem", "mode": "step"},
]


def learn(learner: Learner[Any], rows: Array) -> None:
    for part in np.split(rows, 2):
        learner.learn(part)
        learner.boundary()


@pytest.mark.parametrize("options", SETTINGS)
def test_a_model_file_goes_on_bit_for_bit(tmp_path: Path, options: dict[str, Any]) -> None:
    entries = ENTRIES | {"average": STRANGER}
    settings, rows = Settings(rank=2, **options), rows_of()
    if settings.missing:
        rows[::4, 1] = np.nan
    learner = create(settings, rows[:20], entries[settings.model])
    learn(learner, rows[:60])
    save(tmp_path / "model", learner, settings, {"samples": 60})
    again, same = load(tmp_path / "model", entries)
    assert same == settings
    for each in (learner, again):
        learn(each, rows[60:])
    assert again.samples == 90
    for name, value in learner.state().items():
        np.testing.assert_array_equal(again.state()[name], value)
    np.testing.assert_array_equal(again.log_likelihood(rows), learner.log_likelihood(rows))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regularizer": "natoem"}, "did you mean 'nat_oem'"),
        ({"mode": "clas"}, "did you mean 'class'"),
        ({"form": "kl"}, "form: .* belongs to the regularizer nat_oem"),
        ({"regularizer": "none", "beta": 1.0}, "beta"),
        ({"regularizer": "none", "mode": "step"}, "mode"),
        ({"past": 0.5}, "past: .* exact in class mode"),
        ({"mode": "class", "sketch": 2}, "sketch: .* exact in step mode"),
        ({"mode": "class", "exponent": 0.9}, "exponent"),
        ({"missing": True, "mode": "class"}, "missing: exact in class mode takes no missing values"),
        ({"regularizer": "nat_oem", "balanced": True}, "balanced"),
    ],
)
def test_settings_that_would_do_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Settings(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "average"}, "exact is ppca's"),
        ({"model": "average", "regularizer": "nat_oem", "form": "literal"}, "Average has none; use kl"),
        ({"rank": 0}, "rank"),
        ({"regularizer": "nat_oem", "beta": -1.0}, "beta"),
    ],
)
def test_what_a_model_cannot_do_is_refused(options: dict[str, Any], message: str) -> None:
    settings = Settings(**options)
    with pytest.raises(ConfigError, match=message):
        create(settings, rows_of(20), STRANGER if settings.model == "average" else ENTRIES["ppca"])


def test_a_model_that_is_not_installed_is_named(tmp_path: Path) -> None:
    settings = Settings("average", regularizer="none")
    save(tmp_path / "model", create(settings, rows_of(20), STRANGER), settings, {})
    with pytest.raises(ConfigError, match="model: got 'average'; valid: ppca"):
        load(tmp_path / "model", ENTRIES)
    with pytest.raises(ConfigError, match="did you mean 'ppca'"):
        find("pca", ENTRIES)


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"nothing of the kind")
    with pytest.raises(ModelError):
        load(tmp_path / "model", ENTRIES)


def test_built_in_models_come_through_the_hook() -> None:
    assert tuple(Plugins(third_parties=False).registry.em_models.values()) == BUILT_IN


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model.rank": np.int64(65536)}, "model.rank: got 65536, wanted 2, as its settings say"),
        ({"state.current.mean": np.zeros(1 << 22)}, r"state.current.mean: got shape \(4194304,\), but the file holds"),
    ],
)
def test_a_forged_size_is_refused_before_it_is_made(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    learner = create(Settings(rank=2, regularizer="nat_oem"), rows_of(20), ENTRIES["ppca"])
    learn(learner, rows_of(60))
    save(tmp_path / "model", learner, Settings(rank=2, regularizer="nat_oem"), {"samples": 60})
    arrays, metadata = load_model(tmp_path / "model", kind="em")
    save_model(tmp_path / "model", arrays | change, metadata, kind="em")
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match=message):
            load(tmp_path / "model", ENTRIES)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
