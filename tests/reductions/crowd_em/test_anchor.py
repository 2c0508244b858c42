"""Nat-oEM above `crowd_em`: anchors of workers against plain counts, exact under lazy updates, and worth having."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.crowd.simulate import simulate
from hutch.reductions.crowd_em.anchor import renew_workers
from tests.reductions.crowd_em.item_by_item import ItemByItem

CLASSES = 3
KNOWN = {"boundary": "namespace", "namespace": "time"}


def build(nat_oem: dict[str, Any] | None, **crowd_em: Any) -> Chain:
    above = [] if nat_oem is None else [{"nat_oem": nat_oem}]
    crowd = {"crowd_em": {"classes": CLASSES, "slots": 512, "warm_up": 20, **crowd_em}}
    below = [{"one_against_all": {"classes": CLASSES}}, {"linear": {"loss": "logistic"}}]
    return Chain.from_config({"weights": {"bits": 12}, "chain": [*above, crowd, *below]})


def items(epochs: int = 3, each: int = 80, workers: int = 9, seed: int = 0, ratings: int = 3) -> list[list[str]]:
    """Blocks of lines; skills are redrawn in every epoch, and worker 0 labels in the first only."""
    random, blocks = np.random.default_rng(seed), []
    for epoch in range(epochs):
        skill = random.uniform(0.2, 0.95, workers)
        for _ in range(each):
            z, lines = random.integers(CLASSES), []
            for w in random.integers(epoch > 0, workers, size=ratings):
                label = z if random.random() < skill[w] else random.integers(CLASSES)
                lines.append(f"{label + 1} |time e{epoch} |worker w{w} |item c{z}_{random.integers(5)}")
            blocks.append([*lines, ""])
    return blocks


def joined(blocks: list[list[str]]) -> list[str]:
    return [line for block in blocks for line in block]


def posteriors(chain: Chain, lines: list[str], learn: bool = True) -> np.ndarray:
    found = [chain.run_batch(batch, learn=learn, scores=True)[0] for batch in chain.batches(lines)]
    return np.concatenate([outputs.scores[~np.isnan(outputs.predictions)] for outputs in found])


def assert_same(one: Chain, other: Chain) -> None:
    arrays = other.arrays()
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, arrays[name], err_msg=name)


BLOCKS = items()


@pytest.mark.parametrize("nat_oem", [{"mode": "step", "beta": 0.0}, {"boundary": "drift", "threshold": 1e9}])
def test_without_anchor_it_changes_nothing(nat_oem: dict[str, Any]) -> None:
    np.testing.assert_array_equal(posteriors(build(nat_oem), joined(BLOCKS)), posteriors(build(None), joined(BLOCKS)))


@pytest.mark.parametrize("nat_oem", [{"mode": "step", "beta": 2.0}, KNOWN])
def test_an_anchor_changes_the_result(nat_oem: dict[str, Any]) -> None:
    held, free = (posteriors(build(some), joined(BLOCKS)) for some in (nat_oem, None))
    assert np.abs(held - free)[100:].max() > 0.05


@pytest.mark.parametrize(("beta", "cap"), [(None, 5.0), (2.0, 2.0)])
def test_a_boundary_leaves_at_most_so_many_labels_of_each_row(beta: float | None, cap: float) -> None:
    """Where the class of every item is known, all labels are answers to clear items, and labels are counted."""
    nat_oem = KNOWN if beta is None else {**KNOWN, "beta": beta}
    chain = build(nat_oem, gold="gold", clarity=1.0, decay=1.0, warm_up=0, stored_rows=1)
    rows = np.zeros((4, CLASSES, CLASSES))  # worker, class, label
    random, lines = np.random.default_rng(1), []
    for epoch in range(3):
        rows *= np.minimum(1.0, cap / np.maximum(rows.sum(axis=2, keepdims=True), 1.0))
        for _ in range(40):
            z, w, label = random.integers(CLASSES), random.integers(epoch, 4), random.integers(CLASSES)
            lines += [f"{z + 1} |time e{epoch} |worker gold", f"{label + 1} |time e{epoch} |worker w{w}", ""]
            rows[w, z, label] += 1
    chain.learn(lines)
    crowd: Any = chain.layers[1]
    counts = crowd.saved()["counts"].reshape(-1, CLASSES, CLASSES)  # slot, label, class
    used = np.flatnonzero(counts.any(axis=(1, 2)))
    found = {tuple(np.round((c / c.sum(axis=0)).T.ravel(), 6)) for c in counts[used]}
    assert found == {tuple(np.round((row / row.sum(axis=1, keepdims=True)).ravel(), 6)) for row in rows}


def test_shares_of_stored_tables_follow_what_they_predict() -> None:
    """Fixed share: each times its probability of the label, scaled to 1, a hundredth of that divided equally."""
    chain = build(KNOWN, gold="gold", clarity=1.0, warm_up=0, stored_rows=3)
    random, lines, shares = np.random.default_rng(2), [], np.zeros(0)
    said = [(int(random.integers(CLASSES)), int(random.integers(CLASSES)), e) for e in (0, 1, 2) for _ in range(30)]
    for z, label, epoch in said:
        lines += [f"{z + 1} |time e{epoch} |worker gold", f"{label + 1} |time e{epoch} |worker w", ""]
    chain.learn(lines)
    crowd: Any = chain.layers[1]
    for z, label, _ in said[:5]:
        known, tables = crowd.saved()["anchor.shares"], crowd.saved()["anchor.tables"]
        [slot] = np.flatnonzero(known.any(axis=1))
        before, stored = known[slot].copy(), tables[slot].copy()
        first, second = crowd.crowd.strengths[:2]
        skill = crowd.crowd.skill[slot]
        prior = first * crowd.crowd.population.reshape(CLASSES, CLASSES)[label, z]
        prior += second * (skill if label == z else (1 - skill) / (CLASSES - 1))
        counts, rows = stored[:, : CLASSES**2].reshape(-1, CLASSES, CLASSES), stored[:, CLASSES**2 :][:, :CLASSES]
        wanted = before * (prior + counts[:, label, z]) / (first + second + rows[:, z])
        chain.learn([f"{z + 1} |time e2 |worker gold", f"{label + 1} |time e2 |worker w", ""])
        shares = crowd.saved()["anchor.shares"][slot]
        used = np.count_nonzero(before)
        np.testing.assert_allclose(shares, np.where(before > 0, 0.99 * wanted / wanted.sum() + 0.01 / used, 0))
    assert used > 1 and len(set(shares.tolist())) > 1


@pytest.mark.slow
def test_drift_is_told_by_the_likelihood_of_a_label_before_it_is_learned() -> None:
    """Mean log-likelihood of an item's labels, as the stream has it; the first 8 items of a segment are left out."""
    labels = simulate(60, 9, CLASSES, 3, seed=1).labels
    wanted = ItemByItem(labels.classes, 512, warm_up=20).learn(labels, first_pass=True).objective / np.diff(
        labels.item_ptr
    )
    chain, lines = build({"boundary": "drift", "threshold": 1e9}), []
    for first, last in zip(labels.item_ptr[:-1], labels.item_ptr[1:], strict=True):
        names = (labels.worker_names[w] for w in labels.workers[first:last])
        said = zip(labels.labels[first:last] + 1, names, strict=True)
        lines += [*(f"{label} |worker {name}" for label, name in said), ""]
    chain.learn(lines)
    assert chain.layers[0].saved()["drift.reference"][0, :52] == pytest.approx(wanted[8:], abs=1e-6)


