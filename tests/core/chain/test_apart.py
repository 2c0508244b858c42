"""What several threads learn, each a share of the sub-models, is what one learns: to the bit, with the same reports."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hutch import Chain
from hutch.core.batch import Batch
from hutch.core.chain.apart import Apart
from hutch.core.chain.engine import Outputs
from hutch.core.errors import PluginError
from hutch.core.run.passes import Holdout, run_passes
from hutch.core.run.progress import Progress, Schedule
from hutch.core.text.parser import TextParser

pytestmark = [
    pytest.mark.filterwarnings("ignore:the loss 'poisson' gave nan"),
    pytest.mark.filterwarnings("ignore:.*this chain is not made for"),
]
VALUES = ["", ":0", ":1e-25", ":-0.5", ":3.7", ":1e12"]
IMPORTANCE = ["", "", "", " 0", " 1e-30", " 0.02", " 2.5"]


class Data:
    """Lines in batches of seven."""

    def __init__(self, chain: Chain, lines: list[str]) -> None:
        self._options, self._lines = chain.parser, lines

    def __iter__(self) -> Iterator[Batch]:
        parser = TextParser(self._options)
        for start in range(0, len(self._lines), 7):
            yield parser.parse("".join(f"{line}\n" for line in self._lines[start : start + 7]).encode())


def story(config: Any, lines: list[str], threads: int, before: dict[str, Any] | None = None, **how: Any) -> Any:
    """All that comes of learning: arrays, outputs of every example, events; and how often threads learned."""
    chain, events, outputs, used = Chain.from_config(config), [], [], []
    if before is not None:
        chain.restore(before)

    def see(batch: Batch, found: Outputs) -> None:
        columns = found.predictions, found.raw, found.queries, found.losses, found.scores
        outputs.append([column.copy() for column in columns])

    def learn(self: Apart, *arguments: Any) -> Any:
        used.append(1)
        return true_learn(self, *arguments)

    true_learn = Apart.learn
    progress = Progress(chain, Schedule(), [events.append])
    here = "hutch.core.run.learning"
    with (
        patch(f"{here}.WORTH", 0),
        patch(f"{here}.FEWEST", 1),
        patch(f"{here}.CACHE_LINE", 4),
        patch.object(Apart, "learn", learn),
    ):
        run_passes(chain, Data(chain, lines), progress, sink=see, threads=threads, **how)
    told = [(e.average_loss, e.since_last, e.weight, e.label, e.prediction, e.features, e.pass_number) for e in events]
    arrays = {name: np.array(array) for name, array in chain.arrays().items()}
    return arrays, outputs, told, len(used)


def agree(config: Any, lines: list[str], **how: Any) -> dict[str, Any]:
    """Check that one, two and three threads do the same; returns the model."""
    arrays, outputs, told, used = story(config, lines, 1, **how)
    assert used == 0
    for threads in (2, 3):
        others, found, said, used = story(config, lines, threads, **how)
        assert used == len(found) > 0
        for name, array in arrays.items():
            np.testing.assert_array_equal(others[name].view(np.uint8), array.view(np.uint8), err_msg=name)
        for one, other in zip(outputs, found, strict=True):
            for mine, theirs in zip(one, other, strict=True):
                np.testing.assert_array_equal(mine, theirs)
        assert repr(said) == repr(told)
    return arrays


FEATURES = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(VALUES)), max_size=20).map(
    lambda found: "|f " + " ".join(f"w{k}{value}" for k, value in found) + f" |g x{len(found) % 3}"
)
LABELS = st.tuples(st.sampled_from(["", "0", "1", "2", "3", "4", "5", "6"]), st.sampled_from(IMPORTANCE)).map(
    lambda found: found[0] + found[1] if found[0] else ""
)
COSTS = st.lists(st.tuples(st.integers(0, 6), st.sampled_from([":0", ":1", ":-2.5", ":7", ""])), max_size=9).map(
    lambda found: " ".join(f"{k}{cost}" for k, cost in found)
)
LINEAR = st.fixed_dictionaries(
    {"loss": st.sampled_from(["squared", "logistic", "hinge", "poisson"])},
    optional={
        "adaptive": st.booleans(),
        "normalized": st.booleans(),
        "invariant": st.booleans(),
        "power_t": st.sampled_from([0.5, 0.3]),
        "decay": st.just(0.5),
        "initial_weight": st.just(0.2),
        "max_prediction": st.just(0.7),
        "interactions": st.just([["f", "g"]]),
    },
)
TOPS = st.one_of(
    st.fixed_dictionaries(
        {"classes": st.integers(3, 6)},
        optional={"probabilities": st.booleans(), "predict_first": st.booleans(), "first_class": st.integers(0, 1)},
    ).map(lambda found: {"one_against_all": found}),
    st.fixed_dictionaries({"classes": st.integers(3, 6)}).map(lambda found: {"cost_sensitive_one_against_all": found}),
)
BETWEEN = st.sampled_from([[], [], [{"link": {"function": "logistic"}}], [{"ngrams": {"size": 2}}]])
RUNS = st.sampled_from([{}, {"passes": 3}, {"passes": 2, "holdout": Holdout(3)}, {"holdout": Holdout(0, 9)}])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), top=TOPS, between=BETWEEN, linear=LINEAR, how=RUNS)
def test_threads_change_no_bit(data: Any, top: Any, between: Any, linear: Any, how: Any) -> None:
    labels = COSTS if "cost_sensitive_one_against_all" in top else LABELS
    lines = data.draw(st.lists(st.tuples(labels, FEATURES).map(" ".join), min_size=1, max_size=30))
    agree({"weights": {"bits": 9}, "chain": [top, *between, {"linear": linear}]}, lines, scores=True, **how)


def lines_of(count: int, classes: int, seed: int = 0) -> list[str]:
    random = np.random.default_rng(seed)
    words = random.integers(0, 30, (count, 12))
    return [f"{1 + k % classes} |f " + " ".join(f"w{w}" for w in row) for k, row in enumerate(words)]


CLASSES: dict[str, Any] = {
    "weights": {"bits": 10},
    "chain": [{"one_against_all": {"classes": 9}}, {"linear": {"loss": "logistic"}}],
}


def test_learning_goes_on_exactly() -> None:
    lines = lines_of(60, 9)
    whole = agree(CLASSES, lines)
    half = agree(CLASSES, lines[:28])
    again = agree(CLASSES, lines[28:], before=half)
    for name, array in whole.items():
        np.testing.assert_array_equal(again[name], array, err_msg=name)


def test_one_example_may_be_predicted_while_a_row_is_reported() -> None:
    chain, found, lines = Chain.from_config(CLASSES), [], lines_of(60, 9)
    progress = Progress(chain, Schedule(), [lambda event: found.append(float(chain.predict(lines[0])[0]))])
    here = "hutch.core.run.learning"
    with patch(f"{here}.WORTH", 0), patch(f"{here}.FEWEST", 1):
        run_passes(chain, Data(chain, lines), progress, threads=2)
    assert len(found) > 3 and set(found) <= set(range(1, 10))
    np.testing.assert_array_equal(chain.arrays()["weights"], story(CLASSES, lines, 1)[0]["weights"])


def test_a_layer_that_teaches_more_often_than_it_says_is_refused() -> None:
    with patch("hutch.core.chain.apart._CALLS", 0), pytest.raises(PluginError, match="one_against_all: .* than `teach"):
        story(CLASSES, lines_of(20, 9), 2)


@pytest.mark.parametrize(
    ("layers", "apart"),
    [
        ([{"one_against_all": {"classes": 9}}, "linear"], True),
        ([{"one_against_all": {"classes": 9}}, {"linear": {"l1": 1e-6}}], False),
        ([{"one_against_all": {"classes": 9}}, {"linear": {"l2": 1e-6}}], False),
        ([{"one_against_all": {"classes": 9}}, {"linear": {"sparse_l2": 1e-6}}], False),
        ([{"one_against_all": {"classes": 9}}, "ftrl_proximal"], False),
        ([{"error_correcting_tournament": {"classes": 9}}, "linear"], False),
        ([{"filter_tree": {"classes": 9}}, "linear"], False),
        ([{"active": {}}, {"linear": {"loss": "logistic"}}], False),
    ],
)
def test_which_chains_learn_apart(layers: list[Any], apart: bool) -> None:
    assert Chain.from_config({"chain": layers}).may_learn_apart == apart


def test_losses_of_a_plugin_count_their_failures_in_one_chain() -> None:
    chain = Chain.from_config(CLASSES)
    chain.layers[-1]._losses[0][1]["own_value"] = 1
    assert not chain.may_learn_apart


@pytest.mark.parametrize("passes", [1, 2])
def test_files_teach_the_same(tmp_path: Path, passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path, found = tmp_path / "data.vw", []
    path.write_text("".join(f"{line}\n" for line in lines_of(4_000, 9)))
    monkeypatch.setattr("hutch.core.run.learning.FEWEST", 1)
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("HUTCH_THREADS", threads)
        with patch.object(Apart, "learn", autospec=True, side_effect=Apart.learn) as learn:
            chain = Chain.from_config(CLASSES)
            predictions = chain.learn(path, passes=passes)
        assert learn.call_count == (passes if threads != "1" else 0)
        found.append([predictions.tobytes(), *(array.tobytes() for array in chain.arrays().values())])
    assert found[0] == found[1] == found[2]
