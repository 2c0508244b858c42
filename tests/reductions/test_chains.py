"""Chains of the shipped reductions: any combination runs from one set of kernels, and resuming is exact for all."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hutch import Chain
from hutch.core.kernel.cache import compilations
from hutch.plugins.manager import installed

LINEAR: dict[str, Any] = {"linear": {"loss": "hinge"}}
FIELDS: dict[str, Any] = {"fields": {"rank": 2}}
DYADIC: dict[str, Any] = {"dyadic": {"left": "rater", "right": "task", "rank": 2, "loss": "hinge"}}
BAYESIAN: dict[str, Any] = {
    "bayesian_linear": {"namespace": "task", "dimension": 4, "features": "named", "loss": "squared"}
}
CLASSES = {"classes": 4}
RANGE = {"lowest": -1.0, "highest": 1.0}
PPCA: dict[str, Any] = {
    "namespace": "task", "dimension": 6, "features": "hashed", "rank": 2, "block": 3, "warm_up": 4
}  # fmt: skip

pytestmark = [
    pytest.mark.filterwarnings("ignore:lbfgs. nothing is learned before a pass ends"),
    pytest.mark.filterwarnings("ignore:search_relations. .* whose tags name no two entities"),
    pytest.mark.filterwarnings("ignore:latent_dirichlet_allocation. got . documents?, nothing is learned before"),
]

CHAINS: dict[str, list[Any]] = {
    "linear": [LINEAR],
    "linear with interactions and l1": [
        {"linear": {"loss": "logistic", "interactions": [["rater", "task"]], "l1": 1e-6, "l2": 1e-6}}
    ],
    "bayesian_linear": [
        {"bayesian_linear": {"namespace": "task", "dimension": 4, "features": "named", "loss": "logistic"}}
    ],
    "bayesian_linear of moments": [
        {
            "bayesian_linear": {
                "namespace": "task",
                "dimension": 4,
                "features": "named",
                "loss": "squared",
                "covariance": "moments",
            }
        }
    ],
    "bayesian_linear of sites": [
        {
            "bayesian_linear": {
                "namespace": "task",
                "dimension": 4,
                "features": "named",
                "loss": "logistic",
                "covariance": "sites",
            }
        }
    ],
    "multinomial over bayesian_linear of sites": [
        {"multinomial": CLASSES},
        {
            "bayesian_linear": {
                "namespace": "task",
                "dimension": 4,
                "features": "named",
                "loss": "squared",
                "covariance": "sites",
            }
        },
    ],
    "pairwise over linear": [{"pairwise": {"worker": "rater", "slots": 16}}, {"linear": {"loss": "logistic"}}],
    "ftrl_proximal": [{"ftrl_proximal": {"loss": "logistic"}}],
    "pistol": [{"pistol": {"loss": "logistic"}}],
    "bayesian_linear in blocks": [
        {
            "bayesian_linear": {
                "covariance": "blocks",
                "dimension": 8,
                "loss": "squared",
                "interactions": [["rater", "task"]],
            }
        }
    ],
    "freegrad": [{"freegrad": {"loss": "logistic", "project": True}}],
    "svrg": [{"svrg": {"loss": "logistic", "learning_rate": 0.1}}],
    "coin_betting": [{"coin_betting": {"loss": "logistic"}}],
    "plain gradient descent": [{"linear": {"adaptive": False, "normalized": False, "loss": "squared"}}],
    "dyadic": [DYADIC],
    "fields": [{"fields": {"rank": 3, "loss": "squared"}}],
    "one_against_all over fields": [{"one_against_all": CLASSES}, FIELDS],
    "filter_tree over fields": [{"filter_tree": CLASSES}, FIELDS],
    "active over fields": [{"active": {"budget": 0.5}}, FIELDS],
    "crowd_em over fields": [
        {"crowd_em": {"worker": "rater", **CLASSES, "slots": 16}},
        {"one_against_all": CLASSES},
        FIELDS,
    ],
    "matrix_factorization": [{"matrix_factorization": {"rank": 3, "interactions": [["rater", "task"]]}}],
    "one_against_all over linear": [{"one_against_all": CLASSES}, LINEAR],
    "one_against_all over dyadic": [{"one_against_all": CLASSES}, DYADIC],
    "multinomial over bayesian_linear": [{"multinomial": CLASSES}, BAYESIAN],
    "active over multinomial over bayesian_linear": [{"active": {"budget": 0.5}}, {"multinomial": CLASSES}, BAYESIAN],
    "filter_tree over linear": [{"filter_tree": CLASSES}, LINEAR],
    "filter_tree over dyadic": [{"filter_tree": CLASSES}, DYADIC],
    "scoring_filter_tree over dyadic": [{"scoring_filter_tree": CLASSES}, DYADIC],
    "error_correcting_tournament over linear": [{"error_correcting_tournament": {**CLASSES, "errors": 1}}, LINEAR],
    "baseline over linear": [{"baseline": {"multiplier": 0.5, "global_only": True}}, LINEAR],
    "binary over linear": ["binary", LINEAR],
    "polynomial_link over linear": [{"polynomial_link": {"degree": 2}}, LINEAR],
    "confidence over linear": ["confidence", LINEAR],
    "marginal over linear": [{"marginal": {"namespaces": ["rater"], "compete": True}}, LINEAR],
    "sampled_negatives over linear": [{"sampled_negatives": {"namespace": "task", "items": 64}}, LINEAR],
    "simulate_bandit_per_class over explore_classes": [
        {"simulate_bandit_per_class": CLASSES},
        {"explore_classes": {**CLASSES, "method": "cover"}},
        {"bandit_per_class": CLASSES},
        {"cost_sensitive_one_against_all": CLASSES},
        LINEAR,
    ],
    "simulate_number_bandit over sample_density over action_density": [
        {"simulate_number_bandit": RANGE},
        "sample_density",
        {"action_density": RANGE | {"bandwidth": 0.4, "parts": 8}},
        LINEAR,
    ],
    "sample_density over zeroth_order": ["sample_density", {"zeroth_order": {"learning_rate": 0.01}}],
    "simulate_part_bandit over action_tree": [
        {"simulate_part_bandit": RANGE | {"classes": 4}},
        {"explore_classes": {"classes": 4}},
        {"action_tree": {"classes": 4}},
        LINEAR,
    ],
    "interact over linear": [{"interact": {"left": "rater", "right": "task"}}, LINEAR],
    "experience_replay over linear": [{"experience_replay": {"size": 5, "plays": 2}}, LINEAR],
    "experience_replay over costs": [
        {"experience_replay": {"size": 5}},
        {"cost_sensitive_one_against_all": CLASSES},
        LINEAR,
    ],
    "one_against_all over experience_replay": [
        {"one_against_all": {**CLASSES, "negatives": 1, "predict_first": True}},
        {"experience_replay": {"size": 7}},
        LINEAR,
    ],
    "search_sequence over cost_sensitive_one_against_all": [
        {"search_sequence": {**CLASSES, "alpha": 0.02, "history": 2, "neighbours": ["-1:rater"], "subsample": 0.7}},
        {"cost_sensitive_one_against_all": CLASSES},
        LINEAR,
    ],
    "search_dependencies over cost_sensitive_one_against_all": [
        {"search_dependencies": {**CLASSES, "alpha": 0.02, "as_vw": True}},
        {"cost_sensitive_one_against_all": CLASSES},
        LINEAR,
    ],
    "search_graph over cost_sensitive_one_against_all": [
        {"search_graph": {**CLASSES, "alpha": 0.02, "as_vw": True}},
        {"cost_sensitive_one_against_all": CLASSES},
        LINEAR,
    ],
    "search_maximum over cost_sensitive_one_against_all": [
        {"search_maximum": {**CLASSES, "alpha": 0.02}},
        {"cost_sensitive_one_against_all": CLASSES},
        LINEAR,
    ],
    "search_relations over cost_sensitive_one_against_all": [
        {"search_relations": {"classes": 10, "alpha": 0.02}},
        {"cost_sensitive_one_against_all": {"classes": 10}},
        LINEAR,
    ],
    "search_bits over cost_sensitive_one_against_all": [
        {"search_bits": {**CLASSES, "alpha": 0.02, "perturbation": 0.2}},
        {"cost_sensitive_one_against_all": CLASSES},
        LINEAR,
    ],
    "search_spans over cost_sensitive_filter_tree": [
        {"search_spans": {"classes": 5, "alpha": 0.02, "sweeps": 2, "rollout": "none"}},
        {"cost_sensitive_filter_tree": {"classes": 5}},
        LINEAR,
    ],
    "logarithmic_tree over linear": [{"logarithmic_tree": CLASSES}, LINEAR],
    "recall_tree over linear": [{"recall_tree": {**CLASSES, "randomized": True}}, LINEAR],
    "eigen_memory_tree over linear": [{"eigen_memory_tree": {"memories": 9, "leaf": 2}}, LINEAR],
    "memory_tree over linear": [
        {"memory_tree": {"nodes": 9, "memories": 12, "learns_similarity": True, "online": True}},
        LINEAR,
    ],
    "cost_sensitive_active over linear": [{"cost_sensitive_active": CLASSES}, {"linear": {"adapt_to": "values"}}],
    "active_cover over linear": [{"active_cover": {"policies": 2}}, {"linear": {"loss": "logistic"}}],
    "sketched_newton": [{"sketched_newton": {"loss": "logistic", "sketch": 3}}],
    "probabilistic_label_tree over linear": [
        {"probabilistic_label_tree": {"classes": 5, "arity": 3}},
        {"linear": {"loss": "logistic"}},
    ],
    "lbfgs": [{"lbfgs": {"loss": "logistic", "memory": 2}}],
    "latent_dirichlet_allocation": [{"latent_dirichlet_allocation": {"topics": 3, "minibatch": 4}}],
    "binary over kernel_svm": ["binary", {"kernel_svm": {"kernel": "rbf", "pool": 3}}],
    "stagewise_polynomial over linear": [{"stagewise_polynomial": {"batch": 30}}, LINEAR],
    "boosting over linear": [{"boosting": {"learners": 3, "algorithm": "logistic"}}, LINEAR],
    "bootstrap over linear": [{"bootstrap": {"models": 3}}, LINEAR],
    "one_hidden_layer over ftrl_proximal": [
        {"one_hidden_layer": {"units": 2}},
        {"ftrl_proximal": {"loss": "logistic"}},
    ],
    "one_hidden_layer over linear": [{"one_hidden_layer": {"units": 3, "dropout": True}}, LINEAR],
    "one_against_all over one_hidden_layer over linear": [
        {"one_against_all": CLASSES},
        {"one_hidden_layer": {"units": 2, "skip_connection": True, "share_hidden": True}},
        {"linear": {"l2": 1e-4, "interactions": [["rater", "task"]]}},
    ],
    "standardise over linear": ["standardise", LINEAR],
    "random_features over linear": [{"random_features": {"namespace": "task", "count": 4}}, LINEAR],
    "hedge over linear": [{"hedge": {"copies": [{"linear": {"learning_rate": 0.1}}, {}]}}, LINEAR],
    "hedge over multinomial over bayesian_linear": [
        {"hedge": {"copies": [{"bayesian_linear": {"forgetting": 0.01}}, {}]}},
        {"multinomial": CLASSES},
        BAYESIAN,
    ],
    "feature_limit over linear": [
        {"feature_limit": {"features": 1, "namespaces": ["task"]}},
        {"linear": {"interactions": [["task", "task"]]}},
    ],
    "multilabel_one_against_all over linear": [
        {"multilabel_one_against_all": {"classes": 4, "first_class": 1}},
        LINEAR,
    ],
    "ngrams over linear": [
        {"ngrams": {"size": 2}},
        {"linear": {"interactions": [["task", "task"]]}},
    ],
    "low_rank_quadratic over linear": [
        {"low_rank_quadratic": {"pairs": [{"namespaces": ["rater", "task"], "rank": 2}], "dropout": True}},
        LINEAR,
    ],
    "one_against_all over field-aware low_rank_quadratic over linear": [
        {"one_against_all": CLASSES},
        {"low_rank_quadratic": {"pairs": [{"namespaces": ["rater", "task"], "rank": 2}], "field_aware": True}},
        LINEAR,
    ],
    "one_against_all, predicting first, over regularised linear": [
        {"one_against_all": {**CLASSES, "predict_first": True}},
        {"linear": {"l1": 1e-4, "l2": 1e-4, "initial_weight": 0.1}},
    ],
    "cost_sensitive_one_against_all over linear": [{"cost_sensitive_one_against_all": CLASSES}, LINEAR],
    "cost_sensitive_filter_tree over linear": [{"cost_sensitive_filter_tree": CLASSES}, LINEAR],
    "cost_sensitive_scoring_filter_tree over dyadic": [{"cost_sensitive_scoring_filter_tree": CLASSES}, DYADIC],
    "simulate_cost_sensitive_bandit over explore_bag over contextual_bandit over linear": [
        {"simulate_cost_sensitive_bandit": CLASSES},
        {"explore_bag": {"policies": 2}},
        {"contextual_bandit": {"type": "dr"}},
        "cost_sensitive_with_features",
        LINEAR,
    ],
    "active by VW's rule over linear": [
        {"active": {"rule": "vw", "mellowness": 0.01}},
        {"linear": {"loss": "logistic"}},
    ],
    "link over linear": [{"link": {"function": "logistic"}}, {"linear": {"loss": "logistic"}}],
    "active over linear": [{"active": {"budget": 0.5}}, {"linear": {"loss": "logistic"}}],
    "active over one_against_all over linear": [
        {"active": {"budget": 0.5}},
        {"one_against_all": CLASSES},
        {"linear": {"loss": "logistic"}},
    ],
    "ppca over linear": [{"ppca": PPCA}, LINEAR],
    "nat_oem over ppca over linear": [{"nat_oem": {"boundary": "label"}}, {"ppca": PPCA}, LINEAR],
    "nat_oem by steps over ppca over dyadic": [
        {"nat_oem": {"mode": "step", "beta": 2.0}},
        {"ppca": {**PPCA, "keep": True}},
        DYADIC,
    ],
    "crowd_em over one_against_all over linear": [
        {"crowd_em": {**CLASSES, "worker": "rater", "slots": 16}},
        {"one_against_all": CLASSES},
        LINEAR,
    ],
    "crowd_em over multinomial over bayesian_linear": [
        {"crowd_em": {**CLASSES, "worker": "rater", "slots": 16}},
        {"multinomial": {**CLASSES, "probabilities": False}},
        BAYESIAN,
    ],
    "nat_oem over crowd_em over ppca over one_against_all over linear": [
        {"nat_oem": {"boundary": "namespace", "namespace": "task"}},
        {"crowd_em": {**CLASSES, "worker": "rater", "slots": 16}},
        {"ppca": PPCA},
        {"one_against_all": CLASSES},
        LINEAR,
    ],
}


def build(name: str) -> Chain:
    return Chain.from_config({"weights": {"bits": 12}, "seed": 7, "chain": CHAINS[name]})


def lines(name: str, pairs: list[tuple[int, int, int, float]]) -> list[str]:
    """Each pair: class, rater, task, importance; binary chains see the class's parity, crowds items of two lines."""
    takes = build(name).takes.value

    def label_of(label: int, importance: float) -> str:
        if takes == "multilabel":
            return f"{label},{label % 4 + 1}"
        if takes == "cost_sensitive":
            return f"{label}:0 {label % 4 + 1}:{importance:g}"
        if takes == "numbers_of_lines":
            return f"{label}" if "graph" in name else f"{label % 3},{label}"
        if takes == "classes_of_lines":
            return f"{label}"
        if takes == "logged_number":
            return f"ca {label / 8}:{importance:g}:0.25"
        return f"{(1 if label % 2 else -1) if takes == 'simple' else label} {importance:g}"

    found = [
        f"{label_of(label, importance)} |rater r{rater} |task t{task} u:{task / 3:g}"
        for label, rater, task, importance in pairs
    ]
    if "crowd_em" in name or takes.endswith("_of_lines"):
        pairs_of = [found[first : first + 2] for first in range(0, len(found), 2)]
        edge = ["1,2 |edge between"] if "graph" in name else []
        found = [line for pair in pairs_of for line in [*pair, *edge[: len(pair) - 1], ""]]
    return found


