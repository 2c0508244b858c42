"""What an estimate of a benchmark says, in one sentence."""

import math

from hutch.benchmark.estimate import Estimate
from hutch.shell.sentences import number, things

FINE = 0.001
"""Half-width below which a fourth decimal is shown."""


def share(found: Estimate) -> str:
    """An estimate with its interval.

    >>> share(Estimate(0.6123, 0.598, 0.6262, 301, 12032))
    '0.612 (0.598 to 0.626)'
    """
    digits = 3 if found.half_width >= FINE or found.half_width == 0 else 4
    middle, low, high = (f"{each:.{digits}f}" for each in (found.value, found.low, found.high))
    return middle if found.half_width == 0 else f"{middle} ({low} to {high})"


def verdict(found: Estimate, model: str = "", against: str | None = None) -> str:
    """The sentence.

    Args:
        found: the estimate.
        model: the new model; empty: it need not be named.
        against: the model that it is compared with; None: `found` is a score.

    >>> verdict(Estimate(0.6123, 0.598, 0.6262, 301, 12032, 1204.3))
    '0.612 (0.598 to 0.626) from 301 of 12,032 questions: worth 1,204 drawn by lot.'
    >>> verdict(Estimate(-0.02, -0.03, -0.01, 60, 500), "new", "old")
    'new is worse than old by 0.020 (0.010 to 0.030), from 60 of 500 questions.'
    """
    whole = things(found.questions, "question")
    if not found.labels:
        return f"Cannot tell: no answer to {whole} is known yet."
    some = f"{number(found.labels)} of {whole}" if found.labels < found.questions else f"all {whole}"
    if against is not None:
        return f"{_difference(found, model or 'The new model', against)} from {some}."
    worth = found.worth
    end = "" if math.isnan(worth) or found.labels == found.questions else f": worth {number(worth)} drawn by lot"
    return f"{f'{model}: ' if model else ''}{share(found)} from {some}{end}."


def _difference(found: Estimate, model: str, against: str) -> str:
    if found.low <= 0 <= found.high:
        if found.low == found.high:
            return f"{model} and {against} have the same score,"
        return f"Cannot tell whether {model} or {against} is better: by {share(found)} for {model},"
    if found.value < 0:
        turned = Estimate(-found.value, -found.high, -found.low, found.labels, found.questions)
        return f"{model} is worse than {against} by {share(turned)},"
    return f"{model} is better than {against} by {share(found)},"
