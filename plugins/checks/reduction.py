"""The contract of a reduction, check by check."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.declarations import Inputs
from hutch.core.chain.derived import lacking, learns_soft_labels
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import float32s_at, importance_to_next, kernel, predict_next, state_of
from hutch.core.kernel.passing import pass_importance_to, pass_learn, pass_predict
from hutch.core.kernel.record import Record
from hutch.core.kernel.soft_label import learn_soft_next
from hutch.core.parameters import parameters_of
from hutch.plugins.checks.chain import (
    CLASSES,
    Bench,
    Example,
    batches,
    expect,
    finite,
    identical,
    learned,
    outcomes,
    reload,
    run,
    same,
)
from hutch.plugins.checks.conduct import CONDUCT_CHECKS
from hutch.plugins.checks.deciding import DECIDING_CHECKS
from hutch.plugins.checks.report import importance, loss, loss_while_learning, raw, scores
from hutch.plugins.checks.submodels import submodels, submodels_saved, width

_HALF = 120  # a group ends here
_PASSES = 3  # after which each class is predicted somewhere
_MANY, _FEW = 17, 60  # classes, and examples of them


def parameters_documented(bench: Bench) -> None:
    """The docstring of its parameters explains each of them."""
    kind = type(bench.layers[0].parameters)
    for parameter in parameters_of(kind):
        told = bool(parameter.meaning) or parameter.name in (kind.__doc__ or "")
        expect(told, f"parameter {parameter.name}", "no description", "one")


def predictions_in_range(bench: Bench) -> None:
    """Predictions are finite; classes are among the existing ones."""
    engine, records = bench.engine(), bench.records()
    found = run(engine, records)
    finite(found, "predictions while learning")
    if engine.predicts == Predictions.CLASS and engine.takes == Labels.MULTICLASS:
        classes = {record["label"] for record in records}
        strange = {float(x) for x in found} - classes - {0.0}
        expect(not strange, "predicted classes", strange, f"some of {sorted(classes)}")
    elif engine.takes == Labels.MULTICLASS:
        wanted = "Predictions.CLASS: all predictions are classes"
        expect(bool((found != np.rint(found)).any()), "declared predictions", engine.predicts, wanted)


def more_classes(bench: Bench) -> None:
    """A layer that has a parameter `classes` takes more of them than the other checks try."""
    top, below = bench.layers[0], bench.layers[1:]
    if "classes" not in vars(top.parameters):
        return
    larger = replace(bench, layers=(replace(top, parameters=replace(top.parameters, classes=_MANY)), *below))
    try:
        engine = larger.engine()
    except ConfigError:  # those below have a number of their own, or it says what it does not take
        return
    finite(run(engine, larger.records(_FEW)), f"predictions of {_MANY} classes")


def learns(bench: Bench) -> None:
    """Learning changes the predictions of examples without labels; each class is then predicted."""
    engine, records = bench.engine(), bench.records()
    hidden = bench.unlabeled(records)
    before = run(engine, hidden, learn=False)
    run(engine, records)
    after = run(engine, hidden, learn=False)
    expect(bool((before != after).any()), "predictions after learning", "those from before", "others")
    if engine.predicts == Predictions.CLASS and engine.takes == Labels.MULTICLASS:
        for _ in range(_PASSES):
            run(engine, records)
        found, wanted = set(run(engine, hidden, learn=False)), {record["label"] for record in records}
        found -= {0.0} if engine.whole_groups else set()  # the lines of a group before its last one
        expect(found == wanted, "classes predicted after learning", sorted(map(float, found)), sorted(wanted))


def predict_changes_nothing(bench: Bench) -> None:
    """Predicting leaves every learned array unchanged, and gives the same twice."""
    engine, records = bench.trained()
    before = learned(engine)
    first, second = run(engine, records, learn=False), run(engine, records, learn=False)
    same(before, learned(engine), "after predicting")
    identical(second, first, "predicted twice")


def seeded(bench: Bench) -> None:
    """The same seed gives the same bits."""
    engines = [bench.engine(seed=5) for _ in range(2)]
    first, second = (run(engine, bench.records()) for engine in engines)
    identical(second, first, "learned twice with one seed")
    same(learned(engines[0]), learned(engines[1]), "learned twice with one seed")


def batch_borders(bench: Bench) -> None:
    """It does not matter where batches end, between groups."""
    records, whole, pieces = bench.records(), bench.engine(), bench.engine()
    wanted = run(whole, records)
    got = [run(pieces, records[start : start + 30]) for start in range(0, len(records), 30)]
    identical(np.concatenate(got), wanted, "learned in eight batches")
    same(learned(whole), learned(pieces), "learned in eight batches")


def resume(bench: Bench) -> None:
    """Learning A and B equals learning A, saving, loading, learning B, bit for bit."""
    records, whole, first, second = bench.records(), bench.engine(), bench.engine(), bench.engine()
    wanted = run(whole, records)[_HALF:]
    run(first, records[:_HALF])
    reload(first, second)
    identical(run(second, records[_HALF:]), wanted, "learned on after loading (saved() names all that changes)")
    same(learned(whole), learned(second), "learned on after loading")


def save_and_load(bench: Bench) -> None:
    """A loaded chain makes the same predictions as the saved one."""
    records, saved, loaded = bench.records(), bench.engine(), bench.engine()
    run(saved, records)
    reload(saved, loaded)
    same(learned(saved), learned(loaded), "loaded")
    identical(run(loaded, records, learn=False), run(saved, records, learn=False), "predicted after loading")


def shuffled_features(bench: Bench) -> None:
    """The order of features within a namespace changes predictions by rounding only."""
    engine, records = bench.trained()
    turned = [{**record, "words": dict(reversed(record["words"].items()))} for record in records]
    got, wanted = run(engine, turned, learn=False), run(engine, records, learn=False)
    if engine.predicts == Predictions.CLASS:
        share = float(np.mean(got == wanted))
        expect(share > 0.98, "share of equal classes after shuffling features", share, "nearly all")
    else:
        far = float(np.max(np.abs(got - wanted) / (1 + np.abs(wanted))))
        expect(far < 1e-3, "relative change after shuffling features", far, "rounding only")


def unseen_features(bench: Bench) -> None:
    """Unseen features and namespaces are no problem, predicting or learning."""
    engine, records = bench.trained()
    strange = [{**record, "words": {"never": 1.0, "seen": 2.0}, "new": ["space"]} for record in records[:30]]
    finite(run(engine, strange, learn=False), "unseen features, predicting")
    finite(run(engine, strange), "unseen features, learning")


def empty_examples(bench: Bench) -> None:
    """Examples without features are predicted and learned, with or without others between."""
    engine, records = bench.engine(), bench.records(30)
    empty: list[Example] = [
        {key: record[key] for key in ("label", "group", "tag") if key in record} for record in records
    ]
    finite(run(engine, empty, learn=False), "empty examples, predicting")
    finite(run(engine, empty), "empty examples, learning")
    finite(run(engine, records), "examples after empty ones")


def _teach_nothing(bench: Bench, records: list[Example], what: str) -> None:
    engine, _ = bench.trained()
    weights = {"weights": learned(engine)["weights"]}
    finite(run(engine, records), what)
    same(weights, learned(engine), f"after {what}")


def unlabeled_examples(bench: Bench) -> None:
    """Examples without a label change nothing and are predicted."""
    if bench.engine().takes is not Labels.NONE:
        _teach_nothing(bench, bench.unlabeled(bench.records()), "unlabeled examples")


def zero_importance(bench: Bench) -> None:
    """Examples of importance 0 change no weight."""
    _teach_nothing(bench, [{**record, "importance": 0.0} for record in bench.records()], "importance 0")


def huge_importance(bench: Bench) -> None:
    """Importance of 10^10 and 10^30 leaves predictions and losses finite."""
    for huge in (1e10, 1e30):
        engine, records = bench.engine(), bench.records(60)
        for outputs in outcomes(engine, [{**record, "importance": huge} for record in records]):
            finite(outputs.predictions, f"importance {huge:g}")
        finite(run(engine, records), f"after importance {huge:g}")


def magnitudes(bench: Bench) -> None:
    """Feature values from 10^-20 to 10^10 leave predictions and weights finite."""
    for scale in (1e-20, 1e-6, 1e6, 1e10):
        engine, records = bench.engine(), bench.records(60)
        scaled = [{**r, "words": {name: x * scale for name, x in r["words"].items()}} for r in records]
        finite(run(engine, scaled), f"feature values of {scale:g}")
        weights = engine.arrays()["weights"]
        expect(bool(np.isfinite(weights).all()), f"weights after feature values of {scale:g}", "NaN or inf", "numbers")
        finite(run(engine, records), f"after feature values of {scale:g}")


def not_a_number(bench: Bench) -> None:
    """A NaN among the features, which no reader lets through, does not crash the chain or spoil other predictions."""
    engine, records = bench.engine(), bench.records()
    for batch in batches(engine, records[:_HALF]):
        engine.run_batch(batch)
    [batch] = batches(engine, records[_HALF : _HALF + 3])
    batch.values[1] = np.nan
    engine.run_batch(batch, learn=False)
    finite(run(engine, records[:_HALF], learn=False), "predictions after one of a NaN")


_SOFTENING = np.dtype([("targets", "u8"), ("classes", "i8"), ("whole", "i8")])
_softening_of = state_of(_SOFTENING)


@kernel
def _learn_softened(layer, example, label, importance, offset):
    """Teach the layer below that the label holds with a probability of 0.7."""
    s, prediction = _softening_of(layer), predict_next(layer, example, label, importance, offset)
    targets = float32s_at(s.targets, uint64(s.classes))
    targets[:] = np.float32(0.3) / np.float32(s.classes - 1)
    targets[int64(label) - 1] = np.float32(0.7)
    learn_soft_next(layer, example, s.targets, s.classes, importance, offset, s.whole)
    return prediction


class _Softening(Reduction):
    """Makes soft labels of hard ones."""

    name: ClassVar[str] = "softening"
    kernels = Kernels(_learn_softened, pass_predict)

    def __init__(self, parameters: Parameters, context: Context) -> None:
        super().__init__(parameters, context)
        classes = self.answers.classes or CLASSES
        self.state = Record(_SOFTENING, targets=np.zeros(classes, np.float32), classes=classes)


def soft_labels(bench: Bench) -> None:
    """A layer that declares soft labels learns from them what it learns from hard ones weighted by the shares."""
    engine, records = bench.engine(), bench.records()
    if engine.takes != Labels.MULTICLASS or not learns_soft_labels(engine.layers[0]):
        return
    hidden, found = bench.unlabeled(records), []
    for whole in (0, 1):
        engine = bench.with_layer(_Softening).engine()
        engine.layers[0].state["whole"] = whole
        run(engine, records)
        found.append(run(engine, hidden, learn=False))
    share = float(np.mean(found[0] == found[1]))
    expect(share > 0.8, "share of equal classes learned from soft and from weighted labels", share, "nearly all")


_ASKING = np.dtype([("asks", "u8"), ("middle", "f4"), ("beyond", "f4")])
_asking_of = state_of(_ASKING)


@kernel
def _predict_or_ask(layer, example, label, importance, offset):
    """The prediction below, or h_min of its label to the middle or, away from that, to beyond the prediction."""
    asking, prediction = _asking_of(layer), predict_next(layer, example, label, importance, offset)
    if asking.asks == uint64(0):
        return prediction
    away = prediction + asking.beyond * (prediction - asking.middle)
    target = away if asking.beyond > np.float32(0) else asking.middle
    return importance_to_next(layer, example, label, target, offset)


class _Asking(Reduction):
    """Passes everything on, or asks for h_min in place of predictions."""

    name: ClassVar[str] = "asking"
    inputs = Inputs(passes_decisions=True)
    kernels = Kernels(pass_learn, _predict_or_ask, pass_importance_to, calls=("importance_to",))

    def __init__(self, parameters: Parameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.state = Record(_ASKING)


def h_min(bench: Bench) -> None:
    """h_min is never negative or NaN, and infinite for a target on the far side of the prediction."""
    engine = bench.engine()
    if lacking(engine.layers[0], "importance_to") is not None or engine.takes != Labels.SIMPLE:
        return
    engine, records = bench.with_layer(_Asking).trained()
    predictions = run(engine, records, learn=False)
    middle = (predictions.min() + predictions.max()) / 2
    upper = np.where(predictions > middle, -1.0, 1.0)
    asking = [{**record, "label": label} for record, label in zip(records, upper.tolist(), strict=True)]
    state = engine.layers[0].state
    state["asks"], state["middle"] = 1, middle
    found = run(engine, asking, learn=False)
    expect(not np.isnan(found).any() and bool((found >= 0).all()), "h_min", found.min(), "numbers ≥ 0 or inf")
    expect(bool(np.isfinite(found).any()), "h_min of crossing the middle", "inf everywhere", "a number somewhere")
    state["beyond"] = 0.1
    found = run(engine, asking, learn=False)
    between = (upper - predictions) * (middle - predictions) > 0  # the label lies on the middle's side,
    between &= (predictions > predictions.min()) & (predictions < predictions.max())  # and no prediction is clipped
    lowest = found[between].min(initial=np.inf)
    expect(bool(np.isinf(lowest)), "h_min of a target away from the label", lowest, "inf")


REDUCTION_CHECKS: tuple[Callable[[Bench], None], ...] = (
    parameters_documented,
    width,
    predictions_in_range,
    more_classes,
    learns,
    predict_changes_nothing,
    seeded,
    batch_borders,
    resume,
    save_and_load,
    shuffled_features,
    unseen_features,
    empty_examples,
    unlabeled_examples,
    importance,
    zero_importance,
    huge_importance,
    magnitudes,
    not_a_number,
    loss,
    loss_while_learning,
    raw,
    scores,
    soft_labels,
    h_min,
    submodels,
    submodels_saved,
    *CONDUCT_CHECKS,
    *DECIDING_CHECKS,
)
