"""The one import for authors of a loss, a layer, a reader or a model: everything of Hutch that their modules need.

    from hutch.plugin import Kernels, Labels, Predictions, Reduction, kernel, learn_next, predict_next, registering

Each name is imported from its home on first use, so a plugin pays only for what it uses.
"""

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hutch.core.batch import Batch as Batch
    from hutch.core.chain.declarations import Answers as Answers
    from hutch.core.chain.declarations import Inputs as Inputs
    from hutch.core.chain.declarations import Parallel as Parallel
    from hutch.core.chain.declarations import Shortcuts as Shortcuts
    from hutch.core.chain.limits import Limits as Limits
    from hutch.core.chain.m_step import MStepReduction as MStepReduction
    from hutch.core.chain.reduction import Context as Context
    from hutch.core.chain.reduction import Kernels as Kernels
    from hutch.core.chain.reduction import Labels as Labels
    from hutch.core.chain.reduction import LayerConfig as LayerConfig
    from hutch.core.chain.reduction import Predictions as Predictions
    from hutch.core.chain.reduction import Reduction as Reduction
    from hutch.core.data.roles import Roles as Roles
    from hutch.core.data.sources import to_batches as to_batches
    from hutch.core.errors import ConfigError as ConfigError
    from hutch.core.errors import DataError as DataError
    from hutch.core.errors import HutchError as HutchError
    from hutch.core.errors import PluginError as PluginError
    from hutch.core.hooks import hookimpl as hookimpl
    from hutch.core.hooks import registering as registering
    from hutch.core.kernel.abi import EXAMPLE as EXAMPLE
    from hutch.core.kernel.abi import UNLABELED as UNLABELED
    from hutch.core.kernel.abi import array_at as array_at
    from hutch.core.kernel.abi import call as call
    from hutch.core.kernel.abi import call_loss as call_loss
    from hutch.core.kernel.abi import example_of as example_of
    from hutch.core.kernel.abi import float32s_at as float32s_at
    from hutch.core.kernel.abi import float64s_at as float64s_at
    from hutch.core.kernel.abi import importance_to_next as importance_to_next
    from hutch.core.kernel.abi import int64s_at as int64s_at
    from hutch.core.kernel.abi import kernel as kernel
    from hutch.core.kernel.abi import layer_of as layer_of
    from hutch.core.kernel.abi import learn_next as learn_next
    from hutch.core.kernel.abi import learn_predicted_next as learn_predicted_next
    from hutch.core.kernel.abi import loss_kernel as loss_kernel
    from hutch.core.kernel.abi import loss_of as loss_of
    from hutch.core.kernel.abi import predict_many_next as predict_many_next
    from hutch.core.kernel.abi import predict_next as predict_next
    from hutch.core.kernel.abi import record_of as record_of
    from hutch.core.kernel.abi import sensitivity_next as sensitivity_next
    from hutch.core.kernel.abi import shared_of as shared_of
    from hutch.core.kernel.abi import state_of as state_of
    from hutch.core.kernel.abi import submodel as submodel
    from hutch.core.kernel.abi import uint32s_at as uint32s_at
    from hutch.core.kernel.cache import compiled as compiled
    from hutch.core.kernel.checked import check as check
    from hutch.core.kernel.decision import decision_of as decision_of
    from hutch.core.kernel.decision import ranked_of as ranked_of
    from hutch.core.kernel.decision import show_action as show_action
    from hutch.core.kernel.decision import sort_actions as sort_actions
    from hutch.core.kernel.decision import values_of as values_of
    from hutch.core.kernel.decorators import helper as helper
    from hutch.core.kernel.decorators import inlined as inlined
    from hutch.core.kernel.decorators import intrinsic as intrinsic
    from hutch.core.kernel.passing import pass_importance_to as pass_importance_to
    from hutch.core.kernel.passing import pass_sensitivity as pass_sensitivity
    from hutch.core.kernel.record import Record as Record
    from hutch.core.kernel.shown import outcome_of as outcome_of
    from hutch.core.kernel.shown import put_back as put_back
    from hutch.core.loss.losses import Loss as Loss
    from hutch.core.loss.losses import LossChoice as LossChoice
    from hutch.core.loss.losses import LossLabels as LossLabels
    from hutch.core.loss.losses import LossParameter as LossParameter
    from hutch.core.parameters import ExampleValue as ExampleValue
    from hutch.core.parameters import Parameters as Parameters
    from hutch.core.parameters import Within as Within
    from hutch.core.run.progress import ProgressEvent as ProgressEvent
    from hutch.core.text.hashing import hash_feature as hash_feature
    from hutch.core.text.hashing import hash_namespace as hash_namespace
    from hutch.core.text.hashing import namespace_id as namespace_id
    from hutch.core.text.parser import ParserOptions as ParserOptions
    from hutch.crowd.models.model import CrowdModel as CrowdModel
    from hutch.crowd.models.model import State
    from hutch.em.base.model import Model
    from hutch.em.models import ModelEntry as ModelEntry
    from hutch.plugins.checks import check_crowd_model as check_crowd_model
    from hutch.plugins.checks import check_loss as check_loss
    from hutch.plugins.checks import check_reduction as check_reduction
    from hutch.plugins.checks import checks_of_crowd_model as checks_of_crowd_model
    from hutch.plugins.checks import checks_of_loss as checks_of_loss
    from hutch.plugins.checks import checks_of_reduction as checks_of_reduction
    from hutch.reductions.bandits.probabilities import conclude as conclude
    from hutch.reductions.bandits.probabilities import predict_and_teach as predict_and_teach
    from hutch.reductions.bandits.probabilities import predict_own as predict_own
    from hutch.reductions.bandits.probabilities import teach_next as teach_next

    CrowdState = State
    EMModel = Model

_IMPORT = re.compile(r"^    from (hutch\.\S+) import (\w+) as \2$", re.M)
_SOURCE: str = globals()["__loader__"].get_source(__name__)
_FOUND = {name: (module, name) for module, name in _IMPORT.findall(_SOURCE)} | {
    "CrowdState": ("hutch.crowd.models.model", "State"),
    "EMModel": ("hutch.em.base.model", "Model"),
}
"""The home of each name, and its name there, from the imports above, which type checkers read."""


def __getattr__(name: str) -> Any:
    if name not in _FOUND:
        raise AttributeError(f"module 'hutch.plugin' has no attribute {name!r}")
    module, there = _FOUND[name]
    found = globals()[name] = getattr(import_module(module), there)
    return found


def __dir__() -> list[str]:
    return sorted(_FOUND)
