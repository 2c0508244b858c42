"""Votes on pairs: held-out log-loss beside evalica, choix and scikit-learn, coverage of the intervals, time.

    python benchmarks/research/crowd/pairs.py VOTES [--features A,B] [--group COLUMN] [--folds N]
        [--crowds N] [--votes N]

VOTES is a file as `hutch crowd --pairs` reads it. Votes are held out by fold of the column --group (`pair`), so that no
vote on a held-out pair is learned. Log-loss is of left, right and tie, in nats; bradley_terry knows no ties and is left
out. Peers know strengths only: each gets the side bias and Davidson's constant of ties that fit its strengths best on
the training votes (`pip install evalica choix scikit-learn`). --crowds is the number of simulated crowds of which the
intervals' coverage is measured, --votes the size of the one that is timed.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize

from hutch import Chain
from hutch.crowd.pairs.model import MODELS, Hierarchical
from hutch.crowd.pairs.report import log_losses, strengths
from hutch.crowd.pairs.state import FEW
from hutch.crowd.pairs.votes import Votes, read_votes

Array = np.ndarray
Peer = Callable[[Votes], Array]
"""Strengths of all players from votes."""
WITH_TIES = [model for model in MODELS if model.ties]


def scores(strength: Array, bias: float, tie: float, votes: Votes) -> Array:
    """P(left), P(right), P(tie) by Davidson's model."""
    z = strength[votes.left] - strength[votes.right] + bias
    raw = np.stack([z / 2, -z / 2, np.full(len(z), tie)], axis=1)
    raw = np.exp(raw - raw.max(axis=1, keepdims=True))
    return raw / raw.sum(axis=1, keepdims=True)


def with_constants(strength: Array, train: Votes, test: Votes) -> Array:
    """Probabilities of the test votes, side bias and tie fitted to the training votes."""

    def loss(constants: Array) -> float:
        return float(log_losses(scores(strength, constants[0], constants[1], train), train.outcomes).mean())

    best = minimize(loss, np.zeros(2), method="Nelder-Mead").x
    return scores(strength, best[0], best[1], test)


def evalica_strengths(votes: Votes) -> Array:
    """Bradley-Terry of evalica."""
    import evalica

    names = {0: evalica.Winner.X, 1: evalica.Winner.Y, 2: evalica.Winner.Draw}
    result = evalica.bradley_terry(
        [str(k) for k in votes.left], [str(k) for k in votes.right], [names[k] for k in votes.outcomes.tolist()]
    )
    values = {int(k): np.log(max(v, 1e-12)) for k, v in result.scores.items()}
    return np.array([values.get(k, 0.0) for k in range(len(votes.players))])


def choix_strengths(votes: Votes) -> Array:
    """Bradley-Terry of choix; a tie is a win of each side."""
    import choix

    data = []
    for i, j, y in zip(votes.left.tolist(), votes.right.tolist(), votes.outcomes.tolist(), strict=True):
        data += {0: [(i, j)] * 2, 1: [(j, i)] * 2, 2: [(i, j), (j, i)]}[y]
    return np.asarray(choix.opt_pairwise(len(votes.players), data, alpha=1.0))


def sklearn_strengths(votes: Votes) -> Array:
    """Bradley-Terry as a logistic regression of scikit-learn; ties are left out."""
    from sklearn.linear_model import LogisticRegression

    decided = np.flatnonzero(votes.outcomes < 2)
    rows = np.zeros((len(decided), len(votes.players)))
    rows[np.arange(len(decided)), votes.left[decided]] = 1.0
    rows[np.arange(len(decided)), votes.right[decided]] -= 1.0
    return np.asarray(LogisticRegression(max_iter=1000).fit(rows, votes.outcomes[decided] == 0).coef_[0])


PEERS: dict[str, Peer] = {"evalica": evalica_strengths, "choix": choix_strengths, "scikit-learn": sklearn_strengths}


def predictions(
    train: Votes, test: Votes, plain: Votes, plain_test: Votes, order: Array
) -> Iterator[tuple[str, Array]]:
    """Every method's probabilities of the test votes; `plain` votes have no features, `order` is that of the stream."""
    for name, peer in PEERS.items():
        try:
            yield name, with_constants(peer(train), train, test)
        except ImportError:
            continue
    for make in WITH_TIES:
        model = make()
        for title, known, held in (("", plain, plain_test), (", features", train, test)):
            if title and not (model.contexts and train.features):
                continue
            yield f"{model.name}{title}", model.predict(held, model.fit(known).state)
            state = model.start(known.features)
            model.learn(known.rows(order), state)
            yield f"{model.name}{title}, one pass", model.predict(held, state)