EXAMPLES = st.lists(
    st.tuples(st.integers(1, 4), st.integers(0, 5), st.integers(0, 9), st.sampled_from([1.0, 1.0, 0.5, 3.0])),
    min_size=1,
    max_size=25,
)


def test_every_shipped_reduction_is_in_a_chain() -> None:
    used = {layer if isinstance(layer, str) else next(iter(layer)) for layers in CHAINS.values() for layer in layers}
    shipped = installed().registry.reductions
    rooms = ("bandits.", "class_bandits.", "few_actions.", "interaction_grounded")  # their own tests have them
    elsewhere = tuple(f"hutch.reductions.{room}" for room in rooms)
    decide = {name for name, cls in shipped.items() if cls.__module__.startswith(elsewhere)}
    assert used | decide == set(shipped)


SLOW = (
    "latent_dirichlet_allocation",
    "probabilistic_label_tree over linear",
    "recall_tree over linear",
    "eigen_memory_tree over linear",
    "search_dependencies over cost_sensitive_one_against_all",
    "search_graph over cost_sensitive_one_against_all",
    "memory_tree over linear",
)


def marked(names: Iterable[str]) -> list[Any]:
    """Names of chains as parameters, some of which are left to the slow tests, as their kernels take seconds."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in names]


@pytest.mark.parametrize("name", marked(CHAINS))
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=EXAMPLES, after=EXAMPLES)
def test_resuming_is_exact(
    name: str, before: list[tuple[int, int, int, float]], after: list[tuple[int, int, int, float]], tmp_path: Path
) -> None:
    whole, first = build(name), build(name)
    whole.learn(lines(name, before))
    first.learn(lines(name, before))
    first.save(tmp_path / "model")
    second = Chain.load(tmp_path / "model")
    np.testing.assert_array_equal(whole.learn(lines(name, after)), second.learn(lines(name, after)))
    arrays = second.arrays()
    for key, array in whole.arrays().items():
        np.testing.assert_array_equal(array, arrays[key], err_msg=f"{name}: {key}")


def test_new_combinations_compile_nothing() -> None:
    text = lines("one_against_all over linear", [(1, 0, 0, 1.0), (2, 1, 1, 1.0)])
    for name in ("one_against_all over linear", "filter_tree over dyadic"):
        build(name).learn(text)
    before = compilations()
    for name in ("filter_tree over linear", "one_against_all over dyadic"):
        build(name).learn(text)
    assert compilations() == before


@pytest.mark.parametrize("name", marked(name for name in CHAINS if not name.startswith("simulate")))  # which draws
def test_predicting_changes_nothing(name: str) -> None:
    chain = build(name)
    text = lines(name, [(1 + i % 4, i % 5, i % 7, 1.0) for i in range(40)])
    chain.learn(text)
    kept = {key: array.copy() for key, array in chain.arrays().items()}
    chain.predict(text)
    for key, array in chain.arrays().items():
        np.testing.assert_array_equal(array, kept[key], err_msg=key)
