"""Multiclass by an error-correcting tournament: a filter tree that forgives a number of lost matches.

The classes play e + 1 elimination tournaments for `errors` = e, a class that loses entering the next one; the champions
play a final single elimination. Every match is a binary problem with its own sub-model; a loser's example goes on only
where it may still win, so later matches learn from examples that earlier ones let through. e = 0 is a filter tree.

Players 0 to k - 1 are the classes, later ones the winners of matches, in the order in which the matches are drawn up.

Sources: A. Beygelzimer, J. Langford and P. Ravikumar, "Error-correcting tournaments", ALT 2009; VW 9.11.9 (ect.cc) for
the order of matches and of updates.
"""

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from hutch.core.chain.declarations import Parallel
from hutch.core.chain.derived import lacking
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    int64s_at,
    kernel,
    learn_next,
    learn_predicted_next,
    likely,
    predict_many_next,
    predict_next,
    record_of,
    shared_of,
    state_of,
    submodel,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record
from hutch.core.parameters import Parameters, Within

_0, _1 = np.float32(0), np.float32(1)
_MOST_AT_ONCE = 8  # of more problems, most would be predicted for nothing


class TournamentParameters(Parameters):
    """Parameters of `error_correcting_tournament`.

    Attributes:
        classes: number of classes; labels are 1 to this.
        errors: number of lost matches that a class may survive.
    """

    classes: Annotated[int, Within(ge=2, le=1 << 20)]
    errors: Annotated[int, Within(ge=0, le=30)] = 0


PLAYER = np.dtype(
    [
        ("left", "i8"),  # of a match: its two players
        ("right", "i8"),
        ("winner_to", "i8"),  # the match this player plays next after winning (classes: their first), 0 for none
        ("loser_to", "i8"),
        ("last", "i8"),  # 1: the last match of a tournament
    ]
)
TOURNAMENT = np.dtype(
    [
        ("classes", "i8"),
        ("errors", "i8"),
        ("matches", "i8"),  # of the elimination tournaments; the problems of the finals come behind them
        ("height", "i8"),  # rounds of the finals
        ("boundary", "f4"),  # the right player wins if the prediction is above it
        ("players", "u8"),  # address of PLAYER[...]
        ("champions", "u8"),  # address of int64[errors + 1]: last match of each tournament
        ("won", "u8"),  # address of int64[...]: scratch, which of its last matches a class won
        ("updates", "u8"),  # address of int64: how often the learner below has changed its weights; 0: unknown
        ("scores", "u8"),  # address of float32[problems]: the predictions of all
        ("problems", "u8"),  # number of problems
        ("at_once", "i8"),  # 1: the learner below predicts all problems at once
    ]
)
tournament_of, player_of = state_of(TOURNAMENT), record_of(PLAYER)

_PLAYER_SIZE = PLAYER.itemsize


