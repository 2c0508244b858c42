"""Several labels per task: a crowd for each label, all of them saved as one."""

from collections.abc import Mapping

from hutch.crowd.models.model import State
from hutch.crowd.read.multi_label import ANSWERS


def together(states: Mapping[str, State]) -> State:
    """The states of the crowds of several labels as one, whose classes are the labels."""
    whole = State([*states], next(iter(states.values())).worker_names)
    for number, state in enumerate(states.values()):
        whole.workers |= {f"{number}.{name}": array for name, array in state.workers.items()}
        whole.shared |= {f"{number}.{name}": array for name, array in state.shared.items()}
        whole.open |= {f"{number}.{name}": array for name, array in state.open.items()}
    return whole


def apart(whole: State) -> dict[str, State]:
    """The states that `together` joined, by label; empty if it joined none.

    >>> import numpy as np
    >>> cat, dog = (State(ANSWERS, ["ann"], {"skill": np.full(1, skill)}) for skill in (0.75, 0.5))
    >>> whole = together({"cat": cat, "dog": dog})
    >>> {label: state.workers["skill"].tolist() for label, state in apart(whole).items()}, apart(cat)
    ({'cat': [0.75], 'dog': [0.5]}, {})
    """
    found = {}
    for number, label in enumerate(whole.classes):
        workers, shared, kept = (
            {name.removeprefix(f"{number}."): array for name, array in part.items() if name.startswith(f"{number}.")}
            for part in (whole.workers, whole.shared, whole.open)
        )
        found[label] = State([*ANSWERS], whole.worker_names, workers, shared, open=kept)
    return found if any(state.workers for state in found.values()) else {}