def chains(train: Votes, test: Votes, order: Array) -> Iterator[tuple[str, Array]]:
    """Log-losses of the test votes by chains of the layer `pairwise`, after one pass in an order."""
    worker = {"pairwise": {"worker": "worker"}}
    below: dict[str, Any] = {
        "linear, players": {"linear": {"loss": "logistic"}},
        "linear, players and contexts": {"linear": {"loss": "logistic", "interactions": [["player", "context"]]}},
        "dyadic, contexts and players": {"dyadic": {"left": "context", "right": "player", "loss": "logistic"}},
    }
    for name, layer in below.items():
        chain = Chain.from_config({"chain": [worker, layer]})
        chain.learn(lines(train.rows(order)))
        losses = [chain.run_batch(batch, learn=False)[0].losses for batch in chain.batches(lines(test))]
        yield f"pairwise over {name}", np.concatenate(losses)


def lines(votes: Votes) -> list[str]:
    """Votes as text: the difference of the players, the worker, and the values of all features."""
    columns = votes.workers, votes.left, votes.right, votes.outcomes
    rows = zip(*(column.tolist() for column in columns), votes.values.tolist(), strict=True)
    return [
        f"{(1, -1, 0)[y]} |player p{i} p{j}:-1 |worker w{w} |context "
        + " ".join(f"{f}_{v}" for f, v in enumerate(values))
        for w, i, j, y, values in rows
    ]


def held_out(path: str, features: list[str], group: str, folds: int) -> None:
    """Print the held-out log-loss of every method."""
    votes, plain = read_votes(path, features), read_votes(path, [])
    groups = read_votes(path, [group]).values[:, 0]
    fold = (np.random.default_rng(0).permutation(int(groups.max()) + 1) % folds)[groups]
    found: dict[str, list[float]] = {}
    seconds: dict[str, float] = {}
    for k in range(folds):
        train, test = fold != k, fold == k
        order = np.random.default_rng(k).permutation(int(train.sum()))
        begin = time.process_time()
        rows = votes.rows(train), votes.rows(test), plain.rows(train), plain.rows(test)
        for name, probability in predictions(*rows, order):
            found.setdefault(name, []).extend(log_losses(probability, votes.outcomes[test]).tolist())
            seconds[name] = seconds.get(name, 0.0) + time.process_time() - begin
            begin = time.process_time()
        for name, losses in chains(*rows[:2], order):
            found.setdefault(name, []).extend(losses.tolist())
            seconds[name] = seconds.get(name, 0.0) + time.process_time() - begin
            begin = time.process_time()
    print(f"{len(votes)} votes, {len(votes.players)} players, {folds} folds by {group}")
    for name, losses in found.items():
        print(f"  {name:<36} {np.mean(losses):.4f}   {seconds[name] / folds:.2f} CPU s")


def simulated(votes: int, players: int, workers: int, seed: int) -> tuple[Array, Votes]:
    """Strengths, and votes of workers of different reliability, side bias and readiness for ties."""
    random = np.random.default_rng(seed)
    strength = random.normal(size=players)
    reliability, bias, tie = (
        1 + 0.4 * random.normal(size=workers),
        0.3 * random.normal(size=workers),
        random.normal(size=workers),
    )
    w, i = random.integers(workers, size=votes), random.integers(players, size=votes)
    j = (i + random.integers(1, players, size=votes)) % players
    z = reliability[w] * (strength[i] - strength[j]) + 0.2 + bias[w]
    outcomes = (np.stack([z / 2, -z / 2, tie[w] - 0.3], axis=1) + random.gumbel(size=(votes, 3))).argmax(axis=1)
    codes = (array.astype(np.int32) for array in (w, i, j))
    names = [f"w{k}" for k in range(workers)], [f"p{k}" for k in range(players)]
    return strength, Votes(*codes, outcomes.astype(np.uint8), np.zeros((votes, 0), np.int32), *names, [], [])


