import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hutch.core.chain.reduction import Kernels, Parameters, Reduction
from hutch.core.chain.registry import Registry
from hutch.core.config import override as config_override
from hutch.core.config import yaml as config_yaml
from hutch.core.config.chain_config import ChainConfig
from hutch.core.config.document import Place
from hutch.core.config.read import blocked_plugins, load_chain, placed, read_chain, to_yaml
from hutch.core.config.schema import schema
from hutch.core.errors import ConfigError
from hutch.core.loss.losses import BUILTIN_LOSSES, LossChoice
from hutch.core.parameters import Within


class Shape(Parameters):
    """The shape of a tree."""

    kind: Literal["balanced", "chain"] = "balanced"


class Tree(Reduction):
    name = "tree"
    kernels: Kernels

    class Parameters(Parameters):
        """A tree."""

        classes: Annotated[int, Within(ge=2, le=100)]
        shape: Shape = Shape()


class Base(Reduction):
    name = "base"
    is_base = True
    kernels: Kernels

    class Parameters(Parameters):
        """A base learner."""

        learning_rate: Annotated[float, Within(gt=0)] = 0.5
        names: tuple[str, ...] = ()
        either: int | tuple[float, float] = 3
        text: str = ""
        loss: LossChoice = LossChoice(name="squared")


REGISTRY = Registry(reductions={"tree": Tree, "base": Base}, losses={loss.name: loss for loss in BUILTIN_LOSSES})
PARSERS = list(dict.fromkeys((yaml.SafeLoader, config_yaml._PARSER)))  # that of PyYAML, and libyaml's if it is there
CHAIN = """\
weights: {bits: 20}
chain:
  - tree:
      classes: 5
  - base
"""


