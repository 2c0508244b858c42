"""A command: `hutch mine FILE`."""

from hutch.plugin import hookimpl


def mine(path: str, empty: bool = False) -> None:
    """Count the lines of a file; with --empty, also those without text.

    Example: hutch mine ratings.vw
    """
    with open(path, encoding="utf-8") as file:
        print(sum(1 for line in file if empty or line.strip()))


@hookimpl
def hutch_register_commands(register):
    """Register the command; its module is imported when somebody calls it."""
    register("mine", "hutch_mine:mine", help="Count the lines of a file.")
