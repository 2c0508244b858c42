"""Learners of dense rows: error after one pass, and time; the tables of docs/reductions/bayesian_linear.md.

    python benchmarks/research/dense/learners.py [--seeds 10] [--peers] [--active] [--choice] [--curves]
        [--floors] [--speed]

Digits, breast cancer, wine and iris come with scikit-learn; "random features" are 256 of a Gaussian kernel on the
digits. A seed is another order; the first rows are learned once, in order, and the rest is for the error. `--peers`
adds River's logistic regression and the Bayesian generalised linear model of `bayesianbandits`, if these are there.
`--active` measures labels on digits, odd or even, over splits into 80% train and 20% test; `--choice` what 200 of them
are worth, by how they were chosen and by who learns them, `--curves` how many are enough,
`--floors` what least probabilities cost and give; `--speed` CPU time per row.
"""

import argparse
import time
import warnings
from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

from hutch.active.estimate import LossSums, score_interval
from hutch.chain import Chain
from hutch.sampling.draws import choose, smallest

BUDGETS = (0.025, 0.05, 0.075, 0.10, 0.125, 0.15, 0.20, 0.25, 0.30, 0.40, 0.60, 1.0)
LABELS = (50, 100, 150, 200, 250, 300, 350, 400)
BASE = {"bayesian_linear": {"dimension": 64}}


def tasks():
    """Name, rows, classes from 0, and the numbers of labels to learn from."""
    digits, labels = load_digits(return_X_y=True)
    digits = digits / 16
    yield "digits", digits, labels, (100, 400)
    features = RBFSampler(gamma=0.06, n_components=256, random_state=0).fit_transform(digits)
    yield "digits, 256 random features", features, labels, (100, 400)
    for name, load, sizes in (
        ("breast cancer", load_breast_cancer, (100, 400)),
        ("wine", load_wine, (100,)),
        ("iris", load_iris, (100,)),
    ):
        rows, labels = load(return_X_y=True)
        yield name, StandardScaler().fit_transform(rows), labels, sizes


def chain_of(base, classes, seed=0, above="one_against_all"):
    """A chain of a layer of classes above a base learner."""
    return Chain.from_config({"seed": seed, "chain": [{above: {"classes": classes}}, base]})


def of_chain(above="one_against_all", **parameters):
    """A learner that is a chain: (rows, labels, rows to predict) -> classes."""

    def learn(rows, labels, others):
        base = {"bayesian_linear": {"dimension": rows.shape[1], **parameters}}
        chain = chain_of(base, labels.max() + 1, above=above)
        chain.learn(rows, labels + 1)
        return chain.predict(others) - 1

    return learn


def of_linear(passes):
    """The linear layer."""

    def learn(rows, labels, others):
        chain = chain_of({"linear": {"loss": "logistic"}}, labels.max() + 1)
        chain.learn(rows, labels + 1, passes=passes)
        return chain.predict(others) - 1

    return learn


def of_batch(model):
    """A model of scikit-learn."""
    return lambda rows, labels, others: model.fit(rows, labels).predict(others)


def river(rows, labels, others):
    """River: one against all of logistic regressions, one row at a time."""
    from river import linear_model, multiclass, optim

    model = multiclass.OneVsRestClassifier(linear_model.LogisticRegression(optim.AdaGrad(0.5)))
    for row, label in zip(rows, labels, strict=True):
        model.learn_one(dict(enumerate(row.tolist())), int(label))
    return np.array([model.predict_one(dict(enumerate(row.tolist()))) for row in others])


def river_softmax(rows, labels, others):
    """River: multinomial logistic regression, one row at a time."""
    from river import linear_model, optim

    model = linear_model.SoftmaxRegression(optim.AdaGrad(0.5))
    for row, label in zip(rows, labels, strict=True):
        model.learn_one(dict(enumerate(row.tolist())), int(label))
    return np.array([model.predict_one(dict(enumerate(row.tolist()))) for row in others])


