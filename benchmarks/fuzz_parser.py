"""Compare the text parser with its plain reference on bytes, without end or for a number of inputs.

    python benchmarks/fuzz_parser.py [--plain INPUTS] [--seed N] [ARGUMENTS OF LIBFUZZER]

With atheris (`pip install atheris`) libFuzzer mutates the inputs; `--plain` mutates them with NumPy instead. The first
byte of an input chooses the options, the rest is text. It lies in memory with exactly the promised padding and a page
that cannot be read behind it, then before it, so that a read out of bounds ends the process.
"""

import argparse
import ctypes
import faulthandler
import importlib.util
import inspect
import mmap
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

import numpy as np

from hutch.core.text_parser import PADDING, TextParser

TESTS = Path(__file__).resolve().parent.parent / "tests" / "core"
LONGEST = 4096
SEEDS = (
    b"1 2 0.5 'tag|a:2 x:0.5 12:1e-3 y |b x z:-0.25\n",
    b"-1 |f 44647:0.0448 38977:0.0513 420:0.1120\n\n1 |\n|f a\n",
    b"1 |i 001715609f 0110c3fe87 |c 131f81cc8e 145b1261b1 |i 022fcc2f42\r\n",
    b"1:0.5 2:3 3 shared|f a:12345678.125 bbbbbbbbbbbbbbbbbbbbbbb:0x10 c:+3 d:inf\n",
    b"\xef\xbb\xbf3 1.5 't\t|n:nan a:1e39 \t b::2 c:3|d e:. f:- g: h\n",
)


def module(name: str) -> ModuleType:
    """A module of the tests."""
    spec = importlib.util.spec_from_file_location(name, TESTS / f"{name}.py")
    assert spec and spec.loader
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


class Guarded:
    """Memory between two pages that cannot be touched."""

    def __init__(self) -> None:
        page, self.size = mmap.PAGESIZE, -(-(LONGEST + 2 * PADDING) // mmap.PAGESIZE) * mmap.PAGESIZE
        self._map = mmap.mmap(-1, self.size + 2 * page)
        self.bytes = np.frombuffer(self._map, np.uint8)[page:-page]
        first = self.bytes.ctypes.data
        for address in (first - page, first + self.size):
            if ctypes.CDLL(None, use_errno=True).mprotect(ctypes.c_void_p(address), page, 0):
                raise OSError(ctypes.get_errno(), "mprotect failed")

    def place(self, text: bytes, last: bool) -> np.ndarray:
        """The text with its padding at the beginning or the end of the memory."""
        start = self.size - PADDING - len(text) if last else PADDING
        self.bytes[start : start + len(text)] = np.frombuffer(text, np.uint8)
        return self.bytes[start : start + len(text)]


class Target:
    """What is fuzzed."""

    def __init__(self) -> None:
        self._tests = module("test_text_parser_reference")
        self._memory = Guarded()
        self._fast = [TextParser(options) for options in self._tests.CONFIGURATIONS]

    def __call__(self, data: bytes) -> None:
        """Parse in three ways; raises AssertionError if they differ."""
        if len(data) < 2:
            return
        number = data[0] % len(self._fast)
        text = data[1:LONGEST]
        text = text if text.endswith(b"\n") else text + b"\n"
        options = self._fast[number].options
        found = []
        for last in (True, False):
            parser = TextParser(options)
            found.append(self._tests.rows(parser.parse(self._memory.place(text, last), padded=True)))
        plain = self._tests.reference.ReferenceParser(options)
        wanted = self._tests.expected(plain.parse(text))
        assert found[0] == wanted and found[1] == wanted, f"options {number}, text {text!r}"
        used = self._fast[number]
        used.start("again")  # a parser with a past must not be influenced by it
        before = used.problems.counts.copy()
        again = self._tests.rows(used.parse(text))
        for row in (*again, *wanted):
            row.pop("group")
        assert again == wanted, f"after other texts: options {number}, text {text!r}"
        kinds = [kind for kind, _ in plain.problems]
        assert np.array_equal(used.problems.counts - before, np.bincount(kinds, minlength=len(before))), f"{text!r}"


def mutated(rng: np.random.Generator, corpus: list[bytes]) -> bytes:
    """One of the corpus with pieces copied, cut, swapped with another's, and bytes changed."""
    text = bytearray(corpus[rng.integers(len(corpus))])
    alphabet = b" \t\r\n:|'.-+eE0123456789abcxn\x00\xff\xc3\xa9"
    for _ in range(rng.integers(1, 8)):
        at, length = int(rng.integers(len(text) + 1)), int(rng.integers(1, 12))
        kind = rng.integers(4)
        if kind == 0:
            text[at : at + length] = b""
        elif kind == 1:
            other = corpus[rng.integers(len(corpus))]
            start = int(rng.integers(len(other)))
            text[at:at] = other[start : start + length]
        elif kind == 2:
            text[at:at] = bytes([alphabet[rng.integers(len(alphabet))]]) * int(rng.integers(1, 3))
        elif at < len(text):
            text[at] = alphabet[rng.integers(len(alphabet))]
    return bytes(text)


def with_libfuzzer(target: Target, arguments: list[str]) -> None:
    """Let libFuzzer choose inputs that reach new places of the reference; kernels cannot tell it where they were."""
    import atheris

    for scope in (sys.modules["reference_parser"], sys.modules["reference_parser"].ReferenceParser):
        for name, value in list(vars(scope).items()):
            if inspect.isfunction(value) and value.__module__ == "reference_parser":
                setattr(scope, name, atheris.instrument_func(value))
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(SEEDS):
            for options in range(7):
                Path(corpus, f"{number}-{options}").write_bytes(bytes([options]) + seed)
        atheris.Setup([sys.argv[0], *arguments, corpus], target)
        atheris.Fuzz()


def main() -> None:
    """Fuzz."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--plain", type=int, metavar="INPUTS", help="without atheris, so many inputs")
    arguments.add_argument("--seed", type=int, default=1)
    options, rest = arguments.parse_known_args()
    faulthandler.enable()
    target = Target()
    if options.plain is None:
        with_libfuzzer(target, rest)
        return
    rng, start = np.random.default_rng(options.seed), time.perf_counter()
    for _ in range(options.plain):
        target(bytes([rng.integers(256)]) + mutated(rng, list(SEEDS)))
    print(f"{options.plain} inputs without a difference in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
