"""Labels a chain is not made for are told, in Python and on the command line."""

import warnings
from pathlib import Path

import pytest

from hutch import Chain


@pytest.mark.filterwarnings("ignore:the loss 'poisson' gave nan")
@pytest.mark.parametrize(
    ("layers", "line"),
    [
        ([{"linear": {"loss": "hinge"}}], "0 |f a"),
        ([{"linear": {"loss": "logistic"}}], "2 |f a"),
        ([{"linear": {"loss": "poisson"}}], "-1 |f a"),
        ([{"one_against_all": {"classes": 3}}, "linear"], "7 |f a"),
        ([{"one_against_all": {"classes": 3, "first_class": 1}}, "linear"], "0 |f a"),
        ([{"one_against_all": {"classes": 3, "first_class": 0}}, "linear"], "3 |f a"),
        ([{"filter_tree": {"classes": 3}}, "linear"], "4 |f a"),
        ([{"error_correcting_tournament": {"classes": 3}}, "linear"], "0 |f a"),
    ],
)
def test_a_label_that_does_not_fit_is_told_once(layers: list[object], line: str) -> None:
    chain = Chain.from_config({"weights": {"bits": 8}, "chain": layers})
    with pytest.warns(UserWarning, match=f"label {line.split()[0]} .example 1.: this chain is not made for it"):
        chain.learn([line])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "the loss 'poisson' gave nan")
        chain.learn([line])


def test_labels_that_do_not_fit_are_counted() -> None:
    chain = Chain.from_config({"weights": {"bits": 8}, "chain": [{"linear": {"loss": "hinge"}}]})
    with pytest.warns(UserWarning, match="2 labels such as 3 .example 2.: this chain is not made for them"):
        chain.learn(["1 |f a", "3 |f a", "4 |f a"])


@pytest.mark.parametrize(
    ("layers", "lines"),
    [
        (["linear"], ["7 |f a", "-3.5 |f a"]),
        ([{"linear": {"loss": "hinge"}}], ["1 |f a", "-1 |f a", "|f a"]),
        ([{"linear": {"loss": {"logistic": {"lower": 0, "upper": 1}}}}], ["0 |f a", "1 |f a", "0.5 |f a"]),
        ([{"one_against_all": {"classes": 3}}, "linear"], ["1 |f a", "3 |f a"]),
        ([{"one_against_all": {"classes": 3}}, "linear"], ["0 |f a", "2 |f a"]),
        ([{"linear": {"loss": "logistic"}}], ["1 |f a", "1 |f a"]),
        ([{"linear": {"loss": "logistic"}}], ["0 |f a", "1 |f a", "-1 |f a"]),
    ],
)
def test_labels_that_fit_pass_in_silence(layers: list[object], lines: list[str]) -> None:
    chain = Chain.from_config({"weights": {"bits": 8}, "chain": layers})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chain.learn(lines)


def test_classes_that_begin_at_0_are_learned() -> None:
    chain = Chain.from_config({"chain": [{"one_against_all": {"classes": 3}}, "linear"]})
    lines = [f"{k} |f w{k}" for k in (2, 0, 1)] * 20
    chain.learn(lines)
    assert chain.predict(lines[:3]).tolist() == [2, 0, 1]


def test_labels_0_and_1_under_logistic_loss_are_doubted_once() -> None:
    chain = Chain.from_config({"chain": [{"linear": {"loss": "logistic"}}]})
    with pytest.warns(UserWarning, match="labels go from 0 to 1.*wanted -1 and 1, or loss: {logistic: {lower: 0}}"):
        chain.learn(["0 |f a", "1 |f b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chain.learn(["0 |f a", "1 |f b"])


@pytest.mark.parametrize("layer", ["filter_tree", "scoring_filter_tree"])
@pytest.mark.parametrize("first", [0, 1])
def test_trees_find_out_where_classes_begin(layer: str, first: int, tmp_path: Path) -> None:
    chain = Chain.from_config({"chain": [{layer: {"classes": 3}}, "linear"]})
    lines = [f"{k + first} |f w{k}" for k in (2 - 2 * first, 1, 2 * first)] * 20
    chain.learn(lines)
    wanted = [float(line.split()[0]) for line in lines[:3]]
    assert chain.predict(lines[:3]).tolist() == wanted
    chain.save(tmp_path / "model")
    assert Chain.load(tmp_path / "model").predict(lines[:3]).tolist() == wanted


@pytest.mark.parametrize("layer", ["cost_sensitive_filter_tree", "cost_sensitive_scoring_filter_tree"])
def test_trees_with_costs_find_out_too(layer: str) -> None:
    chain = Chain.from_config({"chain": [{layer: {"classes": 3}}, "linear"]})
    lines = ["0:0 1:1 2:1 |f a", "0:1 1:0 2:1 |f b", "0:1 1:1 2:0 |f c"] * 20
    chain.learn(lines)
    assert chain.predict(["|f a", "|f b", "|f c"]).tolist() == [0, 1, 2]


@pytest.mark.parametrize("top", ["one_against_all", "filter_tree", "error_correcting_tournament"])
def test_classes_above_a_loss_of_counts_are_said(top):
    chain = Chain.from_config({"chain": [{top: {"classes": 3}}, {"linear": {"loss": "poisson"}}]})
    with pytest.warns(UserWarning, match=f"{top} teaches -1 and 1, and poisson loss learns no -1, wanted one such as"):
        chain.learn(["1 |f a", "2 |f b", "3 |f c"])
    for loss in ("logistic", "squared"):
        Chain.from_config({"chain": [{top: {"classes": 3}}, {"linear": {"loss": loss}}]}).learn(["1 |f a", "3 |f c"])
