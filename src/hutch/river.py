"""Chains as estimators of River, one row at a time. Needs the extra `river`; nothing else in Hutch imports this module.

An `x` maps names to numbers and words; None gives no feature. All are in the anonymous namespace.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

try:
    from river import base
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"{error}: pip install 'hutch[river]'", name=error.name) from None

from hutch.chain import Chain, with_classes
from hutch.core.chain.reduction import Labels
from hutch.core.data.disguises import coarse, disguise
from hutch.core.errors import ConfigError, DataError, warn
from hutch.core.loss import kinds
from hutch.core.run.probabilities import Probabilities
from hutch.target_scale import TargetScale, can_rescale

Layers = Sequence[Mapping[str, Any] | str]
Features = Mapping[Any, Any]
_LOOKED_AT = (32, 256)  # rows of a stream after which its columns are judged


def _record(x: Features) -> dict[str, Any]:
    """Names in order, for a sum of float32 depends on it, and River's rows have none."""
    named = x if all(type(name) is str for name in x) else {str(name): value for name, value in x.items()}
    return {"": {name: named[name] for name in sorted(named)}}


class _Doubts:
    """Looks at the first rows of a stream for words and numbers that may not be what they seem, and warns of them."""

    def __init__(self) -> None:
        self._rows = 0
        self._seen: dict[str, list[Any]] = {}
        self._told: set[str] = set()

    def see(self, record: Mapping[str, Mapping[str, Any]]) -> None:
        """Look at a row that is learned."""
        if self._rows == _LOOKED_AT[-1]:
            return
        self._rows += 1
        for name, value in record[""].items():
            self._seen.setdefault(name, []).append(value)
        if self._rows in _LOOKED_AT:
            for name in [name for name in self._seen if name not in self._told]:
                if text := self._doubt(name):
                    self._told.add(name)
                    warn(f"x: {text}")
        if self._rows == _LOOKED_AT[-1]:
            self._seen.clear()

    def _doubt(self, name: str) -> str:
        words = [value for value in self._seen[name] if isinstance(value, str) and value]
        numbers = [float(value) for value in self._seen[name] if isinstance(value, int | float) and value == value]
        if found := disguise(list(dict.fromkeys(words)), len(numbers)):
            return found.text(name, "stream")
        return coarse(name, min(numbers, default=math.nan), max(numbers, default=math.nan))


def _memory(model: Any) -> int:
    """Bytes of the learned state; River's own walk over all references would enter kernels and plugins."""
    chain: Chain = model.chain
    return chain.weights.nbytes + sum(array.nbytes for layer in chain.layers for array in layer.saved().values())


