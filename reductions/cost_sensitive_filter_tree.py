"""A filter tree for labels that give each class a cost.

As `hutch.reductions.filter_tree`; a match teaches that the cheaper of its two players wins, with the
difference of their costs as its weight.
"""

from typing import ClassVar

from hutch.core.chain.reduction import Labels
from hutch.core.hooks import registering
from hutch.reductions.filter_tree import FilterTree


class CostSensitiveFilterTree(FilterTree):
    """A filter tree for labels that give each class a cost."""

    name: ClassVar[str] = "cost_sensitive_filter_tree"
    takes: ClassVar[Labels | None] = Labels.COST_SENSITIVE


hutch_register_reductions = registering(CostSensitiveFilterTree)
