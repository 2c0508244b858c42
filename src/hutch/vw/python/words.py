"""The words of a command line that a program gives as a text, as words, and by name."""

from collections.abc import Mapping, Sequence
from typing import Any

_METRICS = "--extra_metrics"
"""The option whose file a program may leave out: it reads the counts itself."""


def words_of(text: str | None, words: Sequence[str] | None, options: Mapping[str, Any]) -> list[str]:
    """The words of a command line.

    >>> words_of("--oaa 3", ["-q", "ab"], {"b": 10, "quiet": True, "noconstant": False, "ignore": ["a", "b"]})
    ['--oaa', '3', '-q', 'ab', '-b', '10', '--quiet', '--ignore', 'a', 'b']
    >>> words_of("--ftrl --extra_metrics --quiet", None, {})
    ['--ftrl', '--extra_metrics=', '--quiet']
    """
    found = [*(text or "").split(), *(words or ())]
    for name, value in options.items():
        if value is not False:
            found.append(f"-{name}" if len(name) == 1 else f"--{name}")
            found += [] if value is True else [str(each) for each in value] if isinstance(value, list) else [str(value)]
    return [
        f"{word}=" if word == _METRICS and after.startswith("--") else word
        for word, after in zip(found, [*found[1:], "--"], strict=False)
    ]
