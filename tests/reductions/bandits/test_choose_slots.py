"""Several slots per decision: Vowpal Wabbit as an oracle, one slot as a decision without any, estimates by hand."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hutch import Chain
from hutch.core.batch import ends_of_groups
from hutch.vw.main import run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def _slots(seed, count=60, known=0.8):
    """Random decisions with one to three slots; some slots name the actions that they may have."""
    random, found = np.random.default_rng(seed), []
    for _ in range(count):
        actions, slots = int(random.integers(3, 6)), int(random.integers(1, 4))
        found.append(f"ccb shared |U u{random.integers(4)} |A x:0.5")
        found += [f"ccb action |A a{random.integers(9)} b:{random.normal():.3f}" for _ in range(actions)]
        chosen = random.permutation(actions)
        for k in range(slots):
            label = f" {chosen[k]}:{random.normal():.3f}:{random.uniform(0.1, 1):.3f}"
            label = label if random.random() < known else ""
            allowed = ",".join(str(k) for k in range(actions)) if random.random() < 0.2 else ""
            found.append(f"ccb slot{label} {allowed} |S s{k} |A y {'| own' if random.random() < 0.5 else ''}")
        found.append("")
    return "\n".join(found) + "\n"


def _slates(seed, count=50):
    random, found = np.random.default_rng(seed), []
    for _ in range(count):
        sizes = random.integers(1, 4, int(random.integers(1, 4)))
        cost = f" {random.normal():.3f}" if random.random() < 0.8 else ""
        found.append(f"slates shared{cost} |U u{random.integers(4)}")
        found += [f"slates action {k} |A a{random.integers(9)}" for k, size in enumerate(sizes) for _ in range(size)]
        for size in sizes:
            label = f" {random.integers(size)}:{random.uniform(0.1, 1):.3f}" if cost else ""
            found.append(f"slates slot{label} |S s")
        found.append("")
    return "\n".join(found) + "\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("--ccb_explore_adf", _slots(1)),
        ("--ccb_explore_adf -q UA --cb_type dr --epsilon 0.2", _slots(2)),
        ("--ccb_explore_adf -q :: --squarecb", _slots(3)),
        ("--ccb_explore_adf --ngram 2 --cover 2 -q US --ignore U", _slots(4, 40)),
        ("--ccb_explore_adf --all_slots_loss --bag 2 --noconstant", _slots(5, known=1)),
        ("--slates -q UA", _slates(6)),
    ],
)
def test_same_as_the_peer(arguments, text):
    pytest.importorskip("vowpalwabbit", reason="the peer is not installed: pip install vowpalwabbit==9.11.9")
    Path("data").write_text(text)
    words = ["-d", "data", *arguments.split()]
    peer = [sys.executable, "-m", "vowpalwabbit", *words]
    told = subprocess.run([*peer, "-p", "theirs", "-f", "old"], check=True, capture_output=True, text=True).stderr
    assert run([*words, "-p", "ours", "-f", "new", "--quiet"]) == 0
    assert Path("ours").read_text() == Path("theirs").read_text()
    [loss] = [float(line.split()[-1]) for line in told.splitlines() if line.startswith("average loss")]
    statistics = Chain.load("new").statistics
    assert statistics.sum_loss / statistics.weighted_labeled == pytest.approx(loss, abs=1e-5)
    if "--bag" not in arguments and "--cover" not in arguments and "dr" not in arguments:
        for model in ("old", "new"):  # a model of either goes on as the peer would
            assert run([*words[:2], "-i", model, "-p", f"{model}.p", "--quiet"]) == 0
        subprocess.run([*peer[:3], *words[:2], "-i", "old", "-p", "theirs", "--quiet"], check=True, capture_output=True)
        assert Path("old.p").read_text() == Path("new.p").read_text() == Path("theirs").read_text()


def test_single_slots_without_features_are_decisions():
    plain = "shared |U u\n|A a\n0:0.5:0.5 |A b\n\n" * 20
    slots = "ccb shared |U u\nccb action |A a\nccb action |A b\nccb slot 1:0.5:0.5 |\n\n" * 20
    for name, option, text in (("plain", "--cb_explore_adf --cb_sample", plain), ("slots", "--ccb_explore_adf", slots)):
        Path(f"{name}.vw").write_text(text)
        assert run(["-d", f"{name}.vw", *option.split(), "-q", "UA", "-f", name, "-p", f"{name}.p", "--quiet"]) == 0
    assert Path("plain.p").read_text() == Path("slots.p").read_text()
    np.testing.assert_array_equal(Chain.load("plain").weights, Chain.load("slots").weights)


def test_no_action_twice_and_probabilities_of_one():
    Path("data").write_text(text := _slots(7, known=0))
    assert run(["-d", "data", "--ccb_explore_adf", "--epsilon", "0.5", "-f", "model", "--quiet"]) == 0
    chain = Chain.load("model")
    [batch] = list(chain.files(["data"], print))
    outputs = chain.run_batch(batch, learn=False)[0]
    ranked = outputs.ranked.reshape(outputs.scores.shape)
    start = 0
    for stop in ends_of_groups(batch).tolist():
        tops = [int(top) for top in ranked[start:stop, 0] if top != 2**32 - 1]
        assert len(tops) == len(set(tops)) > 0
        start = stop
    sums = outputs.scores.sum(axis=1)
    assert np.allclose(sums[sums > 0], 1) and (sums > 0).sum() == text.count("ccb slot")


def test_the_estimate_of_a_slate():
    lines = ["slates shared 2 |", *["slates action 0 |A a"] * 2, *["slates action 1 |A b"] * 4]
    Path("data").write_text("\n".join([*lines, "slates slot 0:0.25 |", "slates slot 1:0.5 |", "", ""]))
    assert run(["-d", "data", "--slates", "--epsilon", "1", "-f", "model", "--quiet"]) == 0
    assert Chain.load("model").statistics.sum_loss == pytest.approx(2 * (0.5 / 0.25 + 0.25 / 0.5 - 1))


@pytest.mark.parametrize(
    "text",
    [
        "ccb shared |U u\nccb action |A a\nccb slot |\nccb slot |\n",  # more slots than actions
        "ccb action |A a\nccb slot |\n",
        "ccb shared |U u\nccb slot |\nccb action |A a\n",
        "ccb shared |U u\nccb action |A a\n",
        "shared |U u\n|A a\nccb slot 0:1:0.5 |\n",
    ],
)
def test_malformed_decisions_are_told_of(text, capsys):
    Path("data").write_text(text)
    assert run(["-d", "data", "--ccb_explore_adf", "-p", "p"]) == 0
    assert "badly formed slots" in capsys.readouterr().err and not Path("p").read_text().strip()


@pytest.mark.parametrize("sampled", [[], ["sample_action"]])
@pytest.mark.parametrize("top", ["choose_slots", "choose_slate"])
def test_the_loss_is_the_cost_of_the_policy_whether_it_learns_or_not(top, sampled):
    """The best action has .95 + .05 / 3, and each other costs 1; a log of even draws estimates that."""
    random, lines = np.random.default_rng(0), []
    for _ in range(1500):
        good, chosen = random.integers(3, size=2)
        cost, label = float(chosen != good), f"{chosen}:0.3333"
        slate = top == "choose_slate"
        kind, own, shared = ("slates", " 0", f" {cost}") if slate else ("ccb", "", "")
        lines.append(f"{kind} shared{shared} |s x")
        lines += [f"{kind} action{own} |a {'good' if k == good else 'bad'}" for k in range(3)]
        lines += [f"{kind} slot {label if slate else f'{chosen}:{cost}:0.3333'} |t y", ""]
    layers = [top, *sampled, "explore_epsilon", "contextual_bandit", "cost_sensitive_with_features", "linear"]
    chain = Chain.from_config({"chain": layers})
    assert repr(chain).startswith(f"<hutch chain: {top} over ")
    text = "\n".join(lines) + "\n"
    chain.learn(text)
    losses = np.concatenate([chain.run_apart(batch, False).losses for batch in chain.batches(text)])
    wanted = 2 / 3 * 0.05
    assert chain.last_run.average_loss == pytest.approx(wanted, abs=0.01)
    assert losses.sum() / 1500 == pytest.approx(wanted, abs=0.01)
