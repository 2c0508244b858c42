"""Decisions of a program: an action is drawn, its reward comes later or never, and the chain learns each once."""

import json
import math
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any, Literal, Self, get_args

import numpy as np

from hutch.chain import Chain
from hutch.core.chain.capabilities import WeighsMetrics, has
from hutch.core.chain.reduction import Labels, Predictions
from hutch.core.data.assemble import is_number
from hutch.core.errors import ConfigError, DataError, ModelError, counted, did_you_mean, shortened
from hutch.durable.choices import drawn

Several = Literal["first", "last", "sum"]
_REMARK = "policy"
_REMEMBERED = 10_000
"""Names of settled decisions that are kept, to tell a late reward from one for a decision that never was."""


@dataclass(frozen=True, slots=True)
class Decided:
    """An action that was drawn.

    Attributes:
        id: the decision's name, for `Policy.reward`.
        action: its place among the decision's actions, from 0.
        probability: with which it was drawn, above 0 and at most 1.
        probabilities: of all actions.
    """

    id: str
    action: int
    probability: float
    probabilities: list[float]


@dataclass(slots=True)
class _Open:
    """A decision that waits for its reward, or for the rest of its metrics.

    Attributes:
        told: metrics that came and are not learned yet.
        learned: metrics that are.
    """

    record: dict[str, Any]
    since: float
    reward: float | None = None
    importance: float = 1.0
    told: dict[str, float] = field(default_factory=dict)
    learned: dict[str, float] = field(default_factory=dict)


