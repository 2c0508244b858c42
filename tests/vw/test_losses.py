"""Losses of rows and runs beside one that dwarfs them, as Vowpal Wabbit 9.11.9 prints them."""

from pathlib import Path

import numpy as np
import pytest

from hutch import Chain
from hutch.vw.main import run

DAY = ["1700000000 |t z", *(f"{(k * k + k // 3) % 2} |f a b{k % 3} c{k % 5}" for k in range(40))]
"""The first label is a time, which belongs to another column."""
TEST = [f"{(k + k // 4) % 2} |f a b{k % 3}" for k in range(10)]
OUTLIER_OUT = [f"{3e6 if k == 9 else k * 7 % 3 - 1} |f a{k % 3} b{k % 7}" for k in range(60)]
"""The tenth example, which is held out, has a label that no other is near to."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, lines in {"day": DAY, "test": TEST, "out": OUTLIER_OUT}.items():
        Path(name).write_text("\n".join(lines) + "\n")


def table(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[list[str], str]:
    """The first two columns of the rows, and the average loss."""
    capsys.readouterr()
    assert run([*options]) == 0
    lines = capsys.readouterr().err.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("loss     last"))
    rows = lines[start + 1 : lines.index("", start)]
    return [" ".join(row.split()[:2]) for row in rows], next(line for line in lines if line.startswith("average loss"))


def test_a_row_s_loss_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    rows, average = table(capsys, "-d", "day", "--noconstant")
    since = [row.split()[1] for row in rows]
    assert since == ["28900000", "0.000000", "0.523745", "0.147050", "0.102637", "0.003419"]
    assert average == "average loss = 70487806537405912.000000"


def test_a_run_s_loss_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    run(["-d", "day", "--noconstant", "-f", "model", "--quiet"])
    rows, average = table(capsys, "-d", "test", "-t", "-i", "model")
    assert rows == ["0.000000 0.000000", "0.005643 0.011286", "0.252822 0.500000", "0.352673 0.452525"]
    assert average == "average loss = 0.382138"
    chain = Chain.load("model")
    chain.predict(Path("test"))
    assert chain.last_run.average_loss == pytest.approx(0.382138, abs=1e-6)


def test_a_pass_s_loss_on_what_is_held_out_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    rows, _ = table(capsys, "-d", "out", "--passes", "5", "-k", "-c")
    assert rows[-3:] == ["0.275679 0.109845", "25714296 25714296", "19285724 12857152"]


def test_an_importance_that_dwarfs_all_others_does_not_hide_a_later_run(capsys: pytest.CaptureFixture[str]) -> None:
    Path("heavy").write_text("1 1e20 |f a\n")
    run(["-d", "heavy", "-f", "model", "--quiet"])
    rows, average = table(capsys, "-d", "test", "-t", "-i", "model")
    assert len(rows) == 4 and average == "average loss = 0.500000"


def test_a_chance_to_ask_that_is_no_number_is_not_spent() -> None:
    """Products of four namespaces overflow: predictions and sensitivities are infinite."""
    lines = [
        "'tag2|ab 007:2 running:red A_b 12 12:1e-3 |c:0.5 12:7.2334e+05 y:red -5:3. 0:5 é |a x2 |a x1:7.6971e+05 12:-1 "
        "word:2 A_b y",
        "|d:-2 0 x:2.427e-140 x2:8.9631e+05 |b running |ab 12 word:0.97 running:-4 A_b running:007 |d:-2 x:-0 x1",
        "|c 007:1e-20 running:7 y:-4",
    ]
    Path("d").write_text("\n\n".join(f" {line}" for line in lines) + "\n\n")
    options = "--interactions aab --interactions abcd --passes 5 -k -c --active --mellowness 0.1 --initial_weight 0.2"
    assert (
        run(["-d", "d", *options.split(), "--holdout_period", "3", "--early_terminate", "1", "--quiet", "-f", "m"]) == 0
    )
    assert all(np.isfinite(each).all() for each in Chain.load("m").arrays().values())
