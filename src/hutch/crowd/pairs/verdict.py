"""What votes on pairs found, in at most three sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

from hutch.shell.sentences import MOST, names, number, things


def sentences(
    rows: Sequence[Mapping[str, Any]],
    votes: int,
    one_sided: Sequence[str] = (),
    one_way: str = "",
    biased: bool = False,
) -> tuple[str, ...]:
    """Who is strongest, who may be as strong, what was never compared, and what sides hide.

    Two players differ if their intervals do not touch, which is stricter than their own 95 %.

    Args:
        rows: players with `strength low high`, the strongest first, and `group` if not all were compared.
        votes: number of all.
        one_sided: players in many votes, always on the same side.
        one_way: the side that won all votes.
        biased: the model takes that for a preference for the side, not for a way of writing votes down.

    >>> ends = [("a", 1.4, 1.1, 1.7), ("b", 1.2, 0.8, 1.5), ("c", -2.6, -2.9, -2.2)]
    >>> sentences([dict(zip(("player", "strength", "low", "high"), each)) for each in ends], 300)
    ('a is the strongest of 3 players, by 300 votes; b may be as strong.',)
    """
    if not rows or not votes:
        return ("There are no votes.",)
    if len(rows) == 2 * votes > 2:
        named = "name the columns of what is compared, left=NAME,right=NAME, with --columns"
        return (f"No player comes twice, as texts or ids would not: {named}.",)
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row.get("group", 1), []).append(row)
    largest = max(groups.values(), key=len)
    best, *others = largest
    level = [row["player"] for row in others if row["high"] >= best["low"]]
    said = []
    if len(largest) < 2:
        said.append("Cannot tell who is strongest, because no two players were compared.")
    elif len(level) == len(others):
        said.append(f"Cannot tell which of {things(len(largest), 'player')} is the strongest: their intervals overlap.")
    else:
        of = f"of {things(len(largest), 'player')}" + (" that were compared" if len(groups) > 1 else "")
        also = f"; {names(level, MOST)} may be as strong" if level else ", surely ahead of all others"
        said.append(f"{best['player']} is the strongest {of}, by {things(votes, 'vote')}{also}.")
    if len(groups) > 1:
        apart = f"{number(len(groups))} groups of players were never compared with each other"
        said.append(f"{apart}: ask for the pairs that bridge them before you rank all.")
    if one_way and biased:
        said.append(
            f"All votes went to the {one_way}, so that strength and a preference for that side look alike; batch "
            "takes it for a way of writing votes down."
        )
    elif one_way:
        said.append(f"All votes went to the {one_way}: it counts as where winners are written, not as a preference.")
    elif one_sided:
        apart = f"{names(one_sided, MOST)} always stood on the same side"
        said.append(
            f"{apart}, so that strength and a preference for that side look alike: ask for votes with sides swapped."
        )
    return tuple(said)
