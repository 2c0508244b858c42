"""Batches of labels from a pool of dense rows: the table of benchmarks/results/active-learning.md.

    python benchmarks/research/dense/batches.py [--seeds 40] [--batch 10] [--labels 200] [--tasks NAME...]
        [--rules NAME...]

The protocol of "No Free Lunch in Active Learning" (2025): rows of numbers that stay as they are, a first batch that is
random or diverse, batches of one size, and the error on test rows after each. The sets are scikit-learn's, made ones,
and random projections and features of them; a seed is another split into 80% pool and 20% test. Batches of tasks with
ten classes are twice as great. All learn by `bayesian_linear`, under `one_against_all` where there are more than two
classes.

Rules: `random`; `margin`, the least distance to the threshold or of the two highest scores; `entropy` of the class
probabilities (of two classes, that is margin); `budget`, as `hutch active ask` draws; `BADGE` (J. Ash and others, "Deep
batch active learning by diverse, uncertain gradient lower bounds", 2020), k-means++ on the gradients (p - y) x of the
predicted label y. First batches: `random`; `k-means++` on the rows; `typical`, the row nearest to the centre of each
cluster of k-means (G. Hacohen and others, "Active learning on a budget", 2022).
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import StandardScaler

from hutch.chain import Chain
from hutch.sampling.draws import choose, smallest

STRATEGIES = (
    ("random", "random"),
    ("random", "margin"),
    ("random", "entropy"),
    ("random", "budget"),
    ("random", "BADGE"),
    ("typical", "margin"),
    ("typical", "budget"),
    ("typical", "BADGE"),
    ("k-means++", "margin"),
)


def tasks():
    """Rows and classes from 0, by name."""
    images, digits = load_digits(return_X_y=True)
    images = images / 16
    features = RBFSampler(gamma=0.06, n_components=128, random_state=0).fit_transform(images)
    projected = images @ np.random.default_rng(1).normal(size=(64, 32)) / 8
    cancer, benign = load_breast_cancer(return_X_y=True)
    wine, cultivars = load_wine(return_X_y=True)
    forty, kinds = make_classification(2000, 40, n_informative=12, flip_y=0.05, class_sep=0.8, random_state=2)
    curved, sides = make_classification(
        2000, 10, n_informative=6, n_clusters_per_class=4, flip_y=0.02, class_sep=1.5, random_state=3
    )
    curved = RBFSampler(gamma=0.05, n_components=128, random_state=0).fit_transform(scaled(curved))
    five, groups = make_classification(
        2000, 40, n_informative=15, n_classes=5, n_clusters_per_class=2, flip_y=0.03, class_sep=1.2, random_state=4
    )
    return {
        "digits, odd or even": (images, digits % 2),
        "digits, 128 random features": (features, digits % 2),
        "digits, 32 projections, below 5": (projected, digits < 5),
        "digits, 8 or not": (images, digits == 8),
        "breast cancer": (scaled(cancer), benign),
        "forty columns": (forty / 3, kinds),
        "eight clusters, 128 random features": (curved, sides),
        "ten digits": (images, digits),
        "five classes": (five / 3, groups),
        "wine": (scaled(wine), cultivars),
    }


def scaled(rows):
    """Columns of mean 0 and variance 1."""
    return StandardScaler().fit_transform(rows)


def spread(parts, count, random):
    """Places of rows drawn by k-means++.

    A row is the outer product of its parts, whose inner products are those of the parts, multiplied.
    """
    lengths = np.prod([(part * part).sum(axis=1) for part in parts], axis=0)
    nearest = np.full(len(lengths), np.inf)
    drawn = [int(random.integers(len(lengths)))]
    while len(drawn) < count:
        last = drawn[-1]
        products = np.prod([part @ part[last] for part in parts], axis=0)
        nearest = np.minimum(nearest, np.maximum(lengths + lengths[last] - 2 * products, 0))
        nearest[drawn] = 0
        total = nearest.sum()
        chances = nearest / total if total > 0 else None
        drawn.append(int(random.choice(len(lengths), p=chances)))
    return np.unique(drawn)


def first_batch(start, rows, count, random):
    """Places of the rows of the first batch."""
    if start == "random":
        return random.choice(len(rows), count, replace=False)
    if start == "k-means++":
        return spread([rows], count, random)
    clusters = KMeans(count, n_init=1, max_iter=30, random_state=int(random.integers(1 << 30))).fit(rows)
    return np.unique(clusters.transform(rows).argmin(axis=0))


def batch_of(rule, chain, rows, count, classes, random):
    """Places of the rows of a later batch."""
    if rule == "random":
        return random.choice(len(rows), count, replace=False)
    if rule == "budget":
        layer = chain.layers[0]
        trace = layer.trace(len(rows))
        chain.predict(rows)
        layer.trace(0)
        return choose(layer.pool_probabilities(trace["score"].copy(), count), [int(random.integers(1 << 30))])
    if classes == 2:
        scores = chain.predict(rows, np.ones(len(rows))).astype(float)
        if rule in ("margin", "entropy"):
            return smallest(np.abs(scores), count)
        return spread([1 / (1 + np.exp(np.abs(scores)))[:, None], rows], count, random)
    scores = chain.scores(rows, np.ones(len(rows))).astype(float)
    if rule == "margin":
        ordered = np.sort(scores, axis=1)
        return smallest(ordered[:, -1] - ordered[:, -2], count)
    chances = 1 / (1 + np.exp(-scores))
    chances /= chances.sum(axis=1, keepdims=True)
    if rule == "entropy":
        return smallest((chances * np.log(chances + 1e-12)).sum(axis=1), count)
    chances[np.arange(len(rows)), scores.argmax(axis=1)] -= 1
    return spread([chances, rows], count, random)


def errors(task, start, rule, seed, batch, total):
    """Error on the test rows after each batch."""
    rows, labels = task
    classes = int(labels.max()) + 1
    random = np.random.default_rng([seed, 7])
    left, test = np.split(np.random.default_rng(100 + seed).permutation(len(labels)), [int(0.8 * len(labels))])
    base = [{"bayesian_linear": {"dimension": rows.shape[1]}}]
    labels = np.where(labels, 1, -1) if classes == 2 else labels + 1
    if classes > 2:
        base.insert(0, {"one_against_all": {"classes": classes}})
    chain = Chain.from_config({"seed": seed, "chain": [{"active": {"simulation": False}}, *base]})
    found = []
    for bought in range(0, total, batch):
        if bought == 0:
            drawn = first_batch(start, rows[left], batch, random)
        else:
            drawn = batch_of(rule, chain, rows[left], min(batch, total - bought), classes, random)
        chain.learn(rows[left[drawn]], labels[left[drawn]])
        left = np.delete(left, drawn)
        predicted = chain.predict(rows[test], labels[test])  # of labelled rows nothing is decided
        wrong = predicted != labels[test] if classes > 2 else (predicted > 0) != (labels[test] > 0)
        found.append(np.mean(wrong))
    return np.array(found)


def told(gaps):
    """A mean gap and its standard error, in units of .0001."""
    return f"{1e4 * gaps.mean():+.0f} ({1e4 * gaps.std(ddof=1) / np.sqrt(len(gaps)):.0f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--labels", type=int, default=200)
    parser.add_argument("--tasks", nargs="+", choices=list(tasks()), default=list(tasks()))
    rules = sorted({rule for _, rule in STRATEGIES})
    parser.add_argument("--rules", nargs="+", choices=rules, default=rules, help="besides random")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    columns = ("task, labels", "first batch", "rule", "a quarter", "half", "all labels", "mean of all rounds")
    print(f"| {' | '.join(columns)} |\n|" + "---|" * len(columns))
    for name in options.tasks:
        rows, labels = tasks()[name]
        task = rows.astype(np.float32), labels.astype(int)
        batch = options.batch * (2 if labels.max() > 5 else 1)
        total = min(options.labels, int(0.4 * len(labels)) // batch * batch)
        chance = None
        for start, rule in STRATEGIES:
            if (rule == "entropy" and labels.max() == 1) or rule not in ("random", *options.rules):
                continue
            began = time.process_time()
            found = np.array([errors(task, start, rule, seed, batch, total) for seed in range(options.seeds)])
            chance = found if chance is None else chance
            last = found.shape[1]
            pieces = [
                slice(last // 4 - 1, last // 4),
                slice(last // 2 - 1, last // 2),
                slice(last - 1, last),
                slice(0, last),
            ]
            if found is chance:
                cells = [f"{found[:, piece].mean():.4f}" for piece in pieces]
            else:
                cells = [told((found - chance)[:, piece].mean(axis=1)) for piece in pieces]
            cells = f"| {name}, {total} | {start} | `{rule}` | {' | '.join(cells)} |"
            print(cells, f" {time.process_time() - began:.0f} s" if options.seeds < 3 else "", flush=True)


if __name__ == "__main__":
    main()
