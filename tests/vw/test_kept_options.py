"""The line `options:` of readable models, as VW 9.11.9 writes it."""

from typing import Any

import pytest

from hutch.vw.header import kept_options
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
    ],
)
def test_as_vw_writes_it(given: str, wanted: str) -> None:
    unused: Any = None  # the chain counts beside `-i` only
    assert kept_options(unused, parse([*given.split(), "-d", "data"])) == wanted
