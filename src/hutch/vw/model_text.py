"""A linear model as text, in the layout of VW's `--readable_model` and `--invert_hash`."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hutch.core.atomic import atomic_write
from hutch.core.chain.engine import Engine
from hutch.core.errors import UsageError

VW_VERSION = "9.11.9"
"""The version of VW whose layout this is."""


def hexfloat(value: float) -> str:
    """A number as C prints it with %a.

    >>> hexfloat(0.15625), hexfloat(1.0), hexfloat(0.0)
    ('0x1.4p-3', '0x1p+0', '0x0p+0')
    """
    text = float(value).hex()
    mantissa, mark, exponent = text.partition("p")
    return mantissa.rstrip("0").rstrip(".") + mark + exponent if mark and "." in mantissa else text


COLUMNS = {"coin_betting": 6, "ftrl_proximal": 3, "pistol": 4}
"""Numbers per row of the learners that VW's `--ftrl` and its kin stand for."""


def _state_lines(chain: Engine) -> Iterator[str]:
    """What VW needs to go on learning."""
    shared, saved = chain.shared[0], chain.layers[-1].saved()
    norms = saved["norms"][0] if "norms" in saved else [float(saved[name][0]) for name in ("norm", "importance")]
    regularization = saved.get("regularization", (1.0, 0.0))
    yield f"initial_t {getattr(chain.layers[-1].parameters, 'initial_t', 0) or 0:g}"
    yield f"norm normalizer {norms[0]:g}"
    yield f"t {shared['time']:g}"
    yield f"sum_loss {shared['sum_loss']:g}"
    yield "sum_loss_since_last_dump 0"
    yield "dump_interval 0"
    yield f"min_label {shared['min_label']:g}"
    yield f"max_label {shared['max_label']:g}"
    yield f"weighted_labeled_examples {shared['weighted_labeled']:g}"
    yield f"weighted_labels {shared['weighted_labels']:g}"
    yield f"weighted_unlabeled_examples {shared['weighted_unlabeled']:g}"
    yield f"example_number {int(shared['examples'])}"
    yield f"total_features {int(shared['features'])}"
    yield f"total_weight {norms[1]:g}"
    yield f"sd::oec.weighted_labeled_examples {shared['weighted_labeled']:g}"
    yield f"current_pass {int(shared['pass']) + 1}"
    yield f"l1_state {regularization[1]:g}"
    yield f"l2_state {regularization[0]:g}"


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
        predict_only: leave out what is needed to go on learning.
        weights_only: of each row write only the weight.
        hexadecimal: weights in full, as C's hexadecimal numbers.
        names: of rows; given, only named rows are written.

    Raises:
        UsageError: another base learner.
    """
    base: Any = chain.layers[-1]
    if base.name != "linear" and base.name not in COLUMNS:
        raise UsageError(f"--readable_model: got a chain on {base.name!r}, wanted 'linear'")
    shared = chain.shared[0]
    yield from (f"Version {VW_VERSION}", "Id ")
    yield from (f"Min label:{shared['min_label']:g}", f"Max label:{shared['max_label']:g}")
    yield from (f"bits:{int(shared['mask']).bit_length()}", "lda:0", "0 ngram:", "0 skip:")
    yield from (f"options:{' ' if kept_options else ''}{kept_options}", "Checksum: 0", f":{int(not predict_only)}")
    if not predict_only:
        yield from _state_lines(chain)
    width = 1
    if base.name in COLUMNS and not (predict_only or weights_only):
        width = COLUMNS[base.name]
    elif not (predict_only or weights_only) and chain.weights.shape[1] > 1:
        width += base.parameters.adaptive + base.parameters.normalized
    number = hexfloat if hexadecimal else "{:g}".format
    weights = chain.weights[:, :width]
    if predict_only and base.name == "linear":
        weights = base.regularized(weights)
    rows = np.flatnonzero(weights.any(axis=1) if width > 1 else weights[:, 0]).tolist()
    for row in rows if names is None else [row for row in rows if row in names]:
        name = f"{names[row]}:" if names is not None else ""
        yield f"{name}{row}:" + " ".join(number(float(value)) for value in weights[row])


def write_model_text(chain: Engine, path: str, kept_options: str, **how: Any) -> None:
    """Write `model_lines` to a file, in one step."""
    with atomic_write(path) as file:
        for line in model_lines(chain, kept_options, **how):
            file.write(line.encode() + b"\n")
