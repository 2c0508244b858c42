"""Readers, losses and crowd models of plugins that give something else than they should."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch.chain import Chain
from hutch.core.batch import Batch
from hutch.core.data.files import InputFiles
from hutch.core.data.sources import to_batches
from hutch.core.errors import DataError, PluginError
from hutch.core.kernel.abi import loss_kernel
from hutch.core.loss.losses import Loss
from hutch.core.text.parser import ParserOptions
from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import from_triples
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.models.model import CrowdModel
from hutch.crowd.table import create
from hutch.plugins.manager import Plugins

OPTIONS = ParserOptions(bits=10)
VOTES = [(f"v{j}", f"t{i}", "ab"[(i + j) % 2]) for i in range(6) for j in range(3)]


def nothing(source: str, options: Any, columns: Any) -> None:
    return None


def text(source: str, options: Any, columns: Any) -> str:
    return "1 |w a"


def other_signature(source: str) -> Iterator[Batch]:
    return iter(())


def half(source: str, options: Any, columns: Any) -> Iterator[Any]:
    yield from to_batches("1 |w a", options)
    yield "2 |w b"


def failing(source: str, options: Any, columns: Any) -> Iterator[Any]:
    yield from to_batches("1 |w a", options)
    raise RuntimeError("disk on fire")


def refusing(source: str, options: Any, columns: Any) -> Iterator[Any]:
    raise DataError(f"{source}:1: no line")


@pytest.mark.parametrize(
    ("reader", "error", "message"),
    [
        (nothing, PluginError, "nothing raised TypeError: 'NoneType' object is not iterable"),
        (text, PluginError, "text gave str"),
        (other_signature, PluginError, "other_signature raised TypeError: other_signature.. takes 1 positional"),
        (half, PluginError, "half gave str among its batches"),
        (failing, PluginError, "failing raised RuntimeError: disk on fire"),
        (refusing, DataError, "data.odd:1: no line"),
    ],
)
def test_a_reader_that_gives_no_batches_is_named(tmp_path: Path, reader: Any, error: Any, message: str) -> None:
    path = tmp_path / "data.odd"
    path.write_text("anything")
    with pytest.raises(error, match=message):
        list(InputFiles([str(path)], OPTIONS, {".odd": reader}))


class NotANumber(DawidSkene):
    name = "not_a_number"

    def posterior(self, state: Any) -> Any:
        return super().posterior(state) * np.nan


class OneColumn(DawidSkene):
    name = "one_column"

    def posterior(self, state: Any) -> Any:
        return super().posterior(state)[:, :1]


class Nothing(DawidSkene):
    name = "nothing"

    def posterior(self, state: Any) -> Any:
        return None


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (NotANumber, r"NotANumber.posterior of the crowd model 'not_a_number': got numbers that are not probabilities"),
        (OneColumn, r"OneColumn.posterior .*: got \(6, 1\), wanted probabilities of shape \(6, 2\)"),
        (Nothing, r"Nothing.posterior: got NoneType, wanted an array \(items, classes\)"),
    ],
)
def test_a_crowd_model_without_posteriors_is_named(model: type[DawidSkene], message: str) -> None:
    with pytest.raises(PluginError, match=message):
        aggregate(from_triples(VOTES), model())


class Older(CrowdModel):
    """Written for an interface of before."""

    name = "older"

    def maximise(self, labels: Any, responsibilities: Any) -> Any:
        return None


def test_a_crowd_model_that_lacks_methods_is_named() -> None:
    with pytest.raises(PluginError, match=r"crowd model 'older': .*\.Older lacks .*count, .*settle"):
        create("older", {"older": Older})


def broken(prediction: float, label: float, parameter: float) -> float:
    return (prediction - label) ** 2 * np.nan


def slope(prediction: float, label: float, parameter: float) -> float:
    return 2.0 * (prediction - label)


def raising(prediction: float, label: float, parameter: float) -> float:
    if label > 0.0:
        raise ValueError
    return 2.0 * (prediction - label)


def endless(prediction: float, label: float, parameter: float) -> float:
    return -np.inf if label > 0.0 else 2.0 * (prediction - label)


def far_off(prediction: float, label: float, parameter: float) -> float:
    return np.nan if label > 50.0 else (prediction - label) ** 2


def square(prediction: float, label: float, parameter: float) -> float:
    return (prediction - label) ** 2


def chain_of(loss: Loss) -> Chain:
    from hutch.core.config import read

    plugins = Plugins(only=())
    plugins.registry.losses[loss.name] = loss
    config = read.validate(read.read_chain({"chain": [{"linear": {"loss": loss.name}}]}), plugins.registry)
    return Chain(config, plugins)


@pytest.mark.parametrize(
    "functions", [(broken, slope), (raising, slope), (square, raising), (square, endless), (square, broken)]
)
def test_a_loss_that_is_no_finite_number_is_refused(functions: Any) -> None:
    with pytest.raises(PluginError, match=r"loss 'failing': \w+ at prediction .*, label .*: got (nan|-?inf), wanted"):
        chain_of(Loss.plain("failing", *functions))


def test_a_loss_that_fails_at_unusual_numbers_alone_is_named() -> None:
    chain = chain_of(Loss.plain("failing", value=far_off, derivative=slope))
    with pytest.warns(UserWarning, match="the loss 'failing' gave nan for an example: the mean loss is unknown"):
        chain.learn(["90 |w a", "-1 |w b"] * 5)


def own_value(prediction, label, scale, norm, loss):  # type: ignore[no-untyped-def]
    return (prediction - label) ** 2


def own_derivative(prediction, label, scale, norm, loss):  # type: ignore[no-untyped-def]
    return 2.0 * (prediction - label)


def own_step(prediction, label, scale, norm, loss):  # type: ignore[no-untyped-def]
    return -2.0 * scale * (prediction - label)


def own_square(prediction, label, scale, norm, loss):  # type: ignore[no-untyped-def]
    return 4.0 * (prediction - label) ** 2


def own_raising(prediction, label, scale, norm, loss):  # type: ignore[no-untyped-def]
    if label > 0.0:
        raise ValueError
    return 2.0 * (prediction - label)


def own_nan(prediction, label, scale, norm, loss):  # type: ignore[no-untyped-def]
    return (prediction - label) ** 2 * np.nan


def own_infinite(prediction, label, scale, norm, loss):  # type: ignore[no-untyped-def]
    return np.inf if label > 0.0 else (prediction - label) ** 2


def own_negative(prediction, label, scale, norm, loss):  # type: ignore[no-untyped-def]
    return -4.0 * (prediction - label) ** 2


OWN = {
    "value": loss_kernel(own_value),
    "derivative": loss_kernel(own_derivative),
    "update": loss_kernel(own_step),
    "unsafe_update": loss_kernel(own_step),
    "square_gradient": loss_kernel(own_square),
}
RAISING, NAN, INFINITE, NEGATIVE = map(loss_kernel, (own_raising, own_nan, own_infinite, own_negative))


def test_a_loss_with_kernels_of_its_own_learns_what_they_say() -> None:
    data = ["1 |w a", "-1 |w b", "1 |w a c"] * 5
    own, classic = chain_of(Loss("own", **OWN)), Chain.from_config({"chain": [{"linear": {"loss": "classic"}}]})
    own.learn(data)
    classic.learn(data)
    np.testing.assert_allclose(own.predict(data), classic.predict(data), rtol=1e-5)


@pytest.mark.parametrize("kernel", list(OWN))
@pytest.mark.parametrize("wrong", [RAISING, NAN, INFINITE], ids=["raises", "nan", "infinite"])
def test_a_kernel_that_gives_no_finite_number_is_refused(kernel: str, wrong: Any) -> None:
    said = f"{kernel} at prediction -0.5, label .*: got (nan|inf|-1), |kernel 'own_raising' raised ValueError$"
    with pytest.raises(PluginError, match=said):
        chain_of(Loss("failing", **{**OWN, kernel: wrong}))


def test_a_squared_gradient_below_0_is_refused() -> None:
    with pytest.raises(PluginError, match="square_gradient at prediction -0.5, label -2: got -9, wanted"):
        chain_of(Loss("failing", **{**OWN, "square_gradient": NEGATIVE}))
