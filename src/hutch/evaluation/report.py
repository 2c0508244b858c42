"""What `hutch evaluate` prints of estimates, and of the probabilities that they rest on."""

from hutch.evaluation.checks import Fit
from hutch.evaluation.estimated import EstimatedValue
from hutch.evaluation.off_policy import OffPolicyValue
from hutch.evaluation.slots import SlotsValue

ASSUMED = "This assumes that the features of the log hold all that moved both the choice and the cost."
MENDED = (
    "What a log lacks cannot be added afterwards: draw a share of the choices from now on, and log their probabilities."
)


def table(value: OffPolicyValue | SlotsValue) -> list[str]:
    """The lines of the estimates; below them those of estimated probabilities.

    Args:
        value: of a chain.
    """
    if isinstance(value, SlotsValue):
        return _slots(value)
    found = [f"{'':6}{'cost':>10}{'low':>10}{'high':>10}"]
    for name in ("ips", "snips", "dr"):
        one = getattr(value, name)
        found.append(f"{name:6}{one.value:10.4f}{one.low:10.4f}{one.high:10.4f}")
    if isinstance(value, EstimatedValue):
        found += [f"{'dm':6}{value.dm:10.4f}{'-':>10}{'-':>10}", "", *_fit(value.propensities)]
    return found


def _slots(value: SlotsValue) -> list[str]:
    """The lines of all slots together and of each."""
    found = [" " * 8 + "".join(f"{name:>10}" for name in ("cost", "low", "high", "in log", "effective"))]
    rows = [("all", value.snips, value.logged, value.effective)]
    rows += [(f"slot {one.slot}", one.snips, one.logged, one.effective) for one in value.slots]
    for name, one, logged, effective in rows:
        found.append(f"{name:8}{one.value:10.4f}{one.low:10.4f}{one.high:10.4f}{logged:10.4f}{effective:10.1f}")
    return found


def _fit(fit: Fit) -> list[str]:
    """The lines that compare estimated probabilities with choices."""
    found = [f"{'estimated probability':24}{'actions':>10}{'mean':>10}{'chosen':>10}"]
    for one in fit.groups:
        between = f"{one.low:g} to {one.high:g}"
        found.append(f"{between:24}{one.actions:10}{one.estimated:10.4f}{one.chosen:10.4f}")
    found.append(
        f"{100 * fit.others / max(fit.choices, 1):.3g} % of the choices were not the likeliest; "
        f"{100 * fit.unseen:.2g} % of the chain's have a probability below {fit.floor:g}"
    )
    return found


def about_propensities(value: OffPolicyValue | SlotsValue) -> tuple[str, ...]:
    """What a verdict says of estimated probabilities; nothing of others.

    Args:
        value: of a chain.
    """
    if not isinstance(value, EstimatedValue):
        return ()
    return (MENDED,) if value.warnings else (ASSUMED,)
