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
    wanted = "no example had a label: nothing was learned; --label COLUMN names the column of the labels\n"
    assert result.code == 1 and result.err == wanted


@pytest.mark.parametrize("names", ["no,yes", "yes, no,maybe"])
def test_labels_and_classes_are_named_on_the_command_line(hutch, tmp_path, names):
    (tmp_path / "people.csv").write_text("churn,city\n" + "yes,Oslo\nno,Rome\n" * 30)
    given = ("--label", "churn", "--classes", names, "--quiet")
    assert hutch("train", "people.csv", *given, "-f", "m").code == 0
    assert hutch("predict", "people.csv", "-i", "m", "--quiet").out.split() == ["yes", "no"] * 30
    chances = hutch("predict", "people.csv", "-i", "m", "--quiet", "--probabilities").out.split("\n")[0]
    assert [each.split(":")[0] for each in chances.split()] == [name.strip() for name in names.split(",")]
    (tmp_path / "chain.yaml").write_text("chain: [{linear: {loss: hinge}}]\n")
    result = hutch("train", "people.csv", "-C", "chain.yaml", *given, "-f", "n")
    assert result.code == (0 if names == "no,yes" else 2)
    assert hutch("train", "people.csv", *given, "--loss_function", "hinge", "-f", "h").code == 0
    assert hutch("predict", "people.csv", "-i", "h", "--quiet").out.split() == ["yes", "no"] * 30


def test_a_label_column_of_numbers_is_named_on_the_command_line(hutch, tmp_path):
    (tmp_path / "people.csv").write_text("n,label,city\n" + "1,5,Oslo\n-1,6,Rome\n" * 30)
    assert hutch("train", "people.csv", "--label", "n", "--quiet", "-f", "m").code == 0
    predictions = [float(line) for line in hutch("predict", "people.csv", "-i", "m", "--quiet").out.split()]
    assert [value > 0 for value in predictions] == [True, False] * 30
    result = hutch("train", "people.csv", "--label", "m", "--quiet")
    assert result.code == 2 and result.err.startswith("people.csv: columns.label: no column 'm'; valid: city, label, n")


def test_words_as_labels_say_which_option_names_them(hutch, tmp_path):
    (tmp_path / "people.csv").write_text("churn,city\nyes,Oslo\nno,Rome\n")
    result = hutch("train", "people.csv", "--label", "churn", "--quiet")
    assert result.code == 1
    assert result.err.startswith(
        "people.csv:2: column 'churn' (label): got 'yes', wanted a number, or names of classes"
    )
    assert result.err.endswith("under columns.classes (--classes no,yes)\n")


@pytest.mark.parametrize("option", ["--label", "--classes"])
def test_lines_have_no_column_of_labels(hutch, tmp_path, option):
    (tmp_path / "a.vw").write_text("1 | a\n")
    result = hutch("train", "a.vw", option, "a,b")
    assert result.code == 2 and result.err.startswith(
        f"{option}: got it with a.vw, wanted a table: a name that ends in"
    )


@pytest.mark.parametrize(
    ("layers", "code", "message"),
    [
        ("- explore_epsilon\n", 2, "got the columns churn, city, wanted columns of action and reward and probability"),
        ("- action_per_class: {classes: 2}\n", 1, "no example had a label"),
    ],
)
def test_a_table_without_labels_is_no_decision_with_costs(layers, code, message, hutch, tmp_path):
    (tmp_path / "people.csv").write_text("churn,city\nyes,Oslo\n")
    bandit = "- contextual_bandit\n- cost_sensitive_with_features\n- linear\n"
    (tmp_path / "chain.yaml").write_text(f"chain:\n{layers}{bandit}")
    result = hutch("train", "people.csv", "-C", "chain.yaml")
    assert result.code == code and message in result.err
