"""Every shipped layer in a chain that learns, with examples: the starting points of the attacks."""

from typing import Any

PLAIN = [f"{1 if i % 3 else -1} 't{i} |w a{i % 5} b{i % 7}:0.5 |u r{i % 4}" for i in range(30)]
CLASSES = [f"{1 + i % 3} |w a{i % 5} b{i % 7} |u r{i % 4}" for i in range(30)]
WORDS = [f"'t{i} |w a{i % 5}:{1 + i % 2} b{i % 7} |u r{i % 4}" for i in range(30)]
LABEL_SETS = [f"{i % 3},{3 + i % 2} |w a{i % 5} b{i % 7} |u r{i % 4}" for i in range(30)]
COSTS = [f"1:{i % 3} 2:{(i + 1) % 3} 3:0.5 |w a{i % 5} |u r{i % 4}" for i in range(30)]
BLOCKS = [line for i in range(10) for line in (*(f"{1 + (i + j) % 3} |w a{i % 5} |u r{j}" for j in range(3)), "")]
GRAPHS = [
    line
    for i in range(10)
    for line in (
        f"{1 + i % 3} |w a{i % 5}",
        f"{1 + i % 2} |w b{i % 3}",
        "2 |w c",
        "1,2 |w d",
        f"2,{1 + i % 3},3 |w e",
        "",
    )
]
TREES = [
    line for i in range(10) for line in (f"0,{1 + i % 3} |w a{i % 5}", f"1,2 |w b{i % 3}", f"{1 + i % 2},3 |w c", "")
]
RELATIONS = [
    line
    for i in range(10)
    for line in (f"{1 + i % 4} 'E_0 |w a{i % 5}", f"4 'E_1 |w b{i % 3}", f"{5 + i % 6} 'R_0_1 |w c{i % 2}", "")
]
DECISIONS = [line for i in range(10) for line in (f"0:{i % 3}:0.5 |w a{i % 5}", f"|w b{i % 3}", f"|w c{i % 2}", "")]
OBSERVED = [
    line
    for i in range(10)
    for line in (f"shared |u r{i % 4} |feedback f{i % 2}", f"0:0:0.5 |w a{i % 5}", f"|w b{i % 3}", "")
]
ACTIONS = [line for i in range(10) for line in (f"0:{i % 3} |w a{i % 5}", f"1:{i % 2} |w b{i % 3}", "")]
LOGGED = [f"{1 + i % 3}:{i % 2}:0.5 |w a{i % 5}" for i in range(20)]
SLOTS = [
    line
    for i in range(10)
    for line in (
        "ccb shared |u r",
        f"ccb action |w a{i % 5}",
        "ccb action |w b",
        f"ccb slot {i % 2}:{i % 3}:0.5 |w s",
        "",
    )
]
SLATES = [
    line
    for i in range(10)
    for line in (
        f"slates shared {i % 3} |u r",
        f"slates action 0 |w a{i % 5}",
        "slates action 0 |w b",
        "slates slot 0:0.5 |w s",
        "",
    )
]
MEASURED = [
    line
    for i in range(10)
    for line in (
        f"shared |u r{i % 4}",
        f"0:0:0.5 |w a{i % 5} |metrics right:{i % 2} price:0.{1 + i % 3}",
        "|w b",
        "",
    )
]
NUMBERS = [f"{1 if i % 2 else -1} |w a:{i % 3 + 0.1} b:{i % 5 - 1.0} c:{i % 7} |u r{i % 4}" for i in range(30)]
PRICED = [f"ca {0.3 + i % 9}:{i % 3 - 1}:0.1 |w a{i % 5} b{i % 7}:0.5" for i in range(30)]
PAIRED = [f"{0.2 + i % 3} |p user u{i % 5} shop s{i % 4} |w a{i % 5}" for i in range(30)]