def bayesianbandits(rows, labels, others):
    """bayesianbandits: a Laplace approximation after each row, one against all; prior precision 1 as in ridge."""
    from bayesianbandits import BayesianGLM

    scores = []
    for k in range(labels.max() + 1):
        model = BayesianGLM(alpha=1.0, link="logit")
        for row, label in zip(rows, labels, strict=True):
            model.partial_fit(row[None], np.array([float(label == k)]))
        scores.append(model.predict(others))
    return np.argmax(scores, axis=0)


def errors(options):
    """Print the table of errors."""
    learners = {
        "batch logistic regression": of_batch(LogisticRegression(max_iter=5000)),
        "batch, one against all": of_batch(OneVsRestClassifier(LogisticRegression(max_iter=5000))),
        "`bayesian_linear`": of_chain(),
        "the same, `covariance: shared`": of_chain(covariance="shared"),
        "the same, `rank: 32`": of_chain(rank=32),
        "`multinomial`, `bayesian_linear`": of_chain("multinomial", loss="squared"),
        "`multinomial`, `bayesian_linear`, `covariance: shared`": of_chain(
            "multinomial", loss="squared", covariance="shared"
        ),
        "`linear`, 1 pass": of_linear(1),
        "`linear`, 20 passes": of_linear(20),
    }
    if options.peers:
        learners |= {
            "River, logistic, AdaGrad": river,
            "River, softmax, AdaGrad": river_softmax,
            "bayesianbandits": bayesianbandits,
        }
    found = {name: [] for name in learners}
    head = []
    for task, rows, labels, sizes in tasks():
        for size in sizes:
            head.append(f"{task}, {size}")
            for name, learn in learners.items():
                wrong, start = [], time.process_time()
                for seed in range(options.seeds):
                    order = np.random.default_rng(seed).permutation(len(labels))
                    seen, rest = order[:size], order[size:]
                    predicted = learn(rows[seen].astype(np.float32), labels[seen], rows[rest].astype(np.float32))
                    wrong.append(np.mean(predicted != labels[rest]))
                spent = (time.process_time() - start) / options.seeds
                found[name].append(f"{np.mean(wrong):.4f}")
                print(f"# {task}, {size}: {name} {np.mean(wrong):.4f} ({spent:.2f} s)", flush=True)
    print("\n| | " + " | ".join(head) + " |\n|---|" + "---|" * len(head))
    for name, row in found.items():
        print(f"| {name} | " + " | ".join(row) + " |")


def speed():
    """Print CPU time per row."""
    random = np.random.default_rng(0)
    print("| dimension | layers | learn, ms | predict, ms |\n|---|---|---|---|")
    own, shared = {"loss": "squared"}, {"covariance": "shared"}
    for dimension, classes, above, parameters in (
        (64, 1, "", {}),
        (384, 1, "", {}),
        (384, 1, "", {"rank": 32}),
        (1024, 1, "", {}),
        (384, 10, "one_against_all", {}),
        (384, 10, "one_against_all", shared),
        (384, 10, "multinomial", own),
        (384, 10, "multinomial", {**own, **shared}),
    ):
        rows = random.normal(size=(2200, dimension)).astype(np.float32)
        labels = np.where(rows[:, :9].sum(1) > 0, 1, -1) if classes == 1 else random.integers(1, classes + 1, 2200)
        base = {"bayesian_linear": {"dimension": dimension, **parameters}}
        chain = chain_of(base, classes, above=above) if above else Chain.from_config({"chain": [base]})
        chain.learn(rows[:200], labels[:200])
        start = time.process_time()
        chain.learn(rows[200:], labels[200:])
        middle = time.process_time()
        chain.predict(rows[200:])
        end = time.process_time()
        told = ", ".join(f"{name}: {value}" for name, value in parameters.items() if name != "loss")
        layers = f"{classes} classes, `{above}`" if above else "one"
        layers += f", `{told}`" if told else ""
        print(f"| {dimension} | {layers} | {(middle - start) / 2:.3f} | {(end - middle) / 2:.3f} |", flush=True)


@cache
def odd_or_even():
    """Rows of digits, and 1 for an odd digit, -1 for an even one."""
    rows, labels = load_digits(return_X_y=True)
    return (rows / 16).astype(np.float32), np.where(labels % 2, 1, -1)