def wrong(text: str, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_chain(text, REGISTRY, overrides)
    assert caught.value.exit_code == 2
    return str(caught.value).splitlines()


def test_a_chain_is_read_with_defaults() -> None:
    config = load_chain(CHAIN, REGISTRY)
    assert config.weights.bits == 20 and config.seed == 0 and config.input.namespaces == "name"
    assert [layer.name for layer in config.chain] == ["tree", "base"]
    assert config.chain[0].parameters == Tree.Parameters(classes=5)
    assert config.chain[1].parameters.learning_rate == 0.5


def test_file_text_and_mapping_are_the_same_chain(tmp_path: Path) -> None:
    path = tmp_path / "chain.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + CHAIN.encode())
    mapping = {"weights": {"bits": np.int64(20)}, "chain": [{"tree": {"classes": 5}}, "base"]}
    assert load_chain(CHAIN, REGISTRY) == load_chain(path, REGISTRY) == load_chain(mapping, REGISTRY)
    assert load_chain(str(path), REGISTRY) == load_chain(path, REGISTRY)


MISTAKES = [
    ("weights: {bots: 3}", "1:11: weights.bots: unknown key; did you mean 'bits'?"),
    ("weights: {bits: 40}", "1:17: weights.bits: got 40, wanted at most 31"),
    ("weights: {bits: '18'}", "1:17: weights.bits: got '18', wanted an integer"),
    ("weights: {bits: true}", "1:17: weights.bits: got true, wanted an integer"),
    ("weights: {bits: 18.0}", "1:17: weights.bits: got 18.0, wanted an integer"),
    ("weights: 18", "1:10: weights: got 18, wanted keys with values"),
    ("wieghts: {}", "1:1: wieghts: unknown key; did you mean 'weights'?"),
    ("chian: 3", "1:1: chian: unknown key; did you mean 'chain'?"),
    ("seed: -1", "1:7: seed: got -1, wanted at least 0"),
    ("input: {constant: no}", "1:19: input.constant: got 'no', wanted true or false"),
    ("input: {hash: string}", "1:15: input.hash: got 'string', wanted 'strings' or 'all'; did you mean 'strings'?"),
    ("input: {ignore: a}", "1:17: input.ignore: got 'a', wanted a list"),
    ("input: {ignore: [a, 1]}", "1:21: input.ignore[1]: got 1, wanted text"),
]


@pytest.mark.parametrize(("line", "message"), MISTAKES)
def test_mistakes_outside_the_layers(line: str, message: str) -> None:
    assert wrong(f"{line}\nchain: [base]\n") == [f"<chain>:{message}"]


LAYER_MISTAKES = [
    ("tree: {clases: 5, classes: 5}", "2:12: chain[0].tree.clases: unknown key; did you mean 'classes'?"),
    ("tree: {}", "2:11: chain[0].tree: 'classes' is missing"),
    ("tree", "2:5: chain[0].tree: 'classes' is missing"),
    ("tree: {classes: 1}", "2:21: chain[0].tree.classes: got 1, wanted at least 2"),
    ("tree: [5]", "2:11: chain[0].tree: got [5], wanted keys with values"),
    (
        "tree: {classes: 2, shape: {kind: balancd}}",
        "2:38: chain[0].tree.shape.kind: got 'balancd', wanted 'balanced' or 'chain'; did you mean 'balanced'?",
    ),
    ("tree: {classes: 2, shape: {kin: chain}}", "2:32: chain[0].tree.shape.kin: unknown key; did you mean 'kind'?"),
    ("base: {learning_rate: 0}", "2:27: chain[0].base.learning_rate: got 0, wanted more than 0"),
    ("base: {learning_rate: ~}", "2:27: chain[0].base.learning_rate: got nothing, wanted a number"),
    ("base: {either: x}", "2:20: chain[0].base.either: got 'x', wanted an integer or a list"),
    ("base: {zzz: 1}", "2:12: chain[0].base.zzz: unknown key; valid: either, learning_rate, loss, names, text"),
    ("base: {loss: hing}", "2:18: chain[0].base.loss: unknown loss 'hing'; did you mean 'hinge'?"),
    ("base: {loss: 3}", "2:18: chain[0].base.loss: got 3, wanted the name of a loss, or its name with parameters"),
    (
        "base: {loss: {quantile: {tua: 1}}}",
        "2:30: chain[0].base.loss.quantile.tua: unknown key; did you mean 'tau'?",
    ),
    (
        "base: {loss: {quantile: {tau: 1}}}",
        "2:35: chain[0].base.loss.quantile.tau: got 1, wanted more than 0 and less than 1",
    ),
    ("base: {loss: {hinge: {tau: 1}}}", "2:27: chain[0].base.loss.hinge.tau: unknown key; the loss has no parameters"),
    ("bass", "2:5: chain[0]: unknown reduction 'bass'; did you mean 'base'?"),
    ("bass: {x: 1}", "2:5: chain[0]: unknown reduction 'bass'; did you mean 'base'?"),
    ("7", "2:5: chain[0]: got 7, wanted one layer as 'name' or 'name: {parameters}'"),
]


@pytest.mark.parametrize(("layer", "message"), LAYER_MISTAKES)
def test_mistakes_in_a_layer(layer: str, message: str) -> None:
    assert wrong(f"chain:\n  - {layer}\n  - base\n") == [f"<chain>:{message}"]


def test_parameters_that_are_not_indented_are_recognised() -> None:
    assert wrong("chain:\n- tree:\n  classes: 5\n- base\n") == [
        "<chain>:2:3: chain[0]: got {'tree': None, 'classes': 5}, wanted one layer as 'name' or 'name: {parameters}'; "
        "indent the parameters below 'tree:'"
    ]


def test_all_mistakes_are_told_at_once_as_they_stand_in_the_file() -> None:
    text = "seed: x\nweights: {bits: 0}\nchain:\n- tree: {clases: 3}\n- bas\n- base: {text: 1, loss: x}\nsed: 1\n"
    places = [line.split(":")[1:3] for line in wrong(text)]
    assert places == [
        ["1", "7"],
        ["2", "17"],
        ["4", "9"],
        ["4", "10"],
        ["5", "3"],
        ["6", "16"],
        ["6", "25"],
        ["7", "1"],
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2\n", "<chain>:2:1: 'a' is given twice, first at line 1"),
        ("a: [1\n", "<chain>:2:1: not YAML: while parsing a flow sequence "),
        ("a: b: c\n", "<chain>:1:5: not YAML: mapping values are not allowed "),
        ("1: 2\n", "<chain>:1:1: got the key 1, wanted a name"),
        ("~: 2\n", "<chain>:1:1: got the key nothing, wanted a name"),
        ("? [a]\n: 2\n", "<chain>:1:3: got a list or mapping as a key, wanted a name"),
        ("a: 1\n---\nb: 2\n", "<chain>:2:1: got a second document, wanted one"),
        ("a: \ud800\n", "<chain>: not YAML: "),
        ("&a [*a]\n", "<chain>:1:5: not YAML: aliases are not read; write it out"),
        (
            "!!python/object:os.system x\n",
            "<chain>:1:1: not YAML: the tag tag:yaml.org,2002:python/object:os.system is",
        ),
        ("a: \x00\n", "<chain>: not YAML: unacceptable character #x0000"),
        ("\n", "<chain>: got nothing, wanted keys such as 'chain:'"),
        ("- base\n", "<chain>:1:1: got ['base'], wanted keys such as 'chain:'"),
        ("seed: 1\n", "<chain>:1:1: chain: is missing, wanted a list of layers such as '- linear'"),
        ("chain: []\n", "<chain>:1:8: chain: got [], wanted a list of layers such as '- linear'"),
    ],
)
@pytest.mark.parametrize("parser", PARSERS)
def test_what_is_no_chain_at_all(text: str, message: str, parser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_yaml, "_PARSER", parser)
    (line,) = wrong(text)
    assert line.startswith(message)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "cannot be read: No such file or directory"),
        (lambda path: path.mkdir(), "cannot be read: Is a directory"),
        (lambda path: path.write_bytes(b"a: \xff"), "not YAML: byte 3 (0xff) is not UTF-8"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, make: Callable[[Path], Any], message: str) -> None:
    path = tmp_path / "chain.yaml"
    make(path)
    assert wrong(str(path)) == [f"{path}: {message}"]


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("weights.bits=22", {"weights": {"bits": 22}}),
        ("chain.1.base.learning_rate=1e-3", {"rate": 1e-3}),
        ("chain[1].base.learning_rate=1e-3", {"rate": 1e-3}),
        ("base.learning_rate=1e-3", {"rate": 1e-3}),
        ("base.names=[a, b]", {"names": ("a", "b")}),
        ("base.text=a=b", {"text": "a=b"}),
        ("tree={classes: 7}", {"classes": 7}),
        ("tree.shape.kind=chain", {"kind": "chain"}),
        ("seed=3", {"seed": 3}),
    ],
)
def test_overrides(override: str, expected: dict[str, Any]) -> None:
    config = load_chain(CHAIN, REGISTRY, [override])
    tree, base = (layer.parameters for layer in config.chain)
    found = {
        "weights": {"bits": config.weights.bits},
        "seed": config.seed,
        "rate": base.learning_rate,
        "names": base.names,
        "text": base.text,
        "classes": tree.classes,
        "kind": tree.shape.kind,
    }
    assert expected.items() <= found.items()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("weights.bit=22", "unknown key; did you mean 'bits'?"),
        ("weights.bits=many", "got 'many', wanted an integer"),
        ("bace.names=3", "unknown path 'bace'; did you mean 'base'?"),
        ("base.lerning_rate=3", "unknown key; did you mean 'learning_rate'?"),
        ("chain.2.base.text=3", "got 2, wanted a position below 2, counted from 0"),
        ("chain.x.base.text=3", "got 'x', wanted a position below 2, counted from 0"),
        ("chain.0.base.text=3", "chain[0] is 'tree', got 'base'"),
        ("tree.classes.x=3", "got 'x', but what is above it, 5, has no such key"),
        ("seed", "got no path=value, wanted one such as weights.bits=20"),
        ("=3", "got no path=value, wanted one such as weights.bits=20"),
        ("seed=[", "got '[', wanted a YAML value"),
    ],
)
def test_wrong_overrides_are_named(override: str, message: str) -> None:
    assert wrong(CHAIN, override) == [f"{override}: {message}"]


