"""`hutch evaluate --propensities estimated`, and what its default says of a log without probabilities."""

import json
from dataclasses import replace

import numpy as np
import pytest

from hutch import Chain, HutchError, evaluate
from hutch.evaluation.estimated import filled
from hutch.evaluation.off_policy import estimator_of
from tests.evaluation.logs import CHAIN, UNIFORM, log, text


def test_a_log_without_chance_gets_a_loud_verdict(hutch, tmp_path) -> None:
    (tmp_path / "log.vw").write_text(text(log(4, 300, np.eye(3)[[0, 2]])))
    (tmp_path / "chain.yaml").write_text(json.dumps(UNIFORM))
    result = hutch("evaluate", tmp_path / "log.vw", "-C", tmp_path / "chain.yaml", "--propensities", "estimated")
    assert result.code == 0
    said = " ".join(result.out.split())
    assert "warning: 0 of 300 choices were not those that the features foretell" in said
    assert "Cannot tell what these decisions would have cost" in said
    assert "draw a share of the choices from now on" in said and "Next:" not in said


def test_the_default_refuses_and_names_the_option(hutch, tmp_path) -> None:
    (tmp_path / "log.vw").write_text(text(log(6, 30)))
    (tmp_path / "chain.yaml").write_text(json.dumps(CHAIN))
    result = hutch("evaluate", tmp_path / "log.vw", "-C", tmp_path / "chain.yaml")
    assert result.code == 2 and "--propensities estimated" in result.err
    result = hutch("train", tmp_path / "log.vw", "-C", tmp_path / "chain.yaml", "-f", tmp_path / "model")
    assert result.code == 1 and "hutch evaluate --propensities estimated -f MODEL" in result.err
    assert not (tmp_path / "model").exists()
    with pytest.raises(HutchError, match="probability: got None"):
        evaluate(log(6, 30), CHAIN)


def test_training_by_estimated_propensities(hutch, tmp_path) -> None:
    """The saved chain is the one that a log with these probabilities trains, and it decides well."""
    decisions = log(7, 600)
    (tmp_path / "log.vw").write_text(text(decisions))
    (tmp_path / "chain.yaml").write_text(json.dumps(CHAIN))
    ways = ["--propensities", "estimated", "-f", tmp_path / "model"]
    result = hutch("evaluate", tmp_path / "log.vw", "-C", tmp_path / "chain.yaml", *ways)
    assert result.code == 0 and result.err == ""
    trained, twin = Chain.load(tmp_path / "model"), Chain.from_config(CHAIN)
    twin.parser, regression = (
        replace(twin.parser, chosen_alone=True),
        Chain.from_config(estimator_of(CHAIN, twin.layers)),
    )
    for batch in filled(twin, regression, twin.batches(decisions)).batches:
        twin.run_batch(batch)
    for name, array in twin.arrays().items():
        np.testing.assert_array_equal(array, trained.arrays()[name], err_msg=name)
    actions = [{"a": [f"x{k}"]} for k in range(3)]
    best = [int(trained.predict([{"shared": {"u": [f"u{k}"]}, "actions": actions}]).argmax()) for k in range(2)]
    assert best == [0, 2]
    evaluate(decisions, CHAIN, propensities="estimated", final_model=tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
