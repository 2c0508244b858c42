"""Models of Vowpal Wabbit 8 and 9, read into chains and written from them.

Such a file holds a header (version, id, range of labels, bits, n-grams, the options that VW keeps, a checksum of all
that), counters of a few reductions from the top of the stack down, and the state of the base learner: a byte that
tells whether it can go on learning, its sums if so, and (row, numbers) for each row in use. Numbers are little-endian.
"""

import re
import struct
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.errors import HutchError, ModelError, at
from hutch.core.text.hashing import hash_text
from hutch.vw.command_line import options_of
from hutch.vw.model_state import (
    FACTORS,
    PER_MODEL,
    STATE,
    VW_VERSION,
    WEIGHTS_ONLY,
    columns_of,
    norms_of,
    set_regularization,
    state_of,
)
from hutch.vw.numbers import leave_out_implied
from hutch.vw.options.table import OPTIONS
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

_VERSION = re.compile(rb"[\x02-\x20]\0\0\0(\d+)\.(\d+)\.(\d+)\0", re.DOTALL)
_MOST_TEXT = 1 << 20
_COUNTERS = {
    "explore_first": ("left", "<u8"),
    "explore_squarecb": ("decisions", "<u8"),
    "explore_regcb": ("decisions", "<u8"),
    "explore_cover": ("decisions", "<u8"),
    "explore_synthetic_cover": ("range", "<f4"),
    "explore_classes": ("decisions", "<u8"),
    "choose_slots": ("several", "<u1"),
    "choose_slate": ("several", "<u1"),
    "contextual_bandit": ("counts", "<u8"),
}
"""State that reductions write between the header and the learner's part: the array's name, and its type in the file."""
_CHANGED = (_COUNTERS.keys() - {"contextual_bandit"}) | {"active", "action_per_class", "simulate_bandit"}
"""Layers that VW 8 kept otherwise, or learned otherwise: its `--cb` had no actions."""
_LOST = {
    "active_cover": "--active_cover",
    "cost_sensitive_active": "--cs_active",
    "explore_decaying": "--epsilon_decay",
    "experience_replay": "--replay_b, --replay_m or --replay_c",
    "interaction_grounded": "--experimental_igl",
    "kernel_svm": "--ksvm",
    "latent_dirichlet_allocation": "--lda",
    "lbfgs": "--bfgs",
    "logarithmic_tree": "--log_multi",
    "marginal": "--marginal",
    "policy_values": "--multiworld_test",
    "polynomial_link": "--autolink",
    "probabilistic_label_tree": "--plt",
    "eigen_memory_tree": "--emt",
    "memory_tree": "--memory_tree",
    "recall_tree": "--recall_tree",
    **dict.fromkeys(
        (
            "search_bits",
            "search_dependencies",
            "search_graph",
            "search_maximum",
            "search_relations",
            "search_sequence",
            "search_spans",
        ),
        "--search",
    ),
    "sketched_newton": "--OjaNewton",
    "stagewise_polynomial": "--stage_poly",
    "svrg": "--svrg",
}
"""Layers whose state VW's models lack, or hold in a form that Hutch does not read, and their options."""
_OLDEST, _WITH_REGULARIZATION = (8, 3, 3), (9, 0, 0)
"""Versions since which a model has this layout, and its `l1_state` and `l2_state`."""


@dataclass
class _Reader:
    """Walks through the bytes of a model.

    Attributes:
        path: of the model, for messages.
        data: the file.
        place: of the next byte.
        checksum: of the bytes read, as VW computes it.
    """

    path: str
    data: bytes
    place: int = 0
    checksum: int = 0

    def bytes(self, size: int, *, counted: bool = True) -> bytes:
        """The next bytes.

        Raises:
            ModelError: the file ends before.
        """
        found = self.data[self.place : self.place + size]
        if len(found) < size:
            raise self.error("the model is truncated: it was not written to its end")
        if counted:
            self.checksum = hash_text(found, self.checksum, "all")
        self.place += size
        return found

    def values(self, kinds: str) -> tuple[Any, ...]:
        """The next numbers; each counts in the checksum by itself."""
        return tuple(struct.unpack("<" + kind, self.bytes(struct.calcsize("<" + kind)))[0] for kind in kinds)

    def text(self) -> str:
        """The next text, with its length before it."""
        (size,) = self.values("I")
        if size > _MOST_TEXT:
            raise self.error("the model is damaged: a text in it is longer than the file can be")
        return self.bytes(size).rstrip(b"\0").decode(errors="replace")

    def error(self, text: str) -> ModelError:
        """The error for a mistake in the file."""
        return ModelError(at(self.path, None, None, text))


