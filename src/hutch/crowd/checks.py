"""Contract checks of a crowd model, built in or third-party; `hutch plugins check NAME` runs them."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hutch.core.chain.registry import Registry
from hutch.core.errors import ConfigError, UsageError
from hutch.core.parameters import parameters_of, values_of
from hutch.crowd.aggregate import Options, load, save
from hutch.crowd.data.labels import Labels, from_triples
from hutch.crowd.models.model import Array, CrowdModel, State
from hutch.crowd.models.numbers import MOMENTS
from hutch.crowd.models.online import run, stream_of

Model = type[CrowdModel]
Arrays = dict[str, Array]
_CUT, _SLOTS = 17, 64


def _labels(gold: bool = False, items: int = 40) -> Labels:
    """A good crowd of six on items of three classes; one worker guesses."""
    random = np.random.default_rng(0)
    truth = {f"t{i}": str(i % 3) for i in range(items)}
    triples = [
        (f"w{w}", task, label if random.random() < (0.85 if w else 0.34) else str(random.integers(3)))
        for task, label in truth.items()
        for w in random.permutation(6)[:4].tolist()
    ]
    known = {task: truth[task] for task in [*truth][:9]} if gold else {}
    return from_triples(triples, classes=["0", "1", "2"], gold=known)


def _labels_for(model: Model) -> Labels:
    """The same crowd; for a model of measurements its labels are numbers."""
    found = _labels()
    if getattr(model, "kind", "classes") == "classes":
        return found
    return replace(found, labels=found.labels.astype(np.float64), classes=MOMENTS)


def _made(model: Model) -> CrowdModel:
    """The model with its defaults, and a reference if it distinguishes people from judges."""
    named = any(parameter.name == "reference" for parameter in parameters_of(model.Parameters))
    return model(**{"reference": ("w4",)} if named else {})


def _same(got: Arrays, wanted: Arrays, what: str) -> None:
    assert got.keys() == wanted.keys(), f"{what}: got {sorted(got)}, wanted {sorted(wanted)}"
    for name, array in wanted.items():
        np.testing.assert_array_equal(got[name], array, err_msg=f"{what}: {name}")


def _crowd(state: State) -> Arrays:
    """Copies of a state's arrays of workers and crowd."""
    return {name: array.copy() for name, array in (state.workers | state.shared).items()}


def _shares(found: Any, shape: tuple[int, ...], what: str) -> None:
    got = found.shape if isinstance(found, np.ndarray) else type(found).__name__
    assert got == shape, f"{what}: got {got}, wanted shape {shape}"
    assert np.isfinite(found).all() and (found >= 0).all(), f"{what}: got numbers that are no probabilities"
    np.testing.assert_allclose(found.sum(axis=-1), 1, atol=1e-6, err_msg=f"{what}: sums over the last axis")


def finds_probabilities(model: Model) -> None:
    """Posteriors, confusions and the class prior are probabilities of the right shape for any labels."""
    few = [[], [("w4", "t", "x")], [("a", "t", "x"), ("w4", "u", "y")], [("w4", "t", "x"), ("w4", "t", "y")]]
    for labels in (_labels(), _labels(gold=True), _labels(items=1000), *map(from_triples, few)):
        it, classes = _made(model), len(labels.classes)
        try:
            fit = it.fit(labels)
        except UsageError:  # no wrong answer
            continue
        _shares(fit.posterior, (labels.items, classes), "posterior")
        if classes:
            _shares(it.confusions(fit.state), (len(labels.worker_names), classes, classes), "confusions")
            _shares(it.class_prior(fit.state), (classes,), "class_prior")


def counts_are_sums(model: Model) -> None:
    """`count` over all items is the sum of its results over parts of them, and changes nothing."""
    labels, it = _labels_for(model), _made(model)
    state = it.start(labels, None)
    before, whole = _crowd(state), it.count(labels, state)
    _same(_crowd(state), before, "crowd after count")
    parts = [it.count(*_part(labels, state, *ends)) for ends in ((0, _CUT), (_CUT, labels.items))]
    for name, array in whole.items():
        np.testing.assert_allclose(parts[0][name] + parts[1][name], array, atol=1e-8, err_msg=f"count: {name} of parts")


