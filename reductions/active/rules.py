"""Rules that give the probability with which a label is asked for.

All rules but VW's are one function of the example's `score` and of a `cutoff`. The score is h_min, the smallest
importance of a label that would change the prediction (for `margin` the distance to the threshold). The probability
never falls as the cutoff rises, so `solve_cutoff` sets the cutoff from a label budget whatever the rule is. Nothing
here sees a label.

    budget   max(floor, min(1, (cutoff / score)^4)): the loss estimate holds for any model, no P is below floor
    iwal     Beygelzimer, Hsu, Langford, Zhang, "Agnostic active learning without constraints", NIPS 2010, with
             G = score / seen (Karampatziakis, Langford, UAI 2011): trained with importance 1 / P it is consistent
    margin   1 if score ≤ cutoff: no guarantees, nothing can be estimated
    random   the cutoff itself, whatever the example

`vw_probability` is Vowpal Wabbit's variant, for comparison.
"""

import math

import numpy as np

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper, inlined

BUDGET, IWAL, MARGIN, RANDOM, VW = range(5)
RULES = {"budget": BUDGET, "iwal": IWAL, "margin": MARGIN, "random": RANDOM, "vw": VW}
"""The rules by the name that users write."""

FLOOR = 0.4
"""Default of the least probability, as a part of the budget: on none of seven tasks worse than chance."""

_TINY, HUGE = 1e-30, 1e30  # scores beyond these are equal; a cutoff of HUGE asks for every label


@inlined
def iwal_probability(gap, rate):
    """The rule of "Agnostic active learning without constraints", constants c1 = c2 = 1.

    Args:
        gap: G, by how much worse the best disagreeing hypothesis is on the past.
        rate: C = C0 ln(t + 1) / t.

    Returns:
        1 if G ≤ √C + C, else the s in (0, 1) of G = √(C / s) + C / s.
    """
    root = math.sqrt(rate)
    if gap <= root + rate:
        return 1.0
    s = (root + math.sqrt(rate + 4.0 * rate * gap)) / (2.0 * gap)
    return s * s


@compiled
def probability(rule, score, cutoff, seen, floor):
    """The probability with which a label is asked for.

    Args:
        rule: one of `RULES`, all but vw.
        score: h_min, or the margin; inf where no importance changes the prediction.
        cutoff: in the units of the score; for iwal C0, for random the probability.
        seen: examples seen before.
        floor: no probability is less, unless the rule is margin.
    """
    if rule == RANDOM:
        return min(1.0, cutoff)
    if cutoff >= HUGE or (score <= cutoff and rule != IWAL):
        return 1.0
    if rule == MARGIN:
        return 0.0
    if not score < HUGE:
        return floor
    if rule == BUDGET:
        ratio = cutoff / score
        found = (ratio * ratio) * (ratio * ratio)  # the first power is the tail of iwal; the fourth needs fewer labels
    else:
        t = max(seen, 1.0)
        found = iwal_probability(max(score, _TINY) / t, cutoff * math.log(t + 1.0) / t)
    return min(1.0, max(floor, found))


@helper
def _mean(rule, scores, count, cutoff, seen, floor):
    total = 0.0
    for i in range(count):
        total += probability(rule, scores[i], cutoff, seen, floor)
    return total / count


@helper
def solve_cutoff(rule, scores, count, wanted, start, seen, floor):
    """The cutoff at which the mean probability of some scores is `wanted`, to one part in a million.

    Args:
        rule: one of budget, iwal, margin.
        scores: scores of which the first `count` count.
        count: at least 1.
        wanted: mean probability.
        start: where to look first, > 0.
        seen: examples seen before.
        floor: see `probability`.
    """
    if wanted >= 1.0:
        return HUGE
    lower = upper = math.log(min(max(start, _TINY), HUGE))
    step = 0.125
    while _mean(rule, scores, count, math.exp(lower), seen, floor) > wanted and lower > -80.0:
        lower -= step
        step *= 2.0
    step = 0.125
    while _mean(rule, scores, count, math.exp(upper), seen, floor) < wanted and upper < 80.0:
        upper += step
        step *= 2.0
    while upper - lower > 1e-6:
        middle = 0.5 * (lower + upper)
        if _mean(rule, scores, count, math.exp(middle), seen, floor) < wanted:
            lower = middle
        else:
            upper = middle
    return math.exp(upper)


@compiled
def vw_probability(confidence, seen, sum_loss, mellowness):
    """Vowpal Wabbit 9's probability, in its float32 arithmetic.

    It multiplies by G where the rule divides by it (the rule is `iwal_probability`): just above the threshold the
    probability drops to nearly nothing and then rises with confidence, so in effect it is a margin rule.

    Args:
        confidence: |prediction - threshold| / sensitivity.
        seen: sum of importance seen.
        sum_loss: sum of progressive losses.
        mellowness: C0.
    """
    k = np.float32(seen)
    if k <= np.float32(1):
        return np.float32(1)
    one, gap = np.float32(1), np.float32(confidence) / k
    average = min(max(np.float32(sum_loss / np.float64(k)), np.float32(0)), one)
    rate = np.float32(mellowness) * (
        np.float32(np.log(k + one) + np.float32(0.0001)) / np.float32(k + np.float32(0.0001))
    )
    root = np.sqrt(rate)
    threshold = min(one, np.sqrt(average + gap))
    if gap <= root * threshold + rate:
        return one
    s = (root + np.sqrt(rate + np.float32(4) * gap * rate)) / np.float32(2) * gap
    return s * s


@compiled
def pool_probabilities(rule, scores, wanted, seen, floor):
    """Turn the scores of all examples of a pool into probabilities that add up to `wanted` labels.

    Args:
        rule: one of `RULES`, all but vw and margin.
        scores: float64 (examples), at least 0; changed in place.
        wanted: number of labels, at most the number of examples.
        seen: examples seen before.
        floor: see `probability`.
    """
    n = len(scores)
    least = HUGE
    for i in range(n):
        if scores[i] > 0.0 and scores[i] < least:
            least = scores[i]
    for i in range(n):  # where nothing is known, the score is 0: chance decides among these, too
        scores[i] = max(scores[i], 0.5 * least)
    mean = wanted / n
    cutoff = mean if rule == RANDOM else solve_cutoff(rule, scores, n, mean, 1.0, seen, floor)
    certain, chancy = 0.0, 0.0
    for i in range(n):
        scores[i] = probability(rule, scores[i], cutoff, seen, floor)
        if scores[i] < 1.0:
            chancy += scores[i]
        else:
            certain += 1.0
    if chancy > 0.0:  # the cutoff is right to one part in a million; the sum is to be exact
        scale = (wanted - certain) / chancy
        for i in range(n):
            if scores[i] < 1.0:
                scores[i] = min(1.0, scores[i] * scale)
