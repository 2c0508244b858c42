"""`--all-judges`: probabilities that are insured without gold, and a panel that gold teaches."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from hutch.core.errors import ConfigError, HutchError, UsageError
from hutch.crowd.cli.crowd import crowd
from hutch.shell.declared import as_app

app = as_app(crowd, "crowd")


def invoke(*args):
    """The summary of the command; a HutchError is raised as it is."""
    result = CliRunner().invoke(app, [str(arg) for arg in (*args, "--json", "--quiet")])
    if isinstance(result.exception, HutchError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Five judges, all of whom misread a third of 300 tasks; gold of 60, and the truth of all."""
    folder, random = tmp_path_factory.mktemp("judges"), np.random.default_rng(0)
    truth = random.integers(2, size=300)
    seen = np.where(random.random(300) < 0.33, 1 - truth, truth)
    rows = [
        f"judge{j}\tt{i}\t{'ab'[seen[i] if random.random() < 0.95 else 1 - seen[i]]}"
        for i in range(300)
        for j in range(5)
    ]
    true = [f"t{i}\t{'ab'[k]}" for i, k in enumerate(truth.tolist())]
    for name, lines in (("labels", rows), ("gold", true[:60]), ("truth", true)):
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    return folder


def test_probabilities_cost_no_more_than_equal_shares(files):
    score = ("--score", files / "truth.tsv")
    people = invoke(files / "labels.tsv", *score)["score"]
    judges = invoke(files / "labels.tsv", "--all-judges", *score)["score"]
    bolder = invoke(files / "labels.tsv", "--all-judges", "--least-accuracy", "0.65", *score)["score"]
    assert people["log_loss"] > 1 > np.log(2) > judges["log_loss"] > bolder["log_loss"]
    assert people["accuracy"] == judges["accuracy"] == bolder["accuracy"]


def test_gold_in_a_file_or_in_a_column_teaches_the_panel(files, tmp_path):
    found = invoke(files / "labels.tsv", "--all-judges", "--gold", files / "gold.tsv", "--score", files / "truth.tsv")
    assert found["model"] == "mixed" and found["score"]["log_loss"] < np.log(2)
    gold = dict(line.split("\t") for line in (files / "gold.tsv").read_text().splitlines())
    rows = [line.split("\t") for line in (files / "labels.tsv").read_text().splitlines()]
    path = tmp_path / "labels.csv"
    path.write_text("worker,task,label,gold\n" + "".join(f"{w},{t},{k},{gold.get(t, '')}\n" for w, t, k in rows))
    inside = invoke(path, "--all-judges", "--score", files / "truth.tsv")
    assert inside["model"] == "mixed" and inside["gold"] == 60


def test_a_saved_panel_is_used_on_other_tasks(files, tmp_path):
    lines = (files / "labels.tsv").read_text().splitlines()
    first, later = tmp_path / "first.tsv", tmp_path / "later.tsv"
    first.write_text("\n".join(lines[:750]) + "\n")
    later.write_text("\n".join(lines[750:]) + "\n")
    invoke(first, "--all-judges", "--gold", files / "gold.tsv", "-f", tmp_path / "model")
    found = invoke(later, "-i", tmp_path / "model", "-t", "--score", files / "truth.tsv")
    assert found["score"]["log_loss"] < np.log(2)


def test_a_share_needs_judges(files):
    with pytest.raises(UsageError, match="--least-accuracy: needs --all-judges"):
        invoke(files / "labels.tsv", "--least-accuracy", "0.6")
    with pytest.raises(ConfigError, match="least_accuracy"):
        invoke(files / "labels.tsv", "--all-judges", "--least-accuracy", "1.5")


def test_the_summary_says_what_the_panel_is_worth(files):
    alone = invoke(files / "labels.tsv", "--all-judges")["panel"]
    assert alone["judges"] == 5 and alone["votes"] < 1 and alone["gold"] == 0
    taught = invoke(files / "labels.tsv", "--all-judges", "--gold", files / "gold.tsv")["panel"]
    assert taught["gold"] == 60 and taught["low"] < taught["closed"] < taught["high"]
    text = CliRunner().invoke(app, [str(files / "labels.tsv"), "--all-judges", "--quiet"]).stdout
    assert "5 judges count as" in text and "50 labels by people would tell" in text


def test_gold_of_one_class_is_told(files, tmp_path):
    gold = tmp_path / "gold.tsv"
    lines = (files / "gold.tsv").read_text().splitlines()
    gold.write_text("\n".join(line for line in lines if line.endswith("a")) + "\n")
    found = CliRunner().invoke(app, [str(files / "labels.tsv"), "--all-judges", "--gold", str(gold)])
    assert "all gold is 'a': gold that is not drawn at random misleads the panel" in found.stderr
