"""More examples than a reader takes at once are learned as they are in small pieces, through every door."""

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from hutch import Chain

COUNT = 9_000
LINEAR = ["linear"]
EXPLORER = ["explore_epsilon", "contextual_bandit", "cost_sensitive_with_features", "linear"]


def lines(places: Sequence[int]) -> list[str]:
    return [f"{i % 3} |f w{i % 977} x:{i % 5} |t u{i % 13}" for i in places]


def records(places: Sequence[int]) -> list[Any]:
    return [{"label": i % 3, "f": {f"w{i % 977}": 1.0, "x": i % 5}, "t": [f"u{i % 13}"]} for i in places]


def rows(places: Sequence[int]) -> list[Any]:
    return [{"label": i % 3, "word": f"w{i % 977}", "x": i % 5} for i in places]


def frame(places: Sequence[int]) -> Any:
    return pytest.importorskip("pandas").DataFrame(rows(places))


def file(places: Sequence[int]) -> Any:
    return io.StringIO("\n".join(lines(places)))


def decisions(places: Sequence[int]) -> list[str]:
    return [line for i in places for line in (f"shared |u u{i % 7}", f"0:{i % 2}:0.5 |a b", f"|a c{i % 31}", "")]


def decision_records(places: Sequence[int]) -> list[Any]:
    actions = [[{"a": ["b"]}, {"a": [f"c{i % 31}"]}] for i in places]
    return [
        {"shared": {"u": [f"u{i % 7}"]}, "actions": two, "chosen": 0, "cost": float(i % 2), "probability": 0.5}
        for i, two in zip(places, actions, strict=True)
    ]


DOORS: list[tuple[Callable[[Sequence[int]], Any], list[str]]] = [
    *((door, LINEAR) for door in (lines, records, rows, frame, file)),
    *((door, EXPLORER) for door in (decisions, decision_records)),
]


@pytest.mark.parametrize(("door", "layers"), DOORS, ids=lambda value: getattr(value, "__name__", ""))
def test_pieces_and_passes(door: Callable[[Sequence[int]], Any], layers: list[str]) -> None:
    whole, pieces, twice = (Chain.from_config({"chain": layers}) for _ in range(3))
    places = range(COUNT)
    found = whole.learn(door(places))
    apart = [pieces.learn(door(places[start : start + 500])) for start in range(0, COUNT, 500)]
    assert np.concatenate(apart).tobytes() == found.tobytes()
    assert pieces.weights.tobytes() == whole.weights.tobytes()
    predicted = [whole.predict(door(places[start : start + 500])) for start in range(0, COUNT, 500)]
    assert np.concatenate(predicted).tobytes() == whole.predict(door(places)).tobytes()
    whole.end_pass()
    again = whole.learn(door(places))
    assert twice.learn(door(places), passes=2).tobytes() == again.tobytes()
    assert twice.weights.tobytes() == whole.weights.tobytes()
