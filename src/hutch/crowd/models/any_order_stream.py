"""The two-level model in a stream whose labels come one by one, in any order."""

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import ModelError
from hutch.crowd.data.labels import Labels
from hutch.crowd.data.unsure import Unsure
from hutch.crowd.models import two_level_kernels as kernels
from hutch.crowd.models.calibration import calibrate
from hutch.crowd.models.model import Array, State
from hutch.crowd.models.online import Progress, Stream
from hutch.crowd.models.open_items import CLARITIES, OpenItems, Settings
from hutch.crowd.models.open_items_file import packed, unpack
from hutch.crowd.models.open_items_kernels import CLOSED, CORRECTED, ONE, OPENED, REOPENED, ROOM
from hutch.crowd.models.repeats import DIVIDED, one_by_one
from hutch.crowd.models.two_level import TwoLevelParameters, predictive_rows

MOST_OPEN = 100_000
"""Tasks that `hutch crowd --stream` keeps open unless it is told otherwise."""
_WORKERS = ("counts", "rows", "habits", "masses", "skill")
_SHARED = ("population", "habit_prior", "strengths", "class_counts", "level_counts", "evidence", "origin")
_NAMES = ("item_names", "worker_names")


@dataclass
class Numbers:
    """Names by number, in the order of their first appearance."""

    names: list[str]
    places: dict[str, int]

    @classmethod
    def of(cls, names: list[str]) -> "Numbers":
        """Numbers of these names."""
        return cls(names, {name: place for place, name in enumerate(names)})

    def find(self, names: Iterable[str]) -> NDArray[np.int64]:
        """The number of each name, -1 for an unknown one."""
        return np.array([self.places.get(name, -1) for name in names], np.int64)

    def add(self, names: Iterable[str]) -> NDArray[np.int64]:
        """The number of each name; an unknown one gets the next."""
        found = []
        for name in names:
            place = self.places.get(name)
            if place is None:
                place = self.places[name] = len(self.names)
                self.names.append(name)
            found.append(place)
        return np.array(found, np.int64)


