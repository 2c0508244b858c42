"""The contract of a layer's learning: towards labels, after predicting, with the importance that it names."""

from collections.abc import Callable
from dataclasses import fields
from typing import ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.declarations import Inputs
from hutch.core.chain.derived import lacking
from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Reduction
from hutch.core.kernel.abi import importance_to_next, kernel, predict_next, sensitivity_next, state_of
from hutch.core.kernel.cache import AddressKernel
from hutch.core.kernel.passing import pass_learn
from hutch.core.kernel.record import Record
from hutch.plugins.checks.chain import Bench, Example, batches, expect, outcomes, run

_HALF = 120  # a group ends here
_TRIED, _FEW = 24, 6


def _losses(engine: Engine, records: list[Example]) -> float:
    return float(np.concatenate([each.losses for each in outcomes(engine, records, learn=False)]).mean())


def lowers_loss(bench: Bench) -> None:
    """The loss of what was learned is lower than before."""
    engine, records = bench.engine(), bench.records()
    if engine.takes not in (Labels.SIMPLE, Labels.MULTICLASS, Labels.COST_SENSITIVE, Labels.MULTILABEL):
        return
    before = _losses(engine, records)
    run(engine, records)
    after = _losses(engine, records)
    good = after < 1.2 * before
    expect(good, "mean loss of examples that were learned", f"{after:.4g}", f"at most {before:.4g}, that before")


def learns_after_predicting(bench: Bench) -> None:
    """The prediction of an example that is learned is the one made before it was."""
    engine, records = bench.engine(), bench.records()
    size = 3 if engine.parser.whole_groups else 1
    changed = late = 0
    for start in range(0, 3 * _TRIED, size):
        piece = records[start : start + size]
        before = run(engine, bench.unlabeled(piece), learn=False)
        got = run(engine, piece)
        after = run(engine, bench.unlabeled(piece), learn=False)
        moved = ~np.isclose(before, after, rtol=1e-4)
        changed += int(moved.sum())
        late += int((moved & np.isclose(got, after, rtol=1e-5) & ~np.isclose(got, before, rtol=1e-5)).sum())
    wanted = "those before: call predict first"
    expect(
        changed < _FEW or 2 * late <= changed,
        "predictions while learning",
        f"{late} of {changed} that come after it",
        wanted,
    )


def offsets_added(bench: Bench) -> None:
    """A base learner adds an example's own offset, EXAMPLE.base, to its prediction."""
    engine, records = bench.trained()
    if not engine.layers[0].is_base:
        return
    found = []
    for base in (0.0, 0.125, -0.125):
        for batch in batches(engine, records[:30]):
            batch.base[:] = base
            found.append(engine.run_batch(batch, learn=False)[0].raw.copy())
    moved = np.abs(found[1] - found[2]).max()
    expect(moved > 0, "raw score with offsets of 0.125 and -0.125", "the same", "another: add e.base")


_SPENDING = np.dtype([("asks", "u8"), ("target", "f4")])
_spending_of = state_of(_SPENDING)


@kernel
def _predict_or_price(layer, example, label, importance, offset):
    """The prediction below; or h_min of a target, or the sensitivity."""
    s = _spending_of(layer)
    if s.asks == uint64(1):
        return importance_to_next(layer, example, label, s.target, offset)
    if s.asks == uint64(2):
        return sensitivity_next(layer, example, label, np.float32(1), offset)
    return predict_next(layer, example, label, importance, offset)


class _Spending(Reduction):
    """Passes everything on, or says what a change of the prediction costs."""

    name: ClassVar[str] = "spending"
    inputs = Inputs(passes_decisions=True)

    def __init__(self, parameters: Parameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.state = Record(_SPENDING)

    @property
    def kernels(self) -> Kernels:
        """Those that ask the layer below for what it offers."""
        below, names = self.context.below, ("importance_to", "sensitivity")
        offered = tuple(name for name in names if below is not None and lacking(below, name) is None)
        return Kernels(pass_learn, _predict_or_price, calls=offered)


def _priced(bench: Bench, what: str) -> Engine | None:
    """A trained chain that says a price; None if the layer lacks it, or takes other labels."""
    engine = bench.engine()
    if lacking(engine.layers[0], what) is not None or engine.takes != Labels.SIMPLE:
        return None
    return bench.with_layer(_Spending).trained(_HALF)[0]


def h_min_spent(bench: Bench) -> None:
    """An example that is learned with its h_min takes the prediction to the target."""
    engine = _priced(bench, "importance_to")
    if engine is None or not engine.layers[1].is_base:
        return
    state, ratios, (lower, upper) = engine.layers[0].state, list[float](), bench.labels
    for record in bench.records()[_HALF:]:
        [prediction] = run(engine, [record], learn=False)
        label = lower if prediction > (lower + upper) / 2 else upper
        target = prediction + 0.1 * (label - prediction)
        state["target"], state["asks"] = target, 1
        [needed] = run(engine, [{**record, "label": label}], learn=False)
        state["asks"] = 0
        if 0 < needed < 1e6 and target != prediction:
            run(engine, [{**record, "label": label, "importance": float(needed)}])
            [after] = run(engine, [record], learn=False)
            ratios.append(float((after - prediction) / (target - prediction)))
    if len(ratios) >= _TRIED // 2:
        got = float(np.median(ratios))
        expect(0.5 < got < 2, "share of the way that h_min goes", f"{got:.3g}", "about 1: it must reach the target")


def sensitive(bench: Bench) -> None:
    """Sensitivity is the size of the change of the prediction per importance: never below 0, above 0 somewhere."""
    engine = _priced(bench, "sensitivity")
    if engine is None:
        return
    engine.layers[0].state["asks"] = 2
    found = np.concatenate([run(engine, [{**r, "label": y} for r in bench.records()], False) for y in bench.labels])
    expect(bool((found >= 0).all()), "sensitivity", found.min(), "a number ≥ 0, the size of the change")
    expect(bool((found > 0).any()), "sensitivity", "0 everywhere", "above 0 somewhere")


def kernels_kept(bench: Bench) -> None:
    """Kernels call nothing that only Numba can find: their machine code is kept, and later runs start at once."""
    layer = bench.engine().layers[0]
    for owner in (layer.kernels, getattr(layer, "own", layer.kernels)):
        for each in fields(owner):
            found = getattr(owner, each.name)
            kept = not isinstance(found, AddressKernel) or found.loads_without_numba()
            wanted = "kernels that make no arrays, lists or texts: keep room in the state"
            expect(kept, f"kernel {each.name!r}", "code that each process has Numba load again", wanted)


CONDUCT_CHECKS: tuple[Callable[[Bench], None], ...] = (
    lowers_loss,
    learns_after_predicting,
    offsets_added,
    h_min_spent,
    sensitive,
    kernels_kept,
)
