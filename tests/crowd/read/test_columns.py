"""Which column holds what: by values where no known name tells."""

import numpy as np
import pytest

from hutch.core.errors import DataError, UsageError
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.read.labels import read_gold, read_labels, read_questions

PEOPLE = ("ann", "bob", "cy")


def triples(labels):
    return {
        (labels.worker_names[w], labels.item_names[int(i)], labels.classes[k])
        for w, i, k in zip(labels.workers, labels.label_items, labels.labels, strict=True)
    }


def answer(worker, item, classes=("neg", "neu", "pos")):
    """Three of four answers are that of the item."""
    return classes[(item + (worker == item % 4)) % len(classes)]


def written(path, *rows, separator=","):
    path.write_text("".join(separator.join(map(str, row)) + "\n" for row in rows))
    return path


LONG = [(PEOPLE[w], f"d{i}", answer(w, i)) for i in range(20) for w in range(3)]
WIDE = [[answer(w, i) for w in range(3)] for i in range(40)]


@pytest.mark.parametrize("header", ["reviewer,paper,score", "who,thing,verdict", "a,b,c", "velvet,ladder,kettle"])
def test_a_first_row_that_never_comes_again_is_a_header(tmp_path, header):
    labels = read_labels(written(tmp_path / "labels.csv", header.split(","), *LONG))
    assert triples(labels) == set(LONG) and labels.items == 20


def test_a_first_row_that_comes_again_is_none(tmp_path):
    assert triples(read_labels(written(tmp_path / "labels.csv", *LONG))) == set(LONG)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (2, 0, 1)])
def test_columns_of_unknown_names_may_stand_in_any_order(tmp_path, order):
    names = ("velvet", "ladder", "kettle")
    rows = [[row[place] for place in order] for row in [names, *LONG]]
    assert triples(read_labels(written(tmp_path / "labels.csv", *rows))) == set(LONG)


@pytest.mark.parametrize("ids", [None, "velvet", "", "example_id"])
def test_columns_that_share_their_values_are_raters(tmp_path, ids):
    names = ["judge_passed", "human_passed", "saddle"]
    rows = [[*([f"q{i}"] if ids is not None else []), *row] for i, row in enumerate(WIDE)]
    header = [*([ids] if ids is not None else []), *names]
    labels = read_labels(written(tmp_path / "labels.csv", header, *rows))
    item = (lambda i: str(i + 1)) if ids is None else "q{}".format
    assert triples(labels) == {(names[w], item(i), a) for i, row in enumerate(WIDE) for w, a in enumerate(row)}
    told = "no ids" if ids is None else "ids in column 1" if not ids else f"ids in column {ids!r}"
    assert labels.form == f"3 raters in columns judge_passed, human_passed, saddle, 40 items in rows; {told}"


def test_an_index_without_a_name_is_the_ids_of_few_rows(tmp_path):
    rows = [["", "annotator_1", "annotator_2"], [0, 1, ""], [1, 0, 1], [2, 2, 2]]
    assert triples(read_labels(written(tmp_path / "labels.csv", *rows))) == {
        ("annotator_1", "0", "1"), ("annotator_1", "1", "0"), ("annotator_2", "1", "1"), ("annotator_1", "2", "2"),
        ("annotator_2", "2", "2"),
    }  # fmt: skip


def of_questions(path, **options):
    return {question: triples(labels) for question, labels in read_questions(path, **options).items()}


@pytest.mark.parametrize("name", ["question", "criterion", "velvet"])
def test_a_column_that_separates_repeated_answers_is_the_question(tmp_path, name):
    rows = [(w, t, q, k if q == "tone" else k[:2]) for w, t, k in LONG for q in ("tone", "safe")]
    path = written(tmp_path / "labels.csv", ["worker", "task", name, "label"], *rows)
    assert of_questions(path) == {
        q: {(w, t, k) for w, t, other, k in rows if other == q} for q in ("tone", "safe")
    }  # fmt: skip
    with pytest.raises(DataError, match=r"answers to 2 questions \(tone, safe\), wanted one"):
        read_labels(path)


