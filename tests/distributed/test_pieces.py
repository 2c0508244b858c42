"""How examples are divided into shards."""

from pathlib import Path

import numpy as np
import pytest

from hutch.core.batch import Batch, chosen, joined
from hutch.core.data.sources import to_batches
from hutch.core.text.parser import ParserOptions
from hutch.distributed.pieces import Division, mixed, read

LINES = [f"{i % 3 - 1} {1 + i % 2} 't{i}|user u{i % 7} |item i{i % 11}:0.5 x{i}" for i in range(200)]
FIELDS = ("row_ptr", "indices", "values", "row_namespaces", "namespace_ptr", "namespace_id", "labels", "importance")


def batch_of(lines: list[str], **options: object) -> Batch:
    [batch] = to_batches(lines, ParserOptions(**options))
    return batch


@pytest.mark.parametrize("label", ["simple", "cost_sensitive"])
def test_some_examples_of_a_batch_are_those_of_a_batch_of_their_own(label: str) -> None:
    lines = LINES if label == "simple" else [f"1:{i}.5 {i % 3 + 1}:2 |a x{i} y |b" for i in range(50)]
    whole = batch_of(lines, label=label)
    for begin in (0, 3):
        for rows in ([3, 4, 40, 7], [49], [3, 30], range(5, 45, 3), range(3, 50)):  # few, many; not in order, all
            found = chosen(whole.rows(begin, len(lines)), np.array(rows) - begin)
            wanted = batch_of([lines[i] for i in rows], label=label)
            for name in (*FIELDS, "tags", "tag_ptr", "cost_ptr", "cost_classes", "costs"):
                assert np.array_equal(getattr(found, name), getattr(wanted, name)), name
    assert len(chosen(whole, np.zeros(0, np.int64))) == 0


def test_examples_are_divided_in_turn() -> None:
    parts = Division(4, (), 10, "name").parts_of(batch_of(LINES), 0)
    assert parts.tolist() == [-1 if n % 10 == 0 else n % 4 for n in range(1, 201)]
    later = Division(4, (), 10, "name").parts_of(batch_of(LINES[33:]), 33)
    assert np.array_equal(later, parts[33:])


def test_a_feature_keeps_its_shard() -> None:
    division, batch = Division(4, ("user",), 0, "name"), batch_of(LINES)
    parts = division.parts_of(batch, 0)
    assert division.found == [True] and len(set(parts)) > 1
    for user in range(7):
        assert len(set(parts[user::7])) == 1


def test_blocks_of_two_namespaces_share_no_feature() -> None:
    division = Division(3, ("user", "item"), 0, "name")
    parts = division.parts_of(batch_of(LINES), 0)
    assert division.parts == 9 and parts.max() < 9
    for block in range(9):
        for other in range(9):
            if block // 3 != other // 3 and block % 3 != other % 3:
                mine, theirs = np.flatnonzero(parts == block), np.flatnonzero(parts == other)
                assert not {i % 7 for i in mine} & {i % 7 for i in theirs}
                assert not {i % 11 for i in mine} & {i % 11 for i in theirs}


def test_examples_without_the_namespace_are_divided_in_turn() -> None:
    lines = ["1 |other a"] * 8
    division = Division(4, ("user",), 0, "name")
    assert division.parts_of(batch_of(lines), 0).tolist() == [1, 2, 3, 0, 1, 2, 3, 0]
    assert division.found == [False]


def test_groups_stay_together() -> None:
    batch = batch_of(["1 |user a", "1 |user b", "", "1 |user c", "1 |user a", "1 |user b", "", "1 |user b"])
    parts = Division(2, (), 0, "name", groups=True).parts_of(batch, 0)
    assert parts.tolist() == [1, 1, 0, 0, 0, 1]


def test_mixing_spreads_numbers_that_differ_in_few_bits() -> None:
    counts = np.bincount(mixed(np.arange(1 << 14, dtype=np.uint32) << np.uint32(6)) % 16)
    assert counts.min() > 900


def test_a_task_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "data.vw"
    path.write_text("\n".join([*LINES, "oops |user u1"]) + "\n")
    config = {"chain": ["linear"]}
    (problems, found, _, lengths), held, *parts = read(config, str(path), 3, ("user",), 7, False)
    assert "data.vw:201" in problems[0] and found == [True] and not lengths
    whole = joined(*held, *(batch for part in parts for batch in part))
    assert len(whole) == 201 and sum(map(len, held)) == 201 // 7
