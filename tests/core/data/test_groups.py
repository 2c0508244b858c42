"""Groups of lines stay together, whatever they come from."""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch.core.batch import Batch, joined, whole_groups
from hutch.core.data.chunks import Chunks, batches
from hutch.core.data.files import InputFiles
from hutch.core.data.sources import to_batches
from hutch.core.text.parser import ParserOptions, TextParser
from hutch.plugins.manager import Plugins

OPTIONS = ParserOptions(label="multiclass", whole_groups=True)


def groups(count: int, seed: int = 0) -> list[list[str]]:
    """Blocks of 1 to 6 lines, some of them without features."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 7, count)
    return [
        [f"{j + 1} 't{g}|worker w{j} |item a:{g} b{j}" if j % 3 else "2 |" for j in range(n)]
        for g, n in enumerate(sizes)
    ]


def text_of(blocks: list[list[str]], end: str = "\n") -> bytes:
    return (end * 2).join(end.join(block) for block in blocks).encode() + end.encode() * 2


def same(left: Batch, right: Batch) -> None:
    for field in fields(Batch):
        assert np.array_equal(getattr(left, field.name), getattr(right, field.name)), field.name


def all_of(found: Iterator[Batch]) -> Batch:
    whole = None
    for batch in found:
        own = joined(batch, batch.rows(0, 0))
        whole = own if whole is None else joined(whole, own)
    assert whole is not None
    return whole


@pytest.mark.parametrize("size", [1, 2, 5, 40, 1000])
@pytest.mark.parametrize("constant", [True, False])
def test_batches_are_cut_anew_between_groups(size: int, constant: bool) -> None:
    parser = TextParser(ParserOptions(label="multiclass", constant=constant))
    batch = parser.parse(text_of(groups(60)))
    pieces = (batch.rows(start, min(start + size, len(batch))) for start in range(0, len(batch), size))
    found = [joined(part, part.rows(0, 0)) for part in whole_groups(pieces)]
    assert sum(len(np.unique(part.group)) for part in found) == 60
    same(all_of(iter(found)), batch)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("chunk_bytes", [1, 7, 64, 1000])
def test_chunks_are_cut_after_empty_lines(tmp_path: Path, end: str, chunk_bytes: int) -> None:
    path, text = tmp_path / "a.vw", text_of(groups(60), end)
    path.write_bytes(text[: -2 * len(end)])  # the last group may end with the file
    found = [bytes(chunk.data) for chunk in Chunks([path], chunk_bytes, whole_groups=True)]
    assert b"".join(found) == text[: -2 * len(end)]
    assert all(piece.endswith((end * 2).encode()) for piece in found[:-1])
    assert len(found) > 3
    parts = list(map(len, batches(Chunks([path], chunk_bytes, whole_groups=True), OPTIONS)))
    assert sum(parts) == sum(map(len, groups(60)))


def test_a_group_longer_than_the_buffer(tmp_path: Path) -> None:
    path = tmp_path / "a.vw"
    path.write_bytes(text_of([["1 |item a b c"] * 500, ["2 |item d"]]))
    sizes = [len(batch) for batch in batches(Chunks([path], 100, whole_groups=True), OPTIONS)]
    assert sizes == [500, 1] or sizes == [501]


def test_lists_of_lines_and_records() -> None:
    blocks = groups(3000)
    lines = [line for block in blocks for line in [*block, ""]]
    records = [{"label": 1, "group": g, "item": {"a": 1.0}} for g in range(3000) for _ in range(4)]
    for source in (lines, iter(lines), records):
        found = [np.unique(batch.group).copy() for batch in to_batches(source, OPTIONS)]
        assert len(found) > 1
        assert sum(map(len, found)) == 3000


def test_csv_files(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = "".join(f"1,g{i // 3},{i}\n" for i in range(60_000))
    path.write_text("label,group,x\n" + rows)
    readers: Any = Plugins(only=()).registry.readers
    found = [(np.unique(batch.group).copy(), len(batch)) for batch in InputFiles([str(path)], OPTIONS, readers)]
    assert len(found) > 1
    assert sum(len(names) for names, _ in found) == 20_000
    assert all(size == 3 * len(names) for names, size in found)


def test_text_files_of_several_chunks(tmp_path: Path) -> None:
    path, blocks = tmp_path / "a.vw", groups(52_000)
    path.write_bytes(text_of(blocks))
    files = InputFiles([str(path)], OPTIONS, {})
    found = [np.unique(batch.group).copy() for batch in files]
    assert len(found) > 1
    assert sum(map(len, found)) == 52_000
