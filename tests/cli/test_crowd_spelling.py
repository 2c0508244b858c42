"""Names that differ only in how they are written, and decimal commas, are told wherever labels are read."""

import pytest

from hutch.core.errors import DataError
from hutch.crowd.read.labels import read_labels


def told(hutch, *arguments):
    """What a command says on standard error, which must end well."""
    said = hutch(*arguments)
    assert said.code == 0, said.err
    return said.err


ROWS = [(person, f"t{k}", ("good", "bad")[(k + k // 5 * shift) % 2]) for k in range(12)
        for shift, person in enumerate(("ann", "bob", "cy"))]  # fmt: skip


@pytest.mark.parametrize(("other", "role", "names"), [
    ("Ann", 0, "the workers 'ann' and 'Ann' differ only in how they are written; each counts on its own"),
    ("ann ", 0, "the workers 'ann' and 'ann ' differ only in how they are written; each counts on its own"),
    (" t0", 1, "the tasks 't0' and ' t0' differ only in how they are written; each counts on its own"),
    ("Anna", 0, None),
    ("T0", 1, None),  # ids of tasks may differ in case alone
])  # fmt: skip
@pytest.mark.parametrize("command", ["crowd", "judges"])
def test_workers_and_tasks_that_differ_only_in_spelling_are_told(tmp_path, hutch, command, other, role, names):
    rows = [*ROWS, ("dee", "t3", "good")]
    rows[-1] = tuple(other if place == role else cell for place, cell in enumerate(rows[-1]))
    path = tmp_path / "labels.csv"
    path.write_text("worker,task,label\n" + "".join(",".join(row) + "\n" for row in rows))
    said = told(hutch, command, path, *(["-p", tmp_path / "p"] if command == "crowd" else []))
    assert names in said if names else "differ only" not in said


def test_further_pairs_are_counted_and_numbers_of_a_frame_are_alike(tmp_path, hutch):
    rows = [(str(k % 3 + 1) + ".0" * (k % 2), f"t{k // 6}", "good") for k in range(24)]
    path = tmp_path / "labels.csv"
    path.write_text("worker,task,label\n" + "".join(",".join(row) + "\n" for row in rows))
    said = told(hutch, "crowd", path, "-p", tmp_path / "p")
    assert "the workers '1' and '1.0' differ only in how they are written (so do 2 more);" in said


@pytest.mark.parametrize("command", ["crowd", "judges"])
def test_decimal_commas_are_told_as_they_count_as_words(tmp_path, hutch, command):
    lines = ["item;ann;bob;cy"] + [f"i{k};{k % 3 + 1},5;{k % 4 + 1};{k % 3 + 1},5" for k in range(24)]
    path = tmp_path / "grades.csv"
    path.write_text("\n".join(lines) + "\n")
    columns = "task=item,label=ann,label=bob,label=cy"
    said = told(hutch, command, path, "--columns", columns)
    assert "the class '1,5' is a number with a decimal comma, but counts as a word: write it with a point" in said
    path.write_text("\n".join(lines).replace(",", ".") + "\n")
    assert "decimal comma" not in told(hutch, command, path, "--columns", columns)


def test_measurements_with_decimal_commas_are_refused_with_what_to_do(tmp_path, hutch):
    path = tmp_path / "grades.csv"
    path.write_text("worker;task;label\nann;t1;1,5\nbob;t1;2\n")
    said = hutch("crowd", path, "--model", "numbers")
    assert said.code == 1 and "grades.csv: got the label '1,5', wanted decimal points" in said.err


def test_two_columns_of_one_name_are_not_one_worker(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("item,ann,ann,cy\n1,good,bad,bad\n2,bad,bad,good\n3,good,bad,bad\n")
    with pytest.raises(DataError, match=r"wide.csv:1:1: column 'ann' appears twice, wanted a name of its own for each"):
        read_labels(path)
    path.write_text("item,ann,ann 2,cy\n1,good,bad,bad\n2,bad,bad,good\n3,good,bad,bad\n")
    assert read_labels(path).worker_names == ["ann", "ann 2", "cy"]


def test_merged_cells_are_refused_with_what_to_do(tmp_path):
    path = tmp_path / "merged.csv"
    path.write_text("task,worker,label\nt1,ann,good\n,bob,bad\n,cy,good\n")
    with pytest.raises(
        DataError, match=r"merged.csv:3:1: the task is empty; if cells of a spreadsheet are merged, rep"
    ):
        read_labels(path)


@pytest.mark.parametrize("above", [",Annotators,,,", "Project of June,,,,", "Project of June,,,,\n,,,,"])
def test_a_title_above_the_header_is_refused_with_what_to_do(tmp_path, above):
    path, table = (
        tmp_path / "titled.csv",
        "item,ann,bob,cy,dee\n1,good,good,bad,bad\n2,bad,bad,bad,good\n3,good,,bad,bad\n",
    )
    path.write_text(f"{above}\n{table}")
    with pytest.raises(
        DataError, match=r"titled.csv:1:1: got a row above the header \(.*, wanted the header first: item, "
    ):
        read_labels(path)
    path.write_text(table)
    assert read_labels(path).worker_names == ["ann", "bob", "cy", "dee"]


def test_an_empty_cell_in_a_first_row_without_a_header_is_no_title(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text("yes,,no,no\nno,no,no,yes\nyes,no,yes,yes\nno,yes,yes,yes\n")
    with pytest.raises(DataError, match="--columns label=1,label=2,label=3,label=4"):
        read_labels(path)


def test_a_score_that_stands_once_is_no_mistake(tmp_path, hutch):
    path = tmp_path / "scores.tsv"
    path.write_text(
        "".join(f"{who}\tt{k}\t{50 + 41 * (k == 7) + (k + j) % 3}\n" for j, who in enumerate("abcd") for k in range(40))
    )
    scores = told(hutch, "judges", path, "--reference", "a")
    assert "stands once" not in scores
    assert "the class '91' stands once; is it a mistake?" in told(
        hutch, "judges", path, "--reference", "a", "--no-scores"
    )


def test_each_question_of_a_rubric_is_looked_at(tmp_path, hutch):
    rows = [(person, f"t{k}", question, ("good", "bad")[k % 2])
            for k in range(40) for person in ("ann", "bob", "cy") for question in ("safe", "style")]  # fmt: skip
    rows[-1] = ("Cy", "t39", "style", "Bad")
    rows[-3] = ("bob", "t39", "style", "goood")
    path = tmp_path / "rubric.csv"
    path.write_text("rater,item,criterion,score\n" + "".join(",".join(row) + "\n" for row in rows))
    said = told(hutch, "crowd", path, "-p", tmp_path / "p")
    assert f"{path}: the workers 'cy' and 'Cy' differ only in how they are written;" in said
    assert f"{path}: style: the classes 'Bad' and 'bad' differ only in how they are written; are they" in said
    assert f"{path}: style: the class 'goood' stands once; is it 'good'?" in said
    assert said.count("differ only") == 2 and "safe: the class" not in said
