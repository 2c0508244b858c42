"""When several threads learn, and that they end with the pass."""

from collections.abc import Iterator
from threading import active_count
from typing import Any

import pytest

from hutch.chain import Chain
from hutch.core.batch import Batch
from hutch.core.chain.apart import Apart
from hutch.core.chain.outputs import Learned
from hutch.core.errors import DataError
from hutch.core.run.learning import Learners
from hutch.core.text.parser import TextParser

SMALL, LARGE = "3 |f a b c\n", "3 |f a b c\n" * 1700


def batches(chain: Chain, *texts: str, fails: bool = False) -> Iterator[Batch]:
    parser = TextParser(chain.parser)
    for text in texts:
        yield parser.parse(text.encode())
    if fails:
        raise DataError("no more of it")


def made(classes: int = 16) -> Chain:
    return Chain.from_config({"weights": {"bits": 8}, "chain": [{"one_against_all": {"classes": classes}}, "linear"]})


def learned(chain: Chain, learners: Learners, *texts: str) -> list[bool]:
    """Whether each batch was learned by threads."""
    found = []
    for item in learners.learned(batches(chain, *texts), 0, 0):
        found.append(isinstance(item, Learned))
        chain.run([item])
    return found


def test_small_batches_are_one_threads() -> None:
    chain, before = made(), active_count()
    learners = Learners(chain, 2)
    assert learned(chain, learners, SMALL, LARGE, SMALL, LARGE) == [False, True, False, True]
    assert learned(chain, learners, LARGE) == [True]
    assert active_count() == before
    assert chain.statistics.examples == 3 * 1700 + 2


@pytest.mark.parametrize(("classes", "threads", "by"), [(15, 2, 1), (16, 2, 2), (16, 5, 2), (24, 5, 3), (16, 1, 1)])
def test_a_thread_has_eight_sub_models_at_least(classes: int, threads: int, by: int) -> None:
    chain = made(classes)
    learners = Learners(chain, threads)
    assert learned(chain, learners, LARGE * 2) == [by > 1]
    assert learners._apart is None if by == 1 else len(learners._apart._twins) == by  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("classes", "linear", "bounds"),
    [
        (15, {}, None),
        (19, {}, [0, 8, 19]),
        (16, {}, [0, 8, 16]),
        (20, {}, [0, 12, 20]),
        (33, {"adaptive": False, "normalized": False}, [0, 16, 33]),
        (31, {"adaptive": False, "normalized": False}, None),
    ],
)
def test_threads_divide_no_cache_line(classes: int, linear: dict[str, Any], bounds: list[int] | None) -> None:
    layers = [{"one_against_all": {"classes": classes}}, {"linear": linear}]
    learners = Learners(Chain.from_config({"weights": {"bits": 8}, "chain": layers}), 2)
    assert (learners._count == 1) == (bounds is None)
    if bounds is not None:
        shares = Apart(learners._engine, 2, learners._together)._shares
        assert [*shares["first"].tolist(), int(shares["last"][-1])] == bounds
        assert shares["last"][:-1].tolist() == shares["first"][1:].tolist()


@pytest.mark.parametrize("variable", ["1", "2"])
def test_the_environment_says_how_many(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUTCH_THREADS", variable)
    chain = made()
    assert learned(chain, Learners(chain), LARGE) == [variable == "2"]


def test_threads_end_with_an_error() -> None:
    chain, before = made(), active_count()
    with pytest.raises(DataError, match="no more of it"):
        chain.run(Learners(chain, 2).learned(batches(chain, LARGE, fails=True), 0, 0))
    assert active_count() == before
    assert chain.statistics.examples == 1700


def test_threads_end_where_the_data_is_left() -> None:
    chain, before = made(), active_count()
    items: Any = Learners(chain, 2).learned(batches(chain, LARGE, LARGE), 0, 0)
    chain.run([next(items)])
    assert active_count() == before + 1
    items.close()
    assert active_count() == before


def test_whoever_sees_rows_finds_the_chain_as_it_is_then(monkeypatch: pytest.MonkeyPatch) -> None:
    stories = []
    for threads in "12":
        monkeypatch.setenv("HUTCH_THREADS", threads)
        chain, seen = made(), []
        chain.learn(LARGE.splitlines(), on_progress=lambda event, c=chain, seen=seen: seen.append(c.weights.sum()))
        stories.append(seen)
    assert stories[0] == stories[1] and len(set(stories[0])) > 3
