"""Names of features in decisions of several slots, counts of decisions, and CSV."""

import json

import numpy as np
import pytest

from hutch.core.errors import DataError, UsageError
from hutch.vw.main import run

SLOTS = """ccb shared |u s=a
ccb action |a x=1
ccb action |a y
ccb slot 0:0.5:0.8,1:0.2 |sl p
ccb slot 1:0.3:1.0 | q

"""
NAMES = {  # as VW 9.11.9 writes them with --invert_hash, the constant aside
    "a^x=1:58201", "a^y:42847", "u^s=a:226796", "sl^p:66449", "q:133608", "q*_ccb_slot_index^index1:129889",
    "_ccb_slot_index^index0:68306", "_ccb_slot_index^index1:25433",
    "a^x=1*_ccb_slot_index^index0:61385", "sl^p*_ccb_slot_index^index0:104337",
    "u^s=a*_ccb_slot_index^index0:239702", "a^y*_ccb_slot_index^index1:203220", "u^s=a*_ccb_slot_index^index1:180701",
}  # fmt: skip
DECISIONS = "0:2:0.5 |a x\n|a y\n\n|a x\n1:0:0.25 |a y\n|a z\n\n|a x\n|a y\n\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_slots_have_names(here, capsys):
    (here / "slots.vw").write_text(SLOTS)
    run("-d slots.vw --ccb_explore_adf --invert_hash names.txt --audit --quiet".split())
    lines = (here / "names.txt").read_text().splitlines()
    found = {
        line.rpartition(":")[0] for line in lines if line.count(":") == 2 and not line.startswith(("Constant", "sd:"))
    }
    assert found == NAMES
    printed = [line for line in capsys.readouterr().out.splitlines() if line]
    assert len(printed) == 4  # two actions for each of two slots
    assert all(f"_ccb_slot_index^index{k // 2}:" in line for k, line in enumerate(printed))


def test_classes_are_actions_with_names(here, capsys):
    """The numbers are those that VW 9.11.9 prints; the draws of `--cbify` are those of a run without `--audit`."""
    (here / "log.vw").write_text("1:1:0.5 |u ann |v b:2\n2:0:0.25 't|u bob |v b\n")
    run("-d log.vw --cb 2 --audit --invert_hash names.txt --quiet".split())
    assert capsys.readouterr().out.splitlines() == [
        "0",
        "\tu^ann:111312:1:0@0\tv^b:119328:2:0@0\tConstant:116060:1:0@0",
        "0",
        "\tu^ann:111313:1:0@0\tv^b:119329:2:0@0\tConstant:116061:1:0@0",
        "0.289690 t",
        "\tConstant:116060:1:0.193127@4\tv^b:119328:1:0.0965633@16\tu^bob:223124:1:0@0",
        "0 t",
        "\tu^bob:223125:1:0@0\tv^b:119329:1:0@0\tConstant:116061:1:0@0",
    ]
    assert "u^ann:111312:0.193127 4 1" in (here / "names.txt").read_text()
    (here / "classes.vw").write_text("".join(f"{k % 3 + 1} |u a{k % 4} |v b{k % 3}\n" for k in range(40)))
    for more, name in (("", "plain"), ("--audit --invert_hash names.txt", "shown")):
        run(f"-d classes.vw --cbify 3 --epsilon 0.3 -q uv --readable_model {name} -p {name}.p --quiet {more}".split())
    assert (here / "plain.p").read_text() == (here / "shown.p").read_text()
    assert (here / "plain").read_text() == (here / "shown").read_text()


def test_decisions_are_counted(here):
    (here / "log.vw").write_text(DECISIONS)
    run("-d log.vw --cb_explore_adf --squarecb --extra_metrics counts.json --quiet".split())
    found = json.loads((here / "counts.json").read_text())
    assert found["number_of_examples"] == 3
    assert found["cb_explore_adf_squarecb"] == {
        "cbea_labeled_ex": 2,
        "cbea_label_first_action": 1,
        "cbea_label_not_first": 1,
        "cbea_non_zero_cost": 1,
        "cbea_min_actions": 2,
        "cbea_max_actions": 3,
        "cbea_avg_actions_per_event": 2,
        "cbea_sum_cost": 2.0,
        "cbea_sum_cost_baseline": 2.0,
    }


