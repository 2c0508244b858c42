"""Makes features of names beside a parser: its buffers, its dictionaries, and the batches with the made features."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.text.hashing import PADDING, NamespaceMode, hash_text, namespace_id
from hutch.core.text.made.kernels import EVENTS, MAKER, count_made, join_made, make_features
from hutch.core.text.made.names import made_names
from hutch.core.text.made.options import Made, Words, ids_of_made
from hutch.core.text.parser import ParserOptions
from hutch.core.text.state import Buffers


@dataclass(frozen=True, slots=True)
class Entries:
    """The words of all dictionaries, sorted by hash within each, and their features.

    Attributes:
        bounds: first and last entry (exclusive) of each dictionary.
        words: bytes of all words.
        word_at: int64 (entries, 2), the offset of each word in them, and its length.
        hashes: uint32 (entries).
        ptr: int64 (entries + 1), offsets into the features.
        indices: uint32 (features).
        values: float32 (features).
    """

    bounds: list[tuple[int, int]]
    words: NDArray[np.uint8]
    word_at: NDArray[np.int64]
    hashes: NDArray[np.uint32]
    ptr: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: NDArray[np.float32]

    @classmethod
    def of(cls, dictionaries: Sequence[Words]) -> "Entries":
        """Those of some dictionaries."""
        bounds: list[tuple[int, int]] = []
        words: list[bytes] = []
        features: list[tuple[NDArray[np.uint32], NDArray[np.float32]]] = []
        for found in dictionaries:
            ordered = sorted(found, key=_hash)
            bounds.append((len(words), len(words) + len(ordered)))
            words += ordered
            features += [found[word] for word in ordered]
        lengths = np.array([len(word) for word in words], np.int64)
        return cls(
            bounds,
            np.frombuffer(b"".join(words) + bytes(PADDING), np.uint8),
            np.stack([np.cumsum(lengths) - lengths, lengths], axis=1),
            np.array(list(map(_hash, words)), np.uint32),
            np.concatenate([[0], np.cumsum([len(indices) for indices, _ in features])]).astype(np.int64),
            np.concatenate([*(indices for indices, _ in features), np.zeros(0, np.uint32)]),
            np.concatenate([*(values for _, values in features), np.zeros(0, np.float32)]),
        )


def _hash(word: bytes) -> int:
    return hash_text(word, 0, "all")


class Maker:
    """What a parser's kernels see of the features that they make.

    Args:
        made: what is made.
        entries: of its dictionaries.
        mode: how namespaces are distinguished.
        mask: of the indices.
        renamed: an array that lives as long as this.

    Attributes:
        record: the MAKER record, an array of length 1.
        per_feature: at most so many features are made of one.
    """

    def __init__(self, made: Made, entries: Entries, mode: NamespaceMode, mask: int, renamed: Any) -> None:
        self._entries, self._ids = entries, np.array(ids_of_made(mode), np.uint32)
        self._indices = entries.indices & np.uint32(mask)
        spaces = [namespace_id(each.namespace, mode) for each in made.affixes]
        sizes = [(each.prefix is not None, each.prefix or each.suffix or 0) for each in made.affixes]
        kept: dict[str, NDArray[Any]] = {
            "affixes": np.array([(space, *size) for space, size in zip(spaces, sizes, strict=True)], np.int64),
            "shapes": np.array([namespace_id(name, mode) for name in made.shapes], np.int64),
            "dictionaries": np.array(
                [
                    (namespace_id(each.namespace, mode), *bounds)
                    for each, bounds in zip(made.dictionaries, entries.bounds, strict=True)
                ],
                np.int64,
            ),
            "entry_hash": entries.hashes,
            "entry_word": entries.word_at + np.array([entries.words.ctypes.data, 0]),
        }
        self._kept = [renamed, *kept.values()]
        self.record = np.zeros(1, MAKER)
        for name, array in kept.items():
            self.record[name] = array.ctypes.data
        counts = {"affix": "affixes", "shape": "shapes", "dictionary": "dictionaries", "entry": "entry_hash"}
        for name, array_name in counts.items():
            self.record[f"{name}_count"] = len(kept[array_name])
        self.per_feature = len(made.affixes) + len(made.shapes) + len(made.dictionaries)
        self._events: dict[str, NDArray[Any]] = {}

    def begin(self, size: int, features: int) -> None:
        """Make room for the features of a text.

        Args:
            size: its bytes.
            features: that it has at most.
        """
        self.record["room"] = room = features * self.per_feature
        self._events = {name: np.empty(room, kind) for name, kind in EVENTS.items()}
        self._events["scratch"] = np.empty(size + PADDING, np.uint8)
        for name, array in self._events.items():
            self.record[name] = array.ctypes.data

    def rewind(self) -> None:
        """Discard what was made."""
        self.record["events"] = 0

    def joined(self, batch: Batch) -> Batch:
        """The batch of the text, with the made features, in arrays of its own."""
        count = int(self.record["events"][0])
        rows, kinds, places, indices, values = (self._events[name][:count] for name in EVENTS)
        entries = self._entries
        features, namespaces = np.zeros(len(batch), np.int64), np.zeros(len(batch), np.int64)
        count_made(rows, kinds, indices, entries.ptr, features, namespaces)
        row_ptr, row_namespaces = batch.row_ptr.copy(), batch.row_namespaces.copy()
        row_ptr[1:] += np.cumsum(features)
        row_namespaces[1:] += np.cumsum(namespaces)
        found = replace(
            batch,
            row_ptr=row_ptr,
            row_namespaces=row_namespaces,
            indices=np.empty(row_ptr[-1], np.uint32),
            values=np.empty(row_ptr[-1], np.float32),
            namespace_ptr=np.empty(row_namespaces[-1] + 1, np.int64),
            namespace_id=np.empty(row_namespaces[-1], np.uint32),
        )
        join_made(
            rows,
            places,
            (kinds, indices, values),
            (entries.ptr, self._indices, entries.values),
            self._ids,
            (batch.row_ptr, batch.row_namespaces),
            (batch.namespace_ptr, batch.namespace_id),
            (batch.indices, batch.values),
            (found.row_ptr, found.row_namespaces),
            (found.namespace_ptr, found.namespace_id),
            (found.indices, found.values),
        )
        return found


class MadeFeatures:
    """What parsers make of names, with the content of its dictionaries.

    Args:
        made: as a chain says it.
        dictionaries: their words, each with the indices, of 32 bits, and the values of its features.

    Attributes:
        made: the same.
        digest: of all of it.
        namespaces: of whose names features are made.
    """

    def __init__(self, made: Made, dictionaries: Sequence[Words]) -> None:
        self.made, self._dictionaries = made, dictionaries
        self._entries = Entries.of(dictionaries)
        of_affixes, of_words = ([each.namespace for each in many] for many in (made.affixes, made.dictionaries))
        self.namespaces = tuple(dict.fromkeys([*of_affixes, *of_words, *made.shapes]))
        content = [repr(made).encode(), *(getattr(self._entries, name).tobytes() for name in _CONTENT)]
        self.digest = sha256(b"".join(content)).hexdigest()

    def attach(self, buffers: Buffers, mode: NamespaceMode) -> None:
        """Have a parser make features, and rename namespaces.

        Args:
            buffers: of the parser.
            mode: how it distinguishes namespaces.
        """
        record, renamed = buffers.record, np.array(list(self._renamed(mode).items()), np.int64).reshape(-1, 2)
        buffers.maker = maker = Maker(self.made, self._entries, mode, int(record["mask"][0]), renamed)
        record["renamed"], record["renamed_count"] = renamed.ctypes.data, len(renamed)
        if maker.per_feature:
            record["maker"], record["make"] = maker.record.ctypes.data, make_features.address

    def named(self, namespace: str, seed: int, name: str, options: ParserOptions) -> Iterator[tuple[str, str, int]]:
        """Namespace, name and index of each feature that is made of one.

        Args:
            namespace: full name of the feature's namespace.
            seed: hash of the namespace.
            name: of the feature; empty without one.
            options: how names are hashed.
        """
        mode = options.namespaces
        space = namespace_id(namespace, mode)
        if space != namespace_id("", mode):
            space = self._renamed(mode).get(space, space)
        told, mask = namespace[:1] if mode == "letter" else namespace, (1 << options.bits) - 1
        for shown, text, index in made_names(self.made, self._dictionaries, space, seed, name, options):
            alone = f" {text}" if shown == "dictionary" else text.removeprefix("_")  # as in VW
            yield shown, told + text if told else alone, index & mask

    def _renamed(self, mode: NamespaceMode) -> dict[int, int]:
        """Ids of namespaces, and those that they count as."""
        named = (self.made.renamed or {}).items()
        return {namespace_id(old, mode): namespace_id(new, mode) for new, olds in named for old in olds}


_CONTENT = ("words", "word_at", "ptr", "indices", "values")
