import math
from collections.abc import Iterator
from pathlib import Path
from threading import active_count

import numpy as np
import pytest

from hutch.chain import Chain
from hutch.core.batch import Batch
from hutch.core.chain.engine import Outputs
from hutch.core.data.files import InputFiles
from hutch.core.run.passes import Holdout, run_passes
from hutch.core.run.progress import Progress, Schedule
from hutch.core.text.parser import ParserOptions, TextParser

LINES = b"".join(b"%d |f a%d b%d\n" % (1 if i % 3 else -1, i % 3, i % 7) for i in range(40))


class Data:
    """The same examples in each pass, in two batches."""

    def __init__(self) -> None:
        self.passes = 0

    def __iter__(self) -> Iterator[Batch]:
        self.passes += 1
        parser = TextParser(ParserOptions())
        rows = LINES.splitlines(keepends=True)
        yield parser.parse(b"".join(rows[:15]))
        yield parser.parse(b"".join(rows[15:]))


def chain() -> Chain:
    return Chain.from_config({"weights": {"bits": 10}, "chain": [{"linear": {"learning_rate": 0.1}}]})


def run(engine: Chain, data: Data, **options: object) -> tuple[object, Progress]:
    progress = Progress(engine, Schedule())
    return run_passes(engine, data, progress, **options), progress  # type: ignore[arg-type]


def test_one_pass_is_plain_learning() -> None:
    one, other = chain(), chain()
    done, _ = run(one, Data())
    other.learn(LINES)
    assert one.weights.tobytes() == other.weights.tobytes()
    assert (done.passes, done.statistics.examples, done.best_holdout) == (1, 40, None)  # type: ignore[attr-defined]


def test_held_out_examples_are_counted_and_never_learned() -> None:
    engine, data = chain(), Data()
    rest = chain()
    rows = LINES.splitlines(keepends=True)
    done, progress = run(engine, data, passes=2, holdout=Holdout(period=4, patience=9))
    assert data.passes == 2 and progress.statistics.examples <= 60
    assert done.statistics.examples == 60 and done.statistics.weighted_holdout == 20  # type: ignore[attr-defined]
    assert done.average_loss == done.best_holdout  # type: ignore[attr-defined]
    kept = b"".join(row for i, row in enumerate(rows, 1) if i % 4)
    rest.learn(kept)
    one, _ = run(engine := chain(), Data(), passes=1, holdout=Holdout(period=4))
    np.testing.assert_array_equal(engine.weights[:, 0], rest.weights[:, 0])


def test_all_after_a_number_can_be_held_out() -> None:
    done, _ = run(chain(), Data(), passes=2, holdout=Holdout(period=10, after=30))
    assert done.statistics.examples == 60 and done.statistics.weighted_holdout == 20  # type: ignore[attr-defined]


def test_no_improvement_ends_the_run_and_brings_the_best_back(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, data = chain(), Data()
    losses = iter([0.5, 0.3, 0.4, 0.3, 0.6, 0.1])
    weights: list[bytes] = []

    def fake(self: object) -> float:
        weights.append(engine.weights.tobytes())
        return next(losses)

    monkeypatch.setattr("hutch.core.run.progress.Progress.end_pass", fake)
    done, _ = run(engine, data, passes=9, holdout=Holdout(period=4, patience=3))
    assert (done.passes, done.best_holdout) == (5, 0.3)  # type: ignore[attr-defined]
    assert engine.weights.tobytes() == weights[1] != weights[4]
    assert done.statistics.examples == 5 * 30  # type: ignore[attr-defined]


def test_a_holdout_that_is_never_met_is_not_a_number() -> None:
    done, _ = run(chain(), Data(), passes=2, holdout=Holdout(after=1000))
    assert math.isnan(done.average_loss)  # type: ignore[attr-defined]


def test_no_pass_follows_a_stop() -> None:
    data = Data()
    done, _ = run(chain(), data, passes=5, stopped=lambda: data.passes == 2)
    assert (done.passes, data.passes) == (2, 2)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("holdout", "text"),
    [(Holdout(10), "every number divisible by 10"), (Holdout(10, 50), "all after number 50")],
)
def test_a_holdout_says_what_it_is(holdout: Holdout, text: str) -> None:
    assert holdout and str(holdout) == text
    assert not Holdout()


def test_an_error_while_learning_ends_the_threads_that_read_ahead(tmp_path: Path) -> None:
    path = tmp_path / "data.vw"
    path.write_bytes(LINES * 20_000)
    before, seen = active_count(), []

    def fail(batch: Batch, outputs: Outputs) -> None:
        seen.append(active_count())
        raise RuntimeError("no room")

    with pytest.raises(RuntimeError, match="no room") as caught:
        run(chain(), InputFiles([str(path)], ParserOptions(), {}), sink=fail)  # type: ignore[arg-type]
    assert seen[0] > before and active_count() == before, caught
