"""The steps of online variational Bayes: topics of a document from the words' weights, and these from minibatches.

With λ the weights of words in topics, ρ and α the priors, E[log β] = ψ(λ + ρ) - ψ(Σ (λ + ρ)) and γ the weights of
topics in a document, γ = α + Σ n φ with φ ∝ exp(E[log θ] + E[log β]) is repeated until it stays. After minibatch t of S
documents λ = (1 - r) λ + r D / S Σ n φ, with r = rate · (t + t₀)^-power. Decay is lazy: the table holds λ / scale.

Source: M. Hoffman, D. Blei, F. Bach, "Online learning for latent Dirichlet allocation", NIPS 2010, algorithm 2; VW
9.11.9, `--lda`, whose λ lacks the prior.
"""

import math

import numpy as np
from numpy import float32, int64, uint64

from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.core.kernel.abi import float32s_at, int64s_at, record_of, shared_of, uint32s_at, weights_of
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.random import merand48, uniform
from hutch.core.learner.memory import buffer_of, reserve
from hutch.reductions.latent_dirichlet_allocation.arithmetic import digamma, exp_digamma, log_gamma, power

_0, _1 = float32(0), float32(1)
_LEAST_SCALE = 2.0**-40
_LEAST = float32(1e-37)
_SPREAD = 0.2 * math.sqrt(3.0)  # of a uniform number, whose standard deviation is then 0.1
_MOST = float32(1e38)

LDA = np.dtype(
    [
        ("topics", "u8"),
        ("minibatch", "u8"),
        ("arithmetic", "i8"),
        ("table", "u8"),  # 1: every row of the table is a word; 0: those met are
        ("seed", "u8"),  # of first weights
        ("known", "u8"),  # number of words
        ("fresh", "u8"),  # words of this minibatch that are none of these yet
        ("batches", "f8"),  # minibatches learned, with those taken as learned before the first
        ("scale", "f8"),  # of the weight table
        ("waiting", "u8"),  # documents of the present minibatch
        ("words", "u8"),  # rows of these
        ("shares", "u8"),  # 1: scores are shares of topics; 0: their weights
        ("ready", "u8"),  # 1 + words for which `norms` holds; 0: it must be computed
        ("total", "u8"),  # address of float32[topics]: sum of λ over all rows
        ("gained", "u8"),  # address of float32[topics]: sum of what the documents that wait add
        ("norms", "u8"),  # address of float32[2 · topics + 1]: ψ(Σ (λ + ρ)); what words subtract of it; ψ(Σ γ)
        ("theta", "u8"),  # address of float32[topics]: exp E[log θ]
        ("gamma", "u8"),  # address of float32[2 · topics]: γ, and γ one round before
        ("place", "u8"),  # address of uint32[rows]: 1 + place of a row among the words, 0 for none
        ("kept", "u8"),  # BUFFER of uint32: the row of each word
        ("terms", "u8"),  # BUFFER of float32: of each word exp E[log β], and what the documents that wait add
        ("found", "u8"),  # BUFFER of the places of a document's words, uint32, and their counts, float32
        ("document_prior", "f4"),
        ("word_prior", "f4"),
        ("tolerance", "f4"),
        ("documents", "f4"),
        ("rate", "f4"),
        ("power", "f4"),
    ]
)
lda_of = record_of(LDA)
"""A LDA record at an address."""


@inlined
def _row_of(state, shared, row):
    """The first weights of a row, float32[topics]."""
    first = shared.weights + uint64(4) * shared.stride * uint64(row)
    return float32s_at(first, state.topics)


@inlined
def _terms_of(state, place):
    """Of a word: exp E[log β], and what documents add, float32[topics] each."""
    first = buffer_of(state.terms).address + uint64(8) * state.topics * uint64(place)
    return float32s_at(first, state.topics), float32s_at(first + uint64(4) * state.topics, state.topics)


