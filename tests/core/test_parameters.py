"""Parameters are plain dataclasses until somebody checks values."""

import subprocess
import sys
from dataclasses import FrozenInstanceError
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ValidationError

from hutch.core.chain.reduction import Kernels, Reduction
from hutch.core.chain.registry import Registry
from hutch.core.config.adapter import checked
from hutch.core.config.read import load_chain
from hutch.core.errors import ConfigError, PluginError
from hutch.core.parameters import ExampleValue, Parameters, Within, parameters_of, values_of
from hutch.plugins.checks.chain import plausible
from hutch.plugins.manager import Plugins


class Pair(Parameters):
    """Two names."""

    names: Annotated[tuple[str, ...], Within(min_length=2, max_length=2)]


class Tree(Parameters):
    """Parameters of a tree.

    Attributes:
        classes: how many there are,
            counted from 1.
        low, high: of its range.
    """

    classes: Annotated[int, Within(ge=2, lt=100)]
    low: Annotated[float, Within(gt=0)] | None = None
    high: Annotated[float | None, Within(le=1)] = 1
    pairs: tuple[Pair, ...] = ()
    word: Annotated[str, ExampleValue("left")]

    def __post_init__(self) -> None:
        if self.classes == 7:
            raise ValueError("classes: got 7, wanted another number")


def test_they_are_frozen_and_compare_by_value() -> None:
    tree = Tree(classes=3, word="a")
    assert tree == Tree(classes=3, word="a") != Tree(classes=4, word="a") and hash(tree) == hash(
        Tree(classes=3, word="a")
    )
    with pytest.raises(FrozenInstanceError):
        tree.classes = 4  # type: ignore[misc]
    assert values_of(tree) == {"classes": 3, "low": None, "high": 1, "pairs": (), "word": "a"}


class Counts(Parameters):
    """Integers without an upper bound of their own."""

    items: Annotated[int, Within(ge=0)] = 0
    limit: Annotated[int, Within(ge=0)] | None = None
    most: Annotated[int | None, Within(ge=0)] = None


def test_integers_are_those_that_kernels_can_count_to() -> None:
    assert checked(Counts, {"items": 1 << 62, "limit": None}) == Counts(items=1 << 62)
    for name in ("items", "limit", "most"):
        with pytest.raises(ValidationError, match="less than or equal to 4611686018427387904"):
            checked(Counts, {name: 10**30})


def test_values_are_checked_against_the_annotations() -> None:
    tree = checked(Tree, {"classes": 3, "pairs": [{"names": ["a", "b"]}], "word": "a"})
    assert tree == Tree(classes=3, pairs=(Pair(names=("a", "b")),), word="a") and isinstance(tree.high, float)


@pytest.mark.parametrize(
    ("given", "kind", "place"),
    [
        ({}, "missing", ("classes",)),
        ({"classes": 1}, "greater_than_equal", ("classes",)),
        ({"classes": 100}, "less_than", ("classes",)),
        ({"classes": 7}, "value_error", ()),
        ({"classes": 3, "low": 0}, "greater_than", ("low",)),
        ({"classes": 3, "high": 2}, "less_than_equal", ("high",)),
        ({"classes": 3, "high": float("inf")}, "finite_number", ("high",)),
        ({"classes": 3, "high": float("nan")}, "finite_number", ("high",)),
        ({"classes": 3, "pairs": [{"names": ["a"]}]}, "too_short", ("pairs", 0, "names")),
        ({"classes": 3, "pairs": [{"names": ["a", "b", "c"]}]}, "too_long", ("pairs", 0, "names")),
        ({"classes": 3, "clases": 3}, "unexpected_keyword_argument", ("clases",)),
    ],
)
def test_what_is_not_valid(given: dict[str, Any], kind: str, place: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError) as caught:
        checked(Tree, {"word": "a", **given})
    assert [(error["type"], error["loc"]) for error in caught.value.errors()] == [(kind, place)]


def test_a_class_tells_what_its_parameters_are() -> None:
    found = {parameter.name: parameter for parameter in parameters_of(Tree)}
    assert list(found) == ["classes", "low", "high", "pairs", "word"]
    assert [name for name, parameter in found.items() if parameter.required] == ["classes", "word"]
    assert found["classes"].annotation is int and found["high"].default == 1
    assert found["classes"].meaning == "how many there are, counted from 1."
    assert found["low"].meaning == found["high"].meaning == "of its range." and found["pairs"].meaning == ""
    assert plausible(Tree) == {"classes": 3, "word": "left"}


def test_defining_them_imports_no_pydantic() -> None:
    registered = "[reduction.Parameters for reduction in Plugins(only=()).registry.reductions.values()]"
    code = f"import sys\nfrom hutch.plugins.manager import Plugins\n{registered}\nprint('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("name", sorted(Plugins(only=()).registry.reductions))
def test_every_parameter_of_a_layer_is_explained(name: str) -> None:
    for parameter in parameters_of(Plugins(only=()).registry.reductions[name].Parameters):
        assert parameter.meaning, parameter.name


class Foreign(BaseModel):
    """A class of pydantic's own."""

    classes: int = 2


class Layer(Reduction):
    name = "layer"
    is_base = True
    Parameters = Foreign  # type: ignore[assignment]
    kernels: Kernels


class Doubtful(Parameters):
    """Its default is not one of its values.

    Attributes:
        times: how often.
    """

    times: Annotated[float, Within(gt=0)] = -1.0


class Defaulted(Reduction):
    name = "defaulted"
    is_base = True
    Parameters = Doubtful
    kernels: Kernels


def test_a_default_that_is_no_value_is_named() -> None:
    wanted = r"chain\[0\]\.defaulted: the default of 'times': got -1\.0, wanted more than 0"
    with pytest.raises(ConfigError, match=wanted):
        load_chain({"chain": ["defaulted"]}, Registry(reductions={"defaulted": Defaulted}))


def test_parameters_are_a_dataclass_of_hutch() -> None:
    with pytest.raises(PluginError, match=r"Foreign: not a dataclass; wanted a subclass of hutch\.plugin\.Parameters"):
        load_chain({"chain": ["layer"]}, Registry(reductions={"layer": Layer}))
