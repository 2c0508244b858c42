"""Predictions for many files: one Parquet result per file, written by idempotent tasks."""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hutch.chain import Chain
from hutch.core.atomic import atomic_write, make_directory
from hutch.core.batch import shared_rows
from hutch.core.chain.reduction import Predictions
from hutch.core.data.arrow import array_of, arrow, texts_of
from hutch.core.data.files import check_sources
from hutch.core.data.places import expanded, is_remote
from hutch.core.data.roles import Roles
from hutch.core.errors import DataError, UsageError
from hutch.jobs.engine import Engine, Here

MADE_OF = b"hutch"
"""Key, in the metadata of a result's schema, of its sources."""
_ROWS = 1 << 17
_loaded: tuple[str, Chain] | None = None


@dataclass(frozen=True)
class Result:
    """The result of one file.

    Attributes:
        source: the file.
        path: of its predictions.
        examples: number of examples.
        done_before: from an earlier run.
        problems: warnings about the data.
    """

    source: str
    path: str
    examples: int
    done_before: bool
    problems: tuple[str, ...] = ()


def predict(
    data: Sequence[str | Path],
    model: str | Path,
    folder: str | Path,
    *,
    engine: Engine | None = None,
    strict: bool = False,
    on_result: Callable[[Result], Any] = lambda result: None,
) -> list[Result]:
    """Predict every file in a separate task; the predictions are those of one process, to the bit.

    The predictions of `x.vw.gz` are in `x.vw.gz.parquet`: a column `prediction` (float32; uint32 for classes), and
    `tag` where examples have one. A result appears when it is complete, and is not made twice from the same file and
    model, so that an interrupted run resumes.

    Args:
        data: paths, globs, addresses.
        model: a model file.
        folder: for the results; made if it is missing. All machines must see it under this name.
        engine: runs the tasks; None: here.
        strict: a malformed place is an error of its file.
        on_result: called as results come, in any order.

    Returns:
        The results, in the order of the files.

    Raises:
        UsageError: two files whose results would have one name, or a chain that predicts actions.
        DataError: files could not be predicted; the message names them, and all others are done.
        HutchError: pyarrow is missing, or the folder cannot be written.
    """
    arrow()
    sources = expanded(data)
    if "-" in sources:
        raise UsageError("data: got standard input, wanted files: each gets its own result")
    check_sources(sources)
    names = [f"{source.rstrip('/').rpartition('/')[2]}.parquet" for source in sources]
    for i, name in enumerate(names):
        if name in names[:i]:
            both = f"{sources[names.index(name)]}, {sources[i]}"
            raise UsageError(f"{both}: wanted different names, as a result has that of its file")
    chain = Chain.load(model)
    if chain.predicts.of_actions:
        raise UsageError(f"{model}: predicts actions of decisions, wanted one prediction per example")
    make_directory(folder)
    engine, content = engine or Here(), Path(model).read_bytes()
    digest, shipped = hashlib.sha256(content).hexdigest(), None
    found: dict[str, Result] = {}
    running: dict[Any, str] = {}
    for source, name in zip(sources, names, strict=True):
        path = os.path.join(folder, name)
        there = _there(source, path, digest)
        if there is not None:
            found[source] = there
            on_result(there)
            continue
        shipped = shipped or [engine.put(each) for each in (content, digest, strict)]
        [ref] = engine.submit(_predict, *shipped, engine.put((source, path, os.path.abspath(path))))
        running[ref] = source
    wrong = []
    while running:
        ready, _ = engine.wait(list(running))
        for ref in ready:
            source = running.pop(ref)
            try:
                found[source] = engine.get(ref)
                on_result(found[source])
            except DataError as error:
                wrong.append(str(error))
    if wrong:
        raise DataError("\n".join(sorted(wrong)))
    return [found[source] for source in sources]


def _made_of(source: str, digest: str) -> dict[str, Any]:
    """The identity of a result: its file and its model."""
    stat = None if is_remote(source) else os.stat(source)
    return {"model": digest, "source": source, "bytes": stat and stat.st_size, "changed": stat and stat.st_mtime_ns}


def _there(source: str, path: str, digest: str) -> Result | None:
    """The result of an earlier run, if file and model are the same."""
    from pyarrow.lib import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            made_of = json.loads((file.schema_arrow.metadata or {}).get(MADE_OF, b"{}"))
            same = made_of == _made_of(source, digest)
            return Result(source, path, file.metadata.num_rows, True) if same else None
    except (OSError, ArrowException):
        return None


def _predict(content: bytes, digest: str, strict: bool, places: tuple[str, str, str]) -> Result:
    """Predict one file."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    source, shown, path = places
    chain, problems = _chain_of(content, digest), []
    columns = Roles.of(chain.config.input.columns).optional()
    made_of = _made_of(source, digest)
    files = chain.files([source], lambda problem: problems.append(str(problem)), columns=columns, strict=strict)
    number = np.uint32 if chain.predicts is Predictions.CLASS else np.float32
    kind = pa.from_numpy_dtype(number)
    fields = [pa.field("prediction", kind), pa.field("tag", pa.string())]
    schema = pa.schema(fields, {MADE_OF: json.dumps(made_of).encode()})
    examples, size = 0, 0
    held: list[tuple[Any, list[str | None]]] = []

    def table() -> Any:
        values = np.concatenate([np.empty(0, number), *(v for v, _ in held)])
        tags = [tag for _, each in held for tag in each]
        return pa.table([array_of(values, kind), texts_of(tags)], schema=schema)

    with atomic_write(path) as file, ParquetWriter(file, schema) as writer:
        with chain._unchanged():
            for batch in files:
                outputs, _ = chain.run_batch(batch, learn=False)
                values = outputs.predictions[~shared_rows(batch)] if chain.takes.of_decisions else outputs.predictions
                tags: list[str | None] = [None] * len(values)
                if len(batch.tags):
                    tags = [batch.tag(i).decode(errors="replace") or None for i in range(len(batch))]
                held.append((values.astype(number), tags))
                examples, size = examples + len(values), size + len(values)
                if size >= _ROWS:
                    writer.write_table(table())
                    held, size = [], 0
        writer.write_table(table())
    return Result(source, shown, examples, False, tuple(problems))


def _chain_of(content: bytes, digest: str) -> Chain:
    """The chain in a model file; the latest one is cached."""
    global _loaded
    if _loaded is None or _loaded[0] != digest:
        _loaded = digest, Chain.from_bytes(content)
    return _loaded[1]
