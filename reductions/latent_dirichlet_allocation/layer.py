"""Topics of documents: latent Dirichlet allocation, learned online from minibatches.

A document is the words of an example, with their counts as values; labels are not looked at. Its prediction is the
topic that it is most about, its scores are the shares of all topics.

Source: M. Hoffman, D. Blei, F. Bach, "Online learning for latent Dirichlet allocation", NIPS 2010; VW 9.11.9, `--lda`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.declarations import Answers
from hutch.core.chain.limits import POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.chain.stored import Stored, dense, room_for
from hutch.core.errors import ConfigError, DataError, ModelError, counted
from hutch.core.kernel.abi import example_of, float32s_at, kernel, shared_of, state_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.learner.memory import Buffer
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.latent_dirichlet_allocation.arithmetic import Arithmetic
from hutch.reductions.latent_dirichlet_allocation.steps import (
    LDA,
    draw_first,
    find_words,
    forget_words,
    gain,
    infer,
    learn_waiting,
    restore,
    take_step,
)
from hutch.reductions.latent_dirichlet_allocation.words import by_row, heaviest

Positive = Annotated[float, Within(gt=0)]
_0, _1 = np.float32(0), np.float32(1)


class LatentDirichletAllocationParameters(Parameters):
    """Parameters of `latent_dirichlet_allocation`.

    Attributes:
        topics: how many.
        document_prior: α: the weight that each topic has in each document before its words are seen.
        word_prior: ρ: the weight that each row of the table, a word, has in each topic before documents are seen.
        documents: D: how many there are; each minibatch stands for all of them.
        minibatch: documents that are learned at once.
        tolerance: topics of a document are found when their weights change by less than this share of their sum.
        learning_rate: a minibatch counts learning_rate · t^-power_t against all before it.
        power_t: above 0.5 for convergence.
        initial_t: minibatches taken as learned before the first.
        scores: `shares` of topics, which add up to 1, or their `weights` γ, which add up to the words and the prior.
        arithmetic: `exact`, or Vowpal Wabbit's approximations: `fast`, or two of them by a number's place in memory,
            `fast_in_fours`.
        vocabulary: topics are shares of the words `seen` so far, whose first weights are near 1; or, as in Vowpal
            Wabbit, of all rows of the `table`, whose first weights are large, and the same whatever the seed.
    """

    topics: Annotated[int, Within(ge=1, le=1 << 16), ExampleValue(3)]
    document_prior: Positive = 0.1
    word_prior: Positive = 0.1
    documents: Positive = 10000.0
    minibatch: Annotated[int, Within(ge=1, le=1 << 30)] = 128
    tolerance: Positive = 0.001
    learning_rate: Annotated[float, Within(ge=0, le=1)] = 1.0
    power_t: Annotated[float, Within(ge=0)] = 0.7
    initial_t: Annotated[float, Within(ge=0)] = 10.0
    scores: Literal["shares", "weights"] = "shares"
    arithmetic: Arithmetic = "exact"
    vocabulary: Literal["seen", "table"] = "seen"


own = state_of(LDA)


@helper
def _report(state, e, importance, bound):
    """Write scores and loss; returns the topic with most weight, counted from 1."""
    gamma, best, total = float32s_at(state.gamma, state.topics), uint64(0), _0
    for k in range(state.topics):
        total += gamma[k]
        if gamma[k] > gamma[best]:
            best = uint64(k)
    if e.scores != uint64(0) and e.score_count == state.topics:
        scores, size = float32s_at(e.scores, state.topics), total if state.shares == uint64(1) else _1
        for k in range(state.topics):
            scores[k] = gamma[k] / size
    e.loss = np.float64(-bound) * np.float64(importance)
    e.raw = e.updated = np.float32(best + uint64(1))
    return np.float32(best + uint64(1))


@kernel
def predict(layer, example, label, importance, offset):
    """Find the topics of a document."""
    state, e = own(layer), example_of(example)
    shared, known = shared_of(e.shared), state.words
    count = find_words(state, e, shared)
    bound = infer(state, max(count, 0), e.length)
    forget_words(state, shared, known)
    return _report(state, e, importance, bound)


@kernel
def learn(layer, example, label, importance, offset):
    """Find the topics of a document, and learn the minibatch that it completes."""
    state, e = own(layer), example_of(example)
    shared = shared_of(e.shared)
    count = find_words(state, e, shared)
    bound = infer(state, max(count, 0), e.length)
    prediction = _report(state, e, importance, bound)
    if count >= 0:
        gain(state, count, e.length, importance)
        if state.waiting == state.minibatch:
            take_step(state, shared)
    return prediction


_KEPT = ("batches", "scale", "waiting", "known")


class LatentDirichletAllocation(Reduction):
    """A learner of topics.

    Raises:
        DataError: counts of words below 0.
    """

    name: ClassVar[str] = "latent_dirichlet_allocation"
    Parameters: ClassVar[type[Parameters]] = LatentDirichletAllocationParameters
    takes = Labels.NONE
    predicts = Predictions.CLASS
    is_base = True
    known_failures = {"offsets_added": "topics of a document have no offset"}
    kernels = Kernels(learn, predict)
    state: Record

    def __init__(self, parameters: LatentDirichletAllocationParameters, context: Context) -> None:
        super().__init__(parameters, context)
        if context.submodels != 1:
            raise ConfigError(f"{self.name}: got {context.submodels} sub-models, wanted one")
        p, topics = parameters, parameters.topics
        self._buffers = {name: Buffer() for name in ("kept", "terms", "found")}
        self._total, self._gained = np.zeros(topics, np.float32), np.zeros(topics, np.float32)
        self._met, self._incoming = 0, dict[str, NDArray[Any]]()
        self._last: Batch | None = None
        self.state = Record(
            LDA,
            **self._buffers,
            topics=topics,
            minibatch=p.minibatch,
            arithmetic=get_args(Arithmetic).index(p.arithmetic),
            table=p.vocabulary == "table",
            seed=context.seed,
            known=(1 << context.bits) if p.vocabulary == "table" else 0,
            batches=p.initial_t,
            scale=1.0,
            total=self._total,
            gained=self._gained,
            norms=np.zeros(2 * topics + 1, np.float32),
            theta=np.zeros(topics, np.float32),
            gamma=np.zeros(2 * topics, np.float32),
            place=np.zeros(1 << context.bits, np.uint32),
            document_prior=p.document_prior,
            word_prior=p.word_prior,
            tolerance=p.tolerance,
            documents=p.documents,
            rate=p.learning_rate,
            power=p.power_t,
            shares=p.scores == "shares",
        )

    @property
    def stride(self) -> int:
        """A number per topic."""
        return 1 << int(self.parameters.topics - 1).bit_length()

    @property
    def answers(self) -> Answers:
        """Topics as classes."""
        p = self.parameters
        shares = p.scores == "shares"
        return replace(super().answers, classes=p.topics, score_count=p.topics, scores_are_probabilities=shares)

    def initialise(self, weights: NDArray[np.float32]) -> None:
        """Draw the first topics, where all rows are words."""
        if self.parameters.vocabulary == "seen":
            return
        p, rows = self.parameters, len(weights)
        size = np.float32(p.documents) / np.float32(p.topics) / np.float32(rows) * np.float32(200)
        draw_first(weights, p.topics, 1 << (2 * p.topics).bit_length(), size, self._total)

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Refuse counts below 0.

        Raises:
            DataError: it names the example.
        """
        if len(batch.values) and batch.values.min() < 0:
            at = int(np.argmax(batch.values < 0))
            example = int(np.searchsorted(batch.row_ptr, at, "right"))
            raise DataError(
                f"{self.name}: example {self._met + example} of this run: got {batch.values[at]:g} times a word, "
                "wanted a count, 0 or more"
            )
        self._met, self._last = self._met + len(batch), batch

    def end_pass(self) -> None:
        """Learn the documents that wait."""
        self.learn_waiting()

    def learn_waiting(self) -> None:
        """Learn the documents that wait, fewer than a minibatch."""
        learn_waiting(np.uint64(self.state.address), np.uint64(self.context.shared.ctypes.data))

    def topic_weights(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """The weight of each row of the table in each topic, the prior included, float32 (rows, topics).

        Args:
            weights: the chain's table.
        """
        p = self.parameters
        found = weights[:, : p.topics] * np.float32(self.state["scale"][0]) + np.float32(p.word_prior)
        return np.asarray(found, np.float32)

    def top_words(
        self, weights: NDArray[np.float32], names: Mapping[int, Mapping[str, None]], count: int
    ) -> list[dict[str, Any]]:
        """The words that have most weight in each topic, see `heaviest`.

        Args:
            weights: the chain's table.
            names: of words, by index.
            count: words of a topic.
        """
        rows, words = by_row(names, int(self.context.shared["mask"][0]))
        return list(heaviest(self.topic_weights(weights[rows]), words, count))

    def gathered(self) -> tuple[NDArray[np.uint32], NDArray[np.float32], list[list[int]]]:
        """Rows and counts of the words of the last batch, for explanations of it; there are no interactions."""
        assert self._last is not None
        return self._last.indices & np.uint32(self.context.shared["mask"][0]), self._last.values, []

    def saved(self) -> dict[str, NDArray[Any]]:
        """Sums of weights, and what the documents that wait say of their words."""
        words, topics = int(self.state["words"][0]), self.parameters.topics
        waiting = {
            "kept": self._buffers["kept"].read(np.uint32, words),
            "gains": self._buffers["terms"].read(np.float32, 2 * topics * words).reshape(words, 2, topics)[:, 1],
        }
        numbers = {name: self.state[name] for name in _KEPT}
        return {"total": self._total, "gained": self._gained, **numbers, **(self._incoming or waiting)}

    def limits(self) -> Mapping[str, Limits]:
        """Fewer documents wait than a minibatch has; the rest are sums."""
        return {
            "total": POSITIVE,
            "gained": POSITIVE,
            "batches": POSITIVE,
            "scale": Limits(1e-300, 1),
            "waiting": Limits(0, self.parameters.minibatch - 1),
            "known": Limits(0, 1 << self.context.bits),
            "kept": Limits(0, (1 << self.context.bits) - 1, grows=True),
            "gains": Limits(0, finite=True, grows=True),
        }

    def check_saved(self, arrays: Mapping[str, Stored]) -> None:
        """Each word waits once.

        Raises:
            ModelError: that is not so.
        """
        kept, gains = (dense(arrays[name]) for name in ("kept", "gains"))
        if len(kept) != len(gains) or len(np.unique_values(kept)) != len(kept):
            raise ModelError(f"{self.name}: got {len(kept)} words that wait, {len(gains)} of them with weights")

    def loading(self, arrays: Mapping[str, Stored]) -> None:
        """Make room for the words that wait."""
        self._incoming = room_for({name: arrays[name] for name in ("kept", "gains")})

    def loaded(self) -> None:
        """Give the words that wait their places.

        Raises:
            ModelError: there is no memory for them.
        """
        found, self._incoming = self._incoming, {}
        self.state.targets["place"][...] = 0
        addresses = np.uint64(self.state.address), np.uint64(self.context.shared.ctypes.data)
        if not restore(*addresses, found["kept"], np.ascontiguousarray(found["gains"])):
            raise ModelError(f"{self.name}: its {len(found['kept'])} words need more memory than there is")

    def doubts(self) -> str | None:
        """Documents that wait for the first minibatch, or have no words."""
        waiting, p = int(self.state["waiting"][0]), self.parameters
        learned = waiting or self.state["batches"][0] > p.initial_t
        if learned and not (self.state["known"][0] or self.state["fresh"][0]):
            return "no document had a word: wanted words behind a bar, as in `| a b`"
        if not waiting or self.state["batches"][0] > p.initial_t:
            return None
        return (
            f"got {counted(waiting, 'document')}, nothing is learned before there are {p.minibatch}: "
            "wanted a smaller `minibatch`"
        )
