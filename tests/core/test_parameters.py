"""Parameters are plain dataclasses until somebody checks values, and what plugins wrote before still works."""

import subprocess
import sys
from dataclasses import FrozenInstanceError
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError, model_validator

from hutch.core.chain.reduction import Kernels, Reduction
from hutch.core.chain.registry import Registry
from hutch.core.config.adapter import adapter, checked
from hutch.core.config.read import load_chain, to_yaml
from hutch.core.config.schema import schema
from hutch.core.errors import ConfigError
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


class Old(BaseModel, extra="forbid", frozen=True):
    """What a plugin of version 0.1 could give."""

    rate: float = Field(0.5, gt=0, description="step of the update")
    kind: Literal["a", "b"] = "a"
    classes: Annotated[int, Field(ge=2, examples=[5])]


class OldLayer(Reduction):
    name = "old"
    is_base = True
    Parameters = Old  # type: ignore[assignment]
    kernels: Kernels


def test_a_pydantic_model_still_works_and_is_said_to_be_old() -> None:
    registry = Registry(reductions={"old": OldLayer})
    with pytest.warns(DeprecationWarning, match=r"Old is a pydantic model; from version 0\.2 on"):
        config = load_chain({"chain": [{"old": {"classes": 3}}]}, registry)
    [layer] = config.chain
    assert layer.parameters == Old(classes=3) and values_of(layer.parameters) == {
        "rate": 0.5,
        "kind": "a",
        "classes": 3,
    }
    assert to_yaml(config, defaults=False) == "chain:\n- old: {classes: 3}\n" and "rate: 0.5" in to_yaml(config)
    assert schema(registry)["$defs"]["Old"]["properties"]["rate"]["description"] == "step of the update"
    found = {parameter.name: parameter for parameter in parameters_of(Old)}
    assert found["rate"].default == 0.5 and found["classes"].required and found["rate"].meaning == "step of the update"
    assert plausible(Old) == {"classes": 5}
    for given, message in [
        ({"clases": 3}, r"chain\[0\]\.old\.clases: unknown key; did you mean 'classes'\?"),
        ({"classes": 1}, r"chain\[0\]\.old\.classes: got 1, wanted at least 2"),
    ]:
        with pytest.raises(ConfigError, match=message):
            load_chain({"chain": [{"old": given}]}, registry)


class WithFields(Parameters):
    """As plugins of version 0.1 wrote parameters: with pydantic's words under Hutch's base.

    Attributes:
        models: how many.
    """

    models: Annotated[int, Field(ge=1, le=256)] = 10
    share: float = Field(0.5, ge=0, le=1)

    @model_validator(mode="after")
    def _check(self) -> "WithFields":
        if self.models == 13:
            raise ValueError("models: got 13, wanted another number")
        return self


def test_fields_of_pydantic_below_the_base_still_work() -> None:
    assert values_of(checked(WithFields, {})) == {"models": 10, "share": 0.5}
    for given in ({"models": 0}, {"share": 2}, {"models": 13}, {"model": 1}):
        with pytest.raises(ValidationError):
            checked(WithFields, given)
    assert adapter(WithFields).json_schema()["properties"]["models"]["maximum"] == 256


def test_a_class_in_another_module_can_still_be_named() -> None:
    from hutch.core.chain.reduction import DefinedIn

    with pytest.warns(DeprecationWarning, match="DefinedIn goes in version 0.2"):

        class Elsewhere(Reduction):
            name = "elsewhere"
            Parameters = DefinedIn(f"{__name__}:Pair")  # type: ignore[assignment]
            kernels: Kernels

    assert Elsewhere.Parameters is Pair
