import os
import warnings
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from hutch.core.batch import Batch, joined
from hutch.core.data import cache as batch_cache
from hutch.core.data.cache import BatchCache, BatchMemory
from hutch.core.data.files import InputFiles
from hutch.core.errors import DataError
from hutch.core.text.parser import ParserOptions, TextParser

TEXT = b"".join(b"%d %d 'tag%d |f a%d:0.%d b |g c%d\n" % (i % 3, i % 2, i, i % 7, i, i % 5) for i in range(120_000))
OPTIONS = ParserOptions()
LONG_AGO = 1_600_000_000


def files(path: Path, options: ParserOptions = OPTIONS, **more: object) -> InputFiles:
    cache = str(path.with_suffix(".cache"))
    return InputFiles([str(path)], options, {}, cache=cache, **more)  # type: ignore[arg-type]


def content(batches: Iterable[Batch]) -> dict[str, bytes]:
    """All arrays of all examples, however they are cut into batches."""
    whole: Batch | None = None
    for batch in batches:
        whole = joined(batch.rows(0, 0) if whole is None else whole, batch)
    return {field.name: getattr(whole, field.name).tobytes() for field in fields(Batch)}


@pytest.fixture(autouse=True)
def fresh_files_are_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_cache, "_YOUNG", -1.0)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.vw"
    path.write_bytes(TEXT)
    return path


def test_later_runs_read_the_same_batches(data: Path) -> None:
    first = files(data)
    assert not first.cached
    expected = content(first)
    assert first.cached, "the first pass has written it"
    later = files(data)
    assert later.cached
    assert content(later) == expected == content(InputFiles([str(data)], OPTIONS, {}))
    assert later.position == later.total
    assert content(first) == expected, "the second pass of the first run"


@pytest.mark.parametrize("together", [False, True])
def test_small_batches_are_kept_together(data: Path, monkeypatch: pytest.MonkeyPatch, together: bool) -> None:
    monkeypatch.setattr(batch_cache, "_FEATURES_TOGETHER", 1 << 40 if together else 1)
    plain = InputFiles([str(data)], OPTIONS, {})
    expected, parsed = content(plain), len(list(plain))
    assert parsed > 1
    assert content(files(data)) == expected
    later = files(data)
    assert later.cached
    assert len(list(later)) == (1 if together else parsed)
    assert content(later) == expected


def test_cost_sensitive_labels(data: Path) -> None:
    data.write_bytes(b"1:0.5 2 |f a\n1:1 |f b\n" * 100)
    options = ParserOptions(label="cost_sensitive")
    assert content(files(data, options)) == content(files(data, options))
    assert files(data, options).cached


