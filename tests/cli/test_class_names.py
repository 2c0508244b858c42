"""`hutch train` and `hutch predict` on tables whose labels are words."""

import pytest

CHAIN = """input:
  columns: {{label: churn, classes: [no, yes]}}
chain:
{layers}
"""
LAYERS = {
    "classes": "  - one_against_all: {classes: 2}\n  - linear: {loss: logistic}",
    "number": "  - linear: {loss: logistic}",
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=LAYERS)
def trained(request, tmp_path, hutch):
    (tmp_path / "people.csv").write_text("churn,city\n" + "yes,Oslo\nno,Rome\n" * 30)
    (tmp_path / "chain.yaml").write_text(CHAIN.format(layers=LAYERS[request.param]))
    assert hutch("train", "people.csv", "-C", "chain.yaml", "-f", "m", "--quiet").code == 0
    return request.param


def test_predictions_are_names(trained, hutch, tmp_path):
    hutch("predict", "people.csv", "-i", "m", "-p", "p", "--quiet")
    lines = (tmp_path / "p").read_text().split()
    if trained == "classes":
        assert lines == ["yes", "no"] * 30
    else:
        assert [float(line) > 0 for line in lines] == [True, False] * 30


def test_probabilities_carry_names(trained, hutch, tmp_path):
    hutch("predict", "people.csv", "-i", "m", "-p", "p", "--probabilities", "--quiet")
    no, yes = (tmp_path / "p").read_text().split("\n")[0].split()
    assert no.startswith("no:") and yes.startswith("yes:")
    assert float(yes[4:]) > 0.5 > float(no[3:])


def test_classes_that_count_from_0_have_no_names(hutch, tmp_path):
    (tmp_path / "people.csv").write_text("churn,city\nyes,Oslo\n")
    layers = "  - one_against_all: {classes: 2, first_class: 0}\n  - linear"
    (tmp_path / "chain.yaml").write_text(CHAIN.format(layers=layers))
    result = hutch("train", "people.csv", "-C", "chain.yaml")
    assert result.code == 2
    assert "columns.classes: classes with names count from 1, got a layer with first_class: 0" in result.err


def test_a_table_without_labels_says_how_to_name_their_column(hutch, tmp_path):
    (tmp_path / "people.csv").write_text("churn,city\nyes,Oslo\n")
    result = hutch("train", "people.csv", "--quiet")
    wanted = "no example had a label: nothing was learned; input.columns.label names the column of the labels\n"
    assert result.code == 0 and result.err == wanted


@pytest.mark.parametrize("layers", ["- explore_epsilon\n", "- action_per_class: {classes: 2}\n"])
def test_a_table_without_labels_is_no_decision_with_costs(layers, hutch, tmp_path):
    (tmp_path / "people.csv").write_text("churn,city\nyes,Oslo\n")
    bandit = "- contextual_bandit\n- cost_sensitive_with_features\n- linear\n"
    (tmp_path / "chain.yaml").write_text(f"chain:\n{layers}{bandit}")
    result = hutch("train", "people.csv", "-C", "chain.yaml")
    assert result.code == 0 and "unknown" in result.err and "no example had a label" in result.err