def divided(seed):
    """Places of the rows to learn from, in an order of the seed's, and of those to test on."""
    count = len(odd_or_even()[1])
    order = np.random.default_rng(100 + seed).permutation(count)
    return np.split(order, [int(0.8 * count)])


def asking(seed, **parameters):
    """A chain of `active` above the learner."""
    return Chain.from_config({"seed": seed, "chain": [{"active": parameters}, BASE]})


def error_of(chain, test):
    """Share of the test rows on the wrong side of 0."""
    rows, labels = odd_or_even()
    return np.mean((chain.predict(rows[test]) > 0) != (labels[test] > 0))


def streamed(budget, rule, seed):
    """Where decisions are made row by row: error, places of the labels bought, probabilities of these."""
    (rows, labels), (train, test) = odd_or_even(), divided(seed)
    chain = asking(seed, rule=rule, budget=budget, horizon=len(train))
    trace = chain.layers[0].trace(len(train))
    chain.learn(rows[train], labels[train])
    bought = trace["asked"] == 1
    found = train[bought], trace["probability"][bought]
    chain.layers[0].trace(0)
    return error_of(chain, test), *found


def pooled(rule, seed, batch, total=200):
    """Rounds from a pool, as `hutch active ask` has them: errors after every 50 labels, places of the labels."""
    (rows, labels), (train, test) = odd_or_even(), divided(seed)
    chain = asking(seed, rule=rule, simulation=False)
    layer, left, found, places = chain.layers[0], np.arange(len(train)), [], []
    for bought in range(0, total, batch):
        trace = layer.trace(len(left))
        chain.predict(rows[train[left]])
        scores = trace["score"].copy()
        layer.trace(0)
        if rule == "margin":  # of rows in random order, and of equal scores the first
            drawn = smallest(scores, batch)
        else:
            drawn = choose(layer.pool_probabilities(scores, batch), [seed, bought])
        chosen = train[left[drawn]]
        chain.learn(rows[chosen], labels[chosen])
        left = np.delete(left, drawn)
        places.extend(chosen)
        if (bought + batch) % 50 == 0:
            found.append(error_of(chain, test))
    return found, np.array(places)


def passive(seed):
    """Error with all labels."""
    (rows, labels), (train, test) = odd_or_even(), divided(seed)
    chain = Chain.from_config({"seed": seed, "chain": [BASE]})
    chain.learn(rows[train], labels[train])
    return error_of(chain, test)


def batch_error(places, test, weights=None):
    """Error of batch logistic regression with a prior variance of 2, near that of `bayesian_linear`."""
    rows, labels = odd_or_even()
    model = LogisticRegression(C=2.0, max_iter=5000).fit(rows[places], labels[places], sample_weight=weights)
    return np.mean(model.predict(rows[test]) != labels[test])


def active(options):
    """Print the labels that active learning buys on digits, odd or even, and the errors."""
    seeds = range(options.seeds)
    error = np.mean([passive(seed) for seed in seeds])
    print(f"passive: {error:.4f}; within 2%: {1.02 * error:.4f}", flush=True)
    for rule in ("budget", "margin", "random"):
        cells = []
        for budget in BUDGETS:
            runs = [streamed(budget, rule, seed) for seed in seeds]
            bought, error = np.mean([(len(places), error) for error, places, _ in runs], axis=0)
            cells.append(f"{bought:.0f}: {error:.4f}")
        print(f"stream, {rule}: " + ", ".join(cells), flush=True)


