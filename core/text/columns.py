"""Lines in the usual form, a block at a time, in columns: first the starts of features, then their content.

Step by step for some kilobytes of whole lines, with intermediate arrays that stay in the processor's cache: bits mark
the starts of features, 64 bytes at once (the idea of simdjson: G. Langdale, D. Lemire, "Parsing gigabytes of JSON per
second", 2019); bars open namespaces; names and values are read eight at a time in any form; rows are assembled. A
line with anything unusual (control characters, a bar within a word, a namespace in several pieces, malformed places)
ends its block and is left to `slow`.
"""

from numpy import float32, int64, uint32, uint64

from hutch.core.kernel.abi import UNLABELED, float32s_at, prefetch, uint32s_at
from hutch.core.kernel.cache import entry
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.raw_bytes import (
    bars_at,
    bit_count,
    blanks_at,
    byte_at,
    controls_at,
    feeds_at,
    returns_at,
    tabs_at,
    trailing_zeros,
    word_at,
)
from hutch.core.text.eight import copy_eight, fill_eight, hash_eight, read_eight
from hutch.core.text.hashing import ANONYMOUS_LETTER, anonymous_hash, hash_name, murmur3_32
from hutch.core.text.numbers import whole_number
from hutch.core.text.state import (
    BLOCK,
    MULTICLASS,
    SIMPLE,
    add_constant,
    add_namespace,
    call_piece,
    close_row,
    set_label,
    state_at,
)

BLANK, RETURN, FEED, COLON, BAR = 32, 13, 10, 58, 124
DONE, NEEDS_LINE, NEEDS_LABEL = range(3)
MANY_NAMESPACES = 16
"""More in one line are looked up by the slow parser's hash table instead of one by one."""
_ONE, _TOP, ALL = uint64(1), uint64(63), uint64(255)


@helper
def find_features(state, start, length, size):
    """Write the starts of features, and the places of bars and line feeds, in a block of lines.

    Args:
        state: address of the `STATE` record.
        start: place of the first line.
        length: bytes; the block extends to the end of the last line.
        size: of the text.

    Returns:
        Number of features, of bars and line feeds, and the place of the first byte that is unusual, else `size`.
    """
    s = state_at(state)[0]
    text, zero, odd_at = s.text, uint64(0), size
    begins, marks, firsts = uint32s_at(s.begin, s.room), uint32s_at(s.mark, s.room), uint32s_at(s.mark_first, s.room)
    found, marked, in_features, after_blank = zero, zero, zero, zero
    for at in range(start, size, 64):
        here = text + at
        prefetch(uint64(here + 2048))
        blank, bar, feed, control = blanks_at(here), bars_at(here), feeds_at(here), controls_at(here)
        if size - at < 64:
            live = (_ONE << uint64(size - at)) - _ONE
            blank, bar, feed, control = blank & live, bar & live, feed & live, control & live
        odd = control ^ feed
        if odd != zero:
            tabs, returns = tabs_at(here) & odd, returns_at(here)
            returns &= (feed >> _ONE) | (uint64(byte_at(here + 64) == FEED) << _TOP)
            blank |= tabs
            odd &= ~(tabs | returns)
        # the carries of an addition run from each bar to the end of its line
        total = bar + ~feed + in_features
        features = total ^ bar ^ ~feed
        in_features = (bar | (~feed & ~total)) >> _TOP
        first = ((blank << _ONE) | after_blank) & features
        begin = first & ~(blank | bar | control)
        odd |= bar & features & ~first  # it ends a name
        after_blank = blank >> _TOP
        mark = bar | feed
        while mark != zero:
            below = mark ^ (mark - _ONE)
            marks[marked] = uint32(at + trailing_zeros(mark))
            firsts[marked] = uint32(found + bit_count(begin & below))
            marked += _ONE
            mark &= ~below
        count = found + bit_count(begin)
        while True:  # the usual number, without checking the count
            for i in range(8):
                begins[found + uint64(i)] = uint32(at + trailing_zeros(begin))
                begin &= begin - _ONE
            if begin == zero:
                break
            found += uint64(8)
        found = count
        if odd != zero or int64(marked) + 64 > s.room:  # so many bars are unusual
            odd_at = at + trailing_zeros(odd)
            break
        if at + 64 - start >= length and feed != zero:
            break
    firsts[marked] = uint32(found)
    for i in range(found, found + uint64(8)):  # lanes read beyond the end
        begins[i] = uint32(start)
    return found, marked, odd_at


