"""Compare the text parser with a plain reference on bytes, without end or for a number of inputs.

    python benchmarks/hardening/fuzz/fuzz_parser.py --inputs 10000000 [--seed N]
    python benchmarks/hardening/fuzz/fuzz_parser.py [ARGUMENTS OF LIBFUZZER]

The first way makes inputs of a grammar and damages them, with NumPy, and compares with a reference that is compiled:
some 100,000 inputs a second, of which every thousandth is also read by the reference in Python of the tests. The second
way needs atheris (`pip install atheris`): libFuzzer searches for inputs that reach new places of the reference in
Python; what kernels do it cannot see, for they are machine code that no compiler of its own has prepared.

An input lies in memory with exactly the promised padding and a page that cannot be touched behind it, then before it,
so that a read out of bounds ends the process. Labels, numbers to the bit, namespaces, tags, costs, groups, and the
places of problems must agree.
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
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import fuzz_inputs
import fuzz_reference
import numpy as np
from fuzz_reference import Options, Result
from numba import njit
from numpy.typing import NDArray

from hutch.core.kernel.abi import array_at, caller_of, float32s_at, int64s_at, uint32s_at
from hutch.core.kernel.decorators import helper, intrinsic
from hutch.core.text.columns import parse_text
from hutch.core.text.label import label_parser
from hutch.core.text.parser import LABEL_KINDS, PADDING, ParserOptions, TextParser
from hutch.core.text.slow import parse_line
from hutch.core.text.state import STATE, Buffers, state_at

TESTS = Path(__file__).parents[3] / "tests/core/text"
LONGEST = 4096
BATCH = 100_000
SAMPLED = 1000
"""Every so many inputs are also read by the reference in Python."""
uint8s_at = array_at(np.uint8)


@intrinsic
def call_parser(typing_context: Any, kernel: Any, state: Any, size: Any) -> Any:
    """Call the parser's kernel at an address."""
    return caller_of("int64(uint64, int64)")


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


@helper
def same(ours, theirs, length):
    """Whether an array of ours begins as theirs; numbers by value, NaN never occurs."""
    for i in range(length):
        if ours[i] != theirs[i]:
            return False
    return True


@helper
def agrees(state, out):
    """Whether a state holds what the reference has found."""
    s = state_at(state)[0]
    counts = out.counts
    examples, features, namespaces, tags, costs = counts[0], counts[1], counts[2], counts[3], counts[4]
    good = s.examples == examples and s.features == features and s.namespaces == namespaces and s.tags == tags
    good = good and s.costs == costs and s.line == counts[5] and s.group == counts[6]
    if not good:
        return False
    room = s.room
    good = same(int64s_at(s.row_ptr, room), out.row_ptr, examples + 1)
    good &= same(uint32s_at(s.indices, room), out.indices, features)
    good &= same(uint32s_at(s.values, room), out.values.view(np.uint32), features)
    good &= same(int64s_at(s.row_namespaces, room), out.row_namespaces, examples + 1)
    good &= same(int64s_at(s.namespace_ptr, room), out.namespace_ptr, namespaces + 1)
    good &= same(uint32s_at(s.namespace_id, room), out.namespace_id, namespaces)
    good &= same(uint32s_at(s.labels, room), out.labels.view(np.uint32), examples)
    good &= same(uint32s_at(s.importance, room), out.importance.view(np.uint32), examples)
    good &= same(uint32s_at(s.base, room), out.base.view(np.uint32), examples)
    good &= same(int64s_at(s.group_of, room), out.group, examples)
    good &= same(int64s_at(s.tag_ptr, room), out.tag_ptr, examples + 1)
    good &= same(uint8s_at(s.tag_bytes, room), out.tags, tags)
    good &= same(int64s_at(s.cost_ptr, room), out.cost_ptr, examples + 1)
    good &= same(uint32s_at(s.cost_classes, room), out.cost_classes, costs)
    good &= same(float32s_at(s.cost_values, room), out.costs, costs)
    kinds = len(out.problem_counts)
    found = int64s_at(s.problem_counts, kinds)
    places = int64s_at(s.problem_places, kinds * fuzz_reference.KEPT * 3)
    for kind in range(kinds):
        good &= found[kind] == out.problem_counts[kind]
        for i in range(min(found[kind], fuzz_reference.KEPT)):
            for j in range(3):
                good &= places[(kind * fuzz_reference.KEPT + i) * 3 + j] == out.problem_places[kind, i, j]
    return good


@njit(error_model="numpy")
def first_difference(parser, state, counters, found, memory, texts, ends, out, options):
    """Number of the first input on which parser and reference differ; the number of inputs if there is none.

    Args:
        parser: address of the parser's kernel.
        state: address of its `STATE` record.
        counters: those of the record that a new text sets to 0.
        found: the counts of problems, likewise.
        memory: between two pages that cannot be touched; what is left of other inputs is around each.
        texts: all inputs, one after the other.
        ends: where each ends.
        out: where the reference writes.
        options: of both.
    """
    s, begin = state_at(state)[0], 0
    for i in range(len(ends)):
        text, size = texts[begin : ends[i]], ends[i] - begin
        begin = ends[i]
        fuzz_reference.parse(out, text, size, options)
        for place in (len(memory) - PADDING - size, PADDING):
            memory[place : place + size] = text
            counters[:] = 0
            found[:] = 0
            s.text = np.int64(memory.ctypes.data) + place
            if call_parser(parser, state, size) != 0 or not agrees(state, out):
                return i
    return len(ends)


