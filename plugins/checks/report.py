"""A layer's treatment of importance, and its reports for each example: its loss and its raw score."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import Labels, Predictions
from hutch.plugins.checks.chain import Bench, Example, batches, expect, learned, outcomes, run

_HALF = 120  # a group ends here
_Floats = NDArray[np.float32]


def importance(bench: Bench) -> None:
    """Learning from examples of importance 3 differs from learning from examples of importance 1."""
    records = bench.records()
    engines = [bench.engine() for _ in range(2)]
    for engine, weight in zip(engines, (1.0, 3.0), strict=True):
        run(engine, [{**record, "importance": weight} for record in records])
    once, thrice = (learned(engine) for engine in engines)
    same = all(np.array_equal(array, thrice[name], equal_nan=True) for name, array in once.items())
    expect(not same, "learned with importance 3", "the same as with importance 1", "more of it")


def _judged(engine: Engine, records: list[Example], learn: bool = False, **given: Any) -> tuple[_Floats, _Floats]:
    """Predictions and losses of records, some of whose values are replaced."""
    found = outcomes(engine, [{**record, **given} for record in records], learn)
    return np.concatenate([each.predictions for each in found]), np.concatenate([each.losses for each in found])


def _rises(predictions: _Floats, values: _Floats, what: str) -> None:
    """Fail unless values never fall where predictions rise, rounding aside."""
    order = np.argsort(predictions, kind="stable")
    predictions, values = predictions[order], values[order]
    highest, top = -np.inf, 0
    start = 0
    for stop in [*(np.flatnonzero(np.diff(predictions)) + 1), len(predictions)]:
        lowest = start + int(np.argmin(values[start:stop]))
        room = 1e-3 * (1 + abs(values[lowest]))
        places = f"predictions {predictions[top]:.6g} and {predictions[lowest]:.6g}"
        expect(values[lowest] >= highest - room, f"{what} at {places}", (values[top], values[lowest]), "no fall")
        best = start + int(np.argmax(values[start:stop]))
        if values[best] > highest:
            highest, top = float(values[best]), best
        start = stop


def loss(bench: Bench) -> None:
    """The loss is that of the layer's own prediction, times the importance, and 0 without a label."""
    engine, records = bench.trained(_HALF)
    if engine.takes is not Labels.NONE:
        _loss_of_labels(bench, engine, records)
    once, twice = (_judged(engine, records, importance=weight)[1] for weight in (1.0, 2.0))
    i = int(np.argmax(np.abs(twice - 2 * once)))
    expect(bool(np.isclose(twice[i], 2 * once[i], rtol=1e-3)), "loss with importance 2", twice[i], f"2 × {once[i]:g}")
    if engine.takes is Labels.NONE:
        return
    unlabeled = _judged(engine, bench.unlabeled(records))[1]
    expect(not unlabeled.any(), "loss without a label", np.abs(unlabeled).max(), "0")


def loss_while_learning(bench: Bench) -> None:
    """The loss reported while learning is that of the prediction made before."""
    engine, records = bench.trained(_HALF)
    size = 3 if engine.parser.whole_groups else 1
    for start in range(_HALF, _HALF + 30, size):
        piece = records[start : start + size]
        predicted, wanted = _judged(engine, piece)
        learned_from, got = _judged(engine, piece, learn=True)
        if np.array_equal(predicted, learned_from):  # else the layer draws, or learns on the way
            good = bool(np.allclose(got, wanted, rtol=1e-3, atol=1e-6))
            expect(
                good,
                "loss while learning",
                got[-1],
                f"{wanted[-1]:g}, that of the example's own label as when predicting",
            )


def _loss_of_labels(bench: Bench, engine: Engine, records: list[Example]) -> None:
    """The loss falls as the label comes nearer to the prediction."""
    if engine.takes == Labels.SIMPLE:
        (predictions, low), (again, high) = (_judged(engine, records, label=label) for label in bench.labels)
        known = predictions == again  # a layer may read labels as evidence
        what = f"loss of the label {bench.labels[0]:g} less that of {bench.labels[1]:g}"
        _rises(predictions[known], (low - high)[known], what)
        if known.any():
            lowest, highest = np.argmin(predictions), np.argmax(predictions)
            got = (low - high)[highest] - (low - high)[lowest]
            expect(got > 0, f"{what} at the highest prediction beside the lowest", got, "more than 0")
        return
    labels = bench.every_label()
    found = [_judged(engine, records, label=label) for label in labels.values()]
    predictions, losses = found[0][0], np.array([each[1] for each in found])
    if engine.predicts != Predictions.CLASS or any((each[0] != predictions).any() for each in found):
        return
    right = np.array(list(labels))[:, None] == predictions
    worst = np.where(right, losses, -np.inf).max(axis=0)
    least = np.where(right, np.inf, losses).min(axis=0)
    i = int(np.argmin(least - worst))
    expect(worst[i] < least[i], "loss of the class predicted", worst[i], f"less than {least[i]:g}, that of another")


def scores(bench: Bench) -> None:
    """A layer that has scores writes a finite one for each class, and predicts the class of the best."""
    engine, records = bench.trained()
    if engine.score_count == 0 or engine.predicts != Predictions.CLASS:
        return
    for batch in batches(engine, records):
        outputs, _ = engine.run_batch(batch, learn=False, scores=True)
        known = outputs.predictions > 0  # NaN before the last line of a group
        found, classes = outputs.scores[known], outputs.predictions[known].astype(int)
        expect(found.shape[1] >= classes.max(), "score_count", found.shape[1], f"one for class {classes.max()}, too")
        expect(bool(np.isfinite(found).all()), "scores", found[~np.isfinite(found).all(axis=1)][:1], "finite ones")
        chosen, best = found[np.arange(len(found)), classes - 1], found.max(axis=1)
        if engine.takes == Labels.COST_SENSITIVE and (chosen < best).any():
            best = found.min(axis=1)  # its scores are costs
        i = int(np.argmax(np.abs(chosen - best)))
        expect(bool(np.isclose(chosen[i], best[i])), f"score of the predicted class {classes[i]}", chosen[i], best[i])
        spread = float(np.ptp(found, axis=1).max())
        expect(spread > 0, "scores", "the same for all classes", "scores that tell classes apart")


def raw(bench: Bench) -> None:
    """The raw score rises with the prediction: layers above decide by it."""
    engine, records = bench.trained()
    if engine.predicts != Predictions.SCALAR:
        return
    found = outcomes(engine, records, learn=False)
    predictions = np.concatenate([each.predictions for each in found])
    _rises(predictions, np.concatenate([each.raw for each in found]), "raw score")
