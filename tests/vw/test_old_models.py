"""Models that VW has written: predictions with -t and going on are VW's own; what Hutch does not have is refused."""

import os
import struct
from pathlib import Path

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, ModelError, UsageError
from hutch.core.text.hashing import hash_text
from hutch.vw.main import run

A, B = 14355, 146788  # the rows of the features a and b of namespace f, as VW hashes them
CONSTANT = 116060
SUMS = struct.Struct("<f4d3f3d2Q2dQ2d")


def old_model(words="", weights=(), bits=18, version="9.11.9", between=b"", sums=None, grams=(), skips=(), span=(0, 1)):
    """The bytes of a model as VW lays them out; `weights` are (row, number, ...)."""

    def text(value):
        coded = value.encode() + b"\0"
        return [struct.pack("<I", len(coded)), coded]

    fields = [*text("id"), b"m", struct.pack("<f", span[0]), struct.pack("<f", span[1])]
    fields += [struct.pack("<I", number) for number in (bits, 0)]
    for sizes in (grams, skips):
        fields += [struct.pack("<I", len(sizes)), *(size.encode().ljust(3, b"\0") for size in sizes)]
    fields += text(f" {words} ")
    checksum = 0
    for piece in fields:
        checksum = hash_text(piece, checksum, "all")
    learner = b"\0" if sums is None else b"\1" + SUMS.pack(*sums)
    rows = b"".join(struct.pack(f"<I{len(numbers)}f", row, *numbers) for row, *numbers in weights)
    head = b"".join(text(version)) + b"".join(fields) + struct.pack("<II", 4, checksum)
    return head + between + learner + rows


def predictions(*words):
    Path("data.vw").write_text("|f a\n|f b:2\n|f a b\n")
    assert run(["-d", "data.vw", "-p", "p", "--quiet", *words]) == 0
    return [float(line) for line in Path("p").read_text().split()]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_model_that_only_predicts():
    Path("old").write_bytes(old_model(weights=[(A, 0.25), (B, -0.125), (CONSTANT, 0.5)], span=(-9, 9)))
    assert predictions("-i", "old", "-t") == [0.75, 0.25, 0.625]


def test_bandits_of_version_8_have_a_model_per_class():
    b, constant = 2 * B % 2**18, 2 * CONSTANT % 2**18
    weights = [(2 * A, 0.25), (2 * A + 1, -0.5), (b, -1.0), (constant + 1, 0.125)]
    Path("old").write_bytes(old_model("--cb 2 --cb_type ips --csoaa 2", weights, version="8.9.0", span=(-9, 9)))
    assert predictions("-i", "old", "-t") == [2, 1, 1]


def test_sums_for_going_on_and_pending_regularisation():
    sums = [0.0, 6.0, 2.0, 1.5, 1.5, 1.0, -9.0, 9.0, 2.0, 0.0, 0.0, 2, 6, 2.0, 0.0, 1, 0.125, 0.5]
    weights = [(A, 1.125, 0.25, 1.0), (B, -0.625, 0.25, 2.0), (CONSTANT, 0.125, 1.0, 1.0)]
    Path("old").write_bytes(old_model("--learning_rate 0.25", weights, sums=sums, span=(-1, 1)))
    assert predictions("-i", "old", "-t") == [0.5, -0.5, 0.25]  # (|w| - 0.125) / 2; the span comes from the sums
    assert run(["-i", "old", "--no_stdin", "-f", "new", "--quiet"]) == 0
    chain = Chain.load("new")
    assert chain.layers[-1].parameters.learning_rate == 0.25
    np.testing.assert_array_equal(chain.weights[[A, B, CONSTANT], :3], [row[1:] for row in weights])
    saved = chain.layers[-1].saved()
    assert saved["norms"][0].tolist() == [6, 2] and saved["regularization"].tolist() == [0.5, 0.125]


