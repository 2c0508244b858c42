"""Chains that learn from shards: what comes out, the same bits everywhere, what is refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed_tasks import Dying

from hutch import Chain
from hutch.core.errors import DataError, UsageError
from hutch.distributed import rounds
from hutch.distributed.rounds import Round, train
from hutch.jobs.processes import Processes

LINEAR = {"chain": [{"linear": {"loss": "logistic"}}], "weights": {"bits": 12}}
TREE = {"chain": [{"filter_tree": {"classes": 3}}, "linear"], "weights": {"bits": 12}}
RATINGS = {"chain": [{"dyadic": {"left": "user", "right": "item", "rank": 2}}], "weights": {"bits": 12}}

FIELDS = {"chain": [{"fields": {"loss": "squared", "rank": 2}}], "weights": {"bits": 12}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Binary labels, classes and ratings, two files of each."""
    random, found = np.random.default_rng(0), tmp_path_factory.mktemp("data")
    users, items = random.normal(size=(40, 2)), random.normal(size=(30, 2))
    texts: dict[str, list[str]] = {"binary": [], "classes": [], "ratings": []}
    for i in range(4000):
        u, v = random.integers(40), random.integers(30)
        rating = users[u] @ items[v] + users[u, 0] + 0.3 * random.normal()
        texts["ratings"].append(f"{rating:.3f} |user u{u} |item i{v}")
        label = random.integers(3)
        noise = " ".join(f"n{k}" for k in random.integers(0, 50, 4))
        words = f"|words c{label if random.random() < 0.8 else random.integers(3)} {noise}"
        texts["classes"].append(f"{label + 1} {words}")
        texts["binary"].append(f"{1 if label else -1} {words} |user u{i % 9}")
    for name, lines in texts.items():
        for part in range(2):
            (found / f"{name}{part}.vw").write_text("\n".join(lines[part::2]) + "\n")
    return found


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2) as engine:
        yield engine


def files(folder: Path, name: str) -> list[Path]:
    return [folder / f"{name}{part}.vw" for part in range(2)]


def loss(chain: Chain, path: Path) -> float:
    """Mean loss of a chain on a file, nothing learned."""
    chain.predict(path)
    return chain.last_run.average_loss


@pytest.mark.parametrize(
    ("name", "config", "by", "worse"),
    [
        ("binary", LINEAR, (), 1.05),
        ("binary", LINEAR, ("user",), 1.05),
        ("classes", TREE, (), 1.1),
        ("ratings", RATINGS, ("user", "item"), 1.1),
        ("ratings", FIELDS, ("user", "item"), 1.2),
    ],
)
def test_shards_learn_about_as_well_as_one_process_and_alike_everywhere(
    name: str, config: dict[str, Any], by: tuple[str, ...], worse: float, folder: Path, processes: Processes
) -> None:
    rounds: list[Round] = []
    settings: dict[str, Any] = {"shards": 4, "by": by, "passes": 3}
    here = train(files(folder, name), config, **settings, on_round=lambda chain, done: rounds.append(done))
    there = train(files(folder, name), config, **settings, engine=processes)
    for key, array in here.arrays().items():
        assert np.array_equal(array, there.arrays()[key]), key
    assert [done.examples for done in rounds] == [3600] * len(rounds)
    one = Chain.from_config(config)
    one.learn(files(folder, name), passes=3)
    assert loss(here, folder / f"{name}0.vw") < worse * loss(one, folder / f"{name}0.vw")
    best = min(done.holdout_loss for done in rounds)
    assert best < 0.9 * rounds[0].average_loss
    assert here.remarks == {"shards": "4", "by": ",".join(by)}


def test_the_step_is_the_one_that_does_best_on_what_is_held_out(folder: Path) -> None:
    found: dict[int, Round] = {}
    for holdout in (0, 10):
        train(
            files(folder, "binary"),
            LINEAR,
            shards=8,
            holdout=holdout,
            on_round=lambda c, d, h=holdout: found.update({h: d}),
        )
    assert found[0].step == 1 and np.isnan(found[0].holdout_loss)
    assert found[10].step > 1


