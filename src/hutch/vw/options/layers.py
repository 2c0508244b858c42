"""Vowpal Wabbit's names for Hutch's layers, and its options for them."""

from hutch.vw.options import bandits, continuous_actions, explorers, learners, search, simulations
from hutch.vw.options.option import VwLayer

LAYERS: dict[str, VwLayer] = {
    **bandits.LAYERS,
    **continuous_actions.LAYERS,
    **explorers.LAYERS,
    **learners.LAYERS,
    **search.LAYERS,
    **simulations.LAYERS,
}
"""By the layer's name."""