def expects_item_by_item(model: Model) -> None:
    """`expect` gives each item the same result whichever other items are present, and leaves the crowd unchanged."""
    labels, it = _labels_for(model), _made(model)
    state = it.start(labels, None)
    it.maximise(labels, state)
    pieces = [_part(labels, state, *ends) for ends in ((0, _CUT), (_CUT, labels.items))]
    before = _crowd(state)
    means = [it.expect(*piece, learned=True)[0] for piece in pieces]
    found = np.concatenate([it.posterior(piece[1]) for piece in pieces])
    mean, change = it.expect(labels, state, learned=True)
    np.testing.assert_allclose(found, it.posterior(state), atol=1e-8, err_msg="posteriors of parts")
    wanted = (means[0] * _CUT + means[1] * (labels.items - _CUT)) / labels.items
    np.testing.assert_allclose(mean, wanted, atol=1e-8, err_msg="objective, the mean over the parts' items")
    assert np.isfinite(change) and change >= 0, f"change: got {change}"
    _same(_crowd(state), before, "crowd after expect")


def history_grows(model: Model) -> None:
    """A state takes new workers and classes, keeps what it has learned, and readers do not change it."""
    it = _made(model)
    history = it.fit(_labels()).state
    before = _crowd(history)
    known = from_triples([("w1", "u", "0"), ("new", "u", "9")], history.classes, history.worker_names)
    fit = it.fit(known, history)
    _shares(fit.posterior, (1, 4), "posterior with a new class")
    _shares(it.confusions(fit.state), (7, 4, 4), "confusions with a new worker")
    it.infer(known, history)
    _same(_crowd(history), before, "history after it was read")


def resumes(model: Model) -> None:
    """Online, a saved and loaded stream continues bit for bit; in batch a saved state is accepted again."""
    labels, it, options = _labels_for(model), _made(model), Options("online", slots=_SLOTS)
    whole = run(stream_of(it, labels.classes, _SLOTS), labels, 1)
    first = run(stream_of(it, labels.classes, _SLOTS), labels.between(0, _CUT), 1)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "crowd.model")
        save(path, it, options, first.state)
        second = run(stream_of(it, labels.classes, _SLOTS, load(path)[1]), labels.between(_CUT, labels.items), 1)
        _same(_crowd(second.state), _crowd(whole.state), "stream that was saved between two parts")
        save(path, it, Options(), it.fit(labels).state)
        it.infer(labels, load(path)[1])


def parameters_documented(model: Model) -> None:
    """The docstring of its parameters explains each of them."""
    for parameter in parameters_of(model.Parameters):
        told = bool(parameter.meaning) or parameter.name in (model.Parameters.__doc__ or "")
        assert told, f"parameter {parameter.name}: got no description, wanted one"


def believes_gold(model: Model) -> None:
    """An item whose class is known has that class, whatever its labels say."""
    labels = from_triples(
        [(f"w{k}", "t0", "0") for k in range(2, 5)] + [("w4", f"t{k}", str(k % 2)) for k in range(1, 9)],
        gold={"t0": "1"},
    )
    [likely] = _made(model).fit(labels).posterior[:1]
    got = labels.classes[int(likely.argmax())]
    assert got == "1", f"class of an item known to be '1': got {got!r}, wanted '1': read labels.gold"


def follows_the_class_prior(model: Model) -> None:
    """A class prior that is given has an effect on posteriors."""
    it, labels = _made(model), _labels()
    try:
        other = type(it)(**values_of(it.parameters) | {"class_prior": (0.9, 0.06, 0.04)})
    except ConfigError:  # no wrong answer
        return
    same = np.allclose(other.fit(labels).posterior, it.fit(labels).posterior, atol=1e-6)
    assert not same, "posteriors with a class prior of 0.9, 0.06, 0.04: got those without, wanted others"


def objective_is_a_number(model: Model) -> None:
    """The objective of a fit is finite."""
    labels = _labels_for(model)
    fit = _made(model).fit(labels)
    assert np.isfinite(fit.objective), f"objective: got {fit.objective}, wanted a finite number"


