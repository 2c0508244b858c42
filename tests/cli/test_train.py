import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch.chain import Chain
from hutch.core.chain.model_file import load_metadata, load_model, save_model

HUTCH = [sys.executable, "-c", "from hutch.cli.main import main; main()"]
Run = Callable[..., Any]


@pytest.fixture
def lines() -> list[str]:
    rng = np.random.default_rng(5)
    good = rng.random(60) < 0.6
    words = rng.integers(0, 12, (60, 4))
    return [
        f"{1 if g else -1} 'n{i}|text w{w[0]} w{w[1]} {'fine' if g else 'dull'} |by a{w[2]} b:{w[3] / 4}"
        for i, (g, w) in enumerate(zip(good, words, strict=True))
    ]


@pytest.fixture
def data(tmp_path: Path, lines: list[str]) -> Path:
    path = tmp_path / "data.vw"
    path.write_text("\n".join(lines) + "\n")
    return path


def arrays(path: Path) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in load_model(path)[0].items()}


def test_train_then_predict_is_what_python_does(hutch: Run, data: Path, lines: list[str], tmp_path: Path) -> None:
    model = tmp_path / "model"
    assert hutch("train", data, "-f", model, "--loss_function", "logistic", "-p", tmp_path / "p").code == 0
    chain = Chain.from_config({"chain": [{"linear": {"loss": "logistic"}}]})
    written = (tmp_path / "p").read_text().splitlines()
    for line, prediction, i in zip(written, chain.learn(lines), range(60), strict=True):
        number, tag = line.split()
        assert tag == f"n{i}" and float(number) == pytest.approx(prediction, abs=5e-7)
    chain.save(tmp_path / "python")
    assert arrays(model) == arrays(tmp_path / "python")
    result = hutch("predict", data, "-i", model)
    assert result.code == 0 and "average loss" in result.err
    predictions = [float(line.split()[0]) for line in result.out.splitlines()]
    np.testing.assert_allclose(predictions, chain.predict(lines), atol=5e-7)


def test_the_report_is_vw_s(hutch: Run, data: Path, tmp_path: Path) -> None:
    result = hutch("train", data, "-f", tmp_path / "model", "-P", "20")
    assert result.out == ""
    report = result.err.splitlines()
    assert report[:11] == [
        f"final_regressor = {tmp_path / 'model'}",
        f"Reading datafile = {data}",
        "num sources = 1",
        "Num weight bits = 18",
        "learning rate = 0.5",
        "power_t = 0.5",
        "Enabled learners: linear",
        "Input label = SIMPLE",
        "Output pred = SCALAR",
        "average  since      example     example        current        current  current",
        "loss     last       counter      weight          label        predict features",
    ]
    row = re.compile(r"\d\.\d{6} \d\.\d{6} +(\d+) +\1\.0 +-?1\.0000 +-?\d\.\d{4} +[56]")
    found = [row.fullmatch(line) for line in report[11:14]]
    assert [each and each[1] for each in found] == ["20", "40", "60"]
    assert report[14:17] == ["", "finished run", "number of examples = 60"]


def test_the_summary_says_how_full_the_table_is(hutch: Run, data: Path) -> None:
    for bits, roomy in ((5, False), (18, True)):
        result = hutch("train", data, "-b", bits, "--json")
        told = re.search(r"^weight table used = (\S+)%$", result.err, re.MULTILINE)
        used = json.loads(result.out)["table_used"]
        assert told and float(told[1]) == pytest.approx(100 * used, rel=0.01)
        assert (used < 0.001) == roomy and used > 0
        advised = re.search(rf"of the weight table's 2\^{bits} rows are used, .*: -b (\d+) ", result.err)
        assert (advised is None) == roomy
    assert "weight table" not in hutch("train", data, "-t").err


def test_quiet_says_nothing(hutch: Run, data: Path) -> None:
    assert hutch("train", data, "--quiet") == type(hutch("--version"))(0, "", "")


def test_json_is_one_object(hutch: Run, data: Path) -> None:
    result = hutch("train", data, "--json", "--quiet")
    found = json.loads(result.out)
    assert found["examples"] == 60 and found["features"] > 60 * 5 and 0 < found["average_loss"] < 1
    assert found["seconds"] > 0 and found["passes"] == 1 and not found["interrupted"]
    assert hutch("train", data, "--json", "-p", "-").code == 2


