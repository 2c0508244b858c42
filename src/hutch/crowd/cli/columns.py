"""The option `--columns` of the commands that read labels."""

from hutch.shell.declared import Option

COLUMNS = Option(
    metavar="ROLE=NAME,...",
    help="Names of columns or fields: worker, task, label, gold, question, time; unsure=LABEL means no answer. Several "
    "labels, or a glob: one column per worker, or per question if there is a worker.",
)
