"""Explanations of a model's predictions: contributions of columns, weights of words, coefficients."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hutch.core.chain.capabilities import FitsScale, has
from hutch.core.chain.reduction import Labels
from hutch.frames import as_table, without_column, word_rows

_LEAST = float(np.finfo(np.float32).tiny)


class Explains:
    """Explanations of an estimator; a mixin above a class that has the methods used here."""

    def explain(self: Any, X: Any, background: Any = None) -> NDArray[np.float64]:
        """Effect of each column on each row's score: the score less the score with the column missing.

        With a background, the mean effect over its rows is subtracted. Where the chain is linear in the columns, these
        are the Shapley values, w (x - mean x), and sum to the score less its mean over the background. Elsewhere, as
        with interactions, they are effects of one column at a time, and need not sum to anything. They explain
        the model, not the world: two columns with the same information each get a part.

        Parameters
        ----------
        X : as in `predict`.
        background : rows such as those learned from; None: a column is compared with a missing one.

        Returns
        -------
        Shape (rows, columns): of the prediction of a regressor, of the second class's score under a binary chain, else
        of the score of the predicted class.
        """
        check_is_fitted(self)
        if self.chain_.takes != Labels.SIMPLE and not self.chain_.score_count:
            raise AttributeError(f"explain: the layer {self.chain_.layers[0].name!r} has no scores")
        effects: NDArray[np.float64]
        whole, effects = self._effects(X)
        if background is not None:
            effects = effects - self._effects(background)[1].mean(axis=0)
        if whole.ndim == 1:
            return effects
        return np.take_along_axis(effects, whole.argmax(axis=1)[:, None, None], axis=2)[:, :, 0]

    def _effects(self: Any, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The scores, and the effect of each column on them: (rows, columns), or (rows, columns, classes)."""
        X = self._examples(X, reset=False)
        whole = self._raw(X)
        columns = [whole - self._raw(without_column(X, j)) for j in range(X.shape[1])]
        return whole, np.stack(columns, axis=1) if columns else np.zeros((len(whole), 0, *whole.shape[1:]))

    def word_weights(self: Any, X: Any) -> tuple[list[tuple[str, str]], NDArray[np.float64]]:
        """Effect of each word of a frame, in a column of text or of names, on the score of a row that has it.

        It is measured on rows with one word and nothing else, so that it is the weight where the chain is linear in
        the words; words that were never learned have 0, or the weight of others whose row of the table they share.

        Parameters
        ----------
        X : a frame, as in `predict`.

        Returns
        -------
        (column, word) of each, the strongest first, and the weights, shape (words,), or (words, classes) where there is
        a score for each class.
        """
        check_is_fitted(self)
        if not self._named:
            raise ValueError("word_weights: fitted to a matrix, wanted a frame; the weights of columns are in coef_")
        table = self._examples(X, reset=False)
        texts = self._roles.texts(table.column_names)
        names, rows = word_rows(table, {table.column_names[k] for k in texts})
        scores = self._raw(rows)
        found = scores[1:] - scores[0]
        order = np.argsort(-np.abs(found.reshape(len(found), -1)).max(axis=1, initial=0), kind="stable")
        return [names[k] for k in order], found[order]

    def _margins(self: Any, X: Any) -> NDArray[np.float64]:
        """The values that are linear in the columns of a linear chain, (rows, sub-models)."""
        if not self.chain_.score_count:
            return np.concatenate([outputs.raw for outputs in self._outputs(X)]).astype(np.float64)[:, None]
        scores: NDArray[np.float64] = self._raw(X)
        return np.log(np.maximum(scores, _LEAST)) if self.chain_.layers[0].answers.scores_are_probabilities else scores

    def _linear_weights(self: Any) -> NDArray[np.float64]:
        """Weights of the columns, and last of the constant, (sub-models, columns + 1)."""
        check_is_fitted(self)
        layers = self.chain_.layers
        standardise = layers[0].inputs.fits_scale
        learned, width = layers[standardise:], self.n_features_in_
        linear = len(learned) <= 2 and all(layer.linear for layer in learned)
        if not linear or getattr(layers[-1].parameters, "interactions", False):
            names = ", ".join(layer.name for layer in layers)
            raise AttributeError(f"coef_: a chain of {names} is not linear in the columns; use explain(X)")
        centre, unit = np.zeros(width), np.ones(width)

        def rows(values: NDArray[np.float64]) -> Any:
            return as_table(values, self._columns) if self._named else values.astype(np.float32)

        try:
            [batch] = self.chain_.batches(self._examples(rows(unit[None]), reset=False), columns=self._roles)
        except ValueError as error:
            raise AttributeError(f"coef_: {error}; use explain(X) or word_weights(X)") from None
        if len(batch.indices) != width + 1 or len(batch.namespace_id) != 2:
            raise AttributeError("coef_: `columns` divides the columns or leaves some out; use explain(X)")
        if known := next((found for layer in layers if has(layer, FitsScale) and (found := layer.columns())), None):
            centre, unit = np.array([known.get(int(index), (0.0, 1.0)) for index in batch.indices[:-1]]).T
        steps = np.diag(np.where(unit > 0, unit, 1.0))
        found = self._margins(rows(np.vstack([centre, centre + steps])))
        slopes = (found[1:] - found[0]).T / steps.diagonal()
        return np.column_stack([slopes, found[0] - slopes @ centre])
