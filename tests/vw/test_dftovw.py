"""Tables that become lines, and those that do not: what `vowpalwabbit.dftovw` refuses is refused, with its place."""

import re

import pandas as pd
import pytest

from hutch.vw.dftovw import (
    ContextualbanditLabel,
    DFtoVW,
    Feature,
    MulticlassLabel,
    MultiLabel,
    Namespace,
    SimpleLabel,
)

TABLE = pd.DataFrame(
    {
        "number": [0.5, -1.0, 2.0],
        "class": [1, 3, 2],
        "zero": [1, 0, 2],
        "word": ["a", "b", "c d"],
        "weight": [1.0, 0.5, 2.0],
        "negative": [1.0, 2.0, -0.5],
        "chance": [0.25, 0.5, 1.0],
        "beyond": [0.25, 1.1, 0.5],
        "below": [-0.1, 0.5, 0.5],
        "gap": [0.5, None, 0.5],
        "flag": [True, False, True],
        "count": pd.array([1, None, 2], dtype="Int64"),
    }
)
X = Feature("word")


@pytest.mark.parametrize(
    ("label", "lines"),
    [
        (SimpleLabel("number", "weight"), ["0.5 1.0 | word=a", "-1.0 0.5 | word=b", "2.0 2.0 | word=c_d"]),
        (SimpleLabel("gap"), ["0.5 | word=a", " | word=b", "0.5 | word=c_d"]),
        (MulticlassLabel("class"), ["1 | word=a", "3 | word=b", "2 | word=c_d"]),
        (MultiLabel(["class", "class"]), ["1,1 | word=a", "3,3 | word=b", "2,2 | word=c_d"]),
        ([MultiLabel("class"), MultiLabel("class")], ["1,1 | word=a", "3,3 | word=b", "2,2 | word=c_d"]),
        (
            [ContextualbanditLabel("class", "number", "chance"), ContextualbanditLabel("class", "weight", "chance")],
            ["1:0.5:0.25 1:1.0:0.25 | word=a", "3:-1.0:0.5 3:0.5:0.5 | word=b", "2:2.0:1.0 2:2.0:1.0 | word=c_d"],
        ),
        (None, ["| word=a", "| word=b", "| word=c_d"]),
    ],
)
def test_labels(label, lines):
    assert DFtoVW(TABLE, X, label=label).convert_df() == lines


@pytest.mark.parametrize(
    ("label", "error", "text"),
    [
        (SimpleLabel("word"), TypeError, "SimpleLabel.label: column 'word': got"),
        (SimpleLabel("flag"), TypeError, "SimpleLabel.label: column 'flag': got bool, wanted numbers"),
        (SimpleLabel("number", "word"), TypeError, "SimpleLabel.weight: column 'word': got"),
        (
            MulticlassLabel("zero"),
            ValueError,
            "MulticlassLabel.label: column 'zero', row 1: got 0, wanted whole numbers",
        ),
        (MulticlassLabel("number"), TypeError, "column 'number': got float64, wanted whole numbers from 1"),
        (MulticlassLabel("count"), ValueError, "column 'count', row 1: got <NA>, wanted whole numbers from 1"),
        (MulticlassLabel("class", "negative"), ValueError, "column 'negative', row 2: got -0.5, wanted numbers from 0"),
        (MultiLabel(["class", "zero"]), ValueError, "MultiLabel.label: column 'zero', row 1: got 0"),
        (
            ContextualbanditLabel("zero", "number", "chance"),
            ValueError,
            "ContextualbanditLabel.action: column 'zero', row 1",
        ),
        (ContextualbanditLabel("class", "number", "beyond"), ValueError, "column 'beyond', row 1: got 1.1"),
        (ContextualbanditLabel("class", "number", "below"), ValueError, "column 'below', row 0: got -0.1"),
        (ContextualbanditLabel("class", "number", "gap"), ValueError, "column 'gap', row 1: got nan"),
        (ContextualbanditLabel("class", "number", "class"), TypeError, "wanted numbers with a point from 0 to 1"),
        (ContextualbanditLabel("class", "word", "chance"), TypeError, "ContextualbanditLabel.cost: column 'word'"),
        (SimpleLabel("absent"), ValueError, "SimpleLabel: got column 'absent', wanted columns of number, class"),
        ("number", TypeError, "label: got str, wanted Label or a list of these"),
        ([SimpleLabel("number"), SimpleLabel("gap")], TypeError, "label: got a list of SimpleLabel, wanted one label"),
        (
            [MultiLabel("class"), ContextualbanditLabel("class", "number", "chance")],
            TypeError,
            "label: got a list of ContextualbanditLabel, MultiLabel",
        ),
    ],
)
def test_labels_that_are_refused(label, error, text):
    with pytest.raises(error, match=re.escape(text)):
        DFtoVW(TABLE, X, label=label)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: DFtoVW(TABLE, "word"), TypeError, "features: got str, wanted Feature or a list of these"),
        (
            lambda: DFtoVW(TABLE, namespaces=X),
            TypeError,
            "namespaces: got Feature, wanted Namespace or a list of these",
        ),
        (lambda: DFtoVW(TABLE, [X, Feature("absent")]), ValueError, "Feature: got column 'absent'"),
        (lambda: DFtoVW(TABLE, X, tag="absent"), ValueError, "tag: got column 'absent'"),
        (lambda: DFtoVW(TABLE), ValueError, "wanted either features or namespaces"),
        (lambda: Namespace("word"), TypeError, "Namespace.features: got str, wanted Feature or a list of these"),
        (lambda: Namespace(X, name=("a",)), TypeError, "Namespace.name: got tuple, wanted str or int or float"),
        (lambda: Namespace(X, "a", "2"), TypeError, "Namespace.value: got str, wanted int or float"),
        (lambda: Namespace(X, value=2), ValueError, "Namespace: got a value without a name, wanted both"),
        (
            lambda: DFtoVW.from_column_names(y=["number", "class"], x="word", df=TABLE),
            TypeError,
            "y: got 2 columns, wanted one for simple_label",
        ),
        (
            lambda: DFtoVW.from_column_names(y="class", x="word", df=TABLE, label_type="class"),
            ValueError,
            "label_type: got 'class', wanted one of simple_label, multiclass_label, multi_label",
        ),
    ],
)
def test_arguments_that_are_refused(make, error, text):
    with pytest.raises(error, match=re.escape(text)):
        make()


def test_names_of_columns_alone():
    found = DFtoVW.from_column_names(x=["word", "class"], df=TABLE).convert_df()
    assert found == ["| word=a class:1", "| word=b class:3", "| word=c_d class:2"]
    found = DFtoVW.from_column_names(y=["class"], x="word", df=TABLE, label_type="multi_label").convert_df()
    assert found == DFtoVW.from_colnames("class", "word", TABLE, "multiclass_label").convert_df()
