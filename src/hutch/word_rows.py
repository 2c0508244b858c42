"""Rows of one word each, by which the weights of words are read off a model."""

from typing import Any

from hutch.core.data.arrow import arrow
from hutch.core.data.words import words_of
from hutch.frames import kind_of


def word_rows(table: Any, texts: set[str]) -> tuple[list[tuple[str, str]], Any]:
    """The words of a table, and a row for each that has nothing else; a row of nothing comes first.

    Args:
        table: Arrow's.
        texts: names of columns that are split into words.

    Returns:
        (column, word) of the words, each once, in the order of the columns, and the rows as a table.

    >>> import pyarrow
    >>> names, rows = word_rows(pyarrow.table({"n": [1, 2], "c": ["b", "a"], "t": ["x y", "x"]}), {"t"})
    >>> names
    [('c', 'b'), ('c', 'a'), ('t', 'x'), ('t', 'y')]
    >>> rows["t"].to_pylist()
    [None, None, None, 'x', 'y']
    """
    pa, fields = arrow(), []
    names: list[tuple[str, str]] = []
    for field in table.schema:
        if field.name in texts or kind_of(field.type) == "words":
            found = [str(value) for value in table[field.name].unique().to_pylist() if value is not None]
            if field.name in texts:
                found = [word for text in found for word in words_of(text)]
            names += [(field.name, word) for word in dict.fromkeys(found)]
            field = field.with_type(pa.large_string())
        fields.append(field)
    rows: list[dict[str, str]] = [{}, *({column: word} for column, word in names)]
    return names, pa.Table.from_pylist(rows, schema=pa.schema(fields))
