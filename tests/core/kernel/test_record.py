"""A record keeps alive what it points to, and takes nothing that kernels would read wrongly."""

import gc
import weakref

import numpy as np
import pytest

from hutch.core.kernel.record import Record, address_of

KIND = np.dtype([("count", "i8"), ("share", "f8"), ("values", "u8"), ("other", "u8")])


class Thing:
    """Something at an address."""

    address = 4096


def test_numbers_go_in_as_they_are() -> None:
    record = Record(KIND, count=3, share=0.5)
    assert (record["count"][0], record["share"][0], record["values"][0]) == (3, 0.5, 0)
    record["count"] += 2
    record["share"] *= 2
    record["other"] += np.uint64(7)
    assert record.array[0].item() == (5, 1.0, 0, 7)


def test_an_array_lives_as_long_as_a_field_points_to_it() -> None:
    array = np.arange(4.0)
    gone, address = weakref.ref(array), array.ctypes.data
    record = Record(KIND, values=array)
    del array
    gc.collect()
    assert gone() is not None and record["values"][0] == address
    record["values"] = np.zeros(2)
    gc.collect()
    assert gone() is None and record["values"][0] == record.targets["values"].ctypes.data


def test_a_number_lets_go_of_the_array() -> None:
    record = Record(KIND, values=np.zeros(3))
    record["values"] = 0
    assert not record.targets and record["values"][0] == 0


def test_records_and_whatever_has_an_address_are_pointed_to() -> None:
    inner, thing = Record(KIND, count=1), Thing()
    record = Record(KIND, values=inner, other=thing)
    assert record["values"][0] == inner.address == address_of(inner) == address_of(inner.array)
    assert record["other"][0] == 4096 and record.targets == {"values": inner, "other": thing}


def test_a_record_that_points_to_itself_dies() -> None:
    record = Record(KIND)
    record["values"] = record
    assert record["values"][0] == record.address
    gone = weakref.ref(record)
    del record
    assert gone() is None


@pytest.mark.parametrize(
    ("field", "value", "error", "message"),
    [
        ("count", np.zeros(2), TypeError, "count: got an array, wanted a number: the field is int64, not an address"),
        ("values", np.zeros(8)[::2], ValueError, "values: got an array with gaps, wanted a contiguous one"),
        ("colour", 1, ValueError, "no field of name colour"),
    ],
)
def test_what_kernels_would_misread_is_refused(field: str, value: object, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        Record(KIND, **{field: value})
