"""`hutch config`: check a chain, show it, export its schema."""

from pathlib import Path
from typing import Annotated, Any

from hutch.core.strict_json import dumps
from hutch.shell.declared import Argument, Group, Option
from hutch.shell.options import Overrides

app = Group("Check a chain, show it with its defaults, export its schema.")

DEFAULT_CHAIN = {"chain": ["linear"]}

File = Annotated[str | None, Argument(metavar="FILE", help="A chain in YAML, or a model; without it one linear layer.")]


def _read(file: str | None, overrides: list[str] | None, build: bool = False) -> Any:
    """The chain in a YAML file or a model, checked, and built on request, with its labels and predictions."""
    from hutch.core.chain.build import check_neighbours
    from hutch.core.chain.model_file import is_model
    from hutch.core.chain.model_of_chain import load_chain
    from hutch.core.config import read as config
    from hutch.plugins.manager import installed

    source: Any = DEFAULT_CHAIN if file is None else load_chain(file) if is_model(file) else file
    document = config.read_chain(source, overrides or ())
    plugins = installed(config.blocked_plugins(document))
    registry = plugins.registry
    chain = config.validate(document, registry)
    with config.placed(document):
        if build:
            from hutch.chain import Chain

            Chain(chain, plugins)
        return chain, *check_neighbours(chain.chain, registry)


@app.command()
def check(
    file: File = None,
    overrides: Overrides = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check a chain; every mistake is reported with its place.

    Keys, types and ranges are checked, and whether the layers fit together.

    Example: hutch config check chain.yaml
    """
    chain, takes, predicts = _read(file, overrides, build=True)
    names = [layer.name for layer in chain.chain]
    if as_json:
        print(dumps({"valid": True, "chain": names, "takes": takes.value, "predicts": predicts.value}))
    else:
        print(
            f"{file or 'chain'}: valid: {' over '.join(names)}, takes {takes.value} labels, predicts a {predicts.value}"
        )


@app.command()
def show(
    file: File = None,
    overrides: Overrides = None,
    short: Annotated[bool, Option("--short", help="Show only what was given.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON instead of YAML.")] = False,
) -> None:
    """Show a chain with all its defaults, as YAML.

    Example: hutch config show chain.yaml --set dyadic.rank=3
    """
    from hutch.core.config.read import to_yaml

    chain, _, _ = _read(file, overrides)
    print(dumps(chain.to_dict(not short)) if as_json else to_yaml(chain, not short), end="\n" if as_json else "")


@app.command()
def schema(
    file: Annotated[Path | None, Argument(metavar="FILE", help="Output file.", show_default="standard output")] = None,
) -> None:
    """Export the JSON Schema of chains, for editors.

    It covers the plugins that are installed. To use it, begin a chain with this line:

    # yaml-language-server: $schema=chain.schema.json

    Example: hutch config schema chain.schema.json
    """
    import json

    from hutch.core.atomic import write_text
    from hutch.core.config.schema import schema as schema_of
    from hutch.plugins.manager import installed

    text = json.dumps(schema_of(installed().registry), indent=2) + "\n"
    if file is None:
        print(text, end="")
    else:
        write_text(file, text)
