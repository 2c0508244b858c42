"""A slow, plain parser of VW text, of regular expressions and Python lists: the oracle of the kernels' tests."""

import re
from dataclasses import dataclass, field

import numpy as np

from hutch.core.kernel.abi import UNLABELED
from hutch.core.text import problems as kinds
from hutch.core.text.parser import ParserOptions

F = np.float32


def is_misread(word: bytes) -> bool:
    """Whether a number is hexadecimal, or its exponent less its decimals needs more than 8 bits."""
    mantissa, _, exponent = word.lower().partition(b"e")
    digits = int(re.sub(rb"[^0-9]", b"", exponent) or b"0")  # there may be a sign alone
    decimals = len(re.findall(rb"[0-9]", mantissa.partition(b".")[2]))
    power = (-digits if b"-" in exponent else digits) - min(35, decimals)
    return b"x" in word.lower() or not -128 <= power <= 127


@dataclass
class Row:
    label: float = float(UNLABELED)
    importance: float = 1.0
    base: float = 0.0
    tag: bytes = b""
    group: int = 0
    namespaces: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    costs: list[tuple[int, float]] = field(default_factory=list)


def murmur(data: bytes, seed: int) -> int:
    def rotate(x: int, r: int) -> int:
        return (x << r | x >> 32 - r) & 0xFFFFFFFF

    h = seed
    for at in range(0, len(data), 4):
        piece = data[at : at + 4]
        k = int.from_bytes(piece, "little") * 0xCC9E2D51 & 0xFFFFFFFF
        h ^= rotate(k, 15) * 0x1B873593 & 0xFFFFFFFF
        if len(piece) == 4:
            h = rotate(h, 13) * 5 + 0xE6546B64 & 0xFFFFFFFF
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return h ^ h >> 16


def name_hash(name: bytes, seed: int, mode: str) -> int:
    if mode == "strings":
        name = name.strip(bytes(range(33)))
        if re.fullmatch(rb"[0-9]*", name):
            return (int(name or b"0") + seed) % 2**32
    return murmur(name, seed)


def power(exponent: int) -> np.float32:
    exponent = (exponent + 128) % 256 - 128
    if exponent > 38:
        return F(np.inf)
    if exponent < -37:
        return F(0)
    result = F(1)
    for _ in range(abs(exponent)):
        result = result * F(10) if exponent > 0 else result / F(10)
    return result


STRTOF = re.compile(
    rb"[ \t\n\v\f\r]*([+-]?)(0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?"
    rb"|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan(?:\([0-9a-z_]*\))?)",
    re.I,
)


def strtof(text: bytes) -> tuple[np.float32, int]:
    match = STRTOF.match(text)
    if not match:
        return F(0), 0
    number = match[2].decode().lower()
    value = float("nan") if number[0] == "n" else float.fromhex(number) if "x" in number else float(number)
    return F(-value if match[1] == b"-" else value), match.end()


def number(text: bytes) -> tuple[np.float32, int]:
    """VW's float reader: value and bytes used."""
    if text[:1] == b"\0":
        return F(0), 0
    match = re.match(rb" *(-?)([0-9]*)(?:(\.)([0-9]*))?(?:[eE](-?)([0-9]*))?", text)
    assert match
    sign, whole, _, decimals, minus, exponent = (part or b"" for part in match.groups())
    if match.end() < len(text) and text[match.end()] not in b" \t":
        return strtof(text)
    value = F(0)
    for digit in whole:
        value = F(F(value * F(10)) + F(digit)) - F(48)
    for digit in decimals[:35]:
        value = F(value * F(10)) + F(digit - 48)
    value = value * power(int(exponent or b"0") * (-1 if minus else 1) - len(decimals[:35]))
    return (-value if sign else value), match.end()


