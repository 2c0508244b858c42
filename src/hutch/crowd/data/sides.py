"""The names by which the columns of votes on pairs are known."""

import re
from collections.abc import Sequence

_NAMED, _TEXTS = ("model", "player", "team", "system", "generator"), ("answer", "response", "option")
SIDES = tuple(
    {side, letter, nth, place, f"{side}model", f"model{side}", *(f"{each}{number}" for each in _NAMED)}
    | {f"{each}{letter}" for each in _NAMED + _TEXTS}
    | {f"{place}{each}" for each in _NAMED}
    for side, letter, nth, place, number in (("left", "a", "first", "home", 1), ("right", "b", "second", "away", 2))
)
"""Names of the two sides of votes on pairs."""


WINNER = {"winner", "preference", "choice", "vote", "preferred", "outcome", "verdict"}
"""Names of the column of the side that won."""
_TWINS = {"a": "b", "1": "2", "left": "right", "home": "away", "chosen": "rejected", "first": "second"}
_SCORED = {"winner", "score", "scores", "rating", "grade", "goals", "points", "won", "wins", "votes"}
_WON, _LOST = (
    {name for each in kinds for name in (each, f"{each}model", f"model{each}", f"{each}team", f"{each}player")}
    for kinds in (("chosen", "winner", "preferred"), ("rejected", "loser", "dispreferred"))
)


def key_of(field: str) -> str:
    """A name without case, blanks, brackets, `-` and `_`."""
    return re.sub(r"[\s_()-]", "", field.lower())


def scores_of(fields: Sequence[str]) -> tuple[int, int] | None:
    """Two columns with the scores of the sides: `score_a` and `score_b`, `winner_model_a` and `winner_model_b`.

    >>> scores_of(["home_team", "away_team", "home_goals", "away_goals"]), scores_of(["prompt_a", "prompt_b"])
    ((2, 3), None)
    """
    parts = [_words(field) for field in fields]
    for i, words in enumerate(parts):
        for k, word in enumerate(words):
            other = [*words[:k], _TWINS.get(word, ""), *words[k + 1 :]]
            if other in parts and _SCORED & {*words[:k], *words[k + 1 :]}:
                return i, parts.index(other)
    return None


def say_the_outcome(fields: Sequence[str]) -> set[str]:
    """Columns that say who won, and are no contexts: scores of both sides, and whether it was a tie.

    >>> sorted(say_the_outcome(["winner_model_a", "winner_model_b", "winner_tie", "language"]))
    ['winner_model_a', 'winner_model_b', 'winner_tie']
    """
    scores = scores_of(fields)
    ties = {field for field in fields if "tie" in (words := _words(field)) and _SCORED & {*words}}
    return ties | ({fields[place] for place in scores} if scores else set())


def _words(field: str) -> list[str]:
    """The words and numbers of a name; a single letter goes with its number, `g1`."""
    return re.findall(r"(?<![a-z])[a-z]\d+|[a-z]+|\d+", field.lower())


def sorted_sides(fields: Sequence[str]) -> tuple[int, int] | None:
    """The columns of winners and of losers, where votes are written so: `chosen` and `rejected`, `winner` and `loser`.

    >>> sorted_sides(["prompt", "chosen_model", "rejected_model"]), sorted_sides(["model_a", "model_b", "winner"])
    ((1, 2), None)
    """
    keys = [key_of(field) for field in fields]
    won, lost = ([place for place, key in enumerate(keys) if key in names] for names in (_WON, _LOST))
    return (won[0], lost[0]) if len(won) == len(lost) == 1 else None


def holds_pairs(fields: Sequence[str]) -> bool:
    """Whether a header is that of votes on pairs: two sides, and the winner, scores, or sides that say who won."""
    keys = {key_of(field) for field in fields}
    sides = all(keys & names for names in SIDES)
    return (sides and bool(keys & WINNER or scores_of(fields))) or sorted_sides(fields) is not None
