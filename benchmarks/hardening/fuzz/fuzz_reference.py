"""VW's text format read one byte after the other, compiled: what `fuzz_parser.py` compares the parser's kernels with.

It shares nothing with the kernels but the numbers of the problems: no delimiters found beforehand, no words of eight
bytes, every array with its bounds. Its own oracle is the parser of regular expressions in `tests/core`.
"""

import ctypes
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hutch.core.kernel.abi import UNLABELED
from hutch.core.text import problems as problems
from hutch.core.text.parser import ParserOptions

KINDS, KEPT = len(problems.KINDS), problems.KEPT
SIMPLE, MULTICLASS, COST_SENSITIVE, NONE = range(4)
LABELS = {"simple": SIMPLE, "multiclass": MULTICLASS, "cost_sensitive": COST_SENSITIVE, "none": NONE}
F, CONSTANT, CONSTANT_NAMESPACE = np.float32, 11650396, 128

_strtof = ctypes.CDLL(None).strtof
_strtof.restype, _strtof.argtypes = ctypes.c_float, (ctypes.c_void_p, ctypes.c_void_p)


class Options(NamedTuple):
    """`ParserOptions` as numbers."""

    mask: int
    seed: int
    hash_all: bool
    by_letter: bool
    constant: bool
    label: int
    words: bool

    @classmethod
    def of(cls, options: ParserOptions) -> "Options":
        """The options of a parser."""
        letter, all_ = options.namespaces == "letter", options.hash == "all"
        label = LABELS[options.label]
        return cls((1 << options.bits) - 1, options.hash_seed, all_, letter, options.constant, label, options.words)


class Result(NamedTuple):
    """A batch as the reference sees it; `counts` says how far each array is filled."""

    counts: NDArray[np.int64]  # examples, features, namespaces, tags, costs, lines, groups
    row_ptr: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: NDArray[np.float32]
    row_namespaces: NDArray[np.int64]
    namespace_ptr: NDArray[np.int64]
    namespace_id: NDArray[np.uint32]
    labels: NDArray[np.float32]
    importance: NDArray[np.float32]
    base: NDArray[np.float32]
    group: NDArray[np.int64]
    tag_ptr: NDArray[np.int64]
    tags: NDArray[np.uint8]
    cost_ptr: NDArray[np.int64]
    cost_classes: NDArray[np.uint32]
    costs: NDArray[np.float32]
    problem_counts: NDArray[np.int64]
    problem_places: NDArray[np.int64]  # line, first byte, end byte
    found: NDArray[np.int64]  # of the line: namespace, index
    found_values: NDArray[np.float32]
    scratch: NDArray[np.uint8]


def empty(size: int) -> Result:
    """Room for texts of `size` bytes."""
    kinds: dict[str, Any] = {name: hint.__args__[1].__args__[0] for name, hint in Result.__annotations__.items()}
    shapes = {"problem_counts": KINDS, "problem_places": (KINDS, KEPT, 3), "found": (size + 2, 2), "counts": 7}
    return Result(*(np.zeros(shapes.get(name, size + 2), kind) for name, kind in kinds.items()))


@njit
def digit(byte):
    """Whether a byte is a digit."""
    return 48 <= byte <= 57


@njit
def any_digit(text, start, stop):
    """Whether a piece holds a digit."""
    for at in range(start, stop):
        if digit(text[at]):
            return True
    return False


@njit
def rotate(x, bits):
    """32 bits to the left."""
    return ((x << np.uint32(bits)) | (x >> np.uint32(32 - bits))) & np.uint32(0xFFFFFFFF)


