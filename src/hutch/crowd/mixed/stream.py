"""People and judges in a stream: one pass, fixed memory."""

import zlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import UsageError
from hutch.crowd.data.labels import Labels
from hutch.crowd.mixed import forecast, kernels, model
from hutch.crowd.models.confusion_kernels import add_labels
from hutch.crowd.models.model import Array, State, grown, without_own
from hutch.crowd.models.online import Progress, Stream, hash_workers

PACE = 0.05
"""The value of judges' labels is estimated again when the items have grown by this share."""
ITEMS, DUE, MET, SAID, GAIN, GAIN_SQUARES = range(6)
"""Places in the clock: items, items at which that is due, judges met, labels of people, the forecasts' gain on them,
its squares."""


class MixedStream(Stream):
    """Every item is forecast, and its people are judged, by earlier items only: nothing need be left out.

    Rows of people follow item by item. Lifts and exponents of judges, the pooled row and the guard are estimated
    whenever the items have grown by `PACE`; until then the items' likelihood is summed by its quadratic approximation.

    People have hashed slots. Judges have a separate table, `judge_slots` rows, in the order in which they come;
    further ones share rows. A second pass would judge labels by themselves, so only one is allowed.
    """

    parameters: model.MixedParameters

    def start(self, classes: list[str], slots: int, history: State | None) -> State:
        """Nothing known, or the arrays of the history."""
        if not self.parameters.reference:
            raise UsageError(model.NO_REFERENCE)
        k, judges, old = len(classes), self.parameters.judge_slots, history or State([], [])
        people = {"counts": (slots, k, k), "columns": (slots, k), "expected": (slots, k, k)}
        shared = {
            "pooled_counts": (k, k), "habit": (k,), "class_counts": (k,), "clock": (6,), "judge_keys": (judges,),
            "judge_counts": (judges, k, k), "judge_said": (judges, k), "judge_expected": (judges, k, k),
            "targets": (k,), "gradient": (1 + judges,), "hessian": (1 + judges, 1 + judges), "pull": (1 + judges,),
            "bend": (1 + judges, 1 + judges), "lifts": (judges, k, k), "log_prior": (k,), "exponents": (1 + judges,),
            "pooled": (k, k), "guard": (1,),
        }  # fmt: skip
        tables = ((old.workers, people), (old.shared, shared))
        known = [{name: grown(of.get(name), shape) for name, shape in shapes.items()} for of, shapes in tables]
        return State(classes, [], *known)

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
        """In pieces between the items at which an estimate is due."""
        if not first_pass:
            raise UsageError("--passes: mixed learns in one pass; a second would judge labels by themselves")
        shared, clock = self.state.shared, self.state.shared["clock"]
        people, judges = self._divided(labels)
        targets, zeros = model.targets(people), np.zeros(labels.items, np.int64)
        progress = Progress(np.zeros(labels.items), np.zeros((labels.items, len(self.state.classes))))
        begin = 0
        while begin < labels.items:
            if clock[ITEMS] >= clock[DUE]:
                for name, array in self._known().items():
                    shared[name][...] = array
                shared["gradient"][...], shared["hessian"][...] = 0.0, 0.0
                clock[DUE] = clock[ITEMS] + 1 + PACE * clock[ITEMS] // 1
            some = slice(begin, min(begin + int(clock[DUE] - clock[ITEMS]), labels.items))
            pointer = judges.item_ptr[some.start : some.stop + 1]
            known = pointer, judges.workers, judges.labels, zeros[some]
            f = self._read(labels, judges, some, shared, progress, learns=True)
            kernels.slopes(
                *known, np.arange(some.stop - begin), -1, shared["lifts"][None], shared["log_prior"][None],
                targets[some], shared["exponents"], shared["gradient"], shared["hessian"],
            )  # fmt: skip
            kernels.count_judges(*known, targets[some], shared["judge_counts"][None])
            theirs = slice(people.item_ptr[begin], people.item_ptr[some.stop])
            items, gain = people.label_items[theirs] - begin, np.exp(f)
            gain = gain[items, people.labels[theirs]] - (gain @ np.exp(shared["log_prior"]))[items]
            _add(clock[SAID:], np.stack([np.ones(len(gain)), gain, gain**2], axis=1))
            _add(shared["targets"], targets[some])
            _add(shared["class_counts"], progress.posterior[some])
            for name, part in (("habit", people), ("judge_said", judges)):
                given = slice(part.item_ptr[begin], part.item_ptr[some.stop])
                place_of = (part.labels[given],) if name == "habit" else (part.workers[given], part.labels[given])
                np.add.at(shared[name], place_of, 1.0)
            clock[MET] = max(clock[MET], 1 + judges.workers[pointer[0] : pointer[-1]].max(initial=-1))
            clock[ITEMS] += some.stop - begin
            begin = some.stop
        for part, table in ((people, self.state.workers["expected"]), (judges, shared["judge_expected"])):
            add_labels(part.item_ptr, part.workers, part.labels, progress.posterior, table)
        return progress

    def score(self, labels: Labels) -> tuple[Array, Array, float]:
        """Posteriors from the current state."""
        made = Progress(np.zeros(labels.items), np.zeros((labels.items, len(self.state.classes))))
        self._read(labels, self._divided(labels)[1], slice(0, labels.items), self._known(), made, learns=False)
        return made.posterior, np.ones(labels.items), float(made.objective.sum() / max(labels.items, 1))

    def check(self) -> None:
        """Raise UsageError if there were no people, or no judges."""
        clock = self.state.shared["clock"]
        if not clock[SAID]:
            raise UsageError(f"--reference: no worker is {' or '.join(map(repr, self.parameters.reference))}")
        if not clock[MET]:
            raise UsageError(model.NO_JUDGES)

    def factors(self, slots: NDArray[np.int32]) -> Array:
        """Of judges (P(label | class) / P(label))^e, of people their rows, those of a first label on an item."""
        known, k, judge = self._known(), len(self.state.classes), slots >= self.slots
        factor, places = np.empty((len(slots), k, k)), slots[judge] - self.slots
        factor[judge] = np.exp(known["exponents"][1 + places, None, None] * known["lifts"][places])
        counts = self.state.workers["counts"][slots[~judge]]
        factor[~judge] = model.person_rows(counts, known["pooled"], known["guard"][0])
        return factor

    def others(self, labels: Labels) -> Array:
        """The posterior over each label's own factor, in the power in which it counts."""
        used, places = np.unique(labels.workers, return_inverse=True)
        factor = self.factors(used)[places, labels.labels]
        people = self._divided(labels)[0]
        rate = 1 / (1 + self.parameters.people_rho * (np.diff(people.item_ptr)[people.label_items] - 1))
        factor[labels.workers < self.slots] **= rate[:, None]
        return without_own(labels, self.score(labels)[0], factor)

    def confusions(self, slots: NDArray[np.int32]) -> Array:
        """Expected labels under the posteriors, smoothed."""
        judge, shared = slots >= self.slots, self.state.shared
        expected = np.empty((len(slots), len(self.state.classes), len(self.state.classes)))
        expected[judge] = shared["judge_expected"][slots[judge] - self.slots]
        expected[~judge] = self.state.workers["expected"][slots[~judge]]
        rows = forecast.channels(expected, expected.sum(axis=2), ordered=False)
        return np.ascontiguousarray(rows.transpose(0, 2, 1))

    def _divided(self, labels: Labels) -> tuple[Labels, Labels]:
        """The labels of people, and those of judges with places in their table for workers."""
        judges = labels.chosen(labels.workers >= self.slots)
        return labels.chosen(labels.workers < self.slots), replace(judges, workers=judges.workers - self.slots)

    def _known(self) -> dict[str, Array]:
        """The current state: sums of the quadratic approximation, and the parameters for reading items."""
        assert isinstance(self.model, model.Mixed)
        shared, clock = self.state.shared, self.state.shared["clock"]
        met, exponents, lifts = int(clock[MET]), shared["exponents"].copy(), np.zeros_like(shared["lifts"])
        bend, pull = shared["bend"] + shared["hessian"], shared["pull"] + shared["gradient"]
        pull += shared["hessian"] @ exponents
        ridge = np.full(1 + met, forecast.RIDGE)
        ridge[0], used = forecast.PRIOR_RIDGE, slice(1 + met)
        start = forecast.fresh(met, 1).exponents
        kernels.solve(bend[used, used] + np.diag(ridge), pull[used] + ridge * start, exponents[used])
        ordered = self.model.ordered(self.state.classes)
        lifts[:met] = forecast.lift(shared["judge_counts"][:met], shared["judge_said"][:met], ordered)
        log_prior, guard, said = forecast.log_share(shared["targets"]), model.GUARD, clock[SAID]
        if said >= 2:
            gain = clock[GAIN] / said
            error = np.sqrt(max(clock[GAIN_SQUARES] / said - gain**2, 0.0) / said)
            guard = model.guard_of(gain, error, np.exp(log_prior))
        pooled = model.pooled_row(shared["pooled_counts"], shared["habit"])
        return {
            "bend": bend, "pull": pull, "lifts": lifts, "log_prior": log_prior, "exponents": exponents,
            "pooled": pooled, "guard": np.array([guard]),
        }  # fmt: skip

    def _read(
        self, labels: Labels, judges: Labels, some: slice, known: dict[str, Array], made: Progress, learns: bool
    ) -> Array:
        """Read some items, into `made`, and add them to the rows of their people if `learns`; the log-forecasts."""
        workers, pointer = self.state.workers, slice(some.start, some.stop + 1)
        f = np.zeros_like(made.posterior[some])
        kernels.forecast(
            judges.item_ptr[pointer], judges.workers, judges.labels, np.zeros(len(f), np.int64), known["lifts"][None],
            known["log_prior"][None], known["exponents"][None], 1.0, f,
        )  # fmt: skip
        kernels.expect(
            labels.item_ptr[pointer], labels.workers, labels.labels, labels.gold[some],
            np.arange(self.slots + self.parameters.judge_slots) >= self.slots, f, workers["counts"], workers["columns"],
            self.state.shared["pooled_counts"], known["pooled"], model.PERSON, float(known["guard"][0]), False, learns,
            self.parameters.people_rho, np.zeros((len(labels), f.shape[1])), made.objective[some], made.posterior[some],
        )  # fmt: skip
        return f


def _add(total: Array, rows: Array) -> None:
    """Add rows one after the other, so that the result is the same to the bit however they are divided."""
    total[...] = np.cumsum(np.concatenate([total[None], rows]), axis=0)[-1]
