"""The one import for authors of a loss, a layer, a reader or a model: everything of Hutch that their modules need.

    from hutch.plugin import Kernels, Labels, Predictions, Reduction, kernel, learn_next, predict_next, registering

Each name is imported from its home on first use, so a plugin pays only for what it uses. Type checkers read plugin.pyi.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "hutch.core.batch": "Batch",
    "hutch.core.chain.declarations": "Answers Inputs Parallel Shortcuts",
    "hutch.core.chain.limits": "Limits",
    "hutch.core.chain.m_step": "MStepReduction",
    "hutch.core.chain.reduction": "Context Kernels Labels LayerConfig Predictions Reduction",
    "hutch.core.data.roles": "Roles",
    "hutch.core.data.sources": "to_batches",
    "hutch.core.declared.layer": "Layer",
    "hutch.core.declared.linear": "add dot features_at row squared_norm",
    "hutch.core.declared.outcome": "OwnLoss",
    "hutch.core.declared.state": "Array State",
    "hutch.core.errors": "ConfigError DataError HutchError PluginError",
    "hutch.core.hooks": "hookimpl registering",
    "hutch.core.kernel.abi": (
        "EXAMPLE UNLABELED array_at call call_loss example_of float32s_at float64s_at importance_to_next "
        "int64s_at kernel layer_of learn_next learn_predicted_next loss_kernel loss_of predict_many_next "
        "predict_next record_of sensitivity_next shared_of state_of submodel uint32s_at widen"
    ),
    "hutch.core.kernel.cache": "compiled",
    "hutch.core.kernel.checked": "check",
    "hutch.core.kernel.decision": "decision_of ranked_of show_action sort_actions values_of",
    "hutch.core.kernel.decorators": "helper inlined intrinsic",
    "hutch.core.kernel.passing": "pass_importance_to pass_sensitivity",
    "hutch.core.kernel.record": "Record",
    "hutch.core.kernel.shown": "outcome_of put_back",
    "hutch.core.learner.dense_row": "DenseNamespace read_dense",
    "hutch.core.learner.features": "Features feature_rows_of feature_values_of features_of gather",
    "hutch.core.learner.first_weights": "fill_weights",
    "hutch.core.learner.memory": "Buffer append reserve",
    "hutch.core.learner.terms": "Terms",
    "hutch.core.loss.losses": "Loss LossChoice LossLabels LossParameter",
    "hutch.core.parameters": "ExampleValue Parameters Within",
    "hutch.core.run.progress": "ProgressEvent",
    "hutch.core.text.hashing": "hash_feature hash_namespace namespace_id",
    "hutch.core.text.parser": "ParserOptions",
    "hutch.crowd.models.model": "CrowdModel CrowdState",
    "hutch.em.base.model": "EMModel",
    "hutch.em.models": "ModelEntry",
    "hutch.plugins.checks": (
        "check_crowd_model check_loss check_reduction checks_of_crowd_model checks_of_loss checks_of_reduction"
    ),
    "hutch.reductions.bandits.explorer": "Explorer",
    "hutch.reductions.bandits.probabilities": "conclude predict_and_teach predict_own teach_next",
    "hutch.vw.options.option": "EXPLORING VwLayer VwOption new_flag new_float new_int new_text new_words",
}
"""The names of each module, separated by spaces."""
_THERE = {
    "CrowdState": "State",
    "EMModel": "Model",
    "VwOption": "Option",
    "feature_rows_of": "rows_of",
    "feature_values_of": "values_of",
}
"""Names that their homes spell otherwise."""
_FOUND = {name: (module, _THERE.get(name, name)) for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _FOUND:
        raise AttributeError(f"module 'hutch.plugin' has no attribute {name!r}")
    module, there = _FOUND[name]
    found = globals()[name] = getattr(import_module(module), there)
    return found


def __dir__() -> list[str]:
    return sorted(_FOUND)
