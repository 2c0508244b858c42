"""Names as integer codes, and labels in order: the kernels behind `hutch.crowd.data`."""

import numpy as np

from hutch.core.kernel.cache import compiled

SURE = 0.8
"""The share of a worker's labels of an item below which the most frequent does not speak for all."""

_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


@compiled
def code_cells(clean, begins, ends, count, slots, hashes, offsets, text, places, codes):
    """Code some cells: a name's code is its number in the order of first appearance.

    Args:
        clean: uint8, the bytes of the cells.
        begins, ends: int64 (cells), begin and end of each in them.
        count: names known before.
        slots: int32, a power of two above twice the names there may be: open-addressing table of code + 1.
        hashes: uint64, of each name; `offsets`: where it begins in `text`, and the last one ends; `places`: which cell
            was the first to have it. There is room for a new name in each cell.
        codes: out, int32 (cells).

    Returns:
        Names known afterwards.
    """
    mask = np.uint64(len(slots) - 1)
    for cell in range(len(codes)):
        begin, end = begins[cell], ends[cell]
        value = _OFFSET
        for at in range(begin, end):
            value = (value ^ np.uint64(clean[at])) * _PRIME
        slot, code = (value ^ (value >> np.uint64(32))) & mask, -1
        while slots[slot]:
            known = slots[slot] - 1
            if hashes[known] == value and offsets[known + 1] - offsets[known] == end - begin:
                shift, same = offsets[known] - begin, True
                for at in range(begin, end):
                    if text[at + shift] != clean[at]:
                        same = False
                        break
                if same:
                    code = known
                    break
            slot = (slot + np.uint64(1)) & mask
        if code < 0:
            code = count
            slots[slot], hashes[count], places[count] = count + 1, value, cell
            shift = offsets[count] - begin
            for at in range(begin, end):
                text[at + shift] = clean[at]
            count += 1
            offsets[count] = end + shift
        codes[cell] = code
    return count


@compiled
def group_by_item(workers, items, labels, worker_count, anonymous, pointer, out_workers, out_labels, repeats, divided):
    """Sort labels by item; of the labels that a worker gave an item, the most frequent are kept, each once.

    Args:
        workers, items, labels: int32 (rows), codes in the order read.
        worker_count: number of codes of workers.
        anonymous: code of the worker whose repetitions are not duplicates, -1 for none.
        pointer: int64 (items + 1), zeros; out: the start of each item's labels.
        out_workers, out_labels: out, int32 (rows), by item.
        repeats: out, float64 (workers, 2): pairs of labels that a worker gave one item, and those that are equal.
        divided: out, bool (rows): kept labels of a worker with three or more there, less than `SURE` of which agree.

    Returns:
        labels kept, exact duplicates, labels that differ from an earlier one of their worker on the item.
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
    times, most, asked = np.empty(rows), np.zeros(worker_count), np.zeros(worker_count)
    kept, duplicates, contradictions = 0, 0, 0
    for item in range(item_count):
        begin, end = pointer[item], pointer[item + 1]
        pointer[item] = kept
        for place in range(begin, end):
            worker, label = workers[order[place]], labels[order[place]]
            previous = latest[worker]
            same, other = previous, False
            while same >= 0 and out_labels[same] != label:
                same, other = earlier[same], True
            if same >= 0 and worker != anonymous:
                duplicates += 1
                times[same] += 1.0
                continue
            contradictions += other and worker != anonymous
            out_workers[kept], out_labels[kept], times[kept] = worker, label, 1.0
            earlier[kept], latest[worker] = previous, kept
            kept += 1
        if kept - pointer[item] == end - begin and not contradictions:
            for place in range(pointer[item], kept):
                latest[out_workers[place]] = -1
            continue
        for place in range(pointer[item], kept):
            worker = out_workers[place]
            most[worker] = max(most[worker], times[place])
            asked[worker] += times[place]
            repeats[worker, 1] += 0.5 * times[place] * (times[place] - 1.0)
        chosen = pointer[item]
        for place in range(pointer[item], kept):
            worker = out_workers[place]
            if worker == anonymous or times[place] == most[worker]:
                out_workers[chosen], out_labels[chosen] = worker, out_labels[place]
                divided[chosen] = worker != anonymous and asked[worker] > 2 and most[worker] < SURE * asked[worker]
                chosen += 1
            if latest[worker] >= 0:
                latest[worker] = -1
                repeats[worker, 0] += 0.5 * asked[worker] * (asked[worker] - 1.0) if worker != anonymous else 0.0
        for place in range(begin, end):
            most[workers[order[place]]], asked[workers[order[place]]] = 0.0, 0.0
        kept = chosen
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
