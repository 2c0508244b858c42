"""`hutch estimate`."""

import json

import numpy as np
import pytest

from hutch.durable.entries import Round
from hutch.durable.records import Request, make_answer
from hutch.durable.store import Store


@pytest.fixture
def files(tmp_path):
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, 400)
    people, judges = tmp_path / "people.tsv", tmp_path / "judges.tsv"
    people.write_text("".join(f"ann\tt{i}\t{truth[i]}\n" for i in range(80)))
    judges.write_text("".join(
        f"{name}\tt{i}\t{truth[i] if random.random() < right else 1 - truth[i]}\n"
        for name, right in (("gpt", 0.95), ("llama", 0.7)) for i in range(400)
    ))  # fmt: skip
    return people, judges, truth


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        (["--of", "rate=1"], 0.5),
        (["--of", "mean"], 0.5),
        (["--of", "accuracy=gpt"], 0.95),
        (["--of", "difference=gpt,llama"], 0.25),
    ],
)
def test_questions(hutch, files, question, wanted):
    people, judges, _ = files
    result = hutch("estimate", people, "--judges", judges, *question, "--json")
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert found["low"] - 0.05 < wanted < found["high"] + 0.05
    assert (found["items"], found["judges"]) == (400, 2)
    always = json.loads(hutch("estimate", people, "--judges", judges, *question, "--anytime", "--json").out)
    assert always["low"] < found["low"] and always["high"] > found["high"]


def test_judges_are_worth_labels(hutch, files):
    people, judges, truth = files
    found = json.loads(hutch("estimate", people, "--judges", judges, "--of", "left=1", "--json").out)
    assert found["low"] <= truth[80:].sum() <= found["high"] and found["worth_labels"] > 160
    alone = json.loads(hutch("estimate", people, "--of", "rate=1", "--items", 400, "--json").out)
    assert alone["estimate"] == pytest.approx(truth[:80].mean()) and alone["worth_labels"] == pytest.approx(80)
    assert "people only low" in hutch("estimate", people, "--of", "rate=1", "--items", 400).out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--of"),
        (["--of", "rate=2"], "no class is '2'"),
        (["--of", "accuracy=gpt"], "accuracy: wanted labels of those to be judged"),
        (["--of", "rte=1"], "--of: got 'rte'; did you mean 'rate'?"),
        (["--of", "mean=1"], "--of: got 'mean=1', wanted mean alone"),
        (["--of", "rate=1", "--reference", "bob"], "--reference: no worker is 'bob'"),
        (["--of", "rate=1", "--reference", "ann"], "every worker is one"),
        (["--of", "rate=1", "--confidence", "95"], "--confidence: got 95, wanted a number between 0 and 1"),
        (["--of", "rate=1", "--noisy"], "--noisy: got 1.00 labels per item"),
    ],
)
def test_what_cannot_be_asked(hutch, files, options, message):
    result = hutch("estimate", files[0], *options)
    assert result.code == 2 and message in result.err


def test_a_difference_has_two_judges(hutch, files):
    result = hutch("estimate", files[0], "--judges", files[1], "--of", "difference=gpt")
    assert result.code == 2 and "wanted two judges, A,B" in result.err


@pytest.mark.parametrize(
    ("short", "long"),
    [("rate", "rate=1"), ("difference", "difference=gpt,llama"), ("left", "left=1")],
)
def test_the_only_possible_name_may_be_left_out(hutch, files, short, long):
    people, judges, _ = files
    results = [hutch("estimate", people, "--judges", judges, "--of", of, "--json") for of in (short, long)]
    first, second = (json.loads(each.out) for each in results)
    assert first.pop("next_command").endswith(f"{short} --plan") and second.pop("next_command").endswith(
        f"{long} --plan"
    )
    assert first == second and results[0].code == 0


def test_the_number_of_a_class(hutch, files):
    people, judges, _ = files
    count, rate, left = (
        json.loads(hutch("estimate", people, "--judges", judges, "--of", kind, "--json").out)
        for kind in ("count=1", "rate=1", "left=1")
    )
    assert count["estimate"] == pytest.approx(400 * rate["estimate"])
    found = sum(line.endswith("\t1") for line in people.read_text().splitlines())
    assert count["low"] == pytest.approx(left["low"] + found)


def test_a_name_is_wanted_where_several_are_possible(hutch, files, tmp_path):
    people, judges, _ = files
    result = hutch("estimate", people, "--judges", judges, "--of", "accuracy")
    assert result.code == 2 and "wanted accuracy=JUDGE; valid: gpt, llama" in result.err
    three = tmp_path / "three.tsv"
    three.write_text("ann\tt1\ta\nann\tt2\tb\nann\tt3\tc\n")
    result = hutch("estimate", three, "--of", "rate")
    assert result.code == 2 and "wanted rate=CLASS; valid: a, b, c" in result.err


