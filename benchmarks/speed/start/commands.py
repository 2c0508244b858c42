"""What it costs to start: the commands on small data, as wheels are installed.

Writes a section of benchmarks/results/speed.md.

    python benchmarks/speed/start/commands.py [--folder DIR] [--runs N] [--only NAME ...] [--wheel WHEEL ...]
        [--no-page]

Makes an environment in DIR with Hutch as it is installed without extras, which `speed.py` shares, or one for each
--wheel, to compare versions. Whole processes; commands and environments alternate, and the least CPU seconds of
each count, since other work on a machine only adds to them. The first run compiles what is missing and does not count.
"""

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from speed import PAGE, ROOT, START, about, environment, own_environment

COMMANDS = {
    "vw": "vw -d data.vw --loss_function logistic --quiet",
    "train": "train data.vw --loss_function logistic --quiet",
    "train a chain": "train data.vw -C chain.yaml -f made.model --quiet",
    "train crowd_em": "train crowds.vw -C crowd.yaml --quiet",
    "predict": "predict data.vw -i known.model -p made.txt --quiet",
    "crowd": "crowd labels.tsv --quiet",
    "crowd online": "crowd labels.tsv --method online --quiet",
    "em fit": "em fit rows.csv --rank 2",
    "crowd of ratings": "crowd demo-ratings/labels.csv --score demo-ratings/truth.csv --quiet",
    "judges": "judges demo-judges/verdicts.csv --people demo-judges/people.csv --slice topic",
    "estimate": "estimate demo-judges/people.csv --judges demo-judges/verdicts.csv --of rate=pass",
    "label": "label items.csv --who who.yaml --store bought.db --target accuracy=0.9 -p bought.tsv --quiet",
    "estimate a benchmark": "estimate demo-benchmark/answers.csv --new mine --judged demo-benchmark/judged.csv",
    "evaluate": "evaluate demo-clicks/clicks.dsjson -C demo-clicks/policy.yaml",
    "train a table": "train demo-table/customers.csv --label churned --classes no,yes -f churn.model --quiet",
    "predict a table": "predict demo-table/new.csv -i known-churn.model -p made.txt --quiet",
    "train records": "train demo-serve/messages.jsonl -C demo-serve/triage.yaml -f triage.model --quiet",
    "active report": "active report --store labels.db",
    "active ask": "active ask data.vw -i asking.model --store asked.db -n 5",
    "active simulate": "active simulate data.vw -C asking.yaml",
    "config check": "config check chain.yaml",
    "inspect": "inspect known.model",
    "--help": "--help",
}
READY = (
    *(f"demo {name}" for name in ("ratings", "judges", "benchmark", "clicks", "table", "serve")),
    "train demo-table/customers.csv --label churned --classes no,yes -f known-churn.model --quiet",
    "train data.vw --loss_function logistic --quiet -f known.model",
    "train data.vw -C asking.yaml --quiet -f asking.model",
    "active ask data.vw -i asking.model --store labels.db -n 30",
)
CHAINS = {
    "chain": "chain:\n- binary\n- linear: {loss: hinge}\n",
    "asking": "chain:\n- active\n- linear: {loss: logistic}\n",
    "crowd": "chain:\n- crowd_em: {classes: 2, worker: worker, passes: 1}\n- one_against_all: {classes: 2}\n"
    "- linear: {loss: logistic}\n",
}
WHO = "judge: {kind: judge, price: 0.02, votes: judge.tsv}\npeople: {kind: person, price: 0.5, votes: people.tsv}\n"


def write_data(folder: Path) -> None:
    """100 lines, 300 labels of 9 workers, 40 blocks of 3 labels, 200 rows of 4 numbers, 200 items, chains."""
    rng = random.Random(1)
    for name, text in CHAINS.items():
        (folder / f"{name}.yaml").write_text(text)
    words = [" ".join(f"w{rng.randrange(50)}" for _ in range(8)) for _ in range(100)]
    (folder / "data.vw").write_text(
        "".join(f"{rng.choice((-1, 1))} |f {each} |g z:{rng.random():.3f}\n" for each in words)
    )
    votes = [
        f"w{worker}\tt{task}\t{'abc'[task % 3] if rng.random() < 0.8 else 'a'}\n"
        for task in range(100)
        for worker in rng.sample(range(9), 3)
    ]
    (folder / "labels.tsv").write_text("".join(votes))
    blocks = [
        "".join(
            f"{1 + task % 2} |worker v{worker} |words a{task % 7} b{task % 2}\n" for worker in rng.sample(range(5), 3)
        )
        for task in range(40)
    ]
    (folder / "crowds.vw").write_text("\n".join(blocks) + "\n")
    truth = ["ab"[rng.random() < 0.3] for _ in range(200)]
    judged = [each if rng.random() < 0.9 else "ab"[each == "a"] for each in truth]
    for name, told in (("people", truth), ("judge", judged)):
        (folder / f"{name}.tsv").write_text("".join(f"{name}\ti{k}\t{each}\n" for k, each in enumerate(told)))
    (folder / "items.csv").write_text("id\n" + "".join(f"i{k}\n" for k in range(200)))
    (folder / "who.yaml").write_text(WHO)
    rows = [",".join(f"{rng.gauss(0, 1):.4f}" for _ in range(4)) for _ in range(200)]
    (folder / "rows.csv").write_text("\n".join(["a,b,c,d", *rows]) + "\n")