@pytest.mark.parametrize("shards", [1, 2, 4])
def test_a_step_may_be_as_long_as_there_are_shards(folder: Path, shards: int) -> None:
    found: list[Round] = []
    slow = {"chain": [{"linear": {"loss": "logistic", "learning_rate": 1e-4}}], "weights": {"bits": 12}}
    train(files(folder, "binary"), slow, shards=shards, on_round=lambda chain, done: found.append(done))
    assert found[0].step == shards  # of a learner so slow the longest step is the best


def test_blocks_take_turns_along_the_diagonals(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []
    merge = rounds._Job._merge

    def note(job: Any, parts: list[int]) -> tuple[float, float]:
        seen.append(parts)
        return merge(job, parts)

    monkeypatch.setattr(rounds._Job, "_merge", note)
    train(files(folder, "ratings"), RATINGS, shards=3, by=("user", "item"))
    assert seen == [[3 * k + (k + turn) % 3 for k in range(3)] for turn in range(3)]


def test_the_chain_is_that_of_the_best_pass_and_not_of_the_last(tmp_path: Path) -> None:
    random, path = np.random.default_rng(1), tmp_path / "noise.vw"
    path.write_text("".join(f"{random.choice([-1, 1])} |w a{random.integers(300)}\n" for _ in range(400)))
    after: list[tuple[float, Any]] = []
    see = lambda chain, done: after.append((done.holdout_loss, chain.weights.copy()))  # noqa: E731
    config = {"chain": [{"linear": {"loss": "logistic", "learning_rate": 20.0}}], "weights": {"bits": 12}}
    chain = train([path], config, shards=2, passes=6, patience=2, on_round=see)
    best = min(range(len(after)), key=lambda k: after[k][0])
    assert best == len(after) - 3 and after[best][0] < after[-1][0]
    assert np.array_equal(chain.weights, after[best][1]) and not np.array_equal(chain.weights, after[-1][1])


@pytest.mark.parametrize("by", [(), ("user", "item")])
def test_all_passes_are_made_where_nothing_is_held_out(by: tuple[str, ...], folder: Path) -> None:
    done: list[int] = []
    see = lambda chain, round: done.append(round.number)  # noqa: E731
    settings: dict[str, Any] = {"shards": 2, "by": by, "passes": 6, "patience": 1, "on_round": see}
    name, config = ("ratings", RATINGS) if by else ("binary", LINEAR)
    chain = train(files(folder, name), config, **settings, holdout=0)
    assert done == [1, 2, 3, 4, 5, 6]
    assert loss(chain, folder / f"{name}0.vw") == chain_after(folder, name, config, by)


def chain_after(folder: Path, name: str, config: dict[str, Any], by: tuple[str, ...]) -> float:
    """Loss after six passes, one call of `train` each."""
    chain = Chain.from_config(config)
    for number in range(6):
        if number:
            chain.end_pass()
        train(files(folder, name), chain, shards=2, by=by, holdout=0)
    return loss(chain, folder / f"{name}0.vw")


def test_a_model_goes_on_where_it_was(folder: Path, tmp_path: Path) -> None:
    states: list[Any] = []
    see = lambda chain, done: states.append(chain.weights.copy())  # noqa: E731
    train(files(folder, "classes"), TREE, shards=2, passes=2, patience=9, on_round=see)
    first = train(files(folder, "classes"), TREE, shards=2)
    first.end_pass()
    first.save(tmp_path / "model")
    loaded = Chain.load(tmp_path / "model")
    assert loaded.remarks["shards"] == "2"
    second = train(files(folder, "classes"), loaded, shards=2)
    assert np.array_equal(states[1], second.weights)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"shards": 0}, UsageError, "shards: got 0"),
        ({"shards": 2, "passes": 0}, UsageError, "passes: got 0"),
        ({"shards": 2, "by": ("a", "b", "c")}, UsageError, "by: got a, b, c"),
        ({"shards": 65, "by": ("a", "b")}, UsageError, "65² blocks"),
        ({"shards": 2, "by": ("usr",)}, DataError, "no example has the namespace 'usr'"),
        ({"shards": 2, "holdout": 1}, DataError, "nothing to learn from"),
    ],
)
def test_what_makes_no_sense_is_refused(
    settings: dict[str, Any], error: type[Exception], message: str, folder: Path
) -> None:
    with pytest.raises(error, match=message):
        train(files(folder, "binary"), LINEAR, **settings)


