"""Options without the one that gives them a meaning: VW takes them silently; here they are left out with a warning."""

from argparse import Namespace
from copy import copy

from hutch.core.errors import UsageError, warn
from hutch.vw.options.option import Option
from hutch.vw.options.table import NAMED, OPTIONS
from hutch.vw.translate import imply_explorers

_REFUSED = (
    "skips",
    "get_pmf",
    "pmf_to_pdf",
    "cb_explore_pdf",
    "sample_pdf",
    "cb_dro",
    "cb_sample",
    "thompson",
    "posterior_width",
    "input_feature_regularizer",
)
"""Options that VW refuses alone, too, or does not have."""


def leave_out_idle(options: Namespace) -> None:
    """Leave out the options that need another one, which is not given, and warn of them.

    Args:
        options: the command line; it is changed.

    Raises:
        UsageError: a limit of features in a form that VW reads as 0, beside `--keep`.
    """
    for needs, names in without_idle(options).items():
        have = "has" if len(names) == 1 else "have"
        listed = " and ".join(f"--{name}" for name in names)
        warn(f"{listed} {have} no effect without {' or '.join(f'--{name}' for name in needs)}")
    _read_limits(options)


def without_idle(options: Namespace) -> dict[tuple[str, ...], list[str]]:
    """Leave out options whose main option is not given; returns their names by what they need.

    Args:
        options: the command line; it is changed.
    """
    found: dict[tuple[str, ...], list[str]] = {}
    judged = copy(options)
    imply_explorers(judged)
    while idle := [option for option in OPTIONS if option.name not in _REFUSED and _is_idle(option, judged)]:
        for option in idle:  # others may need these
            found.setdefault(option.needs, []).append(option.name)
            for each in (options, judged):
                leave_out(each, option.name)
    return found


def leave_out(options: Namespace, *names: str) -> None:
    """Make options as if they had not been given.

    Args:
        options: the command line; it is changed.
        names: of the options.
    """
    for name in names:
        value = getattr(options, name)
        setattr(options, name, [] if isinstance(value, list) else False if isinstance(value, bool) else None)


def _is_idle(option: Option, options: Namespace) -> bool:
    """Whether an option is given without those that it needs."""
    if not option.needs or option.given(options) is None or (option.name == "cover" and options.active_cover):
        return False
    if options.initial_regressor is not None and option.needs != ("active",):
        return False  # the model may have them
    return all(NAMED[name].given(options) is None for name in option.needs)


def _read_limits(options: Namespace) -> None:
    """Read `--feature_limit a:N` as VW does: as a limit of 0, so that the namespace is left out."""
    for value in [each for each in options.feature_limit if each[1:2] == ":" or each[1:] == "0"]:
        if options.keep:
            raise UsageError(f"--feature_limit: got {value!r} with --keep, wanted a limit such as {value[0]}10")
        if value[1:2] == ":":
            meant = f"{value[0]}{value[2:]}"
            warn(f"--feature_limit {value}: leaves out all features of {value[0]}, as in VW; {meant} limits them")
        options.feature_limit.remove(value)
        options.ignore = [*options.ignore, value[0]]
