"""True labels and workers' skills from labels, in one call."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.limits import FINITE, Limits, check_values
from hutch.core.chain.stored import RowsInUse, Stored, dense, parts_of
from hutch.core.errors import ModelError, PluginError, UsageError, at
from hutch.core.parameters import values_of
from hutch.core.threads import one_thread
from hutch.crowd.data.labels import Labels, from_triples
from hutch.crowd.data.unsure import AS_MISSING
from hutch.crowd.models.copies import Group, copies_in_stream, find_copies, one_voice
from hutch.crowd.models.model import Array, CrowdModel, Fit, InProcess, Over, State
from hutch.crowd.models.online import DEFAULT_SLOTS, Progress, run, since, stream_of
from hutch.crowd.models.ordered import MANY_VALUES, leaned, ratings, scale_of
from hutch.crowd.models.repeats import joined, parted
from hutch.crowd.models.trust import LEAST_HALVES, Trust
from hutch.crowd.room import check_room, check_tables
from hutch.plugins.of_models import ask_for_packages, packages_of

if TYPE_CHECKING:
    from hutch.crowd.data.frames import FrameVotes
    from hutch.crowd.report import WorkerReport
    from hutch.shell.sentences import Verdict

Method = Literal["batch", "online"]
_FEW = 64
_LARGEST, _LARGEST_COUNT = 1e15, 1 << 61  # of a number; of a count in units of 2^-32
_OPEN = "open."
_SAME, _TURNED = 0.95, 0.2  # agreement below which workers may be alike without copying; share of items they turn


@dataclass(frozen=True)
class Options:
    """How to aggregate.

    Attributes:
        method: `batch` EM over stored labels, or `online`, label by label or task by task, as the model has it.
        passes: online: over the labels.
        slots: online: rows of the worker table.
        test: only score, without learning.
        shards: batch: number of parts into which the items are cut.
        ordered: classes are ordered; None: if they are 3 to 12 whole numbers.
        open: online: most tasks that are kept open for further labels; 0 for all.
    """

    method: Method = "batch"
    passes: int = 1
    slots: int = DEFAULT_SLOTS
    test: bool = False
    shards: int = 1
    ordered: bool | None = None
    open: int = 0


@dataclass(frozen=True)
class Aggregate:
    """Result of aggregating labels.

    Attributes:
        labels: as given.
        fit: the model's own result.
        probability: float64 (items, classes): calibrated posteriors.
        rows: computes `confusions`.
        class_prior: float64 (classes).
        scale: float64 (classes): values of ordered classes; None if they are only names.
        factors: computes the factors of the probabilities for a label of every worker (workers, labels, classes).
        others: computes the evidence of all but a label about its item (labels, classes); see `CrowdModel.others`.
        population: computes P(label | class) of an unknown worker (classes, labels); None if people and
            judges are distinguished.
        beta: computes how easy each item is; see `CrowdModel.beta` (items).
        copies: workers who copy; each group counts as one voice where the others agree on enough to show it.
        votes: the frame that the labels came from; None if they came otherwise.
        unsure: what `labels.unsure` is taken as, or as a sign of: see `hutch.crowd.data.unsure`.
        turned: the copies turn the verdict around, and may be alike without copying; both verdicts are averaged.
        judges: some or all workers are declared to be judges, such as models, whose errors have much in common.
        model: name of the model.
        events: what happened to tasks that a stream keeps open: counts by name.
    """

    labels: Labels
    fit: Fit
    probability: Array
    rows: Callable[[], Array]
    class_prior: Array
    scale: Array | None
    factors: Callable[[], Array]
    others: Callable[[], Array]
    population: Callable[[], Array] | None
    beta: Callable[[], Array]
    copies: Sequence[Group] = ()
    votes: "FrameVotes | None" = None
    turned: bool = False
    unsure: str = AS_MISSING
    judges: bool = False
    model: str = ""
    events: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def confusions(self) -> Array:
        """P(label | class) of every worker (workers, classes, labels): with many classes, large."""
        check_tables(self.labels)
        return self.rows()

    @property
    def doubt(self) -> str:
        """Why these labels do not determine truth and skills; empty if they do."""
        trust = self.fit.state.shared.get("trust")
        if trust is not None and trust.any() and not Trust(*trust.tolist()).halves >= LEAST_HALVES:
            return "two halves of the workers do not predict each other: take the classes as unknown"
        if any(not group.one_voice for group in self.copies):
            return "only some workers agree with each other: they may be experts or copies"
        if self.turned:
            return "the verdict depends on whether some workers who often agree are one voice: gold can show it"
        return ""

    def tasks(self) -> Any:
        """`task_columns` as a frame of the library that the labels came from (else Arrow's): one row per task.

        In pandas the task is the index.
        """
        votes, columns = self._frame_votes(), self.task_columns()
        for role, name in ((1, "task"), (2, "label")):
            columns[name] = [votes.originals[role].get(each, each) for each in columns[name]]
        return votes.frame("task", columns)

    def task_columns(self) -> dict[str, Any]:
        """By name the columns `task label confidence ratings`, and under `q:` and its name the probability of a class.

        Ordered classes have `mean median low high`, too.
        """
        labels = self.labels
        best = self.probability.argmax(axis=1) if len(labels.classes) else np.zeros(labels.items, np.int64)
        columns: dict[str, Any] = {
            "task": labels.item_names,
            "label": [labels.classes[k] for k in best.tolist()],
            "confidence": self.probability.max(axis=1, initial=0.0),
            "ratings": np.diff(labels.item_ptr),
        }
        columns |= {f"q:{name}": self.probability[:, k] for k, name in enumerate(labels.classes)}
        if self.scale is not None:
            found = ratings(self.probability, self.scale)
            columns |= {"mean": found.mean, "median": found.median, "low": found.low, "high": found.high}
        return columns

    def report(self) -> "WorkerReport":
        """How each worker labels."""
        return self._report

    @cached_property
    def _report(self) -> "WorkerReport":
        from hutch.crowd.report import report

        return report(self.labels, self.others, self.confusions, self.class_prior, bool(self.doubt))

    def verdict(self) -> "Verdict":
        """What the labels show, in at most three sentences; see `hutch.crowd.verdict`."""
        from hutch.crowd.verdict import findings, verdict

        return verdict(findings(self))

    def __repr__(self) -> str:
        labels = self.labels
        size = f"{len(labels)} labels, {labels.items} tasks, {len(labels.worker_names)} workers"
        return f"<Aggregate: {size}. {self.verdict()}>"

    def workers(self) -> Any:
        """`worker_columns` as a frame, as of `tasks`: a row per worker."""
        votes, columns = self._frame_votes(), self.worker_columns()
        columns["worker"] = [votes.originals[0].get(name, name) for name in columns["worker"]]
        return votes.frame("worker", columns)

    def worker_columns(self) -> dict[str, Any]:
        """By name the columns `worker labels accuracy low high spam`."""
        found = self.report()
        columns: dict[str, Any] = {"worker": self.labels.worker_names, "labels": found.labels}
        return columns | {"accuracy": found.accuracy, "low": found.low, "high": found.high, "spam": found.spam}

    def _frame_votes(self) -> "FrameVotes":
        from hutch.crowd.data.frames import FrameVotes

        return self.votes or FrameVotes()


@one_thread()
def aggregate(
    labels: Labels | Any,
    model: CrowdModel | None = None,
    options: Options | None = None,
    history: State | None = None,
    report: Callable[[Labels, Progress], None] | None = None,
    reference: Sequence[str] = (),
    over: Over = InProcess,
) -> Aggregate:
    """Infer the class of every item and the confusions of every worker.

    Args:
        labels: if there is a history, read with its classes and workers; or a frame of pandas, polars or Arrow with the
            columns `worker`, `task` and `label`, as crowd-kit has them; the categories of a pandas `category` and of a
            polars `Enum` are the classes, also those that no row has.
        model: the explanation of the labels; None: `Mixed` if there is a reference, `Ordinal` if the classes are
            declared to be ordered, in batch what `hutch.crowd.choice.suited` chooses, else `TwoLevel`.
        options: batch by default.
        history: the state of an earlier run of the same model and method.
        report: online, called after each pass.
        reference: names or globs of the workers whose labels define the classes, if the others are judges.
        over: batch: where the steps of EM are made.

    Raises:
        UsageError: there is no memory for so many classes, the model has no online form, there is nothing to test with,
            or the model knows no reference.
        ModelError: the history is not one of this model and method.
        PluginError: the model gives no posteriors.

    >>> from hutch.crowd.data.labels import from_triples
    >>> votes = [("ann", "t1", "cat"), ("bob", "t1", "cat"), ("cy", "t1", "dog"), ("ann", "t2", "dog")]
    >>> result = aggregate(from_triples(votes))
    >>> [result.labels.classes[k] for k in result.probability.argmax(axis=1)]
    ['cat', 'dog']
    """
    votes = None
    if not isinstance(labels, Labels):
        from hutch.crowd.data.frames import is_frame, read_frame

        votes = read_frame(labels) if is_frame(labels) else None
    options = options or Options()
    if votes:
        labels = from_triples(
            votes.triples, history.classes if history else votes.classes, history.worker_names if history else (),
            arrivals=options.method == "online",
        )  # fmt: skip
    if votes and votes.ordered and options.ordered is None:
        options = replace(options, ordered=True)
    if model is None:
        from hutch.crowd.choice import default_model  # not at the top: it imports models

        model = default_model(labels, options.ordered, tuple(reference), history, options.method == "batch")
    elif reference:
        raise UsageError("reference: goes without a model, or as Mixed(reference=...)")
    if options.test and history is None:
        raise UsageError("nothing to test with: testing needs a saved model (-i)")
    if history is not None:
        check_history(model, options, history)
    people, unsure, happened = model.reference(labels.worker_names), AS_MISSING, dict[str, int]()
    if options.method == "online":
        stream = stream_of(model, labels.classes, options.slots, history)
        if options.open:
            stream.hold(options.open)
        before = stream.events()
        if not options.test and (told := stream.tell(labels.elsewhere)):
            labels = replace(labels, unmatched_gold=labels.unmatched_gold - told)
        fit = run(stream, labels, 0 if options.test else options.passes, report)
        happened = since(before, stream.events())
        labels = voices = stream.with_earlier(labels, learned=not options.test)
        people = model.reference(labels.worker_names)
        groups = copies_in_stream(labels, people)
        parts = stream.voices(labels)
        rows = stream.slots_of(parts.worker_names)
        confusions, factors = partial(_joined, stream.confusions, rows, labels, parts), partial(stream.factors, rows)
        prior = stream.class_prior()
        others = partial(stream.others, stream.in_slots(labels))
        calibrated = partial(stream.probability, voices, fit.posterior)
        population, beta = stream.population, partial(stream.beta, stream.in_slots(labels))
    else:
        check_room(model, labels, history is None)
        groups = find_copies(labels, people, taught=history is not None)
        whole, places = one_voice(labels, groups)
        voices = parted(whole, None if people is None else ~people)
        if options.test and history:
            fit = model.infer(voices, history)
        else:
            fit = model.fit(voices, history) if over is InProcess else model.fit(voices, history, over)
        for group in groups if whole is not labels else ():
            for array in fit.state.workers.values():
                array[list(group.workers)] = array[group.workers[0]]
        confusions = partial(_joined, model.confusions, fit.state, whole, voices)
        prior = model.class_prior(fit.state)
        factors = partial(model.factors, fit.state)
        others = partial(_others, model, voices, fit.state, not options.test, places)
        if len(labels.unsure) and history is None and people is None:
            from hutch.crowd.models.unsure import informed  # not at the top: few labels have such answers

            fit, unsure = informed(labels, fit, confusions, prior)
        calibrated = partial(model.probability, voices, fit)
        population, beta = partial(model.population, fit.state), partial(model.beta, fit.state)
    values = scale_of(labels.classes, options.ordered)
    _check_posterior(model, labels, fit.posterior)
    probability, turned = calibrated(), False
    if history is None and any(group.one_voice and not group.in_stream and group.agreement < _SAME for group in groups):
        each = parted(labels, None if people is None else ~people)
        alike = model.fit(each, None, over)
        turned = bool((alike.posterior.argmax(axis=1) != fit.posterior.argmax(axis=1)).mean() > _TURNED)
        probability = (probability + model.probability(each, alike)) / 2 if turned else probability
    fits_all = people is None and options.method == "batch" and len(labels) > 0
    if values is not None and len(values) > MANY_VALUES and fits_all:
        probability = leaned(probability, values, labels, others())
    usual = None if hasattr(model.parameters, "reference") else population
    judges = hasattr(model.parameters, "reference") or bool(getattr(model.parameters, "judges", False))
    return Aggregate(
        labels, fit, probability, confusions, prior, values, factors, others, usual, beta, groups, votes, turned,
        unsure, judges, model.name, happened,
    )  # fmt: skip


def population_of(model: CrowdModel, options: Options, state: State) -> Array | None:
    """P(label | class) of a worker unknown to a saved state; None if people and judges are distinguished.

    Raises:
        ModelError: the state is not one of this model and method.
    """
    if hasattr(model.parameters, "reference"):
        return None
    check_history(model, options, state)
    online = options.method == "online"
    return stream_of(model, state.classes, options.slots, state).population() if online else model.population(state)


def prior_of(model: CrowdModel, options: Options, state: State) -> Array:
    """`CrowdModel.class_prior` of a saved state."""
    check_history(model, options, state)
    online = options.method == "online"
    return stream_of(model, state.classes, options.slots, state).class_prior() if online else model.class_prior(state)


def _joined(rows: Callable[[Any], Array], of: Any, whole: Labels, voices: Labels) -> Array:
    return joined(rows(of), whole, voices)


def _others(model: CrowdModel, voices: Labels, state: State, learned: bool, places: NDArray[np.int64]) -> Array:
    return model.others(voices, state, learned)[places]


def _check_posterior(model: CrowdModel, labels: Labels, found: Any) -> None:
    """Check the posteriors of a model, which may be a plugin's.

    Raises:
        PluginError: they are not posteriors of each item.
    """
    shape = (labels.items, len(labels.classes))
    got = found.shape if isinstance(found, np.ndarray) else type(found).__name__
    if got == shape and np.isfinite(found).all() and (found >= 0).all():
        return
    wrong = "numbers that are not probabilities" if got == shape else f"{got}"
    name = f"{type(model).__module__}.{type(model).__qualname__}.posterior"
    raise PluginError(f"{name} of the crowd model {model.name!r}: got {wrong}, wanted probabilities of shape {shape}")


def check_history(model: CrowdModel, options: Options, history: State) -> None:
    """Compare a history's arrays, by name and shape, with those of a new crowd; its origin is untrusted.

    The new one is small: its sizes are placeholders for the numbers of workers and classes.

    Raises:
        ModelError: an array is missing, or has another shape.
    """
    workers, classes = 29, 31
    few, crew = ([str(k) for k in range(count)] for count in (classes, workers))
    free = type(model)(**values_of(model.parameters) | {"class_prior": None})
    if options.method == "online":
        fresh = stream_of(free, few, workers).state
        rows = options.slots
    else:
        fresh, rows = free.start(from_triples([], few, crew), None), len(history.worker_names)
    for part in ("workers", "shared"):
        own: dict[str, Array] = getattr(history, part)
        for name, array in getattr(fresh, part).items():
            shape = tuple({workers: rows, classes: len(history.classes)}.get(size, size) for size in array.shape)
            if name not in own or own[name].shape != shape:
                got = own[name].shape if name in own else "nothing"
                raise ModelError(f"{part}.{name} of the crowd model: got {got}, wanted shape {shape}")
            if own[name].dtype != array.dtype:
                got = f"numbers of type {own[name].dtype}, wanted {array.dtype}"
                raise ModelError(f"{part}.{name} of the crowd model: got {got}")
            check_values(f"{part}.{name} of the crowd model", own[name], model.limits.get(name, FINITE))


def save(path: str, model: CrowdModel, options: Options, state: State) -> None:
    """Write the learned state; another run continues from it.

    Raises:
        HutchError: the file cannot be written.
    """
    from hutch.core.chain.model_file import save_model  # not at the top: not every run has a model file

    arrays = {f"workers.{name}": array for name, array in state.workers.items()}
    arrays |= {f"shared.{name}": array for name, array in state.shared.items()}
    arrays |= (kept := {f"{_OPEN}{name}": array for name, array in state.open.items()})
    arrays["worker_names"] = np.frombuffer(json.dumps(state.worker_names).encode(), np.uint8)
    metadata = {
        "model": model.name,
        "parameters": values_of(model.parameters),
        "method": options.method,
        "slots": options.slots,
        "shards": options.shards,
        "classes": state.classes,
    }
    metadata |= packages_of("crowd_models", model.name)
    save_model(path, arrays, metadata, kind="crowd", whole=kept)


def load(path: str) -> tuple[dict[str, Any], State]:
    """Read a file written by `save`: its metadata (model, parameters, method, slots) and the state.

    Raises:
        ModelError: the file is missing, damaged, foreign or newer than this version, or its plugin is not installed.
    """
    from hutch.core.chain.model_file import load_compact

    arrays, metadata = load_compact(path, kind="crowd")
    ask_for_packages(path, metadata)
    try:
        names = json.loads(dense(arrays.pop("worker_names")).tobytes())
        state = State(_texts("classes", metadata["classes"]), _texts("worker_names", names))
        if type(metadata["slots"]) is not int or metadata["slots"] < 1:
            raise ModelError(f"slots: got {str(metadata['slots'])[:40]}, wanted a number of at least 1")
        rows = len(state.worker_names) if metadata["method"] == "batch" else metadata["slots"]
        for name, array in arrays.items():
            part, _, key = name.partition(".")
            kept = {"workers": state.workers, "shared": state.shared, "open": state.open}[part]
            _check(name, array, len(state.classes), rows)
            kept[key] = dense(array)
        if not isinstance(metadata["model"], str) or not isinstance(metadata["parameters"], dict):
            raise ModelError("the crowd model has no name, or no parameters")
        if metadata["model"] == "two_level":
            metadata["parameters"].pop("decay", None)  # of an earlier stream; batch never read it
        if (metadata["model"], metadata["method"]) == ("two_level", "online") and not state.open:
            wanted = "wanted one that keeps open tasks; make it again from the labels, with -f"
            raise ModelError(f"got an online two_level model that learned task by task, {wanted}")
    except KeyError as error:
        raise ModelError(at(path, None, None, f"the crowd model lacks {str(error)[:80]}")) from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(at(path, None, None, f"the crowd model is damaged: {str(error)[:200]}")) from None
    except ModelError as error:
        raise ModelError(at(path, None, None, str(error))) from None
    return metadata, state


def _texts(name: str, found: Any) -> list[str]:
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found) or len({*found}) < len(found):
        raise ModelError(f"{name}: got {str(found)[:60]}, wanted a list of different names")
    return found


def _check(name: str, array: Stored, classes: int, rows: int) -> None:
    """Check that an array is not larger than tables of all workers, and holds numbers; its shape is checked later.

    Raises:
        ModelError: it is larger than its stored part and than such tables, or not finite.
    """
    if name.startswith(_OPEN):  # the stream checks the rest
        if isinstance(array, RowsInUse) or array.dtype.kind not in "iuf":
            raise ModelError(f"{name}: got some of its rows, or other than numbers")
        return
    if array.dtype not in (np.float64, np.int64):
        raise ModelError(f"{name}: got numbers of type {array.dtype}, wanted float64 or int64")
    if isinstance(array, RowsInUse) and math.prod(array.shape) > max(rows, _FEW) * max(classes, _FEW) ** 2:
        raise ModelError(
            f"{name}: got shape {array.shape}, wanted at most a table of {classes} classes for each worker"
        )
    most = _LARGEST if array.dtype == np.float64 else _LARGEST_COUNT
    check_values(name, parts_of(array), Limits(-most, most))
