"""Experience replay: a twin that keeps lines in a list, and models that hold a buffer."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.chain.model_of_chain import load_chain_model
from hutch.core.errors import ConfigError, ModelError, UsageError
from hutch.core.kernel.random import merand48
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.experience_replay import ExperienceReplay
from hutch.vw.command_line import words_of
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

LINEAR = {"linear": {"loss": "logistic", "min_prediction": -50.0, "max_prediction": 50.0}}


def chain_with(*layers, seed=3):
    return Chain.from_config({"chain": [*layers, LINEAR], "weights": {"bits": 10}, "seed": seed})


def lines(count=40, seed=0):
    random = np.random.default_rng(seed)
    return [
        f"{random.choice((1, -1))} {random.choice((0.5, 1, 2))} |a w{random.integers(9)} x:{random.normal():.3f}"
        + (f" |b n{random.integers(5)}" if random.random() < 0.6 else "")
        for _ in range(count)
    ]


def twin(texts, size, plays):
    """Predictions and the order of learning, by a chain without the layer."""
    plain, buffer, found = chain_with(), [None] * size, []
    state = plain.shared["random_state"][0].copy()
    for text in texts:
        found.append(float(plain.predict([text])[0]))
        for _ in range(plays):
            state, draw = merand48(state)
            place = int(draw * np.float32(size))
            if buffer[place] is not None:
                plain.learn([buffer[place]])
        buffer[place] = text
    for text in filter(None, buffer):
        plain.learn([text])
    return found, plain


@pytest.mark.parametrize(("size", "plays"), [(1, 1), (4, 1), (7, 3), (100, 2)])
def test_the_same_as_learning_the_lines_in_the_drawn_order(size, plays):
    texts = lines()
    chain = chain_with({"experience_replay": {"size": size, "plays": plays}})
    found, plain = twin(texts, size, plays)
    np.testing.assert_array_equal(chain.learn(texts), np.array(found, np.float32))
    chain.end_pass()
    np.testing.assert_array_equal(chain.weights, plain.weights)
    assert not chain.layers[0].saved()["places"].size
    chain.end_pass()
    np.testing.assert_array_equal(chain.weights, plain.weights)


def test_a_model_holds_the_buffer(tmp_path):
    texts = lines(60, 1)
    whole, part = (chain_with({"experience_replay": {"size": 9}}) for _ in range(2))
    whole.learn(texts)
    part.learn(texts[:35])
    path = str(tmp_path / "model")
    part.save(path)
    again = Chain.load(path)
    again.learn(texts[35:])
    whole.end_pass()
    again.end_pass()
    np.testing.assert_array_equal(again.weights, whole.weights)


def test_an_untrue_buffer_is_refused(tmp_path):
    chain = chain_with({"experience_replay": {"size": 9}})
    chain.learn(lines(20))
    path = str(tmp_path / "model")
    chain.save(path)
    arrays, metadata = load_chain_model(path)
    for name, change in (
        ("counts", lambda numbers: numbers + np.array([1 << 20, 0, 0, 0, 0])),
        ("counts", lambda numbers: numbers + np.array([0, 1, 0, 0, 0])),
        ("places", lambda numbers: numbers[::-1]),
        ("words", lambda numbers: numbers[:-1]),
        ("labels", lambda numbers: numbers - 5),
    ):
        key = f"layer.0.experience_replay.{name}"
        wrong = {**arrays, key: change(np.asarray(arrays[key]))}
        with pytest.raises(ModelError):
            Chain.from_arrays(wrong, metadata, path)


def test_examples_of_all_submodels_share_the_buffer():
    texts = [f"{1 + k % 3} |a w{k % 3} v{k % 5}" for k in range(60)]
    layers = [{"one_against_all": {"classes": 3, "predict_first": True}}, {"experience_replay": {"size": 200}}]
    chain = Chain.from_config({"chain": [*layers, "linear"], "weights": {"bits": 10}})
    chain.learn(texts)
    assert len({int(offset) for offset in chain.layers[1].saved()["counts"][:, 0]}) == 3
    chain.end_pass()
    assert np.mean(chain.predict(texts) == [1 + k % 3 for k in range(60)]) > 0.5


def test_what_learns_decisions_is_refused():
    with pytest.raises(
        ConfigError, match="reads single examples, but chain.1..cost_sensitive_with_features takes decisions"
    ):
        Chain.from_config({"chain": ["experience_replay", "cost_sensitive_with_features", "linear"]})


def test_options_of_vw_have_their_places():
    for words, names in (
        ("--replay_b 5 --baseline", ["experience_replay", "baseline", "linear"]),
        ("--oaa 3 --replay_m 5 --link logistic", ["one_against_all", "experience_replay", "link", "linear"]),
        ("--oaa 3 --replay_b 5", ["one_against_all", "experience_replay", "linear"]),
        ("--csoaa 3 --replay_c 5", ["experience_replay", "cost_sensitive_one_against_all", "linear"]),
        ("--replay_b 0", ["linear"]),
    ):
        chain = Chain.from_config(chain_of(parse(words.split())))
        assert [layer.name for layer in chain.layers] == names, words
        assert chain_of(parse(words_of(chain.config)))["chain"] == chain_of(parse(words.split()))["chain"] or (
            Chain.from_config(chain_of(parse(words_of(chain.config)))).config.chain == chain.config.chain
        )
    for words in ("--replay_b 5 --nn 2", "--oaa 3 --replay_b 5 --replay_m 5"):
        with pytest.raises(UsageError, match="wanted one of them"):
            chain_of(parse(words.split()))


@pytest.mark.slow
def test_contract():
    for check in checks_of_reduction(ExperienceReplay, {"size": 4, "plays": 2}):
        check()
