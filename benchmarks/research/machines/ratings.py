"""Loss of quality of dyads in shards, paired over splits: beside one process and another order of the data.

    python benchmarks/research/machines/ratings.py rotation DIR [--rank 10] [--passes 5] [--splits 8] [--shards 4,8,16]
    python benchmarks/research/machines/ratings.py tree [--splits 4] [--shards 4,16]

`rotation`: DIR/train.tsv, of lines user TAB item TAB rating; each split keeps another tenth aside for the test, all
learn from the rest, as it lies by user (`--order user`) or shuffled, and shards by user and item rotate their blocks.
`again` is one process with the rest in another order: what is not learning from shards but chance.

`tree`: labels of tasks by raters, simulated, one simulation a split, under a filter tree; shards by task.

Of each: the mean over splits, the difference from one process in pairs with its standard error, and the standard
deviation of one difference.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.distributed import train
from hutch.reproduce.dyadic import split

Error = Callable[[Chain], float]


def read_ratings(path: Path) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Users and items as numbers from 1, and ratings, of a file of lines user TAB item TAB rating."""
    users: dict[str, int] = {}
    items: dict[str, int] = {}
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        user, item, rating = line.split("\t")[:3]
        rows.append((users.setdefault(user, len(users) + 1), items.setdefault(item, len(items) + 1), float(rating)))
    table = np.array(rows)
    return table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2]


def rating_lines(users: NDArray[Any], items: NDArray[Any], ratings: NDArray[Any]) -> bytes:
    """One line `rating |user 7 |item 42` each."""
    columns = zip(ratings.tolist(), users.tolist(), items.tolist(), strict=True)
    return "".join(f"{rating:g} |user {user} |item {item}\n" for rating, user, item in columns).encode()


def learned(lines: list[bytes], config: Any, passes: int, folder: str, see: Callable[[Chain], Any], **how: Any) -> None:
    """Learn in one process, or in `shards`; `see` gets the chain after each pass."""
    path = Path(folder) / "data.vw"
    path.write_bytes(b"".join(lines))
    if how:
        chain = Chain.from_config(config)
        train([path], chain, passes=passes, holdout=0, on_round=lambda chain, _: see(chain), **how)
        return
    chain = Chain.from_config(config)
    for number in range(passes):
        if number:
            chain.end_pass()
        chain.run(chain.files([str(path)]))
        see(chain)


def rotations(given: argparse.Namespace, folder: str) -> Iterator[tuple[str, list[float]]]:
    """Root mean squared errors on the ratings kept aside, of each learner in each split."""
    users, items, ratings = read_ratings(Path(given.directory) / "train.tsv")
    dyadic = {"left": "user", "right": "item", "rank": given.rank}
    for number in range(given.splits):
        random = np.random.default_rng(number)
        aside = random.random(len(ratings)) < 0.1
        order = np.argsort(users, kind="stable") if given.order == "user" else random.permutation(len(users))
        rest = order[~aside[order]]
        lines = rating_lines(users[rest], items[rest], ratings[rest]).splitlines(keepends=True)
        test = rating_lines(users[aside], items[aside], ratings[aside]).decode().splitlines()
        others = [line.partition(" ")[2] for line in test]

        def error(
            chain: Chain, others: list[str] = others, aside: NDArray[np.bool_] = aside, known: Any = ratings[rest]
        ) -> list[float]:
            gaps = np.clip(chain.predict(others), known.min(), known.max()) - ratings[aside]
            return [float(np.sqrt(np.mean(gaps**2)))]

        config = {"chain": [{"dyadic": dyadic}]}
        shuffled = [lines[i] for i in random.permutation(len(lines))]
        for name, data, how in ways(given, lines, ("user", "item"), shuffled):
            found: list[list[float]] = []
            learned(data, config, given.passes, folder, lambda chain, f=found, e=error: f.append(e(chain)), **how)
            yield name, found[-1]


def trees(given: argparse.Namespace, folder: str) -> Iterator[tuple[str, list[float]]]:
    """Errors after 1, 2, 5 and 20 passes, of each learner in each simulation."""
    dyadic = {"left": "rater", "right": "task", "loss": "hinge", "rank": given.rank, "l2": 0.3}
    config = {"chain": [{"filter_tree": {"classes": 5}}, {"dyadic": dyadic}]}
    for number in range(given.splits):
        rest, aside = split(number)
        lines, test = rest.examples().splitlines(keepends=True), aside.examples().decode().splitlines()
        others = [line.partition(" ")[2] for line in test]
        shuffled = [lines[i] for i in np.random.default_rng(number).permutation(len(lines))]
        for name, data, how in ways(given, lines, ("task",), shuffled):
            found: list[float] = []

            def see(chain: Chain, found: Any = found, others: Any = others, labels: Any = aside.labels) -> None:
                found.append(float(np.mean(chain.predict(others) != labels)))

            learned(data, config, 20, folder, see, **how)
            yield name, [found[k - 1] for k in (1, 2, 5, 20)]


def ways(
    given: argparse.Namespace, lines: list[bytes], by: tuple[str, ...], shuffled: list[bytes]
) -> Iterator[tuple[str, list[bytes], dict[str, Any]]]:
    """Name, data and how to learn."""
    yield "one process", lines, {}
    yield "again", shuffled, {}
    for shards in map(int, given.shards.split(",")):
        yield f"{shards} shards", lines, {"shards": shards, "by": by}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("job", choices=["rotation", "tree"])
    arguments.add_argument("directory", nargs="?", default="")
    for option, default in (("--rank", 10), ("--passes", 5), ("--splits", 8)):
        arguments.add_argument(option, type=int, default=default)
    arguments.add_argument("--shards", default="4,8,16")
    arguments.add_argument("--order", choices=["user", "shuffled"], default="user")
    given = arguments.parse_args()
    found: dict[str, list[list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, errors in (rotations if given.job == "rotation" else trees)(given, folder):
            found.setdefault(name, []).append(errors)
            print(f"split {len(found[name])}: {name:12} ", *(f"{error:.4f}" for error in errors), flush=True)
    one = np.array(found["one process"])
    for name, errors in found.items():
        table = np.array(errors)
        off, root = table - one, np.sqrt(len(table))
        cells = zip(table.mean(0), off.mean(0), off.std(0, ddof=int(len(table) > 1)), strict=True)
        texts = (f"{mean:.4f} {gap:+.4f} ± {spread / root:.4f} ({spread:.4f})" for mean, gap, spread in cells)
        print(f"{name:12} ", " | ".join(texts), flush=True)


if __name__ == "__main__":
    main()
