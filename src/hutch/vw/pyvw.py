"""The names of VW's module `pyvw`, for scripts that say `from vowpalwabbit import pyvw`."""

from hutch.core.version import version
from hutch.vw.merging import merge_models as merge_models
from hutch.vw.parse import parse
from hutch.vw.python.example import Example as Example
from hutch.vw.python.kinds import CCBLabelType as CCBLabelType
from hutch.vw.python.kinds import LabelType as LabelType
from hutch.vw.python.kinds import PredictionType as PredictionType
from hutch.vw.python.kinds import SlatesLabelType as SlatesLabelType
from hutch.vw.python.labels import AbstractLabel as AbstractLabel
from hutch.vw.python.labels import ActionScore as ActionScore
from hutch.vw.python.labels import CBEvalLabel as CBEvalLabel
from hutch.vw.python.labels import CBLabel as CBLabel
from hutch.vw.python.labels import CBLabelElement as CBLabelElement
from hutch.vw.python.labels import CCBLabel as CCBLabel
from hutch.vw.python.labels import CCBSlotOutcome as CCBSlotOutcome
from hutch.vw.python.labels import CostSensitiveElement as CostSensitiveElement
from hutch.vw.python.labels import CostSensitiveLabel as CostSensitiveLabel
from hutch.vw.python.labels import MulticlassLabel as MulticlassLabel
from hutch.vw.python.labels import MulticlassProbabilitiesLabel as MulticlassProbabilitiesLabel
from hutch.vw.python.labels import SimpleLabel as SimpleLabel
from hutch.vw.python.labels import SlatesLabel as SlatesLabel
from hutch.vw.python.labels import get_label_class_from_enum as get_label_class_from_enum
from hutch.vw.python.spaces import ExampleNamespace as ExampleNamespace
from hutch.vw.python.spaces import NamespaceId as NamespaceId
from hutch.vw.settings import Config, config_of
from hutch.vw.settings import VWOption as VWOption
from hutch.vw.workspace import Workspace as Workspace

__version__ = version()
vw, example, namespace_id, example_namespace = Workspace, Example, NamespaceId, ExampleNamespace
abstract_label, simple_label, multiclass_label = AbstractLabel, SimpleLabel, MulticlassLabel
multiclass_probabilities_label, cost_sensitive_label = MulticlassProbabilitiesLabel, CostSensitiveLabel
cbandits_label = CBLabel
"""The names before VW 9."""


class pylibvw:
    """The names of VW's extension module that scripts use: `pyvw.pylibvw.vw.lContextualBandit`."""

    vw, example = Workspace, Example


def get_all_vw_options() -> Config:
    """All options that Hutch has, by layer and heading, with their defaults."""
    return config_of(parse([]))


def get_prediction(ec: Example, prediction_type: int) -> object:
    """The same as `Example.get_prediction`."""
    return ec.get_prediction(prediction_type)
