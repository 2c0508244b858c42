"""Players that were compared, directly or through others; strengths of others are not on one scale."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import counted, shortened
from hutch.crowd.pairs.votes import Votes


class Compared:
    """Groups of players that votes connect.

    >>> from hutch.crowd.pairs.votes import from_rows
    >>> compared = Compared()
    >>> compared.add(from_rows([("ann", "a", "b", "a"), ("ann", "x", "y", "x"), ("bob", "b", "c", "b")]))
    >>> compared.groups(["a", "b", "c", "x", "y"])
    [['a', 'b', 'c'], ['x', 'y']]
    """

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def add(self, votes: Votes) -> None:
        """Connect the two sides of each vote."""
        for left, right in np.unique(np.stack([votes.left, votes.right], axis=1), axis=0).tolist():
            one, other = self._top(votes.players[left]), self._top(votes.players[right])
            self._above[other] = one

    def groups(self, players: Sequence[str]) -> list[list[str]]:
        """The groups of these players, the largest first."""
        found: dict[str, list[str]] = {}
        for player in players:
            found.setdefault(self._top(player), []).append(player)
        return sorted(found.values(), key=len, reverse=True)

    def _top(self, player: str) -> str:
        while (above := self._above.setdefault(player, player)) != player:
            self._above[player] = self._above[above]  # halve the way for the next one
            player = above
        return player


def bridges(groups: Sequence[Sequence[str]], votes: Mapping[str, int]) -> list[tuple[str, str]]:
    """Pairs that would join all groups: of each other group and the first one those with the most votes."""
    most = [max(group, key=lambda player: votes.get(player, 0)) for group in groups]
    return [(most[0], other) for other in most[1:]]


def warning(groups: Sequence[Sequence[str]], votes: Mapping[str, int]) -> str:
    """What to say of players in several groups."""
    names = "; ".join(shortened(", ".join(group), 60) for group in groups[:5])
    pairs = " and ".join(f"{one} against {other}" for one, other in bridges(groups, votes)[:4])
    return (
        f"{counted(len(groups), 'group')} of players were never compared with each other, directly or through others "
        f"({names}): each is ranked for itself; votes on {pairs} would join them"
    )


def places_of(groups: Sequence[Sequence[str]], players: Sequence[str]) -> NDArray[np.int64]:
    """The group of each player."""
    place = {player: number for number, group in enumerate(groups) for player in group}
    return np.array([place[player] for player in players], np.int64)
