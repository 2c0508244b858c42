"""Options for what is read, printed or predicted: `--args`, `--examples`, `--print`, `--direct`; and idle ones."""

import pytest

from hutch.core.errors import UsageError
from hutch.vw.idle import without_idle
from hutch.vw.main import run, vw
from hutch.vw.parse import parse

LINES = "1 |a x\n\n2 't|a y:2 |b z\n |a x\n1 0.5 0.25 |a y\n"


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.vw").write_text(LINES)
    return tmp_path


def test_options_are_read_from_a_file(data):
    (data / "options").write_text("\n--oaa 3 --named_labels 'a b,c,d'\n")
    found = parse(["-d", "data.vw", "--args", "options", "-q", "ab"])
    assert (found.oaa, found.named_labels, found.quadratic) == (3, "a b,c,d", ["ab"])
    assert parse(["--args=options"]).oaa == 3
    (data / "options").write_text("--oaa 3\n\n--oaa 4\n")
    with pytest.raises(UsageError, match="options:3: got another command line, wanted one: run each by itself"):
        parse(["--args", "options"])
    with pytest.raises(UsageError, match="--args: got 'none', which cannot be read: No such file or directory"):
        parse(["--args", "none"])


@pytest.mark.parametrize(("count", "examples"), [(0, 0), (1, 1), (2, 1), (3, 2), (5, 4), (6, 5), (99, 8)])
def test_the_first_lines_of_all_files_are_read_in_each_pass(count, examples, capsys):
    run(f"-d data.vw -d data.vw --examples {count} --passes 2 --holdout_off".split())
    said = capsys.readouterr().err
    assert f"number of examples per pass = {examples}\n" in said
    assert "passes used = 2" in said


def test_examples_are_lines_of_text():
    with pytest.raises(UsageError, match="--examples: got it with --csv or JSON, wanted text"):
        run(["-d", "data.vw", "--examples", "3", "--dsjson"])


def test_each_example_is_printed_with_the_indices_of_its_features(capsys):
    run("-d data.vw --print -q ab --noconstant".split())
    printed = [line for line in capsys.readouterr().err.splitlines() if "| " in line]
    assert printed == [
        "1 | 55432 ",
        "2 't| 42847:2 124687 718870584706:2 ",
        "| 55432 ",
        "1 0.5 0.25 | 42847 ",
    ]
    run("-d data.vw --print --quiet".split())
    assert not capsys.readouterr().err


def test_queries_are_answered_by_the_importance_of_their_label(data, capsys):
    (data / "data.vw").write_text("1 |a x\n-1 |a y\n 'query?1|a x\n 'other|a x\n1 'query?2|a x\n")
    run("-d data.vw --active --direct --quiet -p -".split())
    assert capsys.readouterr().out == "0\n0.253466\n1 query?1\n0.289694 other\n0.289694 query?2\n"


def test_idle_options_are_left_out_and_named(capsys):
    with pytest.warns(UserWarning, match="--epsilon has no effect without --cb_explore_adf or --cb_explore or"):
        run("-d data.vw --epsilon 0.1 --quiet".split())
    with pytest.warns(UserWarning, match="--cb_discrete and --loss_option have no effect without --cbify_reg$"):
        vw("--to-yaml --cb_discrete --loss_option 1".split())
    options = parse("--cbify_reg --loss_option 1 --bag 3".split())
    assert without_idle(options) == {
        ("cb_explore_adf", "cb_explore", "cbify"): ["bag"],
        ("cbify",): ["cbify_reg"],
        ("cbify_reg",): ["loss_option"],
    }
    assert not options.cbify_reg and options.bag is None
    assert not without_idle(parse("-i model --epsilon 0.1".split()))
    with pytest.raises(UsageError, match="--cb_sample needs --cb_explore_adf"):
        run("-d data.vw --cb_sample --quiet".split())  # as in VW


def test_a_limit_that_vw_reads_as_0_leaves_the_namespace_out(capsys):
    run("-d data.vw --ignore a --quiet -p -".split())
    wanted = capsys.readouterr().out
    with pytest.warns(UserWarning, match="--feature_limit a:3: leaves out all features of a, as in VW; a3 limits them"):
        run("-d data.vw --feature_limit a:3 --quiet -p -".split())
    assert capsys.readouterr().out == wanted
    with pytest.raises(UsageError, match="got 'a:3' with --keep, wanted a limit such as a10"):
        run("-d data.vw --feature_limit a:3 --keep a --quiet".split())
