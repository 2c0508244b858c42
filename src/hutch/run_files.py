"""The runs of `hutch train` and `hutch predict` over data files."""

from hutch.beside_constant import BesideConstant
from hutch.chain import Chain
from hutch.core.data.roles import Roles
from hutch.core.run.reporters import usual_reporters
from hutch.core.run.run import Notes, Outcome, Run, RunOptions


def run_files(chain: Chain, options: RunOptions) -> Outcome:
    """Run a chain over data files, with the usual reports.

    Args:
        chain: it is changed.
        options: inputs and outputs; checked before the chain was built.
    """
    notes = Notes()
    files = chain.files(
        options.data,
        lambda problem: notes.say(str(problem)),
        columns=None if options.learn else Roles.of(chain.config.input.columns).optional(),
        strict=options.strict,
        kind=options.kind,
        passes=options.passes,
        cache=options.cache,
        fresh=options.fresh,
    )
    names = list(map(str, chain.config.input.columns.classes))
    reporters, views = usual_reporters(chain, options, names), [chain.plugins.on_progress]
    reporters += [BesideConstant(options.quiet)] if options.learn else []
    return Run(chain, files, options, reporters, save=chain.save, notes=notes, views=views)()