class Comparison:
    """Parser and reference of one set of options.

    Args:
        options: of both.
        memory: where the parser reads.
    """

    def __init__(self, options: ParserOptions, memory: Guarded) -> None:
        self.options = options
        self._memory = memory
        self._numbers = Options.of(options)
        self._out: Result = fuzz_reference.empty(LONGEST)
        self._buffers = Buffers(
            mask=self._numbers.mask,
            seed=self._numbers.seed,
            hash_all=self._numbers.hash_all,
            by_letter=self._numbers.by_letter,
            constant=self._numbers.constant,
            words=self._numbers.words,
            label_kind=LABEL_KINDS[options.label],
        )
        self._buffers.begin(np.zeros(8 * LONGEST, np.uint8))  # room for texts of delimiters only
        self._buffers.record["parse_line"], self._buffers.record["parse_label"] = (
            parse_line.address,
            label_parser(LABEL_KINDS[options.label]).address,
        )

    def first_difference(self, texts: NDArray[np.uint8], ends: NDArray[np.int64]) -> int:
        """See the kernel of this name."""
        buffers = self._buffers
        counters = buffers.record.view(np.int64)[: STATE.names.index("serial")]
        found = (counters, buffers.found.counts, self._memory.bytes, texts, ends, self._out, self._numbers)
        return int(first_difference(np.uint64(parse_text.address), np.uint64(buffers.address), *found))


def module(name: str) -> ModuleType:
    """A module of the tests."""
    spec = importlib.util.spec_from_file_location(name, TESTS / f"{name}.py")
    assert spec and spec.loader
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


class Target:
    """What is fuzzed: an input's first byte chooses the options, the rest is text."""

    def __init__(self) -> None:
        self._tests = module("test_parser_reference")
        memory = Guarded()
        self.comparisons = [Comparison(options, memory) for options in self._tests.CONFIGURATIONS]
        self._used = [TextParser(options) for options in self._tests.CONFIGURATIONS]

    def __call__(self, data: bytes) -> None:
        """Parse in all ways; raises AssertionError if they differ."""
        if len(data) < 2:
            return
        number = data[0] % len(self.comparisons)
        text = data[1:LONGEST]
        text = text if text.endswith(b"\n") else text + b"\n"
        comparison = self.comparisons[number]
        texts = np.frombuffer(text, np.uint8)
        assert comparison.first_difference(texts, np.array([len(text)])) == 1, f"options {number}, text {text!r}"
        plain = self._tests.reference.ReferenceParser(comparison.options)
        wanted = self._tests.expected(plain.parse(text))
        used = self._used[number]
        used.start("again")  # a parser with a past must not be influenced by it
        before = used.problems.counts.copy()
        again = self._tests.rows(used.parse(text))
        for row in (*again, *wanted):
            row.pop("group")
        assert again == wanted, f"options {number}, text {text!r}"
        kinds = [kind for kind, _ in plain.problems]
        assert np.array_equal(used.problems.counts - before, np.bincount(kinds, minlength=len(before))), f"{text!r}"


def of_a_grammar(target: Target, inputs: int, seed: int) -> None:
    """Compare on so many inputs; the process ends with a message at the first difference."""
    start, done, lines = time.perf_counter(), 0, 0
    for batch in count():
        rng = np.random.default_rng((seed, batch))
        texts, ends = fuzz_inputs.inputs(rng, BATCH)
        sizes = np.diff(ends, prepend=0)
        comparison = target.comparisons[batch % len(target.comparisons)]
        assert sizes.max() < LONGEST
        differs = comparison.first_difference(texts, ends)
        pieces = [bytes(texts[ends[i] - sizes[i] : ends[i]]) for i in range(0, len(ends), SAMPLED)]
        if differs < len(ends):
            text = bytes(texts[ends[differs] - sizes[differs] : ends[differs]])
            sys.exit(f"seed {seed}, batch {batch}, {comparison.options}: they differ on {text!r}")
        for piece in pieces:
            target(bytes([batch % len(target.comparisons)]) + piece)
        done += len(ends)
        lines += int(np.count_nonzero(texts == ord("\n")))
        seconds = time.perf_counter() - start
        if batch % 10 == 9 or done >= inputs:
            print(f"{done} inputs, {lines} lines without a difference, seed {seed}, {seconds:.0f} s", flush=True)
        if done >= inputs:
            return


def with_libfuzzer(target: Target, arguments: list[str]) -> None:
    """Let libFuzzer choose inputs that reach new places of the reference in Python."""
    import atheris

    for scope in (sys.modules["reference_parser"], sys.modules["reference_parser"].ReferenceParser):
        for name, value in list(vars(scope).items()):
            if inspect.isfunction(value) and value.__module__ == "reference_parser":
                setattr(scope, name, atheris.instrument_func(value))
    with tempfile.TemporaryDirectory() as corpus:
        for options in range(len(target.comparisons)):
            texts, ends = fuzz_inputs.inputs(np.random.default_rng(options), 100)
            for number, (start, stop) in enumerate(zip(np.r_[0, ends[:-1]], ends, strict=True)):
                Path(corpus, f"{number}-{options}").write_bytes(bytes([options]) + bytes(texts[start:stop]))
        atheris.Setup([sys.argv[0], *arguments, corpus], target)
        atheris.Fuzz()


def main() -> None:
    """Fuzz."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--inputs", type=int, help="without atheris, so many inputs")
    arguments.add_argument("--seed", type=int, default=1)
    options, rest = arguments.parse_known_args()
    faulthandler.enable()
    target = Target()
    if options.inputs is None:
        with_libfuzzer(target, rest)
    else:
        of_a_grammar(target, options.inputs, options.seed)


if __name__ == "__main__":
    main()
