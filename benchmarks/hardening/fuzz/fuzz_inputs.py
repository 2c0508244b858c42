"""Inputs for `fuzz_parser.py`: lines by VW's grammar and lines damaged in all ways, a hundred thousand at a time."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

LABELS = (
    [b"", b"1 ", b"-1 ", b"0.779 2 ", b"1 2 0.5 ", b"3 1.5 'tag", b"1", b"7 tag", b"x ", b"1 2 3 4 ", b"1 -2 ", b"nan "]
    + [b"' ", b"''q", b"1:0.5 2:3 3 ", b"4:x ", b"+2 ", b"16777217 ", b"t\t1 ", b"1  ", b" ", b"e ", b"inf ", b"1e2 "]
    + [b"5 1 0 ", b"2 ", b"4294967296:1 ", b"3:-inf ", b"1:2:3 ", b"-0 ", b"1e39 1e39 ", b"0x1p3 ", b"t\t\t2 '"]
)
NAMES = (
    [b"a", b"ab", b"12", b"012", b"00000000", b"12345678", b"123456789", b"abcdefgh", b"abcdefghi", b"0123456789abcdef"]
    + [b"99999999999999999999", b"n" * 17, b"-5", b"1.5", b"\xc3\xa9", b"", b"\x01", b"a\x00b", b"9" * 16, b"1a345678"]
    + [b"12345678a", b"1234567812345678", b"123456781234567", b"12345678123456789", b"\xff" * 9, b"x" * 40]
)
VALUES = (
    [b"1", b"0.5", b"-0.25", b"0", b"-0", b"1e-3", b"1E2", b".5e1", b"5.", b"0.1483", b"12345678", b"16777215.5", b"x"]
    + [b"nan", b"inf", b"0x10", b"+3", b"1e+2", b"1x", b"", b" 3", b"e", b"-", b".", b"-.", b"1e39", b"1e-45", b"1:2"]
    + [b":3", b"0.123456789012345678", b"1_0", b"1e200", b"3|", b"\r4", b"infinity", b"nan(1)", b"..", b"1.2.3", b"--1"]
    + [b"\x00", b"16777152", b"16777151", b"-1677715.2", b".16777216", b"1e18", b"99999999999999999999", b"\xff5"]
)
HEADS = [b"f", b"f", b"foo", b"g", b"", b"12", b"h:2", b"f:0.5", b"g:x", b":", b"f:nan", b"f:0", b"f:1e40", b"\x80"]
BLANKS = [b" ", b" ", b" ", b" ", b"  ", b"\t", b" \t ", b""]
ENDS = [b"\n", b"\n", b"\n", b"\n", b"\r\n", b" \n", b"|\n", b"\r\r\n", b"\n\n", b"\n\r\n"]
STARTS = [b""] * 20 + [b"\xef\xbb\xbf", b"\xef\xbb", b"# ", b"\n", b"\r\n"]
ALPHABET = np.frombuffer(b" \t\r\n:|'.-+eE0123456789abcxn\x00\xff\xc3\xa9\xef\x1f\x21\x7f\x80/;{}", np.uint8)


class Tokens:
    """Byte strings one after the other, so that any sequence of them is one gather."""

    def __init__(self, groups: dict[str, Sequence[bytes]]) -> None:
        tokens = [token for group in groups.values() for token in group]
        self._bytes = np.frombuffer(b"".join(tokens), np.uint8)
        self._lengths = np.array([len(token) for token in tokens])
        self._starts = np.cumsum(self._lengths) - self._lengths
        ends = np.cumsum([len(group) for group in groups.values()])
        self.ranges = {name: (int(end) - len(groups[name]), int(end)) for name, end in zip(groups, ends, strict=True)}

    def draw(self, rng: np.random.Generator, group: str, size: int) -> NDArray[np.int64]:
        """Numbers of tokens of a group."""
        return rng.integers(*self.ranges[group], size)

    def joined(self, numbers: NDArray[np.int64]) -> tuple[Bytes, NDArray[np.int64]]:
        """The tokens one after the other, and where each ends."""
        lengths = self._lengths[numbers]
        ends = np.cumsum(lengths)
        return self._bytes[np.arange(ends[-1]) + np.repeat(self._starts[numbers] - ends + lengths, lengths)], ends


def made_up(rng: np.random.Generator, count: int) -> tuple[list[bytes], list[bytes]]:
    """Random numbers of 1 to 22 characters, and names of 1 to 20 in which digits are as frequent as letters."""
    numbers, names = [], []
    for _ in range(count):
        digits = "".join(map(str, rng.integers(0, 10, rng.integers(1, 21))))
        dot = int(rng.integers(0, 2 * len(digits)))
        text = "-" * int(rng.integers(2)) + digits[:dot] + "." * (dot <= len(digits)) + digits[dot:]
        numbers.append((text + (f"e{rng.integers(-60, 60)}" if rng.random() < 0.1 else "")).encode())
        names.append(bytes(rng.choice(list(b"0123456789ab.-\xc3_"), rng.integers(1, 21)).tolist()))
    return numbers, names


def runs(rng: np.random.Generator, count: int) -> list[bytes]:
    """Runs of 6 to 24 features that are written alike, as kernels read eight at a time; in some one is not."""

    def drawn(letters: str, least: int, most: int) -> bytes:
        return bytes(rng.choice(list(letters.encode()), rng.integers(least, most + 1)).tolist())

    made = []
    for _ in range(count):
        letters = ("0123456789", "abcxyz_", "0123456789abcdef")[rng.integers(3)]
        least, most = ((1, 5), (1, 7), (5, 9), (8, 15), (10, 10), (14, 17))[rng.integers(6)]
        before, behind = ((1, 1), (1, 4), (3, 5), (0, 8))[rng.integers(4)]
        decimals, signed, valued = int(rng.integers(-1, 9)), rng.random() < 0.4, rng.random() < 0.7
        features = []
        for _ in range(rng.integers(6, 25)):
            feature = drawn(letters, least, most)
            if valued:
                sign, dot = b"-" if signed and rng.random() < 0.5 else b"", b"." if decimals >= 0 else b""
                fraction = drawn("0123456789", max(decimals, 0), max(decimals + int(rng.integers(2)), 0))
                feature += b":" + sign + drawn("0123456789", before, behind) + dot + fraction
            features.append(feature)
        if rng.random() < 0.4:
            odd = (NAMES[rng.integers(len(NAMES))], b"z:" + VALUES[rng.integers(len(VALUES))])[rng.integers(2)]
            features[rng.integers(len(features))] = odd
        made.append(b" " + b" ".join(features))
    return made


def damaged(rng: np.random.Generator, text: Bytes) -> Bytes:
    """Bytes changed, dropped, doubled and exchanged for those elsewhere."""
    rate = 10.0 ** rng.uniform(-3, -1)
    chance = rng.random(len(text))
    text = np.where(chance < rate / 2, ALPHABET[rng.integers(0, len(ALPHABET), len(text))], text)
    text = np.where((chance > 1 - rate / 8), rng.integers(0, 256, len(text), np.uint8), text).astype(np.uint8)
    times = np.ones(len(text), np.int64)
    times[rng.random(len(text)) < rate / 4] = 0
    times[rng.random(len(text)) < rate / 4] = 2
    return np.repeat(text, times)


def inputs(rng: np.random.Generator, count: int) -> tuple[Bytes, NDArray[np.int64]]:
    """Texts of one line by the grammar, more or fewer once they are damaged.

    Args:
        rng: draws all.
        count: how many.

    Returns:
        The texts one after the other, each ending with a line feed, and where each ends.
    """
    numbers, names = made_up(rng, 300)
    groups: dict[str, Sequence[bytes]] = {
        "label": LABELS,
        "name": [*NAMES, *names],
        "value": [b":" + value for value in (*VALUES, *numbers)] + [b""] * 200,
        "head": [b"|" + head for head in HEADS],
        "blank": BLANKS,
        "end": ENDS,
        "start": STARTS,
        "run": runs(rng, 400),
    }
    tokens = Tokens(groups)
    features = rng.integers(0, 4, (count, 3)) * (rng.random((count, 3)) < (0.95, 0.5, 0.2))
    kinds = ["start", "label"] + 3 * (["head"] + 3 * ["blank", "name", "value"] + ["run"]) + ["end"]
    drawn = np.stack([tokens.draw(rng, kind, count) for kind in kinds], 1)
    kept = np.ones(drawn.shape, bool)
    for namespace in range(3):
        at = 2 + 11 * namespace
        kept[:, at] = (features[:, namespace] > 0) | (rng.random(count) < 0.1)
        for i in range(3):
            kept[:, at + 1 + 3 * i : at + 4 + 3 * i] = (features[:, namespace] > i)[:, None]
        kept[:, at + 10] = kept[:, at] & (rng.random(count) < 0.15)
    text, ends = tokens.joined(drawn[kept])
    whole = rng.random() < 0.3
    if not whole:
        text = damaged(rng, text)
        text[-1] = ord("\n")
    feeds = np.flatnonzero(text == ord("\n")) + 1
    together = rng.random(len(feeds)) < 0.3  # with the line that follows
    together[-1] = False
    return text, feeds[~together]
