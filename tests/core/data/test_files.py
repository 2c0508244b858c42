import gzip
import hashlib
import io
import tracemalloc
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import zstandard

from hutch.core.batch import Batch
from hutch.core.data import files as input_files
from hutch.core.data.files import InputFiles, check_sources
from hutch.core.data.packed import Decompressed
from hutch.core.errors import DataError
from hutch.core.text.parser import ParserOptions, TextParser
from hutch.core.text.problems import Problem


def made_up(path: str, options: ParserOptions, columns: object = None) -> Iterator[Batch]:
    yield TextParser(options).parse(b"7 |x made up\n")


def labels(files: InputFiles) -> list[float]:
    return [float(label) for batch in files for label in batch.labels]


def test_sources_of_all_kinds_in_order(tmp_path: Path) -> None:
    (tmp_path / "a.vw").write_text("1 |f a\n2 |f a\n")
    (tmp_path / "b.vw.gz").write_bytes(gzip.compress(b"3 |f a\n"))
    (tmp_path / "c.made").write_text("anything")
    sources = [str(tmp_path / name) for name in ("a.vw", "c.made", "b.vw.gz")]
    files = InputFiles(sources, ParserOptions(), {".made": made_up})
    assert labels(files) == [1, 2, 7, 3] == labels(files)
    assert files.repeatable and files.total == sum(Path(source).stat().st_size for source in sources)
    assert files.position == files.total


def test_the_position_grows_to_the_total(tmp_path: Path) -> None:
    for name in ("a.vw", "b.vw"):
        (tmp_path / name).write_text("1 |f a b c\n" * 300_000)
    files = InputFiles([str(tmp_path / "a.vw"), str(tmp_path / "b.vw")], ParserOptions(), {})
    positions = [files.position for _ in files]
    assert positions == sorted(positions) and len(set(positions)) == len(positions) > 3
    assert positions[-1] == files.total


def test_a_stream_is_not_repeatable() -> None:
    assert not InputFiles(["-"], ParserOptions(), {}).repeatable


def test_problems_are_told_once(tmp_path: Path) -> None:
    path = tmp_path / "bad.vw"
    path.write_text("1 |f a\nx |f a\ny |f a\n")
    told: list[Problem] = []
    files = InputFiles([str(path)], ParserOptions(), {}, told.append)
    assert labels(files) == [1, 0, 0] == labels(files)
    assert [(problem.line, problem.got) for problem in told] == [(2, "x"), (3, "y")]
    assert files.problems is not None and files.problems.errors == 2


def test_binary_data_is_refused_and_a_late_nul_is_only_counted(tmp_path: Path) -> None:
    (tmp_path / "junk").write_bytes(bytes(range(256)) * 4)
    with pytest.raises(DataError, match="junk: is not text, it holds NUL bytes; wanted lines of text such as"):
        labels(InputFiles([str(tmp_path / "junk")], ParserOptions(), {}))
    (tmp_path / "late").write_bytes(b"1 |f a b c\n" * 300_000 + b"1 |f \0\n")
    files = InputFiles([str(tmp_path / "late")], ParserOptions(), {})
    assert len(labels(files)) == 300_001
    assert files.problems is not None and files.problems.errors == 1


def test_all_missing_sources_are_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("")
    check_sources(["-", str(tmp_path / "here")])
    with pytest.raises(DataError) as caught:
        check_sources([str(tmp_path / "none"), str(tmp_path), str(tmp_path / "here")])
    assert str(caught.value).splitlines() == [
        f"{tmp_path / 'none'}: no such file",
        f"{tmp_path}: is a directory, wanted a file of examples",
    ]


@pytest.mark.parametrize(
    "name", [*(pytest.param(name, marks=pytest.mark.slow) for name in ("plain.vw", "packed.vw.gz")), "packed.vw.zst"]
)
def test_nothing_depends_on_the_number_of_threads(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    ends = {0: " y\n\n", 5: " y:1x\n"}  # a blank line after some, a problem in others
    text = "".join(
        f"{i % 3} {i % 2} 'tag{i}|f {i % 7} x{i % 5}:{value} |g {i % 11}{ends.get(i % 999, chr(10))}"
        for i, value in enumerate(rng.normal(size=60_000).tolist())
    ).encode()
    pack = {"plain.vw": bytes, "packed.vw.gz": gzip.compress, "packed.vw.zst": zstandard.compress}[name]
    (tmp_path / name).write_bytes(pack(text))
    found = []
    for threads in (0, 1, 2, 6):
        monkeypatch.setattr(input_files, "parsers", lambda threads=threads: threads)
        told: list[Problem] = []
        files = InputFiles([str(tmp_path / name)] * 2, ParserOptions(), {}, told.append)
        digest = hashlib.sha256()
        for batch in files:
            for field in fields(Batch):
                digest.update(getattr(batch, field.name).tobytes())
        assert files.problems is not None
        found.append((digest.hexdigest(), told, files.problems.counts.tolist()))
    assert all(one == found[0] for one in found[1:])
    assert [problem.line for problem in found[0][1]] == [7 + 1000 * k for k in range(5)]


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_compression_bomb_is_not_unpacked_at_once(ending: str) -> None:
    bomb = io.BytesIO(gzip.compress(bytes(200 << 20), 9) if ending == ".gz" else zstandard.compress(bytes(200 << 20)))
    tracemalloc.start()
    try:
        file = Decompressed(bomb, "bomb", ending)
        assert file.read(1) == b"\0"
        file.close()
        assert tracemalloc.get_traced_memory()[1] < 150 << 20
    finally:
        tracemalloc.stop()
