"""Writes one small file of every kind that Hutch keeps, as later versions must read them.

    python tests/formats/make.py

Makes tests/formats/data/format-1.tar.xz again: a model for every layer and one learned in shards, every model of
crowds, of votes on pairs and of online EM, the stores of `hutch active` and `hutch label`, served models with their
log, a cache of parsed batches; and what reading each of them gives.
It is run while the format may still change; after a release a new format gets an archive of its own, and the old stay.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from pathlib import Path

from hutch.crowd.pairs.model import MODELS
from hutch.crowd.table import EXCHANGEABLE

HERE = Path(__file__).resolve().parent
ARCHIVE = HERE / "data" / "format-1.tar.xz"
sys.path[:0] = [
    str(HERE.parents[1] / "benchmarks" / folder) for folder in ("hardening/attacks", "speed/start", "speed")
]

HUTCH = [sys.executable, "-c", "from hutch.cli.main import main; main()"]
FITS = {
    "none": ("--regularizer none", ""),
    "nat_oem": ("--regularizer nat_oem", ""),
    "of classes": ("--mode class --drift 6", "--drift 6"),
    "missing": ("--missing", ""),
}
"""Options of `hutch em fit` for a new model, and for continuing with it."""


def _crowd(name: str, options: str) -> tuple[list[str], list[str]]:
    """Commands that fit a model of labels, or of votes, and those that apply it."""
    return [f"crowd {options} -f {name}.model --quiet"], [f"crowd {options} -i {name}.model -t -p out.tsv --quiet"]


KINDS: dict[str, tuple[list[str], list[str]]] = {
    **{f"crowd {each.name}": _crowd(each.name, f"labels.tsv --model {each.name}") for each in EXCHANGEABLE},
    **{
        f"crowd online {name}": _crowd(f"online_{name}", f"labels.tsv --method online --slots 16 {options}")
        for name, options in {"two_level": "", "nominal": "--model nominal", "mixed": "--reference w1"}.items()
    },
    "crowd with a reference": _crowd("mixed", "labels.tsv --reference w1 --reference w2"),
    **{f"pairs {each.name}": _crowd(each.name, f"votes.tsv --pairs --model {each.name}") for each in MODELS},
    "pairs online": _crowd("pairs_online", "votes.tsv --pairs --method online"),
    **{
        f"em {name}": (
            [f"em fit rows.csv --rank 2 {new} -f em_{name.replace(' ', '_')}.model"],
            [f"em fit rows.csv -i em_{name.replace(' ', '_')}.model {known} --test rows.csv"],
        )
        for name, (new, known) in FITS.items()
    },
    "em": (
        ["em fit rows.csv --rank 2 -f em.model"],
        ["em fit rows.csv -i em.model --test rows.csv"],
    ),
    "label store": (
        [
            "train data.vw -C asking.yaml --quiet -f asking.model",
            "active ask data.vw -i asking.model --store labels.db -n 3",
            "active answer answers.jsonl --store labels.db",
        ],
        ["active export --store labels.db", "active report --store labels.db"],
    ),
    "store of certified labels": (
        ["label items.csv --who who.yaml --votes votes_on_items.tsv --store certified.db"],
        ["label items.csv --who who.yaml --votes votes_on_items.tsv --store certified.db -p out.tsv"],
    ),
    "shards": (
        ["train data.vw --shards 2 --passes 2 --quiet -b 10 --loss_function logistic -f shards.model"],
        ["predict data.vw -i shards.model -p out.tsv --quiet"],
    ),
    "served log": (
        [],
        [
            "serve log export --store mail.log.db",
            "serve log replay mail.at-000000000000 --store mail.log.db -f out.model",
            "predict data.vw -i out.model -p out.tsv --quiet",
            "predict data.vw -i mail -p out.tsv --quiet",
            "predict offers.vw -i offers -p out.tsv --quiet",
        ],
    ),
    "cache": (
        ["train data.vw --cache --passes 2 --quiet -b 10 --loss_function logistic -f made.model"],
        [
            "train data.vw --cache --passes 2 --quiet -b 10 --loss_function logistic -f out.model",
            "predict data.vw -i out.model -p out.tsv --quiet",
        ],
    ),
}
"""By kind: commands that write its files, and commands that read them; what the latter print or write is kept."""


def hutch(words: str, folder: Path) -> str:
    """Run a command; return its output, or the file it writes if it prints nothing."""
    out = folder / "out.tsv"
    out.unlink(missing_ok=True)
    done = subprocess.run([*HUTCH, *words.split()], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"hutch {words}: {done.stderr}")
    return done.stdout + (out.read_text() if out.exists() else "")


def write_inputs(folder: Path) -> None:
    """Write the input files of the commands."""
    import commands

    commands.write_data(folder)
    (folder / "data.vw").write_text("".join((folder / "data.vw").open().readlines()[:20]))
    votes = [
        f"w{k % 3}\t{left}\t{right}\t{left}\n" for k, (left, right) in enumerate(["ab", "bc", "ac", "cd", "ad"] * 3)
    ]
    (folder / "votes.tsv").write_text("".join(votes))
    (folder / "offers.yaml").write_text(
        "chain: [explore_squarecb, contextual_bandit, cost_sensitive_with_features, linear]\n"
    )
    (folder / "offers.vw").write_text("shared |user u1\n0:1:0.5 |offer a\n|offer b\n\n" * 3)
    rng = random.Random(1)
    items = [f"i{k}" for k in range(120)]
    truth = {item: rng.choice("ab") for item in items}
    seen = {item: truth[item] if rng.random() < 0.9 else rng.choice("ab") for item in items}
    (folder / "items.csv").write_text("id\n" + "".join(f"{item}\n" for item in items))
    for name, worker, labels in (("people", "ann", truth), ("votes_on_items", "model", seen), ("large", "gpt", seen)):
        (folder / f"{name}.tsv").write_text("".join(f"{worker}\t{item}\t{labels[item]}\n" for item in items))
    kinds = {
        "large": "{kind: judge, price: 0.02, votes: large.tsv}",
        "people": "{kind: person, price: 1, votes: people.tsv}",
    }
    (folder / "who.yaml").write_text("".join(f"{name}: {kind}\n" for name, kind in kinds.items()))


def serve(folder: Path) -> None:
    """Models that a server has taught three examples and a decision with its reward, with their log."""
    hutch("train data.vw --loss_function logistic -b 10 --quiet -f mail", folder)
    hutch("train offers.vw -C offers.yaml --set weights.bits=10 --quiet -f offers", folder)
    command = [*HUTCH, "serve", "mail", "offers", "--port", "0", "--keep", "3"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        address = process.stdout.readline().split()[-1]
        for number in range(3):
            _post(f"{address}/v1/learn", f"{(-1) ** number} |f w{number} w9", "text/plain")
        _post(f"{address}/v1/rank?model=offers&id=d1", "shared |user u1\n|offer a\n|offer b\n", "text/plain")
        _post(f"{address}/v1/reward?model=offers", json.dumps({"id": "d1", "cost": 0.5}), "application/json")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()


def _post(address: str, body: str, kind: str) -> None:
    request = urllib.request.Request(address, body.encode(), {"Content-Type": kind})
    with urllib.request.urlopen(request) as answer:
        answer.read()


def write_kinds(folder: Path) -> None:
    """The files of every kind but the models of chains, and what reading them gives."""
    write_inputs(folder)
    for kind, (made, read) in KINDS.items():
        printed = ""
        for words in made:
            if words.startswith("active answer"):
                ids = [json.loads(line)["id"] for line in printed.splitlines()]
                answers = ({"id": id, "label": 1, "worker": "ann"} for id in ids)
                (folder / "answers.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
            printed = hutch(words, folder)
        if kind == "served log":
            serve(folder)
        with tempfile.TemporaryDirectory() as place:  # reading may change a file
            copy = Path(shutil.copytree(folder, Path(place) / "copy"))
            found = {words: hutch(words, copy) for words in read}
        (folder / f"{kind}.json").write_text(json.dumps(found, indent=1))
        for path in folder.glob("out.*"):
            path.unlink()


def write_chains(folder: Path) -> None:
    """A model for every layer, and what it predicts."""
    from sound_chains import CHAINS

    from hutch import Chain

    seen: set[str] = set()
    for name, (layers, lines) in CHAINS.items():
        names = {layer if isinstance(layer, str) else next(iter(layer)) for layer in layers}
        if names <= seen:
            continue
        seen |= names
        chain = Chain.from_config({"weights": {"bits": 8}, "chain": layers})
        chain.learn("\n".join(lines))
        chain.save(folder / f"{name}.model")
        found = Chain.load(folder / f"{name}.model").predict("\n".join(lines))
        about = {"layers": sorted(names), "lines": lines, "predictions": found.tolist()}
        (folder / f"{name}.json").write_text(json.dumps(about))


def main() -> None:
    """Write the archive."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for part, write in (("chains", write_chains), ("kinds", write_kinds)):
            (folder / part).mkdir()
            write(folder / part)
        ARCHIVE.parent.mkdir(exist_ok=True)
        with tarfile.open(ARCHIVE, "w:xz") as archive:
            for path in sorted(folder.glob("*/*")):
                archive.add(path, path.relative_to(folder))
    print(f"{ARCHIVE}: {os.path.getsize(ARCHIVE)} bytes")


if __name__ == "__main__":
    main()
