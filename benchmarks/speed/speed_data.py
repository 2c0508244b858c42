"""Seeded inputs of several shapes for `speed.py`, in VW's text format, its JSON and its CSV."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BLOCK = 10_000
Bytes = NDArray[np.uint8]


def digits(numbers: NDArray[np.int64], width: int, leading: bool) -> Bytes:
    """Decimal digits as bytes, shape (numbers, width); without `leading` zeros they become 0 bytes."""
    powers = 10 ** np.arange(width - 1, -1, -1)
    found = (48 + numbers[:, None] // powers % 10).astype(np.uint8)
    if not leading:
        found[(numbers[:, None] < powers) & (powers > 1)] = 0
    return found


def joined(*columns: Bytes | bytes, rows: int) -> bytes:
    """Columns of bytes side by side, row after row, 0 bytes left out."""
    parts = [np.tile(np.frombuffer(c, np.uint8), (rows, 1)) if isinstance(c, bytes) else c for c in columns]
    flat = np.hstack(parts).ravel()
    return flat[flat != 0].tobytes()


def words(lines: int, seed: int = 1) -> Iterator[bytes]:
    """A bag of about 76 numbered words of 47,236 a line, with weights of four decimals and a noisy linear label."""
    rng = np.random.default_rng(seed)
    size = 47_236
    chance = np.cumsum(1 / (np.arange(size) + 40.0))
    names = rng.permutation(size) + 1
    teacher = rng.standard_normal(size) * (rng.random(size) < 0.25)
    for start in range(0, lines, BLOCK):
        rows = min(BLOCK, lines - start)
        row = np.repeat(np.arange(rows), 30 + rng.geometric(1 / 58, rows))
        rank = np.searchsorted(chance, rng.random(len(row)) * chance[-1])
        pairs = np.unique(row * size + rank)
        row, rank = pairs // size, pairs % size
        weight = (1 + rng.exponential(1, len(row))) * np.log(3 + rank)
        weight /= np.sqrt(np.bincount(row, weight**2))[row]
        printed = np.clip(np.rint(weight * 10_000), 1, 9_999).astype(np.int64)
        margin = np.bincount(row, printed / 10_000 * teacher[rank]) + 0.15 * rng.standard_normal(rows)
        begins = np.r_[True, row[1:] != row[:-1]]
        head = np.zeros((len(row), 5), np.uint8)  # "\n-1 |" where a line begins
        head[begins] = np.where(margin[:, None] > 0, *(np.frombuffer(h, np.uint8) for h in (b"\n\x001 |", b"\n-1 |")))
        text = joined(head, b" ", digits(names[rank], 5, False), b":0.", digits(printed, 4, True), rows=len(row))
        yield text[1:] + b"\n"


def clicks(lines: int, seed: int = 2) -> Iterator[bytes]:
    """13 binned numbers in `i` and 26 categories in `c`, each a name of ten characters, with a click or none."""
    rng = np.random.default_rng(seed)
    kinds = np.r_[np.full(13, 60), np.geomspace(8, 1e6, 26)]
    effect = rng.standard_normal(1 << 16) * 0.35
    fields = np.arange(39)
    letters = np.frombuffer(b"0123456789abcdef", np.uint8)
    for start in range(0, lines, BLOCK):
        rows = min(BLOCK, lines - start)
        value = np.floor(kinds ** rng.random((rows, 39))).astype(np.uint64)
        code = (value * np.uint64(0x9E3779B97F4A7C15) + fields.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)) >> 32
        click = rng.random(rows) < 1 / (1 + np.exp(1.3 - effect[code & 0xFFFF].sum(1) / 2))
        labels = np.zeros((rows, 3), np.uint8)
        labels[:] = np.where(click[:, None], *(np.frombuffer(h, np.uint8) for h in (b"\x001 ", b"-1 ")))
        nibbles = (code[:, :, None] >> np.arange(28, -1, -4, dtype=np.uint64)) & np.uint64(15)
        columns: list[Bytes | bytes] = [labels, b"|i"]
        for field in fields:
            columns += [b" |c" if field == 13 else b"", b" %02d" % field, letters[nibbles[:, field].astype(np.intp)]]
        yield joined(*(c for c in columns if len(c)), b"\n", rows=rows)


def mixed(lines: int, seed: int = 4) -> Iterator[bytes]:
    """Four namespaces of 3 to 14 names of 2 to 12 bytes each, half of them with a value of up to six decimals."""
    rng = np.random.default_rng(seed)
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz_0123456789", np.uint8)
    names = [letters[rng.integers(0, len(letters), size)].tobytes() for size in rng.integers(2, 13, 20_000)]
    effect = rng.standard_normal(len(names))
    for start in range(0, lines, BLOCK):
        for _ in range(min(BLOCK, lines - start)):
            parts, score = [], 0.0
            for space in (b"|user", b"|item", b"|ctx", b"|w"):
                parts.append(space)
                for name in rng.integers(0, len(names), rng.integers(3, 15)).tolist():
                    value = rng.normal(0, 3) if rng.random() < 0.5 else 1.0
                    parts.append(names[name] + (b":%.*f" % (int(rng.integers(0, 7)), value) if value != 1 else b""))
                    score += effect[name] * value
            yield (b"1 " if score > 0 else b"-1 ") + b" ".join(parts) + b"\n"


def meals(lines: int, seed: int = 8) -> Iterator[bytes]:
    """An animal and a food of one kind in two a line, each of a thousand names: whether it eats that."""
    rng = np.random.default_rng(seed)
    animals = [b"|animal Herbivore-%d", b"|animal Carnivore-%d"]
    foods = [b"|food Plant-%d\n", b"|food Meat-%d\n"]
    for start in range(0, lines, BLOCK):
        drawn = rng.integers(0, [2, 2, 1000, 1000], (min(BLOCK, lines - start), 4))
        for animal, food, *numbers in drawn.tolist():
            label = b"1 " if animal == food else b"-1 "
            yield (label + animals[animal] + b" " + foods[food]) % tuple(numbers)


def ratings(lines: int, seed: int = 3) -> Iterator[bytes]:
    """What raters say of tasks: one of five classes, five ratings a task, features of rater, task and both."""
    rng = np.random.default_rng(seed)
    tasks, raters, classes = -(-lines // 5), 500, 5
    prior = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
    truth = rng.choice(classes, tasks, p=prior)
    skill, hard = rng.beta(8, 2, raters), rng.beta(2, 6, tasks)
    usual = rng.dirichlet(prior * 6, raters).cumsum(1)
    task = rng.permutation(np.repeat(np.arange(tasks), 5))[:lines]
    rater = np.minimum(rng.zipf(1.4, lines) - 1, 10**6) * 7919 % raters
    right = rng.random(lines) < skill[rater] * (1 - hard[task] / 2)
    other = np.minimum((rng.random(lines)[:, None] > usual[rater]).sum(1), classes - 1)
    label = np.where(right, truth[task], other) + 1
    yield b"".join(
        b"%d |rater r_%d |task t_%d |id r_%d t_%d\n" % (y, r, t, r, t)
        for y, r, t in zip(label.tolist(), rater.tolist(), task.tolist(), strict=True)
    )


def _json(line: dict[str, object]) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def examples(lines: int, seed: int = 5) -> Iterator[bytes]:
    """Lines of `--json`: twelve named numbers of a user, a word, an integer and a truth value of a context."""
    rng = np.random.default_rng(seed)
    names = [f"n{k:04d}" for k in range(3000)]
    for _ in range(lines):
        user = {names[k]: round(float(rng.normal()), 4) for k in rng.integers(0, 3000, 12)}
        context = {"os": names[rng.integers(50)], "age": int(rng.integers(80)), "new": bool(rng.integers(2))}
        label = 1 if sum(user.values()) + 3 * rng.normal() > 0 else -1
        yield _json({"_label": label, "user": user, "ctx": context})


def logs(lines: int, seed: int = 6) -> Iterator[bytes]:
    """Lines of `--dsjson`: decisions among five items with some tags each, for a user in a context."""
    rng = np.random.default_rng(seed)
    names = [f"n{k:04d}" for k in range(3000)]
    for i in range(lines):
        chosen, prices = int(rng.integers(5)), rng.random(5).round(3).tolist()
        items = [
            {"item": {"id": names[k], "price": price}, "tags": {f"t{tag}": 1}}
            for k, tag, price in zip(rng.integers(0, 3000, 5), rng.integers(0, 40, 5), prices, strict=True)
        ]
        seen = {
            "user": {names[k]: round(float(rng.normal()), 4) for k in rng.integers(0, 3000, 6)},
            "ctx": {"os": names[rng.integers(50)], "age": int(rng.integers(80))},
            "_multi": items,
        }
        yield _json(
            {
                "_label_cost": -float(rng.random() < 0.1 + 0.8 * prices[chosen]),
                "_label_probability": 0.2,
                "_label_Action": chosen + 1,
                "_labelIndex": chosen,
                "Timestamp": "2026-01-01T00:00:00.000Z",
                "EventId": f"e{i}",
                "a": [chosen + 1, *(k + 1 for k in range(5) if k != chosen)],
                "c": seen,
                "p": [0.2] * 5,
            }
        )


def cells(lines: int, seed: int = 7) -> Iterator[bytes]:
    """Rows of `--csv`: ten numbers of four decimals and an integer, in two namespaces, with a noisy linear label."""
    rng = np.random.default_rng(seed)
    yield b"_label," + b",".join(b"u|n%d" % k for k in range(10)) + b",c|age\n"
    teacher = rng.standard_normal(10)
    for start in range(0, lines, BLOCK):
        rows = rng.standard_normal((min(BLOCK, lines - start), 10))
        labels = np.where(rows @ teacher + rng.standard_normal(len(rows)) > 0, 1, -1)
        ages = rng.integers(18, 80, len(rows))
        for label, row, age in zip(labels.tolist(), rows.tolist(), ages.tolist(), strict=True):
            yield b"%d,%s,%d\n" % (label, b",".join(b"%.4f" % value for value in row), age)


SHAPES = {
    "words": words,
    "mixed": mixed,
    "meals": meals,
    "clicks": clicks,
    "ratings": ratings,
    "examples": examples,
    "logs": logs,
    "cells": cells,
}


def main() -> None:
    """Write a file in one step: `python benchmarks/speed/speed_data.py SHAPE LINES PATH`."""
    shape, lines, path = sys.argv[1:]
    part = Path(f"{path}.part")
    with open(part, "wb") as file:
        file.writelines(SHAPES[shape](int(lines)))
    part.rename(path)


if __name__ == "__main__":
    main()
