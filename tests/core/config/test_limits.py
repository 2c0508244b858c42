"""Chains far beyond any use are refused at once, with the place of what is too much."""

import time
from typing import Any

import pytest
import yaml

from hutch.core.config import yaml as config_yaml
from hutch.core.config.limits import DEEPEST, MOST_LAYERS, MOST_VALUES
from hutch.core.config.read import load_chain, read_chain
from hutch.core.errors import ConfigError
from hutch.plugins.manager import Plugins

REGISTRY = Plugins(only=()).registry
PARSERS = list(dict.fromkeys((yaml.SafeLoader, config_yaml._PARSER)))
DEEP = f"got more than {DEEPEST} levels of lists and mappings, wanted fewer"

HOSTILE = {
    "nested lists": ("chain: " + "[" * 900 + "]" * 900, f"<chain>:1:{8 + DEEPEST}: {DEEP}"),
    "nested maps": ("chain: " + "{a: " * 3000 + "1" + "}" * 3000, f"<chain>:1:{8 + 4 * (DEEPEST - 1) + 1}: {DEEP}"),
    "nested dashes": ("chain:\n" + "- " * 3000 + "a\n", f"<chain>:2:{2 * DEEPEST + 1}: {DEEP}"),
    "nested blocks": ("".join(" " * k + "a:\n" for k in range(700)), f"<chain>:{DEEPEST + 1}:{DEEPEST + 1}: {DEEP}"),
    "many values": ("chain: [" + "a," * MOST_VALUES + "]", f"got more than {MOST_VALUES} values, wanted fewer"),
    "a long comment": (
        "#" * 10_000_000 + "\nchain: [linear]\n",
        "<chain>: got 10000017 characters, wanted at most 1048576",
    ),
    "a long integer": (
        "weights: {bits: " + "9" * 5000 + "}\n",
        "<chain>:1:17: got an integer of 5000 digits, wanted at most",
    ),
    "a long hexadecimal": (
        "weights: {bits: 0x" + "f" * 100_000 + "}\n",
        "<chain>:1:17: got an integer of 100002 digits",
    ),
    "a long key": (f"chain: [linear]\n{'x' * 1000}: 1\n", "<chain>:2:1: got a key of 1000 characters, wanted at most"),
    "layers": ("chain:\n" + "- binary\n" * 100 + "- linear\n", f"chain: got 101 layers, wanted at most {MOST_LAYERS}"),
    "interactions": (
        "chain:\n- linear: {interactions: [" + "[a, b]," * 10_000 + "]}\n",
        "<chain>:2:26: chain[0].linear.interactions: got [['a', 'b'],",
    ),
}

LONG = ("many values", "interactions")
"""These take seconds where the C library is missing."""


@pytest.mark.parametrize(
    ("name", "parser"),
    [
        pytest.param(name, parser, marks=[pytest.mark.slow] * (parser is yaml.SafeLoader and name in LONG))
        for name in HOSTILE
        for parser in PARSERS
    ],
)
def test_what_is_too_much_is_refused_soon(name: str, parser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_yaml, "_PARSER", parser)
    text, message = HOSTILE[name]
    start = time.process_time()
    with pytest.raises(ConfigError) as caught:
        load_chain(text + "\n" if "\n" not in text else text, REGISTRY)
    assert message in str(caught.value)
    assert time.process_time() - start < 20 and len(str(caught.value)) < 500


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


CYCLE: dict[str, Any] = {"chain": ["linear"]}
CYCLE["weights"] = CYCLE


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"chain": nested(100_000)}, f"chain[0][0][0]: {DEEP}"),
        (CYCLE, f"weights.weights.weights.weights: {DEEP}"),
        ({"chain": ["a"] * (MOST_VALUES + 1)}, f"got more than {MOST_VALUES} values"),
        ({"chain": [10**5000]}, "chain[0]: got an integer of"),
        ({"chain": ["linear"] * 40}, "chain: got 40 layers"),
    ],
)
def test_so_is_a_mapping(mapping: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_chain(mapping, REGISTRY)
    assert message in str(caught.value) and len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("weights.bits=" + "9" * 400, ":1:1: got an integer of 400 digits, wanted at most 100"),
        ("weights.bits=" + "[" * 900, f":1:{DEEPEST + 2}: {DEEP}"),
        ("chain=" + "[a, " * 90 + "]" * 90, "wanted one layer as 'name'"),
        ("x" * 100_000 + "=1", f"{'x' * 200}...: unknown path '{'x' * 56}...; "),
        ("chain." + "9" * 5000 + ".x=1", "wanted a position below 1, counted from 0"),
        ("weights" + ".a" * 500 + "=1", f"{DEEP}"),
    ],
)
def test_so_is_an_override(override: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_chain({"chain": ["linear"]}, REGISTRY, [override])
    assert message in str(caught.value) and len(str(caught.value)) < 3000


def test_what_is_large_and_useful_is_read() -> None:
    terms = [[f"a{k}", f"b{k}"] for k in range(1000)]
    assert load_chain({"chain": [{"linear": {"interactions": terms}}]}, REGISTRY).chain[0].parameters.interactions
    tree: Any = 1
    for k in range(2, 60):
        tree = [tree, k]
    text = f"chain:\n- filter_tree: {{classes: 59, shape: {tree}}}\n- linear\n"
    assert load_chain(text, REGISTRY).chain[0].parameters.shape == tree
    assert read_chain("# " + "a" * 100_000 + "\nchain: [linear]\n").value == {"chain": ["linear"]}