def test_repeated_answers_that_agree_are_runs(tmp_path):
    rows = [(w, t, run, k) for w, t, k in LONG for run in ("first", "second")]
    for name in ("run", "velvet"):
        path = written(tmp_path / "labels.csv", ["worker", "task", name, "label"], *rows)
        assert of_questions(path) == {"": set(LONG)}


def test_a_wide_table_may_have_a_row_per_question(tmp_path):
    rows = [["", "velvet", *PEOPLE]]
    rows += [[f"t{i}", q, *(answer(w, i + 7 * (q == "b")) for w in range(3))] for i in range(30) for q in "ab"]
    found = of_questions(written(tmp_path / "labels.csv", *rows))
    assert found == {
        q: {(PEOPLE[w], f"t{i}", answer(w, i + 7 * (q == "b"))) for i in range(30) for w in range(3)} for q in "ab"
    }


RUBRIC = [["rater", "item", "helpful", "honest", "comment"]]
RUBRIC += [[w, t, k, answer(len(w), int(t[1:]) + 5), "fine"] for w, t, k in LONG]


def test_several_labels_beside_a_worker_are_questions(tmp_path):
    path = written(tmp_path / "labels.csv", *RUBRIC)
    found = of_questions(path, columns="worker=rater,task=item,label=h*")
    assert found["helpful"] == set(LONG)
    assert found["honest"] == {(row[0], row[1], row[3]) for row in RUBRIC[1:]}
    with pytest.raises(DataError) as error:
        read_questions(path)
    ways = [line.split("--columns ")[1] for line in str(error.value).splitlines()[1:]]
    assert [len(of_questions(path, columns=way)) for way in ways] == [1, 1, 2]


def test_a_column_for_each_choice(tmp_path):
    header = ["instance_id", "user_id", "mood.good", "mood.bad"]
    rows = [["r1", "ann", "true", ""], ["r1", "bob", "", "true"], ["r2", "ann", "", "true"], ["r2", "bob", "", ""]]
    path, wanted = written(tmp_path / "p.csv", header, *rows), {("ann", "r1", "good"), ("bob", "r1", "bad"),
                                                                ("ann", "r2", "bad")}  # fmt: skip
    for columns in (None, "worker=user_id,task=instance_id,label=mood.*"):
        labels = read_labels(path, columns=columns)
        assert triples(labels) == wanted and labels.problems.found == {"without a label": (1, "line 5")}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("worker=ann,task=ann,label=bob", "column 'ann' is named for worker and task, wanted one role"),
        ("label=ann,label=bob,gold=gold", "no column 'gold' for the gold"),
        ("worker=ann,label=bob", "no column is the task|names no task column"),
        ("unsure=perhaps", "no label is 'perhaps'"),
    ],
)
def test_roles_that_cannot_be(tmp_path, columns, words):
    with pytest.raises(DataError, match=words):
        read_labels(written(tmp_path / "labels.csv", PEOPLE, *WIDE), columns=columns)


def test_a_role_that_is_named_is_taken(tmp_path):
    path = written(tmp_path / "labels.csv", PEOPLE, *WIDE)  # by its values a wide table
    labels = read_labels(path, columns="worker=ann,task=bob,label=cy")
    assert set(labels.worker_names) == set(labels.item_names) == {"neg", "neu", "pos"}
    assert set(read_labels(path, columns="label=ann,label=cy").worker_names) == {"ann", "cy"}
    with pytest.raises(UsageError, match="needs --pairs"):
        read_labels(path, columns="weight=ann")


def test_rows_without_a_header_may_be_read_in_two_ways(tmp_path):
    path = written(tmp_path / "labels.csv", *WIDE)
    with pytest.raises(DataError) as error:
        read_labels(path)
    rows, wide = (line.split("--columns ")[1] for line in str(error.value).splitlines()[1:])
    assert (rows, wide) == ("worker=1,task=2,label=3", "label=1,label=2,label=3")
    assert len(read_labels(path, columns=wide)) == 120 and read_labels(path, columns=rows).items == 3
    path = written(tmp_path / "labels.csv", *([*row, "neu"] for row in WIDE))
    with pytest.raises(DataError, match="got 4 fields.*--columns label=1,label=2,label=3,label=4"):
        read_labels(path)


