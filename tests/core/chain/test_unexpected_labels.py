"""Labels a chain is not made for are told, in Python and on the command line."""

import warnings

import pytest

from hutch import Chain


@pytest.mark.parametrize(
    ("layers", "line"),
    [
        ([{"linear": {"loss": "hinge"}}], "0 |f a"),
        ([{"linear": {"loss": "logistic"}}], "2 |f a"),
        ([{"linear": {"loss": "poisson"}}], "-1 |f a"),
        ([{"one_against_all": {"classes": 3}}, "linear"], "7 |f a"),
    ],
)
def test_a_label_that_does_not_fit_is_told_once(layers: list[object], line: str) -> None:
    chain = Chain.from_config({"weights": {"bits": 8}, "chain": layers})
    with pytest.warns(UserWarning, match=f"labels such as {line.split()[0]}: this chain is not made for them"):
        chain.learn([line])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chain.learn([line])


@pytest.mark.parametrize(
    ("layers", "lines"),
    [
        (["linear"], ["7 |f a", "-3.5 |f a"]),
        ([{"linear": {"loss": "hinge"}}], ["1 |f a", "-1 |f a", "|f a"]),
        ([{"linear": {"loss": {"logistic": {"lower": 0, "upper": 1}}}}], ["0 |f a", "1 |f a", "0.5 |f a"]),
        ([{"one_against_all": {"classes": 3}}, "linear"], ["1 |f a", "3 |f a"]),
    ],
)
def test_labels_that_fit_pass_in_silence(layers: list[object], lines: list[str]) -> None:
    chain = Chain.from_config({"weights": {"bits": 8}, "chain": layers})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chain.learn(lines)