def learns_from_history(model: Model) -> None:
    """What earlier labels say about workers counts, and is in the state alone: a new object goes on from it."""
    it = _made(model)
    history = it.fit(_labels(gold=True)).state
    before = _crowd(history)
    known = from_triples([("w0", "u", "0"), ("w1", "u", "1"), ("w0", "v", "1")], history.classes, history.worker_names)
    found = it.infer(known, history).posterior
    new = _made(model).infer(known, history).posterior
    np.testing.assert_array_equal(new, found, err_msg="posteriors by a new object: keep what is learned in the state")
    _made(model).fit(known, history)
    _same(_crowd(history), before, "history after a fit that began with it: copy its arrays")
    if history.workers:  # else it knows nothing of workers
        nothing = it.start(from_triples([], history.classes, history.worker_names), None)
        alone = it.infer(known, nothing).posterior
        assert not np.array_equal(found, alone), "posteriors with a history: got those without, wanted others"


def counts_history_once(model: Model) -> None:
    """An M step from the same posteriors gives the same crowd again: what earlier runs counted is added once."""
    it, labels = _made(model), _labels()
    state = it.start(labels, it.fit(labels).state)
    for _ in range(20):  # a model may approach its M step
        it.maximise(labels, state)
    before = _crowd(state)
    it.maximise(labels, state)
    for name, array in _crowd(state).items():
        message = f"{name} after another M step: keep the counts of earlier runs apart from those of this one"
        np.testing.assert_allclose(array, before[name], rtol=0.02, atol=1e-3, err_msg=message)


def tells_changes(model: Model) -> None:
    """`expect` says how far posteriors have moved: EM ends when they no longer do."""
    it, labels = _made(model), _labels()
    state = it.start(labels, None)
    before = it.posterior(state).copy()
    it.maximise(labels, state)
    _, change = it.expect(labels, state, learned=True)
    moved = float(np.abs(it.posterior(state) - before).max())
    assert change > 0 or moved < 1e-6, f"change: got {change}, wanted {moved:.3g}, how far posteriors have moved"


def climbs(model: Model) -> None:
    """The objective never falls from one step of EM to the next."""
    it, labels = _made(model), _labels()
    state, found = it.start(labels, None), list[float]()
    for _ in range(6):
        it.maximise(labels, state)
        found.append(it.expect(labels, state, learned=True)[0] + it.log_prior(state) / labels.items)
    falls = [f"{a:.6g} and then {b:.6g}" for a, b in zip(found, found[1:], strict=False) if b < a - 1e-3]
    assert not falls, f"objective: got {falls[0]}, wanted no fall: the M step is not that of the E step"


def knows_idle_workers(model: Model) -> None:
    """Workers without a label among these have rows, too."""
    it, names = _made(model), [f"w{k}" for k in range(9)]
    triples = [(f"w{w}", f"t{i}", str(i % 2)) for i in range(6) for w in (0, 1, 4)]
    fit = it.fit(from_triples(triples, ["0", "1"], names))
    _shares(it.confusions(fit.state), (9, 2, 2), "confusions with idle workers")


def _part(labels: Labels, state: State, first: int, last: int) -> tuple[Labels, State]:
    """Some items with copies of their rows of the state."""
    places = slice(labels.item_ptr[first], labels.item_ptr[last])
    items = {name: array[first:last].copy() for name, array in state.items.items()}
    return labels.between(first, last), replace(
        state, items=items, labels={name: array[places].copy() for name, array in state.labels.items()}
    )


_CHECKS: tuple[Callable[[Model], None], ...] = (
    finds_probabilities,
    counts_are_sums,
    expects_item_by_item,
    history_grows,
    resumes,
    parameters_documented,
    believes_gold,
    follows_the_class_prior,
    objective_is_a_number,
    learns_from_history,
    counts_history_once,
    tells_changes,
    climbs,
    knows_idle_workers,
)
_OF_MEASUREMENTS = (counts_are_sums, expects_item_by_item, resumes, parameters_documented, objective_is_a_number)
"""Those that also hold without classes."""


def runs_of_model(model: Model, registry: Registry) -> dict[str, Callable[[], None]]:
    """What the checks of a crowd model run, by the name of the check: probabilities, sums over items, history, storing.

    Args:
        model: the class; it need not be installed.
        registry: the installed plugins, which are not needed.
    """
    checks = _CHECKS if getattr(model, "kind", "classes") == "classes" else _OF_MEASUREMENTS
    return {check.__name__: partial(check, model) for check in checks}
