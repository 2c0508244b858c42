"""Labels outside a chain's range: reported with place and number, and predicted as Vowpal Wabbit 9.11.9 does."""

import pytest

from hutch.core.errors import DataError
from hutch.vw.main import run

SIGNS = "1 |f a b\n0 |f b\n\n-1 |f c\n0 |f a\n1 |f c b\n"
ACTIONS = "0:1:0.5 |f a\n1:1:0.5 |f b\n3:0:0.5 |f a\n2:0.5:0.25 |f a b\n"
CLASSES = "1 |f a\n3 |f b\n4 |f a\n2 |f c\n4 |f c\n"


def report(folder, capsys, data, *options):
    """The average loss, the predictions, and the messages about labels."""
    path = folder / "data.vw"
    path.write_text(data)
    assert run(["-d", str(path), *options, "-p", str(folder / "p")]) == 0
    told = capsys.readouterr().err.replace(str(path), "data.vw").splitlines()
    loss = next(line for line in told if line.startswith("average loss"))
    return loss.split()[-1], (folder / "p").read_text().split(), [line for line in told if line.startswith("data.vw:")]


@pytest.mark.parametrize(
    ("data", "options", "loss", "predictions", "text"),
    [
        (SIGNS, "--binary", "0.632521", "-1 1 1 1 -1", "2: 2 labels such as 0: |, but learned|, wanted -1 or 1"),
        (
            SIGNS,
            "--loss_function hinge",
            "1.050232",
            "0 0.577350 0.288675 0.353743 0.037516",
            "2: 2 labels such as 0: |, but learned|, wanted -1 or 1",
        ),
        (
            SIGNS,
            "--loss_function logistic --binary",
            "0.883752",
            "-1 1 1 1 -1",
            "2: 2 labels such as 0: |, but learned|, wanted -1 or 1",
        ),
        (
            ACTIONS,
            "--cb 2",
            "2.000000",
            "0 0 1 1",
            "1: 2 actions such as 0: |, and learned|, wanted actions from 1 to 2",
        ),
        (
            ACTIONS,
            "--cb_explore 2",
            "1.475000",
            "0:0.5,1:0.5 0:0.5,1:0.5 1:0.975,0:0.025 1:0.975,0:0.025",
            "1: 2 actions such as 0: |, and learned|, wanted actions from 1 to 2",
        ),
        (
            CLASSES,
            "--oaa 3",
            "0.800000",
            "1 1 1 1 2",
            "3: 2 labels such as 4: |, but learned|, wanted classes from 1 to 3",
        ),
        (
            CLASSES,
            "--ect 3",
            "0.800000",
            "1 1 1 1 2",
            "3: 2 labels such as 4: |, but learned|, wanted classes from 1 to 3",
        ),
        (
            CLASSES,
            "--cbify 3",
            "0.800000",
            "2 3 1 3 1",
            "3: 2 labels such as 4: |, but learned|, wanted classes from 1 to 3",
        ),
    ],
)
def test_labels_that_the_chain_is_not_made_for(data, options, loss, predictions, text, tmp_path, capsys):
    what, learned, wanted = text.split("|")
    learned += " from them all the same" if "but" in learned else " nothing from them"
    line, rest = what.split(":", 1)
    told = f"data.vw:{line}:1:{rest}this chain is not made for them{learned}{wanted}"
    assert report(tmp_path, capsys, data, *options.split()) == (loss, predictions.split(), [told])


def test_labels_0_and_1_under_logistic_loss(tmp_path, capsys):
    _, _, told = report(tmp_path, capsys, SIGNS.replace("-1 ", "1 "), "--loss_function", "logistic")
    assert told == [
        "data.vw:2:1: labels go from 0 to 1, 2 of them are 0: logistic loss takes 0 for as likely as not, "
        "wanted -1 and 1, or loss: {logistic: {lower: 0}}, which is --logistic_min 0 of Vowpal Wabbit"
    ]
    assert not report(
        tmp_path, capsys, SIGNS.replace("-1 ", "1 "), "--loss_function", "logistic", "--logistic_min", "0"
    )[2]


def test_nothing_is_learned_in_a_test(tmp_path, capsys):
    _, _, told = report(tmp_path, capsys, SIGNS, "--binary", "-t")
    assert told == ["data.vw:2:1: 2 labels such as 0: this chain is not made for them, wanted -1 or 1"]


def test_an_action_that_there_is_not_is_no_label(tmp_path, capsys):
    (tmp_path / "data.vw").write_text(ACTIONS)
    run(["-d", str(tmp_path / "data.vw"), "--cb", "2", "-P", "1"])
    rows = [line.split() for line in capsys.readouterr().err.splitlines() if line[:1].isdigit() or line[:4] == "n.a."]
    assert [(row[0], row[4]) for row in rows] == [
        ("n.a.", "unknown"),
        ("2.000000", "0:1:0.5"),
        ("2.000000", "unknown"),
        ("2.000000", "1:0.5:0.25"),
    ]


def test_the_place_is_right_far_into_a_file(tmp_path, capsys):
    lines = [f"{k % 3 + 1} |f a{k % 50} b{k}" + "\n" * (k % 7 == 0) for k in range(60_000)]
    lines[55_000] = "9 |f a"
    text = "\n".join(lines) + "\n"
    _, _, told = report(tmp_path, capsys, text, "--oaa", "3")
    place = text[: text.index("9 |f a\n")].count("\n") + 1
    assert told[0].startswith(f"data.vw:{place}:1: label 9: this chain is not made for it")


def test_a_class_without_a_name_is_reported_and_left_out(tmp_path, capsys):
    data = "a |f x\nb |f y\ncat 2 tag|f x\na |f z\n"
    names = ["--oaa", "3", "--named_labels", "a,b,c"]
    loss, predictions, told = report(tmp_path, capsys, data, *names)
    text = "data.vw:3:1: unknown class: the label counts as not given, got 'cat', wanted one of --named_labels"
    assert (loss, predictions, told) == ("0.333333", ["a", "a", "a", "tag", "a"], [text])
    with pytest.raises(DataError, match="unknown class"):
        report(tmp_path, capsys, data, *names, "--strict_parse")
    costs = "a:1 b:0 |f x\ncat:1 b:0 |f y\n"
    _, predictions, told = report(tmp_path, capsys, costs, "--csoaa", "3", "--named_labels", "a,b,c")
    assert predictions == ["a", "b"] and told == [text.replace("3:1", "2:1")]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (
            "0:1 1:0 |f x\n5:1 2:0 |f y\n1:0 9:1 |f x\n",
            "2 classes of labels taken for 0, as in Vowpal Wabbit, wanted 0 to 2",
        ),
        ("3:1 1:0 |f x\n5:1 2:0 |f y\n", "1 class of labels taken for 3, as in Vowpal Wabbit, wanted 1 to 3"),
    ],
)
def test_costs_of_classes_that_there_are_not(data, text, tmp_path, capsys):
    (tmp_path / "data.vw").write_text(data)
    run(["-d", str(tmp_path / "data.vw"), "--csoaa", "3"])
    assert f"cost_sensitive_one_against_all: {text}" in capsys.readouterr().err.splitlines()
