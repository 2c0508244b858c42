"""Predictions remembered within a block: the same question, after the same actions, is answered once.

A question is what Vowpal Wabbit's key of it tells: the last byte of each tag, action, policy and learner. So two steps
256 apart with the same actions before them are one question.
"""

from numpy import int64, uint8, uint32, uint64

from hutch.core.kernel.abi import uint32s_at
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.learner.memory import buffer_of, reserve

HEADS = 1 << 12
"""Chains of entries with the same last bits of their hash."""
_MASK, _HEAD = uint64(HEADS - 1), uint64(4)


@helper
def forget(s):
    """Forget all predictions."""
    heads = uint32s_at(s.memo_heads, uint64(HEADS))
    if s.memo_size > uint64(0):
        for k in range(len(heads)):
            heads[k] = 0
    s.memo_size = uint64(0)


@inlined
def _byte(number, there):
    return uint32(uint8(number)) if there else uint32(0)


@helper
def _word(s, policy, k):
    """Word k of a key, whose length in Vowpal Wabbit's bytes is itself cut to one byte."""
    size = uint64(32) + uint64(9) * s.on_count
    size = ((size + uint64(3)) >> uint64(2) << uint64(2)) & uint64(255)
    if k == 0:
        first, second = _byte(s.tag, size > uint64(8)), _byte(policy, size > uint64(12))
        return (
            uint32(size) | first << uint32(8) | second << uint32(16) | _byte(s.learner, size > uint64(16)) << uint32(24)
        )
    if k == 1:
        return _byte(s.on_count, size > uint64(24))
    i = uint64(k - 2)
    at = uint64(32) + uint64(9) * i
    tag, action = uint32s_at(s.on_tags, s.room)[i], uint32s_at(s.on_actions, s.room)[i]
    name = uint32s_at(s.on_names, s.room)[i]
    return (
        _byte(tag, size > at)
        | _byte(action, size > at + uint64(4)) << uint32(8)
        | _byte(name, size > at + uint64(8)) << uint32(16)
    )


@helper
def _hash(s, policy):
    found = uint64(14695981039346656037)
    for k in range(int64(s.on_count) + 2):
        found = (found ^ uint64(_word(s, policy, k))) * uint64(1099511628211)
    return uint32(found ^ (found >> uint64(32)))


@helper
def remembered(s, policy):
    """The action that was predicted for this question; -1 if none was."""
    code = _hash(s, policy)
    at = uint64(uint32s_at(s.memo_heads, uint64(HEADS))[uint64(code) & _MASK])
    words = uint32s_at(buffer_of(s.memo).address, s.memo_size)
    while at != uint64(0):
        if words[at] == code and uint64(words[at + uint64(3)]) == s.on_count:
            same = True
            for k in range(int64(s.on_count) + 2):
                same = same and words[at + _HEAD + uint64(k)] == _word(s, policy, k)
            if same:
                return int64(words[at + uint64(1)])
        at = uint64(words[at + uint64(2)])
    return int64(-1)


@helper
def remember(s, policy, action):
    """Remember an action for this question; without memory nothing is remembered."""
    at = max(s.memo_size, uint64(1))
    size = at + _HEAD + s.on_count + uint64(2)
    address = reserve(s.memo, uint64(4) * size)
    if address == uint64(0):
        return
    words, heads, code = uint32s_at(address, size), uint32s_at(s.memo_heads, uint64(HEADS)), _hash(s, policy)
    words[at], words[at + uint64(1)] = code, uint32(action)
    words[at + uint64(2)], words[at + uint64(3)] = heads[uint64(code) & _MASK], uint32(s.on_count)
    for k in range(int64(s.on_count) + 2):
        words[at + _HEAD + uint64(k)] = _word(s, policy, k)
    heads[uint64(code) & _MASK] = uint32(at)
    s.memo_size = size