def test_an_ambiguous_override_lists_the_places() -> None:
    text = "chain: [{tree: {classes: 2}}, {tree: {classes: 3}}, base]\n"
    assert wrong(text, "tree.classes=4") == [
        "tree.classes=4: 'tree' appears more than once in the chain; write chain.0.tree or chain.1.tree"
    ]
    assert load_chain(text, REGISTRY, ["chain.1.tree.classes=4"]).chain[1].parameters.classes == 4


def test_an_override_mends_a_mistake_in_the_file() -> None:
    assert load_chain("weights: {bits: x}\nchain: [base]\n", REGISTRY, ["weights.bits=5"]).weights.bits == 5


def test_a_mapping_is_not_changed_by_overrides() -> None:
    mapping: dict[str, Any] = {"chain": [{"base": {"learning_rate": 1.0}}]}
    load_chain(mapping, REGISTRY, ["base.learning_rate=2"])
    assert mapping == {"chain": [{"base": {"learning_rate": 1.0}}]}


def test_a_mapping_of_strange_values_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"chain\[0\].base: got <object object at .*wanted plain YAML values"):
        load_chain({"chain": [{"base": {"text": object()}}]}, REGISTRY)


@pytest.mark.parametrize(("section", "names"), [("{block: [a, b]}", ("a", "b")), ("{block: 3}", ()), ("x", ())])
def test_blocked_plugins_are_known_before_the_check(section: str, names: tuple[str, ...]) -> None:
    assert blocked_plugins(read_chain(f"plugins: {section}\nchain: [base]\n")) == names


SCALARS = st.one_of(st.text(max_size=5), st.sampled_from(["1e-3", "no", "true", "0x1", "010", ".5", "~", "1:30", "="]))