def test_lazy_updates_are_exact() -> None:
    """Renewing every worker at each boundary gives bit for bit what renewing him at his next label gives."""
    lazy, eager = build(KNOWN), build(KNOWN)
    for epoch in range(3):
        part = joined(BLOCKS[80 * epoch : 80 * (epoch + 1)])
        if epoch:
            top, crowd = eager.layers[:2]
            top.constraint["boundaries"] += 1
            top.state["known"] = 0
            learned = crowd._memory.learned
            renew_workers(crowd.state["anchors"][0], crowd.crowd, CLASSES, learned["touches"], learned["seen"])
        np.testing.assert_array_equal(posteriors(eager, part), posteriors(lazy, part))
    for chain in (lazy, eager):
        chain.end_pass()
    assert_same(lazy, eager)


def test_judging_an_item_shows_renewed_rows_and_changes_nothing() -> None:
    chain = build(KNOWN)
    chain.learn(joined(BLOCKS[:80]))
    chain.learn(["1 |time new |worker w1 |item x", ""])
    kept = {name: array.copy() for name, array in chain.arrays().items()}
    block = ["1 |time new |worker w2 |item c1_1", "2 |time new |worker w3", "1 |time new |worker w2 |item c1_1", ""]
    before = posteriors(chain, block, learn=False)
    for name, array in chain.arrays().items():
        if name.startswith("layer"):
            np.testing.assert_array_equal(array, kept[name], err_msg=name)
    np.testing.assert_allclose(posteriors(chain, block), before, atol=1e-7)


