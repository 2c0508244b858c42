"""Off-policy evaluation of logs in which a decision fills several slots, each slot for itself and all together.

With the probability π_k(a) that a chain gives the logged action a of slot k, after its own best actions in the slots
before, the probability p_k in the log, the cost c_k and w_k = π_k(a) / p_k:

* slots with a cost each: Σ w_k c_k / Σ w_k over the decisions, for each slot; and the sum over the slots. An action
  that the log has used in an earlier slot cannot be in a later one, so that the w_k of later slots have a mean below 1,
  and only an estimate that divides by their sum is near the truth. A cost is taken to depend on its own slot alone;
* slates, with one cost c of all slots: the same with g = Σ_k w_k - slots + 1 in place of w_k, the weighted
  pseudo-inverse estimator for slots that are filled independently; and of slot k the cost if only this slot were filled
  by the chain.

Intervals are those of `hutch.evaluation.off_policy`; the one of a sum takes the slots of a decision together, whatever
their dependence.

Sources: A. Swaminathan and others, "Off-policy evaluation for slate recommendation", NIPS 2017; S. Li and others,
"Offline evaluation of ranking policies with click models", KDD 2018, for costs of a slot's own.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import SHARED_ROW, Batch, ends_of_groups
from hutch.core.chain.engine import Engine
from hutch.core.chain.outputs import Outputs
from hutch.core.chain.reduction import Labels
from hutch.core.errors import UsageError
from hutch.core.intervals import quantile, wilson
from hutch.core.kernel.abi import UNLABELED
from hutch.core.run.decisions import slot_rows
from hutch.evaluation.off_policy import Estimate, value_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SlotValue:
    """Estimates for one slot.

    Attributes:
        slot: counted from 1.
        decisions: number of those whose action in this slot is known with its probability.
        logged: mean cost in the log.
        snips: estimate of the mean cost by the chain's choices for the slot.
        effective: number of the chain's own choices that the log is worth.
    """

    slot: int
    decisions: int
    logged: float
    snips: Estimate
    effective: float


@dataclass(frozen=True, slots=True)
class SlotsValue:
    """Estimates for all slots of a decision.

    Attributes:
        decisions: number of those with a known slot at least; of slates with all.
        logged: mean cost in the log, of slots with a cost each their sum.
        snips: estimate of the same by the chain's choices.
        effective: number of the chain's own decisions that the log is worth; of slots with a cost each, of the worst.
        warnings: reasons to doubt the estimates.
        slots: each for itself.
    """

    decisions: int
    logged: float
    snips: Estimate
    effective: float
    warnings: tuple[str, ...]
    slots: tuple[SlotValue, ...]

    @property
    def best(self) -> Estimate:
        """The estimate that a verdict rests on."""
        return self.snips


def evaluate_slots(
    chain: Engine, batches: Iterable[Batch], *, learn: bool = True, confidence: float = 0.95
) -> SlotsValue:
    """Estimate the mean cost of a chain's decisions from a log of decisions with several slots.

    Args:
        chain: takes logged slots or slates.
        batches: the log, whole decisions.
        learn: the chain is evaluated on each decision before it learns it; False evaluates it unchanged.
        confidence: of the intervals, between 0 and 1.

    Raises:
        UsageError: a log without labels.
    """
    slate = chain.takes is Labels.LOGGED_SLATE
    parts = [_weights_of(batch, chain.run_batch(batch, learn=learn)[0], slate) for batch in batches]
    most = max((weight.shape[1] for weight, _ in parts), default=0)
    weight, cost = (np.concatenate([np.zeros((0, most)), *(_wide(part[k], most) for part in parts)]) for k in range(2))
    known = ~np.isnan(weight)
    kept = known.any(axis=1)
    weight, cost, known = weight[kept], cost[kept], known[kept]
    if not len(weight):
        raise UsageError("got a log without labels, wanted action:cost:probability at the slots")
    each = [(k, value_of(*_column(weight, cost, known[:, k], k), confidence)) for k in range(most) if known[:, k].any()]
    slots = tuple(SlotValue(k + 1, value.decisions, value.logged, value.snips, value.effective) for k, value in each)
    if slate:
        joint = np.where(known, weight, 0).sum(axis=1) - known.sum(axis=1) + 1
        first = np.array([row[one][0] for row, one in zip(cost, known, strict=True)])
        whole = value_of(joint, first, np.zeros(len(joint)), np.zeros(len(joint)), confidence)
        warnings = tuple(text for text in whole.warnings if not text.startswith("ips"))
        return SlotsValue(whole.decisions, whole.logged, whole.snips, whole.effective, warnings, slots)
    warnings = tuple(f"slot {k + 1}: {text}" for k, value in each for text in value.warnings if _holds(text, k))
    logged = float(np.where(known, cost, 0).sum(axis=1).mean())
    least = min(slot.effective for slot in slots)
    return SlotsValue(len(weight), logged, _sum(weight, cost, known, confidence), least, warnings, slots)


def _holds(warning: str, k: int) -> bool:
    """Whether a warning of single choices is one of slot k, too: not that ips is odd, nor, later, the mean weight."""
    return not warning.startswith(("ips", "dr") if k == 0 else ("ips", "dr", "weights have the mean"))


def _wide(table: Floats, most: int) -> Floats:
    """The table with so many columns, NaN in those that it lacks."""
    return np.pad(table, ((0, 0), (0, most - table.shape[1])), constant_values=np.nan)


def _column(weight: Floats, cost: Floats, known: NDArray[np.bool_], k: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Weights and costs of a slot, and predicted costs of 0."""
    nothing = np.zeros(int(known.sum()))
    return weight[known, k], cost[known, k], nothing, nothing


