"""`hutch crowd`: workers' skills and true labels."""

from dataclasses import replace

from hutch.core.errors import UsageError
from hutch.crowd.cli.options import CrowdOptions
from hutch.crowd.cli.ways import PAIRS
from hutch.shell.options import takes
from hutch.shell.reports import reports


@reports
@takes(CrowdOptions, "given")
def crowd(given: CrowdOptions) -> None:
    """Infer the true class of every task and the skill of every worker.

    Example: hutch crowd labels.tsv --gold gold.tsv -p posteriors.tsv --workers workers.tsv --next 10
    """
    if given.multi_label and given.pairs:
        raise UsageError("--multi-label: cannot be combined with --pairs")
    if given.test and not given.initial:
        raise UsageError("-t: nothing to test with; wanted a saved model (-i)")
    if given.pairs:
        _run_pairs(given)
        return
    if given.features is not None:
        raise UsageError("--features: needs --pairs")
    given = replace(given, read_as=given.asked)
    if given.follow:
        from hutch.crowd.cli.follow import run as follow

        follow(given)
        return
    from hutch.core.run.output import is_stdout
    from hutch.crowd.cli.model import model_of
    from hutch.crowd.cli.summary import show
    from hutch.crowd.read.kinds import reference_workers
    from hutch.pages.page import is_page
    from hutch.shell.waiting import waiting

    written = _check_outputs(given)
    if given.detail and not given.predictions:
        raise UsageError("--detail: needs -p, whose file it makes wider")
    if given.texts and not is_page(given.report):
        raise UsageError("--texts: needs --report FILE.html, which shows them")
    if given.ask_of and not given.next:
        raise UsageError("--ask-of: needs --next, which lists the tasks to ask for")
    kinds = () if given.all_judges else reference_workers(given.labels, given.read_as)
    chosen, options, history = model_of(given, tuple(given.reference or kinds))
    if chosen.kind == "measurements":
        from hutch.crowd.cli.numbers import run
    elif given.multi_label:
        from hutch.crowd.cli.multi_label import run
    elif given.stream:
        from hutch.crowd.cli.stream import run
    else:
        from hutch.crowd.cli.tasks import run
    with waiting("crowd", given.quiet):
        summary = run(given, chosen, options, history)
    show(summary, given, any(map(is_stdout, written)))
    if files := [
        path for path in (*written, given.final) if path and not (is_stdout(path) or path.startswith("/dev/"))
    ]:
        given.notice(f"wrote {', '.join(files)}")


def _check_outputs(given: CrowdOptions) -> list[str]:
    """The files that results go to, once it is known that they can be written.

    Raises:
        UsageError: standard output is named for several, or a file cannot be written.
    """
    from hutch.core.atomic import check_outputs
    from hutch.core.run.output import is_stdout
    from hutch.pages.page import is_page
    from hutch.pages.plots import require_matplotlib

    outputs = {
        "-p": given.predictions,
        "--workers": given.workers,
        "--report": given.report,
        "--suspects": given.suspects,
    }
    found = {option: path for option, path in outputs.items() if path}
    if len(several := [option for option, path in found.items() if is_stdout(path)]) > 1:
        raise UsageError(f"{', '.join(several)}: got standard output for all, wanted it for at most one")
    if is_page(given.report):
        require_matplotlib()
    check_outputs((*found.values(), given.final), (given.labels, given.gold, given.score, given.texts))
    return list(found.values())


def _run_pairs(given: CrowdOptions) -> None:
    """Run `--pairs`."""
    from hutch.crowd.cli.pairs import run

    given.refuse(*PAIRS)
    if given.ordered is not None:
        raise UsageError("--ordered: cannot be combined with --pairs")
    run(given, given.method or ("online" if given.stream else "batch"))
