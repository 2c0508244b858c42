"""The loop of label requests over one store: choose requests, and learn the answers.

A model learns the store's log, in its order; the model itself records its position in the log. So learning may be
interrupted anywhere and repeated, and a model can be rebuilt from the start.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hutch.active.drawing import Scores
from hutch.active.lines import labelled
from hutch.active.pool import Pool
from hutch.core.chain.capabilities import AsksForLabels, has
from hutch.core.chain.reduction import Predictions
from hutch.core.errors import ModelError, StoreError, UsageError, at
from hutch.core.strict_json import dumps
from hutch.durable.entries import Event, Round
from hutch.durable.records import DONT_KNOW, SKIP, Request, canonical_label
from hutch.durable.store import Store
from hutch.durable.undo import taken_back
from hutch.reductions.active.drawing import draw

if TYPE_CHECKING:
    from hutch.chain import Chain
    from hutch.jobs.engine import Engine

_BLOCK = 4096


def model_version(path: str | Path) -> str:
    """The version of a model file: the beginning of its SHA-256.

    Raises:
        ModelError: the file cannot be read.
    """
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise ModelError(at(str(path), None, None, f"cannot be read: {error.strerror}")) from None


def active_layer(chain: "Chain") -> Any:
    """The layer at the top of a chain that asks for labels.

    Raises:
        UsageError: the top layer is another one.
    """
    if not has(chain.layers[0], AsksForLabels):
        top = chain.layers[0].name
        raise UsageError(f"chain[0]: got {top!r}, wanted 'active' on top, as in 'chain: [active, {top}]'")
    return chain.layers[0]


def attach(chain: "Chain", store: Store) -> Any:
    """Record in a chain which store it learns from; one that has learned from another starts at the beginning.

    Returns:
        The `active` layer.

    Raises:
        UsageError: the top layer is another one.
    """
    layer = active_layer(chain)
    if int(layer.progress["store"][0]) != store.identity:
        layer.progress["store"], layer.progress["learned"] = store.identity, 0
    return layer


def labels_of(chain: "Chain") -> list[str]:
    """The labels a worker may give for a chain's examples, in canonical form; empty if any number will do."""
    layer = active_layer(chain)
    if chain.predicts == Predictions.CLASS:
        return [str(k + 1) for k in range(layer.answers.score_count)]
    return [canonical_label(label) or "" for label in layer.parameters.labels]


def threshold_of(chain: "Chain") -> float | None:
    """The threshold of a chain's scalar predictions; None if it predicts classes."""
    return None if chain.predicts == Predictions.CLASS else float(active_layer(chain).threshold)


