"""Densities of numbers: that they are densities, what they learn, the loss that they estimate, and their draws."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch import Chain, evaluate
from hutch.core.errors import ConfigError, DataError, UsageError
from hutch.reductions.continuous_actions.tree import tree_of

RANGE = {"lowest": -3.0, "highest": 5.0}


def chain_of(draws=False, base="linear", **more):
    layers = [{"action_density": RANGE | {"parts": 8} | more}, base]
    return Chain.from_config({"chain": (["sample_density"] if draws else []) + layers})


def outputs_of(chain, records, learn=True):
    found = [chain.run_batch(batch, learn=learn)[0] for batch in chain.batches(records)]
    names = ("predictions", "losses", "scores")
    return SimpleNamespace(**{name: np.concatenate([getattr(each, name).copy() for each in found]) for name in names})


def segments_of(row):
    return row[~np.isnan(row)].reshape(-1, 3)


def logged(count, seed=0, best=(-2.0, 1.0, 4.0)):
    random = np.random.default_rng(seed)
    for _ in range(count):
        kind, number = int(random.integers(3)), float(random.uniform(-3, 5))
        label = {"number": number, "cost": -float(abs(number - best[kind]) < 1), "density": 1 / 8}
        yield {"f": [f"kind{kind}"], "label": label}


@settings(max_examples=15, deadline=None)
@given(
    parts=st.sampled_from([2, 4, 8, 64]),
    lowest=st.floats(-100, 100),
    width=st.floats(0.01, 1000),
    share=st.one_of(st.none(), st.floats(0.001, 0.99)),
    epsilon=st.floats(0, 1),
)
def test_a_density_covers_the_range_and_has_mass_one(parts, lowest, width, share, epsilon):
    low, high = np.float32(lowest), np.float32(lowest + width)
    bandwidth = None if share is None else share * float(high - low)
    given = {"lowest": float(low), "highest": float(high), "parts": parts, "epsilon": epsilon, "bandwidth": bandwidth}
    try:
        chain = Chain.from_config({"chain": [{"action_density": given}, "linear"], "weights": {"bits": 10}})
    except ConfigError as error:
        assert "round to one float32" in str(error) or "wanted the first below the other" in str(error)
        return
    outputs = outputs_of(chain, ["|f a"])
    found = segments_of(outputs.scores[0]).astype(np.float64)
    assert found[0, 0] == low and found[-1, 1] == high
    np.testing.assert_array_equal(found[1:, 0], found[:-1, 1])
    assert (found[:, 2] >= 0).all()
    rounding = 1e-5 * (1 + (abs(lowest) + width) / width)
    assert (found[:, 1] - found[:, 0]) @ found[:, 2] == pytest.approx(1, abs=10 * rounding)
    likely = found[np.argmax(found[:, 2])]
    assert likely[0] <= outputs.predictions[0] <= likely[1] or epsilon > 0.999


@pytest.mark.parametrize(
    ("leaves", "reach", "ends"), [(8, 0, (-1, -1)), (8, 1, (3, 6)), (8, 2, (1, 2)), (8, 4, (-1, -1))]
)
def test_the_outermost_nodes_of_a_tree_do_not_choose(leaves, reach, ends):
    tree = tree_of(leaves, reach)
    assert (int(tree["right_only"][0]), int(tree["left_only"][0])) == ends


@pytest.mark.parametrize("more", [{}, {"bandwidth": 0.8}, {"epsilon": 0.3, "parts": 16, "bandwidth": 0.6}])
def test_it_learns_the_number_that_costs_least(more):
    chain = chain_of(**more)
    outputs_of(chain, list(logged(1500)))
    after = outputs_of(chain, [{"f": [f"kind{k}"]} for k in range(3)], learn=False)
    np.testing.assert_allclose(after.predictions, [-2, 1, 4], atol=0.9)


@pytest.mark.parametrize("shift", [-3.0, 40.0])
def test_it_does_not_matter_where_zero_is(shift):
    records, moved = list(logged(800)), list(logged(800))
    for record in moved:
        record["label"]["cost"] += shift
    one, other = chain_of(bandwidth=0.8), chain_of(bandwidth=0.8)
    outputs_of(one, records)
    outputs_of(other, moved)
    np.testing.assert_allclose(other.weights, one.weights, rtol=2e-3, atol=2e-3)
    raw = chain_of(bandwidth=0.8, baseline="none")
    outputs_of(raw, moved)
    assert not np.allclose(raw.weights, one.weights, rtol=0.1, atol=0.1)


def test_the_baseline_is_the_mean_cost_of_a_uniform_number():
    chain, random = chain_of(), np.random.default_rng(1)
    numbers, densities = random.uniform(-3, 5, 300), random.uniform(0.05, 1, 300)
    costs = numbers**2
    chain.learn([f"ca {n:.6g}:{c:.6g}:{d:.6g} |f x" for n, c, d in zip(numbers, costs, densities, strict=True)])
    weights = 1 / (8 * densities)
    np.testing.assert_allclose(chain.layers[0].saved()["sums"], [[weights @ costs, weights.sum()]], rtol=1e-4)


@pytest.mark.parametrize("more", [{}, {"bandwidth": 1.3, "epsilon": 0.2}])
def test_the_loss_is_the_cost_weighted_by_the_densities(more):
    records = list(logged(200))
    found = outputs_of(chain_of(**more), records)
    for record, row, loss in zip(records, found.scores, found.losses, strict=True):
        label = record["label"]
        number = np.float32(label["number"])
        density = next(each[2] for each in segments_of(row) if each[0] <= number <= each[1])
        assert loss == pytest.approx(label["cost"] * density / label["density"], rel=1e-5)
    told = outputs_of(chain_of(loss="logged", **more), records)
    np.testing.assert_allclose(told.losses, [record["label"]["cost"] for record in records], rtol=1e-6)
    np.testing.assert_array_equal(told.scores, found.scores)


def test_the_loss_of_draws_is_that_of_the_window_of_the_part_drawn():
    records = list(logged(300))
    found = outputs_of(chain_of(draws=True, bandwidth=1.2, epsilon=0.3), records)
    hits = 0
    for record, number, loss in zip(records, found.predictions, found.losses, strict=True):
        label, middle = record["label"], -3 + min(int(number + 3), 7) + 0.5
        inside = abs(label["number"] - middle) <= 1.2
        width = min(5, middle + 1.2) - max(-3, middle - 1.2)
        wanted = label["cost"] / (label["density"] * width) if inside else 0.0
        assert loss == pytest.approx(wanted, rel=1e-5)
        hits += inside
    assert 50 < hits < 250


def test_draws_follow_the_density():
    chain = chain_of(draws=True, bandwidth=1.2, epsilon=0.2)
    [row] = outputs_of(chain_of(bandwidth=1.2, epsilon=0.2), [{"f": ["x"]}]).scores
    found = outputs_of(chain, [{"f": ["x"]}] * 20000)
    total = 0.0
    for low, high, density in segments_of(row):
        share = np.mean((low < found.predictions) & (found.predictions <= high))
        assert share == pytest.approx(density * (high - low), abs=0.015)
        inside = (low < found.predictions) & (found.predictions < high)
        np.testing.assert_allclose(found.scores[inside, 0], density)
        total += share
    assert total > 0.999


def test_without_epsilon_no_number_is_drawn_outside_the_window():
    found = outputs_of(chain_of(draws=True, epsilon=0.0, bandwidth=0.6), [{"f": ["x"]}] * 3000)
    middle = outputs_of(chain_of(epsilon=0.0, bandwidth=0.6), [{"f": ["x"]}]).predictions[0]
    assert np.isfinite(found.predictions).all()
    assert (np.abs(found.predictions - middle) <= 0.6 + 1e-5).all()


@pytest.mark.parametrize("draws", [False, True])
def test_a_model_goes_on_as_if_it_had_not_been_saved(draws, tmp_path):
    records = list(logged(240))
    whole, half = chain_of(draws), chain_of(draws)
    one = outputs_of(whole, records)
    outputs_of(half, records[:120])
    half.save(tmp_path / "model")
    other = outputs_of(Chain.load(tmp_path / "model"), records[120:])
    np.testing.assert_array_equal(one.predictions[120:], other.predictions)
    np.testing.assert_array_equal(one.scores[120:], other.scores)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"parts": 6}, "parts: got 6, wanted a power of two such as 4 or 8"),
        ({"bandwidth": 8.0}, "bandwidth: got 8, wanted less than the width of the range, 8"),
        ({"lowest": 5.0}, "got lowest 5 and highest 5, wanted the first below the other"),
        ({"lowest": 7.0}, "got lowest 7 and highest 5"),
        ({"lowest": -3e38, "highest": 3e38}, "wanted one narrower than"),
        ({"lowest": 1e8, "highest": 1e8 + 64, "parts": 64}, "their ends round to one float32"),
        ({"bandwidth": 0.0}, "got 0.0, wanted more than 0"),
        ({"epsilon": 1.5}, "got 1.5, wanted at most 1"),
    ],
)
def test_wrong_ranges_are_refused(parameters, text):
    with pytest.raises(ConfigError, match=text):
        chain_of(**parameters)


def test_numbers_outside_the_range_are_told_and_not_learned():
    chain, other = chain_of(), chain_of()
    good = {"f": ["x"], "label": {"number": 1.0, "cost": -1.0, "density": 0.5}}
    chain.learn([good])
    other.learn([good])
    with pytest.warns(
        UserWarning, match=r"action 6 \(example 1\): this chain is not made for it, .*, wanted a number from -3 to 5"
    ):
        chain.learn([{"f": ["x"], "label": {"number": 6.0, "cost": -1.0, "density": 0.5}}])
    np.testing.assert_array_equal(chain.weights, other.weights)
    assert chain.statistics.average_loss == other.statistics.average_loss != 0


@pytest.mark.parametrize(
    "label", [3.0, {"number": 1.0, "cost": 1.0}, {"number": 1.0, "cost": 1.0, "density": 0.0}, "x"]
)
def test_labels_without_cost_or_density_are_refused(label):
    with pytest.raises(DataError, match="label: got .*, wanted a choice such as"):
        chain_of().learn([{"f": ["x"], "label": label}])


def test_a_table_of_labels_alone_is_refused():
    with pytest.raises(
        DataError, match="label: got 1, wanted a choice such as {.number.: 1.5, .cost.: 0.2, .density.: 0.1}"
    ):
        chain_of().learn(np.ones((3, 2)), [1.0, 2.0, 3.0])


def test_one_record_at_a_time_gives_the_same():
    records = list(logged(60))
    one, other = chain_of(draws=True), chain_of(draws=True)
    found = outputs_of(one, records)
    for k, record in enumerate(records):
        learned = other.learn(record)
        assert np.ravel(learned)[0] == found.predictions[k]
    np.testing.assert_array_equal(one.weights, other.weights)


def test_logs_of_numbers_are_not_evaluated_as_decisions_among_actions():
    with pytest.raises(
        UsageError, match="got a chain that decides for a number of a range, wanted one that decides among"
    ):
        evaluate(["ca 1:0.5:0.1 |f a"], {"chain": [{"action_density": RANGE}, "linear"]})