class HutchClassifier(base.Classifier):  # type: ignore[misc]
    """A chain of reductions as a classifier, whose labels are booleans, words or numbers, met as they come.

    Parameters
    ----------
    layers : list of layers as under `chain:` in YAML; None: `standardise`, which centres and scales numbers,
        `one_against_all`, and `linear` with logistic loss and a constant rate, which follows a stream that changes.
    max_classes : fills in the number of classes where a layer lacks it, ≥ 2. A layer has a sub-model for each from the
        start, so that a new label changes nothing learned before.
    bits : the weight table has 2^bits rows.
    seed : of the chain.

    Attributes
    ----------
    chain : the `hutch.Chain`.
    classes : the labels so far; the first is the chain's class 1. Of two booleans, False is.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), HutchClassifier(), metrics.Accuracy())
    Accuracy: 89.51%
    """

    def __init__(self, layers: Layers | None = None, max_classes: int = 16, bits: int = 18, seed: int = 0) -> None:
        self.layers, self.max_classes, self.bits, self.seed = layers, max_classes, bits, seed
        plain = {"adaptive": False, "normalized": False, "power_t": 0, "learning_rate": 0.03}
        default: Layers = ["standardise", "one_against_all", {"linear": {"loss": "logistic", **plain}}]
        filled = with_classes(default if layers is None else layers, max_classes)
        self.chain = Chain.from_config({"weights": {"bits": bits}, "seed": seed, "chain": filled})
        self.classes: list[Hashable] = []
        self._codes: dict[Hashable, int] = {}
        self._doubts = _Doubts()
        self._simple = self.chain.takes is Labels.SIMPLE
        if self.chain.takes not in (Labels.SIMPLE, Labels.MULTICLASS):
            raise ConfigError(f"layers: got a chain that takes {self.chain.takes.value!r} labels, wanted classes")
        try:
            self._has_probabilities = bool(Probabilities(self.chain))
        except ConfigError:
            self._has_probabilities = False  # such as hinge loss

    _raw_memory_usage = property(_memory)

    @property
    def _multiclass(self) -> bool:
        return not self._simple

    def _code(self, y: Hashable) -> int:
        """The number of a label, from 1."""
        if (code := self._codes.get(y)) is None:
            if y is None or y != y:
                raise DataError(f"y: got {y!r}, wanted a label")
            room = 2 if self._simple else self.chain.layers[0].answers.classes or self.max_classes
            for label in (False, True) if not self.classes and isinstance(y, bool | np.bool_) else (y,):
                if len(self.classes) == room:
                    raise DataError(f"y: got {y!r} after {room} other labels; wanted max_classes={room + 1} or more")
                self.classes.append(label)
                self._codes[label] = len(self.classes)
            code = self._codes[y]
        return code

    def learn_one(self, x: Features, y: Hashable, w: float = 1.0) -> None:
        """Learn a row.

        Raises
        ------
        DataError : values that cannot be used, or one label too many.
        """
        code, record = self._code(y), _record(x)
        self._doubts.see(record)
        self.chain.learn({**record, "label": 2 * code - 3 if self._simple else code, "importance": w})

    def predict_one(self, x: Features, **kwargs: Any) -> Any:
        """The label of a row; None before any was learned, or if a chain without scores predicts a class never seen."""
        outputs, known = self.chain.outputs_of_one(_record(x)), len(self.classes)
        if self._simple:
            code = 1 + int(outputs.predictions[0] > self.chain.layers[0].answers.decision_threshold)
        elif known and self.chain.score_count:
            code = 1 + int(np.argmax(outputs.scores[0, :known]))
        else:
            code = int(outputs.predictions[0])
        return self.classes[code - 1] if code <= known else None

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """The probability of each label so far.

        Raises
        ------
        NotImplementedError : the chain knows none, as that of a hinge loss; River then takes `predict_one`.
        """
        if not self._has_probabilities:
            raise NotImplementedError("wanted `loss: logistic`, or `multinomial`, for probabilities")
        classes = self.classes or [False, True] if self._simple else self.classes
        found = self.chain.predict_proba_one(_record(x)).values()
        chances = dict(zip(classes, found, strict=False))
        total = sum(chances.values()) or 1.0
        return {label: chance / total for label, chance in chances.items()}


class HutchRegressor(base.Regressor):  # type: ignore[misc]
    """A chain of reductions as a regressor.

    Parameters
    ----------
    layers : list of layers as under `chain:` in YAML; None: `standardise` and `linear` with squared loss.
    bits : the weight table has 2^bits rows.
    seed : of the chain.

    Targets are learned in units of their deviation about their mean, as far as these are known; the linear model is
    re-expressed when they change. Chains that end in something other than `linear` learn them as they are.

    Attributes
    ----------
    chain : the `hutch.Chain`, whose predictions are on the scale of the targets so far.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), HutchRegressor(), metrics.MAE())
    MAE: 0.394168
    """

    def __init__(self, layers: Layers | None = None, bits: int = 18, seed: int = 0) -> None:
        self.layers, self.bits, self.seed = layers, bits, seed
        wide = {"linear": {"min_prediction": -1e9, "max_prediction": 1e9}}
        chosen = ["standardise", wide] if layers is None else list(layers)
        self.chain = Chain.from_config({"weights": {"bits": bits}, "seed": seed, "chain": chosen})
        if self.chain.takes is not Labels.SIMPLE:
            raise ConfigError(f"layers: got a chain that takes {self.chain.takes.value!r} labels, wanted 'simple'")
        self._scaled = can_rescale(self.chain) and self.chain.layers[-1].answers.loss_kind == kinds.SQUARED
        self._target, self._doubts = TargetScale(), _Doubts()

    _raw_memory_usage = property(_memory)

    def learn_one(self, x: Features, y: float, w: float = 1.0) -> None:
        """Learn a row.

        Raises
        ------
        DataError : a target or values that cannot be used.
        """
        target = float(y)
        if not math.isfinite(target):
            raise DataError(f"y: got {y}, wanted a number")
        if self._scaled and w > 0:
            list(self._target.follow(np.array([target]), self.chain))
        record = _record(x)
        self._doubts.see(record)
        self.chain.learn({**record, "label": (target - self._target.centre) / self._target.scale, "importance": w})

    def predict_one(self, x: Features) -> float:
        """The prediction for a row."""
        return float(self.chain.outputs_of_one(_record(x)).predictions[0]) * self._target.scale + self._target.centre
