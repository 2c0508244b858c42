"""Scores and probabilities of classes whose numbering is found out on the way; figures recorded from VW 9.11.9."""

import re
from pathlib import Path

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.vw.main import run

FROM_0 = "0 |f a b\n2 |f b c\n0 |f c d\n3 |f d e\n1 |f c\n1 |f a\n2 |f b\n4 |f e\n"
MIXED = "4 |f a b\n2 |f b c\n0 |f c d\n3 |f d e\n1 |f c\n1 |f a\n2 |f b\n3 |f e\n"
LATE = "7 |f a b\n2 |f b c\n0 |f c d\n1 |f d e\n9 |f c\n"


@pytest.mark.parametrize(
    ("text", "options", "loss", "log_loss"),
    [
        (FROM_0, "", "1.000000", None),
        (FROM_0, "--scores", "0.875000", None),
        (FROM_0, "--probabilities", "0.875000", "1.466821"),
        (FROM_0, "--probabilities --loss_function logistic", "0.875000", "1.489298"),
        (MIXED, "--probabilities", "0.875000", "1.414650"),
        (MIXED, "--probabilities --loss_function logistic", "0.875000", "1.434500"),
        (LATE, "--probabilities", "1.000000", "1.363953"),
    ],
)
def test_the_label_that_tells_the_numbering_counts_for_its_own_scores(
    text, options, loss, log_loss, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    Path("classes.vw").write_text(text)
    assert run(["-d", "classes.vw", "--oaa", "4", *options.split()]) == 0
    told = capsys.readouterr().err
    assert re.findall(r"average loss = (\S+)", told) == [loss]
    assert re.findall(r"log loss = (\S+)", told) == ([log_loss] if log_loss else [])


@pytest.mark.parametrize("options", ["--l2 1e-8", "--l2 1e-3 --l1 1e-3", "--l1 1e-3 --sgd -l 0.01"])
def test_a_model_that_is_only_tested_predicts_as_the_peer_does(options, tmp_path, monkeypatch):
    vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="the peer: pip install vowpalwabbit==9.11.9")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    lines = [
        f"{x.sum():.3f} |f " + " ".join(f"w{rng.integers(40)}:{v:.3f}" for v in x) + f" |g h{rng.integers(9)}"
        for x in rng.random((300, 6))
    ]
    Path("data.vw").write_text("\n".join(lines) + "\n")
    for more in (f"-f theirs {options}", "-i theirs -t -p theirs.txt"):
        peer = vowpalwabbit.Workspace(f"-d data.vw --quiet {more}", enable_logging=True)
        peer.run_parser()
        peer.finish()
    assert run(["-d", "data.vw", "--quiet", "-f", "ours", *options.split()]) == 0
    assert run(["-d", "data.vw", "--quiet", "-i", "ours", "-t", "-p", "ours.txt"]) == 0
    assert Path("ours.txt").read_text() == Path("theirs.txt").read_text()
    assert run(["-d", "data.vw", "--quiet", "-i", "ours", "-p", "more.txt", "-f", "ours2"]) == 0  # it goes on as before


def test_a_table_that_no_memory_holds_is_refused(monkeypatch):
    def full(*_):
        raise MemoryError

    zeros = np.zeros
    monkeypatch.setattr(np, "zeros", lambda shape, *kind: full() if np.prod(shape) > 2**34 else zeros(shape, *kind))
    with pytest.raises(ConfigError, match="weights.bits: got 31, but there is no memory for a table of 32 GiB"):
        Chain.from_config({"chain": ["linear"], "weights": {"bits": 31}})
