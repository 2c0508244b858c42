"""A filter tree for labels that give each class a cost.

As `hutch.reductions.filter_tree`; a match teaches that the cheaper of its two players wins, weighted by the difference of
their costs.
"""

from collections.abc import Callable
from typing import ClassVar

from hutch.core.chain.reduction import Kernels, Labels, Reduction
from hutch.core.hooks import hookimpl
from hutch.reductions.filter_tree import FilterTree, importance_to, learn_costs, predict_costs


class CostSensitiveFilterTree(FilterTree):
    """A filter tree for labels that give each class a cost."""

    name: ClassVar[str] = "cost_sensitive_filter_tree"
    takes: ClassVar[Labels | None] = Labels.COST_SENSITIVE

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn_costs, predict_costs, importance_to)


@hookimpl
def hutch_register_reductions(register: Callable[[type[Reduction]], None]) -> None:
    """Register the reduction."""
    register(CostSensitiveFilterTree)
