"""`hutch reproduce dyadic --quick`: noisy ratings simulated, learned from, and measured."""

from typing import TYPE_CHECKING, Any

from hutch.core.strict_json import dumps

if TYPE_CHECKING:
    from hutch.reproduce.simulate import Ratings

RANKS = (0, 1, 2, 3)
"""Rank 0 is the linear learner."""
PASSES = 10


def chain(rank: int) -> dict[str, Any]:
    """The chain of the comparison; all ranks have the same rates, found best for the linear learner."""
    base = {
        "left": "rater",
        "right": "task",
        "rank": rank,
        "loss": "hinge",
        "learning_rate": 0.3,
        "l2": 0.3,
        "shift": 0.3,
    }
    return {"weights": {"bits": 22}, "chain": [{"filter_tree": {"classes": 5}}, {"dyadic": base}]}


def compare(*, quick: bool, seed: int, write: str | None, as_json: bool) -> None:
    """Learn from simulated ratings with linear and dyadic learners, and show their errors on held-out ratings.

    A label depends on its rater and on its task. A linear learner adds the two; a dyadic learner of rank k also
    multiplies k hidden numbers of the rater with k of the task. Both stand below a filter tree, with hinge loss.

    Args:
        quick: use less than half of the data.
        seed: of the simulation.
        write: write the data into this folder: train.vw, test.vw, labels.tsv.
        as_json: print one JSON object.
    """
    import time

    import numpy as np

    from hutch.reproduce.simulate import simulate_ratings

    start = time.perf_counter()
    size = {"tasks": 4_000, "raters": 1_200} if quick else {}
    ratings = simulate_ratings(**size, seed=seed)
    count = len(ratings) // 16
    test, train = ratings[:count], ratings[count:]
    if write is not None:
        _write(write, train, test)
    if not as_json:
        print(f"{len(train)} simulated ratings to learn from in {PASSES} passes, {count} kept aside, 5 classes\n")
        print("learner             test 0/1 loss", flush=True)
    losses = {"best constant": float(np.mean(test.labels != np.bincount(train.labels).argmax()))}
    _show("best constant", losses, as_json)
    for name, loss in _learn(train, test):
        losses[name] = loss
        _show(name, losses, as_json)
    seconds = time.perf_counter() - start
    if as_json:
        print(dumps({"train": len(train), "test": count, "passes": PASSES, "losses": losses, "seconds": seconds}))
    else:
        error = (losses["linear"] * (1 - losses["linear"]) / count) ** 0.5
        print(f"\nstandard error {error:.4f}; {seconds:.1f} s, most of it compiling if this was the first run")


def _learn(train: "Ratings", test: "Ratings") -> Any:
    """Name and test loss of each learner, as they become ready; text parser and learner are compiled side by side."""
    from multiprocessing import get_context

    import numpy as np

    from hutch.chain import Chain

    lines, test_lines = train.examples(), test.examples()
    with get_context("spawn").Pool(1) as pool:
        parser = pool.apply_async(compile_parser)
        for rank in RANKS:
            learner = Chain.from_config(chain(rank))
            parser.get()
            for number in range(PASSES):
                learner.learn(lines)
                if number < PASSES - 1:
                    learner.end_pass()
            name = f"dyadic, rank {rank}" if rank else "linear"
            yield name, float(np.mean(learner.predict(test_lines) != test.labels))


def compile_parser() -> None:
    """Compile the text parser and leave it in the cache on disk."""
    from hutch.core.text.parser import TextParser

    TextParser().parse(b"1 |f a:0.5\n")


def _show(name: str, losses: dict[str, float], as_json: bool) -> None:
    if not as_json:
        print(f"{name:20}{losses[name]:.4f}", flush=True)


def _write(directory: str, train: "Ratings", test: "Ratings") -> None:
    from hutch.core.atomic import make_directory, write_bytes

    folder = make_directory(directory)
    write_bytes(folder / "train.vw", train.examples())
    write_bytes(folder / "test.vw", test.examples())
    write_bytes(folder / "labels.tsv", train.table())
