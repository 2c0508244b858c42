"""From bytes to integer codes: the kernels behind `hutch.crowd.data.labels`."""

import numpy as np
from numpy import int64

from hutch.core.data.cells import FINE, TRAILING, UNCLOSED, blank_line, next_cell
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.raw_bytes import byte_at

MISCOUNTED, EMPTY = range(TRAILING + 1, TRAILING + 3)

_LINE_FEED = 10
_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


@helper
def _code(text, start, end, doubled, slots, hashes, places, lengths, count):
    """The code of the name text[start:end]: its number in the order of first appearance, `count` if it is new.

    `doubled`: its quotes are doubled, so that it differs from a name of the same bytes whose quotes are not.
    """
    value = _OFFSET ^ np.uint64(doubled)
    for i in range(start, end):
        value = (value ^ np.uint64(text[i])) * _PRIME
    mask = np.uint64(len(slots) - 1)
    slot = (value ^ (value >> np.uint64(32))) & mask
    while slots[slot]:
        code = slots[slot] - 1
        if hashes[code] == value and lengths[code] == end - start:
            same, place = True, places[code]
            for i in range(end - start):
                if text[place + i] != text[start + i]:
                    same = False
                    break
            if same:
                return code
        slot = (slot + np.uint64(1)) & mask
    slots[slot] = count + 1
    hashes[count], places[count], lengths[count] = value, start, end - start
    return count


@compiled
def scan(text, start, separator, columns, width, optional, codes, slots, hashes, places, lengths, counts):
    """Read all rows and code the wanted columns.

    Args:
        text: uint8, the whole file.
        start: byte at which the first row begins.
        separator: byte between fields.
        columns: int64 (roles), which field holds each role.
        width: fields a row must have.
        optional: bool (roles), which may be empty.
        codes: out, int32 (rows, roles).
        slots: int32 (roles, power of two above twice the rows), zeros: open-addressing tables of code + 1.
        hashes, places, lengths: out, (roles, rows): of each distinct name.
        counts: out, int64 (roles): number of distinct names.

    Returns:
        rows read, status (`FINE` or what is wrong), the byte where it is, the role or the number of fields found.
    """
    roles = len(columns)
    begins, stops, doubles = np.zeros(width, np.int64), np.zeros(width, np.int64), np.zeros(width, np.bool_)
    row, first = 0, int64(text.ctypes.data)
    at, size = first + start, first + len(text)
    while at < size:
        blank = blank_line(at, size)
        if blank:
            at += blank
            continue
        row_start, fields, ended = at, 0, False
        while not ended:
            begin, stop, end, doubled, status = next_cell(at, size, separator)
            if status != FINE:
                return row, status, (at if status == UNCLOSED else end) - first, fields
            if fields < width:
                begins[fields], stops[fields], doubles[fields] = begin - first, stop - first, doubled
            fields += 1
            at = end + 1
            ended = end >= size or byte_at(end) == _LINE_FEED
        if fields != width:
            return row, MISCOUNTED, row_start - first, fields
        for role in range(roles):
            field = columns[role]
            begin, stop = begins[field], stops[field]
            if begin == stop and not optional[role]:
                return row, EMPTY, begin, role
            code = _code(
                text, begin, stop, doubles[field], slots[role], hashes[role], places[role], lengths[role], counts[role]
            )
            codes[row, role] = code
            counts[role] = max(counts[role], code + 1)
        row += 1
    return row, FINE, 0, 0


@compiled
def group_by_item(workers, items, labels, worker_count, anonymous, pointer, out_workers, out_labels):
    """Sort labels by item, drop exact duplicates, count contradictions.

    Args:
        workers, items, labels: int32 (rows), codes in the order read.
        worker_count: how many codes of workers there are.
        anonymous: code of the worker whose repetitions are not duplicates, -1 for none.
        pointer: int64 (items + 1), zeros; out: where each item's labels begin.
        out_workers, out_labels: out, int32 (rows), by item.

    Returns:
        labels kept, duplicates dropped, contradictions kept.
    """
    rows, item_count = len(items), len(pointer) - 1
    for row in range(rows):
        pointer[items[row] + 1] += 1
    for item in range(item_count):
        pointer[item + 1] += pointer[item]
    cursor, order = pointer[:-1].copy(), np.empty(rows, np.int64)
    for row in range(rows):
        order[cursor[items[row]]] = row
        cursor[items[row]] += 1

    latest, earlier = np.full(worker_count, -1, np.int64), np.empty(rows, np.int64)
    kept, duplicates, contradictions = 0, 0, 0
    for item in range(item_count):
        begin, end = pointer[item], pointer[item + 1]
        pointer[item] = kept
        for place in range(begin, end):
            worker, label = workers[order[place]], labels[order[place]]
            previous = latest[worker] if latest[worker] >= pointer[item] else -1
            same, other = previous, False
            while same >= 0 and out_labels[same] != label:
                same, other = earlier[same], True
            if same >= 0 and worker != anonymous:
                duplicates += 1
                continue
            contradictions += other and worker != anonymous
            out_workers[kept], out_labels[kept] = worker, label
            earlier[kept], latest[worker] = previous, kept
            kept += 1
    pointer[item_count] = kept
    return kept, duplicates, contradictions


@compiled
def group_by_worker(item_ptr, workers, pointer, positions, items):
    """Sort labels by worker.

    Args:
        item_ptr, workers: as `group_by_item` makes them.
        pointer: int64 (workers + 1), zeros; out: where each worker's labels begin.
        positions, items: out, int64 and int32 (labels): the labels by worker, and their items.
    """
    for worker in workers:
        pointer[worker + 1] += 1
    for worker in range(len(pointer) - 1):
        pointer[worker + 1] += pointer[worker]
    cursor = pointer[:-1].copy()
    for item in range(len(item_ptr) - 1):
        for place in range(item_ptr[item], item_ptr[item + 1]):
            worker = workers[place]
            positions[cursor[worker]], items[cursor[worker]] = place, item
            cursor[worker] += 1
