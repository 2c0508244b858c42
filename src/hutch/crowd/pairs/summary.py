"""The strengths of a run as its summary has them, in the groups of players that were compared."""

from collections.abc import Sequence
from typing import Any

from hutch.crowd.pairs.islands import bridges
from hutch.crowd.pairs.report import Tally, strengths, votes_of
from hutch.crowd.pairs.state import PairState


def in_groups(state: PairState, tally: Tally, groups: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Strengths with their intervals, the strongest first; of several groups also these, and the votes that join them.

    Args:
        state: of the model.
        tally: the counts of its votes.
        groups: of players that were compared with each other.
    """
    found, several = strengths(state, groups), len(groups) > 1
    columns = (found.players, found.strength.tolist(), found.low.tolist(), found.high.tolist(), found.group.tolist())
    rows = [
        {"player": player, "strength": strength, "low": low, "high": high} | ({"group": group + 1} if several else {})
        for player, strength, low, high, group in zip(*columns, strict=True)
    ]
    if not several:
        return {"strengths": rows}
    pairs = bridges(groups, votes_of(state, tally))
    return {
        "strengths": rows,
        "groups": [{"players": group} for group in groups],
        "bridges": [{"left": one, "right": other} for one, other in pairs],
    }
