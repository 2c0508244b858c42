"""A scoring filter tree for labels that give each class a cost.

As `hutch.reductions.scoring_filter_tree`; a match teaches that the cheaper of its two players wins, weighted by the difference of their
costs.
"""

from collections.abc import Callable
from typing import ClassVar

from hutch.core.chain.reduction import Labels, Reduction
from hutch.core.hooks import hookimpl
from hutch.reductions.scoring_filter_tree import ScoringFilterTree


class CostSensitiveScoringFilterTree(ScoringFilterTree):
    """A scoring filter tree for labels that give each class a cost."""

    name: ClassVar[str] = "cost_sensitive_scoring_filter_tree"
    takes: ClassVar[Labels | None] = Labels.COST_SENSITIVE


@hookimpl
def hutch_register_reductions(register: Callable[[type[Reduction]], None]) -> None:
    """Register the reduction."""
    register(CostSensitiveScoringFilterTree)
