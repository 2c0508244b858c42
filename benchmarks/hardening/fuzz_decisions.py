"""Random command lines of bandits on random logs, run by `hutch vw` and by Vowpal Wabbit: predictions must be equal.

    pip install vowpalwabbit==9.11.9
    python benchmarks/hardening/fuzz_decisions.py [--cases 300] [--seed 1] [--keep FOLDER] [--numbers]

A case is a command with its data, and half of the time a second run that continues with `-i` or predicts with `-t`.
Equal are lines of `-p` whose numbers differ by no more than 2e-6, and mean losses whose first six digits agree. What
docs/coming-from-vw.md says to differ is drawn, too, and counted apart. With `--numbers` decisions are for a number.
"""

import argparse
import contextlib
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hutch.core.errors import HutchError
from hutch.vw.main import run

EXPLORERS = (
    "",
    "--epsilon 0.3",
    "--first 7",
    "--first 12 --epsilon 0.1",
    "--softmax --lambda 5",
    "--softmax --epsilon 0.2",
    "--squarecb",
    "--squarecb --gamma_scale 80 --gamma_exponent 0.3",
    "--squarecb --elim --mellowness 0.05",
    "--regcb --mellowness 0.02",
    "--regcb --regcbopt",
    "--regcb --regcbopt --first_only --cb_min_cost -1 --cb_max_cost 2",
    "--bag 3",
    "--bag 5 --greedify --epsilon 0.1",
    "--bag 2 --first_only",
    "--cover 2",
    "--cover 4 --psi 0.5 --nounif",
    "--cover 3 --epsilon 0.15",
    "--cb_sample",
)
NO_TYPES = ("--squarecb", "--regcb")
"""Explorers that learn by --cb_type mtr only."""
INTERACTIONS = (
    "-q ua",
    "-q ab",
    "-q ::",
    "-q aa",
    "-q u:",
    "--cubic uab",
    "--interactions uab -q ua",
    "--cubic aaa",
    "",
)
MORE = (
    "--ignore b",
    "--ignore_linear a",
    "--keep a --keep u",
    "--l1 1e-3",
    "--l2 1e-3",
    "--l1 1e-4 --l2 1e-4",
    "--noconstant",
    "-b 9",
    "-b 22",
    "-l 0.1",
    "--power_t 0.2",
    "--sgd",
    "--adaptive --invariant",
    "--initial_t 3 --sgd",
    "--coin",
    "--ftrl --ftrl_alpha 0.1",
    "--pistol",
    "--random_seed 7",
    "--hash all",
    "--sparse_weights",
    "--loss_function logistic",
    "--min_prediction -1 --max_prediction 1",
)
KINDS = ("adf", "explore_adf", "explore_adf", "explore_adf", "ldf", "cb", "cb_explore", "cbify")
_PREDICT = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


@dataclass
class Case:
    """A command line without files, its data, and what a second run adds to `-i`; None if there is none."""

    command: str
    data: str
    second: str | None = None

    @property
    def other_loss(self) -> bool:
        """Whether docs/coming-from-vw.md says that its loss differs, and predictions do not."""
        return bool(re.search(r"--(replay_\w|oaa_subsample) |--experimental_igl.*--squarecb", self.command))

    @property
    def explained(self) -> bool:
        """Whether docs/coming-from-vw.md says that it differs."""
        words = self.command
        single = re.search(r"--(cb|cb_explore|cbify) ", words)
        return bool(
            ("--coin" in words and "--cb_type dr" in words)
            or (single and re.search(r"-q|--cubic|--interactions", words))
            or (self.second == "" and re.search(r"--(bag|cover|cb_type dr|cats|cats_pdf) ", words))
            or (self.second is not None and "--cbify" in words)
            or (self.second == "-t" and re.search(r"--regcb|--elim", words))
            or re.search(r"--(regcb|elim).*--(ftrl|pistol|coin)", words)
            or (re.search(r"--(pistol|coin)", words) and re.search("--l[12]", words))
        )


def _number(rng: random.Random, low: float, high: float) -> str:
    return f"{rng.uniform(low, high):.{rng.choice((1, 2, 4))}f}"


def _words(rng: random.Random, letter: str) -> str:
    names = rng.sample(range(8), rng.randint(1, 4))
    return " ".join(f"{letter}{k}" + ("" if rng.random() < 0.5 else ":" + _number(rng, -1, 2)) for k in names)


