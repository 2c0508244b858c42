"""Data read line by line, for the options of VW that need the words of a line: `--audit`, `--invert_hash` and
`--named_labels`."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from hutch.chain import Chain
from hutch.core.batch import CONSTANT_NAMESPACE, Batch, joined
from hutch.core.chain.capabilities import AddsFeatures, FindsTopics, has
from hutch.core.chain.reduction import Labels
from hutch.core.data.chunks import Chunks
from hutch.core.errors import DataError, UsageError, at, did_you_mean
from hutch.core.run.decisions import decisions_of, slot_rows
from hutch.core.text.hashing import namespace_id
from hutch.core.text.names import feature_names
from hutch.core.text.parser import TextParser
from hutch.core.text.problems import UNKNOWN_CLASS, Problem
from hutch.vw.options.declared import DECLARED

Named = tuple[str, int, float]
"""Name, row of the weight table and value of a feature."""
Space = tuple[int, list[str]]
"""A namespace's id, and the names of the features in it."""
See = Callable[[dict[int, str], Batch], Any]
"""Gets the names of features by index, and a batch with one example or decision."""


class LineReader:
    """Reads text line by line; a batch is one line, or one block of lines, so that watchers see each.

    Args:
        labels: names of the classes 1, 2, …; empty if labels are numbers.
        blocks: an example is a block of lines.
        costs: a label names any number of classes, each with `:` and its cost.

    Attributes:
        watchers: called with each example before the chain gets it.
    """

    def __init__(self, labels: Sequence[str] = (), *, blocks: bool = False, costs: bool = False) -> None:
        self._labels, self._blocks, self._costs = labels, blocks, costs
        self.watchers: list[See] = []

    def __call__(self, chunks: Chunks, parser: TextParser) -> Iterator[Batch]:
        """The batches of one source."""
        number = 0
        for chunk in chunks:
            if number == 0:
                parser.start(chunk.source)
            block: list[bytes] = []
            for line in bytes(chunk.data).removesuffix(b"\n").split(b"\n"):
                number += 1
                if self._labels:
                    line = self._known(line, parser, number)
                block.append(line + b"\n")
                if self.watchers and (not self._blocks or line in (b"", b"\r")):
                    yield from self._parsed(block, parser)
                    block = []
            yield from self._parsed(block, parser)

    def _parsed(self, block: list[bytes], parser: TextParser) -> Iterator[Batch]:
        batch = parser.parse(b"".join(block)) if block else None
        if batch is None or not len(batch):
            return
        if self.watchers:
            lines = (line.decode(errors="replace").rstrip("\r\n") for line in block)
            names = {one.index: str(one) for line in lines for one in feature_names(line, parser.options)}
            for see in self.watchers:
                see(names, batch)
        yield batch

    def _known(self, line: bytes, parser: TextParser, number: int) -> bytes:
        """The line with numbers of classes; it loses labels without one, which are reported."""
        words = self._words(line)
        unknown = [word for word in (words if self._costs else words[:1]) if self._name(word) not in self._labels]
        for word in unknown:
            column = len(line[: word.start()].decode(errors="replace")) + 1
            problem = Problem(UNKNOWN_CLASS, parser.source_name, number, column, self._name(word))
            parser.problems.note(problem, parser.options.strict)
        for word in unknown and (unknown if self._costs else words):
            line = line[: word.start()] + b" " * len(word[0]) + line[word.end() :]
        return self.with_number(line, parser.source_name, number)

    @staticmethod
    def _words(line: bytes) -> list[re.Match[bytes]]:
        """The words of the label, without the tag."""
        label = line.partition(b"|")[0]
        words = list(re.finditer(rb"[^ \t\r]+", label))
        if words and (words[-1].end() == len(label) or words[-1][0].startswith(b"'")):
            words.pop()
        return words

    def _name(self, word: re.Match[bytes]) -> str:
        """The name of a class in a word of a label."""
        return (word[0].partition(b":")[0] if self._costs else word[0]).decode(errors="replace")

    def with_number(self, line: bytes, source: str, number: int) -> bytes:
        """The line with numbers of classes in place of their names.

        Raises:
            DataError: no class has that name.
        """
        words = self._words(line)
        for word in reversed(words if self._costs else words[:1]):
            name = self._name(word)
            if name not in self._labels:
                hint = did_you_mean(name, self._labels)
                what = f"got label {name!r}, wanted one of --named_labels; {hint}"
                raise DataError(at(source, number, word.start() + 1, what))
            numbered = str(self._labels.index(name) + 1).encode() + word[0][len(name.encode()) :]
            line = line[: word.start()] + numbered + line[word.end() :]
        return line


