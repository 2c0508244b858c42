"""`--dump_json_weights_experimental`: the weights as JSON, with names of features and the state of rates."""

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from hutch.core.atomic import write_text
from hutch.core.errors import UsageError
from hutch.core.run.passes import PassesDone
from hutch.core.run.run import Run
from hutch.vw.reporters import ReadableModels

_CONSTANT = {"name": "Constant", "namespace": "", "string_value": None}


class JsonWeights(ReadableModels):
    """Writes the weights that are not 0, in the order of their rows."""

    def close(self, run: Run, done: PassesDone) -> None:
        """See `Reporter`."""
        text = json.dumps({"weights": [*self._weights()]}, separators=(",", ":"))
        write_text(self._given.dump_json_weights_experimental, text)

    def _weights(self) -> Iterator[dict[str, Any]]:
        """One entry for each.

        Raises:
            UsageError: the state of rates is asked for of another learner than `linear`.
        """
        named = self._given.dump_json_weights_include_feature_names_experimental
        rates = self._given.dump_json_weights_include_extra_online_state_experimental
        base: Any = self._chain.layers[-1]
        if rates and base.name != "linear":
            wanted = f"the learner without options, got {base.name}"
            raise UsageError(f"--dump_json_weights_include_extra_online_state_experimental: wanted {wanted}")
        weights = self._chain.weights
        for row in np.flatnonzero(weights[:, 0]).tolist():
            numbers = [float(value) for value in weights[row]]
            yield {
                **(_terms(self._names[row]) if named and row in self._names else {}),
                "index": row,
                "value": numbers[0],
                **({"gd_extra_online_state": _state(base.parameters, numbers)} if rates else {}),
            }


def _terms(name: str) -> dict[str, Any]:
    """The parts of the name of a weight, as `a^x*b^y[1]`."""
    features, offset = re.fullmatch(r"(.*?)(?:\[(\d+)\])?", name, re.DOTALL).groups()  # type: ignore[union-attr]
    return {"terms": [_term(each) for each in features.split("*")], "offset": int(offset or 0)}


def _term(feature: str) -> dict[str, Any]:
    if feature == "Constant":
        return _CONSTANT
    space, mark, rest = feature.partition("^")
    space, rest = (space, rest) if mark else (" ", feature)
    name, mark, text = rest.partition("^")
    return {"name": name, "namespace": space, "string_value": text if mark else None}


def _state(given: Any, numbers: list[float]) -> dict[str, float]:
    """Sum of squared gradients and scale of a weight; 0 where the learner has none."""
    more = iter(numbers[1:])
    return {
        "adaptive": next(more) if given.adaptive else 0.0,
        "normalized": next(more) if given.normalized else 0.0,
    }
