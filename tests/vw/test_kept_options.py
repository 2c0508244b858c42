"""The line `options:` of readable models, as VW 9.11.9 writes it."""

from pathlib import Path
from typing import Any

import pytest

from hutch.vw.header import kept_options
from hutch.vw.main import run
from hutch.vw.parse import parse

_ADF = "--cb_adf --cb_explore_adf"
_BELOW = "--csoaa_ldf multiline --csoaa_rank"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("--cb_adf", f"--cb_adf --cb_type mtr {_BELOW}"),
        ("--cb_adf --cb_type ips", f"--cb_adf --cb_type ips {_BELOW}"),
        (
            "--cb_explore_adf --epsilon 0.1 -q ua",
            f"{_ADF} --cb_type mtr {_BELOW} --epsilon 0.100000001490116 --quadratic ua",
        ),
        ("--cb_explore_adf --softmax --lambda 3", f"{_ADF} --cb_type mtr {_BELOW} --lambda 3 --softmax"),
        ("--cb_explore_adf --squarecb", f"{_ADF} --cb_type mtr {_BELOW} --squarecb"),
        ("--cb 3", f"--cb 3 --cb_adf --cb_type mtr {_BELOW}"),
        ("--cb_explore 3", f"--cb_adf --cb_explore 3 --cb_explore_adf --cb_type mtr {_BELOW}"),
        ("--ccb_explore_adf", f"{_ADF} --cb_sample --cb_type mtr --ccb_explore_adf {_BELOW}"),
        ("--slates -q ::", f"{_ADF} --cb_sample --cb_type mtr --ccb_explore_adf {_BELOW} --quadratic :: --slates"),
        ("--binary --link logistic", "--binary --link logistic"),
        ("-q ab --l2 0.1", "--quadratic ab"),
        ("--coin --ftrl_alpha 2", "--coin"),
        ("--lrq ab2 --lrq cd3", "--lrq ab2 --lrq cd3"),
        (
            "--cb_explore_adf --large_action_space --max_actions 5 --spanner_c 1.3",
            f"{_ADF} --cb_type mtr {_BELOW} --large_action_space --max_actions 5 --spanner_c 1.29999995231628",
        ),
    ],
)
def test_as_vw_writes_it(given: str, wanted: str) -> None:
    unused: Any = None  # the chain counts beside `-i` only
    assert kept_options(unused, parse([*given.split(), "-d", "data"])) == wanted


@pytest.mark.parametrize(
    ("options", "counted"),
    [
        ("--cb_adf", ["event_sum 1", "action_sum 2"]),
        ("--cb_explore_adf --cb_type ips", ["event_sum 0", "action_sum 0"]),
        (
            "--cb_explore_adf --squarecb",
            ["cb squarecb adf storing example counter:  = 1", "event_sum 1", "action_sum 2"],
        ),
        ("--cb_explore_adf --first 5", ["cb first adf storing example counter:  = 4", "event_sum 1", "action_sum 2"]),
    ],
)
def test_counters_of_decisions(options: str, counted: list[str], tmp_path: Path) -> None:
    data, text = tmp_path / "data", tmp_path / "text"
    data.write_text("0:1:0.5 |a x\n|a y\n\n")
    assert run(["-d", str(data), *options.split(), "--readable_model", str(text), "--quiet"]) == 0
    lines = text.read_text().splitlines()
    assert lines[lines.index("Checksum: 0") + 1 :][: len(counted)] == counted
