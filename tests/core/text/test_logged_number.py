"""Labels `ca action:cost:density`."""

import numpy as np
import pytest

from hutch.core.errors import DataError
from hutch.core.kernel.abi import UNLABELED
from hutch.core.text.parser import ParserOptions, TextParser


def parse(text, **more):
    parser = TextParser(ParserOptions(label="logged_number", **more), "x")
    return parser.parse(text.encode()), parser.problems


@pytest.mark.parametrize("ending", ["\n", "\r\n", " \n"])
def test_a_label_is_a_number_with_two_costs(ending):
    batch, problems = parse(f"ca 1.5:-2:0.25 |f a{ending}ca -3e2:0:0.125 'tag|f b{ending}|f c{ending}")
    assert not problems.summary()
    np.testing.assert_array_equal(batch.labels, np.array([1.5, -300, UNLABELED], np.float32))
    np.testing.assert_allclose(batch.costs, [-2, 0.25, 0, 0.125], rtol=1e-6)
    assert batch.cost_ptr.tolist() == [0, 2, 4, 4] and batch.tag(1) == b"tag"
    assert (batch.importance == 1).all()


@pytest.mark.parametrize("label", ["", "ca", "ca 4"])
def test_without_a_cost_there_is_no_label(label):
    batch, problems = parse(f"{label} |f a\n")
    assert not problems.summary()
    assert batch.labels[0] == UNLABELED and batch.cost_ptr.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("label", "column"),
    [("3", 1), ("cb 1:2:3", 1), ("ca 1:2", 4), ("ca 1:2:0", 4), ("ca 1:2:-1", 4), ("ca x:2:1", 4), ("ca 1:y:1", 4),
     ("ca 1:2:z", 4), ("ca 1:2:0.5:4", 4), ("ca 1:2:0.5 2:1:0.5", 1), ("ca 1:2:0.5 pdf 0:1:1", 1), ("ca 1:inf:1", 4),
     ("ca 1:nan:1", 4), ("ca 1:2:nan", 4), ("1:2:0.5", 1)],
)  # fmt: skip
def test_other_labels_are_told_with_their_place(label, column):
    batch, problems = parse(f"{label} |f a\n")
    assert batch.labels[0] == UNLABELED and batch.cost_ptr.tolist() == [0, 0]
    [kept] = problems.kept
    assert str(kept).startswith(f"x:1:{column}: bad logged number: the example counts as unlabeled, got ")
    with pytest.raises(DataError, match=f"x:1:{column}: bad logged number"):
        parse(f"{label} |f a\n", strict=True)
