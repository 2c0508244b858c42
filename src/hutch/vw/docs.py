"""The page that tells VW's users what carries over, made from the option table."""

from collections.abc import Iterator

from hutch.vw.absent import ABSENT
from hutch.vw.table import OPTIONS

_HEAD = """\
# Coming from Vowpal Wabbit

Paste your command line behind `hutch vw` and carry on working: the same text format, hashing, updates in float32 and in
VW's order, the same progress table. Against VW 9.11.9 (the wheel on PyPI) predictions agree to the character and
weights to the bit for the learner, all losses, interactions, passes with holdout, and the reductions below.

    hutch vw -d train.vw --loss_function logistic -q ab --passes 5 -f model
    hutch vw -d test.vw -t -i model -p predictions
    hutch vw --to-yaml --oaa 5 -q ab            # the chain the options stand for, to continue with `hutch train -C`

An option that Hutch does not have is refused by name, with what to use instead; nothing is ignored silently. Of the 689
command lines of VW's own regression suite (`test/core.vwtest.json` at commit 872fd8da) 297 use only options that Hutch
has, and 265 where the line that makes a line's model counts, too; the other 392 are refused by name
(`python benchmarks/vw_command_lines.py core.vwtest.json`).

## From Python

`hutch.vw` has `Workspace` and `Example` with the methods of VW's own, so that a script is moved by its import:

    from hutch.vw import Workspace              # was: from vowpalwabbit import Workspace

    with Workspace("--oaa 3 --quiet -f model") as vw:
        vw.learn("2 |f a b")
        vw.predict("|f a")

`learn`, `predict`, `parse`, `example`, `finish_example`, `save`, `finish`, `get_weight`, `get_weight_from_name`,
`hash_space`, `hash_feature`, `num_weights`, `get_prediction_type`, `get_label_type`, `get_sum_loss` and
`get_weighted_examples` give what VW's give, predictions to the bit; `tests/vw/test_workspace.py` runs the same scripts
under both. A line costs what it costs in VW (`python benchmarks/one_example.py`), a decision of several lines more.
What is different: nothing is printed unless `-d` names data; `-p`, `-r` and `--audit` need `-d`; a mapping given to
`predict` gets its constant and interactions, which VW forgets; names of features are names, never numbers of rows;
with `--csoaa_rank` the list of scores goes by line, in VW by the class of the line; there is no `get_log`, no search
task, no `merge_models` and no class for scikit-learn (`HutchClassifier` is one).

## Models that VW has written

`-i` reads a model of VW 9, and `hutch convert` makes one of Hutch from it:

    hutch vw -i old.vw -t -d test.vw -p predictions --loss_function logistic
    hutch convert old.vw -f new.model --loss_function logistic

Predictions with `-t` are VW's to the character, and learning goes on where VW would go on. VW's models do not hold the
loss, `--permutations`, `--probabilities` and `-C`, so these are given again, as in VW. A model of another version, with
a damaged header, of options that Hutch does not have, or saved with `--per_model_save_load` is refused, with the
options' names. Hutch does not write VW's format.

## What is different on purpose

* Malformed lines are reported with file, line and column. Where VW trains on them, Hutch does the same;
  `--strict_parse` stops instead.
* A model file holds the whole chain, its loss included, and every array: training on A, saving, loading and training
  on B gives exactly the weights of training on A and B. VW forgets the loss, and resumes several sub-models inexactly.
* A model remembers its regularisation, too. `-i` refuses options that contradict the model (`--oaa 4` where it has 5
  classes) where VW takes some of them silently.
* An option given twice with values that differ is refused, as in VW. So are values without a meaning that VW takes:
  `--quantile_tau 1.5`, `--l1 -1`, `-b 0`, `--min_prediction` above `--max_prediction`, `--passes 0`, and options
  whose main option is missing (`--mellowness` without `--active`).
* Warnings go to standard error, not into the predictions on standard output.
* `--passes` works without a cache; with `-c` a cache is used only while the data is what it was made of. A continued
  model starts counting passes and progress again.
* In YAML, namespaces go by their full names. `hutch vw` goes by first letter, as VW does
  (`input: {namespaces: letter}`).

## What is different in the last digits, or in rare cases
"""

