"""Simulated label requests: labels stay hidden until asked for; compared with learning from all or random labels."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hutch.active.estimate import LossSums, score_interval
from hutch.active.stopping import expected_gains, stop_after
from hutch.core.batch import Batch
from hutch.core.chain.capabilities import AsksForLabels, has
from hutch.core.chain.reduction import Predictions
from hutch.core.config.override import layer_name
from hutch.core.errors import DataError
from hutch.core.kernel.abi import UNLABELED
from hutch.durable.records import canonical_label
from hutch.plugins.manager import installed

if TYPE_CHECKING:
    from hutch.chain import Chain

Batches = Callable[[], Iterable[Batch]]
"""Returns the batches of a source at each call."""
CONFIDENCE = 0.9
_POINTS = 20


@dataclass(frozen=True, slots=True)
class Point:
    """Where a learner stood.

    Attributes:
        queries: labels bought.
        seen: examples seen.
        progressive_loss: mean 0/1 loss over all of them, whether the label was bought or not.
        test_loss: mean 0/1 loss on the test examples; NaN without any.
    """

    queries: int
    seen: int
    progressive_loss: float
    test_loss: float


@dataclass(frozen=True, slots=True)
class Run:
    """One learner's run through the data.

    Attributes:
        name: `active`, `random` or `passive`.
        curve: where it stood at about twenty places; the last is the end.
        sums: of its loss estimate.
        classes: label -> labels bought.
        mistakes: importance of the bought examples that it had predicted wrongly.
        probabilities, errors: of the labels bought, in their order.
    """

    name: str
    curve: tuple[Point, ...]
    sums: LossSums
    classes: Mapping[str, int]
    mistakes: float
    probabilities: NDArray[np.float64]
    errors: NDArray[np.float32]

    @property
    def end(self) -> Point:
        """Where it stood at the end."""
        return self.curve[-1]


def loss_on(chain: "Chain", batches: Iterable[Batch], threshold: float) -> float:
    """Mean 0/1 loss (cost, for cost-sensitive labels) of a chain that does not change; NaN without labels."""
    kept, wrong, total = chain.shared.copy(), 0.0, 0.0
    for batch in batches:
        outputs, _ = chain.run_batch(batch, learn=False)
        if len(batch.cost_ptr) > 1:
            wrong += float(outputs.losses.sum())
            total += float(batch.importance.sum())
            continue
        known = batch.labels != UNLABELED
        if chain.predicts == Predictions.CLASS:
            errors = outputs.predictions != batch.labels
        else:
            errors = (outputs.predictions > threshold) != (batch.labels > threshold)
        wrong += float(batch.importance[known] @ errors[known])
        total += float(batch.importance[known].sum())
    chain.shared[...] = kept
    return wrong / total if total else math.nan


def run(name: str, chain: "Chain", data: Batches, test: Batches | None, examples: int) -> Run:
    """Send one learner through the data.

    Args:
        name: of the run.
        chain: its top layer is `active`.
        data: labelled examples.
        test: examples to test on.
        examples: number of examples in `data`.
    """
    layer: Any = chain.layers[0]
    trace = layer.trace(examples)
    step = max(1, examples // _POINTS)
    curve: list[Point] = []
    seen = 0
    for batch in data():
        if len(batch.cost_ptr) <= 1 and bool((batch.labels == UNLABELED).any()):
            raise DataError(f"example {seen + int(np.argmax(batch.labels == UNLABELED)) + 1} has no label to hide")
        for start in range(0, len(batch), step):
            piece = batch.rows(start, min(start + step, len(batch)))
            chain.run_batch(piece)
            seen += len(piece)
            if len(piece) == step or seen == examples:
                curve.append(_stand(chain, trace[:seen], test, layer.threshold))
    layer.trace(0)
    bought = trace[trace["asked"] == 1]
    classes = Counter(canonical_label(float(label)) or "?" for label in bought["label"])
    mistakes = float((bought["importance"] * bought["error"]).sum())
    sums, errors = LossSums(*layer.loss_sums()), bought["error"].copy()
    return Run(name, tuple(curve), sums, dict(classes), mistakes, bought["probability"].copy(), errors)


def _stand(chain: "Chain", trace: NDArray[Any], test: Batches | None, threshold: float) -> Point:
    weight = float(trace["importance"].sum())
    progressive = float(trace["importance"] @ trace["error"]) / weight if weight else math.nan
    on_test = loss_on(chain, test(), threshold) if test else math.nan
    return Point(int(trace["asked"].sum()), len(trace), progressive, on_test)


def simulate(
    build: Callable[[dict[str, Any]], "Chain"],
    config: dict[str, Any],
    data: Batches,
    test: Batches | None,
    budget: float | None = None,
) -> dict[str, Run]:
    """Active learning compared with learning from as many random labels, and from all labels.

    All three have the same learner and replay.

    Args:
        build: makes a chain of a configuration.
        config: of the chain; an `active` layer is put on top if it has none.
        data: labelled examples.
        test: examples to test on.
        budget: instead of that of the chain: up to 1 a fraction of the examples, above 1 a number of labels.

    Returns:
        The runs by name: `active`, `random`, `passive`.
    """
    examples = sum(len(batch) for batch in data())
    layers = list(config["chain"])
    first = layer_name(layers[0]) or ""
    kind = installed().registry.reductions.get(first)
    top: Any = layers.pop(0) if kind is not None and has(kind, AsksForLabels) else "active"
    asking = layer_name(top) or ""
    own = {} if isinstance(top, str) else top[asking] or {}
    given = {"horizon": examples, **{key: value for key, value in own.items() if value is not None}}
    if budget is not None:
        given = {**{key: value for key, value in given.items() if key != "mellowness"}, "budget": budget}
    given["simulation"] = True

    def chain_of(active: dict[str, Any]) -> "Chain":
        return build({**config, "chain": [{asking: active}, *layers]})

    chain = chain_of(given)
    kept = ("threshold", "labels", "memory", "seed")
    common = {key: given[key] for key in kept if key in given}
    common |= {"rule": "random", "replay": int(chain.layers[0].state["replay"][0])}
    found = run("active", chain, data, test, examples)
    share = min(1.0, max(found.end.queries, 1) / max(examples, 1))
    others = {"random": share, "passive": 1.0}
    return {"active": found} | {
        name: run(name, chain_of({**common, "budget": part}), data, test, examples) for name, part in others.items()
    }


def stopping(sums: LossSums, mistakes: float, bought: int, examples: int) -> dict[str, Any]:
    """Estimates for the examples that were not bought.

    Args:
        sums: of the loss estimate.
        mistakes: importance of bought examples that were predicted wrongly.
        bought: labels bought.
        examples: number of examples that could have been requested.

    Returns:
        `loss`, `low`, `high`, `confidence`: the progressive loss over all examples and its interval; `wrong_left`,
        `wrong_left_low`, `wrong_left_high`: mistakes among the examples not bought, which buying the rest would save;
        `labels_per_mistake`: number of labels that each of them would cost. None where there is no estimate.
    """
    low, loss, high = (x if math.isfinite(x) else None for x in score_interval(sums, CONFIDENCE))
    left = [None if x is None else max(0.0, x * sums.covered - mistakes) for x in (low, loss, high)]
    rest = max(0, examples - bought)
    return {
        "loss": loss, "low": low, "high": high, "confidence": CONFIDENCE,
        "wrong_left": left[1], "wrong_left_low": left[0], "wrong_left_high": left[2],
        "labels_per_mistake": rest / left[1] if left[1] else None,
    }  # fmt: skip


def stop_of(run: Run, predictions: float) -> dict[str, Any]:
    """The stop of a run if a label costs as much as one mistake in that many future predictions.

    Returns:
        `predictions`; `labels`, None if it would have gone on; `gain`: mistakes in so many predictions that the label
        after the last one is expected to save; and, where there are test examples, `cost`: labels and mistakes in so
        many predictions, at the stop or else the end, and the least cost of any point of the curve, `best_cost` at
        `best_labels`. None where there is no estimate.
    """
    gains = expected_gains(run.probabilities, run.errors)
    labels = stop_after(gains, predictions)
    found = {"predictions": predictions, "labels": labels, "gain": None, "cost": None, "best_cost": None}
    if len(gains.gain):
        found["gain"] = predictions * float(gains.gain[-1])
    if not math.isnan(run.end.test_loss):
        queries, losses = (np.array([getattr(p, name) for p in run.curve], float) for name in ("queries", "test_loss"))
        costs, stop = queries + predictions * losses, run.end.queries if labels is None else labels
        found["cost"] = stop + predictions * float(np.interp(stop, queries, losses))
        found["best_cost"], found["best_labels"] = float(costs.min()), int(queries[np.argmin(costs)])
    return found


def to_json(runs: Mapping[str, Run], stop: float | None = None) -> dict[str, Any]:
    """The runs as one JSON object; the keys at the top are those of the active run.

    Args:
        runs: by name.
        stop: predictions to come in which one mistake costs as much as a label; None leaves `stop` out.
    """

    def plain(point: Point) -> dict[str, Any]:
        values = asdict(point).items()
        return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in values}

    found: dict[str, Any] = plain(runs["active"].end)
    active = runs["active"]
    found["estimate"] = stopping(active.sums, active.mistakes, active.end.queries, active.end.seen)
    found["classes"] = dict(sorted(active.classes.items()))
    if stop is not None:
        found["stop"] = stop_of(active, stop)
    for name, one in runs.items():
        found[name] = {**plain(one.end), "curve": [plain(point) for point in one.curve]}
    return found
