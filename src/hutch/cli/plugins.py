"""`hutch plugins`: the installed plugins, whether they keep their contract, and new ones."""

from collections.abc import Iterable
from typing import Annotated, Any

from hutch.core.strict_json import dumps
from hutch.shell.declared import Argument, Group, Option

app = Group("List what is installed, check a plugin, or begin a new one.", default="list")

Json = Annotated[bool, Option("--json", help="Print one JSON object.")]


@app.command("list")
def list_plugins(as_json: Json = False) -> None:
    """List plugins: version, hooks, and the names that each registered.

    Example: hutch plugins list --json
    """
    from hutch.plugins.manager import installed

    found = installed()
    rows = [_row(plugin, found.registry.origins) for plugin in found]
    left_out = found.registry.left_out
    if as_json:
        print(dumps({"plugins": rows, "left_out": left_out}))
        return
    for row in rows:
        print(f"{row['name']} ({row['distribution']} {row['version']})")
        print(f"  hooks: {', '.join(row['hooks']) or 'none'}")
        print(f"  file: {row['file']}")
        for kind, names in row["registered"].items():
            print(f"  {kind}: {', '.join(names)}")
        if row["failure"]:
            print(f"  {row['failure']}")
    for name, why in left_out.items():
        print(f"{name}\n  left out: {why}")


def _row(plugin: Any, origins: dict[tuple[str, str], str]) -> dict[str, Any]:
    registered: dict[str, list[str]] = {}
    for (kind, name), origin in sorted(origins.items()):
        if origin == plugin.name:
            registered.setdefault(kind, []).append(name)
    own = {name: getattr(plugin, name) for name in ("name", "distribution", "version", "file")}
    return own | {"hooks": list(plugin.hooks), "registered": registered, "failure": plugin.failure}


@app.command()
def check(
    name: Annotated[str, Argument(metavar="NAME", help="A distribution, a plugin, or the name of what one registers.")],
    matrix: Annotated[
        bool,
        Option("--matrix", help="Instead, try each layer of it under and over every layer and loss that fits."),
    ] = False,
    limit: Annotated[
        float, Option("--limit", metavar="SECONDS", min=1, help="That a check may take, with the compilation.")
    ] = 60.0,
    as_json: Json = False,
) -> int:
    """Run the contract checks on a plugin.

    They run in other processes: one that hangs, fills the memory or crashes is a check that fails. Layers and losses
    run as machine code, with checks, and interpreted, under several hash seeds. The exit status is 1 if a check
    fails that should pass.

    Example: hutch plugins check filter_tree
    """
    from hutch.plugins.checks.apart import results_of

    if matrix:
        return _compositions(name, as_json)
    return _report(((each.check, each.why, each.known) for each in results_of(name, limit)), as_json)


def _report(found: Iterable[tuple[str, str | None, str]], as_json: bool) -> int:
    """Print the results of checks: names, failures, reasons of those that are known; returns the exit status."""
    results: list[dict[str, Any]] = []
    for check, failure, known in found:
        result = "passed" if failure is None else "known" if known else "failed"
        again = bool(results) and result == "failed" and results[-1]["why"] == failure
        results.append({"check": check, "result": result, "why": known or failure})
        if not as_json:
            why = f": {'the same' if again else results[-1]['why']}" if failure is not None else ""
            print(f"{result:6} {check}{why}", flush=True)
    failed = sum(result["result"] == "failed" for result in results)
    if as_json:
        print(dumps({"passed": len(results) - failed, "failed": failed, "checks": results}))
    else:
        print(f"{len(results) - failed} of {len(results)} checks passed or failed as declared")
    return 1 if failed else 0


def _compositions(name: str, as_json: bool) -> int:
    """Print the compositions of the layers that have a name, or that a plugin of it has."""
    from dataclasses import asdict

    from hutch.plugins.checks.matrix import compositions_of

    tried: list[Any] = []
    for each in compositions_of(name):
        if not as_json:
            print("loss    chance  chain\n" * (not tried), end="")
            print(f"{each.loss:<7.4f} {each.chance:<7.4f} {each.chain}", flush=True)
            print(f"                ! {each.problem}\n" * bool(each.problem), end="")
        tried.append(each)
    bad = sum(bool(each.problem) for each in tried)
    if as_json:
        print(dumps({"good": len(tried) - bad, "bad": bad, "compositions": [asdict(each) for each in tried]}))
    else:
        print(f"{len(tried) - bad} of {len(tried)} chains learn more than chance and resume")
    return 1 if bad else 0


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def debug(
    name: Annotated[str, Argument(metavar="NAME", help="A distribution, a plugin, or the name of what one registers.")],
    command: Annotated[
        list[str] | None, Argument(metavar="COMMAND...", help="What to run, as behind hutch; by default its checks.")
    ] = None,
    pdb: Annotated[bool, Option("--pdb", help="Begin a debugger where a kernel raises an exception.")] = False,
) -> int:
    """Run a command with the kernels of a plugin interpreted by CPython.

    breakpoint(), print and coverage work in them, an exception has its line, and an index outside an array is one.

    Example: hutch plugins debug link train ratings.vw -C chain.yaml
    """
    from hutch.cli.dispatch import run
    from hutch.plugins.checks import checks_of
    from hutch.plugins.debugging import interpret, modules_of
    from hutch.plugins.manager import installed

    interpret(modules_of(name, installed()), pdb)
    if command:
        return run(command)
    return _report(((str(each), each.failure(), each.known_failure) for each in checks_of(name)), as_json=False)


@app.command()
def new(
    kind: Annotated[
        str,
        Argument(
            metavar="KIND",
            help="loss, reduction, base-learner, explorer, crowd-model, em-model, reader, hook or command.",
        ),
    ],
    name: Annotated[str, Argument(metavar="NAME", help="What users will write, such as huber.")],
    folder: Annotated[str | None, Option("--to", metavar="DIR", help="A new folder; by default hutch-NAME.")] = None,
) -> None:
    """Write a new plugin that works, to be changed into yours.

    It is a package with one module, its test, a licence and a page.

    Example: hutch plugins new loss huber
    """
    from hutch.plugins.manager import installed
    from hutch.plugins.new import Package

    package = Package(kind, name, installed().registry)
    target = package.write(folder)
    print(f"wrote {target}")
    print(f"Next: cd {target} && {package.steps}")
