"""Output that is full, closed or no longer read, disks that are full, little memory: saved or said, never a traceback.

    python benchmarks/hardening/attacks/lost_output.py [COUNT] [SEED]

Every command runs under every condition, in random order, until COUNT of them were tried. Where standard output or
error takes nothing, the work must be done and saved, and the exit status say that output was lost: 1 with a line, 141
for a closed pipe. Where a file cannot be written or memory ends, the command must say so with status 1 and leave the
old file, or do its work as if nothing had happened. A full disk is a small tmpfs, which needs root.
"""

import json
import os
import random
import re
import resource
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
from harness import Done, Found, digest, lines, main, run

_MEMORY = 400 << 20
_TIMES = re.compile(r"[0-9.]+ s\b")
_STORE = ["--store", "store.db"]
COMMANDS: dict[str, list[str]] = {
    "train": ["train", "data.vw", "-C", "chain.yaml", "-f", "new"],
    "train --json": ["train", "data.vw", "--quiet", "--json", "-f", "new", "-p", "told"],
    "train -p -": ["train", "data.vw", "--quiet", "-p", "-", "-f", "new"],
    "train --events -": ["train", "data.vw", "--quiet", "--events", "-", "-f", "new"],
    "train --cache": ["train", "data.vw", "--quiet", "--cache", "--passes", "2", "-f", "new"],
    "predict": ["predict", "data.vw", "-i", "model"],
    "predict -p": ["predict", "data.vw", "-i", "model", "-p", "told"],
    "vw": ["vw", "-d", "data.vw", "-f", "new", "-p", "told"],
    "vw -p -": ["vw", "-d", "data.vw", "-t", "-i", "model", "-p", "-", "--quiet"],
    "vw --readable_model": ["vw", "-d", "data.vw", "--readable_model", "told", "--quiet"],
    "active simulate": ["active", "simulate", "data.vw", "-C", "chain.yaml"],
    "active ask": ["active", "ask", "pool.vw", "-i", "model", "--store", "new.db", "-n", "9"],
    "active requests": ["active", "requests", *_STORE],
    "active answer": ["active", "answer", "answers.jsonl", *_STORE],
    "active learn": ["active", "learn", "-i", "model", "-f", "new", *_STORE],
    "active report": ["active", "report", *_STORE],
    "active export": ["active", "export", *_STORE],
    "active log": ["active", "log", *_STORE],
    "crowd": ["crowd", "labels.tsv", "-f", "new"],
    "crowd -p -": ["crowd", "labels.tsv", "--quiet", "-p", "-"],
    "crowd --method online": ["crowd", "labels.tsv", "--method", "online", "--classes", "0,1", "-f", "new"],
    "em fit": ["em", "fit", "rows.npy", "--rank", "2", "-f", "new"],
    "crowd --report": ["crowd", "labels.tsv", "--quiet", "--report", "told", "--workers", "-"],
    "estimate": ["estimate", "labels.tsv", "--judges", "judges.tsv", "--of", "rate=1"],
    "em transform": ["em", "transform", "rows.npy", "-i", "fit"],
    "em transform -p": ["em", "transform", "rows.npy", "-i", "fit", "-p", "told.npy"],
    "evaluate": ["evaluate", "log.vw", "-C", "bandit.yaml"],
    "train --shards": ["train", "data.vw", "--quiet", "--shards", "2", "--by", "w", "-b", "12", "-f", "new"],
    "vw --invert_hash": ["vw", "-d", "data.vw", "--invert_hash", "told", "--quiet"],
    "config show": ["config", "show", "model"],
    "config check": ["config", "check", "chain.yaml"],
    "config schema": ["config", "schema"],
    "inspect": ["inspect", "model"],
    "inspect --readable": ["inspect", "model", "--readable", "told"],
    "inspect --explain": ["inspect", "model", "--explain", "|w w1 w2"],
    "plugins check": ["plugins", "check", "hinge"],
    "plugins list": ["plugins", "list"],
    "demo": ["demo", "--quick"],
    "--help": ["--help"],
    "train --help": ["train", "--help"],
    "--version": ["--version"],
}  # fmt: skip
_FILES = ("new", "told", "told.npy", "model", "store.db", "new.db")
Before = Callable[[], None]


