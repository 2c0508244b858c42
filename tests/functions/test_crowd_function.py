"""`hutch.crowd` in Python: frames as people have them in, frames that go with them out."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hutch
from hutch.cli.dispatch import run
from hutch.core.errors import DataError, UsageError

pd = pytest.importorskip("pandas")

TRUTH = {task: ("cat", "dog")[task % 3 == 0] for task in range(60)}


def votes(seed: int = 0) -> Any:
    """Labels of four raters, one of whom guesses, under headers of real life."""
    random = np.random.default_rng(seed)
    rows = [
        {"annotator": name, "image_id": 100 + task, "answer": true if random.random() < right else "cat"}
        for name, right in (("ann", 0.95), ("bob", 0.9), ("cy", 0.85), ("eve", 0.1))
        for task, true in TRUTH.items()
    ]
    return pd.DataFrame(rows)


def test_a_frame_with_headers_of_real_life_gives_frames_that_join_it() -> None:
    frame = votes()
    found = hutch.crowd(frame)
    tasks = found.to_frame()
    joined = frame.join(tasks[["confidence"]], on="image_id")
    assert joined["confidence"].notna().all()
    assert (tasks.label == [TRUTH[k - 100] for k in tasks.index]).mean() > 0.9
    workers = found.workers()
    assert set(workers.index) == {"ann", "bob", "cy", "eve"}
    assert workers.accuracy.idxmin() == "eve"
    assert list(found.next(3).columns) == ["confidence", "ratings", "gain", "labels_needed"]


def test_it_says_what_the_command_says(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    votes().to_csv(path, index=False)
    assert run(["crowd", str(path), "--quiet"]) == 0
    said = capfd.readouterr().out
    before, command, _ = said.partition("\nNext: ")
    assert repr(hutch.crowd(path)) == before == repr(hutch.crowd(votes()))
    assert command and "Majority voting is right on an estimated" in " ".join(before.split())
    found = hutch.crowd(votes())
    assert "image_id" in found._repr_html_()
    assert found.verdict and found.verdict[0].split()[0] in repr(found)


def test_a_column_per_rater_with_the_tasks_in_the_index() -> None:
    wide = votes().pivot(index="image_id", columns="annotator", values="answer")
    found = hutch.crowd(wide)
    assert list(found.to_frame().index) == list(wide.index)
    assert set(found.workers().index) == {"ann", "bob", "cy", "eve"}


def test_missing_answers_are_left_out_and_said() -> None:
    frame = votes()
    frame.loc[[3, 5], "answer"] = np.nan
    with pytest.warns(UserWarning, match="X: left out: 2 without a label"):
        found = hutch.crowd(frame)
    assert found.summary["labels"] == len(frame) - 2


def test_an_ordered_category_orders_the_classes() -> None:
    frame = votes()
    frame["answer"] = pd.Categorical(frame.answer, ["dog", "cat", "cow"], ordered=True)
    found = hutch.crowd(frame)
    assert found.aggregate.labels.classes == ["dog", "cat", "cow"]
    assert found.summary["model"] == "ordinal"
    assert "median" in found.to_frame()


@pytest.mark.parametrize("kind", ["mapping", "frame", "file"])
def test_gold_and_truth_come_as_mapping_frame_or_file(kind: str, tmp_path: Path) -> None:
    some = {100 + task: label for task, label in TRUTH.items() if task < 10}
    frame = pd.DataFrame({"image_id": list(some), "answer": list(some.values())})
    frame.to_csv(tmp_path / "gold.csv", index=False)
    gold = {"mapping": some, "frame": frame, "file": tmp_path / "gold.csv"}[kind]
    found = hutch.crowd(votes(), gold=gold)
    assert found.summary["gold"] == 10
    assert found.score(gold)["accuracy"] == 1


def test_a_reference_makes_the_others_judges() -> None:
    assert hutch.crowd(votes(), reference="ann").summary["model"] == "mixed"
    kinds = votes().assign(kind=lambda rows: np.where(rows.annotator == "ann", "person", "model"))
    assert hutch.crowd(kinds).summary["model"] == "mixed"


def test_frames_of_polars_and_arrow_give_their_own() -> None:
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    ours = hutch.crowd(votes()).to_frame().reset_index()
    theirs = hutch.crowd(polars.from_pandas(votes())).to_frame()
    assert isinstance(theirs, polars.DataFrame)
    assert theirs["task"].to_list() == ours.task.to_list()
    table = hutch.crowd(pyarrow.Table.from_pandas(votes())).to_frame()
    assert table.column("q:cat").to_pylist() == theirs["q:cat"].to_list() == ours["q:cat"].tolist()


def test_a_frame_that_is_not_understood_is_refused_by_name() -> None:
    with pytest.raises(DataError, match="X:1"):
        hutch.crowd(pd.DataFrame({"a": ["x", "y"], "b": ["p", "q"]}))
    with pytest.raises(UsageError, match="rho: parameters of a model"):
        hutch.crowd(votes(), rho=0.2)


def test_the_package_is_still_a_package_and_shows_the_signature_of_the_function() -> None:
    assert list(inspect.signature(hutch.crowd).parameters)[:2] == ["labels", "gold"]
    from hutch.crowd.models import two_level

    assert hutch.crowd.models.two_level is two_level


def test_the_plot_names_every_judged_worker() -> None:
    pytest.importorskip("matplotlib")
    figure = hutch.crowd(votes()).plot()
    assert {text.get_text() for text in figure.axes[0].get_yticklabels()} == {"ann", "bob", "cy", "eve"}


def test_a_label_of_doubt_is_no_class_unless_it_is_named() -> None:
    frame = votes()
    frame.loc[:9, "answer"], frame.loc[70:75, "answer"] = "not sure", "skip"
    with pytest.warns(UserWarning, match="left out: (10 of 'not sure'|6 of 'skip')"):
        found = hutch.crowd(frame, unsure=["skip"])
    assert found.aggregate.labels.classes == ["cat", "dog"]
    assert "10 labels of 'not sure' and 6 of 'skip' are taken as" in found.text
    with pytest.raises(DataError, match="got the label 'skip', wanted one of"):
        hutch.crowd(frame, classes=["cat", "dog"])
    named = hutch.crowd(frame, classes=["cat", "dog", "not sure", "skip"])
    assert named.aggregate.labels.classes == ["cat", "dog", "not sure", "skip"] and "unsure" not in named.summary


def test_labels_keep_their_type_whatever_else_has_the_same_values() -> None:
    frame = votes().assign(answer=lambda rows: np.where(rows.answer == "cat", 101, 102))  # among the ids of images
    frame["image_id"] = frame.image_id.astype(str)
    found = hutch.crowd(frame, ordered=False).to_frame()
    assert set(found.label) == {101, 102}
    assert set(found.index) == set(frame.image_id)
    truths = hutch.crowd(votes().assign(answer=lambda rows: rows.answer == "cat")).to_frame().label
    assert truths.map(type).eq(bool).all()


def test_what_is_no_table_of_labels_is_refused_by_name() -> None:
    frame = votes()
    with pytest.raises(UsageError, match="got Series, wanted a frame"):
        hutch.crowd(frame.answer)
    with pytest.raises(UsageError, match="got list, wanted a frame"):
        hutch.crowd([("ann", "t", "cat")])
    with pytest.raises(DataError, match="X: column 'answer' appears twice"):
        hutch.crowd(pd.concat([frame, frame[["answer"]]], axis=1))


def test_gold_that_does_not_fit_is_said() -> None:
    with pytest.warns(UserWarning, match="gold has the class 'catt', which no label has"):
        hutch.crowd(votes(), gold={100: "catt", 101: "dog"})
    with pytest.warns(UserWarning, match="gold without labels: 1 task"):
        hutch.crowd(votes(), gold={"elsewhere": "cat", 101: "dog"})
