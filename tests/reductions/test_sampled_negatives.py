"""`sampled_negatives` against plain chains that learn the drawn items as lines; what it draws, keeps and refuses."""

import numpy as np
import pytest

from hutch import Chain
from hutch.cli.dispatch import run
from hutch.core.errors import DataError
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.sampled_negatives import SampledNegatives

GOLDEN, ALL = 0x9E3779B97F4A7C15, (1 << 64) - 1
BASES = {
    "linear": {"linear": {"loss": "logistic", "normalized": False}},  # its scale counts examples, not steps
    "fields": {"fields": {"rank": 2}},
    "dyadic": {"dyadic": {"left": "user", "right": "item", "rank": 2, "loss": "logistic", "power_t": 0}},
}


def mixed(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & ALL
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & ALL
    return z ^ (z >> 31)


def events(count=400, items=12, seed=0):
    """Who took what, each item with one to three features, and one in five with another importance."""
    random = np.random.default_rng(seed)
    kinds = [" ".join([f"i{i}", *(f"c{k}:{k / 2}" for k in range(1, 1 + i % 3))]) for i in range(items)]
    found = []
    for _ in range(count):
        user, item = int(random.integers(9)), int(random.integers(items))
        found.append((user, kinds[item], float(random.choice([1, 1, 1, 1, 2.5]))))
    return found


def line(label, weight, user, item):
    return f"{label} {weight:g} |user u{user} |item {item} |hour h{user % 2}"


def chain_of(base, seed=0, **parameters):
    layers = [{"sampled_negatives": {"namespace": "item", **parameters}}, BASES[base]]
    return Chain.from_config({"seed": seed, "chain": layers})


def drawn(data, negatives, weight, label, seed=0):
    """The lines that the layer below learns."""
    items, counter, found = [], 0, []
    for user, item, importance in data:
        found.append(line(1, importance, user, item))
        for _ in range(negatives):
            for _ in range(4 if items else 0):
                counter += 1
                other = items[mixed((seed + GOLDEN * counter) & ALL) % len(items)]
                if other != item:
                    found.append(line(label, importance * weight, user, other))
                    break
        if item not in items:
            items.append(item)
    return found


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("parameters", [{}, {"negatives": 2, "weight": 0.5}], ids=str)
def test_the_layer_below_learns_drawn_items(base, parameters):
    chain, plain = chain_of(base, **parameters), Chain.from_config({"chain": [BASES[base]]})
    wanted = drawn(events(), parameters.get("negatives", 4), parameters.get("weight", 1.0), -1)
    found, losses = chain.learn([line(1, h, user, item) for user, item, h in events()]), plain.learn(wanted)
    np.testing.assert_array_equal(chain.weights, plain.weights)
    own = [text.startswith("1 ") for text in wanted]
    np.testing.assert_array_equal(found, losses[own])
    assert len(wanted) > 1.9 * len(found)


def test_the_loss_is_the_mean_over_the_example_and_its_negatives():
    data = events(50)
    chain, plain = chain_of("linear", negatives=3, weight=2.0), Chain.from_config({"chain": [BASES["linear"]]})
    chain.learn([line(1, h, user, item) for user, item, h in data])
    wanted, total = drawn(data, 3, 2.0, -1), 0.0
    parts: list[list[str]] = []
    for text in wanted:
        if text.startswith("1 "):
            parts.append([])
        parts[-1].append(text)
    for (_, _, h), texts in zip(data, parts, strict=True):
        weights, losses = [], []
        for text in texts:
            weights.append(float(text.split()[1]))
            losses.append(np.logaddexp(0, -float(text.split()[0]) * plain.learn([text])[0]))
        total += np.average(losses, weights=weights) * h
    np.testing.assert_allclose(chain.statistics.average_loss, total / sum(h for *_, h in data), rtol=1e-5)


def test_other_labels_are_learned_alone():
    plain = Chain.from_config({"chain": [BASES["linear"]]})
    chain, lines = chain_of("linear"), [line(-1, h, user, item) for user, item, h in events(60)] + ["|user u1 |item i1"]
    np.testing.assert_array_equal(chain.learn(lines), plain.learn(lines))
    lines = [line(1, 1, 1, ""), "1 |user u2"]
    np.testing.assert_array_equal(chain.learn(lines), plain.learn(lines))
    assert chain.layers[0].saved()["counts"].tolist() == [12, 0]  # but the items are known


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_clicks_that_tell_nothing_end_in_a_warning(loss):
    random = np.random.default_rng(0)
    layers = [
        {"sampled_negatives": {"namespace": "item"}},
        {"linear": {"loss": loss, "interactions": [["user", "item"]]}},
    ]
    for tells in (True, False):
        users, drawn = random.integers(20, size=1500), random.integers(20 // (4 * tells or 1), size=1500)
        clicks = [f"1 |user u{u} |item i{d + 5 * (u % 4) * tells}" for u, d in zip(users, drawn, strict=True)]
        chain, said = Chain.from_config({"chain": layers}), "so far the features do not tell who takes which item"
        if tells:
            chain.learn(clicks)
            continue
        with pytest.warns(UserWarning, match=said):
            chain.learn(clicks)


def test_squared_loss_has_negatives_of_its_own_label():
    layers = [
        {"sampled_negatives": {"namespace": "item", "label": 0}},
        {"linear": {"loss": "squared", "normalized": False}},
    ]
    chain = Chain.from_config({"chain": layers})
    plain = Chain.from_config({"chain": [{"linear": {"loss": "squared", "normalized": False}}]})
    chain.learn([line(1, h, user, item) for user, item, h in events()])
    plain.learn(drawn(events(), 4, 1.0, 0))
    np.testing.assert_array_equal(chain.weights, plain.weights)


def test_it_goes_on_where_it_was_saved(tmp_path):
    lines = [line(1, h, user, item) for user, item, h in events()]
    whole, first = chain_of("fields", seed=3), chain_of("fields", seed=3)
    whole.learn(lines)
    first.learn(lines[:150])
    first.save(tmp_path / "model")
    second = Chain.load(tmp_path / "model")
    second.learn(lines[150:])
    np.testing.assert_array_equal(whole.weights, second.weights)


def test_it_finds_what_users_take():
    """Users take items of their kind, and half of the items are popular; ranks come near those of the truth."""
    random = np.random.default_rng(0)
    likes = np.exp(1.5 * np.equal.outer(np.arange(40) % 4, np.arange(60) % 4) + (np.arange(60) < 30))
    likes /= likes.sum(axis=1, keepdims=True)
    lines = [f"1 |user u{u} |item i{random.choice(60, p=likes[u])}" for u in random.integers(40, size=8000)]
    found = {}
    for name, layers in {"alone": [BASES["fields"]], "beside": [{"sampled_negatives": {"namespace": "item"}}]}.items():
        chain = Chain.from_config({"chain": [*layers, *([BASES["fields"]] if name == "beside" else [])]})
        chain.learn(lines)
        scores = np.array([chain.predict([f"|user u{u} |item i{i}" for i in range(60)]) for u in range(40)])
        found[name] = np.mean(
            [likes[u][np.argsort(-scores[u])[:8]].sum() / np.sort(likes[u])[-8:].sum() for u in range(40)]
        )
    assert found["beside"] > 0.95 > 0.8 > found["alone"]


def test_one_item_is_said():
    with pytest.warns(UserWarning, match="all examples have the same item in the namespace 'item': no negative"):
        chain_of("linear").learn([line(1, 1, user, "i1") for user in range(30)])


def test_an_item_with_too_many_features_is_refused():
    chain = chain_of("linear", width=2)
    with pytest.raises(DataError, match=r"got an item with 3 features, wanted at most 2; a larger `width` takes more"):
        chain.learn([line(1, 1, 1, "a b"), line(1, 1, 1, "a b c")])
    assert chain.predict([line(1, 1, 1, "a b c")]).shape == (1,)


def test_more_items_than_places():
    chain = chain_of("fields", items=4, width=4)
    chain.learn([line(1, h, user, item) for user, item, h in events(items=30)])
    counts = chain.layers[0].saved()["counts"]
    assert counts[0] == 4 and counts[1] >= 1500 and np.isfinite(chain.weights).all()


@pytest.mark.parametrize("parameters", [{}, {"negatives": 1, "label": -1, "items": 16}], ids=str)
def test_contract(parameters):
    for check in checks_of_reduction(SampledNegatives, {"namespace": "words", "width": 64, **parameters}):
        if check.name not in SampledNegatives.known_failures:
            check()


def test_no_constant_is_compared_with_the_loss(tmp_path, capfd):
    (tmp_path / "chain.yaml").write_text("chain: [{sampled_negatives: {namespace: item}}, fields]")
    (tmp_path / "data.vw").write_text("\n".join(line(1, h, user, item) for user, item, h in events()))
    assert run(["train", str(tmp_path / "data.vw"), "-C", str(tmp_path / "chain.yaml")]) == 0
    said = capfd.readouterr().err
    assert "average loss = 0." in said and "best constant" not in said