def ask(
    chain: "Chain",
    pool: Pool | Iterable[str],
    store: Store,
    count: int,
    *,
    source: str,
    model: str,
    wanted: int = 1,
    documents: Sequence[Mapping[str, Any]] | None = None,
    engine: "Engine | None" = None,
) -> list[Request]:
    """Request labels of some examples of a pool; the smaller the change that would alter a prediction, the likelier.

    The probabilities of all examples of the pool add up to `count`, and exactly so many are asked for. Examples that
    were asked for before are not part of the pool. Of a pool of files each example takes 20 bytes of memory; the lines
    of those that are drawn are read again.

    Args:
        chain: its top layer is `active`; it does not change.
        pool: the examples, or their lines; labels are ignored.
        store: receives the requests.
        count: labels to ask for; all examples, if there are fewer.
        source: name of the pool.
        model: version of the chain.
        wanted: labels wanted for each, from different workers.
        documents: shown to people for each of the lines; without them they see the line.
        engine: scores each source of the pool in a separate task; None: here. The requests are the same.

    Returns:
        The requests, in the order of the pool.

    Raises:
        UsageError: the chain has no active layer, or its rule has no probabilities for a pool.
        DataError: a tag that belongs to two lines.
    """
    layer = active_layer(chain)
    rule = layer.parameters.rule
    if rule == "vw":
        raise UsageError("rule 'vw' decides line by line, wanted another, such as 'budget'")
    store.allow_labels(labels_of(chain))
    scores = Scores(pool if isinstance(pool, Pool) else Pool.of_lines(source, pool, documents), chain, engine)
    asked = scores.asked_before(store)
    left = np.delete(scores.score, asked)
    count = min(count, len(left))
    if count == 0:
        return []
    # without chance, there is no estimate for the lines left out
    examples, seed = count if rule == "margin" else len(left), [chain.config.seed, len(store.rounds())]
    if rule == "margin" and not layer.progress["bought"][0]:  # an untrained model has no margins
        drawn, chances = np.sort(np.random.default_rng(seed).choice(len(left), count, replace=False)), np.ones(count)
    else:
        drawn, chances = draw(layer, left, count, seed)
    places = drawn + np.searchsorted(asked - np.arange(len(asked)), drawn, "right")
    chance_of = dict(zip(places.tolist(), chances.tolist(), strict=True))
    requests, seen = [], {}
    for place, id, entry, _ in scores.named(np.unique(scores.key[places], return_counts=True)[0]):
        if (chance := chance_of.get(place)) is None:
            continue
        if entry.document is not None:
            seen[id] = entry.document
        prediction = float(scores.prediction[place])
        requests.append(Request(id, entry.line, prediction, chance, 1 / chance, model))
    store.ask(requests, Round(source, examples, float(count), threshold_of(chain)), wanted=wanted, documents=seen)
    return requests


def example_of(event: Event, store: Store, weighted: bool) -> str | None:
    """The example to learn from an entry of the log; None without one.

    Args:
        event: the entry.
        store: its store.
        weighted: train with importance 1 / probability.
    """
    if event.kind != "answer" or event.detail["label"] in (SKIP, DONT_KNOW):
        return None
    found = store.request(event.detail["id"])
    if found is None:
        text = f"damaged: the request {event.detail['id']!r} is not there, but its answer is"
        raise StoreError(at(str(store.path), None, None, text))
    request, wanted = found
    return labelled(request.line, event.detail["label"], (request.importance if weighted else 1.0) / wanted)


def catch_up(chain: "Chain", store: Store) -> tuple[int, int]:
    """Train a chain on the part of the store's log that it has not learned yet.

    Returns:
        (examples learned, number of the last entry of the log).

    Raises:
        UsageError: the chain has no active layer.
    """
    layer = attach(chain, store)
    progress = layer.progress
    before, layer.simulation = layer.simulation, False
    lines: list[str] = []
    total, last = 0, int(progress["learned"][0])
    left_out = taken_back(store, last)
    try:
        for event in store.log(last):
            last = event.number
            if last in left_out:
                continue
            example = example_of(event, store, layer.parameters.weighted)
            if example is None:
                continue
            stands_for = store.examples_per_label(event.detail["id"]) if event.kind == "answer" else 0.0
            if len(lines) == _BLOCK or stands_for != layer.examples_per_label:
                chain.learn(lines)
                lines, layer.examples_per_label = [], stands_for
            lines.append(example)
            total += 1
        chain.learn(lines)
        progress["learned"] = last
    finally:
        layer.simulation, layer.examples_per_label = before, 0.0
    return total, last


def learn(chain: "Chain", store: Store, final: str | Path) -> tuple[int, int]:
    """Learn the new answers, and save the model.

    After an interruption, simply run it again: the model file is replaced in one step, together with its position in
    the log.

    Returns:
        (examples learned, number of the last entry of the log).
    """
    learned, last = catch_up(chain, store)
    chain.save(final)
    store.learned({"model": model_version(final), "through": last, "examples": learned})
    return learned, last


def log_lines(store: Store) -> Iterator[str]:
    """The audit log as JSON lines."""
    for event in store.log():
        entry = {"number": event.number, "time": event.time, "event": event.kind, **event.detail}
        yield dumps(entry, ensure_ascii=False)
