"""From labels to what is true and who labels well, in one call."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from hutch.core.chain.limits import Limits, check_values
from hutch.core.chain.model_file import load_compact, save_model
from hutch.core.chain.stored import Stored, dense, parts_of
from hutch.core.errors import ModelError, UsageError, at
from hutch.core.parameters import values_of
from hutch.crowd.data.labels import Labels, from_triples
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.models.calibration import calibrate
from hutch.crowd.models.model import Array, CrowdModel, Fit, State
from hutch.crowd.models.online import DEFAULT_SLOTS, Progress, hash_workers, in_slots, run
from hutch.crowd.models.two_level import TwoLevel

Method = Literal["batch", "online"]
_FEW = 8  # numbers that the whole crowd has, such as strengths, beside those by class
_LARGEST = 1e15


@dataclass(frozen=True)
class Options:
    """How to aggregate.

    Attributes:
        method: `batch` EM over stored labels, or `online`, one item at a time.
        passes: online: over the labels.
        slots: online: rows of the worker table.
        test: learn nothing, only score.
    """

    method: Method = "batch"
    passes: int = 1
    slots: int = DEFAULT_SLOTS
    test: bool = False


@dataclass(frozen=True)
class Aggregate:
    """What the labels say.

    Attributes:
        labels: as given.
        fit: the model's own result.
        probability: float64 (items, classes): calibrated posteriors.
        confusions: float64 (workers, classes, labels): P(label | class) of every worker.
        class_prior: float64 (classes).
        others: computes what everything but a label says of its item (labels, classes); see `CrowdModel.others`.
    """

    labels: Labels
    fit: Fit
    probability: Array
    confusions: Array
    class_prior: Array
    others: Callable[[], Array]


def aggregate(
    labels: Labels,
    model: CrowdModel | None = None,
    options: Options | None = None,
    history: State | None = None,
    report: Callable[[Labels, Progress], None] | None = None,
    reference: Sequence[str] = (),
) -> Aggregate:
    """Infer the class of every item and the confusions of every worker.

    Args:
        labels: if there is a history, read with its classes and workers.
        model: the explanation of the labels; None: `Mixed` if there is a reference, else `TwoLevel`.
        options: batch by default.
        history: the state of an earlier run of the same model and method.
        report: online, called after each pass.
        reference: names or globs of the workers whose labels define the classes, if the others are judges.

    Raises:
        UsageError: the model has no online form, there is nothing to test with, or the model knows no reference.
        ModelError: the history is none of this model and method.

    >>> from hutch.crowd.data.labels import from_triples
    >>> votes = [("ann", "t1", "cat"), ("bob", "t1", "cat"), ("cy", "t1", "dog"), ("ann", "t2", "dog")]
    >>> result = aggregate(from_triples(votes))
    >>> [result.labels.classes[k] for k in result.probability.argmax(axis=1)]
    ['cat', 'dog']
    """
    options = options or Options()
    if model is None:
        model = Mixed(reference=tuple(reference)) if reference else TwoLevel()
    elif reference:
        raise UsageError("reference: goes without a model, or as Mixed(reference=...)")
    if options.test and history is None:
        raise UsageError("nothing to test with: testing needs a saved model (-i)")
    if history is not None:
        _check_history(model, options, history)
    if options.method == "online":
        stream = model.stream(labels.classes, options.slots, history)
        fit = run(stream, labels, options.slots, 0 if options.test else options.passes, report)
        confusions = stream.confusions(hash_workers(labels.worker_names, options.slots))
        prior = stream.class_prior()
        others = partial(stream.others, in_slots(labels, options.slots))
    else:
        fit = model.infer(labels, history) if options.test and history else model.fit(labels, history)
        confusions, prior = model.confusions(fit.state), model.class_prior(fit.state)
        others = partial(model.others, labels, fit.state, not options.test)
    probability = calibrate(fit.posterior, np.diff(labels.item_ptr), model.parameters.rho)
    return Aggregate(labels, fit, probability, confusions, prior, others)


def _check_history(model: CrowdModel, options: Options, history: State) -> None:
    """Compare a history's arrays, by name and shape, with those of a new crowd; it may come from anybody.

    The new one is small: its sizes stand for the numbers of workers and classes.

    Raises:
        ModelError: it lacks one, or has one of another shape.
    """
    workers, classes = 7, 11
    few, crew = ([str(k) for k in range(count)] for count in (classes, workers))
    free = type(model)(**values_of(model.parameters) | {"class_prior": None})
    if options.method == "online":
        fresh = free.stream(few, workers).state
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


def save(path: str, model: CrowdModel, options: Options, state: State) -> None:
    """Write what a run learned; another run continues from it.

    Raises:
        HutchError: the file cannot be written.
    """
    arrays = {f"workers.{name}": array for name, array in state.workers.items()}
    arrays |= {f"shared.{name}": array for name, array in state.shared.items()}
    arrays["worker_names"] = np.frombuffer(json.dumps(state.worker_names).encode(), np.uint8)
    metadata = {
        "model": model.name,
        "parameters": values_of(model.parameters),
        "method": options.method,
        "slots": options.slots,
        "classes": state.classes,
    }
    save_model(path, arrays, metadata, kind="crowd")


def load(path: str) -> tuple[dict[str, Any], State]:
    """Read what `save` wrote: its metadata (model, parameters, method, slots) and the state.

    Raises:
        ModelError: the file is missing, damaged, foreign or newer than this version.
    """
    arrays, metadata = load_compact(path, kind="crowd")
    try:
        names = json.loads(dense(arrays.pop("worker_names")).tobytes())
        state = State(_texts("classes", metadata["classes"]), _texts("worker_names", names))
        if type(metadata["slots"]) is not int or metadata["slots"] < 1:
            raise ModelError(f"slots: got {str(metadata['slots'])[:40]}, wanted a number of at least 1")
        rows = len(state.worker_names) if metadata["method"] == "batch" else metadata["slots"]
        for name, array in arrays.items():
            part, _, key = name.partition(".")
            kept = {"workers": state.workers, "shared": state.shared}[part]
            _check(name, array, len(state.classes), rows if part == "workers" else None)
            kept[key] = dense(array)
        if not isinstance(metadata["model"], str) or not isinstance(metadata["parameters"], dict):
            raise ModelError("the crowd model has no name, or no parameters")
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


def _check(name: str, array: Stored, classes: int, rows: int | None) -> None:
    """Check an array of a crowd: numbers by worker, class and label, or some numbers by class.

    Raises:
        ModelError: it is none of these, or not finite.
    """
    axes = array.shape if rows is None else array.shape[1:]
    fits = array.shape[:1] == (rows,) if rows is not None else True
    few = 0 if rows is not None else _FEW
    if array.dtype != np.float64 or not fits or not all(size == classes or size <= few for size in axes):
        raise ModelError(f"{name}: got {array.dtype} of shape {array.shape}, which are no numbers of {classes} classes")
    check_values(name, parts_of(array), Limits(-_LARGEST, _LARGEST))