def coverage(crowds: int) -> None:
    """Print how often the 95 % interval of a strength covers it."""
    for make in WITH_TIES:
        covered, widths = [], []
        for seed in range(crowds):
            truth, votes = simulated(3000, 20, 60, seed)
            found = strengths(make().fit(votes).state)
            places = [int(name[1:]) for name in found.players]
            wanted = (truth - truth.mean())[places]
            covered.append(float(np.mean((found.low < wanted) & (wanted < found.high))))
            widths.append(float(np.mean(found.high - found.low) / 2))
        print(f"  {make.name:<36} {np.mean(covered):.3f}   half-width {np.mean(widths):.3f}")


CONTEXTS = {"one value": (1, 0.0), "a coin": (2, 0.0), "two turns": (2, 0.4), "20 prompts": (20, 0.4)}
"""Columns of simulated votes: how many values each has, and how far strengths move between them."""


def in_contexts(columns: list[str], votes: int, seed: int) -> tuple[Array, Votes]:
    """Strengths of five players, in each column's values too, and votes of ten workers alike.

    The strengths are those on average over the values of columns with few of them, and in any other value of others.
    """
    random = np.random.default_rng(seed)
    strength = random.normal(0, 0.8, 5)
    i = random.integers(5, size=votes)
    j = (i + random.integers(1, 5, size=votes)) % 5
    w, z, codes = random.integers(10, size=votes), strength[i] - strength[j], []
    for column in columns:
        count, scale = CONTEXTS[column]
        here = random.normal(0, scale, (count, 5))
        value = random.choice(count, votes, p=random.dirichlet(np.full(count, 3.0)))
        z = z + here[value, i] - here[value, j]
        if count <= FEW:
            strength = strength + np.bincount(value, minlength=count) / votes @ here
        codes.append(value)
    outcomes = (np.stack([z / 2, -z / 2, np.full(votes, -0.5)], axis=1) + random.gumbel(size=(votes, 3))).argmax(axis=1)
    values = np.array(codes, np.int32).reshape(len(codes), votes).T
    names = [[f"{k}" for k in range(CONTEXTS[column][0])] for column in columns]
    plain = (array.astype(np.int32) for array in (w, i, j))
    workers, players = [f"w{k}" for k in range(10)], [f"p{k}" for k in range(5)]
    return strength, Votes(*plain, outcomes.astype(np.uint8), values, workers, players, columns, names)


def contexts(crowds: int) -> None:
    """Print how far off strengths are, and how often their intervals cover them, with columns of several kinds."""
    for columns in ([], ["one value"], ["one value", "a coin"], ["two turns"], ["20 prompts"], [*CONTEXTS]):
        for votes in (600, 6000):
            rows = []
            for seed in range(crowds):
                truth, found = in_contexts(columns, votes, seed)
                state = Hierarchical().fit(found).state
                said = strengths(state)
                wanted = (truth - truth.mean())[[int(name[1:]) for name in said.players]]
                within = np.mean((said.low < wanted) & (wanted < said.high))
                error = np.sqrt(np.mean((said.strength - wanted) ** 2))
                rows.append(
                    [within, error, said.strength @ wanted / (wanted @ wanted), np.mean(said.high - said.low) / 2]
                )
            within, error, slope, half = np.mean(rows, axis=0)
            title = f"{', '.join(columns) or 'none'}; {votes:,} votes"
            print(f"  {title:<56} {within:.3f}   error {error:.3f}   slope {slope:.2f}   half-width {half:.3f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", metavar="VOTES", nargs="?")
    parser.add_argument("--features", default="prompt")
    parser.add_argument("--group", default="pair")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--crowds", type=int, default=100)
    parser.add_argument("--votes", type=int, default=1_000_000)
    arguments = parser.parse_args()
    if arguments.path:
        held_out(
            arguments.path, [name for name in arguments.features.split(",") if name], arguments.group, arguments.folds
        )
    if arguments.crowds:
        print(f"coverage of the 95 % intervals, {arguments.crowds} crowds of 3,000 votes, 20 players, 60 workers")
        coverage(arguments.crowds)
        print(f"the same for columns of contexts, {arguments.crowds} crowds of 5 players and 10 workers each")
        contexts(arguments.crowds)
    if arguments.votes:
        _, votes = simulated(arguments.votes, 100, 10_000, 0)
        for make in MODELS:
            make().fit(votes.rows(np.arange(1000)))
            begin = time.process_time()
            make().fit(votes)
            print(f"{make.name}: {arguments.votes} votes with intervals in {time.process_time() - begin:.2f} CPU s")


if __name__ == "__main__":
    main()
