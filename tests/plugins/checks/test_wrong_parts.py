"""Wrong models of online EM, readers and commands are caught, each by the check that is for it."""

import json
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from hutch.core.chain.registry import Command, Registry
from hutch.em.checks import runs_of_model
from hutch.em.models import PPCA_ENTRY, ModelEntry
from hutch.plugin import DataError, EMModel, to_batches
from hutch.plugins.checks.command import runs_of_command
from hutch.plugins.checks.reader import runs_of_reader


@dataclass(frozen=True)
class Rates:
    value: np.ndarray


class Counts(EMModel[Rates]):
    """Independent Poisson counts, as they should be."""

    def statistics(self, batch: Any, parameters: Rates) -> Any:
        return batch.mean(axis=0)

    def maximise(self, statistics: Any) -> Rates:
        return Rates(statistics.copy())

    def log_likelihood(self, batch: Any, parameters: Rates) -> Any:
        return (batch * np.log(parameters.value) - parameters.value).sum(axis=1)

    def expected_statistics(self, parameters: Rates) -> Any:
        return parameters.value.copy()


class SumsInsteadOfMeans(Counts):
    def statistics(self, batch: Any, parameters: Rates) -> Any:
        return batch.sum(axis=0)

    def maximise(self, statistics: Any) -> Rates:
        return Rates(statistics / 120)


class OneNumberForAllRows(Counts):
    def log_likelihood(self, batch: Any, parameters: Rates) -> Any:
        return np.array([super().log_likelihood(batch, parameters).mean()])


class RowsDependOnEachOther(Counts):
    def log_likelihood(self, batch: Any, parameters: Rates) -> Any:
        return super().log_likelihood(batch - batch.mean(axis=0), parameters)


class StepTooFar(Counts):
    def maximise(self, statistics: Any) -> Rates:
        return Rates(statistics + 3)

    def expected_statistics(self, parameters: Rates) -> Any:
        return parameters.value - 3


class WrongExpectation(Counts):
    def expected_statistics(self, parameters: Rates) -> Any:
        return parameters.value**2


class Matrix(Counts):
    def statistics(self, batch: Any, parameters: Rates) -> Any:
        return batch.mean(axis=0, keepdims=True)

    def maximise(self, statistics: Any) -> Rates:
        return Rates(statistics[0])


def entry_of(Model: Callable[[], Any]) -> ModelEntry:
    return ModelEntry(
        "counts",
        lambda rows, rank, seed, missing: (Model(), Rates(rows.mean(axis=0))),
        Rates,
        lambda known: Model(),
        "",
    )


def failing(runs: dict[str, Callable[[], None]]) -> dict[str, str]:
    found = {}
    for name, run in runs.items():
        try:
            run()
        except AssertionError as error:
            found[name] = str(error)
    return found


@pytest.mark.parametrize("entry", [entry_of(Counts), PPCA_ENTRY])
def test_right_models_pass(entry: ModelEntry) -> None:
    assert not failing(runs_of_model(entry, Registry()))


@pytest.mark.parametrize(
    ("entry", "check", "message"),
    [
        (entry_of(SumsInsteadOfMeans), "statistics_are_means", "statistics of 45 and of 75 rows, mixed"),
        (entry_of(Matrix), "statistics_are_means", "got float64 .1, 5., wanted one flat array of float64"),
        (entry_of(OneNumberForAllRows), "likelihood_is_of_each_row", "got the shape .1,., wanted .120,."),
        (entry_of(RowsDependOnEachOther), "likelihood_is_of_each_row", "log_likelihood of some of the rows"),
        (entry_of(StepTooFar), "likelihood_never_falls", "step 1: the mean log-likelihood fell from"),
        (entry_of(WrongExpectation), "expected_statistics_are_a_fixed_point", "maximise.expected_statistics"),
        (replace(entry_of(Counts), parameters=str), "parameters_can_be_stored", "got Rates, registered str"),
    ],
)
def test_wrong_models_are_caught(entry: ModelEntry, check: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        runs_of_model(entry, Registry())[check]()


def records(path: str) -> Iterator[Any]:
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield json.loads(line)
                except json.JSONDecodeError as error:
                    raise DataError(f"{path}:{number}: {error.msg}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}") from None


def right(path: str, options: Any, columns: Any = None) -> Any:
    return to_batches(records(path), options, columns)


def raises_anything(path: str, options: Any, columns: Any = None) -> Any:
    with open(path, encoding="latin-1") as file:
        yield from to_batches([json.loads(line) for line in file], options, columns)


def names_nothing(path: str, options: Any, columns: Any = None) -> Any:
    try:
        yield from right(path, options, columns)
    except DataError:
        raise DataError("bad file") from None


KEPT: list[Any] = []


def leaves_files_open(path: str, options: Any, columns: Any = None) -> Any:
    try:
        KEPT.append(open(path, "rb"))
    except OSError as error:
        raise DataError(f"{path}: {error}") from None
    return iter([])


def gives_text(path: str, options: Any, columns: Any = None) -> Any:
    yield from records(path) if False else [""]


def invents(path: str, options: Any, columns: Any = None) -> Any:
    return iter([])


def test_a_right_reader_passes() -> None:
    assert not failing(runs_of_reader(right, Registry()))


@pytest.mark.parametrize(
    ("reader", "check", "message"),
    [
        (raises_anything, "a_missing_file_is_named", "got FileNotFoundError"),
        (raises_anything, "random_bytes_are_refused", "got JSONDecodeError.* wanted a DataError with the place"),
        (names_nothing, "a_missing_file_is_named", "got the message 'bad file', wanted the file's name in it"),
        (gives_text, "an_empty_file_is_read_or_refused", "got str among the batches, wanted Batch"),
        (invents, "a_missing_file_is_named", "a file that does not exist: got batches, wanted a DataError"),
        pytest.param(
            leaves_files_open,
            "files_are_closed",
            "got 5 files open after 5 runs",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="open files are listed in /proc"),
        ),
    ],
)
def test_wrong_readers_are_caught(reader: Any, check: str, message: str) -> None:
    try:
        with pytest.raises(AssertionError, match=message):
            runs_of_reader(reader, Registry())[check]()
    finally:
        while KEPT:
            KEPT.pop().close()


def test_wrong_commands_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("wrong_commands")
    exec(
        "def plain(path): 'Says.'\ndef silent(path: str): pass\ndef fine(path: str): 'Says.'\nnumber = 7", vars(module)
    )
    monkeypatch.setitem(sys.modules, "wrong_commands", module)
    expected = {
        "fine": {},
        "plain": {"arguments_are_typed": "wrong_commands:plain: path has no annotation, wanted one such as path: str"},
        "silent": {
            "says_what_it_does": "wrong_commands:silent: got no docstring, wanted one: it is the text of --help"
        },
        "number": {"is_found": "wrong_commands:number: got int, wanted a function"},
    }
    for name, wanted in expected.items():
        assert failing(runs_of_command(Command(f"wrong_commands:{name}", "Say."), Registry())) == wanted
    missing = failing(runs_of_command(Command("wrong_commands:fine", ""), Registry()))
    assert missing == {"says_what_it_does": "help: got '', wanted one line"}
    with pytest.raises(AssertionError, match="got AttributeError: .* wanted a function"):
        runs_of_command(Command("wrong_commands:nothing", "Say."), Registry())["is_found"]()