@pytest.mark.parametrize(
    ("options", "table", "text"),
    [
        ("", "_label,_tag,n|a,n|b,c\n1,t,0.5,red,\n-1,,,x y,3\n", "1 't|n a:0.5 b:red |\n-1 '|n b:x_y | c:3\n"),
        (r"--csv_separator \t", '_label\ta\n1\t"say ""a"""\n', '1 | a:say_"a"\n'),
        ("--csv_header _label,n|a --csv_ns_value n:2", "label,a\n0.5,4\n", "0.5 |n:2 a:4\n"),
        ("--csv_header a,_label --csv_no_file_header", "4,1\n5,2\n", "1 | a:4\n2 | a:5\n"),
        ("", "\ufeff_label,a b,a b,,\r\n1 2,3,,5,6\r\n,4,x,7,", "1 2 | a_b:3 :5 :6\n | a_b:4 a_b:x :7\n"),
        ("", f"a,_tag\n{'x' * 70},two words\n", f" 'two_words| a:{'x' * 70}\n"),
        ("", '_label,_tag,a\n1,"two\nlines",3\n', "1 'two_lines| a:3\n"),
        ("", "_label,_tag\n1,a\n", "1 'a|\n"),
        ("--passes 3 -k --cache", "_label,a\n1,2\n-1,3\n", "1 | a:2\n-1 | a:3\n"),
        ("", '_label,a,b\n\n1,"two\nlines",3\n\n\n-1,4,5\n', "1 | a:two_lines b:3\n-1 | a:4 b:5\n"),
    ],
)
def test_csv_is_read_as_the_same_text(here, options, table, text):
    (here / "table.csv").write_text(table)
    (here / "text.vw").write_text(text)
    run(["-d", "table.csv", "--csv", *options.split(), *"-p table.p --readable_model table.m --quiet".split()])
    passes = [word for word in options.split() if not word.startswith("--csv")] if "--passes" in options else []
    run(["-d", "text.vw", *passes, *"-p text.p --readable_model text.m --quiet".split()])
    assert (here / "table.p").read_text() == (here / "text.p").read_text()
    assert (here / "table.m").read_text() == (here / "text.m").read_text()


def test_cells_that_only_begin_as_numbers_are_words(here):
    """What VW 9.11.9 makes of this table."""
    (here / "table.csv").write_text("a,b,_label\n12abc,3,1\n1.5.2,nan,-1\n1e5,4,1\n2026-11-28,5,1\n")
    run("-d table.csv --csv --invert_hash names.txt -p table.p --quiet".split())
    assert (here / "table.p").read_text().split() == ["0", "0.193127", "0.289340", "0.520734"]
    lines = (here / "names.txt").read_text().splitlines()
    assert {tuple(line.split(":")[:2]) for line in lines if "^" in line} == {
        ("a^12abc", "107540"), ("a^1.5.2", "171071"), ("a^2026-11-28", "208827"), ("b^nan", "223435")
    }  # fmt: skip


def test_lines_of_csv_have_their_numbers(here, capsys):
    (here / "table.csv").write_text('_label,a\n1,2\n\n1,"two\nlines"\nx,3\n')
    run("-d table.csv --csv".split())
    assert "table.csv:6:1: bad label" in capsys.readouterr().err


def test_many_chunks_of_csv_are_read_as_the_same_text(here):
    rng = np.random.default_rng(1)
    names = ["u|a", "u|b", "c|c"]
    cells = [
        rng.choice(["", "-1.25", "3", "1e-2", "red", "é" * 20], 60_000),
        rng.normal(size=60_000).round(4).astype(str),
        rng.choice(["", "x y", "y"], 60_000),
    ]
    labels = rng.choice(["1", "-1", "0.5 2", ""], 60_000)
    rows = list(zip(labels, *cells, strict=True))
    (here / "table.csv").write_text("\n".join(",".join(row) for row in [("_label", *names), *rows]) + "\n")
    with open(here / "text.vw", "w") as text:
        for label, a, b, c in rows:
            words = [f" a:{a}" if a else "", f" b:{b}", f" c:{c.replace(' ', '_')}" if c else ""]
            text.write(f"{label} |u{words[0]}{words[1]} |c{words[2]}\n")
    for name, options in (("table", ["-d", "table.csv", "--csv"]), ("text", ["-d", "text.vw"])):
        run([*options, "-p", f"{name}.p", "--readable_model", f"{name}.m", "--quiet"])
    assert (here / "table.p").read_text() == (here / "text.p").read_text()
    assert (here / "table.m").read_text() == (here / "text.m").read_text()