_RARE = (
    ("`-p -`", "standard output, which VW calls `stdout` or `/dev/stdout`; it writes a file called `-`"),
    (
        "`--audit` above several sub-models, n-grams or `--lrq`",
        "one line of features per example, where VW prints one per sub-model and step; predictions are the same",
    ),
    (
        "`--lrq` with features that have no name (`:2`)",
        "VW draws their first latent numbers from a hash wider than the table, Hutch from the row",
    ),
    (
        "`--lrq`, and holdout, in files with empty lines",
        "Hutch does not count empty lines when it takes turns or holds out",
    ),
    (
        "`--redefine` where a namespace occurs twice in a line",
        "its features come in another order: sums differ in the last bits",
    ),
    (
        "`-C` with `--oaa`, `--ect`, `--csoaa` or `--lrq`",
        "as in VW without effect on predictions; VW also sets a weight that nothing reads",
    ),
    ("`--ect --error` with examples of importance 0", "Hutch only tests them; VW teaches them to the finals"),
    (
        "`--oaa` with `--coin`, `--pistol` or `--lrq`, and examples of importance 0",
        "Hutch only tests them; VW takes note of the size of their features, and `--lrq` draws numbers for them",
    ),
    (
        "`--oaa --pistol`",
        "scores are made with the newest weights; VW's are one example older. The weights are the same",
    ),
    ("a malformed class, such as `x3`", "Hutch reports it and goes on; VW stops reading"),
    ("negative importance", "Hutch's sums do not subtract it"),
    (
        "`--coin` and `--pistol` with an initial prediction (`1 1 0.25 |f a`)",
        "it is a part of the prediction, as with every other learner; VW leaves it out",
    ),
    (
        "continuing with `--oaa` or others with several sub-models",
        "exact in Hutch; VW keeps the norms of the first sub-model only",
    ),
    (
        "`--active` below `--oaa`",
        "the decisions of the sub-models differ after the first that declines; use the `active` layer above",
    ),
    (
        "`--sparse_l2` with several sub-models",
        "weights differ where a sub-model has no loss; the cause is not found yet",
    ),
    (
        "`--oaa` with values below 1e-10 in size",
        "VW learns from them, but leaves them out of the predictions of the classes",
    ),
    ("`-t` without a model, with `--initial_weight` and `--active`", "predictions differ; nothing was learned"),
    (
        "`--normal_weights` and `--truncated_normal_weights`",
        "4 in 1000 weights differ in the last bit: VW's logarithm is that of the system; and with `-t`, without a "
        "model, they go to other features",
    ),
    ("`--l1` or `--l2` with `--pistol` or `--coin`", "refused; VW takes them, and they change nothing"),
    ("`--random_weights` and its kin with `--sparse_weights`", "refused: VW draws weights as they are first read"),
    ("`--csoaa` with a class named twice in a label", "`-r` shows the later cost twice"),
    (
        "`--csoaa` with a label that is not costs of classes (`-1`, `0.5`, `yes`)",
        "Hutch reports it and leaves it out; VW takes its hash for a class, and predicts that (`1908024448` for `-1`). "
        "A class without a cost, such as `2`, teaches neither anything",
    ),
    (
        "a decision with two labels, a label on its shared line, a shared line after actions, a probability of 0 or "
        "above 1, or a cost that is not a number",
        "Hutch reports it and learns nothing from it; VW stops, takes the shared line for an action, cuts the "
        "probability, or treats the cost as 0",
    ),
    (
        "an action without features",
        "Hutch reports it; what it has, the constant and what is shared, is learned, as in VW. `hutch train` learns "
        "nothing from its decision",
    ),
    (
        "unlabelled decisions with `--csoaa_ldf`",
        "both add 3.4e38 to the loss, and Hutch says so; it learns on where VW stops learning, with `--sgd`",
    ),
    (
        "several passes over decisions with holdout",
        "both learn from what they hold out, and Hutch says so; `hutch train` only tests it",
    ),
    (
        "`--cb`, `--cb_explore` and `--cbify` with interactions of a namespace that a line lacks",
        "VW uses the features that an earlier line had in it; Hutch makes none",
    ),
    ("`--rnd` with `--cb_explore`", "the random functions are others: probabilities differ from the first example on"),
    (
        "`--coin` with `--cb_type dr`",
        "estimates of costs are `--coin`'s predictions as reported; VW takes others, which it makes while it learns",
    ),
    ("`--wap_ldf` with wildcards (`-q ::`)", "what is subtracted has no interactions; VW makes some of it"),
    ("`--cbify_ldf` with shared lines", "Hutch gives their features to every action; VW takes them for actions"),
    (
        "`--csoaa_ldf --probabilities` with shared lines",
        "the loss is that of the likeliest action; VW tells that of the line before it",
    ),
    ("`--coin` with `-r`", "the prediction as reported; VW writes one made while it learns"),
    (
        "continuing with `--bag`, `--cover`, `--rnd` or `--cb_type dr`",
        "exact in Hutch; VW forgets counters and norms of all sub-models but the first",
    ),
    ("`--rnd` with `--l1` or `--l2`", "probabilities differ in the fourth digit or later; the cause is not found yet"),
    ("continuing with `--cbify` or `--cbify_ldf`", "draws go on in Hutch; VW starts them over"),
    (
        "`--regcb` and `--squarecb --elim` with `-t`",
        "ranges of costs are those of a run that learns; VW's are wider, so that fewer actions are eliminated",
    ),
    (
        "`--rnd`, `--regcb` and `--squarecb --elim` with `--ftrl`, `--pistol` or `--coin`",
        "refused: these learners have no random functions and no ranges",
    ),
    (
        "a line of JSON that cannot be used, or has a decision without actions",
        "Hutch reports and passes over it; VW stops, or takes it into the next decision",
    ),
    (
        "a label in JSON after `_multi`",
        "Hutch gives it to the action that `_labelIndex` names; VW to the shared features",
    ),
    ("a number in JSON beyond float32", "Hutch reports the line; VW learns infinity"),
    (
        "the feature count at the end of `--cb_adf`",
        "VW counts shared features once per decision, Hutch with every action",
    ),
    ("decisions below `--ngram` and `--redefine`", "made of the action's own and the shared features together"),
)
"""Where Hutch and VW differ though neither says so, and how."""