def _weights_of(batch: Batch, outputs: Outputs, slate: bool) -> tuple[Floats, Floats]:
    """Weight and cost of each slot of each decision, float64 (decisions, slots); NaN where the log has none."""
    rows = np.flatnonzero(slot_rows(batch))
    ends = ends_of_groups(batch)
    decision = np.searchsorted(ends, rows, "right")
    slot = np.arange(len(rows)) - np.searchsorted(decision, decision, "left")
    weight = np.full((len(ends), int(slot.max(initial=-1)) + 1), np.nan)
    cost = weight.copy()
    low, high = int(batch.cost_ptr[0]), int(batch.cost_ptr[-1])
    row_of = np.repeat(np.arange(len(batch)), np.diff(batch.cost_ptr))
    given, likely = batch.costs[low:high], batch.probabilities[low:high]
    entries = np.flatnonzero((given != UNLABELED) & (likely > 0))
    logged, first = np.unique(row_of[entries], return_index=True)
    entries = entries[first]
    place = np.searchsorted(rows, logged)
    ranked = outputs.ranked.reshape(len(batch), -1)[logged]
    hit = ranked == batch.cost_classes[low:high][entries][:, None]
    policy = np.where(hit, outputs.scores[logged], 0).sum(axis=1)
    at = decision[place], slot[place]
    weight[at] = policy / likely[entries].astype(np.float64)
    cost[at] = given[entries]
    if slate:
        joint = np.full(len(ends), np.nan)
        shared = np.flatnonzero((likely == SHARED_ROW) & (given != UNLABELED))
        joint[np.searchsorted(ends, row_of[shared], "right")] = given[shared]
        slots = np.bincount(decision, minlength=len(ends))
        whole = ~np.isnan(joint) & (np.sum(~np.isnan(weight), axis=1) == slots) & (slots > 0)
        cost = np.where(whole[:, None] & ~np.isnan(weight), joint[:, None], np.nan)
        weight[~whole] = np.nan
    return weight, cost


def _sum(weight: Floats, cost: Floats, known: NDArray[np.bool_], confidence: float) -> Estimate:
    """The estimate of the sum of costs over the slots of a decision.

    As for single choices, two more decisions are allowed for, one with the lowest and one with the highest cost in each
    slot, both with great weights.
    """
    here = known.any(axis=0)
    w, c, known = np.where(known, weight, 0)[:, here], np.where(known, cost, 0)[:, here], known[:, here]
    low, high = np.where(known, c, np.inf).min(axis=0), np.where(known, c, -np.inf).max(axis=0)
    total, squares = w.sum(axis=0), (w**2).sum(axis=0)
    used = total > 0
    share, ends = known.mean(axis=0), (low, high)
    ratio = np.where(used, (w * c).sum(axis=0) / np.where(used, total, 1), (low + high) / 2)
    value, (least, most) = float(share @ ratio), (float(share @ end) for end in ends)
    if not used.all() or not most > least:  # nothing is known of a slot
        return Estimate(value, least, most)
    heavy = (w**3).sum(axis=0) / squares
    reach = quantile(confidence, float((squares**2 / (w**4).sum(axis=0)).min()) + 1)
    w, c = np.vstack([w, heavy, heavy]), np.vstack([c, low, high])
    at = (w * c).sum(axis=0) / w.sum(axis=0)
    each = (w * (c - at) * (share / np.sqrt(w.sum(axis=0) * total))).sum(axis=1)  # of one slot as in `value_of`
    found = wilson(value, float(each @ each), float(share @ at), (least, most), reach)
    return Estimate(value, min(found[0], value), max(found[1], value))
