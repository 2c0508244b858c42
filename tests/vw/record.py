"""Record what Vowpal Wabbit 9.11.9 writes for command lines on made-up data.

`python tests/vw/record.py` writes recorded.json. It needs the peer, `pip install vowpalwabbit==9.11.9`; the test beside
it runs the same command lines with Hutch, on any machine.
"""

import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

FILE = Path(__file__).with_name("recorded.json")


def simple(label: str, count: int = 14) -> str:
    """Lines with labels `real`, `binary`, `count`, or `class` of 4."""
    draw = random.Random(f"{label}{count}")
    made = {
        "real": lambda: f"{draw.uniform(-3, 3):.2f}",
        "binary": lambda: draw.choice(("1", "-1")),
        "count": lambda: str(draw.choice((0, 1, 2, 5))),
        "class": lambda: str(draw.randint(1, 4)),
    }[label]
    lines = []
    for k in range(count):
        weight = draw.choice(("", "", " 2", " 0.5")) if label != "class" else ""
        tag = f" 't{k}" if k % 3 == 0 else " "
        words = " ".join(f"w{draw.randrange(9)}" for _ in range(draw.randint(1, 4)))
        numbers = " ".join(f"n{draw.randrange(4)}:{draw.uniform(-2, 2):.3g}" for _ in range(draw.randint(0, 3)))
        author = f" |c a{draw.randrange(5)}" if draw.random() < 0.7 else ""
        lines.append(f"{made()}{weight}{tag}|a {words} |b:0.5 {numbers}{author}\n")
    return "".join(lines)


def blocks(classes: int, count: int = 12) -> str:
    """Blocks of lines with a class each, which follows from its word and the class before."""
    draw, found = random.Random(count + classes), []
    for number in range(count):
        before = 1
        for k in range(draw.randint(1, 5)):
            one = before % classes + 1 if draw.random() < 0.6 else draw.randint(1, classes)
            tag = f" 't{number}" if k == 0 and number % 4 == 0 else " "
            found.append(f"{one}{tag}|w w{(3 * one + draw.randrange(3)) % 9} |s x{draw.randrange(4)}:0.5\n")
            before = one
        found.append("\n")
    return "".join(found)


def parsed(labels: int, count: int = 10) -> str:
    """Short sentences with a head and a label of the arc for each word, some of which cross."""
    draw, found = random.Random(labels), []
    for number in range(count):
        words = draw.randint(1, 6)
        for i in range(words):
            head = max(0, i + 1 - draw.randint(1, 2)) if number % 3 else draw.choice([0, *range(1, words + 1)])
            words_of = f"|w w{draw.randrange(9)} |p {'nva'[draw.randrange(3)]} x:0.5"
            found.append(f"{head},{draw.randint(1, labels)} 's{number} {words_of}\n")
        found.append("\n")
    return "".join(found)


def graphs(classes: int, count: int = 8) -> str:
    """Small graphs, some of whose edges join more than two nodes."""
    draw, found = random.Random(classes), []
    for number in range(count):
        nodes = draw.randint(1, 5)
        found += [f"{draw.randint(1, classes)} 'g{number} |n w{draw.randrange(6)} x:0.5\n" for _ in range(nodes)]
        for _ in range(draw.randint(0, 4) if nodes > 1 else 0):
            ends = draw.sample(range(1, nodes + 1), min(nodes, draw.choice((2, 2, 3, 4))))
            ends[2:2] = [0] * (len(ends) > 2 and draw.random() < 0.5)
            found.append(f"{','.join(map(str, ends))} |e v{draw.randrange(3)} |f y:{draw.uniform(0.1, 2):.2f}\n")
        found.append("\n")
    return "".join(found)


def related(count: int = 12) -> str:
    """Blocks of up to four entities and the relations between them."""
    draw, found = random.Random(count), []
    for _ in range(count):
        entities = [draw.randint(1, 4) for _ in range(draw.randint(1, 4))]
        found += [f"{one} 'E_{k}|w w{one} x{draw.randrange(5)}\n" for k, one in enumerate(entities)]
        for i, one in enumerate(entities):
            for j in range(i + 1, len(entities)):
                kinds = {(2, 4): 5, (3, 4): 6, (4, 4): 7, (2, 3): 8, (2, 2): 9}
                kind = kinds.get((one, entities[j]), 10)
                found.append(f"{kind} 'R_{i}_{j}|w r{kind} p{draw.randrange(5)}\n")
        found.append("\n")
    return "".join(found)


