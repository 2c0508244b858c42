import json

import numpy as np
import pytest


@pytest.fixture
def log(tmp_path):
    """Two judges in two orders, one with a bias for what comes first; the truth of all pairs."""
    random = np.random.default_rng(0)
    rows, gold = ["judge,pair,winner,swapped,language\n"], []
    for i in range(150):
        strength, language = random.normal(0, 1.5), "de" if i % 3 == 0 else "en"
        gold.append(f"p{i}\t{'A' if strength > 0 else 'B'}\n")
        for judge, bias in (("fair", 0.0), ("first", 1.2)):
            for swapped in (0, 1):
                sign = 1 - 2 * swapped
                takes_first = random.random() < 1 / (1 + np.exp(-(sign * 2 * strength + bias)))
                rows.append(f"{judge},p{i},{'AB'[int(takes_first == bool(swapped))]},{swapped},{language}\n")
    path = tmp_path / "log.csv"
    path.write_text("".join(rows))
    (tmp_path / "gold.tsv").write_text("".join(gold))
    return path


@pytest.fixture
def run(hutch, log):
    def run(*options):
        gold = log.parent / "gold.tsv"
        return hutch("judges", log, "--columns", "task=pair,label=winner", "--gold", gold, "--quiet", *options)

    return run


def test_one_report_on_all(run):
    result = run("--order", "swapped", "--slice", "language", "--compare", "fair=first", "--json")
    assert result.code == 0, result.err
    found = json.loads(result.out)
    parts = ["judges", "classes", "confusions", "order", "slices", "versions", "panel"]
    assert list(found) == ["read_as", *parts, "verdict", "next_command"]
    fair, first = found["order"]
    assert fair["shift"]["low"] < 0 < fair["shift"]["high"] and fair["p of all"] > 0.05
    assert first["shift"]["low"] < 1.2 < first["shift"]["high"] and first["p of all"] < 1e-4
    assert [row["slice"] for row in found["slices"]] == ["language de", "language en"] * 2
    assert found["versions"][0]["change"]["estimate"] < 0 < found["panel"][0]["accuracy"]["low"]


def test_text_page_and_posteriors(run, tmp_path):
    pytest.importorskip("matplotlib")
    page, posteriors = tmp_path / "r.html", tmp_path / "p.tsv"
    text = run("--order", "swapped", "--report", page, "-p", posteriors).out
    for part in ("Agreement with people", "Order of the two answers", "Panel", "Errors by class"):
        assert part in text
    html = page.read_text()
    for part in ("class='verdict'", "Hutch ", "color-scheme: light dark", "class='matters'", "<code>hutch judges"):
        assert part in html
    assert "overflow-wrap" not in html
    assert html.count("<svg") == 3 and "Content-Security-Policy" in html and "<script" not in html
    assert (
        posteriors.read_text().startswith("task\tlabel\tconfidence") and len(posteriors.read_text().splitlines()) == 151
    )
    report = run("--report", "-")
    assert "Agreement with people" in report.out and "Agreement with people" in report.err


def test_runs_are_the_same_again(run):
    one, two = (run("--slice", "language", "--json").out for _ in range(2))
    assert one == two


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--answers", "A,B"), "need --order or --swapped"),
        (("--compare", "fair"), "--compare: got 'fair', wanted two judges, A=B"),
        (("--compare", "fair=last"), "no judge is 'last'"),
        (("--confidence", "2"), "--confidence: got 2"),
    ],
)
def test_wrong_options_are_refused(run, options, message):
    result = run(*options)
    assert result.code == 2 and message in result.err