def test_models_of_version_8_and_a_regularisation_that_is_given():
    weights = [(A, 1.125, 0.25, 1.0), (B, -0.625, 0.25, 2.0), (CONSTANT, 0.125, 1.0, 1.0)]
    old = old_model("--l1_state 0.125", weights, version="8.10.0", sums=SUMS.unpack(bytes(SUMS.size)), span=(-1, 1))
    rows = 16 * len(weights)
    Path("old").write_bytes(old[: -rows - 16] + old[-rows:])  # its sums end before those of the regularisation
    assert run(["-i", "old", "--no_stdin", "-f", "new", "--quiet"]) == 0
    chain = Chain.load("new")
    np.testing.assert_array_equal(chain.weights[[A, B, CONSTANT], :3], [row[1:] for row in weights])
    assert chain.layers[-1].saved()["regularization"].tolist() == [1, 0.125]
    chain.shared["max_label"], chain.shared["min_label"] = 9, -9
    chain.save("new")
    assert predictions("-i", "new", "-t") == [1.0, -1.0, 0.5]
    assert predictions("-i", "new", "-t", "--l2_state", "0.5") == [0.5, -0.5, 0.25]
    with pytest.raises(UsageError, match="--l1_state: coin_betting does not have it"):
        run(["--coin", "--l1_state", "1", "--no_stdin"])


def test_grams_names_of_classes_and_the_loss_of_the_command_line():
    words = "--named_labels cat,dog --oaa 2 --quadratic ff"
    Path("old").write_bytes(
        old_model(words, [(2 * A & 4095, 0.5), (2 * B + 1 & 4095, 0.5)], grams=["f2"], skips=["f1"], bits=12)
    )
    Path("data.vw").write_text("|f a\n|f b\n")
    options = ["-i", "old", "-t", "-d", "data.vw", "-p", "p", "--quiet", "--loss_function", "logistic", "-f", "new"]
    assert run(options) == 0
    config = Chain.load("new").config.to_dict()
    names = [layer if isinstance(layer, str) else next(iter(layer)) for layer in config["chain"]]
    assert names == ["ngrams", "one_against_all", "linear"] and config["weights"]["bits"] == 12
    assert config["chain"][-1]["linear"]["loss"] == "logistic"
    assert set(Path("p").read_text().split()) <= {"cat", "dog"}
    with pytest.raises(ConfigError, match="unknown loss 'logit'"):
        run([*options[:-4], "--loss_function", "logit"])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"version": "7.10.2"}, "a model of VW 7.10.2, wanted one of 8.3.3 to 9.11: read it with VW 9 and save it"),
        ({"version": "10.0.0"}, "a model of VW 10.0.0, wanted"),
        ({"version": "8.9.0", "words": "--cb 4 --cb_type dr"}, "a model of VW 8.9.0, wanted one of 9.0.0 to"),
        ({"version": "8.8.0", "words": "--cb_adf --cb_explore_adf --squarecb"}, "VW 8.8.0, wanted one of 9.0.0 to"),
        ({"words": "--new_mf 3"}, "--new_mf is not supported: use --rank"),
        ({"words": "--automl 3 --wap 2"}, "--automl is not supported(.|\n)*--wap"),
        ({"weights": [(1 << 18, 1.0)]}, "weight 262144 of 262144"),
        ({"weights": [(1, 1.0)], "cut": 1}, "7 bytes of weights, of 8 each"),
        ({"words": "--cb_adf --cb_type mtr", "between": b"\0" * 8}, "truncated"),
        ({"words": "--ftrl"}, "a model only to predict with, of ftrl_proximal"),
    ],
)
def test_what_cannot_be_read_is_refused(how, message):
    content = old_model(**{name: value for name, value in how.items() if name != "cut"})
    Path("old").write_bytes(content[: len(content) - how.get("cut", 0)])
    with pytest.raises(ModelError, match=f"old: (.|\n)*{message}"):
        run(["-i", "old", "--no_stdin", "-f", "new", "--quiet"])
    assert not Path("new").exists()


def test_every_truncation_and_every_flipped_byte_of_the_header_is_an_error():
    whole = old_model("--quadratic ab", [(A, 0.5)], grams=["2"])
    header = len(whole) - 9
    for size in range(12, header + 1):
        Path("old").write_bytes(whole[:size])
        with pytest.raises(ModelError, match=r"truncated|damaged"):
            run(["-i", "old", "--no_stdin", "-f", "new", "--quiet"])
    for place in range(11, header):
        Path("old").write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        with pytest.raises(ModelError):
            run(["-i", "old", "--no_stdin", "-f", "new", "--quiet"])


