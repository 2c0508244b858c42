"""Which namespaces of an example interact: the terms of `interactions`, wildcards included.

VW's rules: a wildcard matches every namespace seen; two wildcards of a term are filled in ascending order, three and
more in descending order (in any order with `duplicates`); terms come sorted by length, then by namespaces; of terms
that are permutations of each other the first stays; a term in which a namespace or `:` repeats is sorted. Each rule
asks only for the namespaces of the term itself, so the terms of one example follow from its own namespaces; they are
kept until an example with other namespaces comes.
"""

import ctypes
from collections.abc import Sequence

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import CONSTANT_NAMESPACE, SLOT_LETTER
from hutch.core.kernel.abi import array_at, int64s_at, record_of, uint32s_at
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record
from hutch.core.learner.memory import Buffer, reserve

WILDCARD = -1
"""Matches every namespace, in place of an id."""
MAX_ORDER = 8
MOST_TERMS = 1 << 12
"""The longest interaction."""
UNKNOWN = np.uint64(2**64 - 1)

TERMS = np.dtype(
    [
        ("patterns", "u8"),  # address of int64[pattern_count, MAX_ORDER]: namespace ids or WILDCARD
        ("lengths", "u8"),  # address of int64[pattern_count], ascending
        ("pattern_count", "u8"),
        ("wildcards", "u8"),  # 1 if a pattern has one
        ("letters", "u8"),  # 1: ids are first letters, and a wildcard matches printable ones only, and SLOT_LETTER
        ("permutations", "u8"),
        ("duplicates", "u8"),  # 1: permutations of an existing term stay
        ("ids", "u8"),  # BUFFER of uint32: namespaces of the example that the terms were found for
        ("id_count", "u8"),
        ("found", "u8"),  # BUFFER of int32[term_count, MAX_ORDER + 1]: length, then positions in the example
        ("term_count", "u8"),
        ("work", "u8"),  # BUFFER of int64[namespaces + 2 MAX_ORDER]: positions of namespaces by id, a term, sorted
    ]
)

terms_record_of = record_of(TERMS)
int32s_at = array_at(np.int32)


def prepare(terms: Sequence[Sequence[int]], duplicates: bool) -> list[tuple[int, ...]]:
    """Sort terms as VW does, and drop those that are permutations of an earlier one.

    Args:
        terms: namespace ids.
        duplicates: keep those.

    >>> prepare([(3, 1, 2), (2, 1), (1, 2), (2, 1, 2)], False)
    [(1, 2), (1, 2, 2), (3, 1, 2)]
    """
    inner = [tuple(sorted(term)) if 1 < len(set(term)) < len(term) else tuple(term) for term in terms]
    kept: dict[tuple[int, ...], tuple[int, ...]] = {}
    ordered = sorted(inner, key=lambda term: (len(term), term))
    for k, term in enumerate(ordered):
        key = (k,) if duplicates else (len(term), *sorted(term))
        kept.setdefault(key, term)
    return list(kept.values())


class Terms:
    """The interactions of a learner, as its kernels see them.

    Args:
        terms: namespace ids and WILDCARD, each term of 2 to MAX_ORDER.
        letters: ids are first letters.
        permutations: a namespace with itself gives all pairs, not only those in order.
        duplicates: do not drop terms that are permutations of each other.

    Attributes:
        record: the TERMS record.
    """

    def __init__(self, terms: Sequence[Sequence[int]], *, letters: bool, permutations: bool, duplicates: bool) -> None:
        colon = ord(":") if letters else WILDCARD
        ordered = prepare([[colon if name == WILDCARD else name for name in term] for term in terms], duplicates)
        ordered = [tuple(WILDCARD if name == colon else name for name in term) for term in ordered]
        patterns = np.full((len(ordered), MAX_ORDER), WILDCARD, np.int64)
        for row, term in zip(patterns, ordered, strict=True):
            row[: len(term)] = term
        self._found = Buffer()
        self.record = Record(
            TERMS,
            patterns=patterns,
            lengths=np.array([len(term) for term in ordered], np.int64),
            pattern_count=len(ordered),
            wildcards=any(WILDCARD in term for term in ordered),
            letters=letters,
            permutations=permutations,
            duplicates=duplicates,
            ids=Buffer(),
            found=self._found,
            work=Buffer(),
            id_count=UNKNOWN,
        )

    def found(self) -> list[list[int]]:
        """The terms of the last example: places of namespaces in it."""
        count, words = int(self.record["term_count"][0]), MAX_ORDER + 1
        address = int(self._found.record["address"][0])
        table = np.frombuffer(ctypes.string_at(address, 4 * words * count) if count else b"", np.int32)
        return [row[1 : 1 + row[0]].tolist() for row in table.reshape(count, words)]


@inlined
def term_at(found, k):
    """Term number k: its length, then positions of namespaces in the example."""
    return int32s_at(found + uint64(k) * uint64(4 * (MAX_ORDER + 1)), MAX_ORDER + 1)


@helper
def _append(record, term, length):
    """Append a term; returns False if there is no memory."""
    address = reserve(record.found, (record.term_count + uint64(1)) * uint64(4 * (MAX_ORDER + 1)))
    if address == uint64(0):
        return False
    row = term_at(address, int64(record.term_count))
    row[0] = length
    for k in range(length):
        row[1 + k] = term[k]
    record.term_count += uint64(1)
    return True


@helper
def _count(term, first, length, position):
    found = 0
    for k in range(first, first + length):
        found += term[k] == position
    return found