@pytest.mark.parametrize(
    "nat_oem", [KNOWN, {**KNOWN, "beta": 3.0}, {"boundary": "drift", "threshold": 1.0}, {"mode": "step"}], ids=str
)
@pytest.mark.parametrize("cut", [0, 30, 80, 200])
def test_resuming_is_exact(nat_oem: dict[str, Any], cut: int, tmp_path: Path) -> None:
    whole, first = build(nat_oem), build(nat_oem)
    whole.learn(joined(BLOCKS))
    first.learn(joined(BLOCKS[:cut]))
    first.save(tmp_path / "model")
    second = Chain.load(tmp_path / "model")
    second.learn(joined(BLOCKS[cut:]))
    assert_same(whole, second)


def test_a_step_anchor_holds_rows_back() -> None:
    """S ← (S + β S_before) / (1 + β) on means: with known classes and one worker, by hand."""
    chain = build({"mode": "step", "beta": 1.0}, gold="gold", clarity=1.0, decay=1.0, warm_up=0)
    labels, mean = [0, 1, 1, 2, 0, 0, 1], np.zeros(CLASSES)
    lines = [line for label in labels for line in ("1 |worker gold", f"{label + 1} |worker w", "")]
    chain.learn(lines)
    for n, label in enumerate(labels, 1):
        step = 1 / n if n == 1 else 1 / n / 2
        mean += step * (np.eye(CLASSES)[label] - mean)
    counts = chain.layers[1].saved()["counts"].reshape(-1, CLASSES, CLASSES)
    [slot] = np.flatnonzero(counts.sum(axis=(1, 2)))
    np.testing.assert_allclose(counts[slot, :, 0], len(labels) * mean, atol=1e-12)


def test_changed_workers_are_judged_better_with_an_anchor() -> None:
    losses = []
    for nat_oem in (None, KNOWN):
        random, lines, truth = np.random.default_rng(5), [], []
        for epoch in range(2):
            for _ in range(500):
                z = int(random.integers(CLASSES))
                for w in random.choice(20, 4, replace=False):
                    liar = epoch == 1 and w < 8
                    label = (z + 1) % CLASSES if liar else z if random.random() < 0.8 else random.integers(CLASSES)
                    lines.append(f"{label + 1} |time e{epoch} |worker w{w}")
                lines.append("")
                truth.append(z)
        found = posteriors(build(nat_oem), lines)[np.arange(len(truth)), truth]
        losses.append(-np.log(found[500:]).mean())
    assert losses[1] < 0.9 * losses[0]


@pytest.mark.parametrize(
    ("nat_oem", "crowd_em", "message"),
    [
        ({}, {}, "boundary: got 'group', but a block of lines is one item of 'crowd_em'"),
        ({"boundary": "label"}, {}, "boundary: got 'label'"),
        (KNOWN, {"passes": 2}, "crowd_em.passes: got 2; anchors in time need a stream, 1"),
    ],
)
def test_what_a_crowd_cannot_be_held_by_is_refused(
    nat_oem: dict[str, Any], crowd_em: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        build(nat_oem, **crowd_em)
