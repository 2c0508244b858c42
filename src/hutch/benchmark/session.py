"""An open benchmark: rounds of questions, the answers so far, and the estimates that follow from them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hutch.benchmark.answers import Answers
from hutch.benchmark.draws import Round, draw, even_share
from hutch.benchmark.estimate import Estimate, Values, estimate
from hutch.core.errors import DataError, UsageError, counted, did_you_mean
from hutch.factors.logistic import Array
from hutch.factors.recalibration import recalibrated
from hutch.factors.remembered import remembered_factors
from hutch.factors.row import Places, Row, Table
from hutch.factors.table import RANK
from hutch.sampling.chances import chances_of

PASSES = 2
"""Passes over all answers before an estimate."""
BY_PEOPLE = " by people"
"""What the columns of people's checks add to the names of the models, in files."""
NEAR = 0.05
"""How far a chance that was stored may be from the one that is found again, as a share."""
SAME = 1e-6
"""How far apart the factors between these may be where rows are missing, the same for all."""


@dataclass
class Session:
    """Questions drawn for one or more new models, in rounds, and what their answers say.

    The state is a function of the earlier answers, the rounds and their answers, however these arrived.

    Attributes:
        earlier: the answers of earlier models.
        models: names of the new ones.
        seed: of the factors and of the draws.
        table: the factors of the earlier answers.
        rounds: so far; the last one is open until all its answers are there.
        said: answers of the new models, NaN where unknown (models, questions).
        rows: what the answers to the rounds that are complete say of each new model.
        checks: questions of each round that people are to check, because the answers are a judge's.
        people: their answers, NaN where unknown (models, questions).
    """

    earlier: Answers
    models: list[str]
    seed: int
    table: Table
    rounds: list[Round] = field(default_factory=list)
    said: Array = field(init=False)
    rows: list[Row] = field(init=False)
    checks: list[Places] = field(default_factory=list)
    people: Array = field(init=False)

    def __post_init__(self) -> None:
        self.said = np.full((len(self.models), len(self.earlier.questions)), np.nan)
        self.people = np.full(self.said.shape, np.nan)
        self.rows = [Row(self.table) for _ in self.models]

    @classmethod
    def of(cls, earlier: Answers, models: Sequence[str], seed: int = 0, rank: int = RANK) -> "Session":
        """A new benchmark.

        Args:
            earlier: the answers of earlier models.
            models: names of the new ones, one or more.
            seed: of the factors and of the draws.
            rank: most factors of the earlier answers.

        Raises:
            UsageError: a new model has the name of an earlier one, or none, or the seed is negative.
        """
        models = [model.strip() for model in models]
        if seed < 0:
            raise UsageError(f"seed: got {seed}, wanted 0 or more")
        if not models or not all(models):
            raise UsageError("new: got an empty name, wanted that of a new model")
        for model in models:
            if model.endswith(BY_PEOPLE):
                raise UsageError(f"new: got {model!r}, wanted a name that does not end in {BY_PEOPLE!r}")
            if model in earlier.models:
                raise UsageError(f"{model!r} is a model of the earlier answers, wanted the name of a new one")
        if len(set(models)) < len(models):
            raise UsageError(f"got the new models {', '.join(models)}, wanted different names")
        return cls(earlier, models, seed, Table.of(remembered_factors(earlier.matrix, rank, seed)))

    @property
    def open(self) -> Places:
        """Questions that have been drawn and lack the answer of a new model, in the order of the draw."""
        drawn: Places = self.rounds[-1].drawn if self.rounds else np.zeros(0, np.int64)
        return drawn[np.isnan(self.said[:, drawn]).any(axis=0)]

    @property
    def left(self) -> Places:
        """Questions that have not been drawn, ascending."""
        free = np.ones(len(self.earlier.questions), np.bool_)
        for each in self.rounds:
            free[each.drawn] = False
        return np.flatnonzero(free)

    @property
    def checked(self) -> bool:
        """Whether people check a judge's answers."""
        return any(map(len, self.checks))

    @property
    def open_checks(self) -> Places:
        """Questions that people are to check and that lack their answer for a new model, in the order of the draw."""
        wanted = np.concatenate([np.zeros(0, np.int64), *self.checks])
        return np.asarray(wanted[np.isnan(self.people[:, wanted]).any(axis=0)])

    def ask(self, count: int, check: float = 0.0) -> Places:
        """The open questions, or if there are none newly drawn ones.

        Args:
            count: of questions to draw, at least 1.
            check: share of them, drawn by lot, that people are to check, because the answers are a judge's.
        """
        if not len(self.open) and len(self.left):
            random = np.random.default_rng([self.seed, len(self.rounds)])
            self.rounds.append(draw(self.left, self._predictions(), count, self._even(), random))
            drawn = self.rounds[-1].drawn
            some = random.choice(len(drawn), math.ceil(check * len(drawn)), replace=False)
            self.checks.append(drawn[np.sort(some)])
        return self.open

    def asked(self, questions: Places, chances: Array, checks: Places) -> None:
        """Add a round that was drawn before, as a file remembers it.

        Args:
            questions: drawn (n).
            chances: with which they were drawn (n).
            checks: those of them that people are to check.

        Raises:
            DataError: other earlier answers give other chances.
        """
        left = self.left
        everywhere = self._predictions()
        order = np.argsort(everywhere.mean(axis=0)[questions], kind="stable")  # that of the draw; people may sort rows
        questions, chances, p = questions[order], chances[order], everywhere[:, left]
        chance = chances_of(np.sqrt((p * (1 - p)).mean(axis=0)), len(questions), self._even())
        found = chance[np.searchsorted(left, questions)]
        far = np.flatnonzero(np.abs(chances / found - 1) > NEAR)
        if len(far):
            name = self.earlier.questions[int(questions[far[0]])]
            got = f"question {name!r}: got the chance {chances[far[0]]:.6g}, wanted {found[far[0]]:.6g}"
            raise DataError(
                f"{got}: these questions were drawn from other earlier answers, or rows of their round are missing"
            )
        if _rows_are_missing(chances, found, len(left)):
            many = round(len(questions) * float(np.median(chances / found)))
            rows = f"got {counted(len(questions), 'row')} of round {len(self.rounds) + 1}"
            raise DataError(
                f"{rows}, but the chances are those of {many}: wanted all that were drawn; leave unknown answers empty"
            )
        same = np.abs(chances / found - 1) < 1e-12  # a spreadsheet keeps 15 digits
        self.rounds.append(Round(left, chance, questions, np.where(same, found, chances)))
        self.checks.append(checks)

    def tell(self, model: int, questions: Places, answers: Array, by_people: bool = False) -> None:
        """Take answers to drawn questions; the round is complete once it has all of every model.

        Args:
            model: the place of the new model.
            questions: that were drawn (n), or are to be checked.
            answers: from 0 to 1 (n).
            by_people: they are people's checks of a judge's answers.

        Raises:
            DataError: a question has another answer already.
        """
        known = self.people if by_people else self.said
        before = known[model, questions]
        wrong = np.flatnonzero(~np.isnan(before) & (before != answers))
        if len(wrong):
            name = self.earlier.questions[int(questions[wrong[0]])]
            raise DataError(f"question {name!r}: got the answer {answers[wrong[0]]:g}, but had {before[wrong[0]]:g}")
        was_open = len(self.open) > 0
        known[model, questions] = answers
        if was_open and not len(self.open):
            drawn = self.rounds[-1].drawn
            self.rows = [row.told(drawn, said[drawn]) for row, said in zip(self.rows, self.said, strict=True)]

    def estimate(
        self,
        model: int = 0,
        against: str | None = None,
        inside: NDArray[np.bool_] | None = None,
        confidence: float = 0.95,
        expected: int | None = None,
    ) -> Estimate:
        """The score of a new model, or the difference to another model's.

        Args:
            model: the place of the new model.
            against: an earlier or a new model; None: the score itself.
            inside: questions that count (questions); None: all.
            confidence: of the interval, between 0 and 1.
            expected: the interval is to hold at every look, and is narrowest at so many labels; None: for one look.

        Raises:
            UsageError: an unknown model, or no question has an answer of it.
        """
        values = self._values(model)
        if against is None:
            return estimate(self.rounds, values, inside, confidence, expected)
        if against in self.models:
            other = self._values(self.models.index(against))
            return estimate(self.rounds, values.minus(other), inside, confidence, expected)
        if against not in self.earlier.models:
            raise UsageError(f"no model is {against!r}; {did_you_mean(against, [*self.models, *self.earlier.models])}")
        known = self.earlier.matrix[self.earlier.models.index(against)].astype(np.float64)
        both = ~np.isnan(known) if inside is None else inside & ~np.isnan(known)
        if not both.any():
            raise UsageError(f"{against}: no question has an answer of it, wanted one or more")
        return estimate(self.rounds, values, both, confidence, expected).minus(float(known[both].mean()))

    def history(self, model: int = 0, confidence: float = 0.95) -> Iterator[Estimate]:
        """The score after each complete round, as it was found then.

        Args:
            model: the place of the new model.
            confidence: of the intervals, between 0 and 1.
        """
        row, said = Row(self.table), np.full(len(self.earlier.questions), np.nan)
        complete = len(self.rounds) - bool(len(self.open))
        for count, each in enumerate(self.rounds[:complete], 1):
            said[each.drawn] = self.said[model, each.drawn]
            row = row.told(each.drawn, said[each.drawn])
            people = np.where(np.isnan(said), np.nan, self.people[model]) if self.checked else None
            values = Values.of(said, _recalibrated(row.refined(PASSES)), people)
            yield estimate(self.rounds[:count], values, confidence=confidence)

    def _values(self, model: int) -> Values:
        """The answers of a model with predictions of all."""
        row = self.rows[model]
        unread = self._unread(model)
        if len(unread):
            row = row.told(unread, self.said[model, unread])
        people = self.people[model] if self.checked else None
        return Values.of(self.said[model], _recalibrated(row.refined(PASSES)), people)

    def _unread(self, model: int) -> Places:
        """Questions of the open round that a model has answered."""
        drawn = self.rounds[-1].drawn if len(self.open) else np.zeros(0, np.int64)
        return np.asarray(drawn[~np.isnan(self.said[model, drawn])])

    def _predictions(self) -> Array:
        """Of every new model, from the rounds that are complete (models, questions)."""
        return np.array([_recalibrated(row) for row in self.rows])

    def _even(self) -> float:
        return even_share(np.array([row.answers for row in self.rows]))


def _rows_are_missing(chances: Array, found: Array, left: int) -> bool:
    """Whether all chances that were stored differ by the same factor from those of a round of as many rows."""
    if (chances == 1).all():
        return len(chances) < left
    factors = (chances / found)[(found < 1) & (chances < 1)]
    return len(factors) > 0 and bool(np.ptp(factors) < SAME < abs(factors[0] - 1))


def _recalibrated(row: Row) -> Array:
    return recalibrated(row.predictions(), row.table.factors.ease, row.asked, row.answers)
