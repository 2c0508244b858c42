"""Kill commands at random moments and calls of the system, run them again, and compare with runs never killed.

    python benchmarks/hardening/attacks/kill_commands.py [COUNT] [SEED]

A job is a list of commands. After each kill, every file must be as it was before the command or as it is after one
that ends well; what the job leaves must equal, to the bit, what it leaves when nothing is killed; and after each
command that ends, no temporary file of one that was killed may be there.
"""

import json
import random
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
from harness import Found, digest, lines, main, run, some_kill

_PARTS = 3
_ATTEMPTS = 6  # to kill a command before it may end


class Job(NamedTuple):
    """Commands that follow each other.

    Attributes:
        steps: words of each command.
        files: what they write and read again.
        expendable: files or folders that may be missing at any time; now and then they are removed.
        after: is called with the folder and the number of the step once it has ended.
        variables: of the environment.
        share: of the kills, beside that of other jobs.
    """

    steps: list[list[str]]
    files: list[str]
    expendable: list[str] = []
    after: Callable[[Path, int], None] = lambda folder, step: None
    variables: dict[str, str] = {}
    share: int = 8


def _learning(command: str, *options: str) -> list[list[str]]:
    data = "-d" if command == "vw" else "--quiet"
    steps = [[command, data, f"part{k}.vw", "-f", "model", "-p", "predictions", "--quiet"] for k in range(_PARTS)]
    return [[*steps[0], *options], *([*step, "-i", "model"] for step in steps[1:])]


def _crowds(*options: str) -> list[list[str]]:
    steps = [["crowd", f"part{k}.tsv", "-f", "state", "-p", "posteriors", "--quiet", *options] for k in range(_PARTS)]
    return [[*steps[0], "--classes", "0,1,2"], *([*step, "-i", "state"] for step in steps[1:])]


