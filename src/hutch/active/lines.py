"""The parts of a line of text: label, tag, features."""


def split_line(line: str) -> tuple[str, str, str]:
    """The (label part, tag, features with their bar) of a VW line.

    >>> split_line("1 2 't1|f a")
    ('1 2', 't1', '|f a')
    """
    head, bar, features = line.partition("|")
    words = head.split(" ")
    if bar and words[-1]:
        tag, words = words[-1].removeprefix("'"), words[:-1]
    elif len(words) > 1 and words[-2].startswith("'") and not words[-1]:
        tag, words = words[-2][1:], words[:-2]
    else:
        tag = ""
    return " ".join(word for word in words if word), tag, bar + features


def unlabelled(line: str) -> str:
    """A line without its label.

    >>> unlabelled("1 2 't1|f a"), unlabelled("-1 |f a")
    ("'t1|f a", '|f a')
    """
    _, tag, features = split_line(line)
    return f"'{tag}{features}" if tag else features


def labelled(line: str, label: str, importance: float) -> str:
    """An unlabelled line with its label.

    >>> labelled("'t1|f a", "-1", 0.5)
    "-1 0.5 't1|f a"
    """
    return f"{label} {importance:.9g} {unlabelled(line)}"