def choice(options):
    """Print what 200 labels on digits, odd or even, are worth, by how they were chosen and by who learns them."""
    seeds = range(options.seeds)
    tests = [divided(seed)[1] for seed in seeds]
    error = np.mean([passive(seed) for seed in seeds])
    batch = np.mean([batch_error(divided(seed)[0], tests[seed]) for seed in seeds])
    print(f"all labels: {error:.4f}, batch {batch:.4f}; within 2%: {1.02 * error:.4f}\n")
    print("| chosen | 50 | 100 | 150 | 200 | batch | batch, 1/P | batch, 1/P up to 4 |\n|---|" + "---|" * 7)
    for rule in ("budget", "margin", "random"):
        runs = [streamed(200 / len(divided(0)[0]), rule, seed) for seed in seeds]
        cells = [np.mean([error for error, _, _ in runs])]
        for most in (1, np.inf, 4):
            cells.append(
                np.mean([batch_error(p, tests[k], np.minimum(1 / q, most)) for k, (_, p, q) in enumerate(runs)])
            )
        print(f"| stream, `{rule}` | | | | " + " | ".join(f"{cell:.4f}" for cell in cells) + " |", flush=True)
    for rule, size in (("budget", 10), ("margin", 10), ("margin", 1), ("random", 10)):
        runs = [pooled(rule, seed, size) for seed in seeds]
        cells = [*np.mean([errors for errors, _ in runs], axis=0)]
        cells.append(np.mean([batch_error(places, tests[k]) for k, (_, places) in enumerate(runs)]))
        told = " | ".join(f"{cell:.4f}" for cell in cells)
        print(f"| pool, `{rule}`, rounds of {size} | {told} | | |", flush=True)


def curves(options):
    """Print errors by labels bought, and how many come within 2% of all labels for the first time and for good."""
    seeds, last = range(options.seeds), LABELS[-1]
    count = len(divided(0)[0])
    bar = 1.02 * np.mean([passive(seed) for seed in seeds])
    print(f"all labels: {bar / 1.02:.4f}; within 2%: {bar:.4f}\n")
    print(f"| | {' | '.join(map(str, LABELS))} | first | stable |\n|---|" + "---|" * (len(LABELS) + 2))
    ways = [(size, rule) for size in (0, 10) for rule in ("budget", "margin", "random")]
    for size, rule in [*ways, (1, "margin")]:
        way = "pool" if size else "stream"
        if not size:
            found = [[np.mean([streamed(n / count, rule, seed)[0] for seed in seeds]) for n in LABELS]]
        else:
            found = [pooled(rule, seed, size, total=last)[0] for seed in seeds]
        errors = np.mean(found, axis=0)
        passing = errors <= bar
        first = LABELS[int(passing.argmax())] if passing.any() else "never"
        stable = LABELS[int(len(LABELS) - np.logical_and.accumulate(passing[::-1]).sum())] if passing[-1] else "never"
        cells = [f"{way}, `{rule}`", *(f"{error:.4f}" for error in errors), str(first), str(stable)]
        cells[0] += f", rounds of {size}" if size else ""
        print(f"| {' | '.join(cells)} |", flush=True)


def floors(options):
    """Print, for least probabilities in a stream, errors by labels bought, and what the loss estimate is worth."""
    seeds, count = range(options.seeds), len(divided(0)[0])
    print("| floor | 100 | 200 | 300 | 400 | covers | bias (standard error) | half-width |\n|---|" + "---|" * 7)
    for floor in (0.05, 0.1, 0.2, 0.4, 0.7):
        cells, gaps, inside, widths = [], [], [], []
        for labels in (100, 200, 300, 400):
            budget, errors = labels / count, []
            for seed in seeds:
                (rows, kinds), (train, test) = odd_or_even(), divided(seed)
                chain = asking(seed, budget=budget, horizon=count, floor=floor * budget)
                layer = chain.layers[0]
                trace = layer.trace(count)
                chain.learn(rows[train], kinds[train])
                low, estimate, high = score_interval(LossSums(*layer.loss_sums()))
                truth = float(trace["error"].mean())
                layer.trace(0)
                errors.append(error_of(chain, test))
                if labels == 200:
                    gaps.append(estimate - truth)
                    inside.append(low <= truth <= high)
                    widths.append((high - low) / 2)
            cells.append(f"{np.mean(errors):.4f}")
        deviation = np.std(gaps, ddof=1) / np.sqrt(len(gaps))
        cells += [f"{np.mean(inside):.3f}", f"{np.mean(gaps):+.4f} ({deviation:.4f})", f"{np.median(widths):.3f}"]
        print(f"| {floor} b | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    for name in ("--peers", "--active", "--choice", "--curves", "--floors", "--speed"):
        parser.add_argument(name, action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.active:
        active(options)
    elif options.choice:
        choice(options)
    elif options.curves:
        curves(options)
    elif options.floors:
        floors(options)
    elif options.speed:
        speed()
    else:
        errors(options)


if __name__ == "__main__":
    main()
