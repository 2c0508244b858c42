"""Decisions of a program for a number in a range: one is drawn, its cost comes later or never, and is learned once."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hutch.chain import Chain
from hutch.core.chain.reduction import Labels, Predictions
from hutch.core.data.assemble import is_number
from hutch.core.errors import ConfigError, DataError, did_you_mean, shortened


@dataclass(frozen=True, slots=True)
class DecidedNumber:
    """A number that was drawn.

    Attributes:
        id: the decision's name, for `NumberPolicy.cost`.
        number: within the range of the chain.
        density: that of the number, above 0; a log needs it.
    """

    id: str
    number: float
    density: float


class NumberPolicy:
    """Draws numbers from a chain's density, and lets it learn when costs come.

    A decision waits for its cost in memory. What a program changes in an example after `decide` has no effect. Threads
    may share a policy.

    Args:
        chain: one that draws numbers, with `sample_density` at the top, or its configuration as `Chain.from_config`
            takes it.

    Attributes:
        chain: the chain; `chain.save` keeps what it has learned, and where its draws stand.
        decided, learned: number of decisions made, and of those whose cost was learned.

    Raises:
        ConfigError: another chain.

    >>> layers = ["sample_density", {"action_density": {"lowest": 0, "highest": 10, "parts": 8}}, "linear"]
    >>> policy = NumberPolicy({"chain": layers})
    >>> for k in range(400):
    ...     best = 8.0 if k % 2 else 3.0
    ...     decided = policy.decide({"season": "summer" if k % 2 else "winter"})
    ...     _ = policy.cost(decided.id, abs(decided.number - best) / 10)
    >>> numbers = [policy.decide({"season": "summer"}).number for _ in range(100)]
    >>> bool(abs(np.median(numbers) - 8) < 1.5)
    True
    """

    def __init__(self, chain: Chain | str | Path | Mapping[str, Any]) -> None:
        self.chain = chain if isinstance(chain, Chain) else Chain.from_config(chain)
        if self.chain.takes is not Labels.LOGGED_NUMBER or self.chain.predicts is not Predictions.DRAWN_NUMBER:
            got = " over ".join(layer.name for layer in self.chain.layers)
            raise ConfigError(f"chain: got {got}, wanted sample_density over a density of numbers, as action_density")
        self.decided = self.learned = 0
        self._open: dict[str, tuple[dict[str, Any], DecidedNumber]] = {}

    def decide(self, example: Mapping[str, Any], *, id: str | None = None) -> DecidedNumber:
        """Draw a number.

        Args:
            example: its features, as `Chain.predict` takes them, without a label.
            id: its name, new; None: one is made.

        Raises:
            DataError: an example that cannot be used, or a name that waits already.
        """
        if not isinstance(example, Mapping) or "label" in example:
            raise DataError(f"example: got {shortened(repr(example), 60)}, wanted namespaces of features and no label")
        name, record = uuid.uuid4().hex if id is None else str(id), dict(example)
        with self.chain.turn:
            if name in self._open:
                raise DataError(f"id: got {name!r} again, wanted a new one for each decision")
            kept = self.chain.shared.copy()
            outputs = self.chain.one.run(record, False, stays=False)
            if outputs is None:  # no usual record
                [batch] = self.chain.batches([record])
                outputs, _ = self.chain.run_batch(batch, learn=False)
            drawn = self.chain.shared["random_state"].copy()
            self.chain.shared[...] = kept
            self.chain.shared["random_state"] = drawn
            found = DecidedNumber(name, float(outputs.predictions[0]), float(outputs.scores[0, 0]))
            self._open[name] = record, found
            self.decided += 1
        return found

    def cost(self, id: str, value: float, *, importance: float = 1.0) -> None:
        """Learn the cost of a decision, which then no longer waits.

        Args:
            id: of the decision.
            value: the less the better, finite: a price that was refused may cost 0, and one that was paid its negative.
            importance: ≥ 0.

        Raises:
            DataError: a decision that does not wait, or numbers that cannot be learned.
        """
        if not is_number(value) or not is_number(importance) or importance < 0:
            raise DataError(f"value: got {value!r} with importance {importance!r}, wanted finite numbers, the last ≥ 0")
        with self.chain.turn:
            if id not in self._open:
                text = f"id: there is no decision {shortened(str(id))!r} that waits for its cost"
                raise DataError(f"{text}; {did_you_mean(str(id), self._open)}" if self._open else text)
            record, decided = self._open.pop(id)
            label = {"number": np.float32(decided.number), "cost": value, "density": np.float32(decided.density)}
            self.chain.learn({**record, "label": label, "importance": importance})
            self.learned += 1
