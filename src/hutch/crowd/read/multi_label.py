"""Tasks with several labels: one yes/no question for each label."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hutch.core.data.chunks import source_name
from hutch.core.errors import Problem, did_you_mean, reading
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.labels import Labels, class_order, from_codes
from hutch.crowd.data.values import SET_SIGN, label_of
from hutch.crowd.read.columns import value_of_cell
from hutch.crowd.read.labels import check_unsure, read_all, read_gold
from hutch.crowd.read.triples import Triples

ANSWERS = ["no", "yes"]


def set_of(name: str) -> frozenset[str]:
    """The labels of a set that is written as one name.

    >>> sorted(set_of("cat" + SET_SIGN + "dog")), set_of("")
    (['cat', 'dog'], frozenset())
    """
    return frozenset(name.split(SET_SIGN)) if name else frozenset()


def set_in(text: str) -> str:
    """The name of the set in a cell: labels with `|` between them, or a JSON list.

    >>> set_in("dog|cat") == set_in('["cat", "dog"]') == "cat" + SET_SIGN + "dog"
    True
    """
    return label_of(value_of_cell(text, (), True), True)


def read_sets(path: str, encoding: str = "") -> dict[str, str]:
    """The true sets of some tasks, named as by `set_in`; arguments and errors are those of `read_gold`."""
    return {task: set_in(text) for task, text in read_gold(path, encoding).items()}


def read_multi_label(
    path: str,
    classes: Sequence[str] = (),
    gold: Mapping[str, str] | None = None,
    columns: ColumnNames | None = None,
    workers: Sequence[str] = (),
) -> dict[str, Labels]:
    """Read data in which a worker may give a task several labels, as the yes and no answers for each label.

    A worker who labels a task says no to every label that they do not give it. Rows of one worker and task are merged.
    An empty list, or a row of boxes without a tick, says no to all; an empty cell is not an answer.

    Args:
        path: a file as of `hutch.crowd.read.labels.read_labels`; cells have `|` between labels, or are JSON lists.
        classes: all possible labels; without them, those in the file.
        gold: sets of some tasks, as `set_in` reads them; they go before those in the file.
        columns, workers: as of `read_labels`.

    Returns:
        For each label its votes, with the classes no and yes; the tasks and workers are the same in all.

    Raises:
        DataError: as of `read_labels`, or a label is not among the classes.
    """
    asked = replace(columns or ColumnNames(), sets=True)
    gold = {task: name for task, name in (gold or {}).items() if not set_of(name).intersection(asked.unsure)}
    read = read_all(path, classes, asked.keeping(each for name in gold.values() for each in set_of(name)))
    with reading(source_name(path)):
        check_unsure(asked.unsure, [read])
    if read.triples.questions:
        with reading(source_name(path)):
            names = ", ".join(read.triples.questions[1])
            raise Problem(
                f"got answers to several questions ({names}), wanted one: --columns label=NAME, or a file for each"
            )
    found = answers_to(read.triples, path, classes, gold, workers)
    problems, form, notices = read.triples.problems, read.form, read.notices
    return {name: replace(each, problems=problems, form=form, notices=notices) for name, each in found.items()}


def answers_to(
    piece: Triples,
    path: str,
    classes: Sequence[str] = (),
    gold: Mapping[str, str] | None = None,
    workers: Sequence[str] = (),
) -> dict[str, Labels]:
    """The yes and no answers for each label in a piece of a file of sets; the rest as of `read_multi_label`."""
    (people, tasks, answers), truth = piece.names, {**piece.gold, **(gold or {})}
    sets, true_sets = [set_of(name) for name in answers], {task: set_of(name) for task, name in truth.items()}
    known = list(classes) or class_order(name for found in (*sets, *true_sets.values()) for name in found)
    for name in (name for found in (*sets, *true_sets.values()) for name in sorted(found) if name not in known):
        text = f"got label {name!r}, wanted one of {', '.join(known)}; {did_you_mean(name, known)}"
        with reading(source_name(path)):
            raise Problem(f"{text}; --classes names all labels from the start")
    pairs = piece.codes[:, 0].astype(np.int64) * len(tasks) + piece.codes[:, 1]
    _, first, place = np.unique(pairs, return_index=True, return_inverse=True)
    order = np.argsort(first)  # rows of a task stay in their order, however the file is cut into pieces
    row_of, codes = np.argsort(order)[place], piece.codes[first[order]]
    found = {}
    for name in known:
        codes[:, 2] = 0
        said = np.array([name in each for each in sets] or [False], np.int32)[piece.codes[:, 2]]
        np.maximum.at(codes[:, 2], row_of, said)
        yes_or_no = {task: ANSWERS[name in each] for task, each in true_sets.items()}
        found[name] = from_codes(codes, people, tasks, ANSWERS, ANSWERS, workers, yes_or_no)
    return found
