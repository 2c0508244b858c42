"""`hutch train` and `hutch predict` with crowd_em: one prediction per item, from the last pass."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

CHAIN = """
weights: {bits: 16}
chain:
  - crowd_em: {classes: 3, passes: 2, slots: 1024}
  - one_against_all: {classes: 3}
  - linear: {loss: logistic}
"""


def write_items(path: Path, count: int, labelled: bool) -> np.ndarray:
    """Items with words that tell the class, three labels each; returns the true classes."""
    random = np.random.default_rng(3)
    truth = random.integers(3, size=count)
    with path.open("w") as file:
        for i, z in enumerate(truth):
            words = f"|words c{z}_{random.integers(8)} n{random.integers(30)}"
            for worker in random.choice(9, 3, replace=False) if labelled else ():
                label = z if random.random() < 0.6 else random.integers(3)
                file.write(f"{label + 1} 'item{i}|worker w{worker} {words}\n")
            file.write("\n" if labelled else f"{words}\n\n")
    return truth


def test_train_and_predict(tmp_path: Path, hutch: Any) -> None:
    truth = write_items(tmp_path / "labels.vw", 700, labelled=True)
    (tmp_path / "chain.yaml").write_text(CHAIN)
    arguments = [tmp_path / "labels.vw", "-C", tmp_path / "chain.yaml", "--passes", 4]
    outputs = ["-p", tmp_path / "classes", "-r", tmp_path / "posteriors", "-f", tmp_path / "model"]
    done = hutch("train", *arguments, *outputs)
    assert done.code == 0
    assert "Held out" not in done.err
    rows = (tmp_path / "classes").read_text().splitlines()
    assert [row.split()[1] for row in rows] == [f"item{i}" for i in range(700)]
    assert np.mean([int(row.split()[0]) - 1 for row in rows] == truth) > 0.9
    posteriors = [row.split() for row in (tmp_path / "posteriors").read_text().splitlines()]
    shares = np.array([[float(cell.split(":")[1]) for cell in row[:3]] for row in posteriors])
    assert shares.sum(axis=1) == pytest.approx(np.ones(700), abs=1e-4)
    assert [row[3] for row in posteriors] == [f"item{i}" for i in range(700)]
    assert [f"{k + 1}" for k in shares.argmax(axis=1)] == [row.split()[0] for row in rows]

    fresh = write_items(tmp_path / "fresh.vw", 300, labelled=False)
    hutch("predict", tmp_path / "fresh.vw", "-i", tmp_path / "model", "-p", tmp_path / "found")
    found = np.array((tmp_path / "found").read_text().split(), int)
    assert np.mean(found == fresh + 1) > 0.85
