"""A new model's score from a fraction of the questions: gain, coverage, bias and width of `hutch.Benchmark`.

    python benchmarks/research/benchmark/few_questions.py DATA_DIR [--runs N] [--only TEXT] [--looks | --parts]

DATA_DIR holds mmlu_pro.npz and five_suites.npz, factors that the authors of FAQ (arXiv 2601.20251) fitted to real
answers: `models` (models, 64) and `questions` (questions, 64), the logit of a right answer being their product. Answers
are simulated from them. A third of the models, or the newest ones, are new, and never seen before; earlier models are
drawn from the rest. Labels come in ten rounds.

Gain is the variance of the mean of as many questions drawn by lot, without replacement, over that of the estimator:
over its variance given its predictions, for a draw of a fixed size (J. Hajek, Annals of Mathematical Statistics 35,
1964), and over the squared errors themselves. --looks stops when the interval is narrow enough, and counts the
intervals of every look; --parts measures groups of questions, differences of two new models, and a judge whom people
check; --speed times one model with all answers of the larger suite.
"""

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hutch.benchmark.answers import Answers
from hutch.benchmark.session import Session
from hutch.factors.row import Table
from hutch.factors.table import learn_factors

ROUNDS, LEAST = 10, 3
HEAD = """\
| earlier models | questions | labels | runs | gain | by squared errors | coverage | half-width (plain) | bias, 1e-4 |
|---|---|---|---|---|---|---|---|---|"""
PARTS = """\
| new models | estimate of | intervals | coverage | half-width |
|---|---|---|---|---|"""
LOOKS = """\
| questions | looks | half-width wanted | runs | one look: held when it stopped | labels | every look: held | labels |
|---|---|---|---|---|---|---|---|"""


@dataclass(frozen=True)
class Row:
    """Models and labels of a row of the table.

    Attributes:
        suite: whose factors.
        earlier: number of earlier models.
        labels: numbers of judged questions.
        questions: drawn from the suite; 0: all.
        kind: of the new model.
        missing: share of the earlier answers that are unknown.
        newest: the new models are the last ones of the suite, the earlier ones the first.
        runs: new models, for each of the 100 of --runs.
    """

    suite: str
    earlier: int
    labels: tuple[int, ...]
    questions: int = 0
    kind: str = "usual"
    missing: float = 0.0
    newest: bool = False
    runs: int = 100

    @property
    def name(self) -> str:
        """As the table shows it."""
        more = [self.kind] * (self.kind != "usual") + ["half the answers"] * (self.missing > 0)
        more += ["oldest; the newest are new"] * self.newest
        return ", ".join([f"{self.earlier:,}", *more])


LARGE = ("mmlu_pro", "five_suites")
ROWS = [
    Row("mmlu_pro", 1475, (301, 602, 1203)),
    Row("five_suites", 1475, (239, 479, 957)),
    Row("mmlu_pro", 1475, (301, 1203), newest=True),
    Row("mmlu_pro", 1475, (301, 1203), missing=0.5),
    Row("mmlu_pro", 200, (301, 1203)),
    Row("mmlu_pro", 40, (301, 1203)),
    Row("five_suites", 40, (239, 957)),
    Row("mmlu_pro", 200, (30, 100), 1000, runs=200),
    Row("mmlu_pro", 200, (30, 75), 300, runs=200),
    *(
        Row("mmlu_pro", 200, labels, questions, kind, runs=runs)
        for kind in ("random", "reversed", "seen", "copies", "rate .97", "rate .03")
        for labels, questions, runs in (((30, 75), 300, 200), ((30, 100), 1000, 200), ((301,), 0, 60))
    ),
]