class AnyOrderStream(Stream):
    """Labels of open tasks are kept; what a task taught is taken back and learned again when a label comes.

    See `open_items_kernels`. All tasks stay open unless there is room for so many only: then the surest is closed. It
    keeps its posterior, and a late label opens it again.
    """

    parameters: TwoLevelParameters

    def start(self, classes: list[str], slots: int, history: State | None) -> State:
        """No labels, or the open items of the history."""
        own = self.parameters
        clarities = CLARITIES if own.clarity is None else (own.clarity,)
        settings = Settings(warm_up=own.warm_up, drift=own.drift)
        fixed = self.model.fixed_prior(len(classes))
        old = history or State([], [])
        known = len(old.classes) or len(classes)
        engine = OpenItems.empty(known, slots, clarities, own.habit_strength, settings, fixed)
        self._items, self._workers = (Numbers.of(_names(name, old.open.get(name))) for name in _NAMES)
        engine.meet(len(self._items.names), self.slots_of(self._workers.names))
        if history:
            found = old.workers | old.shared
            arrays = {name: _like(name, found.get(name), getattr(engine.crowds, name)) for name in _WORKERS + _SHARED}
            engine.crowds = engine.crowds._replace(**arrays)
            unpack(engine, old.open)
            if known < len(classes):
                engine.widen(len(classes))
        self.engine, self.classes, self._late_gold = engine, [*classes], 0
        return self.live_state()

    def live_state(self) -> State:
        """The state without open items; its arrays are the stream's own."""
        crowds = self.engine.crowds._asdict()
        workers, shared = ({name: crowds[name] for name in names} for names in (_WORKERS, _SHARED))
        return State(self.classes, [], workers, shared)

    def final_state(self) -> State:
        """The whole state, to be saved or continued."""
        names = {
            name: np.frombuffer(json.dumps(numbers.names).encode(), np.uint8)
            for name, numbers in zip(_NAMES, (self._items, self._workers), strict=True)
        }
        return replace(self.live_state(), open=packed(self.engine) | names)

    def in_slots(self, labels: Labels) -> Labels:
        """The labels with the workers by name, who are told apart."""
        return labels

    def hold(self, most: int) -> None:
        """Keep at most so many tasks open; 0 for any number."""
        self.engine.settings[ROOM] = most

    def learn(self, labels: Labels, first_pass: bool) -> Progress:
        """Learn in the order of coming; in later passes, judge all open tasks again.

        The posteriors are those after the last of these labels; the objective is of each label before it came.
        """
        objective = self._learn(labels) if first_pass else np.zeros(0)
        if not first_pass:
            self.engine.sweep()
        self.state = self.live_state()
        posterior, _, totals = self._read(self.with_earlier(labels, learned=True))
        return Progress(objective if first_pass else totals, posterior)

    def _learn(self, labels: Labels) -> Array:
        """Learn each label when it comes, and a class when its first label does; log-probabilities of the items."""
        coming, voices = one_by_one(labels)
        items, workers = self._items.add(labels.item_names), self._workers.add(voices)
        self._meet()
        known = np.flatnonzero(labels.gold >= 0)
        self._widen(labels.classes[: int(labels.gold.max(initial=-1)) + 1])
        for place in known.tolist():
            self._tell(int(items[place]), int(labels.gold[place]))
        begin, found = 0, np.zeros(0)
        said = coming[:, 2].astype(np.int64)
        while begin < len(said):
            new = np.flatnonzero(said[begin:] >= self.engine.classes)
            end = begin + int(new[0]) if len(new) else len(said)
            piece = coming[begin:end]
            learned = self.engine.learn(
                items[piece[:, 1]], workers[piece[:, 0]], said[begin:end], self._workers.places.get("", -1)
            )
            found, begin = np.concatenate([found, learned]), end
            self._widen(labels.classes[: int(said[end]) + 1 if end < len(said) else None])
        return np.asarray(np.bincount(coming[:, 1], found, labels.items), np.float64)

    def learn_one(self, worker: str, task: str, label: str) -> None:
        """Learn one label; its class may be new."""
        item, who = self._items.add([task]), self._workers.add([worker])
        self._meet()
        if label not in self.classes:
            self._widen([*self.classes, label])
        said = np.array([self.classes.index(label)], np.int64)
        self.engine.learn(item, who, said, self._workers.places.get("", -1))

    def withdraw(self, worker: str, task: str) -> bool:
        """Take a worker's label of a task away; returns whether it was there, and its task open."""
        item, who = self._items.places.get(task), self._workers.places.get(worker)
        return item is not None and who is not None and worker != "" and self.engine.withdraw(item, who)

    @property
    def tasks(self) -> list[str]:
        """All tasks met, in the order of their first label."""
        return [*self._items.names]

    def _meet(self) -> None:
        """Tell the engine of new names."""
        engine = self.engine
        new = self._workers.names[engine.workers :]
        engine.meet(len(self._items.names) - engine.items, self.slots_of(new))

    def _widen(self, classes: list[str]) -> None:
        """Learn of classes behind those known."""
        if len(classes) > len(self.classes):
            self.classes = [*classes]
            self.engine.widen(len(classes))
            self.state = self.live_state()
            self.engine.crowds = self.engine.crowds._replace(fixed_prior=self.fixed_prior())

    def _tell(self, item: int, gold: int) -> None:
        """Tell the engine an item's class if it is news."""
        opened = self.engine.opened
        if int(opened.gold[item]) != gold:
            self._late_gold += bool(opened.where[item] >= 0 or opened.earlier[item])
            self.engine.tell(item, gold)

    def tell(self, truth: Mapping[str, str]) -> int:
        """True classes of tasks.

        Args:
            truth: class by task; only tasks that have been met count.

        Returns:
            how many have been met.
        """
        code, told = {name: k for k, name in enumerate(self.classes)}, 0
        for task, label in truth.items():
            item = self._items.places.get(task)
            if item is not None and label in code:
                self._tell(item, code[label])
                told += 1
        return told

    def settled(self) -> Self:
        """A copy whose open tasks are all judged again, if labels were corrected: what was wrong has taught others."""
        if not self.engine.opened.clock[CORRECTED]:
            return self
        found = copy(self)
        found.engine = deepcopy(self.engine)
        found.engine.sweep()
        found.state = found.live_state()
        return found

    def with_earlier(self, labels: Labels, learned: bool) -> Labels:
        """All labels of these tasks that the stream keeps; with those given, if they were not learned."""
        items = self._items.find(labels.item_names)
        pointer, workers, said = self.engine.labels_of(items)
        of = np.repeat(np.arange(len(items)), np.diff(pointer))
        names, place = self._workers.names, dict(self._workers.places)
        if not learned:
            coming, voices = one_by_one(labels)
            own = [place.setdefault(name, len(place)) for name in voices]
            names, given = [*place], np.array(own, np.int64)[coming[:, 0]]
            of = np.concatenate([of, coming[:, 1]])
            workers, said = np.concatenate([workers, given]), np.concatenate([said, coming[:, 2]])
            keep = _latest(of * len(names) + workers, workers == place.get("", -1))
            keep = keep[np.argsort(of[keep], kind="stable")]
            of, workers, said = of[keep], workers[keep], said[keep]
            pointer = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=len(items)))])
        used, codes = np.unique(workers, return_inverse=True)
        voices = [names[worker] for worker in used.tolist()]
        people = Numbers([], {})
        person = people.add(name.removesuffix(DIVIDED) for name in voices)
        divided = np.array([name.endswith(DIVIDED) for name in voices], np.bool_)
        gold, known, dropped = labels.gold.copy(), items >= 0, np.zeros(len(items), np.int64)
        gold[known] = np.where(gold[known] >= 0, gold[known], self.engine.opened.gold[items[known]])
        dropped[known] = self.engine.opened.earlier[items[known]]
        repeated = {name: row for name, row in zip(labels.worker_names, labels.repeats, strict=False)}
        return replace(
            labels, item_ptr=pointer, workers=person[codes].astype(np.int32), labels=said.astype(np.int32),
            worker_names=people.names, gold=gold, divided=divided[codes] if divided.any() else divided[:0],
            dropped=dropped, arrivals=labels.arrivals[:0], unsure=Unsure(),
            repeats=np.array([repeated.get(name, np.zeros(2)) for name in people.names]).reshape(-1, 2),
        )  # fmt: skip

    def _read(self, labels: Labels) -> tuple[Array, Array, Array]:
        """`OpenItems.read` of tasks by exactly these labels; P(class) of classes the stream does not know is 0."""
        labels = self.voices(labels)
        slots = self.slots_of(labels.worker_names).astype(np.int64)
        slots = slots[labels.workers] if len(labels) else np.zeros(0, np.int64)
        items = self._items.find(labels.item_names)
        posterior, clear, total = self.engine.read(items, labels.item_ptr, slots, labels.labels.astype(np.int64))
        for item in np.flatnonzero(labels.gold >= 0):
            posterior[item] = np.arange(posterior.shape[1]) == labels.gold[item]
        return posterior, clear, total

    def score(self, labels: Labels) -> tuple[Array, Array, float]:
        """Posteriors by these labels, under freshly estimated strengths; what a task taught has no part in its own."""
        posterior, clear, total = self._read(labels)
        return posterior, clear, float(total.mean()) if len(total) else 0.0

    def kept(self, tasks: Sequence[str]) -> Labels:
        """All labels that the stream keeps of some tasks."""
        nothing, gold = np.zeros(0, np.int32), np.full(len(tasks), -1, np.int32)
        bare = Labels(np.zeros(len(tasks) + 1, np.int64), nothing, nothing, tasks, [], self.classes, gold)
        return self.with_earlier(bare, learned=True)

    def probability(self, labels: Labels, posterior: Array) -> Array:
        """Tempered by the number of all labels of a task; see `CrowdModel.probability`."""
        return calibrate(posterior, labels.ratings, self.parameters.rho)

    def _weights(self) -> Array:
        """The posterior of the crowds."""
        evidence = self.engine.crowds.evidence
        weights = np.exp((evidence - evidence.max()) / (1 << 20))
        return np.asarray(weights / weights.sum())

    def _mixed(self, each: Iterable[Array]) -> Array:
        """The mean over the crowds."""
        parts = [weight * array for weight, array in zip(self._weights().tolist(), each, strict=True)]
        return np.asarray(reduce(np.add, parts))

    def _members(self) -> range:
        return range(len(self.engine.crowds.evidence))

    def others(self, labels: Labels) -> Array:
        """Evidence of all other labels about each label's item."""
        labels = self.voices(labels)
        slots = self.slots_of(labels.worker_names)
        used, places = np.unique(slots, return_inverse=True)
        decided = [self._others_of(m, labels, used, places.astype(np.int32)) for m in self._members()]
        return self._mixed(decided)

    def _others_of(self, m: int, labels: Labels, used: NDArray[np.int32], places: NDArray[np.int32]) -> Array:
        """The same under one crowd."""
        crowds, classes = self.engine.crowds, self.engine.classes
        unit = self.engine.unit()
        tables = {name: getattr(crowds, name)[used, m] * unit for name in ("counts", "rows", "habits", "masses")}
        crowd = kernels.Crowd(
            **{name: table.reshape(-1) for name, table in tables.items()}, skill=crowds.skill[used, m],
            population=crowds.population[m].reshape(-1), habit_prior=crowds.habit_prior[m],
            strengths=crowds.strengths[m],
        )  # fmt: skip
        levels = crowds.level_counts[m] / ONE + 10
        if not crowds.strengths[m, kernels.CLARITY] < 1:
            levels = np.array([1.0, 0.0])
        decided, q = np.empty((len(labels), classes)), np.empty((labels.items, 2 * classes))
        if len(labels):
            kernels.others(
                labels.item_ptr, places[labels.workers], labels.labels, labels.gold, self._prior(m)[None],
                levels / levels.sum(), classes, crowd, np.zeros(0), False, q, decided,
            )  # fmt: skip
        return decided

    def _prior(self, m: int) -> Array:
        """P(class) of one crowd."""
        return self.model.prior_of(self.engine.crowds.class_counts[m] / ONE + 1)

    def class_prior(self) -> Array:
        """P(class), the mean over the crowds."""
        return self._mixed(self._prior(m) for m in self._members())

    def confusions(self, slots: NDArray[np.int32]) -> Array:
        """Predictive rows of a clear item, the mean over the crowds."""
        crowds, unit = self.engine.crowds, self.engine.unit()
        return self._mixed(
            predictive_rows(crowds.counts[slots, m] * unit, crowds.skill[slots, m], self._shared(m))
            for m in self._members()
        )

    def _shared(self, m: int) -> dict[str, Array]:
        """What `predictive_rows` wants of one crowd."""
        crowds = self.engine.crowds
        return {"strengths": crowds.strengths[m], "population": crowds.population[m]}

    def population(self) -> Array:
        """P(label | class) of a worker who was never met, of the mean skill."""
        classes, nothing = self.engine.classes, np.zeros((1, self.engine.classes, self.engine.classes))
        strengths = self.engine.crowds.strengths
        rows = self._mixed(
            predictive_rows(nothing, strengths[m, kernels.SKILL : kernels.SKILL + 1], self._shared(m))
            for m in self._members()
        )
        return rows.reshape(classes, classes)

    def events(self) -> dict[str, int]:
        """Tasks open now; tasks closed and opened again, labels corrected, since the first; late gold since loading."""
        places = {"closed_tasks": CLOSED, "reopened_tasks": REOPENED, "corrected_labels": CORRECTED}
        counts = {name: int(self.engine.opened.clock[place]) for name, place in places.items()}
        return {"open_tasks": int(self.engine.opened.clock[OPENED]), **counts, "late_gold": self._late_gold}


def _like(name: str, array: NDArray[Any] | None, fresh: NDArray[Any]) -> NDArray[Any]:
    """A copy of a saved array, of the shape and type that kernels rely on.

    Raises:
        ModelError: it has another.
    """
    if array is None or array.shape != fresh.shape or array.dtype != fresh.dtype:
        got = "nothing" if array is None else f"{array.dtype} of shape {array.shape}"
        raise ModelError(f"{name} of the crowd model: got {got}, wanted {fresh.dtype} of shape {fresh.shape}")
    return array.copy()


def _latest(keys: NDArray[np.int64], single: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The places at which a key stands for the last time, and all that stand for themselves, rising."""
    _, last = np.unique(keys[::-1], return_index=True)
    keep = single.copy()
    keep[len(keys) - 1 - last] = True
    return np.flatnonzero(keep)


def _names(name: str, array: NDArray[Any] | None) -> list[str]:
    """Names as a model file holds them.

    Raises:
        ModelError: they are not different texts.
    """
    if array is None:
        return []
    try:
        found = json.loads(array.tobytes())
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found) or len({*found}) < len(found):
        raise ModelError(f"open.{name} of the crowd model: got {str(found)[:60]}, wanted a list of different names")
    return found
