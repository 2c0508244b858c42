"""Chains in Python: inputs of all kinds, copies, misspelled names."""

import copy
import gc
import io
import pickle
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch import Chain, HutchError
from hutch.core.chain.engine import Engine
from hutch.core.errors import ConfigError, DataError

LINES = ["1 |f a b:0.5", "-1 |f b", "1 |f a c"] * 20
LOGISTIC = {"chain": [{"linear": {"loss": "logistic"}}]}


def learned(lines: list[str] = LINES, config: Any = LOGISTIC) -> Chain:
    chain = Chain.from_config(config)
    chain.learn(lines)
    return chain


def by_pickle(chain: Chain) -> Any:
    return pickle.loads(pickle.dumps(chain))


@pytest.mark.parametrize("copied", [by_pickle, copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
@pytest.mark.parametrize(
    "config",
    [
        LOGISTIC,
        {"seed": 3, "chain": [{"active": {"budget": 0.3}}, "linear"]},
        {"weights": {"bits": 12}, "chain": [{"dyadic": {"left": "f", "right": "g"}}]},
    ],
    ids=["linear", "active", "dyadic"],
)
def test_a_copy_goes_on_by_itself(copied: Callable[[Chain], Any], config: Any) -> None:
    lines = [line + " |g x" for line in LINES]
    original = learned(lines, config)
    other = copied(original)
    assert type(other) is Chain and other.config == original.config
    wanted = original.predict(lines)
    np.testing.assert_array_equal(other.predict(lines), wanted)
    progressive = other.learn(lines)
    np.testing.assert_array_equal(original.predict(lines), wanted)
    np.testing.assert_array_equal(original.learn(lines), progressive)


def test_an_engine_is_not_copied() -> None:
    chain = learned()
    engine = Engine(chain.config.chain, chain.plugins.registry, bits=10)
    with pytest.raises(TypeError, match="an Engine holds addresses and cannot be copied; a hutch.Chain can"):
        copy.deepcopy(engine)


def test_files_by_path(tmp_path: Path) -> None:
    (tmp_path / "a.vw").write_text("\n".join(LINES[:30]) + "\n")
    (tmp_path / "b.csv").write_text("label,x\n1,2\n-1,y\n")
    chain, wanted = Chain.from_config(LOGISTIC), learned(LINES[:30])
    chain.learn(tmp_path / "a.vw")
    np.testing.assert_array_equal(chain.predict(LINES), wanted.predict(LINES))
    assert len(chain.learn([tmp_path / "a.vw", tmp_path / "b.csv"])) == 32
    with pytest.raises(DataError, match="no.vw: no such file"):
        chain.learn(tmp_path / "no.vw")
    with pytest.warns(UserWarning, match="c.vw:1:1: bad label") as found:
        (tmp_path / "c.vw").write_text("good |f a\n")
        chain.learn(tmp_path / "c.vw")
    assert found[0].filename == __file__


def test_a_model_keeps_its_number_of_weights(tmp_path: Path) -> None:
    learned().save(tmp_path / "model")
    with pytest.raises(ConfigError, match="weights.bits: got 20, wanted 18, those of .*model"):
        Chain.load(tmp_path / "model", ["weights.bits=20"])


def test_open_files_are_their_lines() -> None:
    wanted = learned().predict(LINES)
    text = "\n".join(LINES) + "\n"
    for file in (io.StringIO(text), io.BytesIO(text.encode())):
        chain = Chain.from_config(LOGISTIC)
        chain.learn(file)
        np.testing.assert_array_equal(chain.predict(LINES), wanted)


def test_labels_follow_a_matrix() -> None:
    x, y = np.eye(3), [1, -1, 1]
    one, other = Chain.from_config(LOGISTIC), Chain.from_config(LOGISTIC)
    np.testing.assert_array_equal(one.learn(x, y, [1, 2, 1]), other.learn(x, labels=y, importance=[1, 2, 1]))


def test_a_namespace_that_nobody_has_is_warned_of_once() -> None:
    chain = Chain.from_config({"chain": [{"linear": {"interactions": [["f", "flim"], [":", "f"]]}}]})
    chain.learn(LINES)
    with pytest.warns(
        UserWarning, match=r"chain\[0\].linear names the namespace 'flim', which no example has"
    ) as found:
        chain.learn(LINES)
    assert len(found) == 1 and found[0].filename == __file__
    chain.learn(LINES)


def test_namespaces_that_a_layer_makes_are_there() -> None:
    layers = [
        {"ppca": {"namespace": "f", "dimension": 4, "rank": 2, "features": "hashed"}},
        {"linear": {"interactions": [["latent", "latent"], ["f", "f"]]}},
    ]
    chain = Chain.from_config({"chain": layers})
    chain.learn(LINES * 2)


def test_progress_is_told_of() -> None:
    events: list[Any] = []
    chain = Chain.from_config(LOGISTIC)
    chain.learn(LINES, on_progress=events.append)
    assert [event.examples for event in events] == [1, 2, 4, 8, 16, 32]
    assert events[-1].average_loss < events[0].average_loss
    silent = learned()
    np.testing.assert_array_equal(silent.predict(LINES), chain.predict(LINES))
    assert silent.statistics == chain.statistics
    chain.learn(LINES[:4], on_progress=events.append)
    assert [event.examples for event in events[6:]] == [1, 2, 4]


@pytest.mark.parametrize("text", ["chain: [linear]", "{chain: [linear]}", '{"chain": ["linear"]}', "chain:\n- linear"])
def test_yaml_as_text(text: str) -> None:
    assert [layer.name for layer in Chain.from_config(text).layers] == ["linear"]


def test_the_name_of_a_file_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match="chian.yaml: cannot be read: No such file"):
        Chain.from_config("chian.yaml")


@pytest.mark.parametrize(
    ("loss", "place", "message"),
    [
        ("{quantile: {tau: fast}}", "2:37", "quantile.tau: got 'fast', wanted a number"),
        ("{quantile: {tau: 2}}", "2:37", "quantile.tau: got 2, wanted more than 0 and less than 1"),
        ("{quantile: fast}", "2:31", "quantile: got 'fast', wanted keys with values"),
    ],
)
def test_a_wrong_parameter_of_a_loss_is_placed(loss: str, place: str, message: str) -> None:
    with pytest.raises(HutchError) as raised:
        Chain.from_config(f"chain:\n  - linear: {{loss: {loss}}}\n")
    assert str(raised.value) == f"<chain>:{place}: chain[0].linear.loss.{message}"


@pytest.mark.parametrize("make", [list, iter], ids=["a list", "an iterator"])
def test_several_passes_are_what_several_calls_are(make: Callable[[list[str]], Any]) -> None:
    lines = [f"{1 if i % 3 else -1} |f w{i % 7} x:{i % 5}" for i in range(200)]
    config = {"weights": {"bits": 8}, "chain": [{"linear": {"loss": "logistic", "decay": 0.5}}]}
    one, other = Chain.from_config(config), Chain.from_config(config)
    found = one.learn(make(lines), passes=3)
    for number in range(3):
        expected = other.learn(lines)
        if number < 2:
            other.end_pass()
    assert found.tolist() == expected.tolist()
    assert one.weights.tobytes() == other.weights.tobytes()


def records(count: int) -> list[dict[str, Any]]:
    return [{"label": 1 if i % 3 else -1, "f": {f"w{i}": 1.0, "x": i % 5}} for i in range(count)]


def text(count: int) -> list[str]:
    return [f"{1 if i % 3 else -1} |f w{i} x:{i % 5}" for i in range(count)]


@pytest.mark.parametrize("make", [text, records])
def test_several_passes_over_many_examples_see_all_of_them(make: Callable[[int], Any]) -> None:
    one, other = (Chain.from_config({"chain": ["linear"]}) for _ in range(2))
    one.learn(make(10_000), passes=2)
    for number in range(2):
        other.learn(make(10_000))
        if number < 1:
            other.end_pass()
    assert one.weights.tobytes() == other.weights.tobytes()


@pytest.mark.parametrize("make", [text, records])
def test_batches_can_be_kept(make: Callable[[int], Any]) -> None:
    chain = Chain.from_config({"chain": ["linear"]})
    kept = list(chain.batches(make(10_000)))
    assert len(kept) > 1
    for mine, again in zip(kept, chain.batches(make(10_000)), strict=True):
        assert mine.indices.tobytes() == again.indices.tobytes()


def test_no_pass_is_refused() -> None:
    with pytest.raises(ConfigError, match="passes: got 0, wanted at least 1"):
        Chain.from_config({"chain": ["linear"]}).learn(["1 |f a"], passes=0)


def test_a_table_without_labels_is_warned_of_once() -> None:
    chain = Chain.from_config(LOGISTIC)
    with pytest.warns(UserWarning, match="no example had a label: nothing was learned"):
        chain.learn([{"f": {"a": 1.0}}, {"f": {"a": 2.0}}])
    chain.learn([{"f": {"a": 1.0}}])
    assert not chain.weights.any()


def test_an_array_for_each_decision() -> None:
    layers = ["explore_epsilon", "contextual_bandit", "cost_sensitive_with_features", "linear"]
    chain = Chain.from_config({"chain": layers})
    decisions = [
        ["shared |u ann", "|a tea", "|a coffee"],
        ["|a milk", "0:1:0.5 |a beer", "|a gin"],
        ["shared |u bob", "|a tea"],
    ]
    text = "\n\n".join(map("\n".join, decisions))
    chain.learn(text)
    before = chain.statistics
    found = chain.predict_decisions(text)
    assert [len(each) for each in found] == [2, 3, 1]
    np.testing.assert_array_equal(np.concatenate(found), chain.predict(text))
    for decision, each in zip(decisions, found, strict=True):
        np.testing.assert_array_equal(chain.predict("\n".join(decision)), each)
        np.testing.assert_array_equal(chain.predict_decisions(decision)[0], each)
    assert chain.predict_decisions("") == [] and chain.statistics == before
    with pytest.raises(ConfigError, match="predict_decisions: chain.0..linear does not predict decisions"):
        learned().predict_decisions("|a b")


def test_a_table_that_features_share_is_reported_once_as_examples_double() -> None:
    chain = Chain.from_config({"chain": ["linear"], "weights": {"bits": 8}})
    lines = [f"{k % 2} |f w{k} v{3 * k}" for k in range(1200)]
    with pytest.warns(UserWarning, match=r"rows are used, so features share rows: -b 1\d \(weights.bits\)"):
        chain.learn(lines)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chain.learn(lines[:100])


def test_a_chain_shows_its_layers_and_what_it_has_learned() -> None:
    chain = Chain.from_config({"chain": [{"active": {"budget": 0.1}}, {"linear": {"loss": "logistic"}}]})
    assert repr(chain) == "<hutch chain: active(budget=0.1) over linear(loss=logistic); 0 examples>"
    chain.learn(["1 |a b"] * 1200)
    assert repr(chain).startswith(
        "<hutch chain: active(budget=0.1) over linear(loss=logistic); 1,200 examples, average "
    )


@pytest.mark.parametrize(
    "use",
    [
        lambda chain: chain.learn(["1 |f a"] * 3),
        lambda chain: chain.learn("1 |f a"),
        lambda chain: chain.learn({"label": 1, "f": {"a": 1}}),
        lambda chain: chain.learn_one({"a": 1.0}, 1.0),
        lambda chain: chain.predict(["|f a"] * 3),
    ],
)
def test_a_chain_that_is_no_longer_used_frees_its_weights_at_once(use):
    """Not when cycles are searched for: hundreds of chains, as in a search for parameters, would fill the memory."""
    gc.collect()
    gc.disable()
    try:
        chain = Chain.from_config({"chain": ["linear"]})
        use(chain)
        weights = weakref.ref(chain.weights)
        del chain
        assert weights() is None
    finally:
        gc.enable()
