"""Refusals of `hutch vw` name every missing option, and an alternative that is accepted."""

import re
import subprocess
import sys
from typing import Any

import pytest
import typer
from typer.main import get_command

from hutch.cli.commands import app
from hutch.core.errors import UsageError
from hutch.plugins.manager import installed
from hutch.vw.options.absent import ABSENT
from hutch.vw.options.option import Option
from hutch.vw.options.table import NAMED, OPTIONS
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

WAYS = sorted(set(ABSENT.values()))
SUPPORTED = [option for option in OPTIONS if option.supported]


def mentioned(text: str) -> list[str]:
    """The options of VW that a text names; those of other commands stand in backquotes."""
    return re.findall(r"(?<![\w-])--([a-zA-Z][\w-]*\b)|(?<![\w-])-([a-zA-Z])\b", re.sub(r"`[^`]*`", "", text))


def is_supported(pair: Any) -> bool:
    long, short = pair
    if long == "to-yaml":
        return True  # --to-yaml, which is not VW's
    return any(option.name == long if long else option.short == short for option in SUPPORTED)


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]*)`", text)


@pytest.mark.parametrize("way", WAYS)
def test_no_way_is_refused_in_turn(way: str) -> None:
    for pair in mentioned(way):
        assert is_supported(pair), pair
    for words in quoted(way):
        if not words.startswith("hutch "):
            assert words in installed().registry.reductions or words == "head", words
            continue
        command = get_command(app)
        options: list[str] = []
        for word in words.split()[1:]:
            if word.startswith("-"):
                options.append(word)
            elif hasattr(command, "list_commands"):
                command = command.get_command(typer.Context(command), word)
                assert command is not None, words
        known = {name for each in command.get_params(typer.Context(command)) for name in each.opts}
        assert set(options) <= known, words


def test_the_check_of_ways_bites() -> None:
    assert mentioned("use --oaa, -q or `hutch train --shards`") == [("oaa", ""), ("", "q")]
    assert not is_supported(("automl", "")) and not is_supported(("", "z")) and is_supported(("", "q"))


def example_of(option: Option) -> list[str]:
    value = {"flag": [], "int": ["2"], "float": ["0.5"]}.get(
        option.kind, [option.choices[0] if option.choices else "ab"]
    )
    return [f"--{option.name}", *value]


@pytest.mark.parametrize("option", SUPPORTED, ids=lambda option: option.name)
def test_an_option_that_stands_alone_is_taken_or_named_with_what_it_needs(option: Option) -> None:
    try:
        chain_of(parse(example_of(option)))
    except UsageError as error:
        assert all(is_supported(pair) for pair in mentioned(str(error))), error


def test_all_that_is_missing_is_named_in_one_message() -> None:
    with pytest.raises(UsageError) as refused:
        parse([*(f"--{name}" for name in ABSENT), "--bogus", "-d", "missing.vw"])
    said = str(refused.value)
    assert set(re.findall(r"--([\w-]+)(?=[^:\n]*not supported)", said)) == set(ABSENT)
    assert "unknown option '--bogus'" in said
    assert len(said.splitlines()) == len(WAYS) + 1


def test_options_of_one_part_stand_together() -> None:
    with pytest.raises(UsageError) as refused:
        parse(["--wap", "5", "--ldf_override", "m", "--automl", "3", "-q", "ab"])
    first, second = str(refused.value).splitlines()
    assert first == "--wap, --ldf_override are not supported: use --csoaa or --csoaa_ldf"
    assert second.startswith("--automl is not supported: compare chains")


def test_every_option_of_the_peer_is_taken_or_refused_with_a_way() -> None:
    pytest.importorskip("vowpalwabbit", reason="the peer is not installed: pip install vowpalwabbit==9.11.9")
    told = subprocess.run([sys.executable, "-m", "vowpalwabbit", "--help"], capture_output=True, text=True, check=True)
    names = set(re.findall(r"^ {4}(?:-\w, )?--([\w-]+)", told.stdout, re.MULTILINE)) - {"help"}
    assert len(names) > 300
    assert names <= NAMED.keys()
    for name in sorted(names - {option.name for option in SUPPORTED}):
        with pytest.raises(UsageError, match=f"^--{name} is not supported: ."):
            parse([f"--{name}", "1"])
