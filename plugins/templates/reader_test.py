"""A file is the records in it, and a bad line is named."""

import json

import numpy as np
import pytest

from hutch import Chain
from hutch.plugin import DataError

LINES = ['{"label": 1, "film": {"genre": "war", "length": 1.2}}', '{"label": 0, "film": {"genre": "love"}}']


def test_a_file_is_its_records(tmp_path):
    (tmp_path / "a.mine").write_text("\n".join(LINES) + "\n")
    chains = [Chain.from_config({"chain": ["linear"]}) for _ in range(2)]
    chains[0].learn(tmp_path / "a.mine")
    chains[1].learn([json.loads(line) for line in LINES])
    np.testing.assert_array_equal(chains[0].weights, chains[1].weights)


def test_a_bad_line_is_named(tmp_path):
    (tmp_path / "a.mine").write_text(f"{LINES[0]}\n{{\n")
    with pytest.raises(DataError, match=r"a.mine:2:"):
        Chain.from_config({"chain": ["linear"]}).learn(tmp_path / "a.mine")
