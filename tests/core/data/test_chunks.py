"""Readers: chunks of whole lines from files, compressed files and standard input; errors that name the file."""

import errno
import gzip
import io
import os
import re
import sys
import time
from itertools import product
from pathlib import Path
from threading import active_count

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.data.chunks import Chunks, batches
from hutch.core.errors import DataError
from hutch.core.text import problems as kinds
from hutch.core.text.parser import ParserOptions, TextParser

TEXT = b"".join(b"%d 1 'tag%d |f a%d:%d.5 b\n" % (i % 3, i, i % 7, i) for i in range(3000))
PACKED = {
    "plain.vw": lambda text: text,
    "one.vw.gz": gzip.compress,
    "members.vw.gz": lambda text: gzip.compress(text[:777]) + gzip.compress(text[777:]) + bytes(50_000),
    "one.vw.zst": zstandard.compress,
    "frames.vw.zst": lambda text: zstandard.compress(text[:777]) + zstandard.compress(text[777:]),
    "level.vw.ZST": zstandard.ZstdCompressor(level=10, write_checksum=True).compress,
}


def chunks(sources: object, chunk_bytes: int = 1000) -> list[tuple[str, int, bytes]]:
    return [(c.source, c.number, bytes(c.data)) for c in Chunks(sources, chunk_bytes)]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("chunk_bytes", [1, 100, 65536])
def test_all_kinds_of_files_give_the_same_lines(tmp_path: Path, name: str, chunk_bytes: int) -> None:
    path = tmp_path / name
    path.write_bytes(PACKED[name](TEXT))
    found = chunks([path], chunk_bytes)
    assert b"".join(data for _, _, data in found) == TEXT
    assert all(data.endswith(b"\n") for _, _, data in found)
    assert {(source, number) for source, number, _ in found} == {(str(path), 0)}


@settings(max_examples=40, deadline=None)
@given(lines=st.lists(st.integers(0, 30), max_size=12), end=st.booleans(), chunk_bytes=st.integers(1, 40))
def test_chunks_are_whole_lines_of_any_length(
    tmp_path_factory: pytest.TempPathFactory, lines: list[int], end: bool, chunk_bytes: int
) -> None:
    text = b"\n".join(b"x" * size for size in lines) + (b"\n" if end else b"")
    path = tmp_path_factory.mktemp("lines") / "data.vw"
    path.write_bytes(text)
    pieces = [data for _, _, data in chunks([path], chunk_bytes)]
    assert b"".join(pieces) == text
    assert all(piece.endswith(b"\n") for piece in pieces[:-1])


def test_several_sources_in_order(tmp_path: Path) -> None:
    first, empty, last = tmp_path / "a.vw", tmp_path / "empty.vw", tmp_path / "b.vw"
    first.write_bytes(b"1 |f a")
    empty.write_bytes(b"")
    last.write_bytes(b"2 |f b\n")
    assert chunks([first, empty, str(last)]) == [(str(first), 0, b"1 |f a"), (str(last), 2, b"2 |f b\n")]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 |f a\nx |f b")))
    parser = TextParser()
    labels = [label for batch in batches(["-"], parser=parser) for label in batch.labels.tolist()]
    assert labels == [1, 0]
    assert [(p.source, p.line) for p in parser.problems] == [("<stdin>", 2)]
    assert Chunks(["-"]).total_bytes is None


@pytest.mark.skipif(sys.platform != "linux", reason="the size of a pipe is Linux's")
def test_a_pipe_holds_a_chunk() -> None:
    read, write = os.pipe()
    os.write(write, TEXT[:1000])
    chunks = iter(Chunks([f"/dev/fd/{read}"]))
    assert next(chunks).size == TEXT[:1000].rfind(b"\n") + 1
    os.set_blocking(write, False)
    assert os.write(write, TEXT) == len(TEXT) > 1 << 16
    os.close(write)
    assert sum(chunk.size for chunk in chunks) == 1000 - TEXT[:1000].rfind(b"\n") - 1 + len(TEXT)
    os.close(read)


