"""VW's options for features made of names, and for namespaces under other names, as parts of a chain's `input`."""

import os
import re
from argparse import Namespace
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from hutch.core.config.sections import InputOptions
from hutch.core.data.chunks import Chunks
from hutch.core.data.dictionaries import read_dictionary
from hutch.core.errors import UsageError


def made_of(options: Namespace, decode: Any) -> dict[str, Any]:
    """The keys of `input` that the options set.

    Args:
        options: the command line.
        decode: reads the letters of an option.

    Raises:
        UsageError: a value that is none, or a dictionary that is not there.
    """
    found: dict[str, Any] = {}
    if options.affix:
        found["affixes"] = _affixes(decode(options.affix))
    if options.spelling:
        found["shapes"] = [_letter(decode(value)[0].replace("_", " ")) for value in options.spelling]
    if options.dictionary:
        found["dictionaries"] = [_dictionary(value, options.dictionary_path) for value in options.dictionary]
    if options.redefine:
        found["renamed"] = _renamed(map(decode, options.redefine))
    data = next((name for name in ("json", "dsjson", "csv") if getattr(options, name)), None)
    if found and data is not None:
        name = next(name for name in ("affix", "spelling", "dictionary", "redefine") if getattr(options, name))
        raise UsageError(f"--{name}: got it with --{data}, wanted text: only names in text become features")
    return found


def _letter(letter: str) -> str:
    return "" if letter == " " else letter


def _affixes(text: str) -> list[dict[str, Any]]:
    """Affixes by namespace; of each, VW makes the last first."""
    by_letter: dict[str, list[dict[str, Any]]] = {}
    for value in text.split(","):
        match = re.fullmatch(r"([+-]?)([1-7])([^|: ]?)", value, re.DOTALL)
        if not match:
            raise UsageError(f"--affix: got {value!r}, wanted + or -, a length from 1 to 7, and a letter, as in +2a")
        size = {"suffix" if match[1] == "-" else "prefix": int(match[2])}
        by_letter.setdefault(match[3], []).insert(0, ({"namespace": match[3]} if match[3] else {}) | size)
    for letter, found in by_letter.items():
        if len(found) > 16:
            raise UsageError(f"--affix: got {len(found)} for {letter or 'the default namespace'}, wanted at most 16")
    return [each for found in by_letter.values() for each in found]


def _dictionary(value: str, paths: Iterable[str]) -> dict[str, str]:
    letter, mark, name = value.partition(":") if value[1:2] == ":" and len(value) > 2 else ("", "", value)
    for folder in (*paths, "."):
        if os.path.isfile(path := os.path.join(folder, name) if folder != "." else name):
            return {"file": path} | ({"namespace": letter} if mark and letter != " " else {})
    raise UsageError(f"--dictionary: got {value!r}, wanted a file in . or in --dictionary_path")


def _renamed(values: Iterable[str]) -> dict[str, list[str]]:
    """Letters of namespaces by the letter that they count as; of a letter, the last counts."""
    new: dict[str, str] = {}
    for value in values:
        target, mark, letters = value.partition(":=")
        if not mark or len(target) > 1:
            raise UsageError(f"--redefine: got {value!r}, wanted N:=S, a letter and those that it takes the place of")
        for letter in letters.partition(":")[0]:
            new[letter] = target
        if ":" in letters:
            new = dict.fromkeys(_every_letter(), target)
    found: dict[str, list[str]] = {}
    for letter, target in new.items():
        if letter != target:
            found.setdefault(_letter(target), []).append(letter)
    return found


def _every_letter() -> Iterator[str]:
    """A letter for each first byte that a namespace can have, but for those that end one."""
    yield from (chr(byte) for byte in range(33, 127) if chr(byte) not in "|:")
    for byte in range(0xC2, 0xF5):  # of UTF-8
        yield (
            bytes([byte, *(0x90 for _ in range((byte >= 0xF0) + (byte >= 0xE0))), 0x90]).decode(errors="ignore")
            or "\u0800"
        )


def words_of_made(given: InputOptions, coded: Any) -> Iterator[str]:
    """The options of VW for what a chain makes of names.

    Args:
        given: the chain's `input`.
        coded: writes letters in the form of options.
    """
    if given.affixes:
        spaces = dict.fromkeys(each.namespace for each in given.affixes)
        ordered = [each for space in spaces for each in reversed(given.affixes) if each.namespace == space]
        sizes = ((f"+{each.prefix}" if each.prefix else f"-{each.suffix}") + coded(each.namespace) for each in ordered)
        yield from ("--affix", ",".join(sizes))
    if given.shapes:
        yield from ("--spelling", *(coded(name) or "_" for name in given.shapes))
    if given.dictionaries:
        yield from ("--dictionary", *(f"{each.namespace or ' '}:{each.file}" for each in given.dictionaries))
    if given.renamed:
        yield from ("--redefine", *(f"{coded(new)}:={coded(olds)}" for new, olds in given.renamed.items()))


_FIRST, _FACTOR = 5289374183516789128, 341789041


def dictionary_lines(given: InputOptions) -> Iterator[str]:
    """VW's lines about dictionaries."""
    seen: set[int] = set()
    for each in given.dictionaries:
        name, place = os.path.basename(each.file), each.file if os.path.dirname(each.file) else f"./{each.file}"
        content = b"".join(bytes(chunk.data) for chunk in Chunks([each.file])).replace(b"\r", b"")
        digest = _hash(content)
        yield f"scanned dictionary '{name}' from '{place}', hash={digest:x}"
        if digest not in seen:
            count = len(read_dictionary(each.file))
            yield f"dictionary {name} contains {count} item{'' if count == 1 else 's'}"
        seen.add(digest)


def _hash(content: bytes) -> int:
    """VW's hash of a file: a polynomial of its bytes, which are signed."""
    size = len(content)
    powers = np.cumprod(np.concatenate([[1], np.full(size, _FACTOR)]).astype(np.uint64))
    signed = np.frombuffer(content, np.int8).astype(np.int64).view(np.uint64)
    polynomial = int(np.sum(signed * powers[:size][::-1], dtype=np.uint64))
    return (polynomial + _FIRST * int(powers[size])) % 2**64