def _features(rng: random.Random, letters: str) -> str:
    return " ".join(f"|{letter} {_words(rng, letter)}" for letter in letters)


def decisions(rng: random.Random, costs: bool, shared: bool) -> str:
    """A log of decisions as text."""
    found, wide = [], rng.random() < 0.3
    for _ in range(rng.randint(30, 90)):
        count = rng.randint(1, 9 if wide else 4)
        chosen = rng.randrange(count) if rng.random() < 0.9 else -1
        if shared and rng.random() < 0.95:
            found.append(f"shared {rng.choice(('', chr(39) + 'tag'))}{_features(rng, 'u')}")
        for k in range(count):
            label = f"{k + 1}:{_number(rng, -1, 2)} " if costs else ""
            if k == chosen and not costs:
                label = f"{rng.choice((0, k))}:{_number(rng, -1, 2)}:{rng.uniform(0.02, 1):.3f} "
            found.append(label + _features(rng, rng.choice(("a", "a", "ab", "b"))))
        found.append("")
    return "\n".join(found) + "\n"


def _space(rng: random.Random, letter: str) -> dict[str, object]:
    return {f"{letter}{k}": rng.choice((1, 0.5, round(rng.random(), 3), "w", True)) for k in rng.sample(range(8), 3)}


def log(rng: random.Random, dsjson: bool) -> str:
    """A log of decisions as JSON."""
    lines = []
    for _ in range(rng.randint(30, 80)):
        count = rng.randint(1, 5)
        label = {"_label_cost": round(rng.uniform(-1, 1), 3), "_label_probability": round(rng.uniform(0.05, 1), 3)}
        label |= {"_label_Action": 1, "_labelIndex": rng.randrange(count)}
        context = {"u": _space(rng, "u"), "_multi": [{"a": _space(rng, "a")} for _ in range(count)]}
        given = label if rng.random() < 0.9 else {}
        whole = {**given, "EventId": "e", "a": [1], "c": context, "p": [1.0]}
        lines.append(json.dumps(whole if dsjson else {**given, **context}))
    return "\n".join(lines) + "\n"


def _single(rng: random.Random, kind: str, classes: int) -> str:
    """Lines of which each is an example."""
    lines = []
    for _ in range(rng.randint(40, 150)):
        label = {
            "logged": f"{rng.randint(1, classes)}:{_number(rng, -1, 2)}:{rng.uniform(0.05, 1):.3f}",
            "class": str(rng.randint(1, classes)),
            "costs": " ".join(f"{k}:{_number(rng, 0, 1)}" for k in range(1, classes + 1)),
        }[kind]
        label = "" if kind == "logged" and rng.random() < 0.1 else label
        lines.append(f"{label} {_features(rng, 'ab')}")
    return "\n".join(lines) + "\n"


def draw(rng: random.Random) -> Case:
    """A random case."""
    kind, explorer = rng.choice(KINDS), rng.choice(EXPLORERS)
    typed = rng.random() < 0.4 and not explorer.startswith(NO_TYPES)
    policy = f"--cb_type {rng.choice(('ips', 'dr', 'dm', 'mtr', 'sm') if kind == 'adf' else ('ips', 'dr', 'mtr'))}"
    words = [explorer] if kind not in ("adf", "ldf", "cb") else []
    words += [policy] if typed and kind != "ldf" else []
    classes, shared = rng.randint(2, 5), rng.random() < 0.7
    if kind in ("adf", "explore_adf"):
        words = [f"--cb_{kind}", *words, *(["--rank_all"] if kind == "adf" and rng.random() < 0.6 else [])]
        words += ["--clip_p 0.1"] if rng.random() < 0.1 else []
        form = rng.choice(("text", "text", "dsjson", "json"))
        data = decisions(rng, False, shared) if form == "text" else log(rng, form == "dsjson")
        words += [] if form == "text" else [f"--{form}", *(["--chain_hash"] if rng.random() < 0.5 else [])]
    elif kind == "ldf":
        form = rng.choice(("--csoaa_ldf m", "--csoaa_ldf mc", "--csoaa_ldf m --csoaa_rank"))
        words, data = [form], decisions(rng, True, shared)
        if form.endswith("mc") and rng.random() < 0.4 and not shared:
            words.append("--probabilities --loss_function logistic")
    elif kind == "cbify":
        costs = rng.random() < 0.3
        words = [f"--cbify {classes}", *(["--cbify_cs"] if costs else []), *words]
        words += ["--loss0 -1 --loss1 0.5"] if rng.random() < 0.2 else []
        data = _single(rng, "costs" if costs else "class", classes)
    else:
        words, data = [f"--{kind} {classes}", *words], _single(rng, "logged", classes)
    words += [rng.choice(INTERACTIONS)] if rng.random() < 0.5 and (kind[:2] != "cb" or rng.random() < 0.2) else []
    for option in rng.sample(MORE, rng.choice((0, 0, 1, 1, 2))):
        if not any(word in " ".join(words) for word in option.split() if word.startswith("--")):
            words.append(option)
    if rng.random() < 0.25:
        words.append(f"--passes {rng.randint(2, 3)} -c -k" + rng.choice((" --holdout_off", " --holdout_off", "")))
    second = rng.choice(("-t", "-t", "")) if rng.random() < 0.4 and "--passes" not in " ".join(words) else None
    return Case(" ".join(filter(None, words)), data, second)


