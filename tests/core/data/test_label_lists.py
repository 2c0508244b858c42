"""Labels that are more than a number: the same from records, CSV and frames, and refused where they are numbers."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hutch import Chain
from hutch.core.data.csv import read_csv
from hutch.core.data.sources import to_batches
from hutch.core.errors import DataError
from hutch.core.text.parser import ParserOptions

GIVEN: dict[Any, list[Any]] = {
    "multilabel": [[0, 2], [1], None],
    "numbers_of_lines": [[3, 1, 3], [0], None],
    "cost_sensitive": [{"1": 0.5, "2": 0.0}, {"2": 1.5}, None],
    "logged_class": [{"class": 2, "cost": 0.5, "probability": 0.25}, None],
    "logged_number": [{"number": 1.5, "cost": 0.25, "density": 0.5}, None],
}
FIELDS = ("labels", "cost_ptr", "cost_classes", "costs", "probabilities")
"""Of a batch, those that hold labels."""
CHAINS: dict[str, list[Any]] = {
    "multilabel": [{"multilabel_one_against_all": {"classes": 3}}, "linear"],
    "cost_sensitive": [{"cost_sensitive_one_against_all": {"classes": 3}}, "linear"],
    "logged_action": ["explore_squarecb", "contextual_bandit", "cost_sensitive_with_features", "linear"],
}
"""A chain that takes each kind of label."""


def chain_for(kind: str) -> Chain:
    return Chain.from_config({"chain": CHAINS[kind], "weights": {"bits": 10}})


def written(path: Path, labels: list[str]) -> str:
    """A CSV file with these cells in its column `label`."""
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("label", "size"), *((label, 1) for label in labels)])
    return str(path)


@pytest.mark.parametrize("kind", GIVEN)
def test_records_cells_and_frames_say_the_same(kind: Any, tmp_path: Path) -> None:
    given, options = GIVEN[kind], ParserOptions(label=kind)
    [wanted] = to_batches([{"label": each, "size": 1.0} for each in given], options)
    cells = ["" if each is None else json.dumps(each) for each in given]
    [of_cells] = read_csv(written(tmp_path / "a.csv", cells), options)
    [of_objects] = to_batches(pd.DataFrame({"label": given, "size": 1.0}), options)
    [of_texts] = to_batches(pd.DataFrame({"label": cells, "size": 1.0}), options)
    for found in (of_cells, of_objects, of_texts):
        for field in FIELDS:
            np.testing.assert_array_equal(getattr(found, field), getattr(wanted, field), field)
    assert wanted.cost_ptr[-1] == wanted.cost_ptr[-2] > 0  # the last has none


def test_numbers_of_lines_stay_in_their_order(tmp_path: Path) -> None:
    options = ParserOptions(label="numbers_of_lines")
    [found] = read_csv(written(tmp_path / "a.csv", ["3,1,3", "[0]"]), options)
    [of_text] = to_batches("3,1,3 |f a\n0 |f b\n", options)
    for batch in (found, of_text):
        assert batch.cost_ptr.tolist() == [0, 3, 4] and batch.cost_classes.tolist() == [3, 1, 3, 0]
    with pytest.raises(DataError, match="got 'x', wanted numbers such as"):
        list(read_csv(written(tmp_path / "a.csv", ["x"]), options))


def test_lists_of_classes_are_written_in_several_ways(tmp_path: Path) -> None:
    options = ParserOptions(label="multilabel")
    [found] = read_csv(written(tmp_path / "a.csv", ["0,2", "0", " ", "[2]"]), options)
    assert found.cost_ptr.tolist() == [0, 2, 3, 3, 4] and found.cost_classes.tolist() == [0, 2, 0, 2]
    [found] = to_batches(pd.DataFrame({"label": [0.0, np.nan, 2.0]}), options)
    assert found.cost_ptr.tolist() == [0, 1, 1, 2] and found.cost_classes.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("kind", "cell", "wanted"),
    [
        ("multilabel", "0;2", r"got '0;2', wanted classes such as \[0, 2\], or the text '0,2'"),
        ("multilabel", "[0, -1]", r"got \[0, -1\], wanted classes"),
        ("cost_sensitive", "0", "got '0', wanted costs by class such as {1: 0.0, 2: 1.5}"),
        ("cost_sensitive", "{1: 0", "got '{1: 0', wanted costs by class"),
        ("logged_class", "2", "got '2', wanted a choice such as {'class': 2"),
        ("logged_number", "2", "got '2', wanted a choice such as {'number': 1.5"),
        ("logged_action", "1", "got '1', wanted a label of decisions, as lines of text, JSON lines or records"),
    ],
)
def test_a_cell_that_is_no_such_label_is_refused_with_its_place(
    kind: Any, cell: str, wanted: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "a.csv", ["", cell])
    with pytest.raises(DataError, match=rf"a.csv:3: column 'label' \(label\): {wanted}"):
        list(read_csv(path, ParserOptions(label=kind)))


@pytest.mark.parametrize("kind", CHAINS)
def test_numbers_beside_a_matrix_are_refused_where_a_label_is_more(kind: str) -> None:
    with pytest.raises(DataError, match="label: got 1, wanted (costs by class|classes such as|a label of decisions)"):
        chain_for(kind).learn(np.eye(2), labels=[1, 2])


@pytest.mark.parametrize("kind", ["multilabel", "cost_sensitive"])
def test_tables_without_labels_are_predicted(kind: str) -> None:
    chain, frame = chain_for(kind), pd.DataFrame({"label": [None, None], "size": [1.0, 2.0]})
    assert len(chain.predict(frame)) == len(chain.predict(np.eye(2))) == 2
