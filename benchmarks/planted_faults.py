"""The faults that `plant_faults.py` plants: what is right in a file, and what stands there instead."""

from typing import NamedTuple


class Fault(NamedTuple):
    """One small fault.

    Attributes:
        area: of `TESTS`.
        says: what is wrong.
        file: where.
        right: text that stands there once.
        wrong: what is written instead.
    """

    area: str
    says: str
    file: str
    right: str
    wrong: str


TESTS: dict[str, list[str]] = {
    "active": ["tests/reductions/active"],
    "binary": ["tests/reductions/test_vw_reductions.py", "tests/reductions/test_binary.py"],
    "chain": ["tests/core/chain", "tests/core/kernel/test_record.py"],
    "crowd": ["tests/crowd/models"],
    "crowd_em": ["tests/reductions/crowd_em"],
    "dyadic": ["tests/reductions/dyadic"],
    "em": ["tests/em/constrained", "tests/em/base"],
    "linear": ["tests/reductions/linear", "tests/core/loss"],
    "trees": ["tests/reductions/test_filter_tree.py", "tests/reductions/test_scoring_filter_tree.py"],
    "vw layers": ["tests/reductions/test_vw_reductions.py"],
}
"""Areas, and the tests that are to notice a fault in them."""

_STEP, _RATES, _DYADIC = "reductions/dyadic/step.py", "reductions/dyadic/rates.py", "reductions/dyadic/kernels.py"
_TREE, _SCORING = "reductions/filter_tree.py", "reductions/scoring_filter_tree.py"
_LINEAR, _LOSSES = "reductions/linear/kernels.py", "core/loss/kernels.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "dyadic", "fast step without its clamp at the optimum", _STEP, "if not sign * (q - best) >= 0.0:", "if False:"
    ),
)