class Policy:
    """Draws actions from a chain's probabilities, and lets it learn when rewards come.

    Each decision is learned once: with its reward, or with `default` when `wait` is over. What a program changes in
    a decision after `decide` has no effect. Threads may share a policy.

    Args:
        chain: one of decisions over actions with features that explores, or its configuration as
            `Chain.from_config` takes it.
        wait: seconds that a decision waits for its reward; None: for ever, and in memory.
        default: the reward of a decision that had none by then; None: nothing is learned from it. Of a chain with
            `weighted_metrics` the values of metrics, by name, that had not come by then.
        several: which reward counts of those that come while a decision waits: the `first`, which is learned at once,
            or the `last` or the `sum`, which are learned when the wait is over. With metrics it holds for each.
        seed: of the draws, ≥ 0.

    Attributes:
        chain: the chain.
        decided, rewarded, defaulted: number of decisions made, learned with a reward, and learned without one.

    Raises:
        ConfigError: a chain that does not explore decisions, or settings that contradict each other.

    >>> layers = ["explore_squarecb", "contextual_bandit", "cost_sensitive_with_features",
    ...           {"linear": {"interactions": [["subject", "model"]]}}]
    >>> policy = Policy({"chain": layers}, wait=3600, default=0.0)
    >>> models = [{"model": ["small"]}, {"model": ["large"]}]
    >>> for k in range(200):
    ...     subject = "law" if k % 2 else "code"
    ...     decided = policy.decide({"shared": {"subject": [subject]}, "actions": models})
    ...     right = decided.action == (subject == "law")
    ...     _ = policy.reward(decided.id, float(right))
    >>> policy.decide({"shared": {"subject": ["law"]}, "actions": models}).probabilities[1] > 0.8
    True
    """

    def __init__(
        self,
        chain: Chain | str | Path | Mapping[str, Any],
        *,
        wait: float | None = None,
        default: float | Mapping[str, float] | None = None,
        several: Several = "first",
        seed: int = 0,
    ) -> None:
        self.chain = chain if isinstance(chain, Chain) else Chain.from_config(chain)
        if self.chain.takes is not Labels.LOGGED_ACTION or self.chain.predicts is not Predictions.ACTION_PROBABILITIES:
            got = " over ".join(layer.name for layer in self.chain.layers)
            wanted = "decisions over actions with features below an explorer, such as explore_squarecb"
            raise ConfigError(f"chain: got {got}, wanted {wanted}")
        if wait is not None and not (isinstance(wait, Real) and 0 < wait < math.inf):
            raise ConfigError(f"wait: got {wait!r}, wanted a number of seconds above 0, or None")
        self._weigher = next((layer for layer in self.chain.layers if has(layer, WeighsMetrics)), None)
        if default is not None:
            try:
                self._checked_value("default", default)
            except DataError as error:
                raise ConfigError(f"{error}, or None") from None
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise ConfigError(f"seed: got {seed!r}, wanted an integer ≥ 0")
        if several not in get_args(Several):
            raise ConfigError(f"several: got {several!r}; {did_you_mean(str(several), get_args(Several))}")
        if wait is None and (default is not None or several != "first"):
            setting = f"default: got {default}" if default is not None else f"several: got {several!r}"
            raise ConfigError(f"{setting} without an end, wanted wait, the seconds after which it is learned")
        self._wait = None if wait is None else float(wait)
        self._default = dict(default) if isinstance(default, Mapping) else None if default is None else float(default)
        self._several: Several = several
        self._seed = int(seed)
        self.decided = self.rewarded = self.defaulted = 0
        self._sum = self._last = 0.0
        self._open: dict[str, _Open] = {}
        self._settled: dict[str, None] = {}

    def decide(self, decision: Mapping[str, Any], *, id: str | None = None, now: float | None = None) -> Decided:
        """Draw an action of a decision.

        Args:
            decision: `{"shared": {…}, "actions": [{…}, {…}]}`, as `Chain.predict` takes it, without a label.
            id: its name, new; None: one is made.
            now: seconds, for tests and logs; None: those of `time.time`.

        Raises:
            DataError: a decision that cannot be used, or a name that another one has.
        """
        if not isinstance(decision, Mapping):
            raise DataError(f"decision: got {_kind(decision)}, wanted {{'shared': {{…}}, 'actions': [{{…}}, {{…}}]}}")
        name = uuid.uuid4().hex if id is None else _checked(id)
        record: dict[str, Any] = _copied(decision)
        for key in ("chosen", "cost", "costs", "probability", "importance"):
            if key in record:
                raise DataError(f"decision: got the key {key!r}, wanted none: it comes with the reward")
        with self.chain.turn:
            self.settle(now)
            if name in self._open or name in self._settled:
                raise DataError(f"id: got {name!r} again, wanted a new one for each decision")
            action, shares = drawn(self.chain.predict(record), f"{self._seed}\0{self.decided}")
            probability = float(shares[action])
            self._open[name] = _Open({**record, "chosen": action, "probability": probability}, self._last)
            self.decided += 1
        return Decided(name, action, probability, shares.tolist())

    def reward(
        self, id: str, value: float | Mapping[str, float], *, importance: float = 1.0, now: float | None = None
    ) -> bool:
        """Tell the reward of a decision.

        Args:
            id: of the decision.
            value: the greater the better, finite. Of a chain with `weighted_metrics` the metrics seen, by name: all, or
                some now and others later. The decision waits until it has all.
            importance: ≥ 0; where rewards are seen with a known chance only, one over that chance. Of several rewards
                that of the last.
            now: as of `decide`.

        Returns:
            Whether it counts: False where the decision was learned before, since its reward came twice or too late; of
            metrics, where all of them were.

        Raises:
            DataError: a decision that this policy did not make, or numbers that cannot be learned.
        """
        self._checked_value("value", value)
        if not is_number(importance) or importance < 0:
            raise DataError(f"importance: got {importance!r}, wanted a number ≥ 0")
        _checked(id)
        with self.chain.turn:
            self.settle(now)
            if id in self._settled:
                return False
            if id not in self._open:
                text = f"id: there is no decision {shortened(id)!r} that waits for a reward"
                raise DataError(f"{text}; {did_you_mean(id, self._open)}" if self._open else text)
            found = self._open[id]
            if isinstance(value, Mapping):
                return self._note(id, found, value, float(importance))
            summed = self._several == "sum" and found.reward is not None
            total = float(value) + (found.reward or 0.0) if summed else float(value)
            if not is_number(total):
                raise DataError(f"value: got {value!r} after {found.reward!r}, wanted a sum below 3.4e38")
            found.reward, found.importance = total, float(importance)
            if self._several == "first":
                self._learn(id)
            return True

    def _note(self, id: str, found: _Open, seen: Mapping[str, float], importance: float) -> bool:
        """Note metrics of a decision; returns whether any of them counts."""
        told = dict(found.told)
        for name, value in seen.items():
            if name in found.learned:
                continue
            told[name] = float(value) + (told.get(name, 0.0) if self._several == "sum" else 0.0)
            if not is_number(told[name]):
                raise DataError(f"value: got {name} {value!r} after {found.told[name]!r}, wanted a sum below 3.4e38")
        if not told.keys() & seen.keys():
            return False
        before, found.told, found.importance = (found.told, found.importance), told, importance
        if self._several == "first":
            try:
                self._learn_metrics(found)
            except BaseException:
                found.told, found.importance = before
                raise
            if self._weigher is not None and found.learned.keys() == self._weigher.metrics.keys():
                self._learn(id)
        return True

    def _learn_metrics(self, found: _Open) -> None:
        """Let the chain learn the metrics that have come."""
        assert self._weigher is not None
        if found.told:
            actions, chosen = list(found.record["actions"]), found.record["chosen"]
            actions[chosen] = self._weigher.with_metrics(actions[chosen], found.told)
            record = {**found.record, "actions": actions, "cost": 0.0}  # the layer knows the cost
            self.chain.learn({**record, "importance": found.importance})
            self._sum += sum(self._weigher.metrics[name] * value for name, value in found.told.items())
            found.learned, found.told = found.learned | found.told, {}

    def settle(self, now: float | None = None) -> int:
        """Learn the decisions whose wait is over, which `decide` and `reward` do as well; returns their number.

        Args:
            now: as of `decide`; time does not run backwards.
        """
        with self.chain.turn:
            self._last = max(self._last, time.time() if now is None else float(now))
            over: list[str] = []
            if self._wait is not None:
                for name, found in self._open.items():  # in the order of their times
                    if found.since + self._wait > self._last:
                        break
                    over.append(name)
            for name in over:
                self._learn(name)
            return len(over)

    def _learn(self, id: str) -> None:
        found = self._open[id]
        reward = self._default if found.reward is None else found.reward
        if self._weigher is not None:
            came = found.learned or found.told
            if isinstance(self._default, dict):
                late = {name: value for name, value in self._default.items() if name not in found.learned}
                found.told = late | found.told
            self._learn_metrics(found)
            self.rewarded += bool(came)
            self.defaulted += not came and bool(found.learned)
        elif isinstance(reward, Real):
            self.chain.learn({**found.record, "cost": -reward, "importance": found.importance})
            self._sum += reward
            self.defaulted += found.reward is None
            self.rewarded += found.reward is not None
        del self._open[id]  # after it was learned: a chain that refuses it leaves it where it is
        self._settled[id] = None
        if len(self._settled) > _REMEMBERED:
            del self._settled[next(iter(self._settled))]

    def _checked_value(self, what: str, value: Any) -> None:
        """See that a reward is what the chain learns: a number, or metrics.

        Raises:
            DataError: it is not.
        """
        if self._weigher is None:
            if not is_number(value):
                wanted = "a number: no layer of the chain weighs metrics" if isinstance(value, Mapping) else "a number"
                raise DataError(f"{what}: got {value!r}, wanted {wanted}")
            return
        names = ", ".join(self._weigher.metrics)
        if not isinstance(value, Mapping) or not value:
            raise DataError(f"{what}: got {value!r}, wanted some of the chain's metrics by name: {names}")
        for name, number in value.items():
            if name not in self._weigher.metrics:
                raise DataError(f"{what}: got {name!r}; {did_you_mean(str(name), self._weigher.metrics)}")
            if not is_number(number):
                raise DataError(f"{what}: {name}: got {number!r}, wanted a number")

    @property
    def open(self) -> int:
        """Number of decisions that wait for a reward."""
        return len(self._open)

    def __repr__(self) -> str:
        learned = self.rewarded + self.defaulted
        mean = f"; mean reward {self._sum / learned:.4g}" if learned else ""
        numbers = f"{self.rewarded:,} rewarded, {self.defaulted:,} by default, {self.open:,} open"
        return f"<hutch policy: {counted(self.decided, 'decision')}, {numbers}{mean}; {self.chain!r}>"

    def save(self, path: str | Path) -> None:
        """Write the chain to a model file, and with it the settings and all decisions that wait for a reward.

        `Chain.load`, `hutch predict` and `hutch serve` read the chain alone.

        Raises:
            ModelError: as of `Chain.save`.
        """
        with self.chain.turn:
            state = {
                "settings": {
                    "wait": self._wait,
                    "default": self._default,
                    "several": self._several,
                    "seed": self._seed,
                },
                "counts": [self.decided, self.rewarded, self.defaulted],
                "sum": self._sum,
                "last": self._last,
                "open": {name: asdict(found) for name, found in self._open.items()},
                "settled": list(self._settled),
            }
            self.chain.remarks[_REMARK] = json.dumps(state)
            try:
                self.chain.save(path)
            finally:
                del self.chain.remarks[_REMARK]

    @classmethod
    def load(cls, path: str | Path, overrides: Iterable[str] = ()) -> Self:
        """Read a policy back; it goes on exactly where it was saved.

        Args:
            path: a file that `save` wrote.
            overrides: as of `Chain.load`, such as `weighted_metrics.weights.price=-5`.

        Raises:
            ModelError: no model file, or one that no policy wrote.
            ConfigError: a wrong override.
        """
        chain = Chain.load(path, overrides)
        if _REMARK not in chain.remarks:
            raise ModelError(f"{path}: holds no policy; Policy(Chain.load({str(path)!r})) makes one")
        state = json.loads(chain.remarks.pop(_REMARK))
        found = cls(chain, **state["settings"])
        found.decided, found.rewarded, found.defaulted = state["counts"]
        found._sum, found._last = state["sum"], state["last"]
        found._open = {name: _Open(**each) for name, each in state["open"].items()}
        found._settled = dict.fromkeys(state["settled"])
        return found


def _checked(id: Any) -> str:
    """The name of a decision, as a model file can hold it."""
    if not isinstance(id, str):
        raise DataError(f"id: got {_kind(id)}, wanted a text")
    return id


def _kind(value: Any) -> str:
    return f"{shortened(repr(value))} ({type(value).__name__})"


def _copied(value: Any) -> Any:
    """A record without what its owner may change later, and as JSON holds it."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, Mapping):
        return {str(name): _copied(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(each) for each in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Real):
        return int(value) if isinstance(value, int | np.integer) else float(value)
    return value
