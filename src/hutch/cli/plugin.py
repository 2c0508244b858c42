"""The commands around a chain, and those about Hutch itself."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl


@hookimpl
def hutch_register_commands(register: Callable[..., None]) -> None:
    """Register each command by its place."""
    register("train", "hutch.cli.train:train", help="Learn from data.", group="Models")
    register("predict", "hutch.cli.predict:predict", help="Predict with a model.", group="Models")
    register(
        "evaluate", "hutch.cli.evaluate:evaluate", help="Estimate a chain's cost from logged decisions.", group="Models"
    )
    register(
        "config",
        "hutch.cli.config:app",
        help="Check a chain, show it with its defaults, export its schema.",
        group="Models",
    )
    register("inspect", "hutch.cli.inspect:inspect", help="Show what is in a model.", group="Models")
    register("plugins", "hutch.cli.plugins:app", help="List what is installed, or check a plugin.")
    register("warmup", "hutch.cli.warmup:warmup", help="Compile kernels ahead of time.")


@hookimpl
def hutch_register_warmups(register: Callable[..., None]) -> None:
    """Register what every run of a chain needs in addition to its layers: lines, and tables."""
    lines = "1 'a |text x:0.5 y |author z\n-1 |text x |author z\n"
    table = "label,importance,tag,number,word,text\n1,1,a,0.5,x,good words\n0,2,b,,y,more words\n"
    columns = "input: {columns: {text: [text], tag: tag}}\nchain: [{linear: {}}]\n"
    register("train lines.vw --quiet -p out -f model", files={"lines.vw": lines}, usual=True)
    files = {"table.csv": table, "text.yaml": columns}
    register("train table.csv -C text.yaml --quiet -p out", files=files, usual=True)
