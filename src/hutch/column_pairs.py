"""Pairs of columns, learned by `fields` where they foretell rows held back clearly better than columns alone do."""

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from hutch.arrow_tables import kind_of
from hutch.core.data.roles import REST
from hutch.core.errors import ConfigError
from hutch.table_pairs import MOST_BITS, MOST_PAIRS, MOST_ROWS, PRIORS, clearly_less

_LEAST_ROWS, _HELD = 500, 5  # of a trial, and one row in so many is held back
_LEAST = 1e-15


class PairsColumns:
    """The choice between columns alone and pairs of them; a mixin above a classifier."""

    pairs: bool | None
    pairs_: str | None

    def _choose_pairs(self: Any, X: Any, y: NDArray[Any], weight: NDArray[np.float32]) -> None:
        """Decide whether `fit` learns pairs.

        Raises:
            ConfigError: they are asked for where there is nothing to pair.
        """
        self._paired, self.pairs_ = None, None
        rows = np.flatnonzero(weight > 0)
        columns = self._words_of(X) if self.pairs is not False else []
        settings = self._settings_of_pairs(X, columns, len(np.unique(y[rows]))) if columns else []
        if self.pairs and not settings:
            wanted = "a frame with two columns or more, one of words, no `layers` or `loss`, and not too many names"
            raise ConfigError(f"pairs: got True, wanted {wanted}")
        if not settings or len(rows) < _LEAST_ROWS:
            self._paired = settings[-1] if settings and self.pairs else None
            return
        rows = check_random_state(0).permutation(rows)[:MOST_ROWS]
        held, first = np.split(rows, [len(rows) // _HELD])
        tried = [self._losses_of(each, X, y, weight, first, held) for each in settings]
        best = int(np.argmin([losses.mean() for losses in tried]))
        alone = self._losses_of({}, X, y, weight, first, held)
        self._paired = settings[best] if self.pairs or clearly_less(tried[best], alone) else None
        learned = "columns are learned alone" if self._paired is None else "pairs of columns are learned"
        found = f"log-loss {tried[best].mean():.3f} with pairs, {alone.mean():.3f} without"
        self.pairs_ = f"{learned}: {found}, on {len(held):,} rows held back"
        if self.verbose:
            print(f"[{type(self).__name__}] {self.pairs_}")

    def _words_of(self: Any, X: Any) -> list[str]:
        """The columns of words of a frame for which the estimator has no layers of its own."""
        roles = self._roles
        once = self.passes in (None, 1) and not self.early_stopping
        if not self._named or self.layers is not None or self._tuning() or roles.namespaces is not None or not once:
            return []
        words = {field.name for field in X.schema if kind_of(field.type) == "words"} | set(roles.categorical)
        return [each.name for each in roles.features(X.column_names) if each.name in words - {*roles.text, ""}]

    def _settings_of_pairs(self: Any, X: Any, words: list[str], classes: int) -> list[dict[str, Any]]:
        """Parameters of estimators that learn pairs of columns, at least one of words; none beyond the limits."""
        copies = classes if classes > 2 else 1
        names = sum(len(X[name].unique()) for name in words)
        bits = max(self.bits, math.ceil(math.log2(2 * copies * len(words) * (names + X.num_columns))))
        numbers = X.num_columns > len(words)
        if not 0 < math.comb(len(words) + numbers, 2) * copies <= MOST_PAIRS or bits > MOST_BITS:
            return []
        above: list[Any] = [{"standardise": {"namespaces": [""], "columns": 1 << 12}}] if numbers else []
        above += [{"one_against_all": {"classes": classes}}] if classes > 2 else []
        spaces = {name: [name] for name in words} | ({"": REST} if numbers else {})
        columns = {**self._roles.plain(), "namespaces": spaces}
        return [
            {"layers": [*above, {"fields": prior}], "columns": columns, "bits": bits, "passes": 1} for prior in PRIORS
        ]

    def _losses_of(
        self: Any,
        settings: Mapping[str, Any],
        X: Any,
        y: NDArray[Any],
        weight: NDArray[np.float32],
        first: NDArray[np.int64],
        held: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """The log-loss of each row held back, under an estimator of some parameters that has learned the first rows."""
        trial = clone(self).set_params(pairs=False, verbose=0, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `fit` says the same of all rows
            trial.fit(X.take(first), y[first], weight[first])
            chances = trial.predict_proba(X.take(held))
        code = np.minimum(np.searchsorted(trial.classes_, y[held]), len(trial.classes_) - 1)
        found = np.where(trial.classes_[code] == y[held], chances[np.arange(len(held)), code], 0.0)
        return np.asarray(-np.log(np.maximum(found, _LEAST)) * weight[held], np.float64)