def _inputs(folder: Path, used: set[str]) -> None:
    """Write the files that these words of commands name."""
    (folder / "data.vw").write_text("\n".join(lines(2000, 0)) + "\n")
    (folder / "pool.vw").write_text("\n".join(line.partition(" ")[2] for line in lines(300, 3)) + "\n")
    (folder / "labels.tsv").write_text("".join(f"w{i % 7}\tt{i // 3}\t{i * i % 5 % 2}\n" for i in range(900)))
    (folder / "data.csv").write_text("number,word\n" + "".join(f"{i},w{i % 9}\n" for i in range(300)))
    judged = "".join(f"judge\tt{i}\t{i * i % 5 % 2}\n" for i in range(300))
    (folder / "judges.tsv").write_text(judged)
    logged = "".join(f"0:{i % 3}:0.5 |w a{i % 5}\n|w b{i % 3}\n|w c{i % 2}\n\n" for i in range(300))
    (folder / "log.vw").write_text(logged)
    (folder / "bandit.yaml").write_text("chain: [contextual_bandit, cost_sensitive_with_features, linear]\n")
    np.save(folder / "rows.npy", np.random.default_rng(0).normal(size=(300, 4)))
    chain = "weights: {bits: 12}\nchain:\n  - active: {budget: 0.2, simulation: false, labels: [-1, 1]}\n"
    (folder / "chain.yaml").write_text(chain + "  - linear: {loss: logistic}\n")
    if used & {"model", "store.db", "pool.vw"}:
        _done(["train", "data.vw", "-C", "chain.yaml", "-f", "model", "--quiet"], folder)
    if "fit" in used:
        _done([*COMMANDS["em fit"][:-1], "fit"], folder)
    if "store.db" in used:
        asked = _done(["active", "ask", "pool.vw", "-i", "model", *_STORE, "-n", "20"], folder)
        ids = [json.loads(line)["id"] for line in asked.out.splitlines()]
        answers = [json.dumps({"id": id, "worker": "ann", "label": 1}) for id in ids]
        (folder / "answers.jsonl").write_text("\n".join(answers) + "\n")
        _done(["active", "answer", "answers.jsonl", *_STORE], folder)


def _done(command: list[str], folder: Path) -> Done:
    done = run(command, folder)
    if wrong := done.wrong(0):
        raise RuntimeError(wrong)
    return done


def _full(descriptor: int) -> None:
    os.dup2(os.open("/dev/full", os.O_WRONLY), descriptor)


def _closed(descriptor: int) -> None:
    os.close(descriptor)


def _broken(descriptor: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, descriptor)


def _little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY,) * 2)


def _short_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000,) * 2)


STREAMS: dict[str, tuple[Before, int, int]] = {
    "output full": (partial(_full, 1), 1, 1),
    "output closed": (partial(_closed, 1), 1, 1),
    "output broken": (partial(_broken, 1), 1, 141),
    "error full": (partial(_full, 2), 2, 1),
    "error closed": (partial(_closed, 2), 2, 0),
    "error broken": (partial(_broken, 2), 2, 141),
}
"""What happens to which stream, and the exit status where a command writes to it."""
PLACES = ["400 MB of memory", "files of 3,000 bytes", "disk full", "4 KB left", "40 KB left"]


@contextmanager
def _small_disk(folder: Path) -> Iterator[bool]:
    """A folder on a disk of its own, if that can be had."""
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=False)


def _fill(folder: Path, left: int) -> None:
    found = os.statvfs(folder)
    with (folder / "ballast").open("wb") as file:
        file.write(bytes(max(0, found.f_bavail * found.f_frsize - left)))


