"""The contract of a layer that gives the actions of a decision probabilities."""

from collections.abc import Callable
from itertools import groupby

import numpy as np

from hutch.core.chain.reduction import Predictions
from hutch.plugins.checks.chain import Bench, expect, outcomes, run

_HALF = 120  # a group ends here


def _decides(bench: Bench) -> bool:
    engine = bench.engine()
    return engine.predicts == Predictions.ACTION_PROBABILITIES and engine.takes.of_actions


def probabilities(bench: Bench) -> None:
    """Probabilities of a decision are not negative and sum to 1, learning and predicting; the likely come first."""
    if not _decides(bench):
        return
    engine, records = bench.trained(_HALF)
    sizes = [len(list(lines)) for _, lines in groupby(records[_HALF:], key=lambda record: record["group"])]
    for learn in (False, True):
        what = "while learning" if learn else "while predicting"
        found = outcomes(engine, records[_HALF:], learn)
        likely, ranked = (np.concatenate([getattr(each, name) for each in found]) for name in ("predictions", "ranked"))
        ends = np.cumsum(sizes)
        for start, stop in zip(ends - sizes, ends, strict=True):
            mine, order = likely[start:stop].astype(float), ranked[start:stop].astype(int)
            expect(bool((mine >= 0).all()), f"probabilities {what}", mine, "none below 0")
            total = float(mine.sum())
            expect(abs(total - 1) < 1e-3, f"sum of the probabilities of a decision {what}", total, "1")
            expect(sorted(order) == list(range(len(mine))), f"ranked actions {what}", order, "each of them once")
            later = mine[order][1:]  # the first may be drawn
            sorted_right = learn or bool((np.diff(later) < 1e-6).all())
            expect(sorted_right, f"ranked probabilities {what}", mine[order], "the best first")


def blind_to_the_log(bench: Bench) -> None:
    """Probabilities do not depend on the action that the log has chosen, or on what it cost."""
    if not _decides(bench):
        return
    engine, records = bench.trained(_HALF)
    rest = records[_HALF:]
    hidden = run(engine, bench.unlabeled(rest), learn=False)
    told = run(engine, rest, learn=False)
    i = int(np.argmax(np.abs(hidden - told)))
    expect(
        bool(np.isclose(told[i], hidden[i])),
        "probability of an action with a label",
        told[i],
        f"{hidden[i]:g}, as without",
    )


def tells_its_loss(bench: Bench) -> None:
    """The loss of a decision that is learned is that of the probabilities before it was."""
    if not _decides(bench):
        return
    engine, records = bench.trained(_HALF)
    for _, lines in groupby(records[_HALF:], key=lambda record: record["group"]):
        decision = list(lines)
        wanted, got = (sum(each.losses.sum() for each in outcomes(engine, decision, learn)) for learn in (False, True))
        told = "that before learning: end `learn` with `conclude`"
        expect(bool(np.isclose(got, wanted, rtol=1e-3, atol=1e-5)), "loss of a decision", got, f"{wanted:g}, {told}")


DECIDING_CHECKS: tuple[Callable[[Bench], None], ...] = (probabilities, blind_to_the_log, tells_its_loss)