def page() -> str:
    """The page in Markdown."""
    lines = [
        _HEAD,
        "| VW | difference |",
        "|---|---|",
        *(f"| {case} | {how} |" for case, how in _RARE),
        "",
        "## Reductions",
        "",
        "| VW | YAML |",
        "|---|---|",
        *_reductions(),
        "",
        "## Option by option",
        "",
    ]
    lines += ["| option | | remark |", "|---|---|---|"]
    for option in OPTIONS:
        if option.supported:
            names = f"`--{option.name}`" + (f" `-{option.short}`" if option.short else "")
            lines.append(_row(names, option.verdict, option.note))
    advice: dict[str, list[str]] = {}
    for name, instead in ABSENT.items():
        advice.setdefault(instead, []).append(f"`--{name}`")
    lines += [_row(" ".join(names), "not supported", instead) for instead, names in advice.items()]
    return "\n".join(lines) + "\n"


def _reductions() -> Iterator[str]:
    """Each layer with the options that bring it and set its parameters."""
    layers: dict[str, list[str]] = {}
    for option in OPTIONS:
        if option.layer:
            layers.setdefault(option.layer, []).append(f"`--{option.name}`")
    layers["action_probabilities"] = ["`--csoaa_ldf --probabilities`"]
    yield from (f"| {' '.join(names)} | `{layer}` |" for layer, names in layers.items())


def _row(names: str, verdict: str, remark: str) -> str:
    return f"| {names} | {verdict} | {remark.replace('|', chr(92) + '|')} |"