@helper
def _is_permuted(record, term, length):
    """Whether a permutation of the term has been found before."""
    address = reserve(record.found, uint64(0))
    for j in range(int64(record.term_count)):
        row = term_at(address, j)
        same = row[0] == length
        for k in range(length):
            same = same and _count(term, 0, length, term[k]) == _count(row, 1, length, term[k])
        if same:
            return True
    return False


@helper
def _matches(record, pattern, length, term, ids):
    """Whether filling the wildcards of a pattern gives the term."""
    wildcards = 0
    for k in range(length):
        wildcards += pattern[k] == WILDCARD
    previous = int64(-1)
    for k in range(length):
        name = int64(ids[term[k]])
        if pattern[k] != WILDCARD:
            if pattern[k] != name:
                return False
            continue
        if name == CONSTANT_NAMESPACE or (record.letters == 1 and not (32 <= name <= 126 or name == SLOT_LETTER)):
            return False
        if previous >= 0 and record.duplicates == 0 and (name < previous if wildcards == 2 else name > previous):
            return False
        previous = name
    return True


@helper
def _sort(positions, count, ids):
    """Sort positions of namespaces by id, in place."""
    for k in range(1, count):
        j, moved = k, positions[k]
        while j > 0 and ids[positions[j - 1]] > ids[moved]:
            positions[j] = positions[j - 1]
            j -= 1
        positions[j] = moved


@helper
def _append_if_wanted(record, term, length, ids):
    """Append the term if a pattern gives it and no permutation of it is listed, or for each pattern if duplicates
    stay; returns False without memory."""
    wanted, repeats = 0, False
    for j in range(int64(record.pattern_count)):
        if int64s_at(record.lengths, record.pattern_count)[j] == length:
            pattern = int64s_at(record.patterns + uint64(j * 8 * MAX_ORDER), MAX_ORDER)
            wanted += _matches(record, pattern, length, term, ids)
    if wanted == 0 or (record.duplicates == 0 and _is_permuted(record, term, length)):
        return True
    wanted = wanted if record.duplicates == 1 else 1
    for k in range(length):
        repeats = repeats or _count(term, 0, length, term[k]) > 1
    ordered = term[length:]
    for k in range(length):
        ordered[k] = term[k]
    if repeats:
        _sort(ordered, length, ids)
    for _ in range(wanted):
        if not _append(record, ordered, length):
            return False
    return True


@helper
def _expand(record, ids, count):
    """Find the terms among all tuples of the example's namespaces, in order; returns False without memory."""
    size = count + 2 * MAX_ORDER
    address = reserve(record.work, uint64(8 * size))
    if address == uint64(0):
        return False
    work = int64s_at(address, size)
    order, term = work[:count], work[count:]
    for j in range(count):
        order[j] = j
    _sort(order, count, ids)
    lengths = int64s_at(record.lengths, record.pattern_count)
    for p in range(int64(record.pattern_count)):
        length = lengths[p]
        if p > 0 and lengths[p - 1] == length:
            continue
        tuples = count**length
        for number in range(tuples):
            rest = number
            for k in range(length - 1, -1, -1):
                term[k] = order[rest % count]
                rest //= count
            if not _append_if_wanted(record, term, length, ids):
                return False
    return True


@helper
def _look_up(record, ids, count):
    """Keep the terms whose namespaces the example all has; returns False without memory."""
    address = reserve(record.work, uint64(8 * MAX_ORDER))
    if address == uint64(0):
        return False
    term = int64s_at(address, MAX_ORDER)
    lengths = int64s_at(record.lengths, record.pattern_count)
    for p in range(int64(record.pattern_count)):
        pattern = int64s_at(record.patterns + uint64(p * 8 * MAX_ORDER), MAX_ORDER)
        found = 0
        for k in range(lengths[p]):
            for j in range(count):
                if int64(ids[j]) == pattern[k]:
                    term[k] = j
                    found += 1
                    break
        if found == lengths[p] and not _append(record, term, lengths[p]):
            return False
    return True


@helper
def find_terms(at, ids, count):
    """Find the terms of an example with these namespaces, unless the last one had the same.

    Args:
        at: address of the TERMS record.
        ids: namespace ids of the example, uint32[count].
        count: number of these.

    Returns:
        The number of terms; `term_at(reserve(record.found, 0), k)` reads them.
    """
    record = terms_record_of(at)
    if record.id_count == uint64(count):
        known, same = uint32s_at(reserve(record.ids, uint64(0)), count), True
        for j in range(count):
            same = same and known[j] == ids[j]
        if same:
            return int64(record.term_count)
    record.term_count, record.id_count = uint64(0), UNKNOWN
    address = reserve(record.ids, uint64(4 * count))
    if address == uint64(0):
        return 0
    known = uint32s_at(address, count)
    for j in range(count):
        known[j] = ids[j]
    complete = _expand(record, ids, count) if record.wildcards == 1 else _look_up(record, ids, count)
    if complete:
        record.id_count = uint64(count)
    return int64(record.term_count)


@helper
def have_wildcards_of_vw(at):
    """Whether there are wildcards, and ids are first letters."""
    record = terms_record_of(at)
    return record.wildcards == 1 and record.letters == 1


@helper
def fill_wildcards(at, filled):
    """Switch wildcards on or off; terms are found again."""
    record = terms_record_of(at)
    record.wildcards, record.id_count = uint64(filled), UNKNOWN