def class_weights(chain: Chain, texts: Iterable[str]) -> See:
    """The watcher for `--classweight`, which multiplies the importance of examples.

    Raises:
        UsageError: a value is not CLASS:NUMBER, or labels are neither numbers nor classes.
    """
    if chain.takes not in (Labels.SIMPLE, Labels.MULTICLASS):
        raise UsageError("--classweight: got labels with costs, wanted numbers or classes")
    pairs = [pair.partition(":") for text in texts for pair in text.split(",")]
    for name, mark, weight in pairs:
        if not re.fullmatch("-?[0-9]+", name) or not NUMBER.fullmatch(weight):
            raise UsageError(f"--classweight: got {name + mark + weight!r}, wanted CLASS:NUMBER, a whole number first")
    weights = {int(name): np.float32(weight) for name, _, weight in pairs}

    def see(names: dict[int, str], batch: Batch) -> None:
        batch.importance *= weights.get(int(batch.labels[0]), np.float32(1))

    return see


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def features_of(chain: Chain, names: dict[int, str], batch: Batch) -> list[list[Named]]:
    """The features of an example, or of each action of a decision, as the first sub-model sees them.

    Interactions are among them; nothing is learned.

    Args:
        chain: its base learner keeps a weight per feature: `linear`, or one of those beside it in VW.
        names: of the features, by index.
        batch: one example or decision.

    Raises:
        UsageError: another base learner.
    """
    base: Any = chain.layers[-1]
    if not hasattr(base, "gathered"):
        raise UsageError(f"--audit and --invert_hash: got a chain on {base.name!r}, wanted 'linear'")
    if any(layer.name == "feature_limit" for layer in chain.layers):
        raise UsageError("--audit and --invert_hash: got --feature_limit, which sorts features and leaves out some")
    if (maker := maker_of_actions(chain)) is not None:
        return list(_of_classes(maker, chain, names, batch))
    if not chain.takes.of_decisions:
        return [_features(chain, names, batch, _spaces(chain, names, batch, 0))]
    if chain.takes.of_slots:
        return list(_of_slots(chain, names, batch))
    found = []
    for start, first, stop in decisions_of(batch):
        for row in range(first, stop):
            alone = batch.rows(row, row + 1)
            spaces = _spaces(chain, names, batch, row)
            if first > start:
                alone = joined(batch.rows(start, first), alone)
                spaces = _merged([*spaces, *_without_constant(_spaces(chain, names, batch, start))])
            found.append(_features(chain, names, alone, spaces))
    return found


def maker_of_actions(chain: Chain) -> Any:
    """The layer that makes the actions of an example, which has none of its own; None in other chains."""
    if chain.takes.of_decisions:
        return None
    return next((each for each in chain.layers if each.name in DECLARED and DECLARED[each.name].makes_actions), None)


def _of_classes(maker: Any, chain: Chain, names: dict[int, str], batch: Batch) -> Iterator[list[Named]]:
    """The features of the actions that a layer makes of the classes of an example."""
    copies = maker.state.targets["copies"]
    kept, classes = maker.state.array.copy(), int(copies["classes"][0])
    width, low = int(copies["width"][0]), (1 << int(copies["cleared"][0])) - 1
    try:
        for k in range(classes):
            copies["classes"] = k + 1  # so that the base learner sees this class last
            found = _features(chain, names, batch, _spaces(chain, names, batch, 0))
            submodel = (found[0][1] & low) - k * width if found else 0
            yield [(name, row - submodel, value) for name, row, value in found]
    finally:
        copies["classes"] = classes
        maker.state.array[...] = kept  # with the number of its draws


def _of_slots(chain: Chain, names: dict[int, str], batch: Batch) -> Iterator[list[Named]]:
    """The features of each action that may be chosen, with those of each slot."""
    top: Any = chain.layers[0]
    top.begin_batch(batch, False)
    state, places, are_slots = top.state, top.state.targets["places"], slot_rows(batch)
    several = int(state["several"][0])
    for start, first, stop in decisions_of(batch):
        slots = (np.flatnonzero(are_slots[start:stop]) + start).tolist()
        for k, slot in enumerate(slots):
            line = _without_constant(_spaces(chain, names, batch, slot))
            line = [(int(state["own"][0]) if i == state["anonymous"][0] else i, texts) for i, texts in line]
            which = [(int(state["space"][0]), [f"_ccb_slot_index^index{k}"])] if several or line or slots[1:] else []
            state["several"], places[[0, k]] = len(which), places[[k, 0]]  # the one slot that is shown is this one
            for row in range(first, slots[0]):
                if state["slate"][0] and batch.cost_classes[batch.cost_ptr[row]] != k:
                    continue
                alone = joined(*(batch.rows(i, i + 1) for i in (*range(start, first), row, slot)))
                alone.cost_classes[:] = 0
                shared = _without_constant(_spaces(chain, names, batch, start)) if first > start else []
                yield _features(
                    chain, names, alone, _merged([*_spaces(chain, names, batch, row), *shared, *line, *which])
                )
            state["several"], places[[0, k]] = several, places[[k, 0]]


