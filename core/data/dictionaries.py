"""Files of words with features, which parsers add to the features of that name."""

from hutch.core.data.chunks import Chunks
from hutch.core.text.hashing import ANONYMOUS_LETTER
from hutch.core.text.made.maker import MadeFeatures
from hutch.core.text.made.options import Made, Words
from hutch.core.text.parser import ParserOptions, TextParser


def made_features(made: Made) -> MadeFeatures:
    """What parsers make of names, with the content of its dictionaries.

    Raises:
        DataError: a dictionary that cannot be read.
    """
    return MadeFeatures(made, [read_dictionary(each.file) for each in made.dictionaries])


def read_dictionary(path: str) -> Words:
    """The words of a file, each with the indices, of 32 bits, and the values of its features.

    A line is a word and, behind a blank, its features as in VW's text; those in a namespace do not count. Of two lines
    for a word, the first counts.

    Raises:
        DataError: it cannot be read, or a feature is malformed.
    """
    options = ParserOptions(bits=32, constant=False, namespaces="letter", label="none", strict=True)
    parser, words = TextParser(options, path), Words()
    for chunk in Chunks([path]):
        rows = [_row(line) for line in bytes(chunk.data).removesuffix(b"\n").split(b"\n")]
        batch = parser.parse(b"".join(text + b"\n" for _, text in rows))
        for row, word in enumerate(word for word, _ in rows if word):
            for name, indices, values in batch.row(row):
                if name == ANONYMOUS_LETTER:
                    words.setdefault(word, (indices.copy(), values.copy()))
    return words


def _row(line: bytes) -> tuple[bytes, bytes]:
    """The word of a line, and its features as an example in the same columns; both empty without features."""
    text = line.replace(b"\t", b" ").rstrip(b"\r")
    word, _, features = text.lstrip(b" ").partition(b" ")
    return (word, (b"| " + features).rjust(len(text))) if word and features else (b"", b"")