def test_labels_that_mean_nothing_are_left_out(tmp_path):
    rows = [("worker", "task", "label", "doubt"), ("ann", 1, "yes", ""), ("bob", 1, "?", ""), ("cy", 1, "no", "x")]
    path = written(tmp_path / "labels.csv", *rows)
    assert triples(read_labels(path, columns="unsure=?")) == {("ann", "1", "yes"), ("cy", "1", "no")}
    labels = read_labels(path, columns="unsure=?,unsure=doubt")
    assert triples(labels) == {("ann", "1", "yes")}
    assert labels.problems.found == {"not sure": (1, "line 4"), "of '?', which is no answer": (1, "line 3")}


def test_rows_are_taken_in_the_order_of_their_time(tmp_path):
    rows = [("worker", "task", "label", "when"), ("ann", "t2", "a", "2026-01-03"), ("bob", "t1", "b", "2026-01-01")]
    path = written(tmp_path / "labels.csv", *rows)
    assert list(read_labels(path, columns="time=when").item_names) == ["t1", "t2"]
    assert list(read_labels(path).item_names) == ["t2", "t1"]
    with pytest.raises(DataError, match=r"labels.csv:2:1: time: got 'ann', wanted a number, or a date"):
        read_labels(path, columns="time=worker,task=task,label=label")


def test_none_is_no_label(tmp_path):
    labels = read_labels(
        written(tmp_path / "labels.csv", ("id", "r1", "r2"), (0, 1, "None"), (1, 1, 1), (2, 0, "None"))
    )
    assert len(labels) == 4 and labels.classes == ["0", "1"]
    path = written(tmp_path / "labels.csv", ("worker", "task", "label"), ("a", 1, "None"), ("b", 1, "For"))
    assert "--classes names it if it is a class" in read_labels(path).notices[-1]
    assert read_labels(path, classes=["None", "For"]).classes == ["None", "For"]


def test_columns_that_are_not_read_are_named(tmp_path):
    rows = [("topic", "r1", "r2", "note"), *((f"k{i // 2}", i % 2, i % 2, "fine") for i in range(20))]
    labels = read_labels(written(tmp_path / "labels.csv", *rows))
    assert labels.form == "2 raters in columns r1, r2, 20 items in rows; no ids; not read: topic, note"


def test_small_tables_lose_no_rater(tmp_path):
    rows = [("item", "w0", "w1", "w2"), ("a", 4, 4, 4), ("b", 3, 3, 3), ("c", 4, 5, 4), ("d", 2, 2, 2)]
    assert set(read_labels(written(tmp_path / "labels.csv", *rows)).worker_names) == {"w0", "w1", "w2"}
    rows = [("velvet", "w0", "w1"), (1, 2, 2), (2, 2, 1), (3, 3, 1), (4, 4, 4)]
    with pytest.raises(DataError, match="is 'velvet' a worker, or the ids"):
        read_labels(written(tmp_path / "labels.csv", *rows))
    with pytest.raises(DataError, match="no worker column, got velvet, w0, w1; .*--columns worker=NAME,task=NAME"):
        read_labels(written(tmp_path / "labels.csv", rows[0], (1, 2, 3), (2, 1, 4)))


def test_names_of_workers_may_be_those_of_raters(tmp_path):
    rows = [("judge", "human"), *((answer(0, i), answer(1, i)) for i in range(30))]
    assert read_labels(written(tmp_path / "labels.csv", *rows)).worker_names == ["judge", "human"]
    numbers = [(w, i, (w + i) % 5 + 1) for i in range(1, 4) for w in (1, 2)]
    labels = read_labels(written(tmp_path / "labels.csv", ("worker", "item", "score"), *numbers))
    assert (labels.worker_names, labels.items, len(labels)) == (["1", "2"], 3, 6)


def test_a_header_alone_is_no_label(tmp_path):
    with pytest.raises(DataError, match="names no worker column, got coder, unit, code"):
        read_labels(written(tmp_path / "labels.csv", ["coder", "unit", "code"]))
    assert read_labels(written(tmp_path / "labels.csv", ["worker", "task", "label"])).items == 0
    assert read_labels(written(tmp_path / "labels.csv")).form == "an empty file"