class ReferenceParser:
    def __init__(self, options: ParserOptions) -> None:
        self.options = options
        self.problems: list[tuple[int, int]] = []  # kind, line
        self.line = 0

    def parse(self, data: bytes) -> list[Row]:
        rows, group = [], 0
        lines = data.split(b"\n")
        for text in lines[:-1] if not lines[-1] else lines:
            self.line += 1
            text = text.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\r")
            if not text:
                group += 1
                continue
            with np.errstate(all="ignore"):
                rows.append(self.row(text))
            rows[-1].group = group
        return rows

    def complain(self, kind: int) -> None:
        self.problems.append((kind, self.line))

    def row(self, text: bytes) -> Row:
        row = Row()
        if b"\0" in text:
            self.complain(kinds.NUL_BYTE)
        bar = text.find(b"|")
        self.label(text if bar < 0 else text[:bar], row)
        at = bar if bar >= 0 else len(text)
        while at < len(text):
            at = self.namespace(text, at + 1, row)
        if self.options.constant:
            row.namespaces.setdefault(-1, []).append((11650396 & self.mask, 1.0))
        return row

    @property
    def mask(self) -> int:
        return 2**self.options.bits - 1

    def label(self, text: bytes, row: Row) -> None:
        if b"\t" in text:
            text = text[text.index(b"\t") + 1 :]
        words = [word for word in text.split(b" ") if word]
        kind = self.options.label
        if words and (not text.endswith(b" ") or words[-1].startswith(b"'")):
            tag = words.pop()
            row.tag = tag.removeprefix(b"'")
            looks_like_label = re.search(rb"[0-9]$", tag) and not text.endswith(b" ") and number(tag)[1] == len(tag)
            if not words and looks_like_label and kind in ("simple", "multiclass"):
                self.complain(kinds.NUMBER_AS_TAG)
        if kind == "cost_sensitive":
            self.costs(words, row)
        elif words and kind != "none":
            if len(words) > (2 if kind == "multiclass" else 3):
                self.complain(kinds.TOO_MANY_LABEL_WORDS)
                return
            if kind == "multiclass":
                if re.fullmatch(rb"\+?[0-9]+", words[0]) and int(words[0]) <= 2**24:
                    row.label = int(words[0])
                else:
                    self.complain(kinds.BAD_CLASS)
            else:
                row.label = self.label_number(words[0], kinds.BAD_LABEL)
            if len(words) > 1:
                row.importance = self.label_number(words[1], kinds.BAD_IMPORTANCE)
                if row.importance < 0:
                    self.complain(kinds.NEGATIVE_IMPORTANCE)
                    row.importance = 0.0
            if len(words) > 2:
                row.base = self.label_number(words[2], kinds.BAD_BASE)
            if np.isinf([row.label, row.importance, row.base]).any():
                row.label, row.importance, row.base = float(UNLABELED), 1.0, 0.0

    def label_number(self, word: bytes, kind: int) -> float:
        value, used = number(word)
        if np.isnan(value):
            value, used = F(0), 0
        if used != len(word) or (value == 0 and not re.search(rb"[0-9]", word)):
            self.complain(kind)
        elif np.isinf(value):
            self.complain(kinds.INFINITE_NUMBER)
        elif is_misread(word):
            self.complain(kinds.MISREAD_NUMBER)
        return float(value)

    def costs(self, words: list[bytes], row: Row) -> None:
        cheapest = float(UNLABELED)
        for word in words:
            name, colon, text = word.partition(b":")
            cost, used = (float(UNLABELED), 0)
            if colon:
                value, used = number(text)
                cost = float(value)
            good = re.fullmatch(rb"\+?[0-9]+", name) and int(name) < 2**32
            if not good or (colon and (used == 0 or used != len(text) or not np.isfinite(cost))):
                self.complain(kinds.BAD_COST)
                continue
            if colon and is_misread(text):
                self.complain(kinds.MISREAD_NUMBER)
            row.costs.append((int(name), cost))
            if cost < cheapest:
                cheapest, row.label = cost, float(F(int(name)))

    def namespace(self, text: bytes, at: int, row: Row) -> int:
        """Parse from after a bar; returns the place of the next bar or the end."""
        options, value, nameless = self.options, F(1), 0
        if text[at : at + 1] == b":":
            self.complain(kinds.MISSING_NAMESPACE_NAME)
            return len(text)
        name = re.compile(rb"[^ \t|\r:]*").match(text, at)[0]  # type: ignore[index]
        at += len(name)
        if name:
            seed = name_hash(name, options.hash_seed, options.hash)
            identity = name[0] if options.namespaces == "letter" else murmur(name, 0)
        else:
            seed = murmur(b"", options.hash_seed) if options.hash_seed else 0
            identity = 32 if options.namespaces == "letter" else 0
        if text[at : at + 1] == b":":
            at += 1
            value, used = number(text[at:])
            if np.isnan(value):
                self.complain(kinds.NAN_NAMESPACE_VALUE)
                value = F(1)
            elif used == 0 or (value == 0 and not re.search(rb"[0-9]", text[at : at + used])):
                self.complain(kinds.BAD_NAMESPACE_VALUE)
                if text[at + used : at + used + 1] not in (b"", b" ", b"\t", b"|", b"\r"):
                    return len(text)
            elif np.isinf(value):
                self.complain(kinds.INFINITE_NUMBER)
            elif is_misread(text[at : at + used]):
                self.complain(kinds.MISREAD_NUMBER)
            at += used
        while text[at : at + 1] in (b" ", b"\t"):
            at += 1
            if at == len(text) or text[at] in b" \t|\r":
                continue
            at, nameless = self.feature(text, at, seed, value, nameless, identity, row)
        if at < len(text) and text[at] != ord("|"):
            self.complain(kinds.CARRIAGE_RETURN if text[at] == 13 else kinds.BAD_FEATURE_VALUE)
            return len(text)
        return at

    def feature(
        self, text: bytes, at: int, seed: int, scale: np.float32, nameless: int, identity: int, row: Row
    ) -> tuple[int, int]:
        options, value, word = self.options, scale, b""
        name = re.compile(rb"[^ \t|\r:]*").match(text, at)[0]  # type: ignore[index]
        at += len(name)
        if text[at : at + 1] == b":":
            at += 1
            value, used = number(text[at:])
            if options.words and (
                np.isnan(value) or text[at + used : at + used + 1] not in (b"", b" ", b"\t", b"|", b"\r")
            ):
                used = 0
            if used:
                if value == 0 and not re.search(rb"[0-9]", text[at : at + used]):
                    self.complain(kinds.VALUE_WITHOUT_DIGITS)
                value = value * scale
                if np.isnan(value):
                    self.complain(kinds.NAN_FEATURE_VALUE)
                    value = F(0)
                elif np.isinf(value):
                    self.complain(kinds.INFINITE_NUMBER)
                elif is_misread(text[at : at + used]):
                    self.complain(kinds.MISREAD_NUMBER)
                at += used
            else:
                value = F(1)
                match = re.compile(rb"[ \t\r]*([^ \t\r]+)").match(text, at)
                if match:
                    if match.start(1) > at:
                        self.complain(kinds.BLANK_AFTER_COLON)
                    at, word = match.end(), match[1]
        index = name_hash(name, seed, options.hash)
        if word:
            index = name_hash(word, index, options.hash)
        elif not name:
            index = (seed + nameless) % 2**32
            nameless += 1
        if value != 0:
            row.namespaces.setdefault(identity, []).append((index & self.mask, float(value)))
        return at, nameless
