"""Valid data that is probably a mistake gets a notice of one line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("name", "text", "status", "said"),
    [
        ("a.vw", "", 0, "no example was read"),
        ("a.csv", "label,x\n", 0, "no example was read"),
        ("a.csv", "", 1, "is empty, wanted a header and records"),
        ("a.svm", "1 1:2 3:0.5\n", 1, "a.svm: got svmlight, wanted text: put ' |' behind each label"),
    ],
)
def test_nothing_to_read_is_said(hutch: Run, tmp_path: Path, name: str, text: str, status: int, said: str) -> None:
    (tmp_path / name).write_text(text)
    result = hutch("train", tmp_path / name, "--quiet")
    assert result.code == status and result.err.strip().endswith(said)


def test_a_namespace_that_no_example_has_is_said(hutch: Run, tmp_path: Path) -> None:
    (tmp_path / "a.vw").write_text("1 |rater ann |film war\n")
    (tmp_path / "chain.yaml").write_text("chain:\n  - linear: {interactions: [[rater, flim], [':', film]]}\n")
    result = hutch("train", tmp_path / "a.vw", "-C", tmp_path / "chain.yaml", "--quiet")
    assert (result.code, result.err) == (0, "chain[0].linear names the namespace 'flim', which no example has\n")


@pytest.mark.parametrize("command", ["train", "predict"])
def test_lines_without_empty_ones_between_are_said_to_be_one_item(command: str, hutch: Run, tmp_path: Path) -> None:
    lines = [f"{1 + i % 2} |worker w{i % 3} |words x{i % 2}\n" for i in range(30)]
    (tmp_path / "blocks.vw").write_text("".join(line + "\n" * (i % 3 == 2) for i, line in enumerate(lines)))
    (tmp_path / "flat.vw").write_text("".join(lines))
    chain = "chain: [{crowd_em: {classes: 2}}, {one_against_all: {classes: 2}}, {linear: {loss: logistic}}]\n"
    (tmp_path / "chain.yaml").write_text(chain)
    model = tmp_path / "model"
    assert hutch("train", tmp_path / "blocks.vw", "-C", tmp_path / "chain.yaml", "--quiet", "-f", model).err == ""
    how = ["-C", tmp_path / "chain.yaml"] if command == "train" else ["-i", model]
    said = hutch(command, tmp_path / "flat.vw", *how, "--quiet").err
    assert said == "all 30 lines are one item, since no empty line ends an item before the last\n"
