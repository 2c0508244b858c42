"""The lines that Vowpal Wabbit prints before its table, and the options that it writes into a model."""

from argparse import Namespace
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from hutch.chain import Chain
from hutch.core.chain.capabilities import LearnsFromPasses, SearchesLabels, has
from hutch.core.chain.reduction import Labels
from hutch.core.run.run import RunOptions
from hutch.core.run.table import TABLE_HEADER
from hutch.vw.class_bandits import LAYERS as CLASS_BANDITS
from hutch.vw.decisions import SLOT_NAMESPACE
from hutch.vw.options.declared import BASES, DECLARED
from hutch.vw.options.table import OPTIONS
from hutch.vw.outputs import finds_topics, layer_named

_KEPT = ("multilabel_oaa", "affix", "dictionary", "redefine", "spelling", "quadratic", "cubic", "interactions",
         "noconstant", "link", "binary", "oaa", "ect", "error", "lda", "lda_alpha", "lda_rho", "named_labels",
         "cbzo", "policy", "cats", "cats_pdf", "min_value", "max_value", "bandwidth", "coin", "ftrl", "pistol",
         "freegrad", "svrg", "lrq", "lrqfa", "boosting", "autolink", "stage_poly", "marginal", "baseline",
         "confidence", "noop")  # fmt: skip
_KEPT_OF_DECISIONS = ("slates", "cb", "cb_explore", "cb_sample", "csoaa_ldf", "epsilon", "softmax", "lambda", "bag",
                      "squarecb", "first", "cover", "regcb", "experimental_igl", "large_action_space", "max_actions",
                      "spanner_c")  # fmt: skip
_SILENT = ("ngrams", "feature_limit", "binary", "link")
_LEARNERS = {option.layer: option.name for option in OPTIONS if option.brings_layer and option.layer not in _SILENT}
_LEARNERS |= {"linear": "gd", "low_rank_quadratic": "lrq"} | {name: layer.learner for name, layer in DECLARED.items()}
_DECIDES = "cost_sensitive_with_features"
_ESTIMATE = ("contextual_bandit", "bandit_per_class")
"""Layers that turn the cost of one action into costs of all, as `--cb_type` says."""
_VOTES = ("boosting",)
"""Layers for simple labels that VW has above its scorer."""
_MERGER = "shared_feature_merger"
_MERGED = [name for name, layer in DECLARED.items() if layer.makes_actions]
"""Layers that VW has above the one that merges features."""


def header(chain: Chain, options: RunOptions, given: Namespace, cached: bool) -> str:
    """All lines up to the table's head.

    Args:
        chain: as built or loaded; the loaded values count, not those that the command line repeats.
        options: files and passes of the run.
        given: the command line.
        cached: the data comes from an existing cache.
    """
    base = chain.layers[-1].parameters
    testing = "" if options.learn and (given.print or getattr(base, "learning_rate", True)) else "only testing"
    named = given.quadratic or given.cubic or given.interactions
    fresh, of_model = given.initial_regressor is None, _by_length(getattr(base, "interactions", ()))
    lines = [
        *_interaction_lines(*((given.quadratic, given.cubic, given.interactions) if named or fresh else of_model)),
        *_namespace_lines(chain),
        testing,
        *_regularization_lines(base, given),
        f"parsed {given.named_labels.count(',') + 1} named labels" if given.named_labels else "",
        f"final_regressor = {options.model}" if options.model else "",
        f"predictions = {given.predictions}" if given.predictions else "",
        f"raw predictions = {given.raw_predictions}" if given.raw_predictions else "",
        *_tree_lines(chain, options),
        *_low_rank_lines(chain),
        *_sums_lines(chain),
        *_search_lines(base),
        f"using cache_file = {options.cache}" if cached else "",
        f"creating cache_file = {options.cache}" if options.cache and not cached else "",
        "" if options.cache else "using no cache",
        *(f"Reading datafile = {source}" for source in options.data or ["none"]),
        f"num sources = {len(options.data)}",
        f"Num weight bits = {chain.config.weights.bits}",
        f"learning rate = {_learning_rate(chain):g}",
        f"initial_t = {float(chain.shared[0]['time']):g}",
        f"power_t = {getattr(base, 'power_t', 0.5):g}",
        f"decay_learning_rate = {getattr(base, 'decay', 1):g}" if options.passes > 1 else "",
        *(f"cb_type = {given.cb_type or layer.parameters.type}" for layer in chain.layers if layer.name in _ESTIMATE),
        *_dictionary_lines(chain),
        f"Enabled learners: {', '.join(learners(chain, given))}",
        f"Input label = {_LABELS.get(chain.takes.value, chain.takes.of_one_line.value.upper())}{_evaluated(chain)}",
        f"Output pred = {output_kind(chain, given)}",
        "" if has(chain.layers[-1], LearnsFromPasses) else TABLE_HEADER,
    ]
    return "\n".join(line for line in lines if line)


