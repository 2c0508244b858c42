"""The layers that an estimator has: those given, or ones that suit the table, its targets and the parameters."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from hutch.chain import Chain, with_classes
from hutch.core.data.roles import Roles
from hutch.core.errors import ConfigError
from hutch.frames import roles_of

Layers = Sequence[Mapping[str, Any] | str]

UNBOUNDED = 1e9  # in deviations
_OWN = 1 << 20  # numbers in the covariances of all classes; beyond it they share one
_LOSS_NAMES = {"log_loss": "logistic", "squared_error": "squared", "absolute_error": "quantile"}  # scikit-learn's
_WIDE, _RANK = 512, 128  # columns beyond which covariances are of low rank, and that of regressors


@dataclass(eq=False, repr=False)
class Settings(BaseEstimator):  # type: ignore[misc]
    """The parameters that classifier and regressor share."""

    layers: Layers | None = None
    _: KW_ONLY
    loss: str | Mapping[str, Any] | None = None
    learning_rate: float | None = None
    l2: float | None = None
    interactions: Sequence[Sequence[str]] | None = None
    bits: int = 18
    passes: int | None = None
    shuffle: bool = True
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 3
    columns: Mapping[str, Any] | None = None
    random_state: Any = 0
    verbose: int = 0

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name.

        Parameters
        ----------
        deep : also those within `layers`, such as `layers__1__linear__l2`: the layer's place, its name, its parameter.
        """
        found: dict[str, Any] = super().get_params(deep)
        return found | dict(_within("layers", self.layers)) if deep else found

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also within `layers`, as a search over `layers__1__linear__l2` does.

        Examples
        --------
        >>> from hutch.sklearn import HutchClassifier
        >>> HutchClassifier(["standardise", "linear"]).set_params(layers__1__linear__l2=1e-6).layers
        ['standardise', {'linear': {'l2': 1e-06}}]
        """
        inner = {name: value for name, value in params.items() if name.startswith("layers__")}
        super().set_params(**{name: value for name, value in params.items() if name not in inner})
        if inner and self.layers is None:
            raise ValueError(f"{next(iter(inner))}: got no layers, wanted layers=[...] set before")
        for name, value in inner.items():
            self.layers = _changed(self.layers, name.split("__")[1:], value, name)
        return self


def _within(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The settings within layers by the names that `set_params` knows them by."""
    if isinstance(value, Mapping):
        inner = [(str(name), each) for name, each in value.items()]
    elif isinstance(value, Sequence) and not isinstance(value, str):
        inner = [(str(place), each) for place, each in enumerate(value)]
    else:
        return
    for name, each in inner:
        yield f"{path}__{name}", each
        yield from _within(f"{path}__{name}", each)


def _changed(part: Any, path: Sequence[str], value: Any, name: str) -> Any:
    """A part of layers with one setting changed; the part given stays as it was.

    Raises:
        ValueError: there is no such part.
    """
    if not path:
        return value
    first, *rest = path
    if part is None or part == first:  # a layer without settings
        part = {} if part is None else {first: None}
    if isinstance(part, Mapping) and (first in part or not rest):
        return {**part, first: _changed(part.get(first), rest, value, name)}
    if isinstance(part, list | tuple) and first.isdecimal() and int(first) < len(part):
        at = int(first)
        return [*part[:at], _changed(part[at], rest, value, name), *part[at + 1 :]]
    raise ValueError(f"{name}: got {first!r}, wanted a part of {part!r}")