@inlined
def _first_weight(state, row, k):
    """The weight of a word in a topic before it is met: near 1, drawn by the seed, so that topics differ."""
    return _1 + float32(_SPREAD * (uniform(state.seed, row * state.topics + uint64(k), uint64(0)) - 0.5))


@helper
def _prepare(state):
    """Compute the norms for this minibatch; of words met, those that are new in it count with their first weights."""
    topics = state.topics
    total, norms = float32s_at(state.total, topics), float32s_at(state.norms, uint64(2) * topics)
    more = float32(state.known + state.fresh) * state.word_prior + float32(state.fresh)
    for k in range(topics):
        size = total[k] + more
        norms[k] = digamma(size if size > _0 else _1, state.arithmetic)  # 0 before there is any word
        norms[topics + uint64(k)] = norms[k] if state.table == uint64(1) else _0
    state.ready = state.fresh + uint64(1)


@inlined
def _is_new(state, own):
    """Whether the row of these weights is no word yet."""
    return state.table == uint64(0) and own[0] == _0


@helper
def _expect(state, shared, row, place):
    """Write exp E[log β] of a row, up to a factor for each topic where words are those met."""
    own, (terms, gains) = _row_of(state, shared, row), _terms_of(state, place)
    scale, fresh = float32(state.scale), _is_new(state, own)
    for k in range(state.topics):
        terms[k] = (_first_weight(state, row, k) if fresh else own[k] * scale) + state.word_prior
        gains[k] = _0
    state.fresh += uint64(fresh)
    norms = float32s_at(state.norms + uint64(4) * state.topics, state.topics)
    exp_digamma(terms, norms, int64(state.topics) + 1, state.arithmetic, terms)


@helper
def find_words(state, e, shared):
    """Give each word of an example a place; returns how many there are, -1 without memory."""
    if state.ready == uint64(0):
        _prepare(state)
    length, count = e.length, uint64(0)
    room = reserve(state.found, uint64(8) * max(length, uint64(1)))
    if room == uint64(0):
        return int64(-1)
    starts, ids = int64s_at(e.namespaces, e.namespace_count + uint64(1)), uint32s_at(e.namespace_ids, e.namespace_count)
    indices, values = uint32s_at(e.indices, length), float32s_at(e.values, length)
    places, counts = uint32s_at(room, length), float32s_at(room + uint64(4) * length, length)
    place_of = uint32s_at(state.place, shared.mask + uint64(1))
    for j in range(e.namespace_count):
        if ids[j] == CONSTANT_NAMESPACE:
            continue
        for i in range(uint64(starts[j] - starts[0]), uint64(starts[j + uint64(1)] - starts[0])):
            if not values[i] > _0:  # NaN neither; readers let none through, but a layer above may make some
                continue
            row = uint64(indices[i]) & shared.mask
            if place_of[row] == 0:
                place = state.words
                kept = reserve(state.kept, uint64(4) * (place + uint64(1)))
                if kept == uint64(0) or reserve(state.terms, uint64(8) * state.topics * (place + uint64(1))) == uint64(
                    0
                ):
                    return int64(-1)
                uint32s_at(kept, place + uint64(1))[place] = row
                state.words = place + uint64(1)
                place_of[row] = state.words
                _expect(state, shared, row, place)
            places[count], counts[count] = place_of[row] - 1, values[i]
            count += uint64(1)
    if state.ready != state.fresh + uint64(1):
        _prepare(state)
    return int64(count)


@helper
def forget_words(state, shared, first):
    """Take the places of all words from the one at place `first` on away."""
    place_of, rows = (
        uint32s_at(state.place, shared.mask + uint64(1)),
        uint32s_at(buffer_of(state.kept).address, state.words),
    )
    for place in range(first, state.words):
        place_of[rows[place]] = 0
        state.fresh -= uint64(_is_new(state, _row_of(state, shared, rows[place])))
    state.words = uint64(first)


