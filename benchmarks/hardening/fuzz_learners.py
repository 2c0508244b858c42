"""Random command lines of learners on random data, run by `hutch vw` and by Vowpal Wabbit: predictions must be equal.

    pip install vowpalwabbit==9.11.9
    python benchmarks/hardening/fuzz_learners.py [--cases 300] [--seed 1] [--kind bfgs] [--keep FOLDER]

Equal is what `fuzz_decisions.py` beside it calls so. Each command runs once.
"""

import argparse
import json
import os
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from fuzz_decisions import Case, decisions, difference, loss_of, ours, theirs

_ANY = ("--noconstant", "-b 9", "--hash all", "-q ab", "-q ::", "--ignore_linear a", "--cubic aab", "--ignore b")


def features(rng: random.Random, letters: tuple[str, ...] = ("a", "ab", "ab", "abc")) -> str:
    """Some features in some namespaces."""
    found = []
    for letter in rng.choice(letters):
        names = rng.sample(range(8), rng.randint(1, 4))
        numbers = (f"{letter}{k}" + rng.choice(("", f":{rng.uniform(-1, 2):.2f}")) for k in names)
        found.append(f"|{letter} {' '.join(numbers)}")
    return " ".join(found)


def _lines(rng: random.Random, label: Callable[[], str], weights: bool = True) -> str:
    lines = []
    for _ in range(rng.randint(20, 150)):
        weight = rng.choice(("", "", "", " 2", " 0.5")) if weights else ""
        lines.append(f"{label()}{weight} {features(rng)}")
    return "\n".join(lines) + "\n"


def some(rng: random.Random, options: tuple[str, ...], most: int) -> list[str]:
    return rng.sample(options, rng.randint(0, most))


def bfgs(rng: random.Random) -> Case:
    """A search over passes; without its own scales it ends soon where there is no `--l2`."""
    loss = rng.choice(
        ("squared", "squared", "logistic", "logistic", "poisson", "classic", "expectile --expectile_q 0.3")
    )
    numbers = {"logistic": lambda: rng.choice(("1", "-1")), "poisson": lambda: str(rng.choice((0, 1, 2, 5)))}
    data = _lines(rng, numbers.get(loss, lambda: f"{rng.uniform(-3, 3):.2f}"))
    words = [rng.choice(("--bfgs", "--bfgs", "--bfgs", "--conjugate_gradient")), f"--loss_function {loss}"]
    words += [f"--passes {rng.randint(2, 15)} -c -k", rng.choice(("--holdout_off", "--holdout_off", ""))]
    words += [f"--l2 {rng.choice((0.01, 0.5, 2))}"] if rng.random() < 0.8 else []
    if words[0] == "--bfgs":
        words += some(rng, ("--mem 1", "--mem 3", "--termination 0.05", "--hessian_on", "--mem 0"), 2)
        if "--mem" in " ".join(words[5:]) and sum(word.startswith("--mem") for word in words) > 1:
            words = [word for word in words if word != "--mem 3"]
    words += some(rng, (*_ANY, "--no_bias_regularization"), 2)
    return Case(" ".join(filter(None, [*words, "--predict_only_model"])), data)


def active_cover(rng: random.Random) -> Case:
    """Active learning by disagreement."""
    binary = rng.random() < 0.7
    data = _lines(rng, lambda: rng.choice(("1", "-1")) if binary else f"{rng.uniform(-3, 3):.2f}")
    words = ["--active_cover", f"--mellowness {rng.choice((0.01, 0.1, 8))}"]
    words += some(rng, ("--alpha 2", "--beta_scale 4"), 1)
    words += some(rng, ("--cover 3", "--cover 1", "--oracular", "--random_seed 4"), 1)
    words += rng.choice(([], ["--binary"], ["--loss_function logistic"], ["--loss_function logistic", "--binary"]))
    if not binary:
        words = [word for word in words if "logistic" not in word and word != "--binary"]
    words += some(rng, (*_ANY, "--adax", "--sgd -l 0.2", "-l 0.1", "--passes 2 -c -k --holdout_off"), 2)
    return Case(" ".join(words), data)