class ChoosesLayers(Settings):
    """Chooses layers for the table that was seen last."""

    _columns: list[str]  # of a frame
    _seed: Any
    _named: bool  # fitted to a frame
    _in_order: bool = False  # rows are learned as they come, and columns are not met before
    _row: tuple[int, bool] = (0, False)  # columns of a table of numbers, and whether they have words, too; 0: none
    _paired: Mapping[str, Any] | None = None  # layers, columns and bits, where `fit` found that pairs of columns help

    @property
    def _roles(self) -> Roles:
        """The roles of the columns of X."""
        return roles_of(self.columns if self._paired is None else self._paired["columns"])

    def _build(self, layers: Layers) -> Chain:
        """A chain of the layers; its base learner has the parameters that are set on the estimator."""
        self._seed = self.random_state
        if not isinstance(self._seed, Integral):  # None, or a generator that draws one
            self._seed = int(check_random_state(self._seed).randint(1 << 31))
        return Chain.from_config(self._config(layers, int(self._seed)))

    def _layers(self, classes: int | None) -> list[Any]:
        """The layers for so many classes, or for numbers (None): those given, or defaults for the rows and the loss."""
        if isinstance(self.layers, str):
            raise ConfigError(f"layers: got {self.layers!r}, wanted a list such as [{self.layers!r}]")
        if self.layers is not None:
            return list(self.layers) if classes is None else with_classes(self.layers, classes)
        if self._paired is not None:
            return list(self._paired["layers"])
        once = self.passes in (None, 1) and not self.early_stopping
        if 0 < self._row[0] <= 2**self.bits and once and not self._tuning():
            return self._posterior(classes)
        if classes is None:
            loss = next(iter(self.loss)) if isinstance(self.loss, Mapping) else self.loss
            link = [{"link": {"function": "poisson"}}] if loss == "poisson" else []  # predictions are means of labels
            return [*link, {"linear": {}}]
        above = [] if classes == 2 else [{"one_against_all": {"classes": classes}}]
        return [*above, {"linear": {"loss": "logistic"}}]

    def _posterior(self, classes: int | None, reach: float = 10.0) -> list[Any]:
        """A posterior of all columns, with reach and variances that suit tables, and outliers cut off for classes."""
        columns, words = self._row
        own = classes is not None and classes * columns**2 <= _OWN
        room = columns if classes is None else min(columns, math.isqrt(_OWN // classes))
        enough = room >= (2 * len(self._columns) if words else columns)
        if columns <= _WIDE and (classes is None or (enough and self._in_order)):
            return self._moments(classes, room)
        row: dict[str, Any] = {"namespace": "" if self._named else "x", "dimension": columns, "features": "named"}
        row |= {"reach": reach, "constant_variance": 4.0, "loss": "logistic" if classes == 2 else "squared"}
        clip = {"clip": UNBOUNDED} if classes is None else {}
        row |= {"rank": _RANK} if classes is None and columns > _WIDE else {}
        above: list[Any] = [{"standardise": {"columns": 1 << 12 if words else columns, **clip}}]
        if classes is not None and classes > 2:
            row["covariance"] = "own" if own else "shared"
            above.append({"multinomial": {"classes": classes}})
        return [*above, {"bayesian_linear": row}]

    def _moments(self, classes: int | None, room: int) -> list[Any]:
        """A posterior that does not mind the order of rows and the units of columns; of classes, nearly."""
        row: dict[str, Any] = {"namespace": "" if self._named else "x", "dimension": room, "features": "named"}
        row |= {"reach": 10.0, "loss": "logistic" if classes == 2 else "squared"}
        if classes is None:
            return [{"bayesian_linear": {**row, "covariance": "moments"}}]
        above = [] if classes == 2 else [{"multinomial": {"classes": classes}}]
        return [*above, {"bayesian_linear": {**row, "covariance": "sites", "constant_variance": 4.0}}]

    def _tuning(self) -> dict[str, Any]:
        """Parameters of the base learner that are set."""
        names = ("loss", "learning_rate", "l2", "interactions")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def _config(self, layers: Layers, seed: int) -> dict[str, Any]:
        """The configuration of the chain that `_build` makes."""
        if tuning := self._tuning():
            *above, base = layers
            name, given = (base, None) if isinstance(base, str) else next(iter(base.items()))
            if isinstance(tuning.get("loss"), str):
                tuning["loss"] = _LOSS_NAMES.get(tuning["loss"], tuning["loss"])
            layers = [*above, {name: {**(given or {}), **tuning}}]
        bits = self.bits if self._paired is None else self._paired["bits"]
        return {"weights": {"bits": bits}, "seed": seed, "chain": list(layers)}
