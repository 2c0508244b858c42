"""Tables with a row per answer: columns of workers, tasks, labels, and maybe of questions."""

from collections.abc import Sequence
from typing import Any

from hutch.core.errors import Problem
from hutch.crowd.read import evidence
from hutch.crowd.read.evidence import ENOUGH, FREE, REPEATED, Reading
from hutch.crowd.read.matching import TRIPLE, Matching, only_column
from hutch.crowd.read.tools.tool import Places


class LongTables(Matching):
    """Finds the columns of rows of answers."""

    def _long_reading(self) -> Reading:
        """The columns of worker, task and label, by name, else by values.

        Raises:
            Problem: one is missing, or there are several ways to read the table.
        """
        at = dict(self._at)
        if self._labels:
            at["label"] = self._labels[0]
        for role in TRIPLE:
            names = [place for place in self._known(role) if place not in at.values()]
            if role not in at and names:
                if self._fields.count(self._fields[names[0]]) > 1 or self._twice(names[0]):
                    raise Problem(
                        f"column {self._fields[names[0]]!r} appears twice, wanted one {role} column", self._line, 1
                    )
                at[role] = names[0]
        question = self._question_or_task(at.values())
        if question is not None and "task" not in at and {"worker", "label"} <= at.keys():
            if "question" in at or self._rows < ENOUGH or not self._again(at["worker"], question):
                at["task"] = question
            else:
                at["question"] = question
        missing = [role for role in TRIPLE if role not in at]
        self._guessed = bool(missing)
        if missing:
            at = self._completed(at, missing)
        return at

    def _completed(self, at: Reading, missing: list[str]) -> Reading:
        """The roles that no name tells, by the names that such columns often have, and by values."""
        free = self._free(at.values())
        usual, all_named = {}, self._each_usual()
        for role in missing:
            once = all_named or role != "task"
            names = [p for p in self._usual(role) if p in free and (once or not self._columns[p].unique)]
            if len(names) == 1:
                usual[role] = names[0]
        if len(usual) == len(missing):
            return {**at, **usual}
        readings = self._ways({**at, **usual}, free)
        if len(readings) == 1:
            return readings[0]
        boxes = self._boxes(free) if missing == ["label"] or "label" not in {*at, *usual} else []
        if boxes and {"worker", "task"} <= {**at, **usual}.keys():
            return {**at, **usual, "label": boxes[0]}
        if readings:
            ways: list[dict[str, Any]] = list(readings[:3])
            places = tuple(dict.fromkeys(each["label"] for each in readings))
            if len(places) > 1 and not any("question" in each for each in readings):
                ways.append(
                    {**{role: place for role, place in readings[0].items() if role != "label"}, "label": places}
                )
            self._refuse(
                ways, f"which column is the {' and the '.join(role for role in missing if role not in usual)}?"
            )
        ids = [place for place in self._usual("task") if place in free]
        rest = [place for place in free if place not in usual.values()]
        left = [role for role in missing if role not in usual]
        if len(rest) == 1 < self._rows and left in (["task"], ["label"]):
            found = {**at, **usual, left[0]: rest[0]}
            if evidence.repeated(self._columns, [found[role] for role in ("worker", "task")]) < REPEATED:
                return found
        question = self._question_or_task([*at.values(), *usual.values()])
        ids += [] if question is None else [question]
        if "task" in missing and ids:
            usual["task"] = ids[0]
        found = {**at, **usual}
        anonymous = self._table.records is not None or self._asked.anonymous
        if "worker" not in found and anonymous and {"task", "label"} <= found.keys():
            return found
        for role in TRIPLE:
            if role not in found:
                if self._width == len(TRIPLE) and sum(bool(self._named[each]) for each in TRIPLE) < 2:
                    way = "name its columns (--columns worker=...,task=...,label=...), or put a header above the rows"
                    got = ", ".join(self._first)
                    raise Problem(f"got {got}: a row or a header? no column is the {role}; {way}", self._line, 1)
                only_column(self._fields, role, self._line)
        return found

    def _readings(self, at: Reading, fixed: Reading, free: list[int]) -> list[Reading]:
        """Ways to read rows of labels, with the names that are usual if they fit."""
        tasks = [p for p in [*self._known("task"), *self._usual("task")] if not self._columns[p].unique and p in free]
        named = {**fixed, **({"task": tasks[0]} if tasks else {})}
        return self._ways({**at, **named}, free) or self._ways(at, free)

    def _ways(self, known: Reading, free: Sequence[int]) -> list[Reading]:
        """Ways to read rows of labels; a column that is called a question is one, or the task, and nothing else."""
        question = self._question_or_task(known.values())
        asking = self._asking(known.values())
        rest = [p for p in free if p not in {*known.values(), *asking.values(), question}]
        if question is not None and "task" not in known:
            found = evidence.long_readings(self._columns, {**known, "task": question}, rest)
            if found := [reading for reading in found if "question" not in reading]:
                return found
        return evidence.long_readings(self._columns, {**known, **asking}, rest) or (
            evidence.long_readings(self._columns, known, rest) if asking else []
        )

    def _long(self, at: Reading) -> Places:
        """Rows of answers, each maybe to one of several questions."""
        boxes = self._boxes([at["label"], *self._free(at.values())])
        if at["label"] in boxes and not self._labels and "worker" in at:
            return self._choices(at, boxes)
        at = self._gold(at)
        doubt = ""
        if "question" not in at and "worker" in at and not self._asked.sets:
            at, doubt = self._with_question(at, at["label"], [at["worker"], at["task"]])
        return self._made(at=at, doubt=doubt, guessed=self._guessed)

    def _with_question(self, at: Reading, label: int, key: list[int]) -> tuple[Reading, str]:
        """A reading with the column that separates repeated answers to a task, if it is one of questions.

        Raises:
            Problem: it may be either.
        """
        named = [p for p in self._usual("question") if p not in at.values()]
        if self._rows < ENOUGH and not named:
            return at, ""
        again = evidence.repeated(self._columns, key)
        if again < REPEATED:
            return at, ""
        free = [p for p in self._free(at.values()) if 1 < len(self._columns[p].counts) <= evidence.FEW]
        free = [p for p in free if evidence.repeated(self._columns, [*key, p]) <= max(FREE, again / 10)]
        free = [p for p in free if not self._columns[p].unique and p not in self._labels]
        given = all(role in self._at for role in ("worker", "task")) and bool(self._labels)
        for place in sorted(free, key=lambda p: (p not in named, p)):
            asks = True if place in named else evidence.asks(self._columns, label, key, place)
            if asks is None and not given:
                plain = {role: p for role, p in at.items() if role != "gold"}
                self._refuse(
                    [{**plain, "question": place}, plain], f"is {self._fields[place]!r} what was asked, or again?"
                )
            if asks and given:
                way = f"--columns question={self._fields[place]} gives each of its questions a result"
                return at, f"{self._fields[place]!r} separates repeated answers: {way}"
            if asks:
                return {**at, "question": place}, ""
        return at, ""
