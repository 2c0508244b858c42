"""What values tell, on samples small enough to see."""

import random

from hutch.crowd.read.evidence import Column, agreement, columns_of, expected, groups_alike, long_readings, repeated


def test_columns_are_alike_if_they_share_few_values():
    rows = [
        ("t1", "a", "b", "x", "9"),
        ("t2", "b", "b", "y", "8"),
        ("t3", "a", "a", "x", "7"),
        ("t4", "a", "b", "y", "6"),
    ]
    columns = columns_of(5, rows)
    assert groups_alike(columns, range(5)) == [[1, 2]]
    assert groups_alike(columns, [1, 3]) == []


def test_many_columns_are_compared_soon():
    pick = random.Random(0)
    columns = columns_of(3000, [[pick.choice("abc") for _ in range(3000)] for _ in range(20)])
    assert groups_alike(columns, range(3000)) == [list(range(3000))]
    assert long_readings(columns, {}, range(3000)) == []


def test_keys_and_agreement():
    rows = [(w, t, "a" if t < "t2" else "b") for w in ("x", "y", "z") for t in ("t0", "t1", "t2", "t3")]
    columns = columns_of(3, rows)
    assert repeated(columns, [0, 1]) == 0 and repeated(columns, [0]) == 0.75
    assert agreement(columns, 2, [1]) == 1 and agreement(columns, 2, [0]) == 1 / 3
    assert expected(columns, [0, 1]) == 66 * (18 / 66) * (12 / 66)
    assert long_readings(columns, {}, range(3)) == [{"worker": 0, "task": 1, "label": 2}]
    assert long_readings(columns_of(3, [row[::-1] for row in rows]), {}, range(3)) == [
        {"worker": 2, "task": 1, "label": 0}
    ]


def test_cells_without_a_value_do_not_count():
    column = Column.of(["1", " ", "NA", "None", "2.5", "1"])
    assert column.given == 3 and column.numbers and column.singles == 1 / 3 and column.within({"1"}) == 2 / 3