_ROW: dict[str, Any] = {
    "namespace": "w", "dimension": 8, "rank": 2, "features": "hashed", "block": 4, "warm_up": 6
}  # fmt: skip
_PPCA: dict[str, Any] = {"ppca": _ROW}
_ADF: list[Any] = [{"contextual_bandit": {}}, "cost_sensitive_with_features", "linear"]
_EXPLORERS: dict[str, dict[str, int]] = {
    **dict.fromkeys(("epsilon", "softmax", "squarecb", "regcb"), {}),
    "first": {"decisions": 4},
}
_OAA: list[Any] = [{"one_against_all": {"classes": 3}}, "linear"]
_CSOAA: list[Any] = [{"cost_sensitive_one_against_all": {"classes": 3}}, "linear"]
_CLASS_BANDIT: list[Any] = [{"bandit_per_class": {"classes": 3}}, *_CSOAA]
_CROWD = {"classes": 3, "worker": "u", "slots": 4}
_ACTIVE = {"active": {"budget": 0.5, "memory": 0.01}}
_MULTINOMIAL = {"multinomial": {"classes": 3}}
_ROW_OF_WORDS = {"namespace": "w", "dimension": 8, "features": "named"}
_BAYESIAN = {"bayesian_linear": {**_ROW_OF_WORDS, "loss": "logistic"}}
_BLOCKS = {"bayesian_linear": {"covariance": "blocks", "dimension": 8, "loss": "squared"}}
_DYADIC = {"left": "w", "right": "u", "rank": 2}
_RANGE, _SIDES = {"lowest": 0, "highest": 10}, {"lowest": -1, "highest": 1}
_PAIR = {"namespaces": ["w", "u"], "rank": 2}
CHAINS: dict[str, tuple[list[Any], list[str]]] = {
    "linear": ([{"linear": {"loss": "logistic", "interactions": [["w", "u"]]}}], PLAIN),
    "ftrl_proximal": (["ftrl_proximal"], PLAIN),
    "pistol": (["pistol"], PLAIN),
    "coin_betting": (["coin_betting"], PLAIN),
    "active": ([_ACTIVE, {"linear": {"loss": "logistic"}}], PLAIN),
    "active iwal": ([{"active": {"rule": "iwal", "mellowness": 1.0}}, "linear"], PLAIN),
    "active over trees": ([_ACTIVE, {"filter_tree": {"classes": 3}}, "linear"], CLASSES),
    "dyadic": ([{"dyadic": _DYADIC}], PLAIN),
    "matrix_factorization": ([{"matrix_factorization": {"rank": 2, "interactions": [["w", "u"]]}}], PLAIN),
    "fields": ([{"fields": {"rank": 2}}], PLAIN),
    "low_rank_quadratic": ([{"low_rank_quadratic": {"pairs": [_PAIR]}}, "linear"], PLAIN),
    "filter_tree": ([{"filter_tree": {"classes": 3}}, {"dyadic": {**_DYADIC, "loss": "hinge"}}], CLASSES),
    "scoring_filter_tree": ([{"scoring_filter_tree": {"classes": 3}}, {"linear": {"loss": "hinge"}}], CLASSES),
    "error_correcting_tournament": ([{"error_correcting_tournament": {"classes": 3, "errors": 1}}, "linear"], CLASSES),
    "one_against_all": ([{"one_against_all": {"classes": 3}}, "linear"], CLASSES),
    "multinomial": ([_MULTINOMIAL, {"bayesian_linear": {**_ROW_OF_WORDS, "loss": "squared"}}], CLASSES),
    "cost_sensitive_one_against_all": ([{"cost_sensitive_one_against_all": {"classes": 3}}, "linear"], COSTS),
    "cost_sensitive_filter_tree": ([{"cost_sensitive_filter_tree": {"classes": 3}}, "linear"], COSTS),
    "feature_limit": ([{"feature_limit": {"features": 1}}, "linear"], PLAIN),
    "multilabel_one_against_all": ([{"multilabel_one_against_all": {"classes": 5}}, "linear"], LABEL_SETS),
    "baseline": ([{"baseline": {"multiplier": 2, "global_only": True}}, "linear"], PLAIN),
    "interact": ([{"interact": {"left": "w", "right": "u"}}, "linear"], PLAIN),
    "ngrams": ([{"ngrams": {"size": 2}}, "linear"], PLAIN),
    "boosting": ([{"boosting": {"learners": 3, "algorithm": "adaptive"}}, "linear"], PLAIN),
    "confidence": (["confidence", {"linear": {"loss": "logistic"}}], PLAIN),
    "bandit_per_class": ([{"bandit_per_class": {"classes": 3}}, *_CSOAA], LOGGED),
    "policy_values": ([{"policy_values": {"namespaces": ["w"], "learns": "all"}}, *_CLASS_BANDIT], LOGGED),
    "explore_classes": ([{"explore_classes": {"classes": 3, "method": "cover"}}, *_CLASS_BANDIT], LOGGED),
    "simulate_bandit_per_class": (
        [{"simulate_bandit_per_class": {"classes": 3}}, {"explore_classes": {"classes": 3}}, *_CLASS_BANDIT],
        CLASSES,
    ),
    "simulate_cost_sensitive_bandit_per_class": (
        [
            {"simulate_cost_sensitive_bandit_per_class": {"classes": 3}},
            {"explore_classes": {"classes": 3, "method": "bag"}},
            *_CLASS_BANDIT,
        ],
        COSTS,
    ),
    "offset_tree": (
        [
            {"offset_tree": {"classes": 3}},
            {"explore_classes": {"classes": 2}},
            {"bandit_per_class": {"classes": 2}},
            {"cost_sensitive_one_against_all": {"classes": 2}},
            "linear",
        ],
        LOGGED,
    ),
    "explore_distillation": ([{"explore_distillation": {"models": 2}}, *_ADF], DECISIONS),
    "explore_decaying": ([{"explore_decaying": {"models": 2, "scope": 3}}, *_ADF], DECISIONS),
    "interaction_grounded": (
        ["interaction_grounded", "explore_epsilon", *_ADF[:-1], {"coin_betting": {"interactions": [["u", "w"]]}}],
        OBSERVED,
    ),
    "few_actions": ([{"few_actions": {"actions": 2}}, "explore_epsilon", *_ADF], DECISIONS),
    "explore_synthetic_cover": (["explore_synthetic_cover", *_ADF], DECISIONS),
    "simulate_bandit_with_features": (["simulate_bandit_with_features", {"explore_epsilon": {}}, *_ADF], ACTIONS),
    "weighted_metrics": (
        [{"explore_epsilon": {}}, *_ADF[:-1], {"weighted_metrics": {"weights": {"right": 1, "price": -2}}}, "linear"],
        MEASURED,
    ),
    "action_density": ([{"action_density": _RANGE}, "linear"], PRICED),
    "sample_density": (["sample_density", {"action_density": _RANGE | {"bandwidth": 2}}, "linear"], PRICED),
    "action_tree": ([{"action_tree": {"classes": 4}}, "linear"], LOGGED),
    "zeroth_order": ([{"zeroth_order": {"learning_rate": 0.01}}], PRICED),
    "simulate_number_bandit": (
        [{"simulate_number_bandit": _SIDES}, "sample_density", {"action_density": _SIDES}, "linear"],
        PLAIN,
    ),
    "simulate_part_bandit": (
        [
            {"simulate_part_bandit": _SIDES | {"classes": 4}},
            {"explore_classes": {"classes": 4}},
            {"action_tree": {"classes": 4}},
            "linear",
        ],
        PLAIN,
    ),
    "experience_replay": ([{"experience_replay": {"size": 8, "plays": 2}}, "linear"], PLAIN),
    "sketched_newton in epochs": ([{"sketched_newton": {"sketch": 2, "epoch": 4}}], PLAIN),
    "one_against_all in turns": ([{"one_against_all": {"classes": 3, "negatives": 1}}, "linear"], CLASSES),
    "search_sequence": (
        [{"search_sequence": {"classes": 3, "alpha": 0.02, "history": 2, "neighbours": ["-1:w"]}}, *_CSOAA],
        BLOCKS,
    ),
    "search_spans": ([{"search_spans": {"classes": 3, "sweeps": 2, "alpha": 0.02}}, *_CSOAA], BLOCKS),
    "search_dependencies": ([{"search_dependencies": {"classes": 3, "alpha": 0.02, "as_vw": True}}, *_CSOAA], TREES),
    "search_graph": ([{"search_graph": {"classes": 3, "alpha": 0.02, "as_vw": True}}, *_CSOAA], GRAPHS),
    "search_maximum": ([{"search_maximum": {"classes": 3, "alpha": 0.02}}, *_CSOAA], BLOCKS),
    "search_relations": (
        [
            {"search_relations": {"classes": 10, "constraints": True}},
            {"cost_sensitive_one_against_all": {"classes": 10}},
            "linear",
        ],
        RELATIONS,
    ),
    "search_bits": ([{"search_bits": {"classes": 3, "alpha": 0.02}}, *_CSOAA], BLOCKS),
    "logarithmic_tree": ([{"logarithmic_tree": {"classes": 3}}, "linear"], CLASSES),
    "recall_tree": ([{"recall_tree": {"classes": 3, "penalty": 0.1}}, "linear"], CLASSES),
    "eigen_memory_tree": ([{"eigen_memory_tree": {"memories": 9, "leaf": 3}}, "linear"], CLASSES),
    "memory_tree": ([{"memory_tree": {"nodes": 9, "memories": 12, "online": True}}, "linear"], CLASSES),
    "cost_sensitive_active": ([{"cost_sensitive_active": {"classes": 3}}, {"linear": {"adapt_to": "values"}}], COSTS),
    "active_cover": ([{"active_cover": {"policies": 3}}, "linear"], PLAIN),
    "warm_start_bandit": (
        [{"warm_start_bandit": {"classes": 3, "warm_start": 9, "candidates": 2}}, {"explore_epsilon": {}}, *_ADF],
        CLASSES,
    ),
    "warm_start_cost_sensitive_bandit": (
        [{"warm_start_cost_sensitive_bandit": {"classes": 3, "warm_start": 9}}, {"explore_epsilon": {}}, *_ADF],
        COSTS,
    ),
    "sketched_newton": ([{"sketched_newton": {"sketch": 4}}], PLAIN),
    "probabilistic_label_tree": (
        [{"probabilistic_label_tree": {"classes": 5, "best": 2}}, {"linear": {"loss": "logistic"}}],
        LABEL_SETS,
    ),
    "latent_dirichlet_allocation": ([{"latent_dirichlet_allocation": {"topics": 3, "minibatch": 4}}], WORDS),
    "latent_dirichlet_allocation as in VW": (
        [{"latent_dirichlet_allocation": {"topics": 3, "minibatch": 7, "vocabulary": "table", "scores": "weights"}}],
        WORDS,
    ),
    "lbfgs": ([{"lbfgs": {"memory": 3}}], PLAIN),
    "kernel_svm": ([{"kernel_svm": {"kernel": "rbf", "pool": 4}}], PLAIN),
    "distributionally_robust": (["distributionally_robust", {"explore_epsilon": {}}, *_ADF], DECISIONS),
    "freegrad": (["freegrad"], PLAIN),
    "sampled_negatives": ([{"sampled_negatives": {"namespace": "u", "width": 4, "items": 16}}, "linear"], PLAIN),
    "marginal": ([{"marginal": {"namespaces": ["p"]}}, "linear"], PAIRED),
    "polynomial_link": ([{"polynomial_link": {"degree": 2}}, "linear"], PLAIN),
    "stagewise_polynomial": ([{"stagewise_polynomial": {"batch": 5}}, "linear"], PLAIN),
    "svrg": (["svrg"], PLAIN),
    "bootstrap": ([{"bootstrap": {"models": 3, "type": "vote"}}, "linear"], PLAIN),
    "one_hidden_layer": ([{"one_hidden_layer": {"units": 2, "skip_connection": True}}, "linear"], PLAIN),
    "link": ([{"link": {"function": "logistic"}}, "binary", "linear"], PLAIN),
    "ppca": ([_PPCA, "linear"], NUMBERS),
    "nat_oem drift": ([{"nat_oem": {"boundary": "drift"}}, _PPCA, "linear"], NUMBERS),
    "nat_oem by steps": ([{"nat_oem": {"mode": "step"}}, _PPCA, "linear"], NUMBERS),
    "nat_oem": ([{"nat_oem": {"boundary": "label"}}, _PPCA, "linear"], NUMBERS),
    "crowd_em": ([{"crowd_em": _CROWD}, *_OAA], BLOCKS),
    "crowd_em passes": ([{"crowd_em": {**_CROWD, "passes": 2}}, *_OAA], BLOCKS),
    "crowd_em anchored": ([{"nat_oem": {"boundary": "drift"}}, {"crowd_em": _CROWD}, *_OAA], BLOCKS),
    "contextual_bandit": (_ADF, DECISIONS),
    "cost_sensitive_with_features": (["cost_sensitive_with_features", "linear"], ACTIONS),
    "explore_bag": ([{"explore_bag": {"policies": 2}}, *_ADF], DECISIONS),
    "explore_cover": ([{"explore_cover": {"policies": 2}}, *_ADF], DECISIONS),
    "simulate_bandit": ([{"simulate_bandit": {"classes": 3}}, {"explore_epsilon": {}}, *_ADF], CLASSES),
    "choose_slots": (["choose_slots", {"explore_epsilon": {}}, *_ADF], SLOTS),
    "choose_slate": (["choose_slate", {"explore_epsilon": {}}, *_ADF], SLATES),
    "standardise": (["standardise", "linear"], NUMBERS),
    "random_features": ([{"random_features": {"namespace": "w", "count": 4}}, "linear"], PLAIN),
    "hedge": ([{"hedge": {"copies": [{"bayesian_linear": {"forgetting": 0.01}}, {}]}}, _BAYESIAN], PLAIN),
    "bayesian_linear in blocks": ([{"explore_posterior": {}}, *_ADF[:-1], _BLOCKS], DECISIONS),
    "action_per_class": ([{"action_per_class": {"classes": 3}}, {"explore_epsilon": {}}, *_ADF], LOGGED),
    "action_probabilities": (["action_probabilities", "cost_sensitive_with_features", "linear"], ACTIONS),
    "bayesian_linear": ([_BAYESIAN], PLAIN),
    "cost_sensitive_scoring_filter_tree": (
        [{"cost_sensitive_scoring_filter_tree": {"classes": 3}}, {"linear": {"loss": "hinge"}}],
        COSTS,
    ),
    "explore_posterior": ([{"explore_posterior": {}}, *_ADF[:-1], _BAYESIAN], DECISIONS),
    "pairwise": ([{"pairwise": {"worker": "u", "slots": 4}}, {"linear": {"loss": "logistic"}}], PLAIN),
    "rejection_sampling": (["rejection_sampling", {"explore_epsilon": {}}, *_ADF], DECISIONS),
    "sample_action": (["sample_action", {"explore_epsilon": {}}, *_ADF], DECISIONS),
    "simulate_cost_sensitive_bandit": (
        [{"simulate_cost_sensitive_bandit": {"classes": 3}}, {"explore_epsilon": {}}, *_ADF],
        COSTS,
    ),
    **{f"explore_{name}": ([{f"explore_{name}": given}, *_ADF], DECISIONS) for name, given in _EXPLORERS.items()},
}  # fmt: skip
"""Every shipped layer, in a chain that learns, and its examples."""
