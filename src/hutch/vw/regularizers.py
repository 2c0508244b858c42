"""Strengths of regularisation per feature, which one run of `--bfgs` leaves to another."""

from argparse import Namespace
from contextlib import ExitStack
from typing import Any

import numpy as np

from hutch.chain import Chain
from hutch.core.atomic import atomic_write
from hutch.core.run.passes import PassesDone
from hutch.core.run.run import Reporter, Run
from hutch.vw.model_binary import header_of, numbers_in
from hutch.vw.model_text import header_lines

_OPTION = "--bfgs"
_PLACE = np.dtype([("place", "<u4"), ("value", "<f4")])


def read_regularizers(chain: Chain, path: str) -> None:
    """Let the search of a chain begin with the regularisation of `--input_feature_regularizer`.

    Args:
        chain: its learner is that of `--bfgs`.
        path: of a file that `--output_feature_regularizer_binary` wrote.

    Raises:
        ModelError: there is no such file, or it belongs to another weight table.
    """
    found, ends = numbers_in(path, chain.config.weights.bits)
    if not chain.shared["fixed_range"][0]:
        chain.shared["min_label"], chain.shared["max_label"] = ends
    prior = np.zeros(2 << chain.config.weights.bits, np.float32)
    prior[found["place"]] = found["value"]
    learner: Any = chain.layers[-1]
    learner.set_prior(prior.reshape(-1, 2))


class WritesRegularizers(Reporter):
    """Writes `--output_feature_regularizer_text` and `--output_feature_regularizer_binary`.

    Args:
        chain: its learner is that of `--bfgs`.
        given: the command line.
    """

    def __init__(self, chain: Chain, given: Namespace) -> None:
        self._chain, self._learner = chain, chain.layers[-1]
        self._text, self._binary = given.output_feature_regularizer_text, given.output_feature_regularizer_binary

    def open(self, run: Run, stack: ExitStack) -> None:
        """See `Reporter`."""
        self._learner.keeps_strengths = True  # type: ignore[attr-defined]

    def close(self, run: Run, done: PassesDone) -> None:
        """See `Reporter`."""
        strengths = self._learner.strengths  # type: ignore[attr-defined]
        if not len(strengths) or done.passes == run.options.passes:
            run.notes.say("no feature regularizers were written: the search did not converge, wanted more --passes")
            return
        both = np.stack([strengths, self._chain.weights[:, 0]], axis=1).reshape(-1)
        kept = np.flatnonzero(both)
        if self._text:
            with atomic_write(self._text) as file:
                for line in (*header_lines(self._chain, _OPTION), ":1"):
                    file.write(line.encode() + b"\n")
                file.write(b"".join(b"%d:%g\n" % (place, both[place]) for place in kept.tolist()))
        if self._binary:
            pairs = np.empty(len(kept), _PLACE)
            pairs["place"], pairs["value"] = kept, both[kept]
            with atomic_write(self._binary) as file:
                file.write(b"".join([*header_of(self._chain, [_OPTION]), b"\1", pairs.tobytes()]))
