"""The items on which judges differ most from people."""

import numpy as np

from hutch.judges.runs import Runs

HEADER = ("item", "people", "judges")
TITLE = "Items on which most judges differ from people"
MOST = 25
"""Most rows."""


def hardest(runs: Runs, most: int = MOST) -> list[tuple[str, str, str]]:
    """Rows of `HEADER`: an item, its class by people, and what the judges say, most verdicts first.

    Items are in the order of the share of verdicts that people do not share, equal ones by the number of verdicts. Only
    items on which some verdict differs, and whose class by people is no tie; none of scores.

    Args:
        runs: of the judges.
        most: rows at most.
    """
    if runs.values is not None or runs.truth.shape[1] != len(runs.classes):
        return []
    sure = runs.known & (np.nan_to_num(runs.truth).max(axis=1) > 0.5)
    truth = np.where(sure, np.nan_to_num(runs.truth).argmax(axis=1), -1)
    said = np.zeros((len(runs.items), len(runs.classes)), np.int64)
    np.add.at(said, (runs.item, runs.label), 1)
    given = said.sum(axis=1)
    wrong = np.where(sure, given - said[np.arange(len(truth)), truth], 0)
    share = wrong / np.maximum(given, 1)
    order = [item for item in np.lexsort((-given, -share)).tolist() if wrong[item]][:most]
    return [(runs.items[item], runs.classes[truth[item]], _counts(said[item], runs.classes)) for item in order]


def _counts(said: np.ndarray[tuple[int, ...], np.dtype[np.int64]], classes: list[str]) -> str:
    ranked = np.argsort(-said, kind="stable").tolist()
    return ", ".join(f"{classes[k]} {said[k]}" for k in ranked if said[k])
