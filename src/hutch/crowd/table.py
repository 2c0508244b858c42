"""Crowd models by name, and those that come with Hutch as tuples."""

from collections.abc import Mapping
from typing import Any

from hutch.core.errors import PluginError, UsageError, did_you_mean
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.models.many_classes import ManyClasses
from hutch.crowd.models.model import CrowdModel
from hutch.crowd.models.nominal import Nominal
from hutch.crowd.models.numbers import Numbers
from hutch.crowd.models.one_coin import OneCoin
from hutch.crowd.models.ordinal import Ordinal
from hutch.crowd.models.two_level import TwoLevel

EXCHANGEABLE: tuple[type[CrowdModel], ...] = (TwoLevel, DawidSkene, Ordinal, OneCoin, ManyClasses, Nominal)
"""Models under which workers are exchangeable: none is declared a person or a judge."""
BUILT_IN: tuple[type[CrowdModel], ...] = (*EXCHANGEABLE, Mixed, Numbers)
DEFAULT = TwoLevel.name


def find(name: str, models: Mapping[str, type[CrowdModel]]) -> type[CrowdModel]:
    """The class of a model.

    Raises:
        UsageError: the name is unknown.
    """
    if name not in models:
        raise UsageError(f"no crowd model {name!r}; {did_you_mean(name, models)}")
    return models[name]


def create(name: str, models: Mapping[str, type[CrowdModel]], **parameters: Any) -> CrowdModel:
    """A model by name.

    Raises:
        UsageError: the name is unknown.
        ConfigError: a parameter is unknown or out of range.
        PluginError: the model of a plugin lacks a method.

    >>> create("one_coin", {model.name: model for model in BUILT_IN}, strength=3).parameters.strength
    3.0
    """
    model = find(name, models)
    if lacking := sorted(getattr(model, "__abstractmethods__", ())):
        raise PluginError(f"crowd model {name!r}: {model.__module__}.{model.__name__} lacks {', '.join(lacking)}")
    return model(**parameters)