@dataclass
class _Header:
    words: list[str] = field(default_factory=list)
    bits: int = 0
    low: float = 0.0
    high: float = 0.0
    version: tuple[int, ...] = ()


def is_vw_model(path: str) -> bool:
    """Whether a file begins as VW's models do; False if it cannot be read, or is a pipe that would wait."""
    try:
        if not Path(path).is_file():
            return False
        with open(path, "rb") as file:
            return bool(_VERSION.match(file.read(48)))
    except OSError:
        return False


def read_vw_model(path: str, given: Namespace) -> Chain:
    """The chain of a model of VW 8.3.3 or later.

    Args:
        path: of a file written by VW.
        given: the command line: VW's models do not hold the loss.

    Raises:
        ModelError: the file cannot be read, is damaged, of another version, or of a chain that Hutch does not have.
        ConfigError: the command line has a wrong value.
    """
    reader = _opened(path)
    header = _header(reader)
    try:
        options = parse([*header.words, "-b", str(header.bits), "--no_stdin"])
        _leave_out_implied(options)
        seed, options.random_seed = options.random_seed, None  # VW keeps the generator's state under this name
        chain_of(options)
    except HutchError as error:
        raise reader.error(f"a model of VW with options that Hutch does not take:\n{error}") from None
    for option in OPTIONS:
        if option.reads == "loss" and not getattr(options, option.name):
            setattr(options, option.name, getattr(given, option.name))
    chain = Chain.from_config(chain_of(options))
    if any(layer.name in _CHANGED for layer in chain.layers):
        _check_version(reader, header.version)
    for layer in chain.layers:
        if layer.name in _LOST:
            raise reader.error(
                f"a model of VW with {_LOST[layer.name]}, whose state Hutch does not read: train it anew"
            )
    if seed is not None:
        chain.shared["random_state"] = np.uint64(seed & (2**64 - 1))
    if options.named_labels:
        chain.remarks["named_labels"] = options.named_labels
    for counts, kind in _counters(chain, options.per_model_save_load):
        counts[...] = np.frombuffer(reader.bytes(counts.size * np.dtype(kind).itemsize), kind).reshape(counts.shape)
    chain.shared["min_label"], chain.shared["max_label"] = header.low, header.high
    _fill(reader, chain, options.per_model_save_load, STATE if header.version >= _WITH_REGULARIZATION else STATE[:-2])
    set_regularization(chain, options)
    return chain


def _leave_out_implied(options: Namespace) -> None:
    """Take options back that VW adds for others."""
    if options.cb or options.cb_explore or options.cbify:
        options.cb_adf = options.cb_explore_adf = False
        options.cb_force_legacy |= options.csoaa is not None  # VW 8 had no other layers for them
    leave_out_implied(options)
    if options.cb_force_legacy:
        options.csoaa = None
        options.cb = None if options.cb_explore or options.cbify else options.cb
        options.cb_explore = None if options.cbify else options.cb_explore


def _check_version(reader: _Reader, version: tuple[int, ...], oldest: tuple[int, ...] = _WITH_REGULARIZATION) -> None:
    if not oldest <= version < (10,):
        got, wanted = (".".join(map(str, each)) for each in (version, oldest))
        raise reader.error(f"a model of VW {got}, wanted one of {wanted} to 9.11: read it with VW 9 and save it")


