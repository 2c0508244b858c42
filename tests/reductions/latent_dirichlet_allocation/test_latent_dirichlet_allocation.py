"""Topics: against the formulas of the paper in plain NumPy, on documents of known topics, and their memory."""

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from hutch import Chain
from hutch.core.errors import DataError, ModelError
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.latent_dirichlet_allocation.layer import LatentDirichletAllocation

WORDS, TOPICS = 30, 3
SETTINGS = {"topics": TOPICS, "minibatch": 4, "documents": 60, "tolerance": 1e-5, "scores": "weights"}


def chain_with(bits=6, **parameters):
    layer = {"latent_dirichlet_allocation": SETTINGS | parameters}
    return Chain.from_config(
        {"chain": [layer], "weights": {"bits": bits}, "input": {"namespaces": "letter"}, "seed": 3}
    )


def drawn(count=60, seed=0):
    """Documents of three topics with ten words each, as counts (documents, words); and the topic of each."""
    random = np.random.default_rng(seed)
    of = random.integers(TOPICS, size=count)
    shares = np.full((count, TOPICS), 0.05) + 0.85 * (np.arange(TOPICS) == of[:, None])
    words = np.repeat(shares, 10, axis=1) / 10
    return np.array([random.multinomial(40, row / row.sum()) for row in words]), of


def lines(counts):
    return ["| " + " ".join(f"{w}:{n}" for w, n in enumerate(row) if n) for row in counts]


def weights_of(chain):
    return chain.layers[0].topic_weights(chain.weights)


def scores(chain, texts, learn=False):
    found = []
    for batch in chain._batches(texts, None, None, None, 1):
        found.append(chain.run_batch(batch, learn=learn, scores=True)[0].scores)
    return np.concatenate(found)


class Twin:
    """Algorithm 2 of the paper, in float64, with a minibatch at once."""

    def __init__(self, first, rate=1.0, power=0.7, delay=10.0, alpha=0.1, rho=0.1, documents=60):
        self.weights, self.t = first.astype(float), delay
        self.rate, self.power, self.alpha, self.rho, self.documents = rate, power, alpha, rho, documents

    def infer(self, row, norm):
        """Weights of topics, responsibilities of words and the bound per word of a document."""
        used = np.flatnonzero(row)
        beta, n, gamma = np.exp(digamma(self.weights[used] + self.rho) - norm), row[used], np.ones(TOPICS)
        while True:
            theta, before = np.exp(digamma(gamma) - digamma(gamma.sum())), gamma
            phi = beta * theta
            size = phi.sum(axis=1)
            gamma = self.alpha + (n / size) @ phi
            if np.abs(gamma - before).sum() <= 1e-5 * gamma.sum():
                break
        bound = n @ np.log(size) + ((self.alpha - gamma) * (digamma(gamma) - digamma(gamma.sum()))).sum()
        bound += (gammaln(gamma) - gammaln(self.alpha)).sum() + gammaln(self.alpha * TOPICS) - gammaln(gamma.sum())
        return gamma, phi * (n / size)[:, None], bound / n.sum()

    def learn(self, rows, norms):
        """Learn a minibatch; returns weights of topics and losses."""
        found, gains, losses = [], np.zeros_like(self.weights), []
        for row, norm in zip(rows, norms, strict=True):
            gamma, phi, bound = self.infer(row, norm)
            gains[np.flatnonzero(row)] += phi
            found.append(gamma)
            losses.append(-bound)
        self.t += 1
        r = self.rate * self.t**-self.power
        self.weights = (1 - r) * self.weights + r * self.documents / len(rows) * gains
        return np.array(found), np.array(losses)

    def of_all(self):
        """ψ of the sums over all rows."""
        return digamma((self.weights + self.rho).sum(axis=0))