def test_events_are_lines_of_json(hutch: Run, data: Path) -> None:
    result = hutch("train", data, "--quiet", "--events", "-")
    events = [json.loads(line) for line in result.out.splitlines()]
    assert [event["examples"] for event in events] == [1, 2, 4, 8, 16, 32]


def test_going_on_from_a_model_is_training_on_both(hutch: Run, tmp_path: Path, lines: list[str]) -> None:
    first, second = tmp_path / "first.vw", tmp_path / "second.vw"
    first.write_text("\n".join(lines[:25]) + "\n")
    second.write_text("\n".join(lines[25:]) + "\n")
    hutch("train", first, second, "-f", tmp_path / "both", "--quiet", "--l2", "1e-4")
    hutch("train", first, "-f", tmp_path / "half", "--quiet", "--l2", "1e-4")
    result = hutch("train", second, "-i", tmp_path / "half", "-f", tmp_path / "rest", "--quiet", "--json")
    assert arrays(tmp_path / "both") == arrays(tmp_path / "rest")
    assert json.loads(result.out)["examples"] == 35


def test_compressed_files_and_streams_are_the_same_data(
    hutch: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "data.vw.gz"
    packed.write_bytes(gzip.compress(data.read_bytes()))
    hutch("train", data, "-f", tmp_path / "plain", "--quiet")
    hutch("train", packed, "-f", tmp_path / "packed", "--quiet")
    with data.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        hutch("train", "-", "-f", tmp_path / "stream", "--quiet")
    assert arrays(tmp_path / "plain") == arrays(tmp_path / "packed") == arrays(tmp_path / "stream")


@pytest.mark.parametrize("option", ["--initial_weight", "--max_prediction", "--initial_t", "--constant"])
def test_what_a_model_has_already_is_said_to_have_no_effect(
    hutch: Run, data: Path, tmp_path: Path, option: str
) -> None:
    hutch("train", data, "-f", tmp_path / "m", "--quiet")
    with pytest.warns(UserWarning, match=f"{option}: has no effect beside -i: .*m has "):
        hutch("train", data, "-i", tmp_path / "m", option, "0.5", "-f", tmp_path / "n", "--quiet")
    assert hutch("train", data, option, "0.5", "-f", tmp_path / "n", "--quiet").code == 0


def test_testing_changes_nothing(hutch: Run, data: Path, tmp_path: Path) -> None:
    hutch("train", data, "-f", tmp_path / "a", "--quiet")
    result = hutch("train", data, "-t", "-i", tmp_path / "a", "-f", tmp_path / "b")
    assert result.err.startswith("only testing\n")
    assert load_model(tmp_path / "a")[0]["weights"].tobytes() == load_model(tmp_path / "b")[0]["weights"].tobytes()


def test_passes_hold_out_every_tenth(hutch: Run, data: Path) -> None:
    result = hutch("train", data, "--passes", "4", "-P", "30")
    assert "Held out of each pass: every number divisible by 10" in result.err
    assert "number of examples per pass = 54" in result.err
    assert re.search(r"^average loss = \d\.\d{6} h$", result.err, re.MULTILINE)
    assert [line[-2:] == " h" for line in result.err.splitlines() if re.match(r"0\.\d{6} ", line)][-1]
    result = hutch("train", data, "--passes", "4", "--holdout_off", "--json", "--quiet")
    assert json.loads(result.out)["examples"] == 240


def test_the_model_kept_is_that_of_the_best_pass(hutch: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = rng.integers(0, 60, (400, 3))
    labels = np.where(rng.random(400) < 0.3, rng.choice([-1, 1], 400), np.where(words[:, 0] < 30, 1, -1))
    data = tmp_path / "noisy.vw"
    rows = zip(labels, words, strict=True)
    data.write_text("".join(f"{y} |f {' '.join(f'w{x}' for x in w)}\n" for y, w in rows))
    rate = ("-l", "0.05", "--loss_function", "logistic", "--quiet")
    result = hutch("train", data, "--passes", "50", *rate, "-f", tmp_path / "best", "--json")
    made = json.loads(result.out)["passes"]
    assert 5 < made < 50
    hutch("train", data, "--passes", made - 3, *rate, "-f", tmp_path / "again")
    hutch("train", data, "--passes", made, *rate, "--early_terminate", "99", "-f", tmp_path / "same")
    assert arrays(tmp_path / "best") == arrays(tmp_path / "again") == arrays(tmp_path / "same")


def test_vw_options_build_the_chain(hutch: Run, data: Path, tmp_path: Path) -> None:
    options = "-b 12 -l 0.3 --loss_function quantile --quantile_tau 0.2 --l1 1e-6 --power_t 0.4 -q tb --ignore x"
    assert hutch("train", data, "-f", tmp_path / "m", "--quiet", "--noconstant", *options.split()).code == 0
    chain = load_metadata(tmp_path / "m")["chain"]
    assert chain["weights"] == {"bits": 12}
    assert chain["input"] | {"namespaces": "letter", "constant": False, "ignore": ["x"]} == chain["input"]
    linear = chain["chain"][0]["linear"]
    wanted = {"learning_rate": 0.3, "l1": 1e-6, "power_t": 0.4, "loss": {"quantile": {"tau": 0.2}}}
    assert linear | wanted | {"interactions": ["tb"]} == linear


def test_options_change_a_chain_and_a_model(hutch: Run, data: Path, tmp_path: Path) -> None:
    chain = tmp_path / "chain.yaml"
    chain.write_text("input: {namespaces: name}\nchain:\n- linear: {loss: hinge}\n")
    hutch("train", data, "-C", chain, "-l", "0.1", "--ignore", "by", "-f", tmp_path / "m", "--quiet")
    saved = load_metadata(tmp_path / "m")["chain"]
    linear = saved["chain"][0]["linear"]
    assert (linear["loss"], linear["learning_rate"], saved["input"]["ignore"]) == ("hinge", 0.1, ["by"])
    hutch("train", data, "-i", tmp_path / "m", "--set", "linear.learning_rate=0.2", "-f", tmp_path / "n", "--quiet")
    assert load_metadata(tmp_path / "n")["chain"]["chain"][0]["linear"]["learning_rate"] == 0.2


def test_a_model_goes_on_under_another_rate(hutch: Run, data: Path, tmp_path: Path) -> None:
    chain = tmp_path / "chain.yaml"
    chain.write_text("chain:\n- linear: {loss: hinge}\n")
    hutch("train", data, "-C", chain, "-f", tmp_path / "m", "--quiet")
    chain.write_text("chain:\n- linear: {loss: hinge, learning_rate: 0.1}\n")
    assert hutch("train", data, "-C", chain, "-i", tmp_path / "m", "-f", tmp_path / "n", "--quiet").code == 0
    hutch("train", data, "--set", "linear.learning_rate=0.1", "-i", tmp_path / "m", "-f", tmp_path / "k", "--quiet")
    assert arrays(tmp_path / "n") == arrays(tmp_path / "k") != arrays(tmp_path / "m")


WRONG = [
    (["-C", "none.yaml"], 2, "none.yaml: cannot be read: No such file or directory"),
    (["-C", "key.yaml"], 2, "key.yaml:2:12: chain[0].linear.los: unknown key; did you mean 'loss'?"),
    (["-C", "type.yaml"], 2, "type.yaml:2:27: chain[0].linear.learning_rate: got 'fast', wanted a number"),
    (["-C", "name.yaml"], 2, "name.yaml:2:3: chain[0]: unknown reduction 'lineer'; did you mean 'linear'?"),
    (["-C", "fit.yaml"], 2, "fit.yaml:2:3: chain[0].linear: a base learner comes last, got 'linear' below it"),
    (
        ["--set", "linear.los=hinge"],
        2,
        "linear.los=hinge: unknown key; did you mean 'loss'?",
    ),
    (["--loss_function", "hing"], 2, "unknown loss 'hing'; did you mean 'hinge'?"),
    (["--quantile_tau", "0.5"], 2, "--quantile_tau needs --loss_function quantile, got squared"),
    (["-q", "abc"], 2, "--quadratic: got 'abc', wanted 2 letters"),
    (["-C", "good.yaml", "-q", "ab"], 2, "name namespaces by letter, but the chain goes by name"),
    (["-P", "often"], 2, "-P: got 'often', wanted a distance such as 1000 or a factor such as 2.0"),
    (["-i", "none"], 1, "none: cannot be read: No such file or directory"),
    (["-i", "key.yaml"], 1, "key.yaml: is not a model of Hutch"),
    (["-i", "cut"], 1, "cut: the model is truncated: it was not written to its end"),
    (["-i", "whole", "--set", "linear.los=x"], 2, "linear.los=x: unknown key; did you mean"),
    (["-i", "plugged"], 1, "plugged: the model needs a plugin that is not loaded: pip install hutch-huber==1.2"),
    (["-i", "unknown"], 1, "unknown: its chain cannot be built here:\nchain[0]: unknown reduction 'lineer'"),
    (
        ["-i", "whole", "-C", "good.yaml", "-b", "9"],
        2,
        "-C: good.yaml has weights {'bits': 9}, but the model whole has",
    ),
    (["-i", "whole", "-C", "tree.yaml"], 2, "tree.yaml has chain ['filter_tree', 'linear'], but the model whole has"),
    (["-f", "no/such/model"], 1, "model: cannot be written: No such file or directory"),
    (["-f", "."], 1, "cannot be written: it is a directory"),
    (["-p", "no/p"], 1, "p: cannot be written: No such file or directory"),
    (["--passes", "0"], 2, "--passes: got '0', wanted a whole number, at least 1\n"),
    (["--no-such-option"], 2, "No such option: --no-such-option"),
    (["--loss", "logistic"], 2, "--loss_function"),
]


@pytest.fixture
def here(tmp_path: Path, data: Path, hutch: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with files of which most are wrong."""
    monkeypatch.chdir(tmp_path)
    hutch("train", data, "-f", "whole", "--quiet")
    Path("cut").write_bytes(Path("whole").read_bytes()[:-9])
    loaded, metadata = load_model("whole")
    save_model("plugged", loaded, metadata | {"plugins": {"hutch": "0", "hutch-huber": "1.2"}})
    save_model("unknown", loaded, metadata | {"chain": metadata["chain"] | {"chain": ["lineer"]}})
    Path("good.yaml").write_text("chain:\n- linear\n")
    Path("tree.yaml").write_text("chain:\n- filter_tree: {classes: 3}\n- linear\n")
    Path("key.yaml").write_text("chain:\n- linear: {los: hinge}\n")
    Path("type.yaml").write_text("chain:\n- linear: {learning_rate: fast}\n")
    Path("name.yaml").write_text("chain:\n- lineer\n")
    Path("fit.yaml").write_text("chain:\n- linear\n- linear\n")
    yield tmp_path


def test_what_is_wrong_is_said_before_training(here: Path, hutch: Run) -> None:
    before = sorted(os.listdir("."))
    for arguments, code, message in WRONG:
        result = hutch("train", "data.vw", *arguments)
        assert (result.code, result.out) == (code, ""), arguments
        assert message in result.err and "Traceback" not in result.err and "finished run" not in result.err
    assert sorted(os.listdir(".")) == before


def test_another_version_of_a_plugin_is_mentioned(
    here: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    loaded, metadata = load_model("whole")
    assert metadata["plugins"] == {"hutch": version("hutch")}
    save_model("older", loaded, metadata | {"plugins": {"hutch": "0", "hutch-huber": "1.2"}})
    versions = {"hutch": "9", "hutch-huber": "1.3"}
    monkeypatch.setattr("hutch.plugins.manager.Plugins.versions", lambda self: versions)
    Chain.load("older")
    assert str(recwarn.pop(UserWarning).message) == "older: made with hutch-huber 1.2, now 1.3: predictions may differ"


def test_data_that_is_none(here: Path, hutch: Run) -> None:
    Path("junk").write_bytes(np.random.default_rng(0).bytes(5000))
    Path("word.gz").write_bytes(b"1 |f a\n")
    for name, message in [
        ("none.vw", "none.vw: no such file"),
        (".", ".: is a directory, wanted a file of examples"),
        ("junk", "junk: is not text, it holds NUL bytes; wanted lines of text such as '1 |words good bad'"),
        ("word.gz", "word.gz: corrupt gzip data"),
    ]:
        result = hutch("train", "data.vw", name, "-f", "model", "--quiet")
        assert result.code == 1 and message in result.err and "Traceback" not in result.err
        assert not Path("model").exists()


def test_malformed_places_are_told_and_counted(here: Path, hutch: Run) -> None:
    Path("bad.vw").write_text("1 |f a\nx |f b\n1 |f c:y\n-1 |f d\n")
    result = hutch("train", "bad.vw")
    assert result.code == 0
    assert "bad.vw:2:1: bad label: " in result.err and "got 'x'" in result.err
    assert re.search(r"^1 x bad label, first at bad.vw:2:1$", result.err, re.MULTILINE)
    assert json.loads(hutch("train", "bad.vw", "--json", "--quiet").out)["problems"] >= 1
    result = hutch("train", "bad.vw", "--strict", "-f", "model", "--quiet")
    assert result.code == 1 and result.err.startswith("bad.vw:2:1: bad label") and not Path("model").exists()


def test_training_without_labels_is_mentioned(here: Path, hutch: Run) -> None:
    Path("unlabeled.vw").write_text("|f a\n|f b\n")
    result = hutch("train", "unlabeled.vw", "--quiet", "-f", "model")
    assert result.code == 1 and result.err == "no example had a label: nothing was learned\n"
    assert not Path("model").exists()
    result = hutch("train", "unlabeled.vw", "unlabeled.vw", "--shards", "2", "--quiet", "-f", "model")
    assert result.code == 1 and result.err == "no example had a label: nothing was learned\n"
    assert not Path("model").exists()
    Path("labeled.vw").write_text("1 |f a\n")
    assert hutch("train", "labeled.vw", "--quiet", "-f", "model").code == 0
    before = Path("model").read_bytes()
    assert hutch("train", "unlabeled.vw", "--quiet", "-i", "model", "-f", "model").code == 1
    assert Path("model").read_bytes() == before
    Path("classes.vw").write_text("1 |f a\n2 |f b\n")
    result = hutch("vw", "--csoaa", "2", "-d", "classes.vw", "--quiet")
    assert result.err.endswith("nothing was learned; a label of this chain gives classes their costs, as in 1:0 2:1\n")


def test_labels_that_are_words_teach_nothing(here: Path, hutch: Run) -> None:
    Path("words.vw").write_text("yes |f a\nno |f b\n")
    for more in ((), ("--passes", "3")):
        result = hutch("train", "words.vw", "--quiet", "-f", "model", *more)
        assert result.code == 1 and "no label is a number: nothing was learned" in result.err
        assert not Path("model").exists()
    assert hutch("vw", "words.vw", "--quiet").code == 0  # as in VW
    Path("words.vw").write_text("yes |f a\n1 |f b\n")
    assert hutch("train", "words.vw", "--quiet").code == 0


def test_files_that_are_not_there_are_guessed(here: Path, hutch: Run) -> None:
    Path("clicks.vw").write_text("1 |f a\n")
    assert hutch("train", "clicks.vm").err == "clicks.vm: no such file; did you mean 'clicks.vw'?\n"
    assert hutch("train", "nothing.vw").err == "nothing.vw: no such file\n"
    Path("book.xlsx").write_bytes(b"PK\x03\x04")
    assert (
        hutch("train", "book.xlsx").err == "book.xlsx: is a workbook of a spreadsheet, wanted its sheet saved as CSV\n"
    )


def test_a_tab_in_yaml_is_named(here: Path, hutch: Run) -> None:
    Path("tab.yaml").write_text("chain:\n\t- linear\n")
    assert hutch("config", "check", "tab.yaml").err.startswith("tab.yaml:2:1: not YAML: got a tab, wanted blanks")


def test_what_is_learned_without_labels_is_learned(here: Path, hutch: Run) -> None:
    Path("pixels.vw").write_text("".join(f"|pixel 0:{i % 7} 1:{i % 3}\n" for i in range(40)))
    Path("ppca.yaml").write_text("chain:\n- ppca: {namespace: pixel, dimension: 2, rank: 1}\n- linear\n")
    result = hutch("train", "pixels.vw", "-C", "ppca.yaml", "--quiet", "-f", "model")
    assert result.code == 0 and "nothing was learned" not in result.err


def test_several_passes_need_files(here: Path, hutch: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    result = hutch("train", "-", "--passes", "2")
    assert result.code == 2 and "--passes: each pass reads the data again: wanted files" in result.err


def test_predicting_leaves_the_model_alone(here: Path, hutch: Run) -> None:
    before = Path("whole").read_bytes()
    result = hutch("predict", "data.vw", "-i", "whole", "-p", "p", "-r", "r", "--json", "--quiet")
    assert json.loads(result.out)["examples"] == 60
    assert Path("whole").read_bytes() == before
    assert len(Path("p").read_text().splitlines()) == len(Path("r").read_text().splitlines()) == 60
    assert hutch("predict", "data.vw", "-i", "whole", "--json").code == 2
    assert hutch("predict", "data.vw").code == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("waiting", [False, True])
def test_a_signal_saves_the_model_that_was_asked_for(tmp_path: Path, number: signal.Signals, waiting: bool) -> None:
    model, predictions = tmp_path / "model", tmp_path / "predictions"
    arguments = ["-f", str(model), "-p", str(predictions), "-P", "1", "--events", str(tmp_path / "events")]
    command = [*HUTCH, "train", "-", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin and process.stderr
        process.stdin.write(b"1 |f a\n-1 |f b\n")
        seen = b""
        while b" 2.0 " not in seen:  # the second row of the table: both are learned
            seen += process.stderr.read(1)
        if waiting:
            time.sleep(0.2)
        process.send_signal(number)
        if not waiting:
            process.stdin.write(b"1 |f a\n")
        seen += process.stderr.read()
        assert process.wait(60) == 128 + number
    assert re.search(rb"interrupted after [23] examples: saved " + str(model).encode(), seen)
    assert b"Traceback" not in seen
    learned = Chain.load(model)
    assert learned.statistics.examples in (2, 3)
    assert len(predictions.read_text().splitlines()) == learned.statistics.examples


def test_plugins_see_every_row_even_of_a_quiet_run(hutch: Run, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Any] = []
    monkeypatch.setattr("hutch.plugins.manager.Plugins.on_progress", lambda self, event: events.append(event))
    hutch("train", data, "--quiet", "-P", "25")
    assert [(event.examples, event.features > 0) for event in events] == [(25, True), (50, True)]


def test_classes_are_whole_numbers_and_their_raw_predictions_all_scores(hutch: Run, tmp_path: Path) -> None:
    data, chain = tmp_path / "data.vw", tmp_path / "chain.yaml"
    data.write_text("".join(f"{i % 3 + 1} 't{i}|f a{i % 3} b{i % 2}\n" for i in range(30)))
    chain.write_text("chain:\n- one_against_all: {classes: 3}\n- linear\n")
    result = hutch("train", data, "-C", chain, "-p", tmp_path / "p", "-r", tmp_path / "r", "-P", "30")
    assert result.code == 0 and "Input label = MULTICLASS\nOutput pred = MULTICLASS\n" in result.err
    row = next(line for line in result.err.splitlines() if line.split()[2:3] == ["30"])
    assert row.split()[4] == "3" and row.split()[5] in "123" and "best constant" not in result.err
    predictions = [line.split() for line in (tmp_path / "p").read_text().splitlines()]
    scores = [line.split() for line in (tmp_path / "r").read_text().splitlines()]
    assert len(predictions) == len(scores) == 30
    for (prediction, tag), line in zip(predictions, scores, strict=True):
        assert [part.split(":")[0] for part in line[:3]] == ["1", "2", "3"] and line[3] == tag
        values = [float(part.split(":")[1]) for part in line[:3]]
        assert values[int(prediction) - 1] == max(values)


def test_predictions_of_a_stream_come_as_it_comes(here: Path) -> None:
    command = [*HUTCH, "predict", "-", "-i", "whole", "--quiet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin and process.stdout
        for tag in (b"one", b"two"):
            process.stdin.write(b"'" + tag + b"|text fine\n")
            assert process.stdout.read(100).endswith(b" " + tag + b"\n")
        process.stdin.close()
        assert process.wait(60) == 0


def test_a_loss_that_is_not_known_is_null_and_said(here: Path, hutch: Run) -> None:
    Path("unlabeled.vw").write_text("|f a\n|f b\n")
    found = json.loads(hutch("train", "unlabeled.vw", "--quiet", "--json").out, parse_constant=pytest.fail)
    assert found["average_loss"] is None
    assert found["not_finite"] == {"average_loss": "NaN"}