def _dictionary_lines(chain: Chain) -> Iterator[str]:
    if chain.config.input.dictionaries:
        from hutch.vw.made import dictionary_lines

        yield from dictionary_lines(chain.config.input)


_LABELS = {"cost_sensitive": "CS", "action_costs": "CS", "logged_action": "CB", "logged_class": "CB"}
_LABELS |= {"logged_slots": "CCB", "logged_slate": "SLATES"}
_PREDICTIONS = {"class": "MULTICLASS", "labels": "MULTILABELS", "action_probabilities": "ACTION_PROBS"}
_LABELS |= {"numbers_of_lines": "MULTILABEL", "logged_number": "CONTINUOUS", "none": "NOLABEL"}
_PREDICTIONS |= {"density": "PDF", "drawn_number": "ACTION_PDF_VALUE"}


def _evaluated(chain: Chain) -> str:
    """What VW adds to the kind of labels that name the choice of a policy first."""
    return "_EVAL" if any(getattr(layer.parameters, "evaluates", False) for layer in chain.layers) else ""


def _learning_rate(chain: Chain) -> float:
    base: Any = chain.layers[-1]
    if "learning_rate" not in (base.state.dtype.names or ()):
        return float(getattr(base.parameters, "learning_rate", 0.5))
    return float(base.state["learning_rate"][0])


def _sums_lines(chain: Chain) -> list[str]:
    base = chain.layers[-1]
    if base.name not in BASES or not BASES[base.name].learner.startswith("ftrl"):
        return []
    names = [f"ftrl_{name} = {getattr(base.parameters, name):g}" for name in ("alpha", "beta")]
    return [
        "Enabling FTRL based optimization",
        f"Algorithm used: {BASES[base.name].learner.removeprefix('ftrl-')}",
        *names,
    ]


def _search_lines(base: Any) -> list[str]:
    """How VW introduces a search over passes, and the head of its table."""
    if not hasattr(base, "measure_curvature"):
        return []
    name = "BFGS based optimization" if base.memory else "conjugate gradient optimization via BFGS"
    curved = base.measure_curvature or not base.memory
    return [
        f"enabling {name} {'with curvature calculation' if curved else '**without** curvature calculation'}",
        SEARCH_HEADER,
    ]


SEARCH_HEADER = (
    "## avg. loss \tder. mag. \td. m. cond.\t wolfe1    \twolfe2    \tmix fraction\tcurvature "
    "\tdir. magnitude\tstep size"
)
"""The head of the table of `--bfgs`."""


def kept_options(chain: Chain, given: Namespace) -> str:
    """The options that VW writes into a model, by name; beside `-i` those of the model, too."""
    words, options = [], given
    if given.initial_regressor is not None:
        from hutch.vw.beside import own_options  # only few runs need it

        if (own := own_options(chain.config)) is not None:
            options, terms = own, getattr(chain.layers[-1].parameters, "interactions", ())
            own.quadratic, own.cubic, own.interactions = _by_length(terms)
            own.named_labels = given.named_labels
    kept = {name: getattr(options, name, None) for name in (*_KEPT, *_KEPT_OF_DECISIONS)} | _implied(options)
    for name, value in sorted(kept.items()):
        for each in value if isinstance(value, list) else [value]:
            shown = (
                f"{float(np.float32(each)):.15g}"
                if name in ("epsilon", "lambda", "spanner_c") and each is not None
                else each
            )
            words += [] if each in (None, False) else [f"--{name}" if each is True else f"--{name} {shown}"]
    return " ".join(words)


