"""The help of every command at 80 and 60 columns: no broken words, no entry without a text."""

import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer
from typer.main import get_command

from hutch.cli.commands import app
from hutch.shell.help_text import command_line, entries, noted
from hutch.vw.options.table import GROUPS
from hutch.vw.parse import help_text


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that call it."""
    yield path, command
    if hasattr(command, "list_commands"):
        context = typer.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*path, name))


ALL = dict(commands(get_command(app)))
SINGLE = [path for path, command in ALL.items() if not hasattr(command, "list_commands")]
SPOKEN = [path for path in SINGLE if path != ("vw",)]  # its options are those of the table


def words(path: tuple[str, ...]) -> str:
    return " ".join(path) or "hutch"


def joined(text: str) -> str:
    return " ".join(text.split())


def test_every_command_is_walked() -> None:
    assert {("train",), ("active", "run"), ("reproduce", "nat-oem"), ("vw",)} <= ALL.keys()
    assert len(SINGLE) > 30


@pytest.mark.parametrize("columns", ["80", "60"])
@pytest.mark.parametrize("path", ALL, ids=words)
def test_help_fits_and_breaks_no_word(
    path: tuple[str, ...], columns: str, hutch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    text = hutch(*path, "--help").out
    for line in text.splitlines():
        assert len(line) <= int(columns) or len(line.split()) <= 2, line  # one that is longer by itself
    assert not re.search(r"<\w[^>]*>|\{|\[default: \(|x[<>]=|<=x", text)
    said = joined(text)
    if path != ("vw",):
        for each in ALL[path].params:
            assert joined(each.help) in said, each.name
        for paragraph in ALL[path].help.split("\n\n"):
            assert joined(paragraph) in said.replace("\\ ", "")


@pytest.mark.parametrize("path", SPOKEN, ids=words)
def test_every_option_and_argument_says_what_it_does_and_what_it_takes(path: tuple[str, ...]) -> None:
    for each in ALL[path].params:
        assert each.help.endswith(".") and len(each.help.split()) > 1, each.name
        assert "[" not in each.help or each.metavar == "A[,B]", each.name  # notes are made from what is declared
        is_switch = each.param_type_name == "option" and each.is_flag
        assert is_switch or re.fullmatch(r"[A-Z|:=.,\[\]]+|strings\|all", each.metavar), each.name


@pytest.mark.parametrize("path", SINGLE, ids=words)
def test_every_command_has_an_example_that_its_options_allow(
    path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "secret")
    _, found, example = ALL[path].help.partition("Example: hutch ")
    assert found, f"{words(path)} has no example"
    given = shlex.split(re.split(r" [|>] ", joined(example))[0])
    name = words(path).split()
    assert given[: len(name)] == name
    if path != ("vw",):
        ALL[path].make_context(words(path), given[len(name) :])


def test_the_help_of_vw_has_every_option() -> None:
    said = joined(help_text())
    for heading, group in GROUPS.items():
        assert f"{heading}:" in said
        for option in group:
            assert f"--{option.name} " in said and joined(option.help) in said, option.name


WRONG = (
    (["train", "x.vw", "--passes", "many"], "--passes: got 'many', wanted a whole number, at least 1"),
    (["train", "x.vw", "--passes", "0"], "--passes: got '0', wanted a whole number, at least 1"),
    (["train", "x.vw", "-l", "fast"], "--learning_rate: got 'fast', wanted a number"),
    (["train", "x.vw", "-l", "-1"], "--learning_rate: got -1.0, wanted at least 0"),
    (["train", "x.vw", "-b", "99"], "--bit_precision: got 99, wanted at most 31"),
    (["train", "x.vw", "--hash", "x"], "--hash: got 'x', wanted 'strings' or 'all'"),
    (["train", "x.vw", "--loss_function", "hing"], "--loss_function: unknown loss 'hing'; did you mean 'hinge'?"),
    (
        ["train", "x.vw", "--loss_function", "quantile", "--quantile_tau", "3"],
        "--quantile_tau: got 3, wanted more than 0 and less than 1",
    ),
    (["train", "x.vw", "--set", "weights.bits=99"], "weights.bits=99: got 99, wanted at most 31"),
    (["train", "x.vw", "--set", "linear.los=1"], "linear.los=1: unknown key; did you mean 'loss'?"),
    (
        ["train", "x.vw", "--set", "linear={los: 1}"],
        "linear={los: 1}: chain[0].linear.los: unknown key; did you mean 'loss'?",
    ),
    (["serve", "model", "--port", "99999"], "--port: got '99999', wanted a whole number, 0 to 65535"),
    (["vw", "--cb_adf", "--cb_type", "x"], "--cb_type: got 'x', wanted one of mtr, ips, dm, dr, sm"),
    (["vw", "--link", "x"], "--link: got 'x', wanted one of identity, logistic, glf1, poisson"),
)


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[" ".join(each) for each, _ in WRONG])
def test_a_wrong_value_is_refused_in_one_form(
    arguments: list[str], message: str, hutch: Callable[..., Any], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.vw").write_text("1 |f a\n")
    result = hutch(*arguments)
    assert (result.code, result.err) == (2, f"{message}\n")


def test_usage_of_a_wrong_command_line_shows_no_types(hutch: Callable[..., Any]) -> None:
    assert hutch("train").err.startswith("Usage: hutch train [OPTIONS] DATA...\n")
    assert hutch("config", "schema", "a", "b").err.startswith("Usage: hutch config schema [OPTIONS] [FILE]\n")
    assert hutch("active", "nothing").err.startswith("Usage: hutch active [OPTIONS] COMMAND [ARGS]...\n")


def test_the_right_column_begins_below_what_is_too_wide() -> None:
    rows = [("--a", "One."), ("--much_too_wide_for_this", "Two words.")]
    assert entries(rows, 40) == ["  --a  One.", "  --much_too_wide_for_this", "       Two words."]


def test_a_short_note_stays_on_one_line() -> None:
    [(_, *lines)] = [entries([("--n N", noted("Number of things to do.", ["default: 1", "at least 1"]))], 40)]
    assert lines == ["         [default: 1; at least 1]"]


def test_a_long_command_line_can_be_pasted() -> None:
    lines = command_line("hutch train a.vw -C chain.yaml --name 1=spam --name -1=ham -f model", 40)
    assert all(len(line) <= 40 for line in lines) and all(line.endswith(" \\") for line in lines[:-1])
    assert shlex.split(" ".join(line.rstrip("\\") for line in lines))[-4:] == ["--name", "-1=ham", "-f", "model"]
