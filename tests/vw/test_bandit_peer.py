"""Vowpal Wabbit itself as an oracle of decisions, where it is installed: every line of predictions equal."""

import subprocess
import sys

import numpy as np
import pytest

from hutch.vw.main import run

pytest.importorskip("vowpalwabbit", reason="the peer is not installed: pip install vowpalwabbit==9.11.9")


def _decisions(seed, kind, count=60):
    """Random decisions as text."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        n = int(random.integers(1, 6))
        has_shared = random.random() < 0.8
        more = f"|a u{random.integers(4)} w" if kind == "crossed" else ""
        lines = [f"shared |u u{random.integers(4)} v:{random.normal():.3f} {more}"] if has_shared else []
        chosen = int(random.integers(n)) if random.random() < 0.9 else -1
        for k in range(n):
            label = f"{k + 1}:{random.random():.3f} " if kind == "costs" else ""
            if kind in ("bandit", "crossed") and k == chosen:
                label = f"{k}:{random.normal():.3f}:{random.uniform(0.05, 1):.3f} "
            words = " ".join(f"a{random.integers(9)}:{random.uniform(-1, 2):.3f}" for _ in range(3))
            found.append(f"{label}|{random.choice(['a', 'b'])} {words}")
        found[-n:] = [*lines, *found[-n:]]
        found.append("")
    return "\n".join(found) + "\n"


def _classes(seed, label, count=80):
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(count):
        words = " ".join(f"x{random.integers(9)}:{random.uniform(-1, 2):.3f}" for _ in range(4))
        lines.append(f"{label(random)} |x {words}")
    return "\n".join(lines) + "\n"


def _logged(random):
    return f"{random.integers(1, 4)}:{random.random():.3f}:{random.uniform(0.1, 1):.3f}"


def _several(random):
    known = random.permutation(4) + 1
    return f"{known[0]}:1 {_logged(random)} {known[1]}:0.5:0.25 {known[2]}:2"


def _costs(random):
    return " ".join(f"{k}:{random.random():.3f}" for k in (1, 2, 3))


def _class(random):
    return str(random.integers(1, 4))


EXPLORERS = [
    "--epsilon 0.2 -q ua",
    "--epsilon 0.1 --cb_type dr -q ab --noconstant",
    "--epsilon 0.1 --cb_type sm --loss_function logistic",
    "--first 15 --epsilon 0.1",
    "--softmax --lambda 3 --cb_type ips",
    "--squarecb --gamma_scale 30 -q ::",
    "--squarecb --elim --mellowness 0.01 --cb_min_cost -2 --cb_max_cost 2",
    "--regcb --cb_min_cost -2 --cb_max_cost 2 -q ua",
    "--regcb --regcbopt --mellowness 0.5 --first_only -q ua -q a:",
    "--bag 4 --epsilon 0.05 --random_seed 3",
    "--bag 2 --greedify --cb_type dr",
    "--cover 3 -q ua",
    "--cover 4 --psi 0.3 --cb_type dr --epsilon 0.2",
    "--cover 2 --nounif --cb_type ips",
    "--cb_sample --epsilon 0.4 --random_seed 9",
    "--cb_dro --epsilon 0.2 -q ua",
    "--cb_dro --cb_dro_alpha 0.3 --cb_dro_tau 0.9 --softmax --cb_type dr",
    "--cb_dro --squarecb --gamma_scale 20",
    "--cb_dro --bag 2 --cb_sample",
]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        *((f"--cb_explore_adf {arguments}", ("bandit", k)) for k, arguments in enumerate(EXPLORERS)),
        ("--explore_eval --epsilon 0.3 -q ua", ("bandit", 70)),
        ("--explore_eval --cb_explore_adf --squarecb --multiplier 0.4", ("bandit", 71)),
        ("--explore_eval --target_rate 0.5 --bag 3 --random_seed 5", ("bandit", 72)),
        ("--cb_adf --cb_dro --cb_dro_wmax 20 --cb_type ips", ("bandit", 29)),
        ("--cb_adf --rank_all -b 8 --clip_p 0.2", ("bandit", 30)),
        ("--cb_adf --cb_type dm --sgd -l 0.1", ("bandit", 31)),
        ("--csoaa_ldf m -q ua", ("costs", 32)),
        ("--csoaa_ldf mc --loss_function hinge", ("costs", 33)),
        ("--csoaa_ldf m --csoaa_rank --l1 1e-4", ("costs", 34)),
        ("--cb 3 --cb_type dr", (_logged, 35)),
        ("--cb_explore 3 --cover 2 -q xx", (_logged, 36)),
        ("--cbify 3 --bag 2", (_class, 37)),
        ("--cbify 3 --cb_explore_adf --squarecb --loss0 -1 --loss1 2 -q xx", (_class, 38)),
        ("--csoaa_ldf mc --probabilities --loss_function logistic", ("costs", 41)),
        ("--cbify 3 --cbify_cs --cover 2", (_costs, 50)),
        ("--cbify 3 --cbify_cs --cover 2 --flip_loss_sign", (_costs, 54)),
        ("--cb 3 --ngram 2", (_logged, 55)),
        ("--cb_explore 3 --cover 2 --ngram x3 --skips 1 -q xx", (_logged, 56)),
        ("--cb 3 --cb_type dr", (_several, 60)),
        ("--cb_explore 4 --squarecb", (_several, 61)),
        ("--cb_explore_adf --ngram 2 --skips 1 -q ua", ("crossed", 62)),
        ("--cb_adf --ngram a3 --ngram b2 -q ab", ("crossed", 63)),
        ("--cbify 3 --ngram 2", (_class, 57)),
        ("--cbify 3 --cbify_cs --ngram 2 --cb_type dr", (_costs, 58)),
    ],
)
def test_same_lines(arguments, text, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    kind, seed = text
    (tmp_path / "data").write_text(_classes(seed, kind) if callable(kind) else _decisions(seed, kind))
    words = ["-d", "data", *arguments.split(), "--quiet"]
    subprocess.run([sys.executable, "-m", "vowpalwabbit", *words, "-p", "theirs"], check=True, capture_output=True)
    assert run([*words, "-p", "ours"]) == 0
    ours, theirs = ((tmp_path / name).read_text().splitlines() for name in ("ours", "theirs"))
    assert ours == theirs


@pytest.mark.parametrize("arguments", ["", "--probabilities"])
def test_same_raw_lines(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text(_decisions(54, "costs"))
    words = ["-d", "data", *f"--csoaa_ldf mc --loss_function logistic --quiet {arguments}".split()]
    subprocess.run([sys.executable, "-m", "vowpalwabbit", *words, "-r", "theirs"], check=True, capture_output=True)
    assert run([*words, "-r", "ours"]) == 0
    assert (tmp_path / "ours").read_text() == (tmp_path / "theirs").read_text()
