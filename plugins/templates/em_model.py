"""A model learned by EM: independent Poisson counts."""

from dataclasses import dataclass

import numpy as np

from hutch.plugin import EMModel, ModelEntry, hookimpl


@dataclass(frozen=True)
class Rates:
    """The parameters: the mean of each count."""

    value: np.ndarray


class Mine(EMModel[Rates]):
    """Nothing is hidden, so this is the smallest model there is."""

    def statistics(self, batch, parameters):
        """The E-step: means of the sufficient statistics."""
        return batch.mean(axis=0)

    def maximise(self, statistics):
        """The M-step."""
        return Rates(statistics.copy())

    def log_likelihood(self, batch, parameters):
        """Of each row, up to a constant."""
        return (batch * np.log(parameters.value) - parameters.value).sum(axis=1)

    def expected_statistics(self, parameters):
        """The statistics of the model's own data."""
        return parameters.value.copy()


@hookimpl
def hutch_register_em_models(register):
    """Register the model."""
    register(
        ModelEntry(
            name="mine",
            build=lambda rows, rank, seed, missing: (Mine(), Rates(rows.mean(axis=0) + 0.5)),
            parameters=Rates,
            rebuild=lambda constants: Mine(),
            summary="Independent Poisson counts.",
        )
    )