def test_names_of_features_of_csv(here):
    (here / "table.csv").write_text("_label,n|a,b\nyes,2,red\nno,,blue\n")
    run("-d table.csv --csv --oaa 2 --named_labels yes,no --invert_hash names.txt --quiet".split())
    assert {line.split(":")[0] for line in (here / "names.txt").read_text().splitlines()} >= {"n^a", "b^red", "b^blue"}


@pytest.mark.parametrize(
    ("options", "table", "message"),
    [
        ("", "_label,a\n1,2,3\n", "table.csv:2:1: got 3 fields, wanted 2 as in the first line"),
        ("--csv_header _label,a,b", "c,d\n1,2\n", "table.csv:1: got 2 fields, wanted 3 as in --csv_header"),
        ("", '_label,a\n1,"x\n', "table.csv:2:3: got a quote that is never closed"),
        ("--csv_separator §", "a\n1\n", "--csv_separator: got '§', wanted one letter of ASCII"),
        ("--csv_separator |", "a\n1\n", "--csv_separator: got '|', wanted one letter"),
        ("--csv_ns_value n", "a\n1\n", "--csv_ns_value: got 'n' without a number"),
    ],
)
def test_wrong_csv_is_named(here, options, table, message):
    (here / "table.csv").write_text(table)
    with pytest.raises((DataError, UsageError)) as error:
        run(["-d", "table.csv", "--csv", "--quiet", *options.split()])
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("options", "lines", "weighed"),
    [
        ("", ["1 |f a", "-1 2 |f b", "0.5 |f a b", "7 |f a"], ["1 3 |f a", "-1 1 |f b", "0.5 0.1 |f a b", "7 |f a"]),
        ("--oaa 3", ["1 |f a", "3 |f b", "2 2 |f a"], ["1 3 |f a", "3 |f b", "2 2 |f a"]),
        ("--json", ['{"_label":1,"f":{"a":1}}'], ['{"_label":{"label":1,"weight":3},"f":{"a":1}}']),
    ],
)
def test_classes_have_weights(here, options, lines, weighed):
    for name, text, more in (
        ("plain", lines, ["--classweight", "1:3", "--classweight", "-1:0.5,0:0.1"]),
        ("weighed", weighed, []),
    ):
        (here / name).write_text("\n".join(text) + "\n")
        run(["-d", name, *options.split(), "--quiet", "--readable_model", f"{name}.m", "-p", f"{name}.p", *more])
    for ending in "mp":
        assert (here / f"plain.{ending}").read_text() == (here / f"weighed.{ending}").read_text()


@pytest.mark.parametrize("more", ["--csoaa 3", "--classweight 1", "--classweight 1.5:2"])
def test_weights_of_classes_are_refused(here, more):
    (here / "here.vw").write_text("1 |f a\n")
    with pytest.raises(UsageError, match="^--classweight: got"):
        run(f"-d here.vw --quiet --classweight 1:2 {more}".split())


def test_the_weights_of_the_features_of_data(here):
    (here / "train.vw").write_text("1 |f a b\n2 |f c |g d:2\n1 |f a\n")
    (here / "some.vw").write_text("|f c new\n|f a\n")
    run("-d train.vw --oaa 2 -f model --quiet -b 10".split())
    run("-d train.vw -i model --invert_hash all -t --quiet".split())
    run("-i model -d some.vw --audit_regressor found -p none".split())
    names = {line.rpartition(":")[0]: line.rpartition(":")[2] for line in (here / "all").read_text().splitlines()}
    found = (here / "found").read_text().splitlines()
    rows = [line.split(":") for line in found]
    assert {name.partition("[")[0] for name, _, _ in rows} == {"f^c", "f^a", "Constant"} and len(rows) == 6
    assert all(names[f"{name}:{row}"] == weight for name, row, weight in rows)
    assert (here / "none").read_bytes() == b""


def test_noop_learns_nothing(here):
    (here / "train.vw").write_text("1 |f a b\n2 |f a\n")
    run("-d train.vw --noop -p p --quiet".split())
    assert (here / "p").read_text().split() == ["0", "0"]
    with pytest.raises(UsageError, match="^--noop: --coin does not have it"):
        run("-d train.vw --noop --coin --quiet".split())
