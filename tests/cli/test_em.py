import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hutch.core.chain.model_file import load_model
from hutch.core.errors import ConfigError, DataError, HutchError, ModelError, UsageError
from hutch.em.cli import app
from hutch.em.ppca.model import closed_form, transform
from hutch.shell.declared import as_app


@pytest.fixture
def data(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    centres = 4 * random.normal(size=(3, 6))
    rows = np.concatenate([c + random.normal(size=(80, 2)) @ random.normal(size=(2, 6)) for c in centres])
    rows += 0.2 * random.normal(size=rows.shape)
    np.savez(tmp_path / "data.npz", X=rows, y=np.repeat([0, 1, 2], 80))
    return tmp_path / "data.npz"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(as_app(app, "em"), [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def fails(error: type[HutchError], *arguments: object) -> str:
    with pytest.raises(error) as raised:
        CliRunner().invoke(as_app(app, "em"), [str(argument) for argument in arguments], catch_exceptions=False)
    return str(raised.value)


def test_fit_reports_what_it_learned(data: Path) -> None:
    report = json.loads(run("fit", data, "--rank", 3, "--json"))
    assert report["samples"] == 240 and report["dimension"] == 6 and report["rank"] == 3
    rows = np.load(data)["X"]
    from hutch.em.ppca.model import log_likelihood

    best = log_likelihood(rows, closed_form(rows, 3)).mean()
    assert best - 0.2 < report["log_likelihood"] <= best
    assert "log likelihood" in run("fit", data, "--rank", 3)


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--block", "1", "--sketch", "2"],
        ["--mode", "class", "--classes", "y", "--balanced"],
        ["--mode", "class", "--drift", "6"],
        ["--regularizer", "none", "--exponent", "0.7"],
        ["--regularizer", "nat_oem", "--beta", "3"],
        ["--regularizer", "nat_oem", "--mode", "class", "--classes", "y", "--form", "implicit", "--metric", "complete"],
        ["--missing"],
    ],
)
def test_every_form_fits(data: Path, options: list[str]) -> None:
    report = json.loads(run("fit", data, "--rank", 3, "--json", *options))
    assert np.isfinite(report["log_likelihood"])
    assert report["boundaries"] == (2 if "class" in options else 0)


def test_the_literal_form_reports_its_stability(data: Path) -> None:
    options = ["--regularizer", "nat_oem", "--form", "literal", "--json"]
    report = json.loads(run("fit", data, *options, "--beta", 0.01))
    assert 0 < report["stability"] <= 2
    assert "diverges" in fails(ConfigError, "fit", data, *options, "--beta", 1000)


def test_a_model_goes_on_where_it_stopped(data: Path, tmp_path: Path) -> None:
    rows = np.load(data)["X"]
    for name, part in {"a": rows[:100], "b": rows[100:]}.items():
        np.save(tmp_path / f"{name}.npy", part)
    np.save(tmp_path / "all.npy", rows)
    run("fit", tmp_path / "all.npy", "--rank", 2, "--block", 1, "-f", tmp_path / "whole")
    run("fit", tmp_path / "a.npy", "--rank", 2, "--block", 1, "-f", tmp_path / "half")
    run("fit", tmp_path / "b.npy", "-i", tmp_path / "half", "-f", tmp_path / "half")
    halves, whole = load_model(tmp_path / "half", kind="em"), load_model(tmp_path / "whole", kind="em")
    assert halves[1] == whole[1]
    assert all(np.array_equal(halves[0][name], value) for name, value in whole[0].items())
    message = fails(UsageError, "fit", tmp_path / "b.npy", "-i", tmp_path / "half", "--rank", 3)
    assert message.startswith("--rank: ")


def test_transform_gives_posterior_means(data: Path, tmp_path: Path) -> None:
    from hutch.em.fit import load
    from hutch.em.models import BUILT_IN

    run("fit", data, "--rank", 2, "-f", tmp_path / "model")
    learner, _ = load(tmp_path / "model", {entry.name: entry for entry in BUILT_IN})
    expected = transform(np.load(data)["X"], learner.parameters)
    run("transform", data, "-i", tmp_path / "model", "-p", tmp_path / "latent.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "latent.npy"), expected)
    report = run("transform", data, "-i", tmp_path / "model", "-p", tmp_path / "latent.csv", "--json")
    np.testing.assert_allclose(np.loadtxt(tmp_path / "latent.csv", delimiter=","), expected, rtol=1e-8)
    assert json.loads(report)["samples"] == 240
    printed = run("transform", data, "-i", tmp_path / "model")
    np.testing.assert_allclose(np.loadtxt(printed.splitlines(), delimiter=","), expected, rtol=1e-8)


def test_passes_and_held_out_rows(data: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "test.npy", np.load(data)["X"][::2])
    report = json.loads(run("fit", data, "--passes", 3, "--test", tmp_path / "test.npy", "--json"))
    assert report["samples"] == 720
    assert np.isfinite(report["test_log_likelihood"])


@pytest.mark.parametrize("regularizer", ["exact", "nat_oem"])
def test_passes_over_classes_are_one_pass_over_the_rows_repeated(data: Path, tmp_path: Path, regularizer: str) -> None:
    """The last class of a pass ends where the next pass begins with another."""
    with np.load(data) as found:
        np.savez(tmp_path / "three.npz", X=np.tile(found["X"], (3, 1)), y=np.tile(found["y"], 3))
    options = ["--rank", 2, "--regularizer", regularizer, "--mode", "class", "--classes", "y", "--json"]
    passes = json.loads(run("fit", data, *options, "--passes", 3, "-f", tmp_path / "passes"))
    once = json.loads(run("fit", tmp_path / "three.npz", *options, "-f", tmp_path / "once"))
    assert passes["boundaries"] == once["boundaries"] == 8
    arrays, wanted = (load_model(tmp_path / name, kind="em")[0] for name in ("passes", "once"))
    assert all(np.array_equal(arrays[name], value) for name, value in wanted.items())


@pytest.mark.parametrize("cut", [120, 160])  # within a class and between two
def test_a_class_ends_where_the_next_file_begins_with_another(data: Path, tmp_path: Path, cut: int) -> None:
    with np.load(data) as found:
        rows, names = found["X"], found["y"]
    np.savez(tmp_path / "a.npz", X=rows[:cut], y=names[:cut])
    np.savez(tmp_path / "b.npz", X=rows[cut:], y=names[cut:].astype(float))
    options = ["--rank", 2, "--mode", "class", "--classes", "y"]
    run("fit", data, *options, "-f", tmp_path / "once")
    run("fit", tmp_path / "a.npz", *options, "-f", tmp_path / "first")
    resumed = ["--classes", "y", "-i", tmp_path / "first", "-f", tmp_path / "second", "--json"]
    assert json.loads(run("fit", tmp_path / "b.npz", *resumed))["boundaries"] == 1
    if cut == 160:
        arrays, wanted = (load_model(tmp_path / name, kind="em")[0] for name in ("second", "once"))
        assert all(np.array_equal(arrays[name], value) for name, value in wanted.items())


@pytest.mark.parametrize(
    ("error", "options", "message"),
    [
        (ConfigError, ["--model", "pca"], "did you mean 'ppca'"),
        (ConfigError, ["--form", "kl"], "belongs to the regularizer nat_oem"),
        (ConfigError, ["--rank", "0"], "rank: got 0"),
        (UsageError, ["--mode", "class"], "--classes NAME or --drift"),
        (UsageError, ["--drift", "6"], "only --mode class"),
        (UsageError, ["--mode", "class", "--drift", "6", "--classes", "y"], "one source of boundaries"),
        (UsageError, ["--classes", "z"], "no array 'z'"),
        (HutchError, ["-f", "/nowhere/at/all"], "cannot be written"),
        (ModelError, ["-i", "/nowhere/at/all"], "cannot be read"),
    ],
)
def test_mistakes_are_explained(data: Path, error: type[HutchError], options: list[str], message: str) -> None:
    assert message in fails(error, "fit", data, *options)


def test_other_dimensions_and_missing_values_are_refused(data: Path, tmp_path: Path) -> None:
    rows = np.load(data)["X"]
    run("fit", data, "-f", tmp_path / "model")
    np.save(tmp_path / "narrow.npy", rows[:, :4])
    rows[7, 2] = np.nan
    np.save(tmp_path / "holes.npy", rows)
    assert "got 4 features, wanted 6" in fails(DataError, "fit", tmp_path / "narrow.npy", "-i", tmp_path / "model")
    assert "row 7, column 2" in fails(DataError, "fit", tmp_path / "holes.npy")
    run("fit", tmp_path / "holes.npy", "--missing")


def test_transform_asks_for_a_place_to_write(data: Path, tmp_path: Path) -> None:
    run("fit", data, "-f", tmp_path / "model")
    assert "-p FILE" in fails(UsageError, "transform", data, "-i", tmp_path / "model", "--json")
    assert "wanted .npy or .csv" in fails(UsageError, "transform", data, "-i", tmp_path / "model", "-p", "x.txt")


def test_help_needs_no_arrays() -> None:
    code = "import sys, hutch.em.cli, hutch.reproduce.cli.reproduce; print({'numpy', 'numba'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
