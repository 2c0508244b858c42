"""A loop of label requests around a classifier: choose the rows to label next, and learn their labels."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hutch.chain import Chain
from hutch.core.chain.capabilities import AsksForLabels, has
from hutch.core.config.override import layer_name
from hutch.plugins.manager import installed
from hutch.reductions.active.drawing import draw
from hutch.sampling.draws import choose


class AskAndTell:
    """Label requests of a classifier; a mixin above an estimator that has the methods used here."""

    chain_: Chain
    _stands_for = 0.0

    def ask(
        self: Any, X: Any, n: int, classes: ArrayLike | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Choose rows to label at random; the more easily a row's prediction changes, the likelier it is chosen.

        A classifier that has not learned anything draws them uniformly. Its chain gets the layer `active`; one of your
        own layers must be on top, as `layers=[{"active": {"rule": "margin"}}, "linear"]`.

        Parameters
        ----------
        X : the pool, rows without labels, as in `predict`; without those that have been asked for.
        n : number of rows, at most all.
        classes : all classes, which a classifier that has not learned anything needs.

        Returns
        -------
        The places of the rows in X, ascending, and the probability with which each was drawn, shape (n,) both. Over all
        rows of X a mean is estimated from those drawn with the weights 1 / probability.
        """
        if n < 1:
            raise ValueError(f"n: got {n}, wanted at least 1")
        if not hasattr(self, "chain_"):
            self._examples(X, reset=True)
        layer = self._active("ask", classes)
        trace = layer.trace(len(X) if not hasattr(X, "shape") else X.shape[0])
        try:
            for _ in self._outputs(X):
                pass
            scores = trace["score"].copy()
        finally:
            layer.trace(0)
        bought, count = int(layer.progress["bought"][0]), min(n, len(scores))
        self._stands_for, seed = len(scores) / count, [int(self._seed), bought]
        if bought:
            return draw(layer, scores, count, seed)
        chances = np.full(len(scores), count / len(scores))
        rows = choose(chances, seed)
        return rows, chances[rows]

    def tell(
        self: Any, X: Any, y: ArrayLike, probability: ArrayLike | None = None, classes: ArrayLike | None = None
    ) -> Any:
        """Learn labels, and repeat some learned before: as many as their share of the pool allows for.

        Parameters
        ----------
        X, y : rows that were asked for, and their labels; or labels that you have before the first question.
        probability : as `ask` returned it, for rules that weigh labels by it, such as `iwal`.
        classes : as of `ask`.
        """
        X, y = self._examples_and_targets(X, y, reset=not hasattr(self, "chain_"))
        layer = self._active("tell", classes)
        weighted = layer.parameters.weighted
        if weighted and probability is None:
            rule = layer.parameters.rule
            raise ValueError(f"probability: the rule {rule!r} weighs labels by it, wanted what `ask` returned")
        hidden, layer.simulation, layer.examples_per_label = layer.simulation, False, self._stands_for
        try:
            self._go_on(X, y, 1 / np.asarray(probability) if weighted else None, None)
        finally:
            layer.simulation, layer.examples_per_label = hidden, 0.0
        return self

    def _active(self: Any, method: str, classes: ArrayLike | None) -> Any:
        """The layer `active` of the chain, which is built if necessary."""
        if not hasattr(self, "chain_"):
            if classes is None:
                raise ValueError(f"classes must be passed on the first call to {method}")
            top = installed().registry.reductions.get((self.layers and layer_name(self.layers[0])) or "")
            asks = top is not None and has(top, AsksForLabels)
            self._start(np.unique(np.asarray(classes)), [] if asks else ["active"])
        layer: Any = self.chain_.layers[0]
        if not has(layer, AsksForLabels):
            text = f"{method}: the classifier was fitted without the layer 'active'"
            raise ValueError(f"{text}, wanted a first call to ask or tell in place of fit")
        if layer.parameters.rule == "vw":
            raise ValueError(f"{method}: the rule 'vw' decides row by row, wanted another, such as 'budget'")
        return layer