def numbers(rng: random.Random, form: str, low: float, high: float) -> str:
    """Lines whose label is a number of a range, or one that was chosen, with its cost and density."""
    lines = []
    for _ in range(rng.randint(40, 150)):
        number, cost = round(rng.uniform(low, high), rng.choice((0, 2, 4))), rng.uniform(-1, 2)
        number, density = min(max(number, low), high), rng.uniform(0.3, 3) / (high - low)
        if form == "json":
            label = {"_label_ca": {"action": number, "cost": round(cost, 3), "pdf_value": density}}
            given = label if rng.random() < 0.9 else {}
            lines.append(json.dumps(given | {"a": _space(rng, "a"), "b": _space(rng, "b")}))
        elif form == "labels":
            lines.append(f"{number} {_features(rng, 'ab')}")
        else:
            label_of = f"ca {number}:{cost:.3f}:{density:.6g}" if rng.random() < 0.9 or form == "all" else ""
            lines.append(f"{label_of} {_features(rng, 'ab')}")
    return "\n".join(lines) + "\n"


def draw_numbers(rng: random.Random) -> Case:
    """A random case of decisions for a number."""
    kind, low = rng.choice(("cats", "cats", "cats_pdf", "cbzo", "cbify_reg", "discrete")), rng.choice((0, 0.5, 20))
    high, parts, form = low + rng.choice((1, 7.5, 32, 1000)), rng.choice((2, 4, 8, 32, 64)), "text"
    span = [f"--min_value {low} --max_value {high}"]
    width = [f"--bandwidth {rng.choice((0.02, 0.1, 0.2, 0.45)) * (high - low):.4g}"] if rng.random() < 0.7 else []
    epsilon = [f"--epsilon {rng.choice((0.1, 0.5, 1))}"] if rng.random() < 0.4 else []
    if kind in ("cats", "cats_pdf"):
        words = [f"--{kind} {parts}", *span, *width, *epsilon]
        form = rng.choice(("text", "text", "json"))
        words += ["--json", *(["--chain_hash"] if rng.random() < 0.5 else [])] if form == "json" else []
        words += ["--link glf1"] if rng.random() < 0.2 else []
    elif kind == "cbzo":
        words = ["--cbzo", rng.choice(("", "--policy constant")), f"-l {rng.choice((0.001, 0.01))}"]
        words += [f"--radius {rng.choice((0.05, 0.5))}"] if rng.random() < 0.5 else []
        words += ["--l1 0.01 --l2 0.02", *(["--no_bias_regularization"] if rng.random() < 0.5 else [])]
        return Case(" ".join(filter(None, words)), numbers(rng, "all", low, high))
    else:
        words = [f"--cbify {parts} --cbify_reg", *span, f"--loss_option {rng.randint(0, 2)}"]
        words += [f"--loss_report {rng.randint(0, 1)}", "--loss_01_ratio 0.2"] if rng.random() < 0.5 else []
        words += width if kind == "cbify_reg" else ["--cb_discrete", *epsilon]
        words += [f"--cats_tree {parts}"] if kind == "discrete" and rng.random() < 0.5 else []
        words += [rng.choice(("--first 9", "--bag 2"))] if kind == "discrete" and rng.random() < 0.3 else []
        form = "labels"
    tuned = ("-q ab", "-q ::", "--coin", "--ftrl", "-l 0.1", "--sgd", "-b 9", "--noconstant", "--random_seed 7",
             "--loss_function logistic", "--ignore b", "--hash all")  # fmt: skip
    for option in rng.sample(tuned, rng.choice((0, 1, 1, 2))):
        if not ("--loss" in option and "--cb_discrete" in words):
            words.append(option)
    if rng.random() < 0.2:
        words.append("--passes 2 -c -k --holdout_off")
    words = [word for word in words if word != "--random_seed 7" or "--passes" in words[-1]]  # VW keeps it in models
    second = rng.choice(("-t", "")) if rng.random() < 0.4 and "--passes" not in " ".join(words) else None
    return Case(" ".join(filter(None, words)), numbers(rng, form, low, high), second)