@inlined
def name_end(at):
    """Where a name ends that begins at address `at`."""
    while byte_at(at) > BLANK and byte_at(at) != COLON and byte_at(at) != BAR:
        at += 1
    return at


@helper
def open_namespaces(state, marked, start, odd_at):
    """Hash the names of the namespaces, and spread them over their features; see `find_features` for the arguments.

    Returns:
        The place of the first byte that is unusual.
    """
    s = state_at(state)[0]
    text, seed = s.text, uint32(s.seed)
    marks, firsts = uint32s_at(s.mark, s.room), uint32s_at(s.mark_first, s.room)
    hashes, ids, sizes = uint32s_at(s.mark_hash, s.room), uint32s_at(s.mark_id, s.room), uint32s_at(s.mark_size, s.room)
    weights = float32s_at(s.mark_value, s.room)
    first, before = 0, -1  # of the namespaces of this line, and of the line before
    usual = byte_at(text + start) != 0xEF  # perhaps a byte order mark
    for j in range(marked):
        at = int64(marks[j])
        if at > odd_at or not usual:
            return min(at, odd_at)
        sizes[j] = uint32(0)
        if byte_at(text + at) == FEED:
            before, first = first, j + 1
            usual = byte_at(text + at + 1) != 0xEF
            continue
        name = text + at + 1
        stop = name_end(name)
        size, same = stop - name, before + j - first
        weights[j], sizes[j] = float32(1), uint32(size)
        if size == 0:
            hashes[j] = anonymous_hash(seed)
            ids[j] = uint32(ANONYMOUS_LETTER) if s.by_letter else uint32(0)
        elif (
            before >= 0
            and size <= 8
            and int64(sizes[same]) == size
            and (word_at(text + int64(marks[same]) + 1) ^ word_at(name)) << uint64(64 - 8 * size) == uint64(0)
        ):
            hashes[j], ids[j] = hashes[same], ids[same]
        else:
            hashes[j] = hash_name(name, stop, seed, s.hash_all)
            ids[j] = uint32(byte_at(name)) if s.by_letter else murmur3_32(name, stop, uint32(0))
        if byte_at(stop) == COLON:
            end = name_end(stop + 1)
            weights[j], usual = whole_number(stop + 1, end)
            usual = usual and size > 0 and byte_at(end) <= BLANK
        for k in range(first, j):
            usual = usual and ids[k] != ids[j]
        usual = usual and j - first < MANY_NAMESPACES
        for i in range(firsts[j], firsts[j + 1], 8):
            fill_eight(uint64(s.seeds) + uint64(4) * uint64(i), uint64(hashes[j]))
    return odd_at


@helper
def read_features(state, named, odd_at):
    """Write the indices and values of features; returns the place of the first unusual byte, and whether any is 0."""
    s = state_at(state)[0]
    text, mask, numbers, eight = uint64(s.text), uint64(s.mask), uint64(0 if s.hash_all else 255), uint64(8)
    begins, seeds, firsts = uint32s_at(s.begin, s.room), uint32s_at(s.seeds, s.room), uint32s_at(s.mark_first, s.room)
    stops, indices = uint32s_at(s.name_stop, s.room), uint32s_at(s.found_index, s.room)
    values, zero, namespace, nameless = float32s_at(s.found_value, s.room), uint64(0), 0, uint64(0)
    for i in range(uint64(0), named, eight):
        at = uint64(4) * i
        live = ALL if named - i >= eight else (_ONE << (named - i)) - _ONE
        found = hash_eight(text, s.begin + at, s.seeds + at, numbers, mask, s.name_stop + at, s.found_index + at)
        asked, left = (found >> eight) & live, ~found & live
        while left != uint64(0):
            k, bit = i + uint64(trailing_zeros(left)), left & (uint64(0) - left)
            left ^= bit
            begin = s.text + int64(begins[k])
            stop = name_end(begin)
            stops[k] = uint32(stop - s.text)
            asked |= bit if byte_at(stop) == COLON else uint64(0)
            if begin < stop:
                index = uint64(hash_name(begin, stop, seeds[k], s.hash_all))
            else:
                while uint64(firsts[namespace + 1]) <= k:
                    namespace += 1
                    nameless = uint64(0)
                index = uint64(seeds[k]) + nameless
                nameless += _ONE
            indices[k] = uint32(index & mask)
        if asked == uint64(0):
            fill_eight(s.found_value + at, uint64(0x3F800000))
            continue
        found = read_eight(text, s.name_stop + at, asked, s.found_value + at)
        zero |= found >> eight
        left = asked & ~found
        while left != uint64(0):
            k = i + uint64(trailing_zeros(left))
            left &= left - _ONE
            begin = s.text + int64(stops[k]) + 1
            stop = name_end(begin)
            values[k], good = whole_number(begin, stop)
            zero |= uint64(values[k] == 0)
            if not good or byte_at(stop) > BLANK:
                return min(odd_at, int64(stops[k])), zero != uint64(0)
    return odd_at, zero != uint64(0)