def cpu(hutch: Path, words: str, folder: Path, said: int = subprocess.DEVNULL) -> float:
    """CPU seconds of a command."""
    for made in ("asked.db", "bought.db"):
        (folder / made).unlink(missing_ok=True)
    plain = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")}
    variables = {**plain, "HUTCH_CACHE_DIR": str(folder.parents[1] / "kernels")}
    process = subprocess.Popen(
        [hutch, *words.split()], cwd=folder, stdout=said, stderr=subprocess.PIPE, env=variables, text=True
    )
    assert process.stderr is not None
    text = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"hutch {words} failed:\n{text}")
    return used.ru_utime + used.ru_stime


def prepare(hutch: Path, folder: Path) -> None:
    """What the commands start from, made by the environment that runs them."""
    (folder / "labels.db").unlink(missing_ok=True)
    for words in READY[:-1]:
        cpu(hutch, words, folder)
    with open(folder / "requests.jsonl", "wb") as requests:
        cpu(hutch, READY[-1], folder, requests.fileno())
    asked = [json.loads(line)["id"] for line in (folder / "requests.jsonl").read_text().splitlines()]
    answers = [json.dumps({"id": id, "label": 1 if i % 3 else -1, "worker": "ann"}) for i, id in enumerate(asked)]
    (folder / "answers.jsonl").write_text("\n".join(answers) + "\n")
    cpu(hutch, "active answer answers.jsonl --store labels.db", folder)


def section(rows: list[str], runs: int, load: str) -> str:
    """The section of the page."""
    lines = [
        "<!-- written by benchmarks/speed/start/commands.py -->",
        "",
        "Written by `python benchmarks/speed/start/commands.py`: CPU seconds of whole processes on 100 lines, 300",
        f"labels or 200 rows, the least of {runs} runs each, installed as from a wheel, kernels compiled before. On",
        "a machine busy with other work CPU seconds are more for all alike: `hutch vw` is the measure.",
        f"Measured on: {about(load)}.",
        "",
        "| command | CPU s |",
        "|---|---|",
        *rows,
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, write the section."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=ROOT / ".speed", help="environments, inputs, caches")
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--only", nargs="*", choices=COMMANDS)
    parser.add_argument(
        "--wheel", type=Path, nargs="*", default=[], help="installed versions to compare; none: this one"
    )
    parser.add_argument("--no-page", action="store_true", help="only print")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    wheels = {hashlib.sha256(each.read_bytes()).hexdigest()[:12]: each.resolve() for each in options.wheel}
    pythons = [environment(folder / name, str(wheel)) for name, wheel in wheels.items()]
    programs = [python.with_name("hutch") for python in pythons or [own_environment(folder / "own")]]
    places = [folder / "start" / str(number) for number in range(len(programs))]
    for program, place in zip(programs, places, strict=True):
        place.mkdir(parents=True, exist_ok=True)
        write_data(place)
        prepare(program, place)
    load, rows = f"{os.getloadavg()[0]:.1f}", []
    for name, words in COMMANDS.items():
        if options.only and name not in options.only:
            continue
        found = [[cpu(*each) for each in zip(programs, [words] * len(programs), places, strict=True)]
                 for _ in range(options.runs + 1)][1:]  # fmt: skip
        rows.append(f"| `hutch {words}` | {' | '.join(f'{min(column):.3f}' for column in zip(*found, strict=True))} |")
        print(rows[-1], flush=True)
    if not (options.no_page or options.only or options.wheel):
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
        _, next_, after = rest.partition("\n## ")
        PAGE.write_text(f"{before}{START}\n{section(rows, options.runs, load)}{next_}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