def costs(count: int = 8) -> str:
    """Lines with a cost for each of three classes."""
    draw = random.Random(count)
    lines = []
    for _ in range(count):
        label = " ".join(f"{c}:{draw.choice((0, 0.5, 1, 2))}" for c in (1, 2, 3))
        lines.append(f"{label} |a w{draw.randrange(5)} v{draw.randrange(3)}\n")
    return "".join(lines)


def decisions(logged: bool, count: int = 8) -> str:
    """Decisions among actions with features, logged or with all costs."""
    draw, blocks = random.Random(count + logged), []
    for _ in range(count):
        chosen, actions = draw.randrange(3), []
        for k in range(3):
            label = f"{k + 1}:{draw.choice((0, 1, 2))}" if not logged else ""
            if logged and k == chosen:
                label = f"0:{draw.choice((0, 0.5, 1))}:{draw.choice((0.25, 0.5, 0.8))}"
            actions.append(f"{label} |x f{draw.randrange(6)} g{draw.randrange(3)}\n")
        shared = f"shared |u u{draw.randrange(3)}\n"
        blocks.append(shared + "".join(actions) + "\n")
    return "".join(blocks)


def drifting(count: int = 180, change: int = 100) -> str:
    """Decisions whose best action is another after each `change` of them, drawn evenly; the last has no label."""
    draw, blocks = random.Random(count), []
    for k in range(count):
        user, chosen = draw.randrange(3), draw.randrange(3)
        cost = -1 if draw.random() < (0.95 if (chosen + user + k // change) % 3 == 0 else 0.05) else 0
        label = f"0:{cost}:0.3333 " if k < count - 1 else ""
        actions = "".join(f"{label if a == chosen else ''}|a a{a}\n" for a in range(3))
        blocks.append(f"shared |u u{user}\n{actions}\n")
    return "".join(blocks)


def observed(count: int = 40) -> str:
    """Lines of logs of decisions with feedback: a click tells of a good one, and `skip` of one that is bad."""
    draw, lines = random.Random(count), []
    for _ in range(count):
        user, chosen = draw.choice("ab"), draw.randrange(3)
        good = (chosen + (user == "a")) % 3 == 0
        word = draw.choice(("click", "none") if good else ("none", "none", "skip"))
        seen = {"v": {word: 1, "seconds": draw.randrange(1, 4) / 2}, "_definitely_bad": word == "skip"}
        label = {"_label_cost": 0, "_label_probability": draw.choice((0.25, 0.5)), "_label_Action": chosen + 1}
        features = {
            "User": {user: 1, "age": draw.randrange(1, 4) / 2},
            "_multi": [{"A": {f"a{a}": 1}} for a in range(3)],
        }
        lines.append(
            {**label, "_labelIndex": chosen, "o": [seen], "a": [1, 2, 3], "c": features, "p": [0.25, 0.5, 0.25]}
        )
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def crowded(count: int = 20, actions: int = 40) -> str:
    """Decisions between many actions."""
    draw, blocks = random.Random(count), []
    for _ in range(count):
        chosen, lines = draw.randrange(actions), [f"shared |u u{draw.randrange(3)}"]
        for k in range(actions):
            label = f"0:{draw.choice((-1, 0))}:0.25 " if k == chosen else ""
            own = " ".join(f"a{draw.randrange(70)}:{draw.uniform(0.5, 2):.2f}" for _ in range(5))
            lines.append(f"{label}|a {own} |b b{draw.randrange(9)}")
        blocks.append("\n".join(lines) + "\n\n")
    return "".join(blocks)


def classes_logged(count: int = 10) -> str:
    """Lines whose label is one of three actions with cost and probability."""
    draw, lines = random.Random(count), []
    for _ in range(count):
        label = f"{draw.randint(1, 3)}:{draw.choice((0, 0.5, 1))}:{draw.choice((0.25, 0.5))}"
        lines.append(f"{label} |a w{draw.randrange(6)} v{draw.randrange(3)}\n")
    return "".join(lines)


def several(count: int = 30) -> str:
    """Lines with any number of five labels."""
    draw = random.Random(count)
    lines = []
    for k in range(count):
        labels = sorted(draw.sample(range(5), draw.choice((0, 1, 1, 2, 3))))
        words = " ".join(f"w{label}" for label in labels) + f" n{draw.randrange(4)}"
        lines.append(f"{','.join(map(str, labels))}{f' t{k}' if k % 7 == 0 else ' '}|a {words} |b x:0.5\n")
    return "".join(lines)


def numbers_logged(count: int = 24, labelled: float = 0.8) -> str:
    """Lines whose label is a number from 0 to 20 that was chosen, with its cost and density; a share of them has it."""
    draw, lines = random.Random(count), []
    for _ in range(count):
        best, number = draw.randrange(3), draw.uniform(0, 20)
        cost = round(abs(number - 4 - 6 * best) / 20 - draw.choice((0, 0.5)), 3)
        label = f"ca {number:.4g}:{cost}:{draw.choice((0.05, 0.25))}" if draw.random() < labelled else ""
        lines.append(f"{label} |a w{best} w{draw.randrange(3, 6)} |b n{draw.randrange(2)}:{draw.uniform(0, 2):.3g}\n")
    return "".join(lines)


def documents(count: int = 23) -> str:
    """Words of one or two of three subjects, with their counts."""
    draw, lines = random.Random(count), []
    for k in range(count):
        subjects = draw.sample(range(3), draw.choice((1, 1, 2)))
        words = [f"{draw.choice('abcdef')}{draw.choice(subjects)}" for _ in range(draw.randint(4, 12))]
        counts = " ".join(f"{word}:{words.count(word)}" for word in sorted({*words}))
        lines.append(f"{f'doc{k}' if k % 5 == 0 else ''}|w {counts}{' |title a0 c2' if k % 4 == 0 else ''}\n")
    return "".join(lines)


def numbers_near(count: int = 24) -> str:
    """Lines with labels from 0 to 20 that depend on a word."""
    draw, lines = random.Random(count), []
    for _ in range(count):
        word = draw.randrange(3)
        lines.append(f"{4 + 6 * word + draw.uniform(-2, 2):.4g} |a w{word} w{draw.randrange(3, 6)}\n")
    return "".join(lines)


REAL, BINARY, COUNT, CLASS = (simple(label) for label in ("real", "binary", "count", "class"))
CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "plain": (REAL, ("",)),
    "adaptive": (REAL, ("--adaptive -l 0.3",)),
    "sgd": (REAL, ("--sgd -l 0.1 --power_t 0.3 --initial_t 2",)),
    "normalized": (REAL, ("--normalized --invariant --power_t 0.4",)),
    "quantile": (REAL, ("--loss_function quantile --quantile_tau 0.8 -l 0.2",)),
    "expectile": (REAL, ("--loss_function expectile --expectile_q 0.3",)),
    "classic": (REAL, ("--loss_function classic --sgd -l 0.05",)),
    "poisson": (COUNT, ("--loss_function poisson --link poisson -l 0.2",)),
    "hinge": (BINARY, ("--loss_function hinge --binary",)),
    "logistic": (BINARY, ("--loss_function logistic --link logistic",)),
    "l1": (BINARY, ("--loss_function logistic --l1 0.01",)),
    "l2": (REAL, ("--l2 0.001 --noconstant",)),
    "pairs": (REAL, ("-q ab -q cc",)),
    "triples": (REAL, ("--cubic abc --interactions aabb",)),
    "wildcard": (REAL, ("-q ::",)),
    "ignored": (REAL, ("--ignore b --ignore_linear c -q ac",)),
    "kept": (REAL, ("--keep a",)),
    "grams": (REAL, ("--ngram a2 --skips a1",)),
    "affixes": (REAL, ("--affix +1a,-1c,+2a --spelling a -b 12", "--affix -2c,+3b -q ac --ngram 2")),
    "renamed": (REAL, ("--redefine x:=ac -q xb", "--redefine := --redefine a:=b --ignore b")),
    "limited": (REAL, ("--feature_limit 2 -q ab", "--feature_limit a1 --feature_limit b2 --ngram 2")),
    "masked": (REAL, ("-f {M} --ignore b", "--feature_mask {M}", "-i {M} --feature_mask {M} -q ab")),
    "best of groups": (
        re.sub("(.*\n.*\n.*\n)", r"\1\n", REAL),
        ("--top 2 -f {M}", "-t -i {M} --top 2", "--top 1 --binary -c -k --passes 2 --holdout_off"),
    ),
    "baseline": (
        REAL,
        (
            "--baseline -q ab",
            "--baseline --global_only --lr_multiplier 20 -f {M}",
            "-i {M} --lr_multiplier 20 --loss_function quantile",
            "--baseline --lr_multiplier 0 --sgd -l 0.02",
        ),
    ),
    "interacting": (
        "".join(
            f"{1 - 2 * (k % 2)} |a 0:1 {k % 3 + 1}:0.5 {k % 4 + 4}:2 "
            f"|b 0:1 {k % 2 + 1}:3 {k % 5 + 4}:0.25 |c x{k % 2}\n"
            for k in range(20)
        ),
        ("--interact ab", "--interact ba -q bc --noconstant"),
    ),
    "distilled": (
        decisions(True, 30),
        ("--cb_explore_adf --rnd 1", "--cb_explore_adf --rnd 1 --cb_type dr --rnd_alpha 0.5"),
    ),
    "hashed whole": (REAL, ("--hash all --hash_seed 7",)),
    "few bits": (REAL, ("-b 3 -q ab",)),
    "first weights": (REAL, ("--initial_weight 0.2 -b 6",)),
    "range": (REAL, ("--min_prediction -1 --max_prediction 1",)),
    "passes": (REAL, ("-c -k --passes 3 --holdout_off --decay_learning_rate 0.9",)),
    "held out": (REAL, ("-c -k --passes 4 --holdout_period 4",)),
    "tested": (REAL, ("-l 0.4 -f {M}", "-t -i {M}")),
    "continued": (
        BINARY,
        ("--loss_function logistic -f {M} --save_resume", "--loss_function logistic -i {M} --save_resume"),
    ),
    "ftrl": (BINARY, ("--ftrl --ftrl_alpha 0.1 --ftrl_beta 0.5 --l1 0.01 --loss_function logistic",)),
    "pistol": (REAL, ("--pistol",)),
    "coin": (REAL, ("--coin",)),
    "freegrad": (REAL.replace(" 0.5 ", " "), ("--freegrad -f {M}", "-i {M} --freegrad")),
    "freegrad in a ball": (REAL.replace(" 0.5 ", " "), ("--freegrad --project --radius 0.2 --restart",)),
    "against all": (CLASS, ("--oaa 4",)),
    "probabilities": (CLASS, ("--oaa 4 --loss_function logistic --probabilities -l 0.4",)),
    "tournament": (CLASS, ("--ect 4 --error 1",)),
    "costs": (costs(), ("--csoaa 3",)),
    "several labels": (
        several(),
        (
            "--multilabel_oaa 5",
            "--multilabel_oaa 5 --loss_function logistic --link logistic -q ab",
            "--multilabel_oaa 6 --sgd -l 0.1 -c -k --passes 3 -f {M}",
            "-t -i {M}",
        ),
    ),
    "logged actions": (decisions(True), ("--cb_adf --cb_type mtr",)),
    "logged, doubly robust": (decisions(True), ("--cb_adf --cb_type dr",)),
    "explored": (decisions(True), ("--cb_explore_adf --epsilon 0.2 -q ux",)),
    "softmax": (decisions(True), ("--cb_explore_adf --softmax --lambda 3",)),
    "squarecb": (decisions(True), ("--cb_explore_adf --squarecb --gamma_scale 20",)),
    "robust": (decisions(True, 30), ("--cb_explore_adf --cb_dro --epsilon 0.2 -q ux",)),
    "classes logged": (classes_logged(), ("--cb 3",)),
    "classes explored": (classes_logged(), ("--cb_explore 3 --epsilon 0.1",)),
    "classes logged, a model each": (
        classes_logged(),
        (
            "--cb 3 --cb_force_legacy",
            "--cb 3 --cb_force_legacy --cb_type ips -q aa",
            "--cb 3 --cb_force_legacy --cb_type dm",
        ),
    ),
    "classes explored, a model each": (
        classes_logged(),
        (
            "--cb_explore 3 --cb_force_legacy --epsilon 0.1",
            "--cb_explore 3 --cb_force_legacy --cover 3",
            "--cb_explore 3 --cb_force_legacy --bag 3 --cb_type dm",
            "--cb_explore 3 --cb_force_legacy --first 5",
        ),
    ),
    "classes guessed, a model each": (CLASS, ("--cbify 4 --cb_force_legacy --bag 2 --loss0 -1",)),
    "classes by an offset tree": (classes_logged(), ("--ot 3", "--ot 4 --cb_type ips --epsilon 0.2 -q aa")),
    "synthetic cover": (
        decisions(True),
        ("--cb_explore_adf --synthcover -q ux --synthcoversize 20 --synthcoverpsi 0.4",),
    ),
    "decisions guessed": (
        re.sub("shared.*\n", "", decisions(False, 20)),
        ("--cbify_ldf --squarecb --loss1 0.5 --cb_max_cost 0.5",),
    ),
    "pairs of actions": (
        decisions(False, 12),
        (
            "--wap_ldf m",
            "--wap_ldf multiline -q ux --noconstant --loss_function logistic",
            "--wap_ldf m -f {M}",
            "-t -i {M}",
        ),
    ),
    "replayed": (
        REAL,
        (
            "--replay_b 4",
            "--replay_b 3 --replay_b_count 3 -c -k --passes 3 --holdout_off",
            "--replay_b 3 -q aa",
            "--replay_b 5 --sgd -l 0.1",
        ),
    ),
    "replayed classes": (CLASS, ("--oaa 4 --replay_m 3", "--oaa 4 --replay_b 4 --replay_b_count 2")),
    "replayed costs": (costs(12), ("--csoaa 3 --replay_c 3",)),
    "some negatives": (CLASS, ("--oaa 4 --oaa_subsample 2 --indexing 1 --random_seed 3", "--oaa 4 --oaa_subsample 1")),
    "first lines": (REAL, ("--examples 5", "--examples 6 -c -k --passes 3 --holdout_off", "--examples 99")),
    "without a meaning": (
        REAL,
        (
            "--epsilon 0.2 --mellowness 3",
            "--feature_limit a:3 -q ab",
            "--coin --confidence_after_training --loss_option 1",
        ),
    ),
    "sequences": (
        blocks(4),
        (
            "--search 4 --search_task sequence",
            "--search 4 --search_task sequence --search_alpha 0.05 -c -k --passes 3 --holdout_off -b 9 "
            "--search_neighbor_features -1:w,1:s,2 --search_history_length 3 --search_max_bias_ngram_length 2 "
            "--search_max_quad_ngram_length 1 --search_condition_feature_value 0.5",
            "--search 4 --search_task sequence --search_alpha 0.05 --search_rollin mix_per_roll --search_rollout learn "
            "--search_subsample_time 0.7 --search_perturb_oracle 0.2 --search_rollout_num_steps 2",
            "--search 4 --search_task sequence --search_rollout none --search_xv --search_linear_ordering --sgd",
            "--search 4 --search_task sequence --search_alpha 0.3 --search_subsample_time 2 --search_no_caching "
            "-c -k --passes 4 --search_interpolation policy --search_passes_per_policy 2 --holdout_period 5",
            "--search 4 --search_task sequence_ctg --search_alpha 0.1",
        ),
    ),
    "spans": (
        blocks(5),
        (
            "--search 5 --search_task sequencespan --search_alpha 0.05 -b 12",
            "--search 5 --search_task sequencespan --search_span_multipass 2 --search_history_length 2",
            "--search 5 --search_task sequencespan --search_span_bilou --search_alpha 0.05",
        ),
    ),
    "relations": (
        related(),
        (
            "--search 10 --search_task entity_relation --constraints --search_alpha 0.05",
            "--search 10 --search_task entity_relation --search_order 1 --constraints --relation_cost 2 "
            "--entity_cost 0.5 --relation_none_cost 0.1 --search_alpha 0.1 -c -k --passes 2 --holdout_off",
        ),
    ),
    "relations put off": (
        related(),
        (
            "--search 11 --search_task entity_relation --search_order 2 --search_alpha 0.05",
            "--search 11 --search_task entity_relation --search_order 2 --constraints --skip_cost 0.4 "
            "--search_alpha 0.1 --search_rollout mix_per_roll -c -k --passes 2 --holdout_off",
        ),
    ),
    "blocks": (
        blocks(3),
        (
            "--search 3 --search_task argmax --search_alpha 0.05 --cost 3 --negative_weight 0.5",
            "--search 3 --search_task argmax --max",
            "--search 3 --search_task multiclasstask --search_alpha 0.05 -c -k --passes 2 --holdout_off",
        ),
    ),
    "trees": (
        parsed(3),
        (
            "--search 12 --search_task dep_parser",
            "--search 4 --search_task dep_parser --num_label 3 --root_label 1 --search_alpha 0.02 -c -k --passes 2 "
            "--holdout_off --search_rollout mix_per_roll --search_neighbor_features -1:w",
            "--search 7 --search_task dep_parser --num_label 3 --root_label 0 --one_learner --search_alpha 0.02 "
            "--search_history_length 2 --search_rollout oracle",
            "--search 4 --search_task dep_parser --num_label 3 --root_label 2 --transition_system 2 "
            "--search_alpha 0.02",
            "--search 8 --search_task dep_parser --num_label 3 --root_label 2 --transition_system 2 --one_learner "
            "--search_rollin mix_per_roll --search_alpha 0.02",
            "--search 4 --search_task dep_parser --num_label 3 --root_label 3 --cost_to_go --search_rollout none",
            "--search 4 --search_task dep_parser --num_label 3 --root_label 3 --cost_to_go --transition_system 2 "
            "--one_learner --search_alpha 0.02",
        ),
    ),
    "graphs": (
        graphs(3),
        (
            "--search 3 --search_task graph",
            "--search 3 --search_task graph --search_alpha 0.02 --search_graph_num_loops 3 "
            "--search_graph_separate_learners -q ef -c -k --passes 2 --holdout_off",
            "--search 3 --search_task graph --search_alpha 0.02 --search_graph_directed --search_rollout mix_per_roll",
            "--search 4 --search_task graph --search_alpha 0.02 --search_graph_no_structure --search_rollout none "
            "--search_rollin policy",
            "--search 3 --search_task graph --search_graph_num_loops 1 --search_no_caching -q ::",
        ),
    ),
    "logarithmic": (
        CLASS,
        ("--log_multi 4", "--log_multi 5 --swap_resistance 1 -c -k --passes 6 --holdout_off"),
    ),
    "recalled classes": (
        simple("class", 40),
        (
            "--recall_tree 4",
            "--recall_tree 5 --max_candidates 2 --max_depth 2 --bern_hyper 0.1 -q ab -c -k --passes 3",
            "--recall_tree 4 --node_only --bern_hyper 0 --loss_function logistic -b 8 --coin",
            "--recall_tree 4 --randomized_routing --random_seed 3 -f {M}",
            "-t -i {M}",
        ),
    ),
    "exploring less": (
        drifting(),
        (
            "--cb_explore_adf --epsilon_decay -q ua --min_scope 20 --epsilon_decay_significance_level 0.99 "
            "--bonferroni_denominator 1",
            "--cb_explore_adf --epsilon_decay --model_count 4 -q ua --min_scope 10 "
            "--epsilon_decay_significance_level 0.99 --bonferroni_denominator 1 --constant_epsilon --epsilon 0.4 "
            "--first_only --min_champ_examples 5 -f {M}",
            "-t -i {M}",
            "--cb_explore_adf --epsilon_decay --model_count 4 -q ua --challenger_epsilon --shift_model_bounds 3 "
            "--initial_epsilon 0.5 --min_scope 5 --tol_x 0.01 --sgd -l 0.1 --cb_type ips",
        ),
    ),
    "feedback": (
        observed(),
        (
            "--dsjson --cb_explore_adf --coin --experimental_igl --epsilon 0.2 -q UA",
            "--dsjson --coin --experimental_igl --softmax --lambda 2 -q UA -q UU --cubic UUA --noconstant "
            "--cb_type ips --ftrl_alpha 2 --ftrl_beta 0.5 -b 12",
        ),
    ),
    "classes by memories": (
        simple("class", 40).replace(":-", ":"),
        (
            "--emt",
            "--emt --emt_tree 12 --emt_leaf 4 --emt_scorer distance --emt_initial euclidean -q ab",
            "--emt --emt_leaf 3 --emt_scorer not_self_consistent_rank --emt_router random -b 8",
            "--emt --emt_leaf 5 --emt_initial gaussian --random_seed 3 -f {M}",
            "-t -i {M}",
        ),
    ),
    "many actions": (
        crowded(),
        (
            "--cb_explore_adf --large_action_space --max_actions 6 -q ua -q ab",
            "--cb_explore_adf --large_action_space --max_actions 4 --spanner_c 1.3 --squarecb --gamma_scale 100 --coin",
            "--cb_explore_adf --large_action_space --max_actions 5 --softmax --random_seed 3 -b 12 --cb_type ips",
        ),
    ),
    "classes by a tree that learns": (
        simple("class", 40),
        (
            "--memory_tree 7",
            "--memory_tree 20 --leaf_example_multiplier 2 --online --dream_repeats 3 --alpha 0.4 -q ab",
            "--memory_tree 20 --dream_at_update 1 -c -k --passes 3 --random_seed 3 --max_number_of_labels 4",
            "--memory_tree 15 -b 12 --hash all --dream_repeats 0 --noconstant",
        ),
    ),
    "cover of models": (
        BINARY,
        (
            "--active_cover --mellowness 0.1 --loss_function logistic",
            "--active_cover --mellowness 0.01 --cover 3 --alpha 2 --beta_scale 4 --binary --adax",
            "--active_cover --oracular --mellowness 0.01",
        ),
    ),
    "classes guessed after a start": (
        CLASS,
        (
            "--warm_cb 4 --cb_explore_adf --epsilon 0.2 --warm_start 5 --choices_lambda 3 --warm_start_update "
            "--interaction_update --lambda_scheme 2",
            "--warm_cb 4 --cb_explore_adf --epsilon 0.1 --warm_start 6 --interaction 6 --interaction_update "
            "--sim_bandit --choices_lambda 2",
            "--warm_cb 4 --cb_explore_adf --epsilon 0.1 --warm_start 9 --warm_start_update "
            "--corrupt_prob_warm_start 0.5",
        ),
    ),
    "costs guessed after a start": (
        costs(12),
        (
            "--warm_cb 3 --cb_explore_adf --epsilon 0.2 --warm_start 4 --choices_lambda 3 --warm_start_update "
            "--interaction_update --warm_cb_cs",
        ),
    ),
    "sketched steps": (
        REAL,
        (
            "--OjaNewton -b 6",
            "--OjaNewton -b 5 --sketch_size 4 --alpha 3 --learning_rate_cnt 1 --noconstant",
            "--OjaNewton -b 6 --sketch_size 3 --random_init false --normalize false --alpha_inverse 0.05",
            "--OjaNewton -b 6 --epoch_size 4",
        ),
    ),
    "classes of a policy": (
        "".join(f"{k % 3 + 1} {line}\n" for k, line in enumerate(classes_logged(14).splitlines())),
        ("--cb 3 --eval", "--cb 3 --eval --cb_type ips"),
    ),
    "policies": (
        classes_logged(14).replace(" |a", " |p:1 one:1 two:2 any:3 |a"),
        ("--multiworld_test p",),
    ),
    "costs asked for": (costs(), ("--cs_active 3 --simulation --adaptive --adax --cost_max 2 --mellowness 0.03",)),
    "search over passes": (
        REAL,
        (
            "--bfgs --passes 9 --l2 0.1 -c -k --holdout_off --predict_only_model",
            "--bfgs --passes 6 --early_terminate 9 --l2 1 --mem 2 --hessian_on --no_bias_regularization -c -k "
            "--predict_only_model",
            "--conjugate_gradient --passes 8 --l2 0.5 -c -k --holdout_off --loss_function classic --predict_only_model",
        ),
    ),
    "search without scales": (BINARY, ("--bfgs --passes 9 -c -k --loss_function logistic --predict_only_model",)),
    "support vectors": (
        BINARY,
        ("--ksvm --reprocess 3", "--ksvm --kernel rbf --bandwidth 0.4 -q ab", "--ksvm --kernel poly --degree 3 --l2 5"),
    ),
    "support vectors tested": (BINARY, ("--ksvm --kernel rbf -f {M}", "--ksvm -t -i {M}")),
    "numbers": (
        numbers_logged(),
        (
            "--cats 8 --min_value 0 --max_value 20 --bandwidth 2 --epsilon 0.2 -q ab",
            "--cats 16 --min_value 0 --max_value 25 --link glf1 --coin",
            "--cats_pdf 4 --min_value 0 --max_value 20 --bandwidth 6 --loss_function logistic",
        ),
    ),
    "numbers continued": (
        numbers_logged(30),
        (
            "--cats 4 --min_value 0 --max_value 20 --bandwidth 3 --coin --random_seed 7 -f {M} --save_resume",
            "-i {M} --save_resume",
            "-i {M} -t",
        ),
    ),
    "numbers guessed": (
        numbers_near(),
        (
            "--cbify 4 --cbify_reg --min_value 0 --max_value 20 --loss_option 1 --coin",
            "--cbify 8 --cbify_reg --min_value 0 --max_value 20 --bandwidth 3 --loss_report 1",
            "--cbify 8 --cbify_reg --cb_discrete --cats_tree 8 --min_value 0 --max_value 20 --loss_option 2",
            "--cbify 8 --cbify_reg --cb_discrete --min_value 0 --max_value 20 --loss_01_ratio 0.2 --loss_option 2",
        ),
    ),
    "numbers by steps": (
        numbers_logged(20, 1.0),
        (
            "--cbzo --radius 0.5 -l 0.001 --l1 0.02 --l2 0.03 --no_bias_regularization",
            "--cbzo --policy constant -l 0.01 --min_prediction 0.5 --max_prediction 9",
            "--cbzo --policy constant -l 0.01 --radius 0.3 --l2 0.1 -f {M}",
            "-i {M} -t --radius 0.3",
        ),
    ),
    "ranked": (decisions(False), ("--csoaa_ldf m",)),
    "boosted": (BINARY, ("--boosting 4 --binary", "--boosting 3 --alg logistic --binary --loss_function logistic")),
    "boosted by draws": (BINARY, ("--boosting 4 --alg adaptive --binary",)),
    "linked": (REAL, ("--autolink 1",)),
    "linked by plain steps": (REAL, ("--autolink 3 --sgd -l 0.05 -q ab",)),
    "marginal": (REAL, ("--marginal a --decay 0.01", "--marginal ac --compete -q ab")),
    "stagewise": (REAL, ("--stage_poly --batch_sz 3 --sched_exponent 0.7 -c -k --passes 4 --holdout_off",)),
    "confident": (BINARY, ("--confidence --confidence_after_training --initial_t 0.1",)),
    "labels by a tree": (
        several(),
        (
            "--plt 5 --loss_function logistic",
            "--plt 10 --kary_tree 4 --loss_function logistic -l 5 --threshold 0.1 -c -k --passes 3 --holdout_off",
        ),
    ),
    "labels by a tree, all known": (
        "".join(line for line in several().splitlines(True) if line[0].isdigit()),
        (
            "--plt 5 --sgd --loss_function logistic -q ab --kary_tree 3 -f {M}",
            "-t -i {M} --loss_function logistic --threshold 0.3 --probabilities",
            "-t -i {M} --loss_function logistic --top_k 3",
            "-t -i {M} --loss_function logistic --top_k 2 --probabilities",
        ),
    ),
    "topics": (
        documents(),
        (
            "--lda 3 --lda_D 23 --minibatch 4 -b 8 --math-mode 1 -P 99 -f {M}",
            "-t -i {M} --minibatch 4 -P 99",
            "--lda 5 --lda_alpha 0.2 --lda_rho 0.05 --lda_D 50 --minibatch 6 -b 7 -P 99 --power_t 0.7 -l 0.8",
            "--lda 9 --lda_epsilon 0.01 --lda_D 23 --minibatch 9 -b 8 -P 99 --math-mode 2 --initial_t 3 --ignore t",
        ),
    ),
    "topics over passes": (
        documents(24),
        ("--lda 2 --lda_D 24 --minibatch 6 -b 8 --math-mode 1 -P 999 -c -k --passes 2 --holdout_off",),
    ),
    "low rank with itself": (REAL, ("--lrqfa aa3", "--lrqfa bb2 --sgd -l 0.05 --noconstant -b 9")),
    "network over sums": (REAL, ("--nn 2 --ftrl -b 6", "--nn 3 --pistol --inpass -b 8")),
    "random network": (REAL, ("--nn 2 --random_seed 3 -b 6",)),
    "link": (BINARY, ("--loss_function logistic --link glf1",)),
}
"""Data and the arguments of each call; later calls read what earlier ones have written."""


_OF_TREES = re.compile(
    r"Learn\(\) count per node.*\n|\[info\] Bandwidth was not supplied.*\n|depth \d+\n|#+ Current Pass.*\n"
)
"""Lines that VW prints for `--cats` and `--memory_tree`, and Hutch does not."""


def record(data: str, calls: tuple[str, ...]) -> Iterator[dict[str, object]]:
    """Run the calls of a case with the peer."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "input.vw").write_text(data)
        for k, arguments in enumerate(calls, 1):
            words = arguments.replace("{M}", "tmp0.model").split()
            files = ["-p", "pred"]
            files += [] if {"--ksvm", "--OjaNewton"} & {*words} else ["--readable_model", "text", "--hexfloat_weights"]
            command = [sys.executable, "-m", "vowpalwabbit", "-d", "input.vw", *words, *files]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            text = Path(folder) / "text"
            yield {
                "args": " ".join(words),
                "exit": done.returncode,
                "stderr": _OF_TREES.sub("", done.stderr).replace("pred\n", f"out{k}.pred\n"),
                "pred": (Path(folder) / "pred").read_text(),
                "model_hex": text.read_text() if text.exists() else "",
            }


def main() -> None:
    """Write the file."""
    found = {name: {"data": data, "calls": [*record(data, calls)]} for name, (data, calls) in CASES.items()}
    FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