def cs_active(rng: random.Random) -> Case:
    """Costs that are asked for, by rates that do not depend on the norms of other classes, as VW's do else."""
    classes = rng.randint(2, 5)

    def label() -> str:
        some = sorted(rng.sample(range(1, classes + 1), rng.randint(1, classes)))
        return " ".join(f"{k}:{rng.choice((0, 1, rng.random())):.3g}" for k in some)

    words = [f"--cs_active {classes} --simulation", *some(rng, ("--cost_max 2", "--cost_min -1", "--domination 0"), 2)]
    words += [f"--mellowness {rng.choice((0.01, 0.1, 1))}", f"--range_c {rng.choice((0.1, 0.5, 2))}"]
    words += [rng.choice(("--adaptive", "--adaptive --adax", "--adaptive --invariant", "--sgd -l 0.1"))]
    words += some(rng, (*_ANY, "-l 0.1", "--passes 2 -c -k --holdout_off", "--passes 3 -c -k"), 1)
    return Case(" ".join(dict.fromkeys(words)), _lines(rng, label, weights=False))


def warm_cb(rng: random.Random) -> Case:
    """A bandit that begins with full labels; with a draw for nearly every choice, small differences do not stay."""
    classes, costs = rng.randint(2, 6), rng.random() < 0.3
    words = [f"--warm_cb {classes} --cb_explore_adf --cb_type mtr --epsilon {rng.choice((0.05, 0.2))}"]
    words += [f"--warm_start {rng.randint(0, 40)}", f"--choices_lambda {rng.choice((1, 2, 5, 8))}"]
    words += some(rng, ("--warm_start_update", "--interaction_update", "--warm_start_update --interaction_update"), 1)
    words += some(rng, ("--interaction 30", "--lambda_scheme 2", "--lambda_scheme 3", "--sim_bandit", "--loss1 2"), 2)
    words += ["--warm_cb_cs"] if costs else some(rng, ("--corrupt_prob_warm_start 0.4",), 1)
    if not costs and rng.random() < 0.3:
        words += [f"--corrupt_type_warm_start {rng.choice((1, 2, 3))}"]
    words += some(rng, ("--sgd -l 0.1", "-l 0.1", "--noconstant"), 1)

    def label() -> str:
        if not costs:
            return str(rng.randint(1, classes))
        return " ".join(f"{k}:{rng.choice((0, 1, rng.random())):.3g}" for k in range(1, classes + 1))

    options = dict.fromkeys(f"--{each.lstrip('-')}" for each in " ".join(words).split(" --"))
    return Case(" ".join(options), _lines(rng, label, weights=False))


def oja_newton(rng: random.Random) -> Case:
    """Newton steps by a sketch; in a small table its directions count."""
    loss = rng.choice(("squared", "squared", "logistic", "classic"))
    data = _lines(rng, lambda: rng.choice(("1", "-1")) if loss == "logistic" else f"{rng.uniform(-3, 3):.2f}")
    words = [
        "--OjaNewton",
        f"--loss_function {loss}",
        f"-b {rng.choice((5, 6, 9))}",
        f"--sketch_size {rng.choice((1, 3, 10))}",
    ]
    words += some(rng, ("--epoch_size 3", "--epoch_size 20"), 1)
    words += some(rng, ("--alpha 3", "--alpha_inverse 0.2", "--learning_rate_cnt 1", "--normalize false"), 2)
    words += some(rng, ("--random_init false", "--random_seed 3", "--binary", "--noconstant", "-q ab", "--hash all"), 2)
    if "--epoch" in " ".join(words):  # with interactions it differs
        words = [word for word in words if word != "-q ab"]
    return Case(" ".join(words), data)


def evaluated(rng: random.Random) -> Case:
    """A policy whose choices stand before the logged ones."""
    classes = rng.randint(2, 5)

    def label() -> str:
        logged = f"{rng.randint(1, classes)}:{rng.uniform(-1, 2):.2f}:{rng.uniform(0.05, 1):.3f}"
        return f"{rng.randint(1, classes)} {logged}"

    words = [f"--cb {classes} --eval", *some(rng, ("--cb_type ips", "--cb_type dr", "--cb_type mtr"), 1)]
    words += some(rng, ("--sgd -l 0.1", "-l 0.1", "--noconstant", "-b 9", "--hash all"), 2)
    return Case(" ".join(dict.fromkeys(words)), _lines(rng, label, weights=False))


