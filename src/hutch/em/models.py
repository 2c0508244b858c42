"""The models of online EM by name, and those that come with Hutch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from hutch.em.base.model import Model
from hutch.em.ppca.model import PPCA, PPCAParameters


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model with a name.

    Attributes:
        name: as on the command line.
        build: `build(first_rows, rank, seed, missing)` gives the model and the parameters to start from.
        parameters: their type, a dataclass of float64 arrays and floats.
        rebuild: gives the model of its `constants()`.
        summary: one sentence.
        exact: whether it is PPCA, which `--regularizer exact` solves in closed form.
    """

    name: str
    build: Callable[[Any, int, int, bool], tuple[Model[Any], Any]]
    parameters: type[Any]
    rebuild: Callable[[dict[str, NDArray[Any]]], Model[Any]]
    summary: str
    exact: bool = False


def _ppca(rows: Any, rank: int, seed: int, missing: bool) -> tuple[Model[Any], Any]:
    model = PPCA.of(rows, rank, missing=missing)
    return model, model.start(seed)


PPCA_ENTRY = ModelEntry(
    "ppca", _ppca, PPCAParameters, PPCA.from_constants, "Probabilistic principal component analysis.", exact=True
)
BUILT_IN = (PPCA_ENTRY,)
"""The models that come with Hutch."""
