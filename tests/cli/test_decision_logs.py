"""Logs of decisions in Vowpal Wabbit's `--dsjson`: `hutch vw`, `hutch train` and `hutch evaluate` read the same."""

import gzip
import json
from io import BytesIO
from types import SimpleNamespace

import numpy as np
import pytest

CHAIN = """chain:
- explore_epsilon: {epsilon: 0.2}
- contextual_bandit
- cost_sensitive_with_features
- linear
input: {namespaces: letter}
"""


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Forty decisions as JSON and as text."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(4)
    lines, texts = [], []
    for _ in range(40):
        user, items = f"u{random.integers(3)}", [f"i{k}" for k in random.permutation(4)[:3]]
        chosen, cost, chance = int(random.integers(3)), float(random.integers(-1, 2)), float(random.integers(1, 5)) / 5
        context = {"U": {user: 1}, "_multi": [{"A": {item: 1}} for item in items]}
        label = {"_label_cost": cost, "_label_probability": chance, "_labelIndex": chosen}
        lines.append(json.dumps({**label, "a": [1, 2, 3], "c": context, "p": [chance] * 3}))
        labels = [f"0:{cost}:{chance} " if k == chosen else "" for k in range(3)]
        actions = (f"{label}|A {item}" for label, item in zip(labels, items, strict=True))
        texts.append("\n".join([f"shared |U {user}", *actions]))
    (tmp_path / "log.dsjson").write_text("\n".join(lines) + "\n")
    (tmp_path / "log.vw").write_text("\n\n".join(texts) + "\n\n")
    (tmp_path / "chain.yaml").write_text(CHAIN)
    return tmp_path


def test_one_log_in_two_forms(hutch, log):
    wanted = hutch("vw", "--cb_explore_adf", "--epsilon", "0.2", "--dsjson", "-d", "log.dsjson", "-p", "-", "--quiet")
    found = hutch("train", "log.dsjson", "-C", "chain.yaml", "-p", "-", "--quiet")
    assert wanted.code == found.code == 0
    assert found.out == wanted.out != "" and found.err == ""
    of_text = hutch("evaluate", "log.vw", "-C", "chain.yaml", "--json")
    of_log = hutch("evaluate", "log.dsjson", "-C", "chain.yaml", "--json")
    assert of_log.code == 0 and json.loads(of_log.out) == json.loads(of_text.out)
    assert json.loads(of_log.out)["decisions"] == 40


@pytest.mark.parametrize("name", ["log.json", "log.jsonl", "log", "log.txt.gz", "-"])
def test_any_ending(hutch, log, name, monkeypatch):
    """`--format` reads a log whatever its name, with every command."""
    content = (log / "log.dsjson").read_bytes()
    if name == "-":
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=BytesIO(content)))
    else:
        (log / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    wanted = hutch("train", "log.dsjson", "-C", "chain.yaml", "-p", "-", "--quiet", "-f", "model")
    found = hutch("train", name, "-C", "chain.yaml", "-p", "-", "--quiet", "--format", "dsjson")
    assert found.code == 0 and found.out == wanted.out != ""
    if name != "-":
        for words in (["evaluate", "-C", "chain.yaml", "--json"], ["predict", "-i", "model"]):
            given = [*words, "--quiet"][: len(words) + (words[0] == "predict")]
            assert hutch(*given, name, "--format", "dsjson").out == hutch(*given, "log.dsjson").out != ""


def test_formats_that_nothing_reads(hutch, log):
    found = hutch("train", "log.dsjson", "-C", "chain.yaml", "--format", "ds")
    assert found.code == 1 and found.err.startswith("--format: got 'ds', wanted one of arrow, csv, dsjson, feather, ")
    for words in (["train", "--shards", "2"], ["predict", "-i", "model", "--into", "folder"]):
        found = hutch(*words, "log.dsjson", "--format", "dsjson")
        assert found.code == 2 and found.err.startswith("--format: ")


def test_lines_that_cannot_be_used(hutch, log):
    good = (log / "log.dsjson").read_text()
    (log / "bad.dsjson").write_text('{"a":[1\n' + good + "a heading\n")
    with pytest.warns(UserWarning) as told:
        found = hutch("train", "bad.dsjson", "-C", "chain.yaml", "-p", "-", "--quiet")
    wanted = hutch("train", "log.dsjson", "-C", "chain.yaml", "-p", "-", "--quiet")
    assert found.code == 0 and found.out == wanted.out
    first, counted = (str(each.message) for each in told)
    assert first.startswith("bad.dsjson:1:8: bad JSON: ") and counted == "1 x bad JSON, first at bad.dsjson:1:8"
    strict = hutch("train", "bad.dsjson", "-C", "chain.yaml", "--quiet", "--strict")
    assert strict.code == 1 and strict.err.startswith("bad.dsjson:1:8: bad JSON")


METRICS = """chain:
- contextual_bandit
- cost_sensitive_with_features
- weighted_metrics: {{weights: {{right: 1, price: {price}}}}}
- bayesian_linear: {{covariance: blocks, dimension: 8, loss: squared}}
"""


def test_metrics_are_learned_from_a_cache_whatever_their_weights(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = []
    for k in range(60):
        chosen, seen = k // 2 % 2, {"right": int(k % 3 > 0), "price": 0.5 + k % 2}
        words = f" |metrics right:{seen['right']} price:{seen['price']}"
        texts += [
            f"{'0:0:0.5' if p == chosen else ''} |m {m}{words if p == chosen else ''}" for p, m in enumerate("ab")
        ]
        texts.append("")
    (tmp_path / "log.vw").write_text("\n".join(texts) + "\n")
    (tmp_path / "other.yaml").write_text(METRICS.format(price=1).replace("- weighted", "#"))
    assert hutch("train", "log.vw", "-C", "other.yaml", "--quiet", "--cache").code == 0  # it keeps no zeros
    learned = []
    for price in (-1, -1, 2):  # the first run writes the cache, the others read it: it is read-only
        (tmp_path / "chain.yaml").write_text(METRICS.format(price=price))
        words = ["train", "log.vw", "-C", "chain.yaml", "--quiet", "--passes", "2", "--holdout_off"]
        for more in (["-f", "plain"], ["--cache", "-f", "cached"]):
            found = hutch(*words, *more)
            assert found.code == 0, found.err
        assert (tmp_path / "plain").read_bytes() == (tmp_path / "cached").read_bytes()
        learned.append((tmp_path / "plain").read_bytes())
    assert learned[0] == learned[1] != learned[2]


def test_a_metric_that_the_chain_does_not_know_ends_the_run(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chain.yaml").write_text(METRICS.format(price=-1))
    (tmp_path / "log.vw").write_text("0:0:0.5 |m a |metrics right:1\n|m b\n\n0:0:0.5 |m a |metrics speed:1\n|m b\n\n")
    found = hutch("train", "log.vw", "-C", "chain.yaml", "--quiet", "-f", "model")
    assert (found.code, found.err) == (1, "decision 2: got unknown metric, wanted price, right\n")
    assert not (tmp_path / "model").exists()
