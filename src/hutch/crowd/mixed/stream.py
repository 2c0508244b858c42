"""People and judges in a stream: one pass, fixed memory."""

import zlib

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import UsageError
from hutch.crowd.data.labels import Labels
from hutch.crowd.mixed import forecast, model, stream_kernels
from hutch.crowd.mixed.stream_kernels import GUARDED, MET, SAID, Judges, People
from hutch.crowd.models.model import Array, State, grown, without_own
from hutch.crowd.models.online import Progress, Stream, hash_workers

PACE = 0.05
"""Exponents are re-estimated when the items have grown by this share."""
CONSTANTS = np.array(
    [
        forecast.HABIT, forecast.OWN, forecast.NEIGHBOUR, model.ROW, model.RIGHT, model.PERSON, forecast.RIDGE,
        forecast.PRIOR_RIDGE, forecast.CORRELATION, model.GUARD, model.WEAK, model.LEAST, model.MOST,
    ]
)  # fmt: skip


class MixedStream(Stream):
    """Every item is forecast, and its people are judged, by what was known before it: nothing need be left out.

    People have hashed slots. Judges have a table of their own, `judge_slots` rows, in the order in which they come;
    further ones share rows. A second pass would judge labels by themselves, so there is none.
    """

    parameters: model.MixedParameters

    def start(self, classes: list[str], slots: int, history: State | None) -> State:
        """Nothing known, or the arrays of the history."""
        if not self.parameters.reference:
            raise UsageError(model.NO_REFERENCE)
        k, judges, old = len(classes), self.parameters.judge_slots, history or State([], [])
        people = {"counts": (slots, k, k), "columns": (slots, k), "expected": (slots, k, k)}
        shared = {
            "pooled": (k, k), "pooled_columns": (k,), "habit": (k,), "forecasts": (k,), "class_counts": (k,),
            "clock": (7,), "judge_keys": (judges,), "judge_counts": (judges, k, k), "judge_columns": (judges, k),
            "judge_said": (judges, k), "judge_expected": (judges, k, k), "targets": (k,), "exponents": (1 + judges,),
            "bend": (1 + judges, 1 + judges), "pull": (1 + judges,),
        }  # fmt: skip
        state = State(
            classes,
            [],
            {name: grown(old.workers.get(name), shape) for name, shape in people.items()},
            {name: grown(old.shared.get(name), shape) for name, shape in shared.items()},
        )
        if not history:
            state.shared["clock"][GUARDED] = model.GUARD
        return state

    def slots_of(self, names: list[str]) -> NDArray[np.int32]:
        """Slots of people; those of judges come after them."""
        keys = self.state.shared["judge_keys"]
        known = {int(key): place for place, key in enumerate(keys.tolist()) if key}
        result = hash_workers(names, self.slots)
        for i in np.flatnonzero(~model.matches(names, self.parameters.reference)).tolist():
            key = zlib.crc32(names[i].encode()) + 1
            if key not in known:
                known[key] = len(known) if len(known) < len(keys) else key % len(keys)
                if not keys[known[key]]:
                    keys[known[key]] = key
            result[i] = self.slots + known[key]
        return result

    def learn(self, labels: Labels, first_pass: bool) -> Progress:
        """See `stream_kernels.learn_items`."""
        if not first_pass:
            raise UsageError("--passes: mixed learns in one pass; a second would judge labels by themselves")
        shared, workers = self.state.shared, self.state.workers
        progress = Progress(np.empty(labels.items), np.empty((labels.items, len(self.state.classes))))
        stream_kernels.learn_items(
            labels.item_ptr, labels.workers, labels.labels, labels.gold, self._targets(labels), self.slots,
            self._judges(), self._people(), workers["expected"], shared["judge_expected"], shared["class_counts"],
            shared["clock"], self._ordered, self.parameters.people_rho, PACE, CONSTANTS, progress.objective,
            progress.posterior,
        )  # fmt: skip
        return progress

    def score(self, labels: Labels) -> tuple[Array, Array, float]:
        """Posteriors under what is known."""
        shape = labels.items, len(self.state.classes)
        forecasts, q = np.empty(shape), np.empty(shape)
        objective = stream_kernels.score_items(
            labels.item_ptr, labels.workers, labels.labels, labels.gold, self.slots, self._judges(), self._people(),
            self.state.shared["clock"], self._ordered, self.parameters.people_rho, CONSTANTS, forecasts, q,
        )  # fmt: skip
        return q, np.ones(labels.items), objective

    def check(self) -> None:
        """Raise UsageError if there were no people, or no judges."""
        clock = self.state.shared["clock"]
        if not clock[SAID]:
            raise UsageError(f"--reference: no worker is {' or '.join(map(repr, self.parameters.reference))}")
        if not clock[MET]:
            raise UsageError(model.NO_JUDGES)

    def factors(self, slots: NDArray[np.int32]) -> Array:
        """Of judges (P(label | class) / P(label))^e, of people their rows, those of a first label on an item."""
        shared, k = self.state.shared, len(self.state.classes)
        lifts = np.empty_like(shared["judge_counts"])
        stream_kernels.lifts(self._judges(), self._ordered, CONSTANTS, lifts)
        factor, judge = np.empty((len(slots), k, k)), slots >= self.slots
        places = slots[judge] - self.slots
        factor[judge] = np.exp(shared["exponents"][1 + places, None, None] * lifts[places])
        people = np.repeat(slots[~judge], k), np.tile(np.arange(k, dtype=np.int32), int((~judge).sum()))
        factor[~judge] = np.exp(self._said(*people)).reshape(-1, k, k)
        return factor

    def others(self, labels: Labels) -> Array:
        """The posterior over each label's own factor, in the power in which it counts."""
        used, places = np.unique(labels.workers, return_inverse=True)
        factor = self.factors(used)[places, labels.labels]
        judge = labels.workers >= self.slots
        people = labels.chosen(~judge)
        rate = 1 / (1 + self.parameters.people_rho * (np.diff(people.item_ptr)[people.label_items] - 1))
        factor[~judge] **= rate[:, None]
        return without_own(labels, self.score(labels)[0], factor)

    def confusions(self, slots: NDArray[np.int32]) -> Array:
        """Expected labels under the posteriors, smoothed."""
        judge, shared = slots >= self.slots, self.state.shared
        expected = np.empty((len(slots), len(self.state.classes), len(self.state.classes)))
        expected[judge] = shared["judge_expected"][slots[judge] - self.slots]
        expected[~judge] = self.state.workers["expected"][slots[~judge]]
        rows = forecast.channels(expected, expected.sum(axis=2), ordered=False)
        return np.ascontiguousarray(rows.transpose(0, 2, 1))

    def class_prior(self) -> Array:
        """Class counts plus one each."""
        counts = self.state.shared["class_counts"] + 1
        return np.asarray(counts / counts.sum())

    def _said(self, workers: NDArray[np.int32], labels: NDArray[np.int32]) -> Array:
        """log P(label | class) of people's labels (labels, classes)."""
        said = np.empty((len(workers), len(self.state.classes)))
        trust = self.state.shared["clock"][GUARDED]
        stream_kernels.log_said_all(workers, labels, self._people(), CONSTANTS, trust, said)
        return said

    @property
    def _ordered(self) -> bool:
        assert isinstance(self.model, model.Mixed)
        return self.model.ordered(self.state.classes)

    def _targets(self, labels: Labels) -> Array:
        return model.targets(labels.chosen(labels.workers < self.slots))

    def _judges(self) -> Judges:
        shared = self.state.shared
        return Judges(
            shared["judge_counts"], shared["judge_columns"], shared["judge_said"], shared["targets"],
            shared["exponents"], shared["bend"], shared["pull"],
        )  # fmt: skip

    def _people(self) -> People:
        workers, shared = self.state.workers, self.state.shared
        return People(
            workers["counts"], workers["columns"], shared["pooled"], shared["pooled_columns"], shared["habit"],
            shared["forecasts"],
        )  # fmt: skip
