"""`hutch.estimate` in Python: labels in frames or files, a number with its interval."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hutch
from hutch.cli.dispatch import run
from hutch.core.errors import UsageError

pd = pytest.importorskip("pandas")


def labels(seed: int = 0) -> tuple[Any, Any, float]:
    """People's labels of 120 of 900 answers, two judges' of all, and the share that passes."""
    random = np.random.default_rng(seed)
    truth = np.where(random.random(900) < 0.6, "pass", "fail")
    people = [{"reviewer": "ann", "answer_id": f"a{k}", "verdict": truth[k]} for k in random.permutation(900)[:120]]
    judged = [
        {"model": name, "answer_id": f"a{k}", "verdict": true if random.random() < right else "pass"}
        for name, right in (("large", 0.9), ("small", 0.6))
        for k, true in enumerate(truth)
    ]
    return pd.DataFrame(people), pd.DataFrame(judged), float((truth == "pass").mean())


def test_frames_and_files_say_what_the_command_says(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    people, judges, _ = labels()
    people.to_csv(tmp_path / "p.csv", index=False)
    judges.to_csv(tmp_path / "j.csv", index=False)
    files = hutch.estimate(tmp_path / "p.csv", "accuracy=large", judges=tmp_path / "j.csv")
    assert repr(files) == repr(hutch.estimate(people, "accuracy=large", judges=judges))
    given = ["estimate", str(tmp_path / "p.csv"), "--judges", str(tmp_path / "j.csv"), "--of", "accuracy=large"]
    assert run(given) == 0
    assert capfd.readouterr().out.startswith(repr(files))
    assert files.summary["question"] == "accuracy"


def test_intervals_hold() -> None:
    held = 0
    for seed in range(20):
        people, judges, truth = labels(seed)
        found = hutch.estimate(people, "rate=pass", judges=judges)
        held += found.low <= truth <= found.high
        assert found.low < found.value < found.high
    assert held >= 17  # of 95 %: fewer once in a thousand


def test_people_and_judges_in_one_frame() -> None:
    people, judges, _ = labels()
    both = pd.concat([people.rename(columns={"reviewer": "model"}), judges])
    apart = hutch.estimate(people, "difference=large,small", judges=judges)
    found = hutch.estimate(both, "difference=large,small", reference="ann")
    assert (found.value, found.low, found.high) == (apart.value, apart.low, apart.high)


def test_what_does_not_go_together_is_refused() -> None:
    people, judges, _ = labels()
    with pytest.raises(UsageError, match="--of: got 'rat'; did you mean 'rate'"):
        hutch.estimate(people, "rat=pass")
    with pytest.raises(UsageError, match="plan: cannot be combined"):
        hutch.estimate(people, "rate=pass", judges=judges, plan=True, every_look=200)
    with pytest.raises(UsageError, match="confidence: got 1, wanted"):
        hutch.estimate(people, "rate=pass", confidence=1.0)


def test_the_plot_shows_both_intervals() -> None:
    pytest.importorskip("matplotlib")
    people = pd.DataFrame({"worker": "ann", "item": range(60), "label": ["spam"] * 20 + ["ham"] * 40})
    judges = pd.DataFrame({"worker": "m", "item": range(600), "label": ["spam", "ham", "ham"] * 200})
    found = hutch.estimate(people, "rate=spam", judges=judges)
    axes = found.plot().axes[0]
    assert [each.get_text() for each in axes.get_yticklabels()] == ["people and judges", "people alone"]
    drawn = axes.lines[0].get_xdata()
    assert list(drawn) == [found.value, found.summary["people_only"]]
    assert axes.get_xlabel() == "rate of spam, with its 95 % interval"
    alone = hutch.estimate(people, "rate=spam", items=600)
    axes = alone.plot().axes[0]
    assert [each.get_text() for each in axes.get_yticklabels()] == ["people alone"]
    assert list(axes.lines[0].get_xdata()) == [alone.value]