@njit
def murmur(text, start, stop, seed):
    """MurmurHash3, x86, 32 bits."""
    h = np.uint32(seed)
    for at in range(start, stop, 4):
        k = np.uint32(0)
        for i in range(min(4, stop - at)):
            k |= np.uint32(np.uint32(text[at + i]) << np.uint32(8 * i))
        k = np.uint32(rotate(np.uint32(k * np.uint32(0xCC9E2D51)), 15) * np.uint32(0x1B873593))
        h = np.uint32(h ^ k)
        if at + 4 <= stop:
            h = np.uint32(np.uint32(rotate(h, 13) * np.uint32(5)) + np.uint32(0xE6546B64))
    h = np.uint32(h ^ np.uint32(stop - start))
    h = np.uint32((h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    h = np.uint32((h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    return np.uint32(h ^ (h >> np.uint32(16)))


@njit
def name_hash(text, start, stop, seed, hash_all):
    """Of a feature or namespace."""
    if not hash_all:
        while start < stop and text[start] <= 32:
            start += 1
        while start < stop and text[stop - 1] <= 32:
            stop -= 1
        number, digits = np.uint32(0), True
        for at in range(start, stop):
            digits = digits and digit(text[at])
            number = np.uint32(np.uint32(number * np.uint32(10)) + np.uint32(text[at] - 48))
        if digits:
            return np.uint32(number + np.uint32(seed))
    return murmur(text, start, stop, seed)


@njit(error_model="numpy")
def power(exponent):
    """VW's table of powers of ten, entry by entry."""
    exponent = (exponent + 128) % 256 - 128
    if exponent > 38 or exponent < -37:
        return F(np.inf) if exponent > 38 else F(0)
    result = F(1)
    for _ in range(abs(exponent)):
        result = F(result * F(10)) if exponent > 0 else F(result / F(10))
    return result


@njit
def number(text, start, stop, scratch):
    """VW's reader of numbers: value and bytes used."""
    if start < stop and text[start] == 0:
        return F(0), 0
    at = start
    while at < stop and text[at] == 32:
        at += 1
    negative = at < stop and text[at] == 45
    at += negative
    value, decimals, exponent = F(0), 0, np.int64(0)
    while at < stop and digit(text[at]):
        value = F(F(F(value * F(10)) + F(text[at])) - F(48))
        at += 1
    if at < stop and text[at] == 46:
        at += 1
        while at < stop and digit(text[at]):
            if decimals < 35:
                value = F(F(value * F(10)) + F(text[at] - 48))
                decimals += 1
            at += 1
    if at < stop and (text[at] == 101 or text[at] == 69):
        at += 1
        smaller = at < stop and text[at] == 45
        at += smaller
        while at < stop and digit(text[at]):
            exponent = (exponent * 10 + np.int64(text[at] - 48)) % 256  # the table is looked up modulo 256
            at += 1
        exponent = -exponent if smaller else exponent
    if at < stop and text[at] != 32 and text[at] != 9:
        return with_strtof(text, start, stop, scratch)
    value = F(value * power(exponent - decimals))
    return (-value if negative else value), at - start


@njit
def with_strtof(text, start, stop, scratch):
    """The C library's reader, on a copy that ends where the line does."""
    for at in range(start, stop):
        scratch[at - start] = text[at]
    scratch[stop - start] = 0
    end = np.zeros(1, np.int64)
    value = F(_strtof(scratch.ctypes.data, end.ctypes.data))
    return value, end[0] - scratch.ctypes.data


@njit
def complain(out, kind, start, stop):
    """Note a problem of the current line."""
    seen = out.problem_counts[kind]
    if seen < KEPT:
        out.problem_places[kind, seen, 0] = out.counts[5]
        out.problem_places[kind, seen, 1] = start
        out.problem_places[kind, seen, 2] = stop
    out.problem_counts[kind] += 1


@njit
def misread(text, start, stop):
    """Whether a number is hexadecimal, or its exponent less its decimals needs more than 8 bits."""
    exponent_at, dot_at = stop, stop
    for at in range(start, stop):
        if text[at] == 120 or text[at] == 88:
            return True
        if text[at] == 46:
            dot_at = at
        if text[at] == 101 or text[at] == 69:
            exponent_at = at
    decimals, power, smaller = 0, 0, False
    for at in range(dot_at, exponent_at):
        decimals += digit(text[at])
    for at in range(exponent_at, stop):
        smaller = smaller or text[at] == 45
        if digit(text[at]):
            power = min(power * 10 + np.int64(text[at] - 48), 100_000)
    power = (-power if smaller else power) - min(decimals, 35)
    return power < -128 or power > 127


@njit
def label_number(out, text, start, stop, kind):
    """A number in front of the bar."""
    value, used = number(text, start, stop, out.scratch)
    if np.isnan(value):
        value, used = F(0), 0
    if used != stop - start or (value == 0 and not any_digit(text, start, stop)):
        complain(out, kind, start, stop)
    elif np.isinf(value):
        complain(out, problems.INFINITE_NUMBER, start, stop)
    elif misread(text, start, stop):
        complain(out, problems.MISREAD_NUMBER, start, stop)
    return value


@njit
def whole(text, start, stop, most):
    """An integer that may begin with a plus; -1 if it is none or above `most`."""
    if start < stop and text[start] == 43:
        start += 1
    result = np.int64(0) if start < stop else np.int64(-1)
    for at in range(start, stop):
        if not digit(text[at]):
            return np.int64(-1)
        result = min(result * 10 + np.int64(text[at] - 48), np.int64(1) << 40)
    return result if result <= most else np.int64(-1)


@njit
def read_costs(out, text, words, count):
    """`class:cost` for the row's label."""
    row = out.counts[0]
    cheapest = UNLABELED
    for i in range(count):
        start, stop = words[i, 0], words[i, 1]
        colon = start
        while colon < stop and text[colon] != 58:
            colon += 1
        name, cost, used = whole(text, start, colon, 2**32 - 1), UNLABELED, 0
        if colon < stop:
            cost, used = number(text, colon + 1, stop, out.scratch)
        if name < 0 or (colon < stop and (used == 0 or used != stop - colon - 1 or not np.isfinite(cost))):
            complain(out, problems.BAD_COST, start, stop)
            continue
        if colon < stop and misread(text, colon + 1, stop):
            complain(out, problems.MISREAD_NUMBER, start, stop)
        at = out.counts[4]
        out.cost_classes[at], out.costs[at] = np.uint32(name), cost
        out.counts[4] += 1
        if cost < cheapest:
            cheapest = cost
            out.labels[row] = F(name)


@njit
def read_label(out, text, start, stop, kind):
    """All before the bar."""
    row = out.counts[0]
    out.labels[row], out.importance[row], out.base[row] = UNLABELED, F(1), F(0)
    for at in range(start, stop):
        if text[at] == 9:
            start = at + 1
            break
    words, count, at = np.zeros((stop - start + 1, 2), np.int64), 0, start
    while at < stop:
        first = at
        while at < stop and text[at] != 32:
            at += 1
        if at > first:
            words[count, 0], words[count, 1] = first, at
            count += 1
        at += 1
    if count and (text[stop - 1] != 32 or text[words[count - 1, 0]] == 39):
        count -= 1
        first, last = words[count, 0], words[count, 1]
        quoted = text[first] == 39
        for at in range(first + quoted, last):
            out.tags[out.counts[3]] = text[at]
            out.counts[3] += 1
        looks = digit(text[last - 1]) and last == stop and number(text, first, last, out.scratch)[1] == last - first
        if count == 0 and looks and not quoted and (kind == SIMPLE or kind == MULTICLASS):
            complain(out, problems.NUMBER_AS_TAG, first, last)
    if kind == COST_SENSITIVE:
        read_costs(out, text, words, count)
    elif count and kind != NONE:
        if count > (2 if kind == MULTICLASS else 3):
            complain(out, problems.TOO_MANY_LABEL_WORDS, words[0, 0], words[count - 1, 1])
            return
        if kind == MULTICLASS:
            found = whole(text, words[0, 0], words[0, 1], 2**24)
            if found >= 0:
                out.labels[row] = F(found)
            else:
                complain(out, problems.BAD_CLASS, words[0, 0], words[0, 1])
        else:
            out.labels[row] = label_number(out, text, words[0, 0], words[0, 1], problems.BAD_LABEL)
        if count > 1:
            out.importance[row] = label_number(out, text, words[1, 0], words[1, 1], problems.BAD_IMPORTANCE)
            if out.importance[row] < 0:
                complain(out, problems.NEGATIVE_IMPORTANCE, words[1, 0], words[1, 1])
                out.importance[row] = F(0)
        if count > 2:
            out.base[row] = label_number(out, text, words[2, 0], words[2, 1], problems.BAD_BASE)
        if np.isinf(out.labels[row]) or np.isinf(out.importance[row]) or np.isinf(out.base[row]):
            out.labels[row], out.importance[row], out.base[row] = UNLABELED, F(1), F(0)


@njit
def ends_name(byte):
    """Whether no name goes on with this byte."""
    return byte == 32 or byte == 9 or byte == 124 or byte == 13 or byte == 58


@njit
def read_feature(out, text, at, stop, options, seed, scale, identity, nameless, found):
    """One feature; returns where it ends, the number of the next nameless one, and how many features there are."""
    first = at
    while at < stop and not ends_name(text[at]):
        at += 1
    name_stop, value, word, word_stop = at, scale, at, at
    if at < stop and text[at] == 58:
        at += 1
        value, used = number(text, at, stop, out.scratch)
        after = at + used
        if options.words and (np.isnan(value) or (after < stop and (text[after] == 58 or not ends_name(text[after])))):
            used = 0
        if used:
            if value == 0 and not any_digit(text, at, at + used):
                complain(out, problems.VALUE_WITHOUT_DIGITS, first, at + used)
            value = F(value * scale)
            if np.isnan(value):
                complain(out, problems.NAN_FEATURE_VALUE, first, at + used)
                value = F(0)
            elif np.isinf(value):
                complain(out, problems.INFINITE_NUMBER, first, at + used)
            elif misread(text, at, at + used):
                complain(out, problems.MISREAD_NUMBER, first, at + used)
            at += used
        else:
            value = F(1)
            word = at
            while word < stop and (text[word] == 32 or text[word] == 9 or text[word] == 13):
                word += 1
            word_stop = word
            while word_stop < stop and text[word_stop] != 32 and text[word_stop] != 9 and text[word_stop] != 13:
                word_stop += 1
            if word < word_stop:
                if word > at:
                    complain(out, problems.BLANK_AFTER_COLON, first, word_stop)
                at = word_stop
    index = name_hash(text, first, name_stop, seed, options.hash_all)
    if word < word_stop:
        index = name_hash(text, word, word_stop, index, options.hash_all)
    elif first == name_stop:
        index = np.uint32(np.uint32(seed) + np.uint32(nameless))
        nameless += 1
    if value != 0:
        out.found[found, 0], out.found[found, 1] = identity, np.int64(index & np.uint32(options.mask))
        out.found_values[found] = value
        found += 1
    return at, nameless, found


@njit
def read_namespace(out, text, at, stop, options, found):
    """From after a bar; returns where it ends and how many features there are."""
    if at < stop and text[at] == 58:
        complain(out, problems.MISSING_NAMESPACE_NAME, at, stop)
        return stop, found
    first, scale, nameless = at, F(1), 0
    while at < stop and not ends_name(text[at]):
        at += 1
    if at > first:
        seed = name_hash(text, first, at, np.uint32(options.seed), options.hash_all)
        identity = np.int64(text[first]) if options.by_letter else np.int64(murmur(text, first, at, np.uint32(0)))
    else:
        seed = murmur(text, first, at, np.uint32(options.seed)) if options.seed else np.uint32(0)
        identity = np.int64(32) if options.by_letter else np.int64(0)
    if at < stop and text[at] == 58:
        at += 1
        scale, used = number(text, at, stop, out.scratch)
        if np.isnan(scale):
            complain(out, problems.NAN_NAMESPACE_VALUE, first, at + used)
            scale = F(1)
        elif used == 0 or (scale == 0 and not any_digit(text, at, at + used)):
            complain(out, problems.BAD_NAMESPACE_VALUE, first, min(stop, at + 1))
            after = at + used
            if after < stop and (not ends_name(text[after]) or text[after] == 58):
                return stop, found
        elif np.isinf(scale):
            complain(out, problems.INFINITE_NUMBER, first, at + used)
        elif misread(text, at, at + used):
            complain(out, problems.MISREAD_NUMBER, first, at + used)
        at += used
    while at < stop and (text[at] == 32 or text[at] == 9):
        at += 1
        if at < stop and text[at] != 32 and text[at] != 9 and text[at] != 124 and text[at] != 13:
            at, nameless, found = read_feature(out, text, at, stop, options, seed, scale, identity, nameless, found)
    if at < stop and text[at] != 124:
        complain(out, problems.CARRIAGE_RETURN if text[at] == 13 else problems.BAD_FEATURE_VALUE, at, stop)
        return stop, found
    return at, found


@njit
def append(out, index, value):
    """A feature of the batch."""
    at = out.counts[1]
    out.indices[at], out.values[at] = np.uint32(index), value
    out.counts[1] += 1


@njit
def begin_namespace(out, identity):
    """A namespace of the batch."""
    at = out.counts[2]
    out.namespace_id[at], out.namespace_ptr[at] = np.uint32(identity), out.counts[1]
    out.counts[2] += 1


@njit
def gather(out, found):
    """Write the line's features, namespace after namespace as they first occur."""
    for i in range(found):
        identity = out.found[i, 0]
        if identity < 0:
            continue
        begin_namespace(out, identity)
        for j in range(i, found):
            if out.found[j, 0] == identity:
                append(out, out.found[j, 1], out.found_values[j])
                out.found[j, 0] = -1


@njit
def read_row(out, text, start, stop, options):
    """One example."""
    for at in range(start, stop):
        if text[at] == 0:
            complain(out, problems.NUL_BYTE, at, at + 1)
            break
    bar = start
    while bar < stop and text[bar] != 124:
        bar += 1
    read_label(out, text, start, bar, options.label)
    at, found = bar, 0
    while at < stop:
        at, found = read_namespace(out, text, at + 1, stop, options, found)
    gather(out, found)
    if options.constant:
        begin_namespace(out, CONSTANT_NAMESPACE)
        append(out, np.uint32(CONSTANT & options.mask), F(1))
    out.group[out.counts[0]] = out.counts[6]
    out.counts[0] += 1
    row = out.counts[0]
    out.row_ptr[row], out.row_namespaces[row] = out.counts[1], out.counts[2]
    out.tag_ptr[row], out.cost_ptr[row] = out.counts[3], out.counts[4]
    out.namespace_ptr[out.counts[2]] = out.counts[1]


@njit
def parse(out, text, size, options):
    """Parse lines, each with its line feed."""
    out.counts[:] = 0
    out.problem_counts[:] = 0
    start = 0
    for stop in range(size):
        if text[stop] != 10:
            continue
        out.counts[5] += 1
        first, last = start, stop
        start = stop + 1
        if last - first >= 3 and text[first] == 0xEF and text[first + 1] == 0xBB and text[first + 2] == 0xBF:
            first += 3
        if last > first and text[last - 1] == 13:
            last -= 1
        if first == last:
            out.counts[6] += 1
        else:
            read_row(out, text, first, last, options)