def _header(reader: _Reader) -> _Header:
    found = _Header(version=tuple(map(int, re.findall(r"\d+", reader.text()))))
    _check_version(reader, found.version, _OLDEST)
    reader.checksum = 0  # of the bytes after the version
    reader.text()  # the model's name
    if reader.bytes(1) != b"m":
        raise reader.error("the model is damaged: its header has another form")
    found.low, found.high, found.bits, topics = reader.values("ffII")
    for name in ("ngram", "skips"):
        (count,) = reader.values("I")
        if count > 256:
            raise reader.error("the model is damaged: its header has another form")
        sizes = [reader.bytes(3).rstrip(b"\0").decode(errors="replace") for _ in range(count)]
        found.words += [word for size in sizes for word in (f"--{name}", size)]
    found.words += reader.text().split()
    if topics and "--lda" not in found.words:
        found.words.append("--lda")
    checksum, (size, wanted) = reader.checksum, struct.unpack("<II", reader.bytes(8, counted=False))
    if size != 4 or wanted != checksum:
        raise reader.error("the model is damaged: its checksum differs")
    return found


def _fill(reader: _Reader, chain: Chain, per_model: bool, state: Sequence[tuple[str, str, str]]) -> None:
    """Read the learner's part."""
    base: Any = chain.layers[-1]
    columns, factors = 1, base.name == FACTORS or base.name in WEIGHTS_ONLY
    if factors:
        columns = columns_of(base)
    elif resumes := reader.bytes(1) == b"\1":
        columns, norms, found = columns_of(base), norms_of(base), {}
        for name, kind, _ in state:
            many = len(norms[0]) if per_model and name in PER_MODEL else 1
            found[name] = np.frombuffer(reader.bytes(np.dtype((kind, many)).itemsize), kind)
        chain.shared["time"] = found["t"]
        chain.shared["min_label"], chain.shared["max_label"] = found["min_label"], found["max_label"]
        for name, sums in zip(PER_MODEL, norms, strict=True):
            sums[: len(found[name])] = found[name]
        if "regularization" in base.saved() and "l1_state" in found:
            base.saved()["regularization"][:] = found["l2_state"][0], found["l1_state"][0]
    row = _row(chain, columns)
    rest = reader.data[reader.place :]
    if len(rest) % row.itemsize:
        raise reader.error(f"the model is damaged: {len(rest)} bytes of weights, of {row.itemsize} each")
    rows: NDArray[Any] = np.frombuffer(rest, row)
    if len(rows) and int(rows["row"].max()) >= len(chain.weights):
        raise reader.error(f"the model is damaged: weight {rows['row'].max()} of {len(chain.weights)}")
    chain.weights[...] = 0
    chain.weights[rows["row"], :columns] = rows["numbers"]
    if base.name == "freegrad":  # VW's weights are those before the last update
        base.refresh(chain.weights)
    if not factors and not resumes and base.name != "linear":
        raise reader.error(f"a model only to predict with, of {base.name}: wanted one without --predict_only_model")


def _row(chain: Chain, columns: int) -> np.dtype[Any]:
    """The type of a row in the file."""
    place = "<u4" if chain.config.weights.bits < 31 and chain.layers[-1].name != FACTORS else "<u8"
    return np.dtype([("row", place), ("numbers", "<f4", (columns,))])


def _counters(chain: Chain, per_model: bool) -> Iterator[tuple[NDArray[Any], str]]:
    """The numbers of layers that stand before the learner's part, and their type in the file."""
    for layer in chain.layers[:-1]:
        if layer.name == "boosting" and layer.parameters.algorithm != "majority":
            yield layer.state["learners"].copy(), "<i4"
            for name in ("votes", "shares") if layer.parameters.algorithm == "adaptive" else ("votes",):
                yield layer.saved()[name][:1], "<f4"
        if layer.name in _COUNTERS:
            name, kind = _COUNTERS[layer.name]
            found = layer.saved()[name]
            yield (found if per_model else found[:1]), kind