def draw_up(classes: int, errors: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Draw up the elimination tournaments.

    Returns:
        PLAYER array, and the players that are the last matches of the tournaments.

    >>> players, champions = draw_up(4, 0)
    >>> players["left"].tolist(), players["winner_to"].tolist(), champions.tolist()
    ([0, 0, 0, 0, 0, 2, 4], [4, 4, 5, 5, 6, 6, 0], [6])
    """
    players: list[dict[str, int]] = [{} for _ in range(classes)]
    tournament_of = [0] * classes
    rounds: list[list[int]] = [list(range(classes)), *([] for _ in range(errors))]
    champions = []
    while any(rounds):
        coming: list[list[int]] = [[] for _ in rounds]
        for t, playing in enumerate(rounds):
            deeper = t < errors
            for left, right in zip(playing[::2], playing[1::2], strict=False):
                match = len(players)
                players.append({"left": left, "right": right})
                tournament_of.append(t)
                for player in (left, right):
                    players[player]["winner_to" if tournament_of[player] == t else "loser_to"] = match
                if players[left].get("last"):
                    players[left]["winner_to"] = match
                if len(playing) == 2 and (t == 0 or not rounds[t - 1]):
                    players[match]["last"] = 1
                    champions.append(match)
                    if deeper:
                        coming[t + 1].append(match)
                else:
                    coming[t].append(match)
                if deeper:
                    coming[t + 1].append(match)
            if len(playing) % 2:
                coming[t].append(playing[-1])
        rounds = coming
    table = np.zeros(len(players), PLAYER)
    for row, fields in zip(table, players, strict=True):
        for name, value in fields.items():
            row[name] = value
    return table, np.array(champions, np.int64)


@inlined
def _player(state, k):
    return player_of(state.players + uint64(k * _PLAYER_SIZE))


@inlined
def _scores(state):
    return float32s_at(state.scores, state.problems)


@inlined
def _decide(layer, example, importance, problem, offset):
    return predict_next(layer, example, UNLABELED, importance, submodel(layer, offset, problem))


@inlined
def _score_all(layer, example, importance, offset):
    """Predict all problems, if the learner below does so at once and will not change its mind; returns whether."""
    state, shared = tournament_of(layer), shared_of(example_of(example).shared)
    settled = shared.fixed_range == 1 or (shared.min_label <= -_1 and shared.max_label >= _1)
    if state.at_once == 0 or not (settled or shared.testing == 1):
        return False
    predict_many_next(layer, example, importance, offset, state.scores, state.problems)
    return True


@inlined
def _instruct(layer, example, side, importance, problem, offset, known):
    """Train a match on which side wins; returns its prediction before."""
    if not known:
        return learn_next(layer, example, side, importance, submodel(layer, offset, problem))
    score, at = _scores(tournament_of(layer))[problem], submodel(layer, offset, problem)
    return learn_predicted_next(layer, example, side, importance, at, score, uint64(2))


@inlined
def _teach(layer, example, side, importance, problem, offset, known):
    """Train a match on which side wins; returns its prediction afterwards."""
    if known:
        _instruct(layer, example, side, importance, problem, offset, known)
        return example_of(example).updated
    at = tournament_of(layer).updates
    before = int64s_at(at, uint64(1))[0] if at != uint64(0) else 0
    score = _instruct(layer, example, side, importance, problem, offset, known)
    if at != uint64(0) and int64s_at(at, uint64(1))[0] == before:
        return score
    return _decide(layer, example, importance, problem, offset)


@helper
def _winner(layer, example, importance, offset):
    """The class, from 0, that the matches choose, from the finals down."""
    state = tournament_of(layer)
    champion = 0
    for i in range(state.height - 1, -1, -1):
        right = champion | (1 << i)
        if right <= state.errors:
            if _decide(layer, example, importance, state.matches + right - 1, offset) > state.boundary:
                champion = right
    k = int64s_at(state.champions, uint64(state.errors + 1))[champion]
    while k >= state.classes:
        match = _player(state, k)
        score = _decide(layer, example, importance, k - state.classes, offset)
        k = match.right if likely(score > state.boundary) else match.left
    return k


@inlined
def _winner_by(scores, state):
    """The same from known predictions of all problems."""
    champion = 0
    for i in range(state.height - 1, -1, -1):
        right = champion | (1 << i)
        if right <= state.errors and scores[state.matches + right - 1] > state.boundary:
            champion = right
    k = int64s_at(state.champions, uint64(state.errors + 1))[champion]
    while k >= state.classes:
        match = _player(state, k)
        k = match.right if scores[k - state.classes] > state.boundary else match.left
    return k


@inlined
def _choose(layer, example, importance, offset):
    """The class, from 1, that wins, and whether the predictions of all problems are known now."""
    state = tournament_of(layer)
    if _score_all(layer, example, importance, offset):
        return np.float32(_winner_by(_scores(state), state) + 1), True
    return np.float32(_winner(layer, example, importance, offset) + 1), False


@inlined
def _climb(layer, example, k, importance, offset, known):
    """Train the matches on the path of class k; writes whether it won each tournament's last, returns their number."""
    state = tournament_of(layer)
    won = int64s_at(state.won, uint64(2 * state.errors + 4))
    count, match = 0, _player(state, k).winner_to
    left = _player(state, match).left == k
    while match != 0:
        side = -_1 if left else _1
        problem = match - state.classes
        score = _teach(layer, example, side, importance, problem, offset, known)
        wins = likely((score - state.boundary) * side > _0)
        here = _player(state, match)
        coming = here.winner_to if wins else here.loser_to
        if here.last == 1 or (not wins and coming == 0):
            won[count] = wins
            count += 1
        if here.last == 0:
            left = _player(state, coming).left == match
        match = coming
    return count


@inlined
def _play_finals(layer, example, count, offset, known):
    """Train the finals in which a champion that should win meets one that should not."""
    state, e = tournament_of(layer), example_of(example)
    won = int64s_at(state.won, uint64(2 * state.errors + 4))
    for i in range(state.height):
        j = 0
        while j < count // 2:
            left, right = won[2 * j], won[2 * j + 1]
            won[j] = left
            if left != right:
                # The importance stays what the last final made it, as in VW.
                e.importance = np.float32(1 << (state.height - i - 1))
                problem = state.matches + j * (1 << (i + 1)) + (1 << i) - 1
                side = -_1 if left else _1
                score = _instruct(layer, example, side, e.importance, problem, offset, known)
                won[j] = right if score > state.boundary else left
            # VW halves the list within the loop over it, so it shrinks with every match.
            if count % 2 == 1:
                won[count // 2] = won[count - 1]
            count = (1 + count) // 2
            j += 1


@helper
def _judge(example, label, prediction):
    e = example_of(example)
    e.raw, e.loss = prediction, np.float64(e.importance) if label != UNLABELED and label != prediction else 0.0
    return prediction


@kernel
def predict(layer, example, label, importance, offset):
    """The class that wins."""
    return _judge(example, label, _choose(layer, example, importance, offset)[0])


@inlined
def _train(layer, example, label, importance, offset, known):
    """Train the matches in which a class plays."""
    count = _climb(layer, example, np.int64(label) - 1, importance, offset, known)
    _play_finals(layer, example, count, offset, known)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, then train the matches in which the class of the example plays."""
    state = tournament_of(layer)
    prediction, known = _choose(layer, example, importance, offset)
    if label != UNLABELED and _1 <= label <= np.float32(state.classes):
        if known:  # two copies of the code, each without the other's branches
            _train(layer, example, label, importance, offset, True)
        else:
            _train(layer, example, label, importance, offset, False)
    return _judge(example, label, prediction)


class ErrorCorrectingTournament(Reduction):
    """Multiclass by a tournament in which classes survive some lost matches."""

    name: ClassVar[str] = "error_correcting_tournament"
    parallel = Parallel(merging={})
    Parameters: ClassVar[type[Parameters]] = TournamentParameters
    takes = Labels.MULTICLASS
    predicts = Predictions.CLASS
    asks = (Labels.SIMPLE, Predictions.SCALAR)

    def __init__(self, parameters: TournamentParameters, context: Context) -> None:
        super().__init__(parameters, context)
        classes, errors = parameters.classes, parameters.errors
        players, champions = draw_up(classes, errors)
        problems, below = self.width(parameters), context.below
        at_once = below is not None and lacking(below, "predict_many") is None and problems <= _MOST_AT_ONCE
        self._calls = ("predict_many",) if at_once else ()
        self.state = Record(
            TOURNAMENT,
            classes=classes,
            errors=errors,
            matches=(classes - 1) * (errors + 1),
            height=errors.bit_length(),
            boundary=below.answers.decision_threshold if below else 0.0,
            players=players,
            champions=champions,
            won=np.zeros(2 * errors + 4, np.int64),
            updates=below.shortcuts.updates_at if below else 0,
            scores=np.zeros(problems, np.float32),
            problems=problems,
            at_once=at_once,
        )

    @classmethod
    def width(cls, parameters: TournamentParameters) -> int:
        """One sub-model per match, the finals included."""
        return (parameters.classes - 1) * (parameters.errors + 1) + parameters.errors

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict, calls=self._calls)