def _answers(folder: Path, step: int) -> None:
    """Two workers answer what is asked for."""
    if step % 3:
        return
    with closing(sqlite3.connect(folder / "store.db")) as connection:
        ids = [id for (id,) in connection.execute("SELECT id FROM requests WHERE state = 'open' ORDER BY number")]
    given = [{"id": id, "worker": worker, "label": 1 - 2 * (len(id) % 2)} for id in ids for worker in ("ann", "bob")]
    (folder / "answers.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in given))


_STORE = ["--store", "store.db"]
_LOOP = [
    ["active", "ask", "pool.vw", "-i", "asking", *_STORE, "-n", "20", "--wanted", "2"],
    ["active", "answer", "answers.jsonl", *_STORE],
    ["active", "learn", "-i", "asking", "-f", "asking", *_STORE],
]
_PASSES = ["--passes", "2", "--holdout_off", "--quiet"]
_CACHED = [
    ["train", "part0.vw", "--cache", *_PASSES, "-f", "first"],
    ["vw", "-d", "part0.vw", "-c", *_PASSES, "-f", "second"],
    ["vw", "-d", "part0.vw", "--cache_file", "kept", *_PASSES, "-f", "third"],
    ["vw", "-d", "part0.vw", "-c", "-k", *_PASSES, "-f", "fourth"],
]
_ROWS = [["em", "fit", f"rows{k}.npy", "-f", "fit", *(["-i", "fit"] if k else ["--rank", "2"])] for k in range(_PARTS)]
JOBS: dict[str, Job] = {
    "train": Job(_learning("train", "--loss_function", "logistic", "-b", "12"), ["model", "predictions"]),
    "vw": Job(_learning("vw", "--loss_function", "logistic", "-b", "12"), ["model", "predictions"]),
    "batch caches": Job(_CACHED, ["first", "second", "third", "fourth"], ["part0.vw.hutch-cache", "kept"]),
    "predict": Job([["predict", f"part{k}.vw", "-i", "asking", "-p", f"p{k}"] for k in range(3)], ["p0", "p1", "p2"]),
    "crowd": Job([["crowd", "part0.tsv", "-f", "state", "-p", "p", "--workers", "w"]], ["state", "p", "w"]),
    "crowd online": Job(_crowds("--method", "online"), ["state", "posteriors"]),
    "crowd --stream": Job(_crowds("--method", "online", "--stream"), ["state", "posteriors"]),
    "em": Job(_ROWS, ["fit"]),
    "active": Job(_LOOP * 2, ["asking", "store.db"], after=_answers),
    "kernels": Job(
        [["vw", "-d", "part0.vw", "-b", "12", "--ftrl", "-f", f"m{k}", "--quiet"] for k in range(2)],
        ["m0", "m1"],
        ["kernels"],
        variables={"HUTCH_CACHE_DIR": "kernels"},
        share=1,  # compiling takes long
    ),
}
"""By what is killed."""


def _inputs(folder: Path, asking: bool) -> None:
    dice = random.Random(0)
    for k in range(_PARTS):
        (folder / f"part{k}.vw").write_text("\n".join(lines(2000, k)) + "\n")
        labels = [f"w{dice.randrange(40)}\tt{k}-{i // 5}\t{dice.randrange(3)}\n" for i in range(2000)]
        (folder / f"part{k}.tsv").write_text("".join(labels))
        np.save(folder / f"rows{k}.npy", np.random.default_rng(k).normal(size=(400, 5)))
    (folder / "pool.vw").write_text("\n".join(line.partition(" ")[2] for line in lines(600, 9)) + "\n")
    chain = "weights: {bits: 12}\nchain:\n  - active: {budget: 0.2, simulation: false, labels: [-1, 1]}\n"
    (folder / "chain.yaml").write_text(chain + "  - linear: {loss: logistic}\n")
    if asking:
        done = run(["train", "part0.vw", "-C", "chain.yaml", "-f", "asking", "--quiet"], folder)
        if wrong := done.wrong(0):
            raise RuntimeError(wrong)


def _seen(job: Job, folder: Path) -> dict[str, str]:
    return {name: digest(folder / name) for name in job.files}


def _names(job: Job, folder: Path) -> set[str]:
    """What lies there, and whatever looks temporary in what is expendable."""
    found = {path.name for path in folder.iterdir()} - set(job.expendable)
    inside = (path for name in job.expendable for path in (folder / name).rglob("*"))
    return found | {path.name for path in inside if path.name.endswith(".part") or ".tmp" in path.name}


class _Whole(NamedTuple):
    """A step that was never killed: what it leaves and how long it takes."""

    seen: dict[str, str]
    names: set[str]
    seconds: float


def _never_killed(job: Job, folder: Path) -> list[_Whole]:
    found = []
    for number, step in enumerate(job.steps):
        done = run(step, folder, environment=job.variables)
        if wrong := done.wrong(0):
            raise RuntimeError(f"{' '.join(step)}: {wrong}")
        found.append(_Whole(_seen(job, folder), _names(job, folder), done.seconds))
        job.after(folder, number)
    return found


def _attack(job: Job, kills: int, dice: random.Random, inputs: Path, folder: Path) -> Found:
    shutil.copytree(inputs, folder / "whole")
    if not job.variables:  # so that its time is not that of compiling kernels
        shutil.copytree(inputs, folder / "once")
        _never_killed(job, folder / "once")
    whole = _never_killed(job, folder / "whole")
    counts: Counter[str] = Counter()
    findings: list[str] = []
    place = folder / "killed"
    while counts["killed"] < kills and len(findings) < 5:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(inputs, place)
        for number, (step, wanted) in enumerate(zip(job.steps, whole, strict=True)):
            before, now, attempts = _seen(job, place), {}, 0
            while now != wanted.seen and attempts < 2 * _ATTEMPTS:
                attempts += 1
                for name in job.expendable:
                    if dice.random() < 0.2:
                        path = place / name
                        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
                kill = some_kill(dice, wanted.seconds) if attempts < _ATTEMPTS and counts["killed"] < kills else None
                done = run(step, place, kill=kill, environment=job.variables)
                now, said = _seen(job, place), f"{' '.join(step)} {kill or ''}"
                counts["killed" if done.status == -9 else "ended"] += 1
                if wrong := done.wrong(0, *([-9] if kill else [])):
                    findings.append(f"{said}: {wrong}")
                findings += [
                    f"{said}: {name} is neither old nor new"
                    for name in job.files
                    if now[name] not in (before[name], wanted.seen[name])
                ]
                if done.status == 0:
                    if now != wanted.seen:
                        findings.append(f"{said}: a run that ends gives something else than one never killed")
                    if left := _names(job, place) ^ wanted.names:
                        findings.append(f"{said}: left or missing: {sorted(left)}")
            if findings:
                break
            job.after(place, number)
        counts["whole jobs equal to the bit"] += not findings
    return counts, findings


def attack(count: int, seed: int, jobs: list[str]) -> Found:
    """Kill about so often, divided among jobs of these names."""
    counts: Counter[str] = Counter()
    findings: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs"
        inputs.mkdir()
        _inputs(inputs, any("asking" in step for name in jobs for step in JOBS[name].steps))
        shares = sum(JOBS[name].share for name in jobs)
        for number, name in enumerate(jobs):
            kills = -(-count * JOBS[name].share // shares)
            place = Path(folder) / str(number)
            place.mkdir()
            found, broken = _attack(JOBS[name], kills, random.Random(f"{seed}/{name}"), inputs, place)
            counts.update({f"{name}: {what}": times for what, times in found.items()})
            findings += [f"seed {seed}: {name}: {text}" for text in broken]
    return counts, findings


def attack_all(count: int, seed: int) -> Found:
    """Kill so often, divided among all jobs."""
    return attack(count, seed, list(JOBS))


if __name__ == "__main__":
    main(__doc__, attack_all, 700)
