"""Draws an action from the probabilities that the explorer below gives, and lists it first.

The action comes first in `ranked`, swapped with the previous first one; the probabilities are divided by their sum.
Nothing is drawn for a labelled decision that is learned: the action that was chosen comes first. The draw is the run's
next random number, or, where the decision's tag begins with `seed=`, the first number after the rest's hash.

Source: VW 9.11.9, `--cb_sample`.
"""

from typing import Any, ClassVar

import numpy as np
from numpy import uint64

from hutch.core.batch import Batch
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.kernel.abi import array_at, example_of, kernel, learn_next, predict_next, shared_of, state_of
from hutch.core.kernel.decision import decision_of, place_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.random import merand48
from hutch.core.kernel.record import Record
from hutch.core.text.hashing import hash_namespace
from hutch.reductions.bandits.probabilities import conclude
from hutch.reductions.bandits.random import bring_forward, draw_first

STATE = np.dtype(
    [
        ("seeds", "u8"),  # address of uint64[rows]: of the draw of the decision that begins there; 0: none has one
        ("seeded", "u8"),  # address of uint8[rows]: whether there is one
    ]
)
own_of = state_of(STATE)
_seeds_at, _seeded_at = array_at(np.uint64), array_at(np.uint8)
_SEED = b"seed="


@helper
def _draw(state, shared, row):
    """A number in [0, 1) from the decision's own seed, or from the run's random state."""
    if state.seeds != uint64(0) and _seeded_at(state.seeded, row + uint64(1))[row] == 1:
        return merand48(_seeds_at(state.seeds, row + uint64(1))[row])[1]
    shared.random_state, u = merand48(shared.random_state)
    return u


@kernel
def predict(layer, example, label, importance, offset):
    """Draw an action."""
    predict_next(layer, example, label, importance, offset)
    d, shared = decision_of(example), shared_of(example_of(example).shared)
    draw_first(d, _draw(own_of(layer), shared, d.row))
    return conclude(example, importance)


@kernel
def learn(layer, example, label, importance, offset):
    """Let the layer below learn; the chosen action comes first."""
    learn_next(layer, example, label, importance, offset)
    d = decision_of(example)
    place = place_of(d, d.chosen)
    if place > 0:
        bring_forward(d, place)
    return conclude(example, importance)


class SampleAction(Reduction):
    """Draws an action and lists it first."""

    name: ClassVar[str] = "sample_action"
    takes = Labels.LOGGED_ACTION
    predicts = Predictions.ACTION_PROBABILITIES
    asks = (Labels.LOGGED_ACTION, Predictions.ACTION_PROBABILITIES)
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: Any, context: Context) -> None:
        super().__init__(parameters, context)
        self._seeds = self.state = Record(STATE)

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Read the seeds in the tags of the batch."""
        self.state["seeds"] = 0
        if _SEED not in batch.tags.tobytes():
            return
        seeds, seeded = np.zeros(len(batch), np.uint64), np.zeros(len(batch), np.uint8)
        for i in range(len(batch)):
            tag = batch.tag(i)
            if tag.startswith(_SEED) and len(tag) > len(_SEED):
                seeds[i], seeded[i] = hash_namespace(tag[len(_SEED) :], 0, "all"), 1
        self._seeds.set(seeds=seeds, seeded=seeded)
