"""The loop of label requests over one store: choose what to ask for, and learn what was answered.

What a model learns is the store's log, in its order; the model itself keeps how far it has come. So learning may be
interrupted anywhere and done again, and a model is rebuilt by starting afresh.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hutch.active.entries import Event, Round
from hutch.active.records import DONT_KNOW, SKIP, Request, canonical_label
from hutch.active.store import Store
from hutch.active.undo import taken_back
from hutch.core.chain.reduction import Predictions
from hutch.core.errors import DataError, ModelError, UsageError, at
from hutch.core.strict_json import dumps

if TYPE_CHECKING:
    from hutch.chain import Chain

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
    """The `active` layer at the top of a chain.

    Raises:
        UsageError: there is none.
    """
    if chain.layers[0].name != "active":
        top = chain.layers[0].name
        raise UsageError(f"chain[0]: got {top!r}, wanted 'active' on top, as in 'chain: [active, {top}]'")
    return chain.layers[0]


def attach(chain: "Chain", store: Store) -> Any:
    """Note in a chain which store it learns from; one that has learned from another begins at the beginning.

    Returns:
        The `active` layer.

    Raises:
        UsageError: there is none.
    """
    layer = active_layer(chain)
    if int(layer.progress["store"][0]) != store.identity:
        layer.progress["store"], layer.progress["learned"] = store.identity, 0
    return layer


def labels_of(chain: "Chain") -> list[str]:
    """The labels a worker may give for a chain's examples, in canonical form; empty if any number will do."""
    layer = active_layer(chain)
    if chain.predicts == Predictions.CLASS:
        return [str(k + 1) for k in range(layer.score_count)]
    return [canonical_label(label) or "" for label in layer.parameters.labels]


def threshold_of(chain: "Chain") -> float | None:
    """The threshold of a chain's scalar predictions; None if it predicts classes."""
    return None if chain.predicts == Predictions.CLASS else float(active_layer(chain).threshold)


def split_line(line: str) -> tuple[str, str, str]:
    """The (label part, tag, features with their bar) of a VW line.

    >>> split_line("1 2 't1|f a")
    ('1 2', 't1', '|f a')
    """
    head, bar, features = line.partition("|")
    words = head.split(" ")
    if bar and words[-1]:
        tag, words = words[-1].removeprefix("'"), words[:-1]
    elif len(words) > 1 and words[-2].startswith("'") and not words[-1]:
        tag, words = words[-2][1:], words[:-2]
    else:
        tag = ""
    return " ".join(word for word in words if word), tag, bar + features


def unlabelled(line: str) -> str:
    """A line without its label.

    >>> unlabelled("1 2 't1|f a"), unlabelled("-1 |f a")
    ("'t1|f a", '|f a')
    """
    _, tag, features = split_line(line)
    return f"'{tag}{features}" if tag else features


def labelled(line: str, label: str, importance: float) -> str:
    """An unlabelled line with its label.

    >>> labelled("'t1|f a", "-1", 0.5)
    "-1 0.5 't1|f a"
    """
    _, tag, features = split_line(line)
    return f"{label} {importance:.9g} " + (f"'{tag}{features}" if tag else features)


def scores_of(chain: "Chain", lines: Sequence[str]) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """Scores and predictions of unlabelled lines; the chain does not change.

    Returns:
        float64 (lines): the smallest importance of a label that would change the prediction, or whatever the rule looks
        at instead; and float32 (lines), the predictions.
    """
    layer = active_layer(chain)
    trace = layer.trace(len(lines))
    try:
        predictions = chain.predict(lines)
        return trace["score"][: len(lines)].copy(), predictions
    finally:
        layer.trace(0)


def choose(probabilities: NDArray[Any], seed: Sequence[int]) -> NDArray[np.int64]:
    """Draw examples with given probabilities that add up to a whole number, exactly so many.

    Systematic sampling in random order: each example is drawn with exactly its probability.

    Args:
        probabilities: float64 (examples), in (0, 1].
        seed: of the draw.

    Returns:
        int64: the numbers of those drawn, ascending.
    """
    random = np.random.default_rng(list(seed))
    order = random.permutation(len(probabilities))
    steps = np.floor(np.cumsum(probabilities[order]) + random.random())
    total = round(float(probabilities.sum()))
    drawn = order[np.diff(np.minimum(steps, total), prepend=0.0) > 0]
    return np.sort(drawn).astype(np.int64)


