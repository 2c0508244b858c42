"""Forms and surveys as Google, Microsoft and Qualtrics export them: a row per person."""

import pytest

from hutch.core.errors import DataError
from hutch.crowd.read.labels import read_labels

ANSWERS = [("Yes", "No", "Yes"), ("Yes", "No", ""), ("No", "No", "Yes"), ("Yes", "Yes", "Yes")]
TASKS = "Text 1,Text 2,Text 3"


def rows(head, *begins):
    return "\n".join([head, *(",".join([begin, *said]) for begin, said in zip(begins, ANSWERS, strict=True))]) + "\n"


GOOGLE = rows(f"Timestamp,Email Address,{TASKS}", *(f"1/5/2026 10:0{k}:00,p{k}@x.org" for k in range(4)))
ANONYMOUS = rows(f"Timestamp,{TASKS}", *(f"1/5/2026 10:0{k}:00" for k in range(4)))
MICROSOFT = rows(
    f"ID,Start time,Completion time,Email,Name,{TASKS}",
    *(f"{k},1/5/26 10:0{k},1/5/26 10:1{k},anonymous," for k in "1234"),
)
QUALTRICS = rows("StartDate,ResponseId,Q1,Q2,Q3", *(f"2026-01-05 10:0{k}:00,R_{k}" for k in range(4))).replace(
    "Q3\n",
    'Q3\nStart Date,Response ID,Is it? - 1,Is it? - 2,Is it? - 3\n"{""ImportId"":""startDate""}",'
    '"{""ImportId"":""_recordId""}","{""ImportId"":""QID1""}","{""ImportId"":""QID2""}","{""ImportId"":""QID3""}"\n',
)


@pytest.mark.parametrize(
    ("text", "tool", "worker"),
    [
        (GOOGLE, "Google Forms", "p0@x.org"),
        (ANONYMOUS, "Google Forms", "1/5/2026 10:00:00"),
        (MICROSOFT, "Microsoft Forms", "1"),
        (MICROSOFT.replace("anonymous,", "p@x,P"), "Microsoft Forms", "1"),
        (QUALTRICS, "Qualtrics", "R_0"),
    ],
)
def test_a_row_is_what_one_person_said_of_all_tasks(tmp_path, text, tool, worker):
    path = tmp_path / "form.csv"
    path.write_text(text)
    labels = read_labels(path)
    assert labels.form.startswith(f"{tool}: a row per worker ") and ", 3 tasks in columns " in labels.form
    people = [labels.worker_names[code] for code in sorted({*labels.workers.tolist()})]
    assert people[0] == worker and len(people) == 4
    assert len(labels) == 11 and labels.classes == ["No", "Yes"] and labels.items == 3
    first = labels.labels[labels.label_items == 0]
    assert sorted(labels.classes[k] for k in first) == ["No", "Yes", "Yes", "Yes"]


def test_rows_below_the_header_of_qualtrics_are_counted(tmp_path):
    path = tmp_path / "form.csv"
    path.write_text(QUALTRICS)
    assert read_labels(path).problems.total == 2


def test_answers_of_several_kinds_are_asked_about(tmp_path):
    text = GOOGLE.splitlines()
    more = ["How hard 1,How hard 2", "easy,hard", "hard,hard", "easy,easy", "hard,easy"]
    path = tmp_path / "form.csv"
    path.write_text("\n".join(f"{row},{extra}" for row, extra in zip(text, more, strict=True)))
    with pytest.raises(
        DataError, match="got answers of several kinds, wanted the columns of one: --columns 'worker=Email"
    ):
        read_labels(path)


def test_other_tables_with_a_time_are_no_forms(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("Timestamp,id,ann,bob\nlater,1,Yes,No\nnow,2,No,No\nnow,3,Yes,Yes\n")
    assert read_labels(path).worker_names == ["ann", "bob"]


def test_a_form_that_is_filled_in_for_each_label_is_a_table_of_labels(tmp_path):
    path = tmp_path / "long.csv"
    rows = [f"1/5/2026 10:{k:02d}:00,p{k % 3}@x.org,item {k // 3},{'Yes' if k % 2 else 'No'}" for k in range(12)]
    path.write_text("\n".join(["Timestamp,Email Address,Item,Label", *rows]))
    labels = read_labels(path)
    assert len(labels.worker_names) == 3 and labels.items == 4