@inlined
def _product(x, y):
    """The sum of products, in eight parts, which the processor adds side by side."""
    n = uint64(len(x))
    whole = n & ~uint64(7)
    a, b, c, d, e, f, g, h = _0, _0, _0, _0, _0, _0, _0, _0
    for k in range(uint64(0), whole, uint64(8)):
        a += x[k] * y[k]
        b += x[k + uint64(1)] * y[k + uint64(1)]
        c += x[k + uint64(2)] * y[k + uint64(2)]
        d += x[k + uint64(3)] * y[k + uint64(3)]
        e += x[k + uint64(4)] * y[k + uint64(4)]
        f += x[k + uint64(5)] * y[k + uint64(5)]
        g += x[k + uint64(6)] * y[k + uint64(6)]
        h += x[k + uint64(7)] * y[k + uint64(7)]
    rest = _0
    for k in range(whole, n):
        rest += x[k] * y[k]
    return ((a + e) + (c + g)) + ((b + f) + (d + h)) + rest


@helper
def _expect_topics(state, numbers, theta):
    """Write exp E[log θ] of the weights of topics."""
    total = _0
    for k in range(len(numbers)):
        total += numbers[k]
    topics = state.topics
    norm = float32s_at(state.norms + uint64(8) * topics, uint64(1))
    norm[0] = digamma(total, state.arithmetic)
    exp_digamma(numbers, norm, int64(state.waiting * topics), state.arithmetic, theta)
    if state.table == uint64(0):
        norms = float32s_at(state.norms, topics)
        for k in range(topics):
            theta[k] *= float32(math.exp(-np.float64(norms[k])))


@helper
def _likelihood(state, gamma):
    """E[log p(θ)] - E[log q(θ)] of the weights of topics in a document, float32."""
    kind, alpha, count, total = state.arithmetic, state.document_prior, float32(state.topics), _0
    for k in range(state.topics):
        total += gamma[k]
    mean = digamma(total, kind)
    found = log_gamma(alpha * count, kind) - count * log_gamma(alpha, kind) - log_gamma(total, kind)
    for k in range(state.topics):
        found += (alpha - gamma[k]) * (digamma(gamma[k], kind) - mean) + log_gamma(gamma[k], kind)
    return found


@helper
def infer(state, count, length):
    """Find the weights of topics in a document, which go to `gamma`; returns the bound of its log likelihood per word.

    Args:
        state: with the words in `found`.
        count: of the words.
        length: of the example, constant included.
    """
    n, topics = uint64(count), state.topics
    gamma, last = float32s_at(state.gamma, topics), float32s_at(state.gamma + uint64(4) * topics, topics)
    theta, room = float32s_at(state.theta, topics), buffer_of(state.found)
    places, counts = uint32s_at(room.address, n), float32s_at(room.address + uint64(4) * length, n)
    for k in range(topics):
        gamma[k] = _1
    score = words = _0
    while True:
        _expect_topics(state, gamma, theta)
        for k in range(topics):
            last[k], gamma[k] = gamma[k], _0
        score = words = _0
        for i in range(n):
            terms, _gains = _terms_of(state, places[i])
            share = _1 / _product(terms, theta)
            times = share * counts[i]
            score -= counts[i] * float32(math.log(share))
            words += counts[i]
            for k in range(topics):
                gamma[k] += times * terms[k]
        change = size = _0
        for k in range(topics):
            gamma[k] = gamma[k] * theta[k] + state.document_prior
            change += abs(gamma[k] - last[k])
            size += gamma[k]
        if not change > state.tolerance * size:
            break
    return (score + _likelihood(state, gamma)) / words if words > _0 else _0


@helper
def gain(state, count, length, importance):
    """Add what a document whose topics were found says of its words."""
    n, topics = uint64(count), state.topics
    theta, gained, room = float32s_at(state.theta, topics), float32s_at(state.gained, topics), buffer_of(state.found)
    places, counts = uint32s_at(room.address, n), float32s_at(room.address + uint64(4) * length, n)
    for i in range(n):
        terms, gains = _terms_of(state, places[i])
        times = importance * counts[i] / _product(terms, theta)
        for k in range(topics):
            more = times * terms[k] * theta[k]
            gains[k] += more
            gained[k] += more
    state.waiting += uint64(1)


