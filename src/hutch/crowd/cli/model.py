"""The model that `hutch crowd` runs, and how: from its options, or from a saved model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hutch.core.errors import ConfigError, UsageError, did_you_mean
from hutch.crowd.cli.options import CrowdOptions

if TYPE_CHECKING:
    from hutch.crowd.aggregate import Options
    from hutch.crowd.data.labels import Labels
    from hutch.crowd.models.model import CrowdModel, State

_METHODS = ("batch", "online")


def model_of(given: CrowdOptions, reference: tuple[str, ...]) -> tuple[CrowdModel, Options, State | None]:
    """The model, how to run it, and its state; a saved model determines the options not given.

    Args:
        given: the options.
        reference: whose labels define the classes.

    Raises:
        UsageError: options that contradict each other or the saved model.
    """
    from hutch.crowd.aggregate import Method, Options, load
    from hutch.crowd.models.online import DEFAULT_SLOTS
    from hutch.crowd.questions import apart

    method, model, slots, shards = given.method, given.model, given.slots, given.shards
    parameters: dict[str, Any] = {}
    history: State | None = None
    if given.initial:
        saved, history = load(given.initial)
        for option, value in (("method", method), ("model", model), ("slots", slots)):
            if value is not None and value != saved[option]:
                raise UsageError(f"--{option}: got {value}, but {given.initial} was made with {saved[option]}")
        method, model, slots, parameters = saved["method"], saved["model"], saved["slots"], saved["parameters"]
        shards = shards or saved.get("shards", 1)
    if history and bool(apart(history)) != given.multi_label:
        made = "without" if given.multi_label else "with"
        raise UsageError(f"--multi-label: {given.initial} was made {made} it")
    method = method or "batch"
    if given.multi_label and model is None and method == "online":
        model = "dawid_skene"  # of two classes the stream of two_level learns little
    settled = _settings(given.set or ())
    if given.all_judges and given.reference:
        raise UsageError("--all-judges: cannot be combined with --reference, whose labels define the classes")
    if given.all_judges and given.gold and model is None and method == "batch":
        model = "mixed"  # gold determines the weight of each judge
    if given.all_judges and model is None and method == "batch" and not history:
        settled = {"judges": True} | settled
    if given.least_accuracy is not None:
        if not given.all_judges or history or method != "batch" or model not in (None, "mixed"):
            raise UsageError("--least-accuracy: needs --all-judges, and neither another model, --method online nor -i")
        settled = {"least_accuracy": given.least_accuracy} | settled
    if reference:
        if model is not None and not _wants_people(model):
            wanted = "wanted mixed, which tells people from judges"
            raise UsageError(f"--reference, column kind: got model {model}, {wanted}")
        model, settled = model or "mixed", {"reference": reference} | settled
    if model is not None and given.ordered is not None and _wants_people(model):
        settled["ordered"] = given.ordered
    if model is None and given.ordered:
        model = "ordinal"
    if method not in _METHODS:
        raise UsageError(f"--method: got {method!r}; {did_you_mean(method, _METHODS)}")
    if method == "online" and (shards or 1) > 1:
        why = "one stream learns more from the same labels than shards of it"
        raise UsageError(f"--shards: wanted --method batch; {why}")
    chosen = create_model(model, parameters | settled)
    if given.open_tasks and not (method == "online" and chosen.any_order):
        raise UsageError("--open: wanted --method online and --model two_level, which keeps tasks open")
    kind: Method = "online" if method == "online" else "batch"
    options = Options(
        kind, given.passes, slots or DEFAULT_SLOTS, given.test, shards or 1, given.ordered, given.open_tasks or 0
    )
    return chosen, options, history


def suited_model(
    given: CrowdOptions, model: CrowdModel, options: Options, history: State | None, labels: Labels
) -> CrowdModel:
    """The model; instead of the default, if no option names or sets it, that which suits the labels."""
    settled = given.model is not None or bool(given.set) or history is not None or options.method != "batch"
    if settled:
        return model
    from hutch.crowd.choice import suited
    from hutch.crowd.models.two_level import TwoLevel

    default = type(model) is TwoLevel and not model.parameters.judges
    if type(model) is TwoLevel and model.parameters.judges and (labels.gold >= 0).any():
        from hutch.crowd.mixed.model import Mixed

        return Mixed(least_accuracy=model.parameters.least_accuracy)  # gold determines the weight of each judge
    return suited(labels) if default else model


def create_model(name: str | None, parameters: dict[str, Any]) -> CrowdModel:
    """A crowd model, maybe a plugin's, by name; None: the default."""
    if name is None:  # plugins need not be loaded for it
        from hutch.crowd.models.two_level import TwoLevel

        return TwoLevel(**parameters)
    from hutch.crowd.table import create
    from hutch.plugins.manager import installed

    return create(name, installed().registry.crowd_models, **parameters)


def _wants_people(name: str) -> bool:
    """Whether a model tells people from judges."""
    from hutch.crowd.table import find
    from hutch.plugins.manager import installed

    return find(name, installed().registry.crowd_models).wants_people


def _settings(settings: Sequence[str]) -> dict[str, Any]:
    """NAME=VALUE as a dictionary; values are YAML, and numbers separated by commas a list."""
    parameters: dict[str, Any] = {}
    for setting in settings:
        import yaml  # only if there is a file to read

        name, equals, value = setting.partition("=")
        if not equals:
            raise ConfigError(f"--set: got {setting!r}, wanted NAME=VALUE")
        parameters[name] = yaml.safe_load(f"[{value}]" if "," in value else value)
    return parameters