def test_other_content_of_the_same_size_and_time_is_seen(data: Path) -> None:
    """Right after it was made, and although the time of modification is set back."""
    content(files(data))
    before = data.stat()
    changed = TEXT.replace(b"a1:0.1 ", b"a2:0.1 ", 1)
    data.write_bytes(changed)
    os.utime(data, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert data.stat().st_size == before.st_size
    found = files(data)
    assert not found.cached
    assert content(found)["indices"] == content(TextParser(OPTIONS).parse(changed) for _ in range(1))["indices"]


def test_a_source_that_was_touched_is_parsed_again(data: Path) -> None:
    expected = content(files(data))
    os.utime(data, (LONG_AGO, LONG_AGO))
    assert not files(data).cached
    assert content(files(data)) == expected and files(data).cached


def test_what_was_made_of_a_source_that_had_just_changed_is_not_used(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_cache, "_YOUNG", 60.0)
    content(files(data))
    assert not files(data).cached


@pytest.mark.parametrize("options", [{"bits": 17}, {"hash": "all"}, {"label": "multiclass"}, {"constant": False}])
def test_other_options_make_another(data: Path, options: dict[str, object]) -> None:
    content(files(data))
    other = ParserOptions(**options)  # type: ignore[arg-type]
    assert not files(data, other).cached
    assert content(files(data, other)) == content(InputFiles([str(data)], other, {}))


def test_another_list_of_sources_makes_another(data: Path, tmp_path: Path) -> None:
    content(files(data))
    more = tmp_path / "more.vw"
    more.write_bytes(b"1 |f x\n")
    cache = str(data.with_suffix(".cache"))
    assert not InputFiles([str(data), str(more)], OPTIONS, {}, cache=cache).cached
    assert not InputFiles([str(more)], OPTIONS, {}, cache=cache).cached


def test_fresh_ignores_what_is_there(data: Path) -> None:
    content(files(data))
    assert not files(data, fresh=True).cached


def test_a_pass_that_is_left_early_and_malformed_text_leave_no_cache(data: Path) -> None:
    found = iter(files(data))
    next(found)
    found.close()  # type: ignore[attr-defined]
    assert list(data.parent.glob("*cache*")) == []
    data.write_bytes(TEXT + b"x |f a\n")
    content(files(data))
    assert list(data.parent.glob("*cache*")) == []


def test_data_that_changes_while_it_is_read_leaves_no_cache(data: Path) -> None:
    reading = files(data)
    for number, _ in enumerate(reading):
        if number == 0:
            data.write_bytes(TEXT.replace(b"a1:0.1 ", b"a2:0.1 ", 1))
    assert not reading.cached and list(data.parent.glob("*cache*")) == []


def test_a_strangers_file_is_left_alone(data: Path) -> None:
    stranger = data.with_suffix(".cache")
    stranger.write_bytes(b"precious")
    with pytest.raises(DataError, match="is not a Hutch cache and was left alone"):
        files(data)
    assert stranger.read_bytes() == b"precious"


def test_a_cut_file_is_made_anew(data: Path) -> None:
    expected = content(files(data))
    cache = data.with_suffix(".cache")
    whole = cache.read_bytes()
    cache.write_bytes(whole[:-1])
    assert not files(data).cached
    assert content(files(data)) == expected


def test_whatever_byte_is_damaged_the_batches_are_those_of_the_text(tmp_path: Path) -> None:
    data = tmp_path / "data.vw"
    data.write_bytes(TEXT[: TEXT.index(b"\n", 40_000) + 1])
    expected, cache = content(files(data)), data.with_suffix(".cache")
    whole = cache.read_bytes()
    rng, parsed_again = np.random.default_rng(0), 0
    for at in [16, *rng.integers(16, len(whole), 40).tolist(), len(whole) - 1]:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        cache.write_bytes(damaged)
        found = files(data)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert content(found) == expected
        if told:
            assert "is damaged: wrong checksum; the text is parsed again" in str(told[0].message)
            parsed_again += 1
        assert files(data).cached and content(files(data)) == expected
    assert parsed_again > 20


def test_what_came_before_the_damage_is_not_given_twice(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hutch.core.data.cache._FEATURES_TOGETHER", 1)
    expected, cache = content(files(data)), data.with_suffix(".cache")
    blocks = BatchCache(str(cache), [str(data)], OPTIONS)._index
    assert len(blocks) > 2
    damaged = bytearray(cache.read_bytes())
    damaged[blocks[1].start] ^= 1
    cache.write_bytes(damaged)
    with pytest.warns(UserWarning, match="the text is parsed again"):
        assert content(files(data)) == expected


def test_only_files_of_text_are_cached(tmp_path: Path) -> None:
    for source in ("-", str(tmp_path)):
        with pytest.raises(DataError, match="cannot be cached: wanted a file of text"):
            InputFiles([source], OPTIONS, {}, cache=str(tmp_path / "cache"))


def test_memory_keeps_all_or_nothing() -> None:
    parser = TextParser(OPTIONS)
    batch = parser.parse(TEXT)
    small, large = BatchMemory(1000), BatchMemory()
    for memory in (small, large):
        memory.add(batch)
        memory.finish()
    assert small.batches is None and large.batches is not None
    kept = batch.labels.copy()
    parser.parse(TEXT[::-1].replace(b"\n", b"") + b"\n")
    assert np.array_equal(large.batches[0].labels, kept)


def test_passes_in_memory_are_those_over_the_file(data: Path) -> None:
    again = InputFiles([str(data)], OPTIONS, {}, passes=2)
    assert content(again) == content(again) == content(InputFiles([str(data)], OPTIONS, {}))
    assert again.position == again.total
