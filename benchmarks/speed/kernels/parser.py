"""Speed of the text parser in CPU seconds, one core: `python benchmarks/speed/kernels/parser.py [MEGABYTES] [FILE...]`.

Without files it makes seeded texts of three shapes: numbered features with four decimals (a bag of words), hashed
categories without values (ad clicks), and a mixture of everything usual (tags, namespace values, long numbers).
"""

import os
import sys
import tempfile
import time

import numpy as np

from hutch.core.data.chunks import CHUNK_BYTES, Chunks, batches
from hutch.core.text.parser import ParserOptions, TextParser

OPTIONS = ParserOptions(bits=22, namespaces="letter")
REPEATS = 5


def words(rng: np.random.Generator) -> bytes:
    """About 75 numbered features with weights."""
    ids = np.sort((47_000 * rng.random(rng.integers(30, 120)) ** 2).astype(int))
    pairs = zip(ids, rng.integers(1, 9999, len(ids)), strict=True)
    return b"%d |" % rng.choice((-1, 1)) + b"".join(b" %d:0.%04d" % pair for pair in pairs) + b"\n"


def clicks(rng: np.random.Generator) -> bytes:
    """13 binned numbers and 26 categories, each ten characters long."""
    codes = (np.arange(39) * 2654435761 + rng.integers(0, 1000, 39) * 40503) & 0xFFFFFFFF
    names = [b" %02d%08x" % (i, code) for i, code in enumerate(codes)]
    return b"%d |i" % rng.choice((-1, 1)) + b"".join(names[:13]) + b" |c" + b"".join(names[13:]) + b"\n"


def mixed(rng: np.random.Generator) -> bytes:
    """Names of 2 to 15 characters, 1 to 17 digits, a namespace value, a tag."""
    parts = [b"%.3f %.2f 'id%d |user:%.2f" % (rng.normal(), rng.random(), rng.integers(1 << 30), rng.random())]
    for i in range(20):
        if i == 10:
            parts.append(b"|item")
        name = b"abcdefghijklmno"[: rng.integers(2, 15)] + b"%d" % rng.integers(10)
        parts.append(name + (b":%.*f" % (int(rng.integers(1, 17)), rng.normal()) if rng.random() < 0.7 else b""))
    return b" ".join(parts) + b"\n"


def write(directory: str, shape: str, megabytes: float) -> str:
    """Write a file of a thousand distinct lines, repeated in random order."""
    rng = np.random.default_rng(5)
    lines = [globals()[shape](rng) for _ in range(1000)]
    path = os.path.join(directory, f"{shape}.vw")
    with open(path, "wb") as file:
        while file.tell() < megabytes * 1e6:
            file.writelines(lines[i] for i in rng.integers(0, 1000, 1000))
    return path


def measure(path: str) -> str:
    """Best of some runs over the file: reading only, and reading with parsing."""
    size = os.path.getsize(path)
    parser = TextParser(OPTIONS)
    reading, parsing = [], []
    for _ in range(REPEATS):
        began = time.process_time()
        for _chunk in Chunks([path], CHUNK_BYTES):
            pass
        reading.append(time.process_time() - began)
        features = 0
        began = time.process_time()
        for batch in batches([path], parser=parser):
            features += len(batch.indices)
        parsing.append(time.process_time() - began)
    best = min(parsing)
    return (
        f"{os.path.basename(path):12} {size / 1e6:7.1f} MB {features / 1e6:6.2f} M features: "
        f"{size / best / 1e6:5.0f} MB/s, {best / features * 1e9:5.1f} ns a feature "
        f"(reading alone {min(reading) / features * 1e9:4.1f}), problems {parser.problems.errors}"
    )


if __name__ == "__main__":
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as directory:
        for path in sys.argv[2:] or [write(directory, shape, megabytes) for shape in ("words", "clicks", "mixed")]:
            print(measure(path))
