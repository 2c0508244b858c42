"""`hutch.Benchmark`: a new model's score from few judged questions, with the answers of earlier models."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hutch.benchmark.answers import number_of, read_answers
from hutch.benchmark.estimate import Estimate
from hutch.benchmark.judged import read_judged, write_judged
from hutch.benchmark.session import Session
from hutch.benchmark.verdict import verdict
from hutch.core.errors import DataError, Problem, UsageError, did_you_mean, warn
from hutch.crowd.data.frames import is_frame, originals_of
from hutch.crowd.data.values import name_of
from hutch.functions.result import Result
from hutch.shell.sentences import names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEW = "new"
"""The new model, if it has no name."""
ROUNDS, LEAST = 10, 3
"""Rounds of a loop; questions in one of them at least."""


@dataclass(frozen=True, repr=False)
class Score(Result):
    """A score, or a difference of scores, with its interval.

    Attributes:
        value: the estimate.
        low, high: the ends of its interval.
        labels: judged questions in it.
        questions: all questions in it.
        worth: questions drawn by lot that give an interval as wide; NaN if no number does.
        verdict: one sentence.
    """

    value: float
    low: float
    high: float
    labels: int
    questions: int
    worth: float
    verdict: str

    @classmethod
    def of(cls, found: Estimate, model: str = "", against: str | None = None) -> "Score":
        """The score of an estimate; the names are those of `hutch.benchmark.verdict.verdict`."""
        said = verdict(found, model, against)
        return cls(found.value, found.low, found.high, found.labels, found.questions, found.worth, said)

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    @property
    def text(self) -> str:
        """The verdict."""
        return self.verdict


class Benchmark:
    """Questions to have judged next, and a new model's score with its interval.

    The answers of earlier models predict those of the new one; the judged questions, drawn with known chances, correct
    the predictions. So the interval holds however unlike the earlier models the new one is.

    Args:
        answers: of earlier models, from 0 to 1: a frame or a file with questions in rows and models in columns, missing
            where unknown, or with a row per question, model and answer.
        new: the name of the new model, or of several that answer the same questions.
        by: the column that names the group of each question, such as its subject.
        seed: of the draws. The same seed, answers and updates give the same questions.

    Raises:
        DataError: the answers cannot be read.
        UsageError: a new model has the name of an earlier one, or none, or the seed is negative.

    Source: see `hutch.benchmark.estimate` and `hutch.factors`.

    >>> import pandas
    >>> random = np.random.default_rng(0)
    >>> chance = 1 / (1 + np.exp(3 * random.normal(size=(400, 1)) - random.normal(size=41)))
    >>> right = (random.random((400, 41)) < chance).astype(float)
    >>> benchmark = Benchmark(pandas.DataFrame(right[:, :40], columns=[f"m{k}" for k in range(40)]))
    >>> for _ in range(4):
    ...     benchmark.update({question: right[question, 40] for question in benchmark.next(20)})
    >>> score = benchmark.estimate()
    >>> bool(score.low < right[:, 40].mean() < score.high), score.labels
    (True, 80)
    """

    def __init__(self, answers: Any, new: str | Sequence[str] = NEW, *, by: str = "", seed: int = 0) -> None:
        earlier = read_answers(answers, by)
        if earlier.left_out:
            warn(f"left out columns of words: {names(earlier.left_out)}; `by` names one of groups")
        self._session = Session.of(earlier, [new] if isinstance(new, str) else [*new], seed)
        self._place = {name: place for place, name in enumerate(earlier.questions)}
        known = originals_of(answers, earlier.questions) if is_frame(answers) else {}
        self._originals = [known.get(name, name) for name in earlier.questions]

    @property
    def models(self) -> list[str]:
        """The new models."""
        return [*self._session.models]

    @property
    def questions(self) -> list[Any]:
        """All questions, as the answers name them."""
        return [*self._originals]

    def next(self, count: int = 30, *, check: float = 0.0) -> list[Any]:
        """The questions to have judged next.

        Rounds of a tenth of all that are to be judged gain most: the first ones are drawn evenly, the later ones where
        the predictions are uncertain.

        Args:
            count: of questions, at least 1. Questions that wait for an answer are returned before new ones are drawn.
            check: share of them that people are to check, if the answers are a judge's; see `checks`.

        Returns:
            The questions, as the answers name them; none once all have been judged.

        Raises:
            UsageError: a count below 1, or a share that is none.
        """
        if not isinstance(count, int) or count < 1:
            raise UsageError(f"count: got {count}, wanted a whole number, 1 or more")
        if not 0 <= check <= 1:
            raise UsageError(f"check: got {check:g}, wanted a number from 0 to 1")
        return [self._originals[place] for place in self._session.ask(count, check).tolist()]

    def checks(self) -> list[Any]:
        """The questions that people are to check and have not yet, drawn by lot from those of `next`.

        With `next(check=...)` a judge, such as a language model, gives the answers. The estimate is that of people: it
        corrects the judge's answers by the checked ones, and its interval counts how few these are.
        """
        return [self._originals[place] for place in self._session.open_checks.tolist()]

    def update(self, answers: Mapping[Any, Any], model: str = "", *, by_people: bool = False) -> None:
        """Take answers of a new model.

        Args:
            answers: from 0 to 1, or true or false, by question; all of them have been drawn by `next`.
            model: which new model; empty: the only one.
            by_people: they are people's checks of a judge's answers, to questions that `checks` returned.

        Raises:
            DataError: a question was not drawn, has another answer already, or the answer is none.
            UsageError: no new model has this name.
        """
        at, places, said = self._model(model), [], []
        taken = self._session.checks if by_people else [each.drawn for each in self._session.rounds]
        drawn, source = {int(place) for each in taken for place in each}, "checks" if by_people else "next"
        for question, answer in dict(answers).items():
            place = self._place.get(name_of(question))
            if place is None:
                raise DataError(f"no question is {question!r}; {did_you_mean(str(question), self._place)[:200]}")
            if place not in drawn:
                raise DataError(f"question {question!r} was not drawn, wanted one of those that `{source}` returned")
            places.append(place)
            said.append(_number(question, answer))
        self._session.tell(at, np.array(places, np.int64), np.array(said, np.float64), by_people)

    def estimate(
        self,
        model: str = "",
        *,
        against: str | None = None,
        group: str | None = None,
        confidence: float = 0.95,
        every_look: int | None = None,
    ) -> Score:
        """The score of a new model over all questions.

        Args:
            model: which new model; empty: the only one.
            against: an earlier or another new model: the difference of the two scores, on the questions of both.
            group: of questions; None: all.
            confidence: of the interval, between 0 and 1.
            every_look: the interval holds at every look, and is narrowest at so many answers; None: it is for one look.

        Raises:
            UsageError: an unknown model or group, or a number out of range.
        """
        if not 0 < confidence < 1:
            raise UsageError(f"confidence: got {confidence:g}, wanted a number between 0 and 1")
        if every_look is not None and every_look < 1:
            raise UsageError(f"every_look: got {every_look}, wanted 1 or more")
        at, inside = self._model(model), None if group is None else self._session.earlier.inside(group)
        found = self._session.estimate(at, against, inside, confidence, every_look)
        named = self._session.models[at] if against is not None or len(self.models) > 1 else ""
        return Score.of(found, named, against)

    def groups(self, model: str = "", *, against: str | None = None, confidence: float = 0.95) -> dict[str, Score]:
        """The score of every group of questions, each with an interval of its own; arguments as of `estimate`."""
        found = filter(None, dict.fromkeys(self._session.earlier.groups))
        return {name: self.estimate(model, against=against, group=name, confidence=confidence) for name in found}

    def run(
        self,
        judge: Callable[[list[Any]], Any],
        budget: int,
        *,
        width: float | None = None,
        every_look: bool = False,
    ) -> Score:
        """Draw questions and have them judged, in ten rounds.

        Args:
            judge: takes questions, and returns their answers in the same order, or by question; of several new models,
                these by model.
            budget: the most questions to judge, at least 1.
            width: stop once the half-width of every new model's score is this or less.
            every_look: the intervals hold at all looks at once, also at the one at which the loop stops; it takes about
                twice as many questions. Without it, intervals of 95 % held at that look in .94 to .98 of simulations.

        Returns:
            The score of the first new model.

        Raises:
            DataError: the judge returns too few answers, or one that is none.
            UsageError: a budget below 1 or a width that is not above 0.
        """
        if budget < 1:
            raise UsageError(f"budget: got {budget}, wanted 1 or more")
        if width is not None and not width > 0:
            raise UsageError(f"width: got {width:g}, wanted a number above 0")
        look, size = budget if every_look else None, max(LEAST, math.ceil(budget / ROUNDS))
        judged = sum(len(each.drawn) for each in self._session.rounds) - len(self._session.open)
        while judged < budget and (asked := self.next(min(size, budget - judged))):
            answers = judge(asked)
            for model in self.models:
                self.update(_paired(asked, answers[model] if len(self.models) > 1 else answers), model)
            judged += len(asked)
            found = [self.estimate(model, every_look=look) for model in self.models]
            if width is not None and all(each.half_width <= width for each in found):
                break
        return self.estimate(self.models[0], every_look=look)

    def save(self, path: str | Path) -> None:
        """Write the questions drawn so far, their chances and their answers, as CSV.

        Raises:
            HutchError: the file cannot be written.
        """
        write_judged(self._session, path)

    def load(self, path: str | Path) -> "Benchmark":
        """Go on where `save` stopped, or with a file whose empty cells people have filled in.

        Args:
            path: written for the same answers of earlier models, new models and seed.

        Returns:
            This benchmark.

        Raises:
            DataError: a place in the file is wrong.
            UsageError: questions have been drawn already.
        """
        if self._session.rounds:
            raise UsageError("load: wanted a benchmark from which no questions have been drawn")
        read_judged(self._session, path)
        return self

    def plot(self, model: str = "") -> "Figure":
        """The interval after each round.

        Args:
            model: which new model; empty: the only one.

        Raises:
            UsageError: Matplotlib is not installed, or no round is complete.
        """
        from hutch.pages.page import band_figure

        at = self._model(model)
        if not (kept := [*self._session.history(at)]):
            raise UsageError("plot: wanted a round whose questions have all been judged")
        ends = [(each.low, each.value, each.high) for each in kept]
        return band_figure(
            [each.labels for each in kept], ends, "questions judged", f"score of {self.models[at]}, 95 % interval"
        )

    def __repr__(self) -> str:
        drawn = sum(len(each.drawn) for each in self._session.rounds)
        if not drawn:
            return f"Benchmark of {len(self._place)} questions and {len(self._session.earlier.models)} earlier models"
        return "\n".join(repr(self.estimate(model)) for model in self.models)

    def _model(self, name: str) -> int:
        if not name and len(self.models) == 1:
            return 0
        if name not in self.models:
            raise UsageError(f"no new model is {name!r}; {did_you_mean(name, self.models)}")
        return self.models.index(name)


def _paired(asked: list[Any], answers: Any) -> dict[Any, Any]:
    """Questions and their answers, which are in their order or named by them."""
    if hasattr(answers, "to_dict") and type(getattr(answers, "index", None)).__name__ not in ("NoneType", "RangeIndex"):
        answers = answers.to_dict()  # a series may be in any order
    if isinstance(answers, Mapping):
        if lost := [question for question in asked if question not in answers]:
            raise DataError(f"question {lost[0]!r}: got no answer, wanted one for each")
        return {question: answers[question] for question in asked}
    if isinstance(answers, str) or not isinstance(answers, Iterable):
        raise DataError(f"got {type(answers).__name__}, wanted a list of answers, one for each question")
    given = list(answers)
    if len(given) != len(asked):
        raise DataError(f"got {len(given)} answers to {len(asked)} questions, wanted one for each")
    return dict(zip(asked, given, strict=True))


def _number(question: Any, answer: Any) -> float:
    """An answer as a number from 0 to 1."""
    try:
        found = number_of("" if answer is None else str(answer), 0, 0)
    except Problem as error:
        raise DataError(f"question {question!r}: {error.text}") from None
    if math.isnan(found):
        raise DataError(f"question {question!r}: got no answer, wanted a number from 0 to 1; leave it out to wait")
    return found
