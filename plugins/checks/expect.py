"""How checks say what they got and what was wanted."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def expect(good: bool, what: str, got: Any, wanted: Any) -> None:
    """Fail unless `good`."""
    if not good:
        raise AssertionError(f"{what}: got {got}, wanted {wanted}")


def finite(predictions: NDArray[np.float32], what: str) -> None:
    """Fail if a prediction is NaN or infinite."""
    bad = predictions[~np.isfinite(predictions)]
    expect(not len(bad), what, bad[:1], "finite predictions")


def same(left: dict[str, NDArray[Any]], right: dict[str, NDArray[Any]], what: str) -> None:
    """Fail if what two engines have learned differs in any bit."""
    for name, array in left.items():
        expect(bool(np.array_equal(array, right[name], equal_nan=True)), f"{what}: {name}", "other bits", "the same")


def identical(got: NDArray[np.float32], wanted: NDArray[np.float32], what: str) -> None:
    """Fail at the first prediction that is not the same."""
    different = np.flatnonzero(got != wanted)
    if len(different):
        i = int(different[0])
        raise AssertionError(f"{what}: example {i}: got {got[i]!s}, wanted {wanted[i]!s}")
