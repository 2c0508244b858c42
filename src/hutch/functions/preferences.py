"""`hutch.preferences`: how strong players are, from votes on pairs in a frame or a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hutch.core.errors import warn
from hutch.crowd.cli.pairs import lines_of
from hutch.crowd.data.frames import make_frame, package_of
from hutch.crowd.data.values import Problems
from hutch.crowd.pairs import report
from hutch.crowd.pairs.islands import warning
from hutch.crowd.pairs.model import PairModel, create
from hutch.crowd.pairs.state import PairState
from hutch.crowd.pairs.summary import in_groups
from hutch.crowd.pairs.verdict import sentences
from hutch.crowd.pairs.votes import read_votes
from hutch.crowd.read.source import called
from hutch.functions.result import Result
from hutch.shell.sentences import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Preferences(Result):
    """What votes on pairs say.

    Attributes:
        model, state: what was learned.
        tally: the counts of votes.
        groups: of players that were compared with each other.
        summary: the numbers that the command prints, by name.
        package: of the frames: `pandas`, `polars` or `pyarrow`.
    """

    model: PairModel
    state: PairState
    tally: report.Tally
    groups: Sequence[Sequence[str]]
    summary: Mapping[str, Any]
    package: str

    @property
    def text(self) -> str:
        """What `hutch crowd --pairs` prints."""
        return "\n".join(lines_of(dict(self.summary)))

    @property
    def verdict(self) -> tuple[str, ...]:
        """At most three sentences: who is strongest, who may be as strong, what the votes cannot tell."""
        return tuple(self.summary["verdict"])

    def to_frame(self) -> Any:
        """A row per player, the strongest first: `player strength low high win votes won lost tied`."""
        return make_frame(self.package, "player", report.strength_columns(self.state, self.tally, self.groups))

    def workers(self) -> Any:
        """A row per worker: `worker votes reliability low high side tie`."""
        return make_frame(self.package, "worker", report.worker_columns(self.model, self.state, self.tally))

    def next(self, count: int) -> Any:
        """The pairs whose votes would tell most: `left right gain`.

        Args:
            count: of pairs.
        """
        rows = report.next_pairs(self.state, self.tally, count)
        return make_frame(
            self.package, "left", {name: [row[name] for row in rows] for name in ("left", "right", "gain")}
        )

    def plot(self) -> "Figure":
        """The strength of every player with its interval, the strongest first.

        Raises:
            UsageError: Matplotlib is not installed.
        """
        from hutch.pages.page import intervals_figure

        found = report.strengths(self.state, self.groups)
        ends = list(zip(found.low.tolist(), found.strength.tolist(), found.high.tolist(), strict=True))
        return intervals_figure(found.players, ends, "strength", float(found.low.min()), float(found.high.max()))


def preferences(
    votes: Any,
    *,
    features: Sequence[str] | None = None,
    columns: Mapping[str, str] | str | None = None,
    model: str | None = None,
) -> Preferences:
    """Infer how strong players are, models, answers or teams, from votes on pairs, as `hutch crowd --pairs` does.

    Args:
        votes: a frame of pandas, polars or Arrow, or the path of a file, in any form that the command reads.
        features: columns with the context of a vote; None: all others but those of ids, times and one value.
        columns: names of the columns, such as `{"left": "answer_1", "right": "answer_2"}`, if they are not recognised.
        model: `hierarchical` (None), `davidson` or `bradley_terry`.

    Raises:
        DataError: the votes cannot be read.
        UsageError: a feature or a model that does not exist.

    >>> import pandas
    >>> votes = pandas.DataFrame({"model_a": ["gpt", "llama"] * 8, "model_b": ["llama", "gpt"] * 8,
    ...                           "winner": ["model_a", "model_b", "model_a", "tie"] * 4})
    >>> found = preferences(votes)
    >>> found.to_frame().index.tolist(), found.to_frame().votes.tolist()
    (['gpt', 'llama'], [16, 16])
    """
    problems, chosen = Problems(), create(model)
    named = columns if isinstance(columns, str | None) else ",".join(f"{role}={name}" for role, name in columns.items())
    read = read_votes(votes, features, named, problems=problems)
    for line in problems.lines(called(votes)):
        warn(line)
    fit, tally = chosen.fit(read), report.Tally()
    state = fit.state
    tally.add(read, state)
    groups = tally.compared.groups([*state.players])
    if len(groups) > 1:
        warn(f"{called(votes)}: {warning(groups, report.votes_of(state, tally))}")
    numbers = {"read_as": tally.form} | report.summary(chosen, "batch", state, tally) | {"left_out": problems.total}
    numbers |= {"iterations": fit.iterations, "objective": fit.objective} | in_groups(state, tally, groups)
    said = sentences(numbers["strengths"], int(tally.outcomes.sum()), *report.about_sides(state, tally))
    return Preferences(chosen, state, tally, groups, numbers | Verdict(said, "").as_json(), package_of(votes))
