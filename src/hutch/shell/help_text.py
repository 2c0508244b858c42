"""The lay-out of help texts: a name on the left, its description on the right, words never broken."""

import re
import shutil
import textwrap
from collections.abc import Iterable

GLUE = "\N{NO-BREAK SPACE}"
"""A blank at which no line ends."""

WIDEST, _NARROWEST, _INDENT, _GAP, _SHORT = 80, 50, 2, 2, 30
_EXAMPLE = "Example: "


def width() -> int:
    """Columns of a help text: those of the terminal, at most 80."""
    return max(_NARROWEST, min(WIDEST, shutil.get_terminal_size().columns))


def wrapped(text: str, columns: int, indent: int = 0) -> list[str]:
    """Wrap a paragraph at blanks only: a name with a hyphen stays whole, as does text joined by GLUE.

    Args:
        text: the paragraph.
        columns: of a line at most, the indentation included.
        indent: blanks before every line.

    >>> wrapped("a yaml-file", 8)
    ['a', 'yaml-file']
    """
    room = columns - indent
    lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
    return [" " * indent + line.replace(GLUE, " ") for line in lines]


def paragraph(text: str, columns: int) -> list[str]:
    """A paragraph of a help text, indented; an example that is too long for a line continues below its heading.

    Args:
        text: the paragraph; an example is a command line after `Example: `.
        columns: of a line at most.
    """
    text = " ".join(text.split())
    if text.startswith(_EXAMPLE) and _INDENT + len(text) > columns:
        return [f"  {_EXAMPLE.rstrip()}", *command_line(text.removeprefix(_EXAMPLE), columns, 2 * _INDENT)]
    return wrapped(text, columns, _INDENT)


def noted(text: str, notes: Iterable[str]) -> str:
    """A description followed by notes on its values, each note on one line if it is short.

    >>> noted("Number of passes.", ["default: 1", "at least 1"]).replace(GLUE, " ")
    'Number of passes. [default: 1; at least 1]'
    """
    whole = [note.replace(" ", GLUE) if len(note) <= _SHORT else note for note in notes]
    return f"{text} [{'; '.join(whole)}]" if whole else text


def command_line(text: str, columns: int, indent: int = 0) -> list[str]:
    r"""A command line in a form that a shell accepts: all lines but the last end in a backslash.

    >>> print("\n".join(command_line("hutch train data.vw -f model", 24)))
    hutch train data.vw \
        -f model
    """
    first, *rest = re.split(r" (?=-[-a-z])", text)  # an option and its values stay together
    lines = [" " * indent + first]
    for part in rest:
        if len(lines[-1]) + 1 + len(part) + 2 <= columns:
            lines[-1] += f" {part}"
        else:
            lines.append(" " * (indent + 4) + part)
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def entries(rows: Iterable[tuple[str, str]], columns: int, left: int | None = None) -> list[str]:
    r"""Rows of two columns; where the left one is too wide for its column, the right one begins on the next line.

    Args:
        rows: the text on the left and on the right.
        columns: of a line at most.
        left: columns of the left side, None: as many as the widest that is not too wide needs.

    >>> print("\n".join(entries([("-f FILE", "Where to."), ("-t", "Only predict.")], 40)))
      -f FILE  Where to.
      -t       Only predict.
    """
    rows = list(rows)
    if left is None:
        left = max((len(name) for name, _ in rows if len(name) <= columns * 3 // 8), default=0) + _INDENT + _GAP
    lines = []
    for name, text in rows:
        below = wrapped(text, columns, left)
        if below and _INDENT + len(name) + _GAP <= left:
            below[0] = f"{' ' * _INDENT}{name}".ljust(left) + below[0].lstrip()
        else:
            below.insert(0, f"{' ' * _INDENT}{name}")
        lines += below
    return lines
