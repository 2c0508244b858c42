"""A model for words of messages, and a store with requests for it."""

import pytest

from hutch.active.label_studio.question import configuration_for, question_of
from hutch.active.loop import ask, model_version
from hutch.chain import Chain
from hutch.durable.store import Store

NAMES = {"1": "spam", "-1": "ham"}
LABELS = ("-1", "1")
CHAIN = {
    "chain": [{"active": {"budget": 0.2}}, {"linear": {"loss": "logistic"}}],
    "input": {"columns": {"text": ["text"]}},
}
TAUGHT = ["1 |text win money now", "-1 |text see you at lunch", "1 |text free money", "-1 |text lunch at noon"] * 5


@pytest.fixture
def model(tmp_path):
    chain = Chain.from_config(CHAIN)
    chain.layers[0].simulation = False
    chain.learn(TAUGHT)
    chain.layers[0].simulation = True
    chain.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "labels.db", create=True) as opened:
        yield opened


@pytest.fixture
def asked(store, model):
    """A store with two requests."""
    lines = ["'a|text win lunch", "'b|text money you"]
    ask(Chain.load(model), lines, store, 2, source="pool", model=model_version(model))
    return store


@pytest.fixture
def question():
    return question_of(configuration_for(LABELS, NAMES, ["text"]), LABELS, NAMES)