def policies(rng: random.Random) -> Case:
    """Policies whose choices are features."""
    classes, count, lines = rng.randint(2, 5), rng.randint(1, 6), []
    for _ in range(rng.randint(20, 120)):
        label = f"{rng.randint(1, classes)}:{rng.uniform(-1, 2):.2f}:{rng.uniform(0.05, 1):.3f}"
        named = rng.sample(range(count), rng.randint(1, count))
        choices = " ".join(f"policy{k}:{rng.randint(1, classes)}" for k in named)
        lines.append(f"{label if rng.random() < 0.9 else ''} |p {choices} {features(rng)}\n")
    words = ["--multiworld_test p", *some(rng, ("--noconstant", "-b 9", "--hash all"), 1)]
    return Case(" ".join(words), "".join(lines))


def label_trees(rng: random.Random) -> Case:
    """Sets of labels by a tree that has no room for more labels than there are; every example has one."""
    arity = rng.choice((2, 2, 3, 4))
    classes = 1 + (arity - 1) * rng.randint(1, 6)

    def label() -> str:
        return ",".join(map(str, sorted(rng.sample(range(classes), rng.randint(1, min(3, classes))))))

    words = [f"--plt {classes} --kary_tree {arity} --loss_function logistic", f"-l {rng.choice((0.1, 0.5, 5))}"]
    words += some(rng, (f"--top_k {rng.randint(1, classes)}", "--threshold 0.2", "--probabilities"), 2)
    words += some(rng, (*_ANY, "--sgd", "--passes 3 -c -k --holdout_off"), 2)
    return Case(" ".join(words), _lines(rng, label, weights=False))


def recall_tree(rng: random.Random) -> Case:
    """Classes by a tree and candidates."""
    classes = rng.randint(1, 12)
    words = [f"--recall_tree {classes}"]
    words += some(rng, ("--max_candidates 2", "--max_depth 2", "--max_depth 0", "--node_only", "--bern_hyper 0.1"), 3)
    words += some(
        rng, ("--bern_hyper 0", "--randomized_routing", "--random_seed 5", rng.choice(("--nn 2", "--coin"))), 2
    )
    if "--bern_hyper 0" in words and "--bern_hyper 0.1" in words:
        words.remove("--bern_hyper 0")
    words = [
        word
        for k, word in enumerate(words)
        if not word.startswith("--max_depth") or "--max_depth" not in " ".join(words[:k])
    ]
    words += some(rng, (*_ANY, "--sgd -l 0.1", "--passes 3 -c -k", "--loss_function logistic"), 2)
    return Case(" ".join(words), _lines(rng, lambda: str(rng.randint(1, classes))))


def epsilon_decay(rng: random.Random) -> Case:
    """Decisions by a champion and challengers, which often begin again."""
    words = [f"--cb_explore_adf --epsilon_decay --model_count {rng.choice((1, 2, 3, 3, 5))}"]
    words += [f"--min_scope {rng.choice((0, 3, 10))}"] if rng.random() < 0.8 else []
    if rng.random() < 0.7:
        words.append(f"--bonferroni_denominator 1 --epsilon_decay_significance_level {rng.choice((0.5, 0.99))}")
    words += some(rng, ("--constant_epsilon --epsilon 0.3", "--min_champ_examples 9", "--initial_epsilon 0.4"), 2)
    words += some(rng, ("--shift_model_bounds 2", "--reward_as_cost", "--challenger_epsilon", "--tol_x 0.001"), 2)
    words += some(rng, (*_ANY[:-1], "--sgd -l 0.1", "--coin", "--cb_type ips", "--first_only", "-q ua"), 2)
    blocks = decisions(rng, False, rng.random() < 0.7).split("\n\n")
    return Case(" ".join(words), "\n\n".join(block for block in blocks if re.search(r"^\d+:", block, re.M)) + "\n\n")