@settings(max_examples=50, deadline=None)
@given(
    rate=st.floats(1e-300, 1e300),
    names=st.lists(SCALARS, max_size=3),
    text=SCALARS,
    bits=st.integers(1, 31),
    pair=st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False)),
    defaults=st.booleans(),
)
def test_what_is_written_reads_back(
    rate: float, names: list[str], text: str, bits: int, pair: tuple[float, float], defaults: bool
) -> None:
    base = {"learning_rate": rate, "names": names, "text": text, "either": list(pair)}
    config = load_chain({"weights": {"bits": bits}, "chain": [{"base": base}]}, REGISTRY)
    assert load_chain(to_yaml(config, defaults), REGISTRY) == config
    assert load_chain(json.loads(json.dumps(config.to_dict(defaults))), REGISTRY) == config


def test_strings_stay_strings_for_readers_of_yaml_1_1() -> None:
    values = ["no", "on", "1:30", "2020-01-01", "010", "1_000"]
    assert yaml.safe_load(config_yaml.write(values)) == values


@settings(max_examples=50, deadline=None)
@given(st.one_of(st.floats().map(str), st.integers().map(str), SCALARS, SCALARS.map(json.dumps), st.text(max_size=6)))
@example("NaN")
@example("-0")
@example("1e400")
@example('"a\\nb"')
@example("[1, {a: 2}]")
def test_an_override_has_the_value_of_yaml(text: str) -> None:
    try:
        wanted = config_yaml.read(text, "value").value
    except ConfigError:
        with pytest.raises(ConfigError):
            config_override._value(text, Place(text))
    else:
        assert repr(config_override._value(text, Place(text))) == repr(wanted)


@pytest.mark.parametrize("parser", PARSERS)
def test_numbers_are_those_of_yaml_1_2(parser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_yaml, "_PARSER", parser)
    text = "[1e-3, 1E5, .5, -.Inf, .inf, 0x1f, -0xF, +1, 010, 1_000, no, ~, True, FALSE, '1', 1., -0.0]"
    value = config_yaml.read(text, "x").value
    wanted = [1e-3, 1e5, 0.5, -math.inf, math.inf, 31, -15, 1, "010", "1_000", "no", None, True, False, "1", 1.0, -0.0]
    assert repr(value) == repr(wanted) and math.isnan(config_yaml.read(".NaN", "x").value)


def test_written_short_or_with_defaults() -> None:
    config: ChainConfig = load_chain(CHAIN, REGISTRY)
    assert to_yaml(config, defaults=False) == "weights: {bits: 20}\nchain:\n- tree: {classes: 5}\n- base\n"
    assert "learning_rate: 0.5" in to_yaml(config)


def test_the_schema_offers_every_reduction_and_its_parameters() -> None:
    found = schema(REGISTRY)
    json.dumps(found)
    assert set(found["properties"]) == {"weights", "input", "seed", "plugins", "chain"}
    choices = found["properties"]["chain"]["items"]["anyOf"]
    assert {"const": "base"} in choices
    (tree,) = [choice for choice in choices if "tree" in choice.get("properties", {})]
    reference = tree["properties"]["tree"]["anyOf"][0]["$ref"].removeprefix("#/$defs/")
    assert found["$defs"][reference]["properties"]["classes"]["minimum"] == 2
    assert found["$defs"][reference]["additionalProperties"] is False


def test_what_the_chain_refuses_gets_its_place() -> None:
    document = read_chain(CHAIN)
    for text, place in [
        ("chain[1].base: stands last", "<chain>:5:5"),
        ("chain[0].tree asks of the layer below", "<chain>:3:5"),
        ("weights.bits: got 2, wanted at least 3", "<chain>:1:11"),
    ]:
        with pytest.raises(ConfigError) as caught, placed(document):
            raise ConfigError(text)
        assert str(caught.value) == f"{place}: {text}"
    with pytest.raises(ConfigError, match="^dyadic: no place$"), placed(document):
        raise ConfigError("dyadic: no place")


def test_the_schema_knows_losses_and_their_parameters() -> None:
    losses = schema(REGISTRY)["$defs"]["LossChoice"]["anyOf"]
    assert losses[0] == {"enum": sorted(loss.name for loss in BUILTIN_LOSSES)}
    [quantile] = [choice["properties"]["quantile"] for choice in losses[1:] if "quantile" in choice["properties"]]
    tau = {"type": "number", "default": 0.5, "exclusiveMinimum": 0.0, "exclusiveMaximum": 1.0}
    assert quantile == {"type": "object", "properties": {"tau": tau}, "additionalProperties": False}