def vw_model(chain: Chain) -> bytes:
    """A model of Vowpal Wabbit that predicts and learns on as the chain does.

    Its options are all that the chain needs, the loss included; a model that VW saves again keeps those that VW
    keeps. With several sub-models, `--per_model_save_load` adds the norms.

    Raises:
        UsageError: VW lacks such a chain; the message names the layer.
    """
    words, grams, skips = options_of(chain)
    base: Any = chain.layers[-1]
    state = state_of(chain)
    per_model = any(len(counts) > 1 for counts in (norms_of(base)[0], *(each for each, _ in _counters(chain, True))))
    if seed := int(chain.shared[0]["random_state"]):
        words += ["--random_seed", str(seed)]
    words += ["--per_model_save_load"] if per_model else []
    found = header_of(chain, words, grams, skips)
    found += [numbers.astype(kind).tobytes() for numbers, kind in _counters(chain, per_model)]
    found += [] if base.name in WEIGHTS_ONLY else [b"\1"]
    for name, kind, _ in () if base.name in WEIGHTS_ONLY else STATE:
        numbers = state[name] if per_model else state[name][:1]
        found.append(np.asarray(numbers, kind).tobytes())
    weights = chain.weights[:, : columns_of(base)]
    places = np.flatnonzero(weights.any(axis=1))
    rows = np.empty(len(places), _row(chain, weights.shape[1]))
    rows["row"], rows["numbers"] = places, weights[places]
    return b"".join([*found, rows.tobytes()])


def header_of(chain: Chain, words: Sequence[str], grams: Sequence[str] = (), skips: Sequence[str] = ()) -> list[bytes]:
    """The header of a file of VW.

    Args:
        chain: its range of labels and its bits.
        words: options.
        grams, skips: values of `--ngram` and `--skips`.
    """
    fields = [*_text(""), b"m"]
    fields += [np.array(chain.shared[name][0], "<f4").tobytes() for name in ("min_label", "max_label")]
    fields += [struct.pack("<I", number) for number in (chain.config.weights.bits, 0)]
    for sizes in (grams, skips):
        fields += [struct.pack("<I", len(sizes)), *(size.encode().ljust(3, b"\0") for size in sizes)]
    fields += _text("".join(f" {word}" for word in words))
    checksum = 0
    for each in fields:
        checksum = hash_text(each, checksum, "all")
    return [*_text(VW_VERSION), *fields, struct.pack("<II", 4, checksum)]


def numbers_in(path: str, bits: int) -> tuple[NDArray[Any], tuple[float, float]]:
    """The numbers of a file of `--output_feature_regularizer_binary`, as pairs of a place and a value.

    Args:
        path: of the file.
        bits: of the weight table that they belong to.

    Returns:
        Them, and the range of labels.

    Raises:
        ModelError: the file cannot be read, is damaged, or belongs to another table.
    """
    reader = _opened(path)
    if not _VERSION.match(reader.data):
        raise reader.error("is no file of --output_feature_regularizer_binary")
    header, kind = _header(reader), np.dtype([("place", "<u4"), ("value", "<f4")])
    if header.bits != bits:
        raise reader.error(f"got regularizers for -b {header.bits}, wanted -b {bits}")
    kept, rest = reader.bytes(1), reader.data[reader.place :]
    if kept != b"\1" or len(rest) % kind.itemsize:
        raise reader.error("the file is damaged: it holds no regularizers")
    found: NDArray[Any] = np.frombuffer(rest, kind)
    if len(found) and int(found["place"].max()) >= 2 << bits:
        raise reader.error(f"the file is damaged: place {found['place'].max()} of {2 << bits}")
    if not np.isfinite(found["value"]).all():
        raise reader.error("the file is damaged: it holds a value that is no number")
    return found, (header.low, header.high)


def _opened(path: str) -> _Reader:
    """The bytes of a file.

    Raises:
        ModelError: it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return _Reader(path, file.read())
    except OSError as error:
        raise ModelError(at(path, None, None, f"cannot be read: {error.strerror}")) from None


def _text(text: str) -> list[bytes]:
    """A text with its length before it; each counts in the checksum by itself."""
    coded = text.encode() + b"\0"
    return [struct.pack("<I", len(coded)), coded]
