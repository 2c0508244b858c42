"""`hutch evaluate`."""

from typing import TYPE_CHECKING, Annotated

from hutch.shell.declared import Argument, Option
from hutch.shell.options import Format, Overrides
from hutch.shell.reports import reports

if TYPE_CHECKING:
    from hutch.evaluation.off_policy import OffPolicyValue
    from hutch.evaluation.slots import SlotsValue


@reports
def evaluate(
    log: Annotated[list[str], Argument(metavar="LOG...", help="Logged decisions; - is standard input.")],
    chain: Annotated[str | None, Option("-C", "--config", metavar="FILE", help="The chain to judge.")] = None,
    model: Annotated[
        str | None, Option("-i", "--initial_regressor", metavar="MODEL", help="A model to judge as it is.")
    ] = None,
    overrides: Overrides = None,
    format: Format = None,
    propensities: Annotated[
        str, Option("--propensities", metavar="HOW", help="logged, or estimated from the features of the log.")
    ] = "logged",
    final: Annotated[
        str | None,
        Option("-f", "--final_regressor", metavar="MODEL", help="Save the chain, trained by estimated propensities."),
    ] = None,
    confidence: Annotated[float, Option(min=0.5, max=0.9999, metavar="P", help="Confidence of the intervals.")] = 0.95,
    strict: Annotated[bool, Option("--strict", help="Stop at the first malformed input.")] = False,
    json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Estimate what a chain's decisions would have cost, from a log of decisions by another policy.

    A chain is evaluated on each decision before learning from it; a model is evaluated unchanged. The log holds the
    probability of each choice, its propensity; `--propensities estimated` estimates it by a model of the choices.
    That assumes that the features hold all that moved both the choice and the cost.

    Example: hutch evaluate log.vw -C chain.yaml
    """
    import json as json_text
    import sys
    from dataclasses import asdict

    from hutch.chain import Chain
    from hutch.core.data.files import check_sources
    from hutch.core.errors import UsageError
    from hutch.evaluation.report import about_propensities, table
    from hutch.off_policy import of_batches, reads_as
    from hutch.shell.sentences import Verdict, other_command

    if (chain is None) == (model is None):
        raise UsageError("wanted either a chain, -C FILE, or a model, -i FILE")
    check_sources(log)
    found = Chain.from_config(chain, overrides or ()) if chain is not None else Chain.load(model or "", overrides or ())
    reads_as(found, propensities)
    files = found.files(log, lambda problem: print(problem, file=sys.stderr), strict=strict, kind=format)
    value = of_batches(found, files, model is None, confidence, propensities, final)
    better = value.best.high < value.logged and not value.warnings and chain is not None and final is None
    by = ["evaluate", "--propensities", "estimated"] if propensities == "estimated" else ["train"]
    how = [word for given in overrides or () for word in ("--set", given)] + (["--format", format] if format else [])
    following = other_command("hutch", *by, *log, "-C", chain or "", *how, "-f", "policy.model") if better else ""
    verdict = Verdict((*sentences(value, confidence), *about_propensities(value)), following)
    if json:
        print(json_text.dumps(asdict(value) | verdict.as_json()))
        return
    print(f"{value.decisions} decisions, mean cost in the log {value.logged:.4f}, {value.effective:.1f} effective")
    print("\n".join(table(value)))
    for warning in value.warnings:
        print(f"warning: {warning}")
    print("\n".join(verdict.lines()))


def sentences(value: "OffPolicyValue | SlotsValue", confidence: float) -> tuple[str, ...]:
    """Whether the decisions are better than those in the log, by the best estimate.

    Args:
        value: of the decisions.
        confidence: of its intervals.
    """
    from hutch.shell.sentences import number

    one = value.best
    of = f"{number(value.decisions)} decisions"
    cost = f"{one.value:.3g} ({one.low:.3g} to {one.high:.3g}; {100 * confidence:g} %) on average"
    if value.warnings:
        return (f"Cannot tell what these decisions would have cost: {value.warnings[0]}.",)
    if one.low <= value.logged <= one.high:
        close = f"Over {of}, they would have cost {cost}, and those in the log cost {value.logged:.3g}"
        return (f"Cannot tell whether these decisions are better than those in the log. {close}.",)
    better = "better" if one.high < value.logged else "worse"
    return (
        f"These decisions are {better} than those in the log: over {of} they would have cost {cost}, "
        f"and those in the log cost {value.logged:.3g}.",
    )