def _without_constant(spaces: list[Space]) -> list[Space]:
    return [space for space in spaces if space[0] != CONSTANT_NAMESPACE]


def _spaces(chain: Chain, names: dict[int, str], batch: Batch, row: int) -> list[Space]:
    """The namespaces of a row that the chain sees."""
    given = chain.config.input
    listed = _ids(chain, given.keep or given.ignore)
    seen = ((name, indices) for name, indices, _ in batch.row(row)
            if name == CONSTANT_NAMESPACE or (name in listed) == bool(given.keep))  # fmt: skip
    return [(name, [names.get(i, "?") for i in indices.tolist()]) for name, indices in seen]


def _merged(spaces: Iterable[Space]) -> list[Space]:
    """The namespaces, those of the same id in the place of the first."""
    found: dict[int, list[str]] = {}
    for name, texts in spaces:
        found.setdefault(name, []).extend(texts)
    return list(found.items())


def _rewritten(chain: Chain, spaces: list[Space]) -> list[Space]:
    """The namespaces as the layers show them to the base learner."""
    for layer in chain.layers:
        given: Any = layer.parameters
        if has(layer, AddsFeatures):
            listed = _ids(chain, given.namespaces) or {name for name, _ in spaces}
            spaces = [(name, [*texts, *(layer.added(texts) if name in listed - {CONSTANT_NAMESPACE} else ())])
                      for name, texts in spaces]  # fmt: skip
    return spaces


def _features(chain: Chain, names: dict[int, str], batch: Batch, spaces: list[Space]) -> list[Named]:
    base: Any = chain.layers[-1]
    kept = chain.shared.copy()
    chain.run_batch(batch, learn=False)
    chain.shared[...] = kept
    rows, values, terms = base.gathered()
    spaces = _rewritten(chain, spaces)
    texts = [space for _, space in spaces]
    left_out = _ids(chain, getattr(base.parameters, "ignore_linear", ()))
    found = [name for (i, _), space in zip(spaces, texts, strict=True) if i not in left_out for name in space]
    permutations = getattr(base.parameters, "permutations", False)
    found += [name for term in terms for name in _products([texts[k] for k in term], term, permutations)]
    first = rows - rows % np.uint32(chain.shared[0]["multiplier"])
    return list(zip(found, first.tolist(), values.tolist(), strict=False))


def _ids(chain: Chain, names: Sequence[str]) -> set[int]:
    return {namespace_id(name, chain.parser.namespaces) for name in names}


def _products(spaces: list[list[str]], term: list[int], permutations: bool) -> Iterator[str]:
    """Names of the products of one term, in the order of the kernel."""
    for places in allowed_places([len(space) for space in spaces], term, permutations):
        yield "*".join(space[place] for space, place in zip(spaces, places, strict=True))


def allowed_places(sizes: Sequence[int], term: list[int], permutations: bool) -> Iterator[tuple[int, ...]]:
    """Which features of the namespaces of a term, of such sizes, are multiplied: places in each, in order."""
    for places in product(*map(range, sizes)):
        pairs = zip(range(len(term) - 1), range(1, len(term)), strict=True)
        if permutations or all(term[a] != term[b] or places[a] <= places[b] for a, b in pairs):
            yield places


def audit_score(chain: Chain, features: list[Named]) -> np.float32:
    """The score of the base learner for an example or an action, from its features."""
    score = np.float32(0)
    for _, row, value in features:
        score += _shown_weight(chain, row) * np.float32(value)
    return score


def _shown_weight(chain: Chain, row: int) -> np.float32:
    """A weight as L1 and L2 regularization leave it."""
    contraction, gravity = map(np.float32, chain.layers[-1].saved().get("regularization", (1.0, 0.0)))
    weight = chain.weights[row, 0]
    return np.float32(np.sign(weight) * max(abs(float(weight)) - float(gravity), 0.0)) * contraction


def audit_line(chain: Chain, features: list[Named], learns: bool) -> str:
    """A line of VW's `--audit` for an example: `name:index:value:weight@G` by falling contribution, tabs between.

    G, the sum of squared gradients, is present only if the run learns.
    """
    if has(chain.layers[-1], FindsTopics):
        from hutch.vw.topics import audited_topics

        return audited_topics(chain, features)
    adaptive = learns and getattr(chain.layers[-1].parameters, "adaptive", False)
    parts = []
    for name, row, value in features:
        weight = chain.weights[row, 0]
        tail = f"@{chain.weights[row, 1]:g}" if adaptive else ""
        parts.append(
            (abs(float(weight * np.float32(value))), f"\t{name}:{row}:{value:g}:{_shown_weight(chain, row):g}{tail}")
        )
    return "".join(text for _, text in sorted(parts, key=lambda part: -part[0]))