def test_a_pipe_is_read_as_it_comes(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, b"1 |f a\n2 |f")
        pieces = iter(Chunks([f"/dev/fd/{reading}"]))
        assert bytes(next(pieces).data) == b"1 |f a\n"
        os.write(writing, b" b\n")
        assert bytes(next(pieces).data) == b"2 |f b\n"
    finally:
        os.close(writing)
    assert not list(pieces)
    os.close(reading)


@pytest.mark.parametrize("name", ["plain.vw", "one.vw.gz", "one.vw.zst"])
def test_progress(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(PACKED[name](TEXT))
    reader = Chunks([path, path], 4096)
    assert reader.total_bytes == 2 * path.stat().st_size and reader.position == 0
    positions = [reader.position for _ in reader]
    assert positions == sorted(positions) and 0 < positions[0] <= positions[-1] <= reader.total_bytes
    assert reader.position == reader.total_bytes


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cut.gz", gzip.compress(TEXT, mtime=0)[:-1], "truncated gzip data: the file ends too early"),
        ("cut.gz", gzip.compress(TEXT, mtime=0)[:500], "truncated gzip data"),
        ("cut.gz", gzip.compress(TEXT, mtime=0)[:5], "truncated gzip data"),
        ("cut.zst", zstandard.compress(TEXT)[:-1], "truncated zstd data: the file ends too early"),
        ("cut.zst", zstandard.compress(TEXT)[:300], "truncated zstd data"),
        ("cut.zst", zstandard.compress(TEXT)[:3], "truncated zstd data"),
        ("not.gz", TEXT, "corrupt gzip data"),
        ("not.zst", TEXT, "corrupt zstd data"),
        ("bad.gz", gzip.compress(TEXT, mtime=0)[:-8] + bytes(8), "corrupt gzip data"),
        ("zeros.gz", bytes(100), "corrupt gzip data"),
        ("zeros.zst", bytes(100), "corrupt zstd data"),
        ("tail.gz", gzip.compress(TEXT, mtime=0) + b"junk", "corrupt gzip data"),
        ("tail.zst", zstandard.compress(TEXT) + b"junk", "corrupt zstd data"),
    ],
)
def test_damaged_compressed_files(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=re.escape(f"{path}: {message}")):
        chunks([path])


def test_missing_files_and_directories(tmp_path: Path) -> None:
    missing = tmp_path / "missing.vw"
    with pytest.raises(DataError, match=re.escape(f"{missing}: no such file")):
        chunks([missing])
    with pytest.raises(DataError, match=re.escape(f"{tmp_path}: is a directory")):
        chunks([tmp_path])
    assert Chunks([missing]).total_bytes is None


def test_unreadable_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    path = tmp_path / "secret.vw"
    path.write_bytes(TEXT)
    monkeypatch.setattr("hutch.core.data.places.open", refused, raising=False)  # the superuser may read everything
    with pytest.raises(DataError, match="(?i)permission denied"):
        chunks([path])


def test_batches_do_not_depend_on_the_chunks(tmp_path: Path) -> None:
    path = tmp_path / "data.vw"
    path.write_bytes(TEXT + b"\n" + TEXT.rstrip(b"\n"))
    whole = TextParser().parse(path.read_bytes())
    for chunk_bytes, threads in product((200, 5000), (0, 1, 2, 5)):
        joined: dict[str, list[np.ndarray]] = {name: [] for name in ("indices", "values", "labels", "group", "tags")}
        for batch in batches(Chunks([path], chunk_bytes), threads=threads):
            for name, parts in joined.items():
                parts.append(getattr(batch, name).copy())
        for name, parts in joined.items():
            assert np.array_equal(np.concatenate(parts), getattr(whole, name)), name


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_batch_stays_valid_while_threads_parse_the_next(tmp_path: Path, threads: int) -> None:
    path = tmp_path / "data.vw"
    path.write_bytes(TEXT + b"x |f a\n")
    total = 0.0
    for batch in batches(Chunks([path], 300), threads=threads):
        time.sleep(0.0005)  # long enough for the other threads to come to their ends
        total += float(batch.labels.sum())
    assert total == sum(i % 3 for i in range(3000))


