"""Tables of earlier answers as people have them."""

import gzip

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from hutch.benchmark.answers import read_answers
from hutch.core.errors import DataError, UsageError

NAN = np.nan
WIDE = "question,gpt,llama\nq1,1,0\nq2,,0.5\nq3,yes,FALSE\n"
MATRIX = [[1, NAN, 1], [0, 0.5, 0]]


def read(tmp_path, text, by=""):
    path = tmp_path / "answers.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_answers(path, by)


@pytest.mark.parametrize(
    "text",
    [
        WIDE,
        WIDE.replace(",", ";"),
        WIDE.replace(",", "\t"),
        WIDE.replace("\n", "\r\n"),
        "\ufeff" + WIDE,
        WIDE.encode("utf-16"),
        gzip.compress(WIDE.encode()),
        WIDE.replace("q2,,", '"q2",NA,').replace("question,", ","),
        WIDE.rstrip("\n") + "\n\n",
        "model,question,correct\ngpt,q1,1\nllama,q1,0\nllama,q2,.5\ngpt,q3,True\ngpt,q2,\nllama,q3,no\ngpt,q1,1\n",
    ],
)
def test_forms(tmp_path, text):
    found = read(tmp_path, text)
    assert (found.questions, found.models) == (["q1", "q2", "q3"], ["gpt", "llama"])
    np.testing.assert_array_equal(found.matrix, np.array(MATRIX, np.float32))


def test_frames():
    frame = pandas.DataFrame({"gpt": MATRIX[0], "llama": MATRIX[1]}, index=pandas.Index(["q1", "q2", "q3"], name="id"))
    named = frame.reset_index()
    arrow = pyarrow.Table.from_pandas(named)
    flags = named.assign(llama=[0, 0.5, 0]).astype({"gpt": "Float64"})
    text = named.astype({"gpt": object})
    for each in (frame, named, polars.from_pandas(named), arrow, flags, text, named.convert_dtypes()):
        found = read_answers(each)
        assert (found.questions, found.models) == (["q1", "q2", "q3"], ["gpt", "llama"])
        np.testing.assert_array_equal(found.matrix, np.array(MATRIX, np.float32))
    assert read_answers(pandas.DataFrame({"id": [1, 2], "m": [True, False]})).matrix.tolist() == [[1, 0]]
    with pytest.raises(DataError, match="the name of a question is empty"):
        read_answers(pandas.DataFrame({"id": ["a", None], "m": [1, 0]}))
    counted = read_answers(frame.reset_index(drop=True))
    assert (counted.questions, counted.models) == (["0", "1", "2"], ["gpt", "llama"])


def test_columns_of_words_are_left_out_by_name(tmp_path):
    found = read(tmp_path, "id,subject,gpt,llama,text\nq1,maths,1,0,What?\nq2,,0,yes,\nq3,law,1,1,Why?\n")
    assert (found.models, found.left_out) == (["gpt", "llama"], ["subject", "text"])
    assert found.matrix.tolist() == [[1, 0, 1], [0, 1, 1]]
    with pytest.raises(DataError, match=r"csv:3:2: column 'text' begins with words, but here is '1'"):
        read(tmp_path, "id,text,gpt\nq1,Why?,1\nq2,1,0\n")


def test_groups(tmp_path):
    found = read(tmp_path, "id,subject,gpt,llama\nq1,maths,1,0\nq2,law,0,yes\nq3,maths,1,1\n", "subject")
    assert (found.models, found.groups) == (["gpt", "llama"], ["maths", "law", "maths"])
    assert found.inside("maths").tolist() == [True, False, True]
    assert found.matrix.tolist() == [[1, 0, 1], [0, 1, 1]]
    long = read(tmp_path, "id,model,subject,score\nq1,a,x,1\nq2,a,y,0\nq1,b,x,0\n", "subject")
    assert long.groups == ["x", "y"] and long.models == ["a", "b"]
    with pytest.raises(UsageError, match="no group is 'math'; did you mean 'maths'"):
        found.inside("math")
    with pytest.raises(DataError, match="no column is 'topic'"):
        read(tmp_path, WIDE, "topic")
    with pytest.raises(DataError, match="csv:4:3: question 'q1': got both 'x' and 'z', wanted one group"):
        read(tmp_path, "id,model,subject,score\nq1,a,x,1\nq2,a,y,0\nq1,b,z,0\n", "subject")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "wanted one of questions and one per model"),
        ("question\nq1\nq2\n", "got 1 column"),
        ("question,gpt\n", "got 0 questions and 1 model"),
        ("question,gpt\nq1,1\n", "got 1 question and 1 model"),
        ("question,gpt\nq1,\nq2,\n", "got no answers"),
        ("question,gpt\nq1,1\nq1,0\n", "answers.csv:3: got two rows of the question 'q1'"),
        ("question,gpt,gpt\nq1,1,1\nq2,1,1\n", "answers.csv:1:3: got two columns of the name 'gpt'"),
        ("question,gpt,\nq1,1,1\nq2,1,1\n", "answers.csv:1:3: the name of the model is empty"),
        ("question,gpt\nq1,1\nq2,1,0\n", "answers.csv:3: got 3 columns, wanted 2"),
        ("question,gpt\nq1,1\n,1\n", "answers.csv:3:1: the name of the question is empty"),
        ("question,gpt,llama\nq1,1,1\nq2,0,5\n", "answers.csv:3:3: got '5', wanted a number from 0 to 1"),
        ("question,gpt,llama\nq1,1,1\nq2,0,-1\n", "answers.csv:3:3: got '-1'"),
        ("question,gpt\nq1,A\nq2,B\n", "answers.csv:2:2: got 'A'"),
        ("question,gpt\nq1,inf\nq2,1\n", "answers.csv:2:2: got 'inf'"),
        (
            "model,q1,q2\ngpt,1,0\nllama,1,1\n",
            "answers.csv:1:1: the first column is 'model', wanted a row per question",
        ),
        ("id,model,score\nq1,a,1\nq1,a,0\n", "answers.csv:3:3: question 'q1', model 'a': got both 1 and 0"),
        ("id,model,score\nq1,,1\n", "answers.csv:2:2: the name of the model is empty"),
        ("question,gpt\nq1,1\ncaf\u00e9,0\n".encode("latin-1"), "answers.csv:3: got bytes that are not UTF-8"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, text, said):
    with pytest.raises(DataError) as error:
        read(tmp_path, text)
    assert said in str(error.value)


def test_frames_with_wrong_numbers():
    with pytest.raises(DataError, match="row 'q2', column 'gpt': got 3, wanted a number from 0 to 1"):
        read_answers(pandas.DataFrame({"question": ["q1", "q2"], "gpt": [1, 3]}))
    with pytest.raises(DataError, match="X: got two rows of the question 'q1'"):
        read_answers(pandas.DataFrame({"question": ["q1", "q1"], "gpt": [1, 0]}))