@helper
def _fade(state, shared, share):
    """Multiply all weights by `share`, which is done when the table's scale becomes too small."""
    state.scale *= share
    if state.scale < _LEAST_SCALE:
        weights, scale = weights_of(shared), float32(state.scale)
        for i in range(len(weights)):
            if weights[i] > _0:
                weights[i] = max(weights[i] * scale, _LEAST)  # 0 is the weight of words not met
        state.scale = 1.0


@helper
def take_step(state, shared):
    """Learn the documents that wait."""
    topics = state.topics
    total, gained = float32s_at(state.total, topics), float32s_at(state.gained, topics)
    rows = uint32s_at(buffer_of(state.kept).address, state.words)
    state.batches += 1.0
    rate = min(state.rate * power(float32(state.batches), -state.power, state.arithmetic), _1)
    share, times = _1 - rate, rate * (state.documents / float32(state.waiting))
    fresh = state.fresh
    for place in range(state.words):
        own = _row_of(state, shared, rows[place])
        if _is_new(state, own):
            for k in range(topics):
                weight = _first_weight(state, rows[place], k)
                own[k] = float32(np.float64(weight) / state.scale)
                total[k] += weight
    state.known, state.fresh = state.known + fresh, uint64(0)
    _fade(state, shared, np.float64(share))
    for place in range(state.words):
        own, (_terms, gains) = _row_of(state, shared, rows[place]), _terms_of(state, place)
        for k in range(topics):
            own[k] = min(own[k] + float32(np.float64(times * gains[k]) / state.scale), _MOST)
    for k in range(topics):
        total[k] = min(share * total[k] + times * gained[k], _MOST)
        gained[k] = _0
    forget_words(state, shared, uint64(0))
    state.waiting = state.ready = uint64(0)


@compiled
def learn_waiting(address, shared):
    """Learn the documents that wait, fewer than a minibatch.

    Args:
        address: of the LDA record.
        shared: address of the SHARED record.
    """
    state = lda_of(address)
    if state.waiting > uint64(0):
        take_step(state, shared_of(shared))


@compiled
def draw_first(weights, topics, stride, size, total):
    """Draw the first weights of every row from about an exponential distribution, as VW does, and sum them up.

    Args:
        weights: float32 (rows, stride), changed.
        topics: how many columns.
        stride: floats per row in VW, by which the generator of each row begins.
        size: times 1 to 15, what weights are.
        total: float32 (topics), out.
    """
    for row in range(len(weights)):
        state = uint64(row) * uint64(stride)
        for k in range(topics):
            state, drawn = merand48(state)
            state += uint64(1)
            weights[row, k] = float32(1.0 - math.log(np.float64(drawn) + 1e-6)) * size
            total[k] += weights[row, k]


@compiled
def restore(address, shared, rows, gains):
    """Give the words of documents that wait their places again.

    Args:
        address: of the LDA record.
        shared: address of the SHARED record.
        rows: uint32 (words).
        gains: float32 (words, topics).

    Returns:
        False if there is no memory for them.
    """
    state, shared = lda_of(address), shared_of(shared)
    state.fresh = uint64(0)
    _prepare(state)
    count = uint64(len(rows))
    kept = reserve(state.kept, uint64(4) * max(count, uint64(1)))
    if kept == uint64(0) or reserve(state.terms, uint64(8) * state.topics * max(count, uint64(1))) == uint64(0):
        return False
    state.words = count
    place_of = uint32s_at(state.place, shared.mask + uint64(1))
    for i in range(count):
        uint32s_at(kept, count)[i] = rows[i]
        place_of[rows[i]] = i + uint64(1)
        _expect(state, shared, rows[i], i)
        _terms, own = _terms_of(state, i)
        for k in range(state.topics):
            own[k] = gains[i, k]
    state.ready = uint64(0)
    return True
