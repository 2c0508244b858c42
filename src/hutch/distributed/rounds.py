"""Chains that learn from shards of the data in rounds: every shard learns for a pass, then the states are merged."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hutch.chain import Chain
from hutch.core.batch import Batch
from hutch.core.chain.statistics import Statistics
from hutch.core.data.files import check_sources
from hutch.core.data.places import expanded
from hutch.core.errors import DataError, UsageError, reading
from hutch.core.run.progress import NO_ROWS, Progress
from hutch.core.run.unexpected import about_no_labels, lacks_labels
from hutch.distributed.merging import absorb, add, check_divisible, differing_rows, learned_from
from hutch.distributed.pieces import read
from hutch.jobs.engine import Engine, Here, Ref, sum_of

Model = tuple[dict[str, Any], dict[str, Any]]
"""Arrays and metadata of a chain as its model file has them; of the weights only the rows that are used."""
STEPS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.3, 16.0, 22.6, 32.0)
"""Candidates for how far a merge moves rows in the direction of their mean change; at most the number of shards."""
MOST_SHARDS = 1024


@dataclass(frozen=True)
class Round:
    """The result of one pass.

    Attributes:
        number: counted from 1.
        examples: learned from.
        average_loss: progressive, in the shards.
        holdout_loss: of the merged chain, on the examples held out; NaN without any.
        step: the chosen step.
    """

    number: int
    examples: int
    average_loss: float
    holdout_loss: float
    step: float


def train(
    data: Sequence[str | Path],
    config: str | Path | Mapping[str, Any] | Chain,
    *,
    shards: int,
    by: Sequence[str] = (),
    passes: int = 1,
    holdout: int = 10,
    patience: int = 3,
    engine: Engine | None = None,
    strict: bool = False,
    on_round: Callable[[Chain, Round], Any] = lambda chain, done: None,
    on_problem: Callable[[str], Any] = lambda text: None,
) -> Chain:
    """Learn a chain from shards of the data.

    In each pass every shard learns from the state of the pass before; then each row of the weight table becomes the
    mean of its values in the shards that changed it, moved further by a step that does best on examples held out. With
    two namespaces in `by`, shard k learns in turn from the blocks (k, j), so that no two shards touch the same rows of
    either, and there is a merge after each (Gemulla et al., KDD 2011); no step is then chosen.

    The result depends on the data, the chain, `shards` and `by`; its bits do not depend on the engine.

    Args:
        data: files; each is read by one task.
        config: as for `Chain.from_config`; or a chain, which is changed and returned.
        shards: number of shards.
        by: one or two namespaces: examples with the same feature in one are in the same shard; none: in turn.
        passes: over the data.
        holdout: every n-th example is only tested; 0: none, and the step is 1.
        patience: stop after so many passes in a row in which the loss on them did not fall.
        engine: runs the shards; None: here, one after the other.
        strict: stop at the first malformed place.
        on_round: called after each pass, with the chain in its state then.
        on_problem: called with warnings about the data.

    Returns:
        The chain in its state after the pass that did best on the examples held out; `remarks` describes the division.

    Raises:
        UsageError: fewer than one shard or pass, more than two namespaces.
        ConfigError: a layer that cannot be divided.
        DataError: files that cannot be used, a namespace that no example has, or nothing to learn from.
    """
    sources, names = expanded(data), tuple(by)
    _check(sources, shards, names, passes)
    chain = config if isinstance(config, Chain) else Chain.from_config(config)
    check_divisible(chain)
    job = _Job(chain, engine or Here(), shards, names)
    job.read(sources, holdout, strict, on_problem)
    best: dict[str, Any] | None = None
    best_loss, waited = math.inf, 0
    for number in range(1, passes + 1):
        done = job.learn(number)
        waited += not math.isnan(done.holdout_loss)  # nothing held out: all passes are made
        if done.holdout_loss < best_loss or best is None:
            best, best_loss, waited = _copy(chain), done.holdout_loss, 0
        if number < passes and waited < patience:
            chain.end_pass()
        chain.remarks |= {"shards": str(shards), "by": ",".join(names)}
        on_round(chain, done)
        if waited >= patience:
            break
    if best is not None and waited and not math.isnan(best_loss):
        chain.restore(best)
    return chain


def _check(sources: list[str], shards: int, by: tuple[str, ...], passes: int) -> None:
    if not 1 <= shards <= MOST_SHARDS:
        raise UsageError(f"shards: got {shards}, wanted 1 to {MOST_SHARDS}")
    if passes < 1:
        raise UsageError(f"passes: got {passes}, wanted at least 1")
    if len(by) > 2 or len(set(by)) < len(by):
        raise UsageError(f"by: got {', '.join(by)}, wanted one namespace, or two different ones")
    if len(by) == 2 and shards > 64:
        raise UsageError(f"shards: got {shards} with two namespaces, wanted at most 64: there are {shards}² blocks")
    if "-" in sources:
        raise UsageError("data: got standard input, wanted files: each is read by one task")
    check_sources(sources)


class _Job:
    """The examples of a run, divided, and the rounds over them.

    Args:
        chain: that learns.
        engine: where.
        shards, by: as of `train`.
    """

    def __init__(self, chain: Chain, engine: Engine, shards: int, by: tuple[str, ...]) -> None:
        self._chain, self._engine, self._shards, self._by = chain, engine, shards, by
        self._parts: list[list[Ref]] = []
        self._held_out: list[Ref] = []
        self._searches = False
        self._seen = np.zeros(3)  # of the pass: examples, importance of those with a label, loss

    def read(self, sources: list[str], holdout: int, strict: bool, on_problem: Callable[[str], Any]) -> None:
        """Let each file be read and divided by a task."""
        settings = (self._shards, self._by, holdout, strict)
        config, *told = (self._engine.put(each) for each in (self._chain.config.to_dict(), *settings))
        count = self._shards ** max(len(self._by), 1)
        found = [
            self._engine.submit(read, config, self._engine.put(source), *told, results=count + 2) for source in sources
        ]
        met = [False] * len(self._by)
        for source, (about, *_) in zip(sources, found, strict=True):
            problems, has, known, lengths = self._engine.get(about)
            with reading(source):
                self._chain.watch.lists(lengths)
            if known:
                self._chain.watch.table(source, list(known), learns=True)
            met = [a or b for a, b in zip(met, has, strict=True)]
            for text in problems:
                on_problem(text)
        missing = [name for name, there in zip(self._by, met, strict=True) if not there]
        if missing:
            raise DataError(f"by: no example has the namespace {missing[0]!r}")
        self._held_out = [held for _, held, *_ in found]
        self._parts = [[pieces[part] for _, _, *pieces in found] for part in range(count)]
        columns = slice(self._chain.layers[-1].parallel.scaled).indices(self._chain.weights.shape[1])
        self._searches = bool(holdout) and len(self._by) < 2 and len(range(*columns)) > 0

    def learn(self, number: int) -> Round:
        """One pass: every shard learns, and the chain takes the merged state."""
        n, self._seen = self._shards, np.zeros(3)
        if len(self._by) < 2:
            loss, step = self._merge(list(range(n)))
        else:
            for turn in range(n):
                self._merge([k * n + (k + turn) % n for k in range(n)])
            loss, step = self._loss(self._state()), 1.0
        examples, labeled, sum_loss = self._seen.tolist()
        if not examples:
            raise DataError("nothing to learn from: the data holds no examples, or all are held out")
        if lacks_labels(self._chain, int(examples), labeled):
            raise DataError(about_no_labels(self._chain))
        return Round(number, int(examples), sum_loss / labeled if labeled > 0 else math.nan, loss, step)

    def _state(self) -> Ref:
        arrays = _copy(self._chain)
        weights = arrays.pop("weights")
        rows = differing_rows(weights)
        arrays |= {"rows": rows, "values": weights[rows], "shape": np.array(weights.shape)}
        return self._engine.put((arrays, self._chain.metadata()))

    def _merge(self, parts: list[int]) -> tuple[float, float]:
        """Train each part from the present chain; returns the held-out loss and the step."""
        engine, state = self._engine, self._state()
        learned = [engine.submit(_learn, state, *self._parts[part])[0] for part in parts]
        sums = sum_of(engine, learned, _add)
        loss, step = math.nan, 1.0
        if self._searches:
            steps = [step for step in STEPS if step <= max(len(parts), 1)]
            tried = [engine.submit(_try, state, sums, engine.put(each), *self._held_out)[0] for each in steps]
            losses = [engine.get(each) for each in tried]
            if not all(map(math.isnan, losses)):
                step = steps[int(np.nanargmin(losses))]
                loss = losses[steps.index(step)]
        found = engine.get(sums)
        self._seen += found["seen"]
        absorb(self._chain, found, step)
        if not self._searches and len(self._by) < 2:
            loss = self._loss(self._state())
        return loss, step

    def _loss(self, state: Ref) -> float:
        """Mean loss of a state on the examples held out."""
        return float(self._engine.get(self._engine.submit(_test, state, *self._held_out)[0]))


def _copy(chain: Chain) -> dict[str, Any]:
    return {name: np.array(array) for name, array in chain.arrays().items()}


def _learn(model: Model, *pieces: list[Batch]) -> dict[str, Any]:
    """The change of a chain by a shard."""
    chain, arrays = _unpacked(model)
    seen = _run(chain, pieces, learn=True)
    return learned_from(chain, arrays) | {"seen": np.array([seen.examples, seen.weighted_labeled, seen.sum_loss])}


def _add(*parts: dict[str, Any]) -> dict[str, Any]:
    """What several shards have learned, and the examples that they have seen."""
    return add(*parts) | {"seen": sum(part["seen"] for part in parts)}


def _run(chain: Chain, pieces: Sequence[list[Batch]], *, learn: bool) -> Statistics:
    """Run a chain over a shard; returns the statistics of that alone."""
    progress = Progress(chain, NO_ROWS)
    for batches in pieces:
        chain.run(batches, learn=learn, tally=progress.tally)
    return progress.statistics


def _try(model: Model, sums: dict[str, Any], step: float, *pieces: list[Batch]) -> float:
    """The loss held out after a merge with a step."""
    chain, _ = _unpacked(model)
    absorb(chain, sums, step)
    return _loss_on(chain, pieces)


def _test(model: Model, *pieces: list[Batch]) -> float:
    return _loss_on(_unpacked(model)[0], pieces)


def _unpacked(model: Model) -> tuple[Chain, dict[str, Any]]:
    """The chain, and its arrays as they came; only rows that are used travel."""
    arrays, metadata = model
    rows, values, shape = (arrays.pop(name) for name in ("rows", "values", "shape"))
    arrays["weights"] = np.zeros(shape, np.float32)
    arrays["weights"][rows] = values
    return Chain.from_arrays(dict(arrays), metadata, "<shard>"), arrays


def _loss_on(chain: Chain, pieces: Sequence[list[Batch]]) -> float:
    """Mean loss of the labelled examples; NaN without any."""
    loss = _run(chain, pieces, learn=False).average_loss
    return loss if math.isfinite(loss) else math.nan