def feedback(rng: random.Random) -> Case:
    """Logs of decisions with what was observed after each in place of costs."""
    names, lines = [f"w{k}" for k in range(rng.randint(1, 4))], []
    count, actions = rng.randint(1, 60), rng.randint(2, 5)
    bare = rng.random() < 0.2

    def words_of(letter: str) -> dict[str, float]:
        return {f"{letter}{rng.randrange(4)}": rng.choice((1, 1, 0.5, -2)) for _ in range(rng.randint(1, 3))}

    for _ in range(count):
        chosen = rng.randrange(actions)
        seen: dict[str, object] = {"v": {rng.choice(names): rng.choice((1, 1, 2))}}
        seen |= {"w": words_of("w")} if rng.random() < 0.3 else {}
        seen |= {"_definitely_bad": rng.random() < 0.3} if rng.random() < 0.7 else {}
        context: dict[str, object] = {} if bare else {"User": words_of("u")}
        context["_multi"] = [{"Action": words_of("a") | {f"n{a}": 1}} for a in range(actions)]
        label = {"_label_cost": 0, "_label_probability": rng.choice((0.25, 0.5, 1)), "_label_Action": chosen + 1}
        rest = {"a": [*range(1, actions + 1)], "c": context, "p": [1 / actions] * actions}
        lines.append({**label, "_labelIndex": chosen, "o": [seen], **rest})
    words = ["--dsjson --coin --experimental_igl --cb_explore_adf"]
    words.append(
        rng.choice(("--epsilon 0.2", "--softmax --lambda 2", "--squarecb", "--bag 2 --epsilon 0.1", "--epsilon 0.5"))
    )
    words += some(rng, ("-q UA", "-q AA", "--interactions UUA", "-q AU", "--cb_type ips", "--cb_type dm"), 3)
    words += some(rng, ("--noconstant", "-b 10", "--ftrl_alpha 2", "--hash all", "--ignore_linear U", "--ignore A"), 2)
    return Case(" ".join(words), "".join(f"{json.dumps(line)}\n" for line in lines))


def eigen_memories(rng: random.Random) -> Case:
    """Classes by memories in a tree; none comes twice, and no value is below 0."""
    words = ["--emt", f"--emt_leaf {rng.choice((1, 2, 5, 10, 100))}"]
    words += [f"--emt_scorer {rng.choice(('self_consistent_rank', 'not_self_consistent_rank', 'distance', 'random'))}"]
    words += some(rng, (f"--emt_initial {rng.choice(('cosine', 'euclidean', 'gaussian', 'none'))}",), 1)
    words += some(
        rng,
        ("--emt_router random", f"--emt_tree {rng.choice((1, 5, 30))}", "--random_seed 5", "-l 0.1", "--power_t 0.3"),
        3,
    )
    words += some(
        rng,
        (
            "--noconstant",
            "-b 9",
            "--hash all",
            "-q ab",
            "--cubic aab",
            "--ignore b",
            rng.choice(("--ftrl", "--sgd", "--nn 2")),
        ),
        2,
    )
    words += some(rng, ("--passes 3 -c -k --holdout_off", "--loss_function logistic"), 1)
    lines = [
        f"{rng.randint(1, 5)}{rng.choice(('', ' 2', ' 0.5'))} {features(rng)} |d x:{rng.random():.4f}\n"
        for _ in range(rng.randint(20, 200))
    ]
    return Case(" ".join(words), "".join(lines).replace(":-", ":"))


def many_actions(rng: random.Random) -> Case:
    """Decisions between many actions, a few of which are explored."""
    most, alike = rng.choice((1, 2, 3, 5, 8)), rng.random() < 0.15
    words, blocks = [f"--cb_explore_adf --large_action_space --max_actions {most}"], []
    for _ in range(rng.randint(1, 15)):
        count = rng.choice((2, 5, 20, 40, 60))
        chosen = rng.randrange(count)
        lines = [f"shared |u u{rng.randrange(4)} {'' if alike else 'v:0.5'}"] if rng.random() < 0.8 else []
        for k in range(count):
            label = f"0:{rng.choice((-1, 0, 1))}:{rng.choice((0.25, 0.5, 1))} " if k == chosen else ""
            own = " ".join(f"a{rng.randrange(80)}:{rng.uniform(0.2, 3):.3g}" for _ in range(6))
            lines.append(f"{label}|a {own}" + (f" |b b{rng.randrange(40)}:{rng.uniform(1, 2):.3g}" if k % 3 else ""))
        blocks.append("\n".join(lines) + "\n\n")
    words.append(
        rng.choice(("", "--epsilon 0.3", "--squarecb", "--squarecb --gamma_scale 300", "--softmax --lambda 3"))
    )
    words += some(rng, ("--spanner_c 1.2", "--random_seed 7", "--noconstant", "--coin", "--sgd", "-b 12"), 2)
    words += some(rng, ("-q ua", "-q aa", "-q ab", "--cubic uab", "--ignore b", "--cb_type ips", "--hash all"), 2)
    return Case(" ".join(words), "".join(blocks))