def test_convert(capsys):
    from hutch.cli.commands import app

    Path("old").write_bytes(old_model(weights=[(A, 0.25), (B, -0.125)], span=(-9, 9)))
    assert not app(["convert", "old", "-f", "new", "--loss_function", "logistic"], standalone_mode=False)
    Path("data.vw").write_text("|f a\n|f b:2\n")
    os.mkfifo("pipe")
    assert not app(["predict", "data.vw", "-i", "new", "--quiet"], standalone_mode=False)
    assert capsys.readouterr().out.split() == ["0.250000", "-0.250000"]
    for words, message in (
        (["predict", "data.vw", "-i", "old"], "`hutch convert` makes one of Hutch"),
        (["convert", "data.vw", "-f", "other"], "data.vw: got another file, wanted a model of VW"),
        (["convert", "nothing", "-f", "other"], "nothing: No such file or directory"),
        (["convert", "pipe", "-f", "other"], "pipe: got another file, wanted a model of VW"),
        (["convert", "old", "-f", "old"], "old: cannot be written: this run reads it"),
    ):
        assert app(words, standalone_mode=False)
        assert message in capsys.readouterr().err


def lines(count=120):
    rng = np.random.default_rng(2)
    for x in rng.random((count, 4)):
        features = " ".join(f"w{rng.integers(20)}:{v:.3f}" for v in x)
        yield x.sum() - 2, f"|f {features} |g h{rng.integers(5)}"


@pytest.mark.parametrize(
    ("options", "again"),
    [
        ("--id x -q fg -l 0.3 --l2 1e-3", "--l2 1e-3"),
        ("--l1 1e-3 --ngram f2 --skips f1 -b 10", "--l1 1e-3"),
        ("--predict_only_model --noconstant", ""),
        ("--sgd -l 0.01 --hash all --hash_seed 3", ""),
        ("--adaptive -l 0.1 --ignore_linear g", ""),
        ("--normalized --loss_function quantile --quantile_tau 0.3", "--loss_function quantile --quantile_tau 0.3"),
        ("--coin --loss_function logistic", "--loss_function logistic"),
        ("--ftrl", ""),
        ("--pistol", ""),
        ("--lrq fg2", ""),
        ("--rank 3 -q fg -l 0.1", "-l 0.1"),
        ("--binary --loss_function hinge", "--loss_function hinge"),
    ],
)
def test_a_model_of_the_peer_goes_on_as_there(options, again):
    sign = "logistic" in options or "hinge" in options
    _against_peer([f"{np.sign(y) if sign else y:.3g} {line}" for y, line in lines()], options, again)


@pytest.mark.parametrize(
    "options", ["--oaa 4", "--oaa 4 --per_model_save_load", "--ect 4 --error 1", "--oaa 4 --probabilities", "--cbify 4"]
)
def test_a_model_of_classes_of_the_peer(options):
    loss = " --loss_function logistic" if "prob" in options else ""
    again = options.partition(" 4")[2] + loss if "prob" in options else ""
    rows = [f"{1 + int(4 * abs(y)) % 4} {line}" for y, line in lines()]
    _against_peer(rows, options + loss, again, goes_on="per_model" in options)


@pytest.mark.parametrize(
    "options",
    [
        "--cb_adf",
        "--csoaa_ldf m",
        *(f"--cb_explore_adf --{name}" for name in ("squarecb", "first 9", "cover 2", "bag 2")),
    ],
)
def test_a_model_of_decisions_of_the_peer(options):
    rows = []
    for k, (y, line) in enumerate(lines(40)):
        for action in range(3):
            label = f"{action}:{abs(y) + action:.3g}" if "csoaa" in options else ""
            if not label and action == k % 3:
                label = f"0:{abs(y) + action:.3g}:0.5"
            rows.append(f"{label} |a x{action} {line}")
        rows.append("")
    _against_peer(rows, options, "", goes_on=False)


def _against_peer(rows, options, again, goes_on=True):
    vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="the peer: pip install vowpalwabbit==9.11.9")
    Path("rows.vw").write_text("\n".join(rows) + "\n")

    def peer(words):
        workspace = vowpalwabbit.Workspace(f"-d rows.vw --quiet {words}", enable_logging=True)
        workspace.finish()

    peer(f"{options} -f old")
    for more in ("-t", "")[: 1 + goes_on]:
        peer(f"-i old {again} {more} -p theirs")
        assert run(["-i", "old", "-d", "rows.vw", "--quiet", "-p", "ours", *again.split(), *more.split()]) == 0
        assert Path("ours").read_text() == Path("theirs").read_text(), more