def _implied(options: Namespace) -> dict[str, Any]:
    """The options that VW adds to those of decisions."""
    slots = options.ccb_explore_adf or options.slates
    alone = not options.cb_force_legacy
    explores = slots or options.cb_explore_adf or (alone and options.cb_explore is not None)
    found: dict[str, Any] = dict.fromkeys(("ccb_explore_adf", "cb_sample"), True) if slots else {}
    found |= {"cb_explore_adf": True} if explores else {}
    if explores or options.cb_adf or (alone and options.cb is not None):
        cost_type = options.cb_type or "mtr"
        found |= {"cb_adf": True, "cb_type": cost_type, "csoaa_ldf": "multiline", "csoaa_rank": True}
    return found


def output_kind(chain: Chain, given: Namespace) -> str:
    """VW's name for the kind of the predictions."""
    if given.probabilities and has(chain.layers[0], SearchesLabels):
        return "ACTION_PROBS"
    if given.scores or given.probabilities or given.top or finds_topics(chain):
        return "SCALARS"
    top = chain.layers[0]
    if chain.takes.of_slots:
        return "DECISION_PROBS"
    if top.name == "cost_sensitive_active":
        return "ACTIVE_MULTICLASS"
    if top.name == _DECIDES and top.parameters.lists == "best":
        return "MULTICLASS"
    classes = layer_named(chain, "action_per_class")
    if classes is not None and classes.context.below.name == "contextual_bandit":
        return "MULTICLASS"
    return _PREDICTIONS.get(chain.predicts.value, chain.predicts.value.upper())


def learners(chain: Chain, given: Namespace) -> list[str]:
    """Learners from bottom to top, by VW's names; VW puts its scorer above an active layer, and `interact` above it."""
    found = list(_learners(chain, given))
    scorer = next((k for k, name in enumerate(found) if name.startswith("scorer")), 0)
    if "interact" in found[:scorer]:
        found.remove("interact")
        found.insert(scorer, "interact")
    return found


def _learners(chain: Chain, given: Namespace) -> Iterator[str]:
    base, link = chain.layers[-1].parameters, layer_named(chain, "link")
    scorer = f"scorer-{link.parameters.function if link else 'identity'}"
    lowest = next((layer for layer in reversed(chain.layers[:-1]) if layer.takes not in (None, Labels.SIMPLE)), None)
    for layer in reversed(chain.layers):
        name = layer.name
        if name not in _LEARNERS:
            continue
        if name in _MERGED:
            yield _MERGER
        above = layer is lowest and name not in CLASS_BANDITS
        if name == _DECIDES or (above and not any(each.name == _DECIDES for each in chain.layers)):
            yield scorer
            if any(each.name == "binary" for each in chain.layers):
                yield "binary"
        if name in _VOTES:
            yield scorer
        yield "print" if given.print and name == "linear" else _LEARNERS[name] + _suffix(layer, given)
        if name == "linear" and any(":" in term for term in base.interactions):
            yield "generate_interactions"
    if chain.takes.of_decisions and not chain.takes.of_lines and chain.layers[0].name not in _MERGED:
        yield _MERGER
    if chain.takes.value == "simple":
        if layer_named(chain, *_VOTES) is None and lowest is None:
            yield scorer
        if any(layer.name == "binary" for layer in chain.layers) and lowest is None:
            yield "binary"
        if given.top:
            yield "top"
        if not given.dont_output_best_constant:
            yield "count_label"


