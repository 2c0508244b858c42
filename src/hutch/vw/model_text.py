"""A linear model as text, in the layout of VW's `--readable_model` and `--invert_hash`."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hutch.core.atomic import atomic_write
from hutch.core.chain.capabilities import FindsTopics, has
from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import Reduction
from hutch.core.errors import UsageError
from hutch.vw.model_state import STATE, VW_VERSION, WEIGHTS_ONLY, columns_of, is_learner, state_of


def hexfloat(value: float) -> str:
    """A number as C prints it with %a.

    >>> hexfloat(0.15625), hexfloat(1.0), hexfloat(0.0)
    ('0x1.4p-3', '0x1p+0', '0x0p+0')
    """
    text = float(value).hex()
    mantissa, mark, exponent = text.partition("p")
    return mantissa.rstrip("0").rstrip(".") + mark + exponent if mark and "." in mantissa else text


def header_lines(chain: Engine, kept_options: str, topics: int = 0) -> Iterator[str]:
    """The lines at the head of VW's texts.

    Args:
        chain: its range of labels and its bits.
        kept_options: the options that VW keeps in a model.
        topics: their number.
    """
    shared = chain.shared[0]
    yield from (f"Version {VW_VERSION}", "Id ")
    yield from (f"Min label:{shared['min_label']:g}", f"Max label:{shared['max_label']:g}")
    yield from (f"bits:{int(shared['mask']).bit_length()}", f"lda:{topics}", "0 ngram:", "0 skip:")
    yield from (f"options:{' ' if kept_options else ''}{kept_options}", "Checksum: 0")


_COUNTED = {
    "explore_squarecb": "squarecb",
    "explore_regcb": "squarecb",
    "explore_cover": "cover",
    "explore_first": "first",
}


def _counters(layer: Reduction) -> Iterator[str]:
    """What a layer of decisions has counted; VW writes that of the first of its sub-models."""
    if layer.name in _COUNTED:
        [count] = [array for name, array in layer.saved().items() if name in ("decisions", "left")]
        yield f"cb {_COUNTED[layer.name]} adf storing example counter:  = {count[0]:d}"
    elif layer.name == "contextual_bandit":
        events, actions = layer.saved()["counts"][0]
        yield from (f"event_sum {events}", f"action_sum {actions}")


def model_lines(
    chain: Engine,
    kept_options: str,
    *,
    predict_only: bool = False,
    weights_only: bool = False,
    hexadecimal: bool = False,
    names: Mapping[int, str] | None = None,
) -> Iterator[str]:
    """The lines of the text.

    Args:
        chain: its base learner is `linear`.
        kept_options: the options that VW keeps in a model.
        predict_only: leave out the state that only learning needs.
        weights_only: write only the weight of each row.
        hexadecimal: weights in full, as C's hexadecimal numbers.
        names: of rows; if given, only named rows are written.

    Raises:
        UsageError: another base learner.
    """
    base: Any = chain.layers[-1]
    topics = int(base.parameters.topics) if has(chain.layers[-1], FindsTopics) else 0
    if not topics and not is_learner(base):
        raise UsageError(f"--readable_model: got a chain on {base.name!r}, wanted 'linear'")
    yield from header_lines(chain, kept_options, topics)
    if topics:
        from hutch.vw.topics import topic_rows

        yield from topic_rows(chain, names)
        return
    for layer in chain.layers:
        yield from _counters(layer)
    predict_only |= base.name in WEIGHTS_ONLY
    if base.name not in WEIGHTS_ONLY:
        yield f":{int(not predict_only)}"
    if not predict_only:
        found = state_of(chain)
        yield from (f"{name} {found[name][0]:{'d' if kind == '<u8' else 'g'}}" for name, kind, _ in STATE)
    width = 1 if predict_only or weights_only else columns_of(base)
    number = hexfloat if hexadecimal else "{:g}".format
    weights = chain.weights[:, :width]
    if predict_only and base.name == "linear":
        weights = base.regularized(weights)
    rows = np.flatnonzero(weights.any(axis=1)).tolist()
    for row in rows if names is None else [row for row in rows if row in names]:
        name = f"{names[row]}:" if names is not None else ""
        yield f"{name}{row}:" + " ".join(number(float(value)) for value in weights[row])


def write_model_text(chain: Engine, path: str, kept_options: str, **how: Any) -> None:
    """Write `model_lines` to a file, in one step."""
    with atomic_write(path) as file:
        for line in model_lines(chain, kept_options, **how):
            file.write(line.encode() + b"\n")
