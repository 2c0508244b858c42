"""Predictions made by several threads come as those of one do: in order, with their messages and errors."""

import hashlib
import signal
from collections.abc import Iterator
from pathlib import Path
from threading import active_count
from typing import Any

import numpy as np
import pytest

from hutch.chain import Chain
from hutch.core.batch import Batch
from hutch.core.chain.derived import first_class
from hutch.core.chain.outputs import Predicted
from hutch.core.data.files import InputFiles
from hutch.core.errors import DataError, UsageError
from hutch.core.run.in_threads import predicted
from hutch.core.run.interrupt import Interruption
from hutch.core.run.run import Notes
from hutch.core.text.parser import ParserOptions, TextParser
from hutch.core.threads import thread_count

LINES = [f"{1 if i % 3 else -1} |f a{i % 5} b{i % 7}:{i / 9}" for i in range(120)]


def chain() -> Chain:
    made = Chain.from_config({"weights": {"bits": 10}, "chain": ["linear"]})
    made.learn(LINES)
    return made


class Data:
    """Batches of ten lines; something is said before each, and an error may stand in the place of one."""

    may_run_ahead, cached = True, False

    def __init__(self, notes: Notes | None = None, error_at: int = 99, batches: int = 12) -> None:
        self.held, self.asked = 1, 0
        self._notes, self._error_at, self._batches = notes, error_at, batches

    def __iter__(self) -> Iterator[Batch]:
        parser = TextParser(ParserOptions(bits=10), valid=self.held)
        for number in range(self._batches):
            self.asked = number + 1
            if self._notes is not None:
                self._notes.say(f"reading {number}")
            if number == self._error_at:
                raise DataError(f"batch {number} is bad")
            yield parser.parse("".join(f"{line}\n" for line in LINES[10 * number : 10 * number + 10]).encode())


def story(threads: int, **how: Any) -> list[str]:
    """What happens in which order."""
    notes, said = Notes(), []
    notes.say = said.append
    try:
        for item in predicted(chain(), Data(notes, **how), False, notes, threads):
            batch = item.batch if isinstance(item, Predicted) else item
            said.append(f"{len(batch)} from {batch.values[1]:.6f}")
    except DataError as error:
        said.append(str(error))
    assert notes.say == said.append
    return said


@pytest.mark.parametrize("how", [{}, *({"error_at": k} for k in (0, 1, 5)), *({"batches": k} for k in (0, 1, 2, 3))])
def test_messages_and_errors_come_where_they_belong(how: dict[str, int]) -> None:
    before = active_count()
    assert story(2, **how) == story(3, **how) == story(7, **how) == story(1, **how)
    assert active_count() == before


@pytest.mark.parametrize(
    ("layers", "cached", "threads", "ahead"),
    [
        (["linear"], False, 2, False),
        (["linear"], False, 4, True),
        (["linear"], True, 2, True),
        ([{"linear": {"interactions": [["f", "f"]]}}], False, 2, True),
        (["binary", "linear"], False, 2, True),
        (["binary", "linear"], False, 1, False),
    ],
)
def test_a_chain_as_fast_as_its_parser_leaves_it_its_processor(
    layers: list[Any], cached: bool, threads: int, ahead: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUTCH_THREADS", str(threads))
    made, data = Chain.from_config({"weights": {"bits": 10}, "chain": layers}), Data()
    data.cached = cached
    assert all(isinstance(item, Predicted) == ahead for item in predicted(made, data, False))


def test_no_thread_works_on_after_the_iteration_was_left() -> None:
    before, data = active_count(), Data()
    found: Any = iter(predicted(chain(), data, False, threads=3))
    assert isinstance(next(found), Predicted)
    assert active_count() > before and data.asked == 4
    found.close()
    assert active_count() == before


def test_one_batch_needs_no_thread() -> None:
    [batch] = predicted(chain(), Data(batches=1), False, threads=2)
    assert isinstance(batch, Batch)


def test_what_is_passed_by() -> None:
    data, plain = Data(), chain()
    assert predicted(plain, data, False, threads=1) is data
    asks = Chain.from_config({"chain": [{"active": {}}, {"linear": {"loss": "logistic"}}]})
    assert predicted(asks, data, False, threads=2) is data
    data.may_run_ahead = False
    assert predicted(plain, data, False, threads=2) is data
    assert not InputFiles(["-"], ParserOptions(), {}).may_run_ahead


def test_losses_of_a_plugin_count_their_failures_in_one_chain() -> None:
    engine = chain()
    assert engine.predicts_alone
    engine.layers[0].context.loss_records[0][1]["own_value"] = 1
    assert not engine.predicts_alone


def test_layers_of_a_twin_have_what_was_learned() -> None:
    engine = Chain.from_config({"chain": [{"one_against_all": {"classes": 3}}, "linear"]})
    engine.learn(["0 |f a", "2 |f b"])
    twin = engine.twin()
    assert twin.weights is engine.weights
    assert first_class(twin.layers[0]) == 0
    np.testing.assert_array_equal(twin.arrays()["layer.1.linear.norms"], engine.arrays()["layer.1.linear.norms"])
    twin.arrays()["layer.1.linear.norms"][:] = 7
    assert engine.arrays()["layer.1.linear.norms"].max() < 7


@pytest.mark.parametrize("ending", ["vw", "csv"])
def test_files_give_the_same_predictions(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, random = tmp_path / f"data.{ending}", np.random.default_rng(1)
    form = "1 |f {0} x:{1}\n" if ending == "vw" else "1,{0},{1}\n"
    rows = [form.format(f"word{k}", x) for k, x in enumerate(random.normal(size=100_000).tolist())]
    path.write_text(("" if ending == "vw" else "label,word,x\n") + "".join(rows))
    engine, found = chain(), []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("HUTCH_THREADS", threads)
        found.append(hashlib.sha256(engine.predict(path).tobytes()).hexdigest())
    assert len(set(found)) == 1
    assert engine.statistics.examples == len(LINES)


def test_a_signal_ends_the_iteration_after_what_is_being_done() -> None:
    before, interruption, seen = active_count(), Interruption(), 0
    with interruption:
        for _ in interruption.until_stopped(predicted(chain(), Data(), False, threads=3)):
            seen += 1
            if seen == 4:
                signal.raise_signal(signal.SIGINT)
    assert (seen, interruption.exit_code, active_count()) == (4, 130, before)


@pytest.mark.parametrize("given", ["0", "-1", "two", "1.5", "257", "²", " 2"])
def test_a_number_of_threads_that_is_none(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUTCH_THREADS", given)
    with pytest.raises(UsageError, match="HUTCH_THREADS: got .*, wanted a number of threads, 1 to 256"):
        thread_count()


def test_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUTCH_THREADS", "7")
    assert thread_count() == 7
    monkeypatch.setenv("HUTCH_THREADS", "")
    assert 1 <= thread_count() <= 256
