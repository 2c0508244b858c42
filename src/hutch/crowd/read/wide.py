"""Tables with a column per worker: a row per task, or per task and question."""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from hutch.core.errors import Problem
from hutch.crowd.read import evidence
from hutch.crowd.read.evidence import FREE, REPEATED, Reading
from hutch.crowd.read.matching import Matching
from hutch.crowd.read.people import are_addresses, holds_people
from hutch.crowd.read.tools.tool import Places


class WideTables(Matching):
    """Finds the tasks and the questions beside the columns of workers."""

    def _wide(self, at: Reading, workers: Sequence[int]) -> Places:
        """A column per worker, a row per task, or per question and task.

        Raises:
            Problem: two workers have one name, whose labels would be taken as one person's.
        """
        people = [self._fields[p] for p in workers if self._fields[p]]
        twice = next((name for name in people if people.count(name) > 1), None)
        if twice is not None:
            raise Problem(f"column {twice!r} appears twice, wanted a name of its own for each worker", self._line, 1)
        task = self._task(workers)
        if task is not None and "task" not in self._at:
            if holds_people(self._fields[task]):
                return self._form(task, workers)
            if are_addresses(self._columns[task].counts):
                readings: list[dict[str, Any]] = [{role: task, "label": tuple(workers)} for role in ("worker", "task")]
                self._refuse(readings, f"is {self._fields[task]!r} who answered, or what was judged?")
        counting = [p for p in workers if self._columns[p].counts_up and p not in self._labels]
        if task is None and counting:
            others = tuple(p for p in workers if p != counting[0])
            ways: list[dict[str, Any]] = [{"task": counting[0], "label": others}, {"label": tuple(workers)}]
            self._refuse(ways, f"is {self._fields[counting[0]]!r} a worker, or the ids?")
        if "question" not in at and not self._asked.sets:
            grid = self._grid(workers, task)
            task, at = grid.get("task", task), {**at, **grid}
        at = self._gold({**at, **({} if task is None else {"task": task})})
        if task is not None and "question" not in at and not self._asked.sets:
            at = self._with_question_of_rows(at, task, workers)
        if "gold" in at and at["gold"] in workers:
            at = {role: place for role, place in at.items() if role != "gold"}
        doubt = ""
        if task is None and len(workers) > 2 * self._rows:
            doubt = "more raters than items: if each row is a person's, add a column of their names, 'worker'"
        return self._made(at=at, workers=tuple(workers), tool="wide table", doubt=doubt)

    def _form(self, worker: int, tasks: Sequence[int]) -> Places:
        """A row per worker and a column per task, as forms and surveys are exported."""
        return self._made(at={"worker": worker}, tasks=tuple(tasks), tool="wide table")

    def _task_by_name(self, workers: Sequence[int]) -> int | None:
        """The column of the tasks of a wide table: named, of a known name, or an index without one."""
        if "task" in self._at:
            return self._at["task"]
        usual = [p for p in self._usual("task") if not self._again(p) or self._separating(p, self._free(workers))]
        known = [p for p in [*self._known("task"), *usual] if p not in workers]
        question = self._question_or_task(workers)
        known += [] if known or question is None or self._again(question) else [question]
        index = [p for p, field in enumerate(self._fields) if not field and self._columns[p].distinct]
        return next(iter([*known, *index]), None)

    def _task(self, workers: Sequence[int]) -> int | None:
        """The column of the tasks of a wide table, by its name, or by values that never come again."""
        named = self._task_by_name(workers)
        if named is not None:
            return named
        values = set[str]().union(*(self._columns[p].counts for p in workers))
        by_values = [
            p for p in self._free(workers)
            if self._columns[p].unique
            or (workers and self._columns[p].distinct and not self._columns[p].within(values))
        ]  # fmt: skip
        return next(iter(by_values), None)

    def _grid(self, workers: Sequence[int], task: int | None) -> Reading:
        """Columns of tasks and questions of which each pair has one row; none if another column holds ids.

        Raises:
            Problem: there are several.
        """
        free = [p for p in self._free(workers) if len(self._columns[p].counts) > 1]
        free += [p for p, name in enumerate(self._fields) if not name and p not in free]
        named = [p for p in free if p in self._usual("question")]
        if task is not None and not (named and not self._columns[task].few):
            return {}
        tasks = [self._at["task"]] if "task" in self._at else [p for p in free if p not in named]
        grids = [
            {"task": each, "question": place}
            for each in tasks
            for place in self._separating(each, named or free, bool(named))
            if len(self._columns[each].counts) * len(self._columns[place].counts) == self._rows
        ]
        told = [grid for grid in grids if self._classes_differ(grid["question"], workers)]
        grids = told if len(told) == 1 else grids
        if len(grids) == 1 and not (told or named) and self._alike_in_number(**grids[0]):
            grids.append({"task": grids[0]["question"], "question": grids[0]["task"]})
        if len(grids) > 1:
            base = {"label": tuple(workers)}
            self._refuse([{**grid, **base} for grid in grids], "which columns are the task and the question?")
        return grids[0] if grids else {}

    def _classes_differ(self, place: int, workers: Sequence[int]) -> bool:
        """Whether rows with different values in a column have different labels, all of them."""
        classes: dict[str, set[str]] = {}
        for row, value in enumerate(self._columns[place].cells):
            classes.setdefault(value, set()).update(self._columns[p].cells[row] for p in workers)
        return all(not (one & other) - {""} for one, other in combinations(classes.values(), 2))

    def _alike_in_number(self, task: int, question: int) -> bool:
        """Whether there are hardly more tasks than questions."""
        return len(self._columns[task].counts) < 2 * len(self._columns[question].counts)

    def _separating(self, task: int, among: Iterable[int], named: bool = False) -> list[int]:
        """Columns of few values that tell the rows of a task apart; unless named so, not more of them than tasks."""
        most = self._rows if named else len(self._columns[task].counts)
        few = [p for p in among if p != task and self._columns[p].few and len(self._columns[p].counts) <= most]
        return [p for p in few if evidence.repeated(self._columns, [task, p]) <= FREE]

    def _with_question_of_rows(self, at: Reading, task: int, workers: Sequence[int]) -> Reading:
        """A reading of a wide table with the column of the question, if a task has several rows.

        Raises:
            Problem: the columns may also be those of questions, and the rows those of workers.
        """
        if evidence.repeated(self._columns, [task]) < REPEATED:
            return at
        by = self._separating(task, self._free([*at.values(), *workers]))
        for place in sorted(by, key=lambda p: p not in self._usual("question")):
            within = sum(evidence.agreement(self._columns, p, [task]) for p in workers) / len(workers)
            across = evidence.agreement_across(self._columns, workers)
            asks = across > within + evidence.CLEAR or place in self._usual("question")
            if asks or evidence.asks(self._columns, workers[0], [task], place):
                return {**at, "question": place}
            base = {"task": task, "label": tuple(workers)}
            ways = [{**base, "question": place}, {"worker": place, **base}]
            self._refuse(ways, f"most tasks have several rows: is {self._fields[place]!r} the question or the worker?")
        return at