@pytest.mark.parametrize(
    "arithmetic", ["exact", *(pytest.param(each, marks=pytest.mark.slow) for each in ("fast", "fast_in_fours"))]
)
def test_the_formulas_where_all_rows_are_words(arithmetic):
    counts, _ = drawn(26)
    chain = chain_with(vocabulary="table", arithmetic=arithmetic, learning_rate=0.9)
    rows = np.pad(counts, ((0, 0), (0, 64 - WORDS)))
    twin = Twin(weights_of(chain) - 0.1, rate=0.9)
    near = {"rtol": 2e-3} if arithmetic == "exact" else {"rtol": 0.05, "atol": 0.02}
    for first in range(0, 24, 4):
        wanted, losses = twin.learn(rows[first : first + 4], [twin.of_all()] * 4)
        before = chain.statistics.sum_loss
        np.testing.assert_allclose(scores(chain, lines(counts[first : first + 4]), learn=True), wanted, **near)
        np.testing.assert_allclose(chain.statistics.sum_loss - before, losses.sum(), rtol=1e-3)
        np.testing.assert_allclose(weights_of(chain), twin.weights + 0.1, **near)
    chain.learn(lines(counts[24:]))
    chain.end_pass()  # two of four
    twin.learn(rows[24:], [twin.of_all()] * 2)
    np.testing.assert_allclose(weights_of(chain), twin.weights + 0.1, **near)


def test_the_formulas_where_words_are_those_seen():
    counts, _ = drawn(16)
    counts *= np.random.default_rng(1).random(counts.shape) < 0.4  # so that documents have new words
    first = chain_with(minibatch=1, learning_rate=0.0)  # keeps the first weights of each word
    first.learn(lines(np.ones((1, WORDS), int)))
    fresh = (weights_of(first)[:WORDS] - 0.1).astype(float)
    assert np.abs(fresh - 1).max() < 0.18 and fresh.std() == pytest.approx(0.1, abs=0.02)
    chain, twin, known = chain_with(word_prior=3.0), Twin(np.zeros((WORDS, TOPICS)), rho=3.0), np.zeros(WORDS, bool)
    for begin in range(0, 16, 4):
        rows, seen, norms = counts[begin : begin + 4], known.copy(), []
        for row in rows:
            seen |= row > 0
            # words that are new in the minibatch count with weights of 1 until it ends
            norms.append(digamma(twin.weights[known].sum(axis=0) + (seen & ~known).sum() + 3.0 * seen.sum()))
        twin.weights[seen & ~known] = fresh[seen & ~known]
        known, before = seen, chain.statistics.sum_loss
        wanted, losses = twin.learn(rows, norms)
        np.testing.assert_allclose(scores(chain, lines(rows), learn=True), wanted, rtol=2e-3, atol=1e-3)
        np.testing.assert_allclose(chain.statistics.sum_loss - before, losses.sum(), rtol=1e-4)
        np.testing.assert_allclose(weights_of(chain)[:WORDS][known], twin.weights[known] + 3.0, rtol=2e-3)
    assert not (weights_of(chain)[WORDS:] > 3.0).any()


@pytest.mark.slow
def test_known_topics_are_found_and_new_documents_have_theirs():
    counts, _ = drawn(400)
    for bits in (6, 14):  # empty rows do not matter
        chain = chain_with(bits=bits, minibatch=20, documents=400, scores="shares")
        chain.learn(lines(counts))
        beta = weights_of(chain)[:WORDS]
        blocks = (beta / beta.sum(axis=0)).reshape(TOPICS, 10, TOPICS).sum(axis=1)
        names = blocks.argmax(axis=0)
        assert sorted(names) == [0, 1, 2] and blocks.max(axis=0).min() > 0.8
        new, of = drawn(50, seed=1)
        shares = scores(chain, lines(new))
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
        assert (names[shares.argmax(axis=1)] == of).mean() > 0.95
        np.testing.assert_array_equal(chain.predict(lines(new)), shares.argmax(axis=1) + 1)


def test_scores_that_nobody_asked_for_go_nowhere():
    chain = chain_with()
    (batch,) = chain._batches(lines(drawn(1)[0]), None, None, None, 1)
    shown = chain.run_batch(batch, learn=False, scores=True)[0].scores
    shown[...] = -1  # their memory is not the chain's any more
    chain.run_batch(batch, scores=False)
    assert (shown == -1).all()