def _suffix(layer: Any, given: Namespace) -> str:
    if layer.name == "low_rank_quadratic":
        return "fa" if layer.parameters.field_aware else ""
    if layer.name == "boosting":
        return {"majority": ""}.get(layer.parameters.algorithm, f"-{layer.parameters.algorithm}")
    if layer.name == "policy_values":
        return {"nothing": "", "others": "-no_eval"}.get(layer.parameters.learns, "-eval")
    if layer.name == "bandit_per_class":
        return "-eval" if layer.parameters.evaluates else ""
    if layer.name == "explore_classes":
        return {"epsilon": "-greedy"}.get(layer.parameters.method, f"-{layer.parameters.method}")
    if layer.name == "cost_sensitive_active":
        return "-sim" if given.simulation else ""
    if layer.name == "active":
        return "-simulation" if layer.parameters.simulation else ""
    if layer.name == _DECIDES:
        return "-prob" if given.probabilities else "-rank" if layer.parameters.lists == "all" else ""
    if layer.name == "probabilistic_label_tree":
        return " -top_k" * bool(layer.parameters.best) + " -prob" * bool(given.probabilities)
    if layer.name == "multilabel_one_against_all":
        return "-prob" if given.probabilities else ""
    if layer.name != "one_against_all":
        return ""
    return "-prob" if given.probabilities else "-scores" if given.scores else "-raw" if given.raw_predictions else ""


def _interaction_lines(*groups: Iterable[str]) -> Iterator[str]:
    """The lines about pairs, triples and other terms."""
    titles = ("quadratic features for pairs", "cubic features for triples", "features for following interactions")
    yield from (f"creating {title}: {' '.join(terms)}" for title, terms in zip(titles, groups, strict=True) if terms)


def _by_length(terms: Iterable[Any]) -> list[list[str]]:
    """The terms of a model: pairs, triples and others."""
    found = ["".join(term) for term in terms if all(len(name) == 1 and name != SLOT_NAMESPACE for name in term)]
    return [[term for term in found if min(len(term), 4) == length] for length in (2, 3, 4)]


def _namespace_lines(chain: Chain) -> Iterator[str]:
    given, base = chain.config.input, chain.layers[-1].parameters
    if given.ignore:
        yield f"ignoring namespaces beginning with: {' '.join(given.ignore)}"
    if left_out := getattr(base, "ignore_linear", ()):
        yield f"ignoring linear terms for namespaces beginning with: {' '.join(left_out)}"
    if given.keep:
        yield f"using namespaces beginning with: {' '.join(given.keep)}"


def _regularization_lines(base: Any, given: Namespace) -> Iterator[str]:
    for name in ("l1", "l2"):
        if getattr(base, name, 0) and (not given.initial_regressor or getattr(given, name) is not None):
            yield f"using {name} regularization = {getattr(base, name):g}"


def _tree_lines(chain: Chain, options: RunOptions) -> Iterator[str]:
    if has(chain.layers[0], SearchesLabels):
        from hutch.vw.label_trees import introduction

        yield from introduction(chain, options.learn)
    if (layer := layer_named(chain, "memory_tree")) is not None:
        p = layer.parameters
        yield from ("tree initialization is done....", f"max nodes {p.nodes}", "tree size: 1")
        yield f"learn at leaf: {int(p.learns_similarity)}"
        yield f"num of dream operations per example: {p.replays}"
        shown = f"max_nodes = {p.nodes} max_leaf_examples = {p.most_in_leaf} alpha = {p.alpha:g}"
        yield f"memory_tree: {shown} oas = 0 online ={int(p.online)} "
    if (layer := layer_named(chain, "recall_tree")) is not None:
        p = layer.parameters
        routing = "n/a testonly" if not options.learn else "randomized" if p.randomized else "deterministic"
        shown = f"node_only = {int(not p.whole_path)} bern_hyper = {p.penalty:g} max_depth = {p.levels}"
        yield f"recall_tree: {shown} routing = {routing}"


def _low_rank_lines(chain: Chain) -> Iterator[str]:
    layer = layer_named(chain, "low_rank_quadratic")
    if layer is not None and not layer.parameters.field_aware:
        dropout = "(using dropout) " if layer.parameters.dropout else ""
        pairs = "".join(f"{''.join(pair.namespaces)}{pair.rank} " for pair in layer.parameters.pairs)
        yield f"creating low rank quadratic features for pairs: {dropout}{pairs}"