@pytest.mark.parametrize(
    "header", ["reviewer,answer_id,verdict", "rater_name,ticketId,grade", "coder,message-no,choice"]
)
def test_one_answer_to_each_item_is_read_by_the_usual_names(tmp_path, header):
    rows = [("ines" if i % 2 else "omar", f"a{i}", ("pass", "fail")[i % 3 == 0]) for i in range(60)]
    path = written(tmp_path / "people.csv", header.split(","), *rows)
    assert triples(read_labels(path)) == set(rows)


def test_a_column_of_ids_that_is_a_workers_is_no_task(tmp_path):
    rows = [(f"u{i % 5}", ("yes", "no")[i % 2], f"d{i // 5}") for i in range(60)]
    path = written(tmp_path / "l.csv", ("person_id", "verdict", "paper_id"), *rows)
    assert {item for _, item, _ in triples(read_labels(path))} == {f"d{i}" for i in range(12)}


@pytest.mark.parametrize("header", ["ticket,category", "paper,decision", "which,what"])
def test_true_classes_may_have_a_header_of_any_words(tmp_path, header):
    rows = [(f"T-{1000 + i}", ("billing", "bug")[i % 2]) for i in range(30)]
    path = written(tmp_path / "truth.csv", header.split(","), *rows)
    assert read_gold(path) == dict(rows)


def test_true_classes_without_a_header_lose_no_row(tmp_path):
    rows = [(f"T-{1000 + i}", ("billing", "bug", "refund")[i % 3 if i else 2]) for i in range(30)]
    assert read_gold(written(tmp_path / "truth.csv", *rows)) == dict(rows)
    rows[0] = ("T-1000", "rare")
    assert read_gold(written(tmp_path / "truth.csv", *rows)) == dict(rows)


def form(column, people=6, tasks=8):
    """A survey: a row per respondent, a column per picture."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, tasks)
    said = np.where(rng.random((people, tasks)) < 0.8, truth, rng.integers(0, 3, (people, tasks)))
    rows = [f"2026-01-0{w + 1},u{w}@x.org," + ",".join("abc"[y] for y in said[w]) for w in range(people)]
    return f"Timestamp,{column},{','.join(f'Picture {t}' for t in range(tasks))}\n" + "\n".join(rows) + "\n", said


@pytest.mark.parametrize("column", ["Email Address", "Rater", "respondent", "Participant ID"])
def test_a_form_has_a_row_per_worker_and_a_column_per_task(tmp_path, column):
    text, said = form(column)
    path = tmp_path / "form.csv"
    path.write_text(text)
    labels = read_labels(path)
    assert labels.item_names[:2] == ["Picture 0", "Picture 1"] and labels.worker_names == [
        f"u{w}@x.org" for w in range(6)
    ]
    order = np.lexsort((labels.workers, labels.label_items))
    assert ["abc".index(labels.classes[k]) for k in labels.labels[order]] == said.T.ravel().tolist()
    assert labels.form.startswith(f"a row per worker {column!r}, 8 tasks in columns Picture 0, ")


def test_a_form_whose_rows_may_be_tasks_is_asked_about(tmp_path):
    path = tmp_path / "form.csv"
    path.write_text(form("Contact")[0])
    with pytest.raises(DataError, match="is 'Contact' who answered, or what was judged?") as caught:
        read_labels(path)
    assert "--columns 'worker=Contact,label=Picture 0" in str(caught.value)
    named = read_labels(path, columns=ColumnNames.of("worker=Contact,label=Picture *"))
    assert len(named.worker_names) == 6 and named.items == 8
    other = read_labels(path, columns=ColumnNames.of("task=Contact,label=Picture *"))
    assert len(other.worker_names) == 8 and other.items == 6


def test_more_raters_than_items_are_doubted(tmp_path):
    path = tmp_path / "form.csv"
    text, _ = form("Rater", people=3, tasks=9)
    path.write_text("\n".join(",".join(line.split(",")[2:]) for line in text.splitlines()))
    assert any("if each row is a person's, add a column of their names" in line for line in read_labels(path).notices)
