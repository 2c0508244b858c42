"""The plugins that come with Hutch: modules registered through the same door as a stranger's.

What each registers is known from here, so that a module is imported only when one of its names is asked for. A reduction
is known by its place: `reductions/NAME.py`, or `reductions/NAME/layer.py` where it is a folder, registers NAME and nothing else.
"""

import os
from collections.abc import Mapping

_REDUCTIONS = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "reductions")


def reduction_modules(folder: str = _REDUCTIONS) -> dict[str, str]:
    """Modules of reductions by the name that each registers.

    Args:
        folder: where they lie.
    """
    found = {}
    for entry in sorted(os.listdir(folder)):
        name, ending = os.path.splitext(entry)
        if ending == ".py" and name != "__init__" and not name.endswith("_parameters"):
            found[name] = f"hutch.reductions.{name}"
        elif os.path.exists(os.path.join(folder, entry, "layer.py")):
            found[name] = f"hutch.reductions.{name}.layer"
    return found


_FAMILIES = {
    "bandits": (
        "action_per_class",
        "contextual_bandit",
        "cost_sensitive_with_features",
        "explore_bag",
        "explore_cover",
        "explore_epsilon",
        "explore_first",
        "explore_regcb",
        "explore_rnd",
        "explore_softmax",
        "explore_squarecb",
        "explore_synthetic_cover",
        "sample_action",
        "simulate_bandit",
    ),
    "ftrl": ("coin_betting", "ftrl_proximal", "pistol"),
}
"""Folders with several reductions, one a file."""

DEFAULT_PLUGINS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "hutch.core.loss.losses": {
        "losses": ("squared", "classic", "hinge", "logistic", "quantile", "expectile", "poisson"),
    },
    "hutch.core.data.csv": {"readers": (".csv", ".tsv")},
    "hutch.core.data.parquet": {"readers": (".parquet",)},
    "hutch.core.data.svmlight": {"readers": (".svm", ".svmlight", ".libsvm")},
    "hutch.em.models": {"em_models": ("ppca",)},
    **{module: {"reductions": (name,)} for name, module in reduction_modules().items()},
    **{
        f"hutch.reductions.{family}.{name}": {"reductions": (name,)}
        for family, names in _FAMILIES.items()
        for name in names
    },
}
"""Module -> kind of the registry -> names."""
