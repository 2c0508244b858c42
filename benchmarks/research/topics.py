"""Topics of simulated documents, found by Hutch and, where they are installed, by scikit-learn and gensim.

    pip install scikit-learn gensim && python benchmarks/research/topics.py --seeds 3

Documents are drawn from known topics. All learn the same minibatches once, with the same priors and the same rates.
`found` is the mean cosine between the true topics and those learned, each with its own by the best assignment;
`perplexity` is that of new documents, their topics inferred by scikit-learn's own rule with the words' shares of each
learner; the true topics have the lowest there is.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch import Chain

Documents = list[tuple[NDArray[Any], NDArray[Any]]]
Learner = Callable[[Documents, int, int, int, int], NDArray[np.float64]]
PRIOR, WORD_PRIOR, RATE, DELAY = 0.1, 0.1, 0.7, 10


def simulate(words: int, topics: int, count: int, seed: int) -> tuple[NDArray[np.float64], Documents]:
    """Topics with few words each, and documents of about 100 words with few topics each."""
    random = np.random.default_rng(seed)
    true = random.dirichlet(np.full(words, 0.05), topics)
    documents = []
    for _ in range(count):
        parts = random.multinomial(random.poisson(100) + 1, random.dirichlet(np.full(topics, PRIOR)))
        drawn = [random.choice(words, n, p=true[k]) for k, n in enumerate(parts) if n]
        documents.append(np.unique(np.concatenate(drawn), return_counts=True))
    return true, documents


def by_hutch(documents: Documents, words: int, topics: int, minibatch: int, seed: int) -> NDArray[np.float64]:
    """The topics of `latent_dirichlet_allocation`; each word has a row of its own."""
    parameters = {
        "topics": topics, "minibatch": minibatch, "documents": len(documents), "document_prior": PRIOR,
        "word_prior": WORD_PRIOR, "learning_rate": 1.0, "power_t": RATE, "initial_t": DELAY,
    }  # fmt: skip
    chain = Chain.from_config(
        {
            "chain": [{"latent_dirichlet_allocation": parameters}],
            "input": {"namespaces": "letter", "constant": False},
            "seed": seed,
        }
    )
    chain.learn([f"| {' '.join(f'{w}:{n}' for w, n in zip(*each, strict=True))}" for each in documents])
    chain.end_pass()
    return np.asarray(chain.layers[0].topic_weights(chain.weights)[:words].T, np.float64)  # type: ignore[attr-defined]


def by_scikit_learn(documents: Documents, words: int, topics: int, minibatch: int, seed: int) -> NDArray[np.float64]:
    """The topics of `LatentDirichletAllocation`."""
    from sklearn.decomposition import LatentDirichletAllocation

    learner = LatentDirichletAllocation(
        topics, doc_topic_prior=PRIOR, topic_word_prior=WORD_PRIOR, learning_decay=RATE, learning_offset=DELAY,
        batch_size=minibatch, learning_method="online", total_samples=len(documents), max_iter=1, random_state=seed,
    )  # fmt: skip
    return np.asarray(learner.fit(matrix_of(documents, words)).components_)


def by_gensim(documents: Documents, words: int, topics: int, minibatch: int, seed: int) -> NDArray[np.float64]:
    """The topics of `LdaModel`."""
    from gensim.models import LdaModel

    bags = [[(int(w), int(n)) for w, n in zip(*each, strict=True)] for each in documents]
    learner = LdaModel(
        bags, topics, {k: str(k) for k in range(words)}, chunksize=minibatch, passes=1, decay=RATE, offset=DELAY,
        alpha=PRIOR, eta=WORD_PRIOR, eval_every=None, random_state=seed, update_every=1,
    )  # fmt: skip
    return np.asarray(learner.get_topics())


def matrix_of(documents: Documents, words: int) -> Any:
    """Counts as a sparse matrix."""
    from scipy.sparse import csr_matrix

    ends = np.cumsum([0, *(len(found) for found, _ in documents)])
    columns, counts = (np.concatenate([each[k] for each in documents]) for k in (0, 1))
    return csr_matrix((counts.astype(float), columns, ends), (len(documents), words))


def found_share(true: NDArray[np.float64], learned: NDArray[np.float64]) -> float:
    """The mean cosine of topics and those learned, by the best assignment."""
    from scipy.optimize import linear_sum_assignment

    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (true, learned)]
    cosines = unit[0] @ unit[1].T
    return float(cosines[linear_sum_assignment(-cosines)].mean())


def perplexity(shares: NDArray[np.float64], documents: Documents) -> float:
    """Of each document's second half of words, its topics inferred from the first."""
    log_likelihood, count = 0.0, 0
    beta = shares / shares.sum(axis=1, keepdims=True)
    for words, counts in documents:
        seen, rest = counts - counts // 2, counts // 2
        theta = np.ones(len(beta)) / len(beta)
        for _ in range(100):
            share = theta[:, None] * beta[:, words] + 1e-300
            theta = PRIOR / len(beta) + (share / share.sum(axis=0) * seen).sum(axis=1)
            theta /= theta.sum()
        log_likelihood += float(rest @ np.log(theta @ beta[:, words]))
        count += int(rest.sum())
    return float(np.exp(-log_likelihood / count))


LEARNERS: dict[str, Learner] = {"hutch": by_hutch, "scikit-learn": by_scikit_learn, "gensim": by_gensim}


def main() -> None:
    """Print a table of means."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in {"words": 2000, "topics": 20, "documents": 10000, "minibatch": 256, "seeds": 3}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    by_hutch(simulate(50, 2, 9, 0)[1], 50, 2, 4, 0)  # compiles its kernels
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for seed in range(given.seeds):
        true, documents = simulate(given.words, given.topics, given.documents + 500, seed)
        learned, new = documents[:-500], documents[-500:]
        rows.setdefault("the true topics", []).append((1.0, perplexity(true + 1e-12, new), 0.0))
        for name, learner in LEARNERS.items():
            begin = time.perf_counter()
            try:
                shares = learner(learned, given.words, given.topics, given.minibatch, seed)
            except ImportError:
                continue
            seconds = time.perf_counter() - begin
            rows.setdefault(name, []).append((found_share(true, shares), perplexity(shares, new), seconds))
    print("| learner | found | perplexity | seconds |\n|---|---|---|---|")
    for name, figures in rows.items():
        found, confusion, seconds = np.mean(figures, axis=0)
        print(f"| {name} | {found:.3f} | {confusion:.1f} | {seconds:.1f} |")


if __name__ == "__main__":
    main()
