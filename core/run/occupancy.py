"""How full a weight table is: in a table that is too small, features share rows, and nothing else reveals it."""

import math

from hutch.core.chain.build import spread
from hutch.core.chain.engine import Engine

_SAMPLE = 1 << 17
_CROWDED = 0.5


def share_used(engine: Engine) -> float | None:
    """The share of the usable rows of the table that learning has touched; an estimate.

    A row counts as touched if any of its numbers is not 0. Of large tables, 2^17 rows are examined.

    Returns:
        None if the base learner does not begin with rows of zeros.
    """
    if not engine.stack.begins_with_zeros:
        return None
    rows = len(engine.weights)
    table = engine.weights
    if rows > _SAMPLE:
        table = table[spread(_SAMPLE, rows.bit_length() - 1)]
    touched = float(table.any(axis=1).mean()) * float(engine.shared["multiplier"][0]) / engine.stack.submodels
    return min(touched, 1.0)


def advice(engine: Engine) -> str | None:
    """Warning about a table that is more than half full, with the number of bits that would leave few shared rows."""
    share, bits = share_used(engine), int(engine.parser.bits)
    if share is None or share <= _CROWDED:
        return None
    features = -math.log1p(-min(share, 0.9999))  # per row, if they are spread evenly
    more = next((b for b in range(bits + 1, 32) if 1 - math.exp(-features * 2.0 ** (bits - b)) <= _CROWDED / 2), None)
    if more is None:
        return None
    left = 1 - math.exp(-features * 2.0 ** (bits - more))
    return (
        f"{share:.0%} of the weight table's 2^{bits} rows are used, so features share rows: "
        f"-b {more} (weights.bits) would use {'about' if share < 0.999 else 'at least'} {left:.0%}"
    )