@inlined
def usual_label(state, line, bar):
    """Read the label before the bar if it is missing, or only a number and a blank; returns whether it was so."""
    kind = state_at(state)[0].label_kind
    value, good = UNLABELED, bar == line
    if not good and byte_at(bar - 1) == BLANK and (kind == SIMPLE or (kind == MULTICLASS and bar - line == 2)):
        value, good = whole_number(line, bar - 1)
    if good:
        set_label(state, value, float32(1), float32(0))
    return good


@inlined
def add_features(state, j, with_zeros):
    """Append the features of the namespace that the mark number j opens."""
    s = state_at(state)[0]
    firsts, four, to = uint32s_at(s.mark_first, s.room), uint64(4), uint64(s.features)
    begin, end, weight = uint64(firsts[j]), uint64(firsts[j + 1]), float32s_at(s.mark_value, s.room)[j]
    if weight == 1 and not with_zeros:
        for i in range(begin, end, uint64(8)):
            target = four * (to + i - begin)
            copy_eight(s.indices + target, s.found_index + four * i)
            copy_eight(s.values + target, s.found_value + four * i)
        to += end - begin
    else:
        indices, values = uint32s_at(s.indices, s.room), float32s_at(s.values, s.room)
        found, found_values = uint32s_at(s.found_index, s.room), float32s_at(s.found_value, s.room)
        for i in range(begin, end):
            value = found_values[i] * weight
            indices[to], values[to] = found[i], value
            to += uint64(value != 0 or s.zeros != 0)
    if int64(to) > s.features:
        add_namespace(state, uint32s_at(s.mark_id, s.room)[j], s.features)
        s.features = int64(to)


@helper
def add_rows(state, marked, odd_at, with_zeros):
    """Append the lines from the cursor that end before `odd_at`, and move it; returns `DONE` or `NEEDS_LABEL`."""
    s = state_at(state)[0]
    text, marks = s.text, uint32s_at(s.mark, s.room)
    while marked > 0 and (int64(marks[marked - 1]) >= odd_at or byte_at(text + int64(marks[marked - 1])) != FEED):
        marked -= 1
    j = 0
    while j < marked:
        line, bar = text + s.cursor, text + int64(marks[j])
        if byte_at(bar) == FEED and bar > line and byte_at(bar - 1) == RETURN:
            bar -= 1
        if bar == line and byte_at(bar) != BAR:
            s.group += 1
            s.line += 1
        else:
            labeled = usual_label(state, line, bar)
            if not labeled and s.parse_label == 0:
                return NEEDS_LABEL
            s.line += 1
            if not labeled:
                call_piece(s.parse_label, state, line, bar)
            while byte_at(text + int64(marks[j])) == BAR:
                add_features(state, j, with_zeros)
                j += 1
            if s.constant:
                add_constant(state)
            close_row(state)
        s.cursor = int64(marks[j]) + 1
        j += 1
    return DONE


@entry("int64(uint64, int64)")
def parse_text(state, size):
    """Parse the text of `size` bytes from the cursor on, where a line begins; the text must end with a line feed.

    Returns:
        `DONE`, or the parser that the line at the cursor needs: `NEEDS_LINE`, `NEEDS_LABEL`.
    """
    s = state_at(state)[0]
    length = int64(BLOCK)
    while s.cursor < size:
        start = odd_at = s.cursor
        if s.careful == 0:
            named, marked, odd_at = find_features(state, start, length, size)
            odd_at = open_namespaces(state, int64(marked), start, odd_at)
            odd_at, with_zeros = read_features(state, named, odd_at)
            missing = add_rows(state, int64(marked), odd_at, with_zeros)
            if missing != DONE:
                return missing
        # as much as there was before the unusual line, so that little is read twice where they come often
        length = s.cursor - start + 1 if odd_at < size else min(2 * length, int64(BLOCK))
        if odd_at < size:
            if s.parse_line == 0:
                return NEEDS_LINE
            line, at = s.text + s.cursor, s.text + odd_at
            while byte_at(at) != FEED:
                at += 1
            call_piece(s.parse_line, state, line, at)
            s.cursor = at + 1 - s.text
    return DONE
