"""Who won a vote, in words or by the scores of both sides."""

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import Problem
from hutch.crowd.data.sides import SIDES, key_of
from hutch.crowd.data.values import MISSING, number_in
from hutch.crowd.pairs.kernels import LEFT, RIGHT, TIE

Codes = NDArray[np.int32]

WINNERS = {
    **dict.fromkeys((*SIDES[0], "1", "1.0", "a>b", "a>>b"), LEFT),
    **dict.fromkeys((*SIDES[1], "2", "2.0", "b>a", "b>>a", "a<b", "a<<b"), RIGHT),
    **dict.fromkeys(("tie", "tied", "draw", "equal", "both", "neither", "same", "bothbad", "1.5", "a=b"), TIE),
}
"""Allowed texts of a vote, in normalised spelling; it may also be the name of one of the two players."""
NONE = 3
"""In place of an outcome: no vote says so."""
SCORES = ("left score", "right score")
"""The roles of two columns that decide a vote together: the greater number wins."""


def outcome_of(said: str) -> int:
    """Who won in words, which a remark in brackets may follow: `tie (bothbad)`, `model_a (much better)`.

    >>> outcome_of("tie (bothbad)") == TIE, outcome_of("Model A") == LEFT, outcome_of("gpt") == NONE
    (True, True, True)
    """
    return WINNERS.get(key_of(said), WINNERS.get(key_of(re.sub(r"\([^()]*\)\s*$", "", said)), NONE))


def by_scores(
    codes: Sequence[Codes], names: Sequence[Sequence[str]], fields: Mapping[str, str]
) -> tuple[Codes, list[str]]:
    """A column of winners from the scores of both sides; a missing one is no vote.

    Args:
        codes, names: of the scores of the left and of the right side.
        fields: the names of these columns, by role.

    Raises:
        Problem: a score is not a number.
    """
    found = []
    for role, code, texts in zip(SCORES, codes, names, strict=True):
        values = np.array(
            [np.nan if not text.strip() or text in MISSING else number_in(text) for text in texts] or [0.0]
        )
        for text, value in zip(texts, values.tolist(), strict=False):
            if value != value and text.strip() and text not in MISSING:
                raise Problem(f"{fields[role]}: got {text!r}, wanted a number: the side with the greater one wins")
        found.append(values[code])
    left, right = found
    known = np.isfinite(left) & np.isfinite(right)
    outcome = np.where(known, np.where(left > right, 0, np.where(left < right, 1, 2)), 3)
    return outcome.astype(np.int32), ["left", "right", "tie", ""]
