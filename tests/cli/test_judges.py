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
    assert list(found) == ["read_as", "judges", "order", "slices", "versions", "panel"]
    fair, first = found["order"]
    assert fair["shift"]["low"] < 0 < fair["shift"]["high"] and fair["p of all"] > 0.05
    assert first["shift"]["low"] < 1.2 < first["shift"]["high"] and first["p of all"] < 1e-4
    assert [row["slice"] for row in found["slices"]] == ["language de", "language en"] * 2
    assert found["versions"][0]["change"]["estimate"] < 0 < found["panel"][0]["accuracy"]["low"]


def test_text_page_and_posteriors(run, tmp_path):
    pytest.importorskip("matplotlib")
    page, posteriors = tmp_path / "r.html", tmp_path / "p.tsv"
    text = run("--order", "swapped", "--report", page, "-p", posteriors).out
    for part in ("Agreement with people", "Order of the two answers", "Panel", "too few: fewer than 5"):
        assert part in text
    html = page.read_text()
    assert html.count("<svg") == 2 and "Content-Security-Policy" in html and "<script" not in html
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
    assert "no item has a true class" in (told := hutch("judges", path).out) and "--reference human for one" in told
    assert "no item has a true class" not in hutch("judges", path, "--reference", "human").out