def ours(words: list[str]) -> str:
    """What `hutch vw` says."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            run(words)
        except HutchError as error:
            return f"refused: {error}"
    return said.getvalue()


def theirs(words: list[str]) -> str:
    """What Vowpal Wabbit says."""
    command = [sys.executable, "-m", "vowpalwabbit", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stderr


def _same_lines(one: str, other: str) -> bool:
    if one == other:
        return True
    if _PREDICT.sub("#", one) != _PREDICT.sub("#", other):
        return False
    pairs = zip(_PREDICT.findall(one), _PREDICT.findall(other), strict=True)
    return all(abs(float(a) - float(b)) <= 2e-6 * max(1.0, abs(float(b))) for a, b in pairs)


def loss_of(said: str) -> str:
    """The average loss in it, to five digits."""
    found = re.search(r"average loss = (\S+)", said)
    if not found or not _PREDICT.fullmatch(found[1]):
        return found[1] if found else "none"
    return f"{float(found[1]):.5g}"


def difference(case: Case, read: Callable[[str], str] = str) -> str:
    """What differs between the two, of predictions as `read` takes them; empty if nothing does."""
    Path("data").write_text(case.data)
    runs = [[*case.command.split(), "-f", "model"]]
    if case.second is not None:
        runs.append([*case.command.split(), *case.second.split(), "-i", "model"])  # VW keeps not all in its models
    for number, words in enumerate(runs):
        told, predictions = [], []
        for name, execute in (("ours", ours), ("theirs", theirs)):
            Path(name).unlink(missing_ok=True)
            files = [word if word != "model" else f"model.{name}" for word in words]
            told.append(execute(["-d", "data", *files, "-p", name]))
            predictions.append(read(Path(name).read_text()) if Path(name).exists() else "nothing")
            for cache in (*Path().glob("*cache*"),):
                cache.unlink()
        if "average loss" not in told[1]:
            return "" if told[0].startswith("refused") else f"run {number + 1}: refused by VW: {told[1][-100:]!r}"
        if told[0].startswith("refused"):
            return f"run {number + 1}: {told[0][:150]}"
        if not _same_lines(*predictions):
            return f"run {number + 1}: predictions"
        if loss_of(told[0]) != loss_of(told[1]) and not case.other_loss:
            return f"run {number + 1}: loss {loss_of(told[0])}, {loss_of(told[1])}"
    return ""


def main() -> None:
    """Draw cases, run them, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--numbers", action="store_true", help="decisions for a number of a range")
    parser.add_argument("--keep", type=Path, help="a folder for the data of cases that differ")
    given = parser.parse_args()
    keep = given.keep.absolute() if given.keep else None
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for k in range(given.cases):
            case = (draw_numbers if given.numbers else draw)(random.Random(f"{given.seed}.{k}"))
            found = difference(case)
            kind = "equal" if not found else "said to differ" if case.explained else "different"
            counts[kind] += 1
            if found:
                print(f"{given.seed}.{k} {kind}: {case.command} [{case.second}]: {found}", flush=True)
                if keep:
                    keep.mkdir(exist_ok=True)
                    (keep / f"{given.seed}.{k}").write_text(case.data)
        os.chdir("/")
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))


if __name__ == "__main__":
    main()
