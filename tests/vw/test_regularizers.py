"""Strengths of features beside those that VW 9.11.9 wrote, and runs that begin from them."""

import numpy as np
import pytest

from hutch.core.errors import ModelError
from hutch.vw.main import run

DATA = "1 |a x y:2\n2 |a x z\n0.5 |a y z:3\n-1 |b x\n1.5 |b x y\n"
SEARCH = "-b 3 -c -k --passes 40 --holdout_off --quiet --predict_only_model"
STRENGTHS = (
    "07000000392e31312e390001000000006d000080bf000000400300000000000000000000000000000008000000202d2d6266"
    "67730004000000ad71866801000000000000803f0100000065f7a03f020000000000803f030000009e292ebf040000000000"
    "803f0500000090cbc63f060000000000803f080000000000803f090000007a8a743e0a0000000000803f0c0000000000803f"
    "0d00000050a04c3e0e0000000000803f0f000000d0cb81be"
)
"""`--bfgs --l2 0.5 --output_feature_regularizer_binary`."""
CONTINUED = [
    0.989343,
    1.696190,
    0.584792,
    -0.441513,
    1.111574,
    0.989343,
    1.696190,
    0.584792,
    -0.441513,
    1.111574,
    1.142278,
    1.891041,
    0.605768,
    -0.517902,
    1.352518,
    0.917009,
    1.823246,
    0.263908,
    -0.749289,
    1.321701,
    1.029643,
    1.857144,
    0.434838,
    -0.633596,
    1.337109,
    1.015875,
    1.874889,
    0.497239,
    -0.658450,
    1.313491,
    1.000164,
    1.886953,
    0.534711,
    -0.687416,
    1.291376,
    1.002028,
    1.887309,
    0.533948,
    -0.688697,
    1.289477,
]
"""Predictions of `--bfgs --input_feature_regularizer`."""


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.vw").write_text(DATA)
    (tmp_path / "theirs").write_bytes(bytes.fromhex(STRENGTHS))
    return tmp_path


def search(words):
    assert run(f"-d data.vw --bfgs {SEARCH} {words}".split()) == 0


def test_they_are_written_as_vw_writes_them(data):
    search("--l2 0.5 --output_feature_regularizer_binary ours --output_feature_regularizer_text text")
    assert (data / "ours").read_bytes().hex() == STRENGTHS
    lines = (data / "text").read_text().splitlines()
    assert lines[8:11] == ["options: --bfgs", "Checksum: 0", ":1"]
    pairs = dict(line.split(":") for line in lines[11:])
    assert all(float(pairs[str(place)]) == 1 for place in range(0, 16, 2))


def test_a_search_begins_from_them_as_in_vw(data):
    search("--input_feature_regularizer theirs -p found")
    found = (data / "found").read_text().split()
    np.testing.assert_allclose([float(each) for each in found], CONTINUED, atol=2e-6)


def test_a_search_that_does_not_converge_writes_none(data, capsys):
    assert run("-d data.vw --bfgs -b 3 --passes 3 --holdout_off --output_feature_regularizer_text text".split()) == 0
    assert not (data / "text").exists()
    assert "no feature regularizers were written: the search did not converge" in capsys.readouterr().err


def test_other_files_are_refused(data):
    for words, message in (
        ("--input_feature_regularizer data.vw", "data.vw: is no file of --output_feature_regularizer_binary"),
        ("--input_feature_regularizer none", "none: cannot be read: No such file or directory"),
    ):
        with pytest.raises(ModelError, match=message):
            search(words)
    with pytest.raises(ModelError, match="got regularizers for -b 3, wanted -b 4"):
        run("-d data.vw --bfgs -b 4 --passes 3 --input_feature_regularizer theirs --quiet".split())
    (data / "cut").write_bytes((data / "theirs").read_bytes()[:-3])
    with pytest.raises(ModelError, match="cut: the file is damaged: it holds no regularizers"):
        search("--input_feature_regularizer cut")