def _new_lines(lines: Iterable[str], source: str, store: Store) -> Iterator[tuple[str, str, int]]:
    """(id, line, place in the pool) of the lines that have not been asked for."""
    taken: dict[str, int] = {}
    for number, text in enumerate(lines, 1):
        line = unlabelled(text.rstrip("\r\n"))
        if not line:
            continue
        tag = split_line(line)[1]
        id = tag or hashlib.sha256(line.encode()).hexdigest()[:12]
        taken[id] = taken.get(id, 0) + 1
        id = id if taken[id] == 1 else f"{id}#{taken[id]}"
        asked = store.line_of(id)
        if asked is None:
            yield id, line, number - 1
        elif asked != line:
            text = f"tag {tag!r} is the id of another line that was asked for before, wanted a tag of its own"
            raise DataError(at(source, number, 1, text))


def ask(
    chain: "Chain",
    lines: Iterable[str],
    store: Store,
    count: int,
    *,
    source: str,
    model: str,
    wanted: int = 1,
    documents: Sequence[Mapping[str, Any]] | None = None,
) -> list[Request]:
    """Ask for labels of some lines of a pool: the fewer examples it takes to change a prediction, the likelier.

    The probabilities of all lines of the pool add up to `count`, and exactly so many are asked for. Lines that were
    asked for before are not part of the pool.

    Args:
        chain: its top layer is `active`; it does not change.
        lines: the pool; labels in it are not looked at.
        store: where the requests go.
        count: labels to ask for; all lines, if there are fewer.
        source: name of the pool.
        model: version of the chain.
        wanted: labels wanted for each, from different workers.
        documents: what people see of each line of the pool; without them they see the line.

    Returns:
        The requests, in the order of the pool.

    Raises:
        UsageError: the chain has no active layer, or its rule has no probabilities for a pool.
        DataError: a tag that stands for two lines.
    """
    layer = active_layer(chain)
    rule = layer.parameters.rule
    if rule == "vw":
        raise UsageError("rule 'vw' decides line by line: use `hutch active serve --vw-port`, or the rule 'budget'")
    store.allow_labels(labels_of(chain))
    pool = list(_new_lines(lines, source, store))
    count = min(count, len(pool))
    if count == 0:
        return []
    scores, predictions = scores_of(chain, [line for _, line, _ in pool])
    if rule == "margin":  # no chance is involved, so nothing can be said about the lines left out
        drawn = np.sort(np.argsort(scores, kind="stable")[:count])
        probabilities, examples = np.ones(len(pool)), count
    else:
        probabilities = layer.pool_probabilities(scores, count)
        drawn, examples = choose(probabilities, [chain.config.seed, len(store.rounds())]), len(pool)
    requests, seen = [], {}
    for i in drawn:
        (id, line, place), chance = pool[i], float(probabilities[i])
        if documents is not None:
            seen[id] = documents[place]
        requests.append(Request(id, line, float(predictions[i]), chance, 1 / chance, model))
    store.ask(requests, Round(source, examples, float(count), threshold_of(chain)), wanted=wanted, documents=seen)
    return requests


def example_of(event: Event, store: Store, weighted: bool) -> str | None:
    """The example that an entry of the log teaches; None if it teaches nothing.

    Args:
        event: the entry.
        store: its store.
        weighted: train with importance 1 / probability.
    """
    if event.kind == "line":
        return str(event.detail["line"])
    if event.kind != "answer" or event.detail["label"] in (SKIP, DONT_KNOW):
        return None
    found = store.request(event.detail["id"])
    assert found is not None
    request, wanted = found
    return labelled(request.line, event.detail["label"], (request.importance if weighted else 1.0) / wanted)


def catch_up(chain: "Chain", store: Store) -> tuple[int, int]:
    """Let a chain learn the part of the store's log that it has not learned yet.

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
    """Learn what was answered, and save the model.

    Killed anywhere, it can simply be run again: the model file is replaced in one step, together with how far it has
    come.

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