def test_doubtful_figures_are_said_to_be(hutch, files, tmp_path):
    people, judges, truth = files
    found = json.loads(hutch("estimate", people, "--judges", judges, "--of", "rate=1", "--json").out)
    assert found["warnings"] == [] and found["drawn_by_lot_p"] > 0.01 and found["effective_labels"] == pytest.approx(80)
    some = tmp_path / "some.tsv"
    some.write_text("".join(people.read_text().splitlines(keepends=True)[:4]))
    text = hutch("estimate", some, "--judges", judges, "--of", "rate=1").out
    assert "warning              4 labels in effect; below 5 an estimate is almost meaningless" in text
    some.write_text("".join(f"ann\tt{i}\t1\n" for i in np.flatnonzero(truth)[:50]))
    text = hutch("estimate", some, "--judges", judges, "--of", "rate=1").out
    assert "labels were not drawn by lot: gpt says other things of the labelled items than of all (p = " in text
    some.write_text(people.read_text() + "ann\tother\t1\n")
    found = json.loads(hutch("estimate", some, "--judges", judges, "--of", "accuracy=gpt", "--json").out)
    assert found["warnings"] == ["1 of 81 labelled items have no label of a judge"]


def test_labels_that_are_left_out_and_judges_of_two_spellings_are_told(hutch, files, tmp_path):
    people, judges, _ = files
    some, two = tmp_path / "some.csv", tmp_path / "two.csv"
    rows = [line.split("\t") for line in people.read_text().splitlines()]
    some.write_text(
        "worker,task,label\n" + "".join(f"{w},{t},{c if k % 10 else ''}\n" for k, (w, t, c) in enumerate(rows))
    )
    two.write_text(judges.read_text().replace("llama", "GPT").replace("\t", ","))
    said = hutch("estimate", some, "--judges", two, "--of", "rate=1").out
    assert f"notice               {some}: left out: 8 without a label (first: line 2)" in said
    assert f"notice               {two}: the workers 'gpt' and 'GPT' differ only in how they are written; each" in said
    found = json.loads(hutch("estimate", some, "--judges", two, "--of", "rate=1", "--json").out)
    assert found["labels"] == 72 and len(found["notices"]) == 2 and found["warnings"] == []
    assert "notice" not in hutch("estimate", people, "--judges", judges, "--of", "rate=1").out


def test_runs_of_a_judge_are_one_answer_and_ties_go_by_lot(hutch, files, tmp_path):
    people, _, truth = files
    runs = tmp_path / "runs.tsv"
    rows = [f"gpt\tt{i}\t{truth[i] if run else 1 - truth[i]}\n" for i in range(400) for run in range(10)]
    rows += [f"flips\tt{i}\t{run}\n" for i in range(400) for run in (0, 1)]
    runs.write_text("".join(rows))
    found = json.loads(hutch("estimate", people, "--judges", runs, "--of", "accuracy=gpt", "--json").out)
    assert found["estimate"] == 1  # nine of ten runs are right everywhere
    assert found["warnings"] == [
        "gpt, flips labelled items repeatedly and differently: the most frequent label counts, not each run"
    ]
    people.write_text("".join(f"ann\tt{i}\t1\n" for i in range(300)))
    found = json.loads(hutch("estimate", people, "--judges", runs, "--of", "accuracy=flips", "--json").out)
    assert 0.4 < found["estimate"] < 0.6


@pytest.mark.parametrize("declared", ["option", "column"])
def test_people_and_judges_may_share_a_file(hutch, files, tmp_path, declared):
    people, judges, _ = files
    apart = hutch("estimate", people, "--judges", judges, "--of", "accuracy=llama", "--json")
    rows = (people.read_text() + judges.read_text()).splitlines()
    together = tmp_path / "all.tsv"
    if declared == "column":
        kinds = ["person" if row.startswith("ann") else "judge" for row in rows]
        rows = ["worker\ttask\tlabel\tkind", *map("\t".join, zip(rows, kinds, strict=True))]
    together.write_text("\n".join(rows) + "\n")
    options = [] if declared == "column" else ["--reference", "an*"]
    result = hutch("estimate", together, *options, "--of", "accuracy=llama", "--json")
    same, other = (json.loads(each.out) for each in (result, apart))
    assert "worker" in same.pop("read_as") and "; judges: " in other.pop("read_as")
    assert same.pop("next_command") != other.pop("next_command")
    assert same == other and same["of"] == "llama"
    result = hutch("estimate", people, "--judges", judges, "--reference", "ann", "--of", "mean")
    assert result.code == 2 and "--reference: cannot be combined with --judges" in result.err