def memories(rng: random.Random) -> Case:
    """Classes by memories in a tree that learns where to look; features in the order of their hashes."""
    words = [f"--memory_tree {rng.choice((1, 2, 3, 7, 20, 100))}"]
    words += some(rng, (f"--leaf_example_multiplier {rng.choice((2, 5))}", "--alpha 0.4", "--random_seed 5"), 2)
    words += some(rng, (f"--dream_repeats {rng.choice((0, 3))}", "--online", "--dream_at_update 1", "--top_K 2"), 3)
    learns = rng.random() < 0.4
    words += ["--learn_at_leaf"] if learns else some(rng, ("-b 9", "--hash all", "-q ab", "--ignore_linear a"), 1)
    words += some(rng, ("--max_number_of_labels 5", "--noconstant", *([] if learns else ["--coin"])), 1)
    words += some(rng, (rng.choice(("--sgd -l 0.1", "-l 0.1", "--ftrl", "--loss_function logistic")),), 1)
    words += some(rng, (rng.choice(("--passes 3 -c -k --holdout_off", "--passes 2 -c -k")),), 1)
    lines = []
    for _ in range(rng.randint(20, 200)):
        names = sorted(rng.sample(range(30), rng.randint(1, 6)))
        numbers = " ".join(f"{k}" + rng.choice(("", f":{rng.uniform(-1, 2):.2f}")) for k in names)
        shown = f"| {numbers}" if learns else features(rng)
        lines.append(f"{rng.randint(1, 5)}{rng.choice(('', ' 2', ' 0.5'))} {shown}\n")
    return Case(" ".join(words), "".join(lines))


def any_order(text: str) -> str:
    """Predictions whose labels are sorted: VW's order of those that are equally probable follows from its search."""
    return "\n".join(",".join(sorted(line.strip().split(","))) for line in text.splitlines())


def topics(rng: random.Random) -> Case:
    """Topics of documents; the last minibatch is not full, and VW has no predictions of it."""
    minibatch, lines = rng.randint(2, 9), []
    for _ in range(minibatch * rng.randint(2, 9) + rng.randint(1, minibatch - 1)):
        words = [rng.choice("abcdefgh") + rng.choice("012") for _ in range(rng.randint(1, 15))]
        lines.append("|w " + " ".join(f"{word}:{words.count(word)}" for word in dict.fromkeys(words)) + "\n")
    options = [
        f"--lda {rng.randint(1, 7)} --minibatch {minibatch} --math-mode {rng.randint(0, 2)} -b {rng.randint(5, 9)}"
    ]
    options += some(rng, ("--lda_alpha 0.5", "--lda_rho 0.02", "--lda_D 30", "--lda_epsilon 0.01"), 3)
    options += some(rng, ("-l 0.2", "--power_t 0.8", "--initial_t 5", "--hash all", "--random_seed 3"), 2)
    return Case(" ".join(options), "".join(lines))


def near_difference(case: Case) -> str:
    """What differs by more than the rounding of approximations; empty if nothing does."""
    Path("data").write_text(case.data)
    told = [
        run(["-d", "data", *case.command.split(), "-p", name]) for name, run in zip("ab", (ours, theirs), strict=True)
    ]
    if any("average loss" not in each for each in told):
        return f"refused: {told}"
    numbers = [
        [[float(word) for word in line.split()] for line in Path(name).read_text().splitlines()] for name in "ab"
    ]
    for k, (mine, other) in enumerate(zip(*numbers, strict=False), 1):
        total = sum(other)
        if len(mine) != len(other) or any(abs(a - b) > 0.01 * total for a, b in zip(mine, other, strict=True)):
            return f"document {k}: {mine}, {other}"
    losses = [float(loss_of(each)) for each in told]
    return "" if abs(losses[0] - losses[1]) < 1e-3 * abs(losses[1]) else f"loss {losses}"