def test_wrong_data_is_told_with_its_place(folder: Path, tmp_path: Path, processes: Processes) -> None:
    path, told = tmp_path / "wrong.vw", []
    path.write_text("1 |a x\nx |a y\n1 |a z\n")
    train([path], LINEAR, shards=2, holdout=0, on_problem=told.append)
    assert "wrong.vw:2:1" in told[0]
    with pytest.raises(DataError, match="wrong.vw:2:1"):
        train([path], LINEAR, shards=2, strict=True, engine=processes)
    with pytest.raises(DataError, match="no such file"):
        train([tmp_path / "none.vw"], LINEAR, shards=2)
    with pytest.raises(UsageError, match="got standard input"):
        train(["-"], LINEAR, shards=2)


@pytest.mark.slow
def test_the_bits_are_the_same_with_a_process_killed_in_every_round(
    folder: Path, tmp_path: Path, processes: Processes
) -> None:
    dying = Dying(processes, tmp_path, 2)
    here, there = (
        train(files(folder, "binary"), LINEAR, shards=2, passes=2, patience=9, engine=each) for each in (None, dying)
    )
    assert dying.killed == 2
    for name, array in here.arrays().items():
        assert np.array_equal(array, there.arrays()[name]), name


def test_the_columns_of_tables_are_remembered(tmp_path: Path) -> None:
    for name, town in ("a.csv", "city"), ("b.csv", "city"), ("c.csv", "town"):
        (tmp_path / name).write_text(f"label,{town},size\n1,Oslo,5\n-1,Rome,7\n")
    chain = train([tmp_path / "a.csv", tmp_path / "b.csv"], LINEAR, shards=2, holdout=0)
    assert chain.watch.known == {"city": True, "size": True}
    with pytest.raises(DataError, match="c.csv: no column 'city', new column 'town'"):
        chain.predict(tmp_path / "c.csv")


def test_lists_have_the_length_that_those_of_other_files_and_of_the_model_had(tmp_path: Path) -> None:
    for name, made in ("a", "[0.5, 1.5, 2.5]"), ("b", "[0.5, 1.5]"), ("c", "[1, 2]"):
        rows = [f'{{"label": {label}, "e": {made}}}\n' for label in (1, -1, 1, -1)]
        (tmp_path / f"{name}.jsonl").write_text("".join(rows))
    a, b, c = (tmp_path / f"{name}.jsonl" for name in "abc")
    chain = train([a, a], LINEAR, shards=2, holdout=0)
    assert chain.watch.lengths == {"e": 3}
    with pytest.raises(DataError, match="b.jsonl: 'e': got lists of 2 numbers, wanted lists of 3 numbers as in other"):
        train([a, b], LINEAR, shards=2, holdout=0)
    with pytest.raises(DataError, match="b.jsonl: 'e': got lists of 2 numbers, wanted lists of 3 numbers as in other"):
        train([b], chain, shards=2, holdout=0)
    with pytest.raises(DataError, match="c.jsonl: 'e': got lists of whole numbers, wanted lists of 3 numbers"):
        train([a, c], LINEAR, shards=2, holdout=0)
