"""Vowpal Wabbit's options for learning to search: the layers, each for one `--search_task`, and their options."""

from collections.abc import Mapping

from hutch.vw.options.option import Option, VwLayer, new_choice, new_flag, new_float, new_int, new_text

_TASK = ("search_task",)
_NOTHING = "has no effect, as in VW"
TASKS: Mapping[str, str] = {
    "sequence": "search_sequence",
    "sequencespan": "search_spans",
    "sequence_ctg": "search_sequence",
    "argmax": "search_maximum",
    "multiclasstask": "search_bits",
    "entity_relation": "search_relations",
    "dep_parser": "search_dependencies",
    "graph": "search_graph",
}
"""The layer of each task."""
_ROLLS = (("learn", "policy"), ("ref", "oracle"), ("mix", "mix_per_roll"))
_METHODS = ("policy", "learn", "oracle", "ref", "mix_per_state", "mix_per_roll", "mix")

_COMMON: tuple[Option, ...] = (
    new_int("search", "Learning to search: predict N classes of lines.", least=1, sets="classes"),
    new_text(
        "search_task",
        "TASK",
        "what a block of lines is: " + ", ".join(TASKS) + ".",
        choices=tuple(TASKS),
        needs=("search",),
    ),
    new_text(
        "search_interpolation",
        "data|policy",
        "mix examples, or policies that follow each other.",
        default="data",
        choices=("data", "policy"),
        note="a loaded model predicts with its newest policy; VW takes the first",
        needs=_TASK,
    ),
    new_text(
        "search_rollout",
        "METHOD",
        "who decides behind the step that is learned.",
        default="mix_per_state",
        choices=(*_METHODS, "none"),
        sets="rollout",
        means=_ROLLS,
        needs=_TASK,
    ),
    new_text(
        "search_rollin",
        "METHOD",
        "who decides before it.",
        default="mix_per_state",
        choices=_METHODS,
        sets="rollin",
        means=_ROLLS,
        needs=_TASK,
    ),
    new_int("search_passes_per_policy", "passes for which a policy learns.", default=1, least=1, needs=_TASK),
    new_int("search_total_nb_policies", "policies that there is room for, to go on with -i.", least=1, needs=_TASK),
    new_float("search_beta", _NOTHING + ".", note=_NOTHING + ": it is replaced before it is used", needs=_TASK),
    new_float("search_alpha", "rate at which what was learned is trusted.", default=1e-10, sets="alpha", needs=_TASK),
    new_text(
        "search_allowed_transitions",
        "FILE",
        _NOTHING + ".",
        note=_NOTHING + ", which reads the file and no more",
        needs=_TASK,
    ),
    new_float("search_subsample_time", "learn only some steps.", least=0, sets="subsample", needs=_TASK),
    new_text("search_neighbor_features", "-1:a,+2,...", "features of lines beside a line.", needs=_TASK),
    new_int("search_rollout_num_steps", "losses that end a run.", least=0, sets="rollout_losses", needs=_TASK),
    new_int("search_history_length", "actions before a step.", default=1, least=0, sets="history", needs=_TASK),
    new_flag("search_no_caching", "remember no predictions.", sets="caching", value=False, needs=_TASK),
    new_flag("search_xv", "learn three policies, two of which test the others.", sets="folds", needs=_TASK),
    new_float("search_perturb_oracle", "how often labels are not followed.", sets="perturbation", needs=_TASK),
    new_flag("search_linear_ordering", "learn steps in order.", sets="in_order", needs=_TASK),
    new_int("search_save_every_k_runs", _NOTHING + ".", note=_NOTHING + " without `--cs_active`", needs=_TASK),
    new_int(
        "search_max_bias_ngram_length",
        "longest run of actions that is a feature.",
        default=1,
        least=0,
        sets="bias_length",
        needs=_TASK,
    ),
    new_int(
        "search_max_quad_ngram_length",
        "longest run multiplied with features.",
        default=0,
        least=0,
        sets="product_length",
        needs=_TASK,
    ),
    new_float("search_condition_feature_value", "their value.", default=1, sets="history_value", needs=_TASK),
)

_BESIDE = tuple((option.name, option.sets) for option in _COMMON if option.sets)

LAYERS: dict[str, VwLayer] = {
    "search_bits": VwLayer(learner="search_task", beside=_BESIDE),
    "search_dependencies": VwLayer(
        learner="search_task",
        options=(
            new_int("root_label", "label of the arc to the root.", default=8, least=0, sets="root", needs=_TASK),
            new_int("num_label", "number of the labels of arcs.", default=12, least=1, sets="labels", needs=_TASK),
            new_choice(
                "transition_system",
                "arc-hybrid, or arc-eager.",
                {"1": "arc_hybrid", "2": "arc_eager"},
                sets="transitions",
                needs=_TASK,
            ),
            new_flag("one_learner", "choose transitions and labels together.", sets="one_model", needs=_TASK),
            new_flag("cost_to_go", "learn costs by a dynamic oracle.", sets="cost_to_go", needs=_TASK),
            new_flag("old_style_labels", "labels are 256 · label + head + 1.", sets="packed", needs=_TASK),
        ),
        beside=_BESIDE,
    ),
    "search_graph": VwLayer(
        learner="search_task",
        options=(
            new_int("search_graph_num_loops", "times to go through.", default=2, least=0, sets="loops", needs=_TASK),
            new_flag("search_graph_no_structure", "see edges alone.", sets="structure", value=False, needs=_TASK),
            new_flag("search_graph_separate_learners", "a model for each time.", sets="separate", needs=_TASK),
            new_flag("search_graph_directed", "edges have a direction.", sets="directed", needs=_TASK),
        ),
        beside=_BESIDE,
    ),
    "search_maximum": VwLayer(
        learner="search_task",
        options=(
            new_float("cost", "of a greatest class that is missed.", default=10, sets="cost", needs=_TASK),
            new_float("negative_weight", "divides it.", default=1, sets="weight", needs=_TASK),
            new_flag("max", "every line is to have the greatest class.", sets="only_greatest", needs=_TASK),
        ),
        beside=_BESIDE,
    ),
    "search_relations": VwLayer(
        learner="search_task",
        options=(
            new_float("relation_cost", "of a wrong relation.", default=1, sets="relation_cost", needs=_TASK),
            new_float("entity_cost", "of a wrong entity.", default=1, sets="entity_cost", needs=_TASK),
            new_flag("constraints", "relations fit the classes of their entities.", sets="constraints", needs=_TASK),
            new_float("relation_none_cost", "of a relation where none is.", default=0.5, sets="none_cost", needs=_TASK),
            new_float("skip_cost", "of a choice that is put off.", default=0.01, sets="skip_cost", needs=_TASK),
            new_choice(
                "search_order",
                "entities first, mixed with relations, or some put off.",
                {"0": "entities_first", "1": "mixed", "2": "skip"},
                sets="order",
                needs=_TASK,
            ),
        ),
        beside=_BESIDE,
    ),
    "search_sequence": VwLayer(learner="search_task", options=_COMMON),
    "search_spans": VwLayer(
        learner="search_task",
        options=(
            new_flag(
                "search_span_bilou",
                "label lines within spans by their places.",
                sets="encoding",
                value="bilou",
                needs=_TASK,
            ),
            new_int(
                "search_span_multipass", "times to go through a block.", default=1, least=1, sets="sweeps", needs=_TASK
            ),
        ),
        beside=_BESIDE,
    ),
}
"""By the layer's name."""
