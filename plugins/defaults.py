"""The plugins that come with Hutch: modules registered through the same door as a stranger's.

What each registers stands here, so that a module is imported only when one of its names is asked for.
"""

from collections.abc import Mapping

DEFAULT_PLUGINS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "hutch.core.loss.losses": {
        "losses": ("squared", "classic", "hinge", "logistic", "quantile", "expectile", "poisson"),
    },
    "hutch.core.data.csv": {"readers": (".csv", ".tsv")},
    "hutch.core.data.parquet": {"readers": (".parquet",)},
    "hutch.core.data.svmlight": {"readers": (".svm", ".svmlight", ".libsvm")},
    "hutch.em.models": {"em_models": ("ppca",)},
    "hutch.reductions.active.layer": {"reductions": ("active",)},
    "hutch.reductions.bandits.cost_sensitive_with_features": {"reductions": ("cost_sensitive_with_features",)},
    "hutch.reductions.bandits.sample_action": {"reductions": ("sample_action",)},
    "hutch.reductions.bandits.explore_synthetic_cover": {"reductions": ("explore_synthetic_cover",)},
    "hutch.reductions.bandits.explore_cover": {"reductions": ("explore_cover",)},
    "hutch.reductions.bandits.explore_bag": {"reductions": ("explore_bag",)},
    "hutch.reductions.bandits.explore_regcb": {"reductions": ("explore_regcb",)},
    "hutch.reductions.bandits.explore_squarecb": {"reductions": ("explore_squarecb",)},
    "hutch.reductions.bandits.explore_softmax": {"reductions": ("explore_softmax",)},
    "hutch.reductions.bandits.explore_first": {"reductions": ("explore_first",)},
    "hutch.reductions.bandits.explore_epsilon": {"reductions": ("explore_epsilon",)},
    "hutch.reductions.bandits.contextual_bandit": {"reductions": ("contextual_bandit",)},
    "hutch.reductions.bandits.simulate_bandit": {"reductions": ("simulate_bandit",)},
    "hutch.reductions.bandits.action_per_class": {"reductions": ("action_per_class",)},
    "hutch.reductions.bandits.explore_rnd": {"reductions": ("explore_rnd",)},
    "hutch.reductions.binary": {"reductions": ("binary",)},
    "hutch.reductions.cost_sensitive_one_against_all": {"reductions": ("cost_sensitive_one_against_all",)},
    "hutch.reductions.crowd_em.layer": {"reductions": ("crowd_em",)},
    "hutch.reductions.error_correcting_tournament": {"reductions": ("error_correcting_tournament",)},
    "hutch.reductions.dyadic.layer": {"reductions": ("dyadic",)},
    "hutch.reductions.ftrl.coin_betting": {"reductions": ("coin_betting",)},
    "hutch.reductions.ftrl.ftrl_proximal": {"reductions": ("ftrl_proximal",)},
    "hutch.reductions.ftrl.pistol": {"reductions": ("pistol",)},
    "hutch.reductions.filter_tree": {"reductions": ("filter_tree", "cost_sensitive_filter_tree")},
    "hutch.reductions.linear.layer": {"reductions": ("linear",)},
    "hutch.reductions.scoring_filter_tree": {
        "reductions": ("scoring_filter_tree", "cost_sensitive_scoring_filter_tree"),
    },
    "hutch.reductions.link": {"reductions": ("link",)},
    "hutch.reductions.low_rank_quadratic": {"reductions": ("low_rank_quadratic",)},
    "hutch.reductions.merge_namespaces": {"reductions": ("merge_namespaces",)},
    "hutch.reductions.ngrams": {"reductions": ("ngrams",)},
    "hutch.reductions.nat_oem": {"reductions": ("nat_oem",)},
    "hutch.reductions.one_against_all": {"reductions": ("one_against_all",)},
    "hutch.reductions.ppca.layer": {"reductions": ("ppca",)},
}
"""Module -> kind of the registry -> names."""