class _Attack:
    def __init__(self, inputs: Path, place: Path, disk: bool) -> None:
        self.inputs, self.place, self.disk = inputs, place, disk
        self.whole: dict[str, tuple[Done, dict[str, str]]] = {}

    def _prepare(self) -> None:
        for path in self.place.iterdir():
            path.unlink()
        for path in self.inputs.iterdir():
            shutil.copy(path, self.place)

    def _seen(self) -> dict[str, str]:
        return {name: digest(self.place / name) for name in _FILES}

    def undisturbed(self, name: str) -> tuple[Done, dict[str, str]]:
        """What a command says and writes when all is well."""
        if name not in self.whole:
            self._prepare()
            done = run(COMMANDS[name], self.place, seconds=1200)  # it may have to compile
            if "ompil" in done.err:  # not said again
                self._prepare()
                done = run(COMMANDS[name], self.place)
            if wrong := done.wrong(0):
                raise RuntimeError(f"{name}: {wrong}")
            self.whole[name] = done, self._seen()
        return self.whole[name]

    def stream(self, name: str, condition: str) -> str:
        """What is wrong when a stream takes nothing."""
        whole, wanted = self.undisturbed(name)
        before, stream, status = STREAMS[condition]
        self._prepare()
        done = run(COMMANDS[name], self.place, before=before)
        said = whole.out if stream == 1 else whole.err
        if wrong := done.wrong(status if said else 0):
            return wrong
        if stream == 2 and _TIMES.sub("", done.out) != _TIMES.sub("", whole.out) and "seconds" not in whole.out:
            return f"prints something else: {done.out[:100]!r}"
        return "" if self._seen() == wanted else "has not done its work"

    def room(self, name: str, condition: str) -> str:
        """What is wrong when memory or disk end."""
        _, wanted = self.undisturbed(name)
        self._prepare()
        before, old = self._seen(), {path.name for path in self.inputs.iterdir()}
        limits = {PLACES[0]: _little_memory, PLACES[1]: _short_files}
        if condition not in limits:
            _fill(self.place, {"disk full": 0, "4 KB left": 4 << 10, "40 KB left": 40 << 10}[condition])
        whole = {"PYTHONDONTWRITEBYTECODE": "1"}  # Python keeps cut bytecode as if it were whole
        done = run(COMMANDS[name], self.place, environment=whole, before=limits.get(condition))
        if wrong := done.wrong(0, 1, *([2] if "there is no memory" in done.err else [])):  # for so many bits
            return wrong
        if done.status and not done.err.strip():
            return "fails without a message"
        (self.place / "ballast").unlink(missing_ok=True)
        now = self._seen()
        if done.status == 0 and now != wanted:
            return "ends well without having done its work"
        halves = [file for file in _FILES if now[file] not in (before[file], wanted[file], "")]
        if halves:
            return f"{halves} are neither old nor new"
        lost = [file for file in _FILES if before[file] and not now[file]]
        left = [path.name for path in self.place.iterdir() if path.name not in old and path.name.endswith(".part")]
        return f"lost: {lost}" if lost else f"left: {left}" if left else ""


def attack(count: int, seed: int, only: str = "") -> Found:
    """Try so many commands, whose names begin with `only`, under a condition; all of them are some 460."""
    counts: Counter[str] = Counter()
    findings: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        inputs, place = Path(folder) / "inputs", Path(folder) / "place"
        inputs.mkdir()
        place.mkdir()
        names = [name for name in COMMANDS if name.startswith(only)]
        _inputs(inputs, {word for name in names for word in COMMANDS[name]})
        with _small_disk(place) as mounted:
            tried = _Attack(inputs, place, mounted)
            conditions = [*STREAMS, *(PLACES if mounted else PLACES[:2])]
            cases = [(name, condition) for name in names for condition in conditions]
            random.Random(seed).shuffle(cases)
            for name, condition in cases[:count]:
                try:
                    wrong = (tried.stream if condition in STREAMS else tried.room)(name, condition)
                except RuntimeError as error:
                    wrong = f"undisturbed: {error}"
                counts[f"{condition}: {'FOUND' if wrong else 'held'}"] += 1
                if wrong:
                    findings.append(f"{condition}: {name}: {wrong}")
    return counts, findings


if __name__ == "__main__":
    main(__doc__, attack, 1000)