@pytest.mark.parametrize("threads", [0, 1, 2, 5])
def test_errors_of_threads_come_where_they_belong(tmp_path: Path, threads: int) -> None:
    text, packed = tmp_path / "data.vw", tmp_path / "cut.vw.gz"
    text.write_bytes(TEXT + b"x |f a\n" + TEXT + b"y |f a\n")
    packed.write_bytes(gzip.compress(TEXT)[:-1])
    before = active_count()
    seen = 0
    with pytest.raises(DataError, match=re.escape(f"{text}:3001:1: bad label")):
        for batch in batches(Chunks([text], 300), ParserOptions(strict=True), threads=threads):
            seen += len(batch)
    assert 2900 < seen <= 3000
    with pytest.raises(DataError, match=re.escape(f"{packed}: truncated gzip data")):
        list(batches([text, packed], threads=threads))
    with pytest.raises(DataError, match="missing.vw: no such file"):
        list(batches([text, tmp_path / "missing.vw"], threads=threads))
    assert active_count() == before


@pytest.mark.parametrize("name", ["plain.vw", "one.vw.gz", "one.vw.zst"])
def test_no_thread_works_on_after_the_iteration_was_left(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(PACKED[name](TEXT))
    before = active_count()
    found = batches(Chunks([path, path], 300), threads=2)
    next(found)
    assert active_count() > before
    found.close()  # type: ignore[attr-defined]
    assert active_count() == before


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("whole_groups", [False, True])
def test_a_line_longer_than_the_limit_is_refused_with_its_place(
    tmp_path: Path, threads: int, whole_groups: bool
) -> None:
    options = ParserOptions(longest_line=3 << 20, whole_groups=whole_groups)
    long = b"1 |f " + b"a " * (1 << 20) + b"\n\n"
    (tmp_path / "good.vw").write_bytes(b"1 |f a\n\n" * 300_000 + long)
    (tmp_path / "bad.vw").write_bytes(b"1 |f a\n\n" * 300_000 + long + b"1 |f " + b"b" * (9 << 20))
    assert sum(map(len, batches([tmp_path / "good.vw"], options, threads=threads))) == 300_001
    with pytest.raises(DataError, match=r"bad.vw:600003: got a line of more than 3145728 bytes.*input.longest_line"):
        list(batches([tmp_path / "good.vw", tmp_path / "bad.vw"], options, threads=threads))


@pytest.mark.parametrize("threads", [0, 2])
def test_lines_that_need_more_memory_than_there_is(
    tmp_path: Path, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.vw").write_bytes(b"1 |f a\n" * 400_000 + b"1 |f " + b"a " * (1 << 22))
    parser, fill = TextParser(valid=threads + 1), TextParser.fill

    def limited(parser: TextParser, number: int, text: np.ndarray) -> None:
        if len(text) > 1 << 23:
            raise MemoryError
        fill(parser, number, text)

    monkeypatch.setattr(TextParser, "fill", limited)
    with pytest.raises(DataError, match=r"a.vw:\d+: lines from here on need more memory than there is"):
        list(batches([tmp_path / "a.vw"], parser=parser, threads=threads))


def test_problems_carry_the_file_and_its_own_line(tmp_path: Path) -> None:
    first, second = tmp_path / "a.vw", tmp_path / "b.vw.gz"
    first.write_bytes(b"1 |f a\n" * 100 + b"1 |f a:1x\n")
    second.write_bytes(gzip.compress(b"1 |f a\nx |f b\n"))
    parser = TextParser()
    groups = [int(batch.group[0]) for batch in batches(Chunks([first, second], 128), parser=parser)]
    assert groups[0] == 0 and groups[-1] == 1
    assert [(p.source, p.line, p.kind) for p in parser.problems] == [
        (str(first), 101, kinds.BAD_FEATURE_VALUE),
        (str(second), 2, kinds.BAD_LABEL),
    ]
    with pytest.raises(DataError, match=re.escape(f"{first}:101:9: bad feature value")):
        list(batches([first], ParserOptions(strict=True)))
