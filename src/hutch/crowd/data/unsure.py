"""Answers by which a worker says that they do not know: they are no class of a task."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

AS_MISSING, AS_LEVEL, AS_CLASS = "missing", "a hard task", "the class"
"""What labels of workers who do not know are taken as, or as a sign of."""
_APOSTROPHES, _BETWEEN = re.compile("['’`´ʼ]"), re.compile(r"[\W_]+")


def plain(text: str) -> str:
    """A text in small letters, without apostrophes, and with one blank for all signs between its words.

    >>> plain(" I_don’t know! ")
    'i dont know'
    """
    return _BETWEEN.sub(" ", _APOSTROPHES.sub("", normalize("NFKC", text).casefold())).strip()


UNSURE = frozenset(map(plain, (
    "unsure", "I am unsure", "I'm unsure", "not sure", "I am not sure", "I'm not sure", "not certain",
    "don't know", "do not know", "I don't know", "I do not know", "don't know / not sure", "not sure / don't know",
    "dunno", "idk", "no idea", "I have no idea",
    "can't tell", "cannot tell", "can not tell", "I can't tell", "I cannot tell", "unable to tell", "hard to tell",
    "can't say", "cannot say", "hard to say", "can't decide", "cannot decide", "unable to decide",
    "can't judge", "cannot judge", "unable to judge", "can't determine", "cannot determine", "unable to determine",
    "weiß nicht", "weiß ich nicht", "ich weiß nicht", "ich weiß es nicht", "unsicher", "nicht sicher",
    "keine Ahnung", "kann ich nicht sagen", "kann ich nicht beurteilen", "nicht entscheidbar",
    "je ne sais pas", "ne sais pas", "ne sait pas", "pas sûr", "pas sûre", "aucune idée",
    "no sé", "no lo sé", "no sabe", "no estoy seguro", "no estoy segura", "no sabría decir",
    "non so", "non lo so", "non sono sicuro", "non sono sicura", "não sei", "não tenho certeza", "não sabe",
    "weet niet", "weet ik niet", "ik weet het niet", "niet zeker", "vet ej", "vet inte", "vet ikke", "ved ikke",
    "nie wiem", "nevím", "не знаю", "не уверен", "не уверена", "затрудняюсь ответить", "не знам", "не знаю точно",
    "bilmiyorum", "emin değilim", "en tiedä", "nu știu", "nem tudom", "δεν ξέρω", "tidak tahu", "không biết",
    "不知道", "不确定", "不確定", "わからない", "分からない", "わかりません", "分かりません",
    "모름", "모르겠음", "모르겠습니다", "पता नहीं", "لا أعرف", "לא יודע", "לא יודעת",
)))  # fmt: skip
"""As `plain` writes them. Words that often name a class, such as "unknown" and "maybe", are not among them."""


def says_unsure(label: str) -> bool:
    """Whether a label says that a worker does not know.

    >>> [says_unsure(label) for label in ("Don't know", "weiss nicht", "unknown", "0")]
    [True, True, False, False]
    """
    return plain(label) in UNSURE


@dataclass(frozen=True)
class Unsure:
    """The labels by which workers say that they do not know.

    Attributes:
        workers, items: int32 (answers), as in `Labels`; no worker has a label of the item, and none is there twice.
    """

    workers: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    items: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def __len__(self) -> int:
        return len(self.workers)

    def between(self, first: int, last: int) -> "Unsure":
        """Those of the items from `first` to before `last`."""
        here = (self.items >= first) & (self.items < last)
        return replace(self, workers=self.workers[here], items=self.items[here] - np.int32(first))


def taken_as(counts: Mapping[str, int], how: str = AS_MISSING) -> str:
    """What became of the labels that say so, in one sentence.

    Args:
        counts: labels by word.
        how: they are taken: `AS_MISSING`, or what they say something of, `AS_LEVEL` or `AS_CLASS`.

    >>> taken_as({"unsure": 37, "idk": 1})
    "37 labels of 'unsure' and 1 of 'idk' are taken as missing"
    """
    (first, count), *others = counts.items()
    parts = [f"{count} label{'s' * (count != 1)} of {first!r}", *(f"{n} of {word!r}" for word, n in others)]
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    means = how if how == AS_MISSING else f"a sign of {how}"
    return f"{listed} {'is' if len(parts) == 1 == count else 'are'} taken as {means}"