@pytest.mark.slow
def test_an_importance_counts_a_document_so_often():
    twice, once = chain_with(minibatch=2, documents=2), chain_with(minibatch=4, documents=4)
    records = [{"w": {"a": 3.0, "b": 1.0}}, {"w": {"c": 2.0, "d": 1.0}}]
    twice.learn([{**record, "importance": 2.0} for record in records])
    once.learn([records[0], records[0], records[1], records[1]])
    np.testing.assert_allclose(weights_of(twice), weights_of(once), rtol=1e-3)


@pytest.mark.slow
def test_weights_fade_and_the_table_is_scaled_in_between():
    chain = chain_with(minibatch=1, learning_rate=0.9, power_t=0.0, initial_t=0.0, vocabulary="table")
    start = weights_of(chain) - 0.1
    for _ in range(3):
        chain.learn(["| 7"] * 20)
        assert chain.layers[0].state["scale"][0] >= 2.0**-40
    np.testing.assert_allclose(weights_of(chain)[20] - 0.1, start[20] * 0.1**60, atol=1e-6)
    assert weights_of(chain)[7].sum() == pytest.approx(60, rel=0.02)


def test_a_rate_of_1_forgets_what_was_before():
    chain = chain_with(minibatch=1, power_t=0.0, vocabulary="table")
    chain.learn(["| 3 4", "| 9:2"])
    assert np.flatnonzero(weights_of(chain).sum(axis=1) > 0.31).tolist() == [9]


@pytest.mark.slow
@pytest.mark.parametrize("vocabulary", ["seen", "table"])
def test_documents_that_wait_are_part_of_the_model(vocabulary, tmp_path):
    counts, _ = drawn(31)
    texts = lines(counts)
    whole, first = (chain_with(vocabulary=vocabulary) for _ in range(2))
    whole.learn(texts[:14])
    first.learn(texts[:14])
    assert first.layers[0].state["waiting"][0] == 2
    first.save(tmp_path / "model")
    second = Chain.load(tmp_path / "model")
    np.testing.assert_array_equal(scores(whole, texts), scores(second, texts))
    np.testing.assert_array_equal(whole.learn(texts[14:]), second.learn(texts[14:]))
    whole.end_pass()
    second.end_pass()
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, second.arrays()[name], err_msg=name)
    assert whole.layers[0].state["words"][0] == 0


@pytest.mark.slow
def test_forged_models_are_refused():
    chain = chain_with()
    chain.learn(lines(drawn(6)[0]))
    name = "layer.0.latent_dirichlet_allocation."
    kept = chain.arrays()[f"{name}kept"]
    for key, value, wanted in (
        ("kept", np.full_like(kept, 5), "words that wait"),
        ("kept", np.full_like(kept, 1 << 20), "wanted at most 63"),
        ("gains", chain.arrays()[f"{name}gains"][:1].copy(), "words that wait"),
        ("waiting", np.array([4], np.uint64), "wanted at most 3"),
        ("scale", np.array([0.0]), "wanted at least"),
        ("known", np.array([65], np.uint64), "wanted at most 64"),
    ):
        arrays = dict(chain.arrays()) | {f"{name}{key}": value}
        with pytest.raises(ModelError, match=wanted):
            Chain.from_arrays(arrays, chain.metadata(), "forged")


@pytest.mark.slow
def test_counts_below_0_are_refused_with_their_place():
    with pytest.raises(DataError, match="example 2 of this run: got -2 times a word"):
        chain_with().learn(["| a b", "| a:-2"])


@pytest.mark.slow
def test_documents_that_teach_nothing_are_said():
    chain = chain_with(minibatch=40)
    with pytest.warns(UserWarning, match="got 2 documents, nothing is learned before there are 40: wanted a smaller"):
        chain.learn(["| a b", "| a"])
    chain = chain_with(minibatch=1)
    with pytest.warns(UserWarning, match="no document had a word: wanted words behind a bar, as in `| a b`"):
        chain.learn(["a b c", "a d"])
    chain.learn(["| a"])
    assert chain.layers[0].doubts() is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "check",
    checks_of_reduction(
        LatentDirichletAllocation,
        {"topics": 5, "minibatch": 3, "arithmetic": "fast_in_fours", "vocabulary": "table", "scores": "weights"},
    ),
    ids=str,
)
def test_contract(check):
    check()
