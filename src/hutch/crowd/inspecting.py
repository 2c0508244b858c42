"""What a saved crowd says about workers whom it has not met, for `hutch inspect`."""

from pathlib import Path
from typing import Any

from hutch.core.chain.registry import Registry
from hutch.crowd.aggregate import Options, load, population_of, prior_of
from hutch.crowd.models.model import State
from hutch.crowd.models.numbers import CROWD
from hutch.crowd.questions import apart
from hutch.crowd.report import usual_confusions
from hutch.crowd.table import create

_SMALL = 400
"""Numbers of a table that is shown."""


def usual_worker(path: Path, registry: Registry) -> dict[str, Any]:
    """An unknown worker's labels of each class, and the confusions of such a worker; of numbers, what is usual.

    Args:
        path: of the model.
        registry: the installed crowd models.
    """
    saved, state = load(str(path))
    model = create(saved["model"], registry.crowd_models, **saved["parameters"])
    options = Options(saved["method"], slots=saved["slots"])

    def usual(state: State) -> dict[str, Any]:
        found, classes = population_of(model, options, state), state.classes
        if found is None or found.size > _SMALL:
            return {}
        rows = [dict(zip(classes, row, strict=True)) for row in found.round(6).tolist()]
        return {
            "usual_worker": dict(zip(classes, rows, strict=True)),
            "confusions": usual_confusions(found, classes),
        }

    if model.kind == "measurements":
        return dict(zip(CROWD, prior_of(model, options, state).round(6).tolist(), strict=True))
    several = apart(state)
    return {label: usual(each) for label, each in several.items()} if several else usual(state)
