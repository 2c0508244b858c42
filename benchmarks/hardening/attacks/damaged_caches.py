"""Damaged caches: of parsed batches, of kernels' machine code; noticed, or without an effect.

    python benchmarks/hardening/attacks/damaged_caches.py [COUNT] [SEED]

Files have bits flipped, bytes replaced, parts removed, repeated or swapped, or are cut. Batches that come of a damaged
cache must be those of the text; machine code that is not what was written must not be loaded. They run in forked
processes. A finding is anything else: other batches, code that is accepted, an exception, a death.
"""

import random
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from harness import Found, in_forks, lines, main

from hutch.core.data import cache as batch_cache
from hutch.core.data.cache import BatchCache
from hutch.core.data.files import InputFiles
from hutch.core.errors import HutchError
from hutch.core.kernel import object_store
from hutch.core.kernel.home import cache_home
from hutch.core.text.parser import ParserOptions

_MEMORY = 600 << 20
_OPTIONS = ParserOptions(bits=12)
_ARRAYS = ("labels", "importance", "indices", "values", "row_ptr", "namespace_ptr", "namespace_id", "tags", "tag_ptr")
Case = Callable[[bytes, Path], str]


def damaged(content: bytes, dice: random.Random) -> bytes:
    """A file with something wrong in it."""
    found = bytearray(content)
    place = dice.randrange(len(found))
    if dice.random() < 0.3:  # where a file says what it holds
        place = dice.choice([dice.randrange(min(len(found), 200)), max(0, len(found) - 1 - dice.randrange(2000))])
    size, how = dice.choice([1, 4, 8, 64]), dice.random()
    if how < 0.5:
        found[place] ^= 1 << dice.randrange(8)
    elif how < 0.65:
        found[place : place + size] = dice.choice([bytes(size), b"\xff" * size, dice.randbytes(size)])
    elif how < 0.75:
        del found[place : place + size]
    elif how < 0.85:
        found[place:place] = found[place : place + size]
    elif how < 0.92:
        other = dice.randrange(len(found))
        a, b = bytes(found[place : place + size]), bytes(found[other : other + size])
        found[place : place + len(a)], found[other : other + len(b)] = (
            b[: len(a)].ljust(len(a)),
            a[: len(b)].ljust(len(b)),
        )
    else:
        del found[place:]
    return bytes(found)


def _seen(files: InputFiles) -> list[bytes]:
    joined = {name: b"" for name in _ARRAYS}
    rows = 0
    for batch in files:
        rows += len(batch)
        for name in ("labels", "importance", "indices", "values", "tags"):
            joined[name] += getattr(batch, name).tobytes()
    return [str(rows).encode(), *joined.values()]


def _batches(folder: Path) -> tuple[list[bytes], Case]:
    """A cache of batches, and what must come of it."""
    batch_cache._YOUNG = -1.0  # else one of a file that was just written is not used
    text, cache = folder / "data.vw", folder / "cache"
    text.write_text("\n".join(lines(3000, 0)) + "\n")
    wanted = _seen(InputFiles([str(text)], _OPTIONS, {}))
    _seen(InputFiles([str(text)], _OPTIONS, {}, cache=str(cache)))
    if not BatchCache(str(cache), [str(text)], _OPTIONS).ready:
        raise RuntimeError("the cache was not written")

    def case(content: bytes, path: Path) -> str:
        path.write_bytes(content)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                files = InputFiles([str(text)], _OPTIONS, {}, cache=str(path))
                used, found = files.cached, _seen(files)
            except HutchError as error:
                return "refused" if str(error).strip() else "refused without a message"
        if found != wanted:
            return "OTHER BATCHES"
        return "noticed while it was read" if said else "without an effect" if used else "made anew"

    return [cache.read_bytes()], case


def _objects(folder: Path) -> tuple[list[bytes], Case]:
    """Machine code of kernels."""
    found = sorted(cache_home().rglob("*.object"), key=lambda path: path.stat().st_size)
    found = [path for path in found[:200] if object_store.load(path) != (None, False)]  # others may be old

    def case(content: bytes, path: Path) -> str:
        path.write_bytes(content)
        return "refused" if object_store.load(path) == (None, False) else "ACCEPTED"

    return [path.read_bytes() for path in found], case


_KINDS = {"batches": _batches, "objects": _objects}
_GOOD = ("refused", "made anew", "noticed while it was read", "without an effect")


def run(count: int, seed: int) -> Found:
    """Try so many files, half of them batches."""
    counts: Counter[str] = Counter()
    findings: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        kinds = []
        for name, make in _KINDS.items():
            folder = Path(place) / name
            folder.mkdir(mode=0o700)
            kinds.append((name, *make(folder), folder / "damaged"))
        for name, sound, case, path in kinds:
            for content in sound[:20]:
                if case(content, path) not in ("without an effect", "ACCEPTED"):
                    raise RuntimeError(f"{name}: a sound file is not used")

        def chosen(number: int) -> tuple[str, bytes, bytes, Case, Path]:
            dice = random.Random(f"{seed}/{number}")
            name, sound, case, path = kinds[number % 2]
            content = dice.choice(sound)
            changed = damaged(content, dice)
            return name, content, changed if changed != content else content[:-1], case, path

        def one(number: int) -> str:
            _, _, changed, case, path = chosen(number)
            return case(changed, path)

        for number, outcome in in_forks(count, one, memory=_MEMORY):
            name = chosen(number)[0]
            good = outcome in _GOOD
            counts[f"{name}: {outcome if good else 'FOUND'}"] += 1
            if not good:
                findings.append(f"seed {seed} number {number}: {name}: {outcome}")
    return counts, findings


if __name__ == "__main__":
    main(__doc__, run, 20_000)