def test_people_may_be_those_of_a_store(hutch, files, tmp_path):
    _, judges, truth = files
    chance = np.where(truth == 1, 0.3, 0.15)
    asked = np.flatnonzero(np.random.default_rng(1).random(400) < chance)
    with Store(tmp_path / "labels.db", create=True) as store:
        requests = [Request(f"t{i}", f"|f t{i}", 0.0, chance[i], 1 / chance[i], "m") for i in asked]
        store.ask(requests, Round("pool", 400, float(chance.sum()), 0.0))
        store.answer(make_answer(f"t{i}", "ann", int(truth[i])) for i in asked)
    options = ["estimate", judges, "--store", tmp_path / "labels.db", "--of", "rate=1"]
    found = json.loads(hutch(*options, "--json").out)
    assert found["low"] < truth.mean() < found["high"] and found["items"] == 400
    assert (found["labels"], found["judges"]) == (len(asked), 2)
    assert found["people_only_high"] - found["people_only_low"] > found["high"] - found["low"]
    assert 0 < found["effective_labels"] < len(asked) and found["warnings"] == []
    for option in (["--items", "5"], ["--judges", judges], ["--reference", "gpt"], ["--drawn", judges]):
        refused = hutch(*options, *option)
        assert refused.code == 2 and f"{option[0]}: cannot be combined with --store" in refused.err


@pytest.mark.parametrize(
    "question",
    [
        ["--of", "rate=1"],
        *(pytest.param(["--of", of], marks=pytest.mark.slow) for of in ("accuracy=gpt", "difference=gpt,llama")),
    ],
)
def test_the_plan_says_how_many_labels_an_interval_takes(hutch, tmp_path, question):
    random, ratios = np.random.default_rng(4), []
    for run in range(8):
        truth = random.integers(0, 2, 1500)
        judges = tmp_path / "judges.tsv"
        judges.write_text("".join(
            f"{name}\tt{i}\t{truth[i] if random.random() < right else 1 - truth[i]}\n"
            for name, right in (("gpt", 0.85), ("llama", 0.7)) for i in range(1500)
        ))  # fmt: skip
        order = random.permutation(1500)

        def asked(count, *more, truth=truth, order=order, judges=judges):
            people = tmp_path / "people.tsv"
            people.write_text("".join(f"ann\tt{i}\t{truth[i]}\n" for i in order[:count]))
            return json.loads(hutch("estimate", people, "--judges", judges, *question, *more, "--json").out)

        row = asked(150, "--plan", "--seed", run)["plan"][1]
        found = asked(row["labels"])
        ratios.append((found["high"] - found["low"]) / 2 / row["half_width"])
    assert 0.9 < np.median(ratios) < 1.1  # a width within 10 %: labels within 20 %


def test_a_plan_is_shown_and_refused_where_it_means_nothing(hutch, files):
    people, judges, _ = files
    shown = hutch("estimate", people, "--judges", judges, "--of", "rate=1", "--plan").out
    assert shown.count("labels for +-") == 6
    refused = hutch("estimate", people, "--judges", judges, "--of", "rate=1", "--plan", "--anytime")
    assert refused.code == 2 and "--plan: cannot be combined" in refused.err


def test_an_estimate_ends_in_a_verdict(hutch, files):
    people, judges, _ = files
    found = json.loads(hutch("estimate", people, "--judges", judges, "--of", "rate=1", "--json").out)
    assert f"An estimated {100 * found['estimate']:.0f} % (" in found["verdict"][0]
    assert hutch(*found["next_command"].split()[1:]).code == 0
    out = hutch("estimate", people, "--judges", judges, "--of", "rate=1").out
    assert " ".join(found["verdict"]) in " ".join(out.split())
    assert "Next: hutch estimate" in out
    assert "confidence           0.95\n" in out


def test_people_with_one_label_an_item_need_no_column_of_workers(hutch, tmp_path, monkeypatch):
    """As people label a sample in a spreadsheet; judges are told apart by their names."""
    monkeypatch.chdir(tmp_path)
    people = "".join(f"i{k},{'pass' if k % 3 else 'fail'}\n" for k in range(60))
    (tmp_path / "people.csv").write_text(f"item,label\n{people}")
    judges = "".join(f"i{k},gpt,{'pass' if k % 4 else 'fail'}\n" for k in range(300))
    (tmp_path / "judges.csv").write_text(f"item,judge,label\n{judges}")
    plain = hutch("estimate", "people.csv", "--judges", "judges.csv", "--of", "rate=pass", "--json")
    (tmp_path / "named.csv").write_text(f"item,worker,label\n{people.replace(',', ',ann,')}")
    named = hutch("estimate", "named.csv", "--judges", "judges.csv", "--of", "rate=pass", "--json")
    assert plain.code == 0, plain.err
    assert json.loads(plain.out)["estimate"] == json.loads(named.out)["estimate"]