def all_pairs(rng: random.Random) -> Case:
    """Pairs of actions, without the wildcards and lines without a cost that VW treats otherwise."""
    blocks = []
    for _ in range(rng.randint(10, 50)):
        block = [f"shared |u u{rng.randrange(4)} v:{rng.random():.2f}\n"] if rng.random() < 0.6 else []
        block += [f"{k}:{rng.choice((0, 0.5, 1, 3))} {features(rng)}\n" for k in range(1, rng.randint(2, 5) + 1)]
        blocks.append("".join(block) + "\n")
    words = ["--wap_ldf m", *some(rng, tuple(each for each in _ANY if "::" not in each), 2)]
    words += some(
        rng, ("--sgd -l 0.1", "--ftrl", "--loss_function logistic", "--l2 1e-3", "-q ua", "--link logistic"), 1
    )
    return Case(" ".join(words), "".join(blocks))


def replayed(rng: random.Random) -> Case:
    """Experience replay; without interactions, for which VW takes features of other examples."""
    kind, size, classes = rng.choice("bbmc"), rng.choice((1, 2, 5, 20, 100)), rng.randint(2, 5)
    labels: dict[str, Callable[[], str]] = {
        "b": lambda: f"{rng.uniform(-3, 3):.2f}",
        "m": lambda: str(rng.randint(1, classes)),
        "c": lambda: " ".join(f"{k}:{rng.choice((0, 0.5, 1))}" for k in range(1, classes + 1)),
    }
    words = {"b": [], "m": [f"--oaa {classes}"], "c": [f"--csoaa {classes}"]}[kind]
    words = [*words, f"--replay_{kind} {size}", *some(rng, (f"--replay_{kind}_count 3", "--random_seed 4"), 2)]
    words += some(rng, ("--sgd -l 0.05", "--ftrl", "--coin", "-l 0.1", "--noconstant", "--ignore_linear a", "-b 9"), 2)
    words += some(rng, ("--passes 3 -c -k --holdout_off",), 1)
    return Case(" ".join(words), _lines(rng, labels[kind], weights=kind == "b"))


def some_negatives(rng: random.Random) -> Case:
    """One against some of all."""
    classes = rng.randint(3, 9)
    words = [f"--oaa {classes} --indexing 1 --oaa_subsample {rng.randint(1, classes - 1)}"]
    words += [f"--random_seed {rng.randint(1, 9)}", *some(rng, (*_ANY, "--loss_function logistic", "-l 0.1"), 2)]
    return Case(" ".join(words), _lines(rng, lambda: str(rng.randint(1, classes)), weights=False))


KINDS: dict[str, Callable[[random.Random], Case]] = {
    "active_cover": active_cover,
    "all_pairs": all_pairs,
    "bfgs": bfgs,
    "cs_active": cs_active,
    "eigen_memories": eigen_memories,
    "epsilon_decay": epsilon_decay,
    "evaluated": evaluated,
    "feedback": feedback,
    "label_trees": label_trees,
    "many_actions": many_actions,
    "memories": memories,
    "oja_newton": oja_newton,
    "policies": policies,
    "topics": topics,
    "recall_tree": recall_tree,
    "replayed": replayed,
    "some_negatives": some_negatives,
    "warm_cb": warm_cb,
}


def main(kinds: dict[str, Callable[[random.Random], Case]], about: str | None) -> None:
    """Draw cases of some kinds, run them, count; `about`: the help text."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=sorted(kinds))
    parser.add_argument("--keep", type=Path, help="a folder for the data of cases that differ")
    given = parser.parse_args()
    keep = given.keep.absolute() if given.keep else None
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for k in range(given.cases):
            rng = random.Random(f"{given.seed}.{k}")
            kind = given.kind or rng.choice(sorted(kinds))
            case = kinds[kind](rng)
            if kind == "topics":
                found = near_difference(case)
            else:
                found = difference(case, any_order if "--top_k" in case.command else str)
            counts[f"{kind} {'different' if found else 'equal'}"] += 1
            if found:
                print(f"{given.seed}.{k}: {case.command}: {found}", flush=True)
                if keep:
                    keep.mkdir(exist_ok=True)
                    (keep / f"{given.seed}.{k}").write_text(case.data)
        os.chdir("/")
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))


if __name__ == "__main__":
    main(KINDS, __doc__)
