"""Random command lines of learning to search on random data, run by `hutch vw` and by Vowpal Wabbit.

    pip install vowpalwabbit==9.11.9
    python benchmarks/hardening/fuzz_searches.py [--cases 300] [--seed 1] [--kind trees] [--keep FOLDER]

Equal is what `fuzz_decisions.py` beside it calls so. Each command runs once.
"""

import random
from collections.abc import Callable

from fuzz_decisions import Case
from fuzz_learners import features, main, some

_ROLLS = ("policy", "learn", "oracle", "ref", "mix_per_state", "mix_per_roll", "mix")
_SEARCH = (
    "--search_history_length 3",
    "--search_history_length 0",
    "--search_max_bias_ngram_length 2",
    "--search_max_quad_ngram_length 1",
    "--search_condition_feature_value 0.5",
    "--search_rollout_num_steps 2",
    "--search_subsample_time 0.6",
    "--search_subsample_time 2",
    "--search_perturb_oracle 0.3",
    "--search_linear_ordering",
    "--search_no_caching",
    "--search_xv",
    "--search_neighbor_features -1:a,1:b,-2",
    "--search_interpolation policy",
    "--passes 3 -c -k --holdout_off",
    "--passes 2 -c -k",
    "--sgd",
    "-b 9",
    "--nn 2",
)


def search(rng: random.Random) -> Case:
    """Learning to search on blocks of lines."""
    task, more = rng.choice(
        (
            ("sequence", ""),
            ("sequence", ""),
            ("sequence_ctg", ""),
            ("sequencespan", ""),
            ("sequencespan", "--search_span_bilou"),
            ("sequencespan", "--search_span_multipass 2"),
            ("argmax", rng.choice(("", "--max", "--cost 3"))),
            ("multiclasstask", ""),
            (
                "entity_relation",
                rng.choice(
                    (
                        "",
                        "--constraints",
                        "--search_order 1 --constraints",
                        "--search_order 2",
                        "--search_order 2 --constraints",
                    )
                ),
            ),
        )
    )
    classes, blocks = rng.choice((3, 5) if task == "sequencespan" else (3, 5, 6)), []
    classes = (11 if "order 2" in more else 10) if task == "entity_relation" else classes
    for _ in range(rng.randint(10, 60)):
        if task == "entity_relation":
            count = rng.randint(1, 4)
            lines = [f"{rng.randint(1, 4)} 'E_{k} {features(rng)}\n" for k in range(count)]
            pairs = ((i, j) for i in range(count) for j in range(i + 1, count))
            lines += [f"{rng.randint(5, 10)} 'R_{i}_{j} {features(rng)}\n" for i, j in pairs]
        else:
            lines = [f"{rng.randint(1, classes)} {features(rng)}\n" for _ in range(rng.randint(1, 7))]
        blocks.append("".join(lines) + "\n")
    return _case(rng, [f"--search {classes} --search_task {task}", more], blocks)


def _case(rng: random.Random, words: list[str], blocks: list[str], left_out: tuple[str, ...] = ()) -> Case:
    """A case with some options that all tasks have, but those left out."""
    words = [*words, f"--search_alpha {rng.choice((1e-10, 0.001, 0.05, 0.4))}"]
    words += [f"--search_rollout {rng.choice((*_ROLLS, 'none'))}"] if rng.random() < 0.7 else []
    words += [f"--search_rollin {rng.choice(_ROLLS)}"] if rng.random() < 0.6 else []
    known = tuple(each for each in _SEARCH if each.split()[0] not in left_out)
    words += {each.split()[0]: each for each in some(rng, known, 5)}.values()
    return Case(" ".join(filter(None, words)), "".join(blocks))


def trees(rng: random.Random) -> Case:
    """Dependency trees of short sentences; products with history are refused."""
    eager, one, labels = rng.random() < 0.4, rng.random() < 0.4, rng.choice((1, 3, 5))
    labels += one
    root, blocks = rng.randint(0, labels), []

    def label() -> str:
        return "" if root and rng.random() < 0.1 else f",{rng.randint(1, labels)}"

    for _ in range(rng.randint(8, 30)):
        count = rng.randint(1, 7)
        heads = [rng.choice([k for k in range(count + 1) if k != i]) for i in range(1, count + 1)]
        if rng.random() < 0.8:  # a chain, which transitions reach
            heads = [max(0, i - rng.randint(1, 2)) for i in range(1, count + 1)]
        lines = (f"{head}{label()} 't{i} {features(rng)}\n" for i, head in enumerate(heads))
        blocks.append("".join(lines) + "\n")
    classes = 2 * labels + 1 + eager if one else max(labels, 4)
    words = [f"--search {classes + rng.choice((0, 0, 2))} --search_task dep_parser --num_label {labels}"]
    words += [f"--root_label {root}", "--transition_system 2" if eager else "", "--one_learner" if one else ""]
    words += ["--cost_to_go"] if rng.random() < 0.3 else []
    return _case(rng, words, blocks, ("--search_max_quad_ngram_length",))


def graphs(rng: random.Random) -> Case:
    """Classes of the nodes of small graphs, some of whose edges join more than two; all have the same namespaces, as VW
    multiplies those that a node has not with those of a node before."""
    classes, blocks = rng.choice((2, 3, 5)), []
    for _ in range(rng.randint(5, 30)):
        nodes = rng.randint(1, 6)
        lines = [f"{rng.randint(1, classes)} 't{i} {features(rng, ('ab',))}\n" for i in range(nodes)]
        for _ in range(rng.randint(0, 6) if nodes > 1 else 0):
            ends = rng.sample(range(1, nodes + 1), min(nodes, rng.choice((2, 2, 2, 3, 4))))
            if len(ends) > 2 and rng.random() < 0.3:
                ends.insert(2, 0)
            lines.append(f"{','.join(map(str, ends))} {features(rng, ('ab',))}\n")
        blocks.append("".join(lines) + "\n")
    words = [f"--search {classes} --search_task graph", *some(rng, ("--search_graph_num_loops 3", "-q ab", "-q aa"), 2)]
    words += some(
        rng, ("--search_graph_no_structure", "--search_graph_separate_learners", "--search_graph_directed"), 2
    )
    return _case(rng, words, blocks, ("--search_neighbor_features", "--search_max_quad_ngram_length"))


KINDS: dict[str, Callable[[random.Random], Case]] = {"graphs": graphs, "search": search, "trees": trees}


if __name__ == "__main__":
    main(KINDS, __doc__)