def test_without_a_true_class_the_way_to_one_is_told(hutch, tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("id,human,gpt,claude\n" + "".join(f"{i},{'AB'[i % 2]},{'AB'[i % 2]},B\n" for i in range(12)))
    told = " ".join(hutch("judges", path).out.split())
    assert "no item has a true class" in told and f"Next: hutch judges {path} --reference human" in told.replace(
        "\\ ", ""
    )
    assert "no item has a true class" not in hutch("judges", path, "--reference", "human").out


def test_the_report_fits_eighty_columns_and_ends_in_a_verdict(run):
    out = run("--order", "swapped", "--slice", "language", "--compare", "fair=first").out
    table = out[out.index("Agreement with people") : out.index("\nNext: ")]
    assert max(map(len, table.splitlines())) <= 80
    assert "too few" not in out
    found = json.loads(run("--order", "swapped", "--slice", "language", "--compare", "fair=first", "--json").out)
    assert 1 <= len(found["verdict"]) <= 3
    assert found["verdict"][0].startswith("fair agrees with people on ")
    assert any("first prefers the first of two equal answers" in sentence for sentence in found["verdict"])
    assert " ".join(found["verdict"]) in " ".join(out.split())
    assert found["judges"][0]["items"] == 150 == found["judges"][0]["accuracy"]["items"]
    assert {"kappa", "alpha"} <= set(found["judges"][0])
    assert sum(row["says A"] + row["says B"] for row in found["confusions"]) == 300


NAMES = ("fail", "pass")


def passes(tmp_path, people, shown=1200):
    """A judge who passes too much; the first so many answers were judged by people, three bad ones for each good."""
    random = np.random.default_rng(3)
    good = random.random(shown) < np.where(np.arange(shown) < people, 0.25, 0.8)
    said = random.random(shown) < np.where(good, 0.95, 0.4)
    tokens = random.integers(10, 900, shown)
    rows = [f"gpt,a{i},{NAMES[int(j)]},{t}\n" for i, (j, t) in enumerate(zip(said, tokens, strict=True))]
    (tmp_path / "log.csv").write_text("judge,task,label,tokens\n" + "".join(rows))
    labels = [f"ann\ta{i}\t{NAMES[int(g)]}\n" for i, g in enumerate(good[:people])]
    (tmp_path / "people.tsv").write_text("".join(labels))
    return tmp_path / "log.csv", tmp_path / "people.tsv"


def test_items_that_were_not_drawn_by_lot_are_said(hutch, tmp_path):
    log, people = passes(tmp_path, 200)
    found = json.loads(hutch("judges", log, "--people", people, "--json", "--quiet").out)
    assert "which were not drawn by lot" in found["verdict"][0]
    assert found["next_command"].endswith("--report judges.html")
    (rate,) = found["rates"]
    assert rate["corrected"]["low"] < 0.8 * 5 / 6 + 0.25 / 6 < rate["corrected"]["high"]
    assert rate["said"]["estimate"] > 0.7
    assert [row["also"] for row in found["classes"]] == ["specificity", "sensitivity"]


def test_the_next_command_runs(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log, people = passes(tmp_path, 1200)
    lines = people.read_text().splitlines(keepends=True)
    people.write_text("".join(np.random.default_rng(0).permutation(lines)[:150]))
    found = json.loads(hutch("judges", log.name, "--people", people.name, "--json", "--quiet").out)
    assert found["next_command"] == "hutch estimate people.tsv --judges log.csv --of accuracy=gpt"
    assert hutch(*found["next_command"].split()[1:]).code == 0


def test_many_numbers_are_cut_into_slices(hutch, tmp_path):
    log, people = passes(tmp_path, 200)
    result = hutch("judges", log, "--people", people, "--slice", "tokens", "--json")
    assert "different numbers, cut into 4 slices of about equal size" in result.err
    rows = json.loads(result.out)["slices"]
    assert len(rows) == 4 and all(row["items"] > 30 for row in rows)
    ends = [[int(end) for end in row["slice"].removeprefix("tokens ").split(" to ")] for row in rows]
    assert all(before[1] < after[0] for before, after in zip(ends, ends[1:], strict=False))


@pytest.mark.parametrize("ending", ["pdf", "png", "PDF", "xlsx"])
def test_reports_of_other_formats_are_refused(hutch, log, ending):
    result = hutch("judges", log, "--report", f"r.{ending}")
    assert result.code == 2
    assert result.err.startswith(f"--report: got 'r.{ending}', wanted .html for a page")


def test_every_spelling_of_html_is_a_page(run, tmp_path):
    pytest.importorskip("matplotlib")
    for name in ("r.HTML", "r.htm"):
        run("--report", tmp_path / name)
        assert (tmp_path / name).read_text().startswith("<!doctype html>")


def test_a_log_and_people_without_names(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    good = random.random(90) < 0.6
    said = good ^ (random.random(90) < 0.1)
    (tmp_path / "judge_v2.csv").write_text("trace_id,label\n" + "".join(f"s{i},{s}\n" for i, s in enumerate(said)))
    (tmp_path / "human.csv").write_text("trace_id,label\n" + "".join(f"s{i},{g}\n" for i, g in enumerate(good[:60])))
    found = json.loads(hutch("judges", "judge_v2.csv", "--people", "human.csv", "--json", "--quiet").out)
    assert found["judges"][0]["judge"] == "judge_v2" and found["judges"][0]["items"] == 60
    assert found["next_command"] == "hutch judges judge_v2.csv --people human.csv --report judges.html"


def test_a_judge_who_always_says_the_same_is_no_better_than_that(hutch, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("row,annotation,judge\n" + "".join(f"{i},{'pass' if i else 'fail'},pass\n" for i in range(10)))
    found = json.loads(hutch("judges", path, "--reference", "annotation", "--json", "--quiet").out)
    assert "not surely more often than one who always says 'pass' (90 %)" in found["verdict"][0]
    assert found["verdict"][1] == "Only 1 item is 'fail', too few to tell how many of them it finds."
    assert found["judges"][0]["kappa"]["estimate"] == 0


def test_a_page_shows_the_texts_of_the_hardest_items(hutch, tmp_path):
    random = np.random.default_rng(0)
    truth = random.integers(2, size=60)
    log = [f"gpt,i{i},{'ny'[truth[i] ^ (random.random() < 0.2)]}\n" for i in range(60)]
    (tmp_path / "log.csv").write_text("judge,item,verdict\n" + "".join(log))
    (tmp_path / "people.csv").write_text(
        "worker,item,label\n" + "".join(f"a,i{i},{'ny'[truth[i]]}\n" for i in range(60))
    )
    (tmp_path / "items.csv").write_text("id,text\n" + "".join(f"i{i},<b>text {i}</b>\n" for i in range(59)))
    words = ("judges", tmp_path / "log.csv", "--people", tmp_path / "people.csv", "--texts", tmp_path / "items.csv")
    found = hutch(*words, "--report", tmp_path / "r.html")
    assert found.code == 0 and "items.csv: no text of 1 item\n" in found.err
    page = (tmp_path / "r.html").read_text()
    wrong = [i for i in range(59) if log[i].strip()[-1] != "ny"[truth[i]]]
    assert wrong and f"<td>i{wrong[0]}</td><td class='t'>&lt;b&gt;text {wrong[0]}&lt;/b&gt;</td>" in page
    assert "<b>" not in page
    refused = hutch(*words)
    assert refused.code == 2 and "--texts: needs --report FILE.html" in refused.err
