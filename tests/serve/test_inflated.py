"""What an Arrow stream declares of its size is what it has, and too much is refused before it is inflated."""

import io
import random
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hutch import Chain
from hutch.serve.bodies import ARROW, NoMemory, batches_of
from hutch.serve.inflated import declared

TABLES = {
    "numbers": pa.table({"x": np.arange(5000.0), "y": np.arange(5000, dtype=np.int8)}),
    "words": pa.table({"x": [f"w{k % 7}" for k in range(3000)], "y": [None, "a", "é"] * 1000}),
    "dictionary": pa.table({"x": pa.array([f"w{k % 7}" for k in range(3000)]).dictionary_encode()}),
    "lists": pa.table({"x": [[1.0, 2.0], [], None] * 500, "y": [{"a": 1}] * 1500}),
    "nulls": pa.table({"x": pa.nulls(1000)}),
    "empty": pa.table({"x": pa.array([], pa.float64())}),
}


def streamed(table: Any, compression: str | None, rows: int = 700) -> bytes:
    file, options = io.BytesIO(), pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(file, table.schema, options=options) as stream:
        stream.write_table(table, max_chunksize=rows)
    return file.getvalue()


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
@pytest.mark.parametrize("name", TABLES)
def test_declared_is_what_there_is(name: str, compression: str | None) -> None:
    table = TABLES[name]
    body = streamed(table, compression)
    found = list(declared(pa.ipc.MessageReader.open_stream(body)))
    assert sum(count for count, _ in found) == len(table)
    plain = sum(size for _, size in declared(pa.ipc.MessageReader.open_stream(streamed(table, None))))
    assert sum(size for _, size in found) <= plain  # which is padded
    once = 4 * len(table) if name == "dictionary" else pa.ipc.open_stream(body).read_all().nbytes
    assert sum(size for _, size in found) >= once


@pytest.mark.parametrize(
    ("rows", "text"), [(400_000, "got 400000 rows, wanted at most 250000"), (100_000, "a table beyond")]
)
def test_too_much_is_refused_before_it_is_inflated(
    rows: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zeros = np.zeros(rows)
    body = streamed(pa.table({f"x{k}": zeros for k in range(20)}), "zstd", rows)
    monkeypatch.setattr("hutch.serve.bodies._LARGEST_TABLE", 1 << 23)
    before = pa.total_allocated_bytes()
    highest = pa.default_memory_pool().max_memory()
    with pytest.raises(NoMemory, match=text):
        batches_of(Chain.from_config({"chain": ["linear"]}), ARROW, body, 250_000)
    assert pa.total_allocated_bytes() == before
    assert highest is None or pa.default_memory_pool().max_memory() == highest


@pytest.mark.slow
def test_damaged_messages_are_read_or_refused() -> None:
    good, dice = streamed(TABLES["words"], "zstd"), random.Random(5)
    tracemalloc.start()
    for _ in range(3000):
        bad = bytearray(good)
        for _ in range(dice.randrange(1, 6)):
            bad[dice.randrange(len(bad))] = dice.choice([0, 1, 127, 255, dice.randrange(256)])
        try:
            for count, size in declared(pa.ipc.MessageReader.open_stream(bytes(bad))):
                assert count >= 0 and size >= 0
        except (pa.ArrowException, OSError, ValueError, struct.error):
            pass
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20e6
