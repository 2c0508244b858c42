"""Whole runs of Vowpal Wabbit as an oracle: generated command lines over generated files, every output equal.

Predictions and raw predictions are compared to the character, weights to the bit. Each command line is also printed as
YAML, and the chain built from that makes the same predictions. HUTCH_PEER_EXAMPLES sets how many runs there are.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from hutch import Chain
from hutch.vw.main import run
from hutch.vw.options.table import OPTIONS
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="the peer is not installed: pip install vowpalwabbit==9.11.9")

RUNS = int(os.environ.get("HUTCH_PEER_EXAMPLES", "15"))
SETTINGS = settings(
    derandomize="HUTCH_PEER_EXAMPLES" not in os.environ,  # a search is for whoever asks for one
    max_examples=RUNS,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],  # a run is short enough to read as it is
)

VALUES = st.one_of(
    st.just(""),
    st.just(""),
    st.integers(-9, 9).map(":{}".format),
    st.floats(-100, 100).map(lambda x: f":{x:.4g}"),
    st.floats(1e-6, 1e6).map(lambda x: f":{x:.5g}"),
    st.sampled_from([":1e-3", ":-0", ":0.1234567", ":.5", ":3.", ":1e-20", ":2e+4", ":red", ":007"]),
)
NAMES = st.sampled_from(["x", "y", "word", "running", "12", "007", "-5", "é", "A_b", "0", "x1", "x2"])
FEATURES = st.lists(st.tuples(NAMES, VALUES).map("".join), min_size=1, max_size=5)
NAMESPACES = st.lists(
    st.tuples(st.sampled_from(["", "a", "b", "ab", "c", "c:0.5", "d", "d:-2"]), FEATURES).map(
        lambda pair: "|" + " ".join([pair[0], *pair[1]])
    ),
    min_size=1,
    max_size=4,
).map(" ".join)
IMPORTANCE = st.sampled_from(["", "", "", " 1", " 0.5", " 3", " 1e-4", " 250"])
TAGS = st.sampled_from([" ", " ", " 't", " 'tag2"])


def files(labels, weights=IMPORTANCE, empty=True):
    """Files of lines; some lines are empty, some have no label."""
    labelled = st.tuples(labels, weights, TAGS, NAMESPACES).map("".join)
    unlabelled = st.tuples(TAGS, NAMESPACES).map("".join)
    line = st.one_of(labelled, labelled, labelled, labelled, unlabelled, *([st.just("")] if empty else []))
    return st.lists(line, min_size=4, max_size=30)


def some(*choices):
    """One of some words for a command line; none as often as all others."""
    return st.one_of(st.just(""), st.sampled_from(choices))


def command_lines(*parts):
    return st.tuples(*parts).map(lambda words: " ".join(word for word in words if word))


UPDATES = some(
    "--sgd -l 0.1",
    "--sgd --power_t 0 -l 0.05",
    "--sgd --initial_t 3 -l 0.1",
    "--adaptive -l 0.5",
    "--normalized -l 0.1",
    "--invariant -l 0.1",
    "--adaptive --invariant -l 0.2",
    "--normalized --invariant --power_t 0.3 -l 0.1",
    "--adaptive --normalized",
    "--power_t 0.3",
    "-l 5",
    "--initial_t 2",
)
FEATURE_OPTIONS = some(
    "-q ab",
    "-q ::",
    "-q a: --ignore_linear a",
    "-q ab cd --permutations",
    "--cubic abc --noconstant",
    "--interactions aab --interactions abcd",
    "-q ab -q ba --leave_duplicate_interactions",
    "--ignore a",
    "--keep a b -q ab",
    "--ngram 2",
    "--ngram a3 b2 --skips a1",
    "--hash all -b 10",
    "--hash_seed 7 -b 8",
    "--noconstant -b 20",
)
REGULARIZATION = some("--l1 1e-3", "--l2 1e-3", "--l1 1e-4 --l2 1e-2")
SPARSE = some("--sparse_l2 1e-3")  # not of several sub-models
PASSES = some(
    "--passes 2 -k --cache_file c",
    "--passes 3 -k --cache_file c --holdout_off --decay_learning_rate 0.7",
    "--passes 5 -k --cache_file c --holdout_period 3 --early_terminate 1",
    "--passes 2 -k --cache_file c --holdout_after 6",
    "--holdout_after 8",
    "-t",
)
FIRST = some("-C 0.3", "--initial_weight 0.2", "--min_prediction -0.5 --max_prediction 0.7")

BINARY = st.sampled_from(["1", "-1"])
REAL = st.one_of(st.decimals(-5, 5, places=2).map(str), st.sampled_from(["1e3", "-0.001", "7"]))
COUNT = st.sampled_from(["0", "1", "2", "7"])
CLASS = st.sampled_from(["1", "2", "3", "4", "5"])
COSTS = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from(["0", "1", "0.5", "2.25", "-1"])).map(
        lambda pair: f"{pair[0]}:{pair[1]}"
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda word: word[0],
).map(" ".join)  # fmt: skip


def weights_of(text):
    """Rows and numbers of a readable model, as float32."""
    rows = re.findall(r"^(\d+):(.*)$", text, re.MULTILINE)
    return {int(row): [np.float32(float.fromhex(number)) for number in numbers.split()] for row, numbers in rows}


def _not_tiny(value):
    return ":0.01" if 0 < abs(float(value[1])) < 0.01 else value[0]


def check(arguments, lines):
    """Run both over the same file, and the chain printed as YAML over its lines."""
    assume(not re.search("-t .*--(initial_weight|active)", arguments))  # nobody tests what was never learned
    bits = [] if " -b " in f" {arguments}" else ["-b", "10"]
    words = [
        *arguments.split(),
        *bits,
        "-d",
        "data",
        "-p",
        "p",
        "-r",
        "r",
        "--readable_model",
        "m",
        "--hexfloat_weights",
    ]
    if re.search("passes|holdout|lrq", arguments):  # VW counts empty lines when it holds out, and for --lrq's turns
        lines = [line for line in lines if line]
    if "--oaa" in arguments:  # VW's predictions of all classes leave out what is below 1e-10, products too
        lines = [re.sub(r":(-?[\d.e+-]+)", _not_tiny, line) for line in lines]
    text = "\n".join(lines) + "\n"
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name, runs in (("theirs", _run_peer), ("ours", _run_hutch)):
            place = Path(folder, name)
            place.mkdir()
            (place / "data").write_text(text)
            with contextlib.chdir(place):
                runs(words)
            found.append([(place / output).read_text().replace("-nan", "nan") for output in ("p", "r", "m")])
    theirs, ours = found
    assert ours[0] == theirs[0], arguments
    assert ours[1] == theirs[1], arguments
    assert weights_of(ours[2]) == weights_of(theirs[2]), arguments
    if not re.search("passes|holdout|-t$|-t |scores|probabilities", arguments) and "--active" not in arguments:
        options = parse(words)
        chain = Chain.from_config(yaml.safe_load(yaml.safe_dump(chain_of(options))))
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of numbers beyond float32
            again = chain.learn([line for line in lines if line])
        shown = [float(line.split()[0]) for line in ours[0].splitlines()]
        np.testing.assert_allclose(again, shown, rtol=2e-6, atol=5.1e-7, err_msg=arguments)


def _run_peer(words):
    workspace = vowpalwabbit.Workspace(arg_list=[*words, "--quiet", "--log_level", "off"])
    workspace.finish()


def _run_hutch(words):
    with contextlib.redirect_stderr(io.StringIO()):
        assert run([*words, "--quiet"]) == 0


REAL_LOSSES = some(
    "--loss_function classic",
    "--loss_function quantile --quantile_tau 0.8",
    "--loss_function expectile --expectile_q 0.2",
)
BINARY_LOSSES = some(
    "--loss_function hinge",
    "--loss_function logistic",
    "--loss_function logistic --link logistic",
    "--loss_function logistic --link glf1 --binary",
    "--loss_function quantile",
    "--binary",
)
COUNT_LOSSES = st.sampled_from(["--loss_function poisson -l 0.1", "--loss_function poisson --link poisson -l 0.1"])
ACTIVE = some(
    "--active --simulation",
    "--active --simulation --mellowness 0.01 --random_seed 3",
    "--active --mellowness 0.1 --no_daemon",
)
CLASSES = st.sampled_from(
    [
        "--oaa 5",
        "--oaa 5 --scores",
        "--oaa 5 --loss_function logistic",
        "--oaa 5 --loss_function logistic --probabilities",
        "--oaa 5 --loss_function logistic --link logistic",
        "--oaa 5 --loss_function hinge --initial_weight 0.1",
        "--ect 5",
        "--ect 5 --error 2",
        "--ect 5 --error 1 --loss_function hinge",
    ]
)
COSTED = st.sampled_from(["--csoaa 4", "--csoaa 4 --loss_function hinge"])


@SETTINGS
@given(
    arguments=command_lines(REAL_LOSSES, UPDATES, FEATURE_OPTIONS, REGULARIZATION, SPARSE, PASSES, FIRST),
    lines=files(REAL),
)
def test_regression(arguments, lines):
    check(arguments, lines)


@SETTINGS
@given(
    arguments=command_lines(BINARY_LOSSES, UPDATES, FEATURE_OPTIONS, REGULARIZATION, SPARSE, PASSES, FIRST, ACTIVE),
    lines=files(BINARY),
)
def test_binary_labels(arguments, lines):
    check(arguments, lines)


@SETTINGS
@given(arguments=command_lines(COUNT_LOSSES, FEATURE_OPTIONS, REGULARIZATION, PASSES), lines=files(COUNT))
def test_counts(arguments, lines):
    check(arguments, lines)


@SETTINGS
@given(arguments=command_lines(CLASSES, UPDATES, FEATURE_OPTIONS, REGULARIZATION, PASSES), lines=files(CLASS))
def test_classes(arguments, lines):
    check(arguments, lines)


@SETTINGS
@given(
    arguments=command_lines(COSTED, UPDATES, FEATURE_OPTIONS, REGULARIZATION, PASSES),
    lines=files(COSTS, st.just("")),
)
def test_costs(arguments, lines):
    check(arguments, lines)


def test_every_option_of_the_peer_is_known():
    told = subprocess.run([sys.executable, "-m", "vowpalwabbit", "--help"], capture_output=True, text=True, check=True)
    names = set(re.findall(r"^ {4}(?:-\w, )?--([\w-]+)", told.stdout, re.MULTILINE))
    assert len(names) > 300
    assert names - {"help"} <= {option.name for option in OPTIONS}


LOW_RANK = st.sampled_from(
    [
        "--lrq ab2",
        "--lrq ab2 cd3",
        "--lrq aa1 --lrqdropout",
        "--lrq ac4 --loss_function logistic",
        "--oaa 5 --lrq ab2",
        "--lrqfa ab2",
        "--lrqfa ca3 --loss_function logistic",
    ]
)
FEW_UPDATES = some("--sgd -l 0.1", "--adaptive -l 0.1", "-q ab", "--noconstant")


@SETTINGS
@given(
    arguments=command_lines(LOW_RANK, FEW_UPDATES, REGULARIZATION, PASSES),
    lines=files(st.sampled_from(["1", "2"])),
)
def test_low_rank(arguments, lines):
    check(arguments, lines)