@dataclass(frozen=True)
class Simulated:
    """Earlier models, and how new ones answer."""

    row: Row
    table: Table
    answers: Answers
    new: np.ndarray
    questions: np.ndarray

    def truth(self, number: int, random: np.random.Generator) -> np.ndarray:
        """The answers of a new model."""
        chance = sigmoid(self.questions @ self.new[number % len(self.new)]).astype(np.float64)
        kind = self.row.kind
        if kind == "random":
            chance = np.full(len(chance), random.uniform(0.1, 0.6))
        elif kind.startswith("rate"):
            chance = np.full(len(chance), float(kind.split()[1]))
        elif kind == "reversed":
            chance = 1 - chance
        right = random.random(len(chance)) < chance
        if kind == "seen":
            right |= random.random(len(chance)) < 0.15
        return right.astype(np.float64)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """The logistic function."""
    return 1 / (1 + np.exp(-x))


def simulate(folder: Path, row: Row, seed: int) -> Simulated:
    """Answers of the earlier models of a row, and their factors."""
    with np.load(folder / f"{row.suite}.npz") as file:
        models, questions = (file[name].astype(np.float32) for name in ("models", "questions"))
    random = np.random.default_rng([seed, row.earlier, row.questions, len(row.suite), row.newest])
    if row.questions:
        questions = questions[np.sort(random.choice(len(questions), row.questions, replace=False))]
    order = np.arange(len(models)) if row.newest else random.permutation(len(models))
    old, new = order[: row.earlier], order[-(len(models) // 3) :]
    if row.earlier < 1475:
        old = random.permutation(order[: -(len(models) // 3)])[: row.earlier]
    right = (random.random((len(old), len(questions)), np.float32) < sigmoid(models[old] @ questions.T)).astype(
        np.float32
    )
    if row.kind == "copies":
        right[1:] = right[0]
    if row.missing:
        right[random.random(right.shape, np.float32) < row.missing] = np.nan
    answers = Answers([str(k) for k in range(len(questions))], [f"m{k}" for k in old], right)
    return Simulated(row, Table.of(learn_factors(right)), answers, models[new], questions)


def judged(
    made: Simulated, truth: np.ndarray, labels: int, seed: int, look: Callable[[Session], None] | None = None
) -> Session:
    """A benchmark after so many labels."""
    session = Session(made.answers, ["new"], seed, made.table)
    for part in np.array_split(np.arange(labels), min(ROUNDS, max(LEAST, labels // 8))):
        asked = session.ask(len(part))
        session.tell(0, asked, truth[asked])
        if look:
            look(session)
    return session


def variance_of(session: Session, truth: np.ndarray) -> float:
    """The variance of the estimate, given its predictions: of draws of a fixed size."""
    values = session._values(0)
    found, expected = [], []
    for each in session.rounds:
        residuals, chance = (truth - values.forecast)[each.left], each.chance
        spread = chance * (1 - chance)
        level = float(((1 - chance) * residuals).sum() / max(spread.sum(), 1e-300))
        found.append(float((spread * (residuals / chance - level) ** 2).sum()))
        expected.append(float((values.doubt[each.left] * (1 - chance) / chance).sum()))
    weight = 1 / np.array(expected)
    weight /= weight.sum()
    return float(weight**2 @ np.array(found)) / len(truth) ** 2


def measured(made: Simulated, labels: int, runs: int, seed: int) -> Iterator[tuple[float, ...]]:
    """For each new model: plain variance, variance, error, cover, half-width, worth."""
    size = len(made.questions)
    for run in range(runs):
        random = np.random.default_rng([seed, run, labels])
        truth = made.truth(run, random)
        session = judged(made, truth, labels, int(random.integers(1 << 30)))
        found, mean = session.estimate(), truth.mean()
        plain = mean * (1 - mean) / labels * (size - labels) / (size - 1)
        cover = found.low <= mean <= found.high
        yield plain, variance_of(session, truth), found.value - mean, cover, found.half_width, found.worth / labels


def table(folder: Path, rows: list[Row], runs: float, seed: int) -> None:
    """Print the table."""
    print(HEAD)
    for row in rows:
        made = simulate(folder, row, seed)
        for labels in row.labels:
            found = np.array([*measured(made, labels, max(round(row.runs * runs / 100), 2), seed)], np.float64)
            plain, variance, error, cover, half, _ = found.T
            ratio = variance.mean() / plain.mean()
            gain, error_of_gain = (
                1 / ratio,
                (variance - ratio * plain).std() / plain.mean() / len(found) ** 0.5 / ratio**2,
            )
            suite = "MMLU-Pro" if row.suite == "mmlu_pro" else "five suites"
            cells = (
                row.name,
                f"{len(made.questions):,} of {suite}" if row.questions else f"{suite}, {len(made.questions):,}",
                f"{labels:,}",
                len(found),
                f"{gain:.2f} ± {error_of_gain:.2f}",
                f"{plain.mean() / np.mean(error**2):.2f}",
                f"{cover.mean():.3f} ± {(cover.mean() * (1 - cover.mean()) / len(found)) ** 0.5:.3f}",
                f"{half.mean():.4f} ({1.96 * np.sqrt(plain).mean():.4f})",
                f"{1e4 * error.mean():+.0f} ± {1e4 * error.std() / len(found) ** 0.5:.0f}",
            )
            print("|", " | ".join(map(str, cells)), "|", flush=True)


def looks(folder: Path, runs: float, seed: int) -> None:
    """Print how often intervals hold at the look at which they are narrow enough, and at all looks at once."""
    print(LOOKS)
    all_held = []
    for row, labels, widths in (
        (Row("mmlu_pro", 200, (), 1000), 300, (0.08, 0.06, 0.04)),
        (Row("mmlu_pro", 200, ()), 1200, (0.05, 0.03, 0.02)),
    ):
        made, count = simulate(folder, row, seed), max(round((150 if row.questions else 60) * runs / 100), 2)
        seen: list[list[tuple[float, ...]]] = []
        for run in range(count):
            random, kept = np.random.default_rng([seed, run, 9]), list[tuple[float, ...]]()
            truth = made.truth(run, random)
            session = Session(made.answers, ["new"], int(random.integers(1 << 30)), made.table)
            for _ in range(20):
                asked = session.ask(labels // 20)
                session.tell(0, asked, truth[asked])
                line = [float(sum(len(each.drawn) for each in session.rounds))]
                for expected in (None, labels // 2):
                    found = session.estimate(expected=expected)
                    line += [found.half_width, float(found.low <= truth.mean() <= found.high)]
                kept.append(tuple(line))
            seen.append(kept)
        cube = np.array(seen)
        all_held.append((row, count, cube[:, :, 2].all(axis=1).mean(), cube[:, :, 4].all(axis=1).mean()))
        for width in widths:
            cells = [f"{len(made.questions):,}", "20", f"{width:g}", str(count)]
            for place in (1, 3):
                narrow = cube[:, :, place] <= width
                at = np.where(narrow.any(axis=1), narrow.argmax(axis=1), 19)
                stopped = cube[np.arange(count), at]
                cells += [f"{stopped[:, place + 1].mean():.3f}", f"{stopped[:, 0].mean():.0f}"]
            print("|", " | ".join(cells), "|", flush=True)
    for row, count, one, every in all_held:
        what = f"All 20 looks at once, {row.questions or 12032:,} questions, {count} runs"
        print(f"\n{what}: {one:.3f} with intervals for one look, {every:.3f} with those for every look.")


def parts(folder: Path, runs: float, seed: int) -> None:
    """Print coverage and width for groups, for differences, and for a judge who passes a tenth of the wrong answers."""
    print(PARTS)
    for kind in ("usual", "random", "seen", "rate .97", "rate .03"):
        made = simulate(folder, Row("mmlu_pro", 200, (), 1000, kind), seed)
        size, labels, found = len(made.questions), 100, dict[str, list[tuple[float, float]]]()
        for run in range(max(round(runs), 2)):
            random = np.random.default_rng([seed, run, 5])
            truths = np.array([made.truth(2 * run + k, random) for k in (0, 1)])
            passed = np.where((truths[0] == 0) & (random.random(size) < 0.1), 1.0, truths[0])
            groups, number = random.integers(0, 6, size), int(random.integers(1 << 30))
            both, checked = (Session(made.answers, names, number, made.table) for names in (["a", "b"], ["a"]))
            for _ in range(10):
                asked = both.ask(labels // 10)
                for model in (0, 1):
                    both.tell(model, asked, truths[model, asked])
                asked = checked.ask(labels // 10, 0.3)
                checked.tell(0, asked, passed[asked])
                checks = checked.open_checks
                checked.tell(0, checks, truths[0, checks], by_people=True)
            pairs = [("a group", both.estimate(inside=groups == k), truths[0, groups == k].mean()) for k in range(6)]
            pairs.append(("a difference", both.estimate(against="b"), truths[0].mean() - truths[1].mean()))
            pairs.append(("a judge, 30 checks", checked.estimate(), truths[0].mean()))
            for name, each, truth in pairs:
                found.setdefault(name, []).append((float(each.low <= truth <= each.high), each.half_width))
        for name, kept in found.items():
            cover, half = np.array(kept).mean(axis=0)
            cells = (kind, name, str(len(kept)), f"{cover:.3f} ± {(cover * (1 - cover) / len(kept)) ** 0.5:.3f}")
            print("|", " | ".join(cells), f"| {half:.3f} |", flush=True)


def speed(folder: Path) -> None:
    """Print seconds and memory of one model with all earlier ones."""
    start, row = time.process_time(), Row("mmlu_pro", 2211, ())
    with np.load(folder / "mmlu_pro.npz") as file:
        models, questions = (file[name].astype(np.float32) for name in ("models", "questions"))
    random = np.random.default_rng(0)
    right = (random.random((len(models), len(questions)), np.float32) < sigmoid(models @ questions.T)).astype(
        np.float32
    )
    answers, truth = (
        Answers([str(k) for k in range(len(questions))], [f"m{k}" for k in range(2211)], right[1:]),
        right[0],
    )
    made, start = time.process_time() - start, time.process_time()
    session = Session.of(answers, ["new"])
    factors, start = time.process_time() - start, time.process_time()
    for _ in range(10):
        asked = session.ask(30)
        session.tell(0, asked, truth[asked].astype(np.float64))
    found = session.estimate()
    rounds, memory = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"* {row.earlier:,} earlier models, {len(questions):,} questions: factors in {factors:.1f} CPU seconds.")
    print(f"* Ten rounds of 30 questions, and an estimate: {rounds:.1f} CPU seconds.")
    print(f"* {memory:.2f} GB at most. The answers were simulated in {made:.1f} s.")
    print(f"* Estimate {found.value:.4f} ({found.low:.4f} to {found.high:.4f}), truth {truth.mean():.4f}.")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DATA_DIR")
    parser.add_argument("--runs", type=float, default=100, help="in percent of those of the table")
    parser.add_argument("--only", default="", help="rows whose name has this text")
    parser.add_argument("--looks", action="store_true", help="only stopping")
    parser.add_argument("--parts", action="store_true", help="only groups, differences and a checked judge")
    parser.add_argument("--speed", action="store_true", help="only speed and memory")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    missing = [name for name in LARGE if not (asked.folder / f"{name}.npz").exists()]
    if missing:
        parser.error(f"{asked.folder} has no {missing[0]}.npz")
    if asked.speed:
        speed(asked.folder)
    elif asked.parts:
        parts(asked.folder, asked.runs, asked.seed)
    elif asked.looks:
        looks(asked.folder, asked.runs, asked.seed)
    else:
        table(asked.folder, [row for row in ROWS if asked.only in row.name], asked.runs, asked.seed)


if __name__ == "__main__":
    main()
