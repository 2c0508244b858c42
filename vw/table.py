"""Vowpal Wabbit's options as one table: what each is, which part of a chain it sets, and whether Hutch does the same.

`hutch vw` reads its command line by this table, `hutch train` and `hutch predict` take theirs from it, and so does the
documentation. An option that sets a parameter of a layer needs its line here and nothing else: `sets` names both.
"""

from dataclasses import dataclass
from typing import Any, Literal

from hutch.vw.absent import ABSENT

Kind = Literal["flag", "int", "float", "text", "texts", "words"]
Reads = Literal["value", "letters", "terms", "loss"]

LEARNER = ("weights", "input", "seed", "base")
"""The parts of a chain that `hutch train` lets VW's options set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of VW.

    Attributes:
        name: the long name without dashes.
        short: the short name, empty for none.
        kind: of its value; `texts` can be given several times, `words` several times with several values each.
        help: what it does.
        metavar: what stands for its value in help texts.
        default: what holds if it is not given, None for none.
        choices: the values that there are; empty for any.
        least: the smallest value, None for any.
        sets: the place in a chain that it sets: a key such as `weights.bits` or `seed`, `base.PARAMETER` of the base
            learner, or `LAYER.PARAMETER` or `LAYER` of another layer; empty if it sets none.
        reads: how a value becomes one of the chain: as it is, as namespaces, as interactions, or as part of a loss.
        value: what a flag sets.
        needs: the option without which it has no meaning; without it an option for a layer brings that layer.
        note: what is different from VW; or, where Hutch does not have the option, what to use instead.
        supported: False if Hutch refuses it.
    """

    name: str
    short: str = ""
    kind: Kind = "flag"
    help: str = ""
    metavar: str = ""
    default: Any = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    sets: str = ""
    reads: Reads = "value"
    value: Any = True
    needs: str = ""
    note: str = ""
    supported: bool = True

    @property
    def verdict(self) -> str:
        """`same`, `different` or `not supported`."""
        return "not supported" if not self.supported else ("different" if self.note else "same")

    @property
    def part(self) -> str:
        """The section or the layer of a chain that it sets."""
        return self.sets.partition(".")[0]

    @property
    def key(self) -> str:
        """The parameter that it sets; empty if a layer's presence is all."""
        return self.sets.partition(".")[2]

    @property
    def layer(self) -> str:
        """The layer above the base learner that it belongs to, empty if there is none."""
        return "" if self.part in LEARNER else self.part

    @property
    def brings_layer(self) -> bool:
        """Whether the layer is part of the chain because of this option."""
        return bool(self.layer) and not self.needs

    def given(self, values: Any) -> Any:
        """Its value in what `hutch.vw.parse.parse` returns; None if it was not given."""
        value = getattr(values, self.name)
        if value is None or value is False or value == []:
            return None
        return self.value if self.kind == "flag" else value


def _flag(name: str, help: str, **more: Any) -> Option:
    return Option(name=name, help=help, **more)


def _int(name: str, help: str, **more: Any) -> Option:
    return Option(name=name, kind="int", help=help, **({"metavar": "N"} | more))


def _float(name: str, help: str, **more: Any) -> Option:
    return Option(name=name, kind="float", help=help, **({"metavar": "X"} | more))


def _text(name: str, metavar: str, help: str, **more: Any) -> Option:
    return Option(name=name, kind="text", metavar=metavar, help=help, **more)


def _words(name: str, metavar: str, help: str, **more: Any) -> Option:
    return Option(name=name, kind="words", metavar=metavar, help=help, **more)


_CACHE = "keeps parsed batches, in Hutch's own format, and is used only while the data is what it was made of"
_ALWAYS_ON = "Accepted for compatibility; always on."
_BAD_LINE = "a bad line is reported and passed over"
_NO_EFFECT = "Accepted for compatibility; has no effect."
_LEGACY = "--cb_type mtr and sm become dr, as in VW"
_NOT_NEEDED = "accepted, and changes nothing"

GROUPS: tuple[tuple[str, tuple[Option, ...]], ...] = (
    (
        "Data and passes",
        (
            Option(
                name="data",
                short="d",
                kind="texts",
                metavar="FILE",
                help="File of examples, .gz and .zst too; - is standard input. Repeatable.",
                note="`.zst` is read too; `-` is standard input",
            ),
            _flag(
                "cache",
                "Keep the parsed data in FILE.hutch-cache, and use it while it is up to date.",
                short="c",
                note=f"writes FILE.hutch-cache; {_CACHE}",
            ),
            _words(
                "cache_file",
                "FILE",
                "Keep the parsed data in this file, and use it while it is up to date.",
                note=_CACHE,
            ),
            _flag("kill_cache", "Write the cache anew.", short="k"),
            _int(
                "passes",
                "Number of passes over the data.",
                default=1,
                least=1,
                note="works without a cache; data that fits stays in memory",
            ),
            _flag("holdout_off", "With several passes, hold out no examples."),
            _int("holdout_period", "With several passes, hold out every Nth example for testing.", default=10, least=1),
            _int("holdout_after", "Hold out all examples after the first N; 0: none.", default=0, least=0),
            _int("early_terminate", "Stop after N passes without improvement.", default=3, least=1),
            _flag(
                "strict_parse",
                "Stop at the first malformed line.",
                note="the message begins with file:line:column, and the exit status is 1",
            ),
            _flag("json", "Read lines of JSON, an example each, or a decision.", note=_BAD_LINE),
            _flag(
                "dsjson",
                "Read logged decisions, a line of JSON each.",
                note="a bad line is reported and passed over, as is one without actions",
            ),
            _flag("chain_hash", "Hash a text in JSON after its key, not as one name with it."),
            _flag("no_stdin", "Do not read standard input if no data is given."),
        ),
    ),
    (
        "Models and output",
        (
            _text(
                "final_regressor",
                "MODEL",
                "Save the model to this file.",
                short="f",
                note="writes Hutch's own format, with the whole chain, its loss included",
            ),
            _text(
                "initial_regressor",
                "MODEL",
                "Continue from this model.",
                short="i",
                note="reads Hutch's own format and that of VW 9; the chain comes from the model",
            ),
            _flag("testonly", "Predict only; do not learn.", short="t"),
            _flag("save_resume", _ALWAYS_ON, note="always on: resuming is exact"),
            _flag(
                "preserve_performance_counters", _ALWAYS_ON, note="the model keeps all counters; a run shows its own"
            ),
            _text("predictions", "FILE", "Write predictions to this file; - is standard output.", short="p"),
            _text(
                "raw_predictions",
                "FILE",
                "Write raw predictions, such as the scores of all classes, to this file.",
                short="r",
            ),
            _text(
                "readable_model", "FILE", "Write the weights as text.", note="ends where the weights end; no checksum"
            ),
            _text(
                "invert_hash",
                "FILE",
                "Write the weights as text, with the names of the features.",
                note="ends where the weights end; no checksum",
            ),
            _flag("hexfloat_weights", "Write weights as hexadecimal numbers, in full precision."),
            _flag(
                "predict_only_model",
                "Leave what only learning needs out of the readable model.",
                note="changes only what the readable model shows; -f always saves all",
            ),
            _flag(
                "audit",
                "Print every feature of every example with its weight.",
                short="a",
                note="one line of features per example, whatever the reductions",
            ),
            _text(
                "progress",
                "N",
                "Report every N examples, or with a decimal point each time their number has grown by that factor.",
                default="2.0",
                short="P",
            ),
            _flag("quiet", "Print no progress table."),
            _text("driver_output", "stdout|stderr", "Where the progress table goes.", choices=("stdout", "stderr")),
            _flag("driver_output_off", "Print no progress table."),
            _flag("dont_output_best_constant", "Leave the best constant out of the report."),
            _text("id", "NAME", "Name of the model.", note="appears in the readable model"),
        ),
    ),
    (
        "Weight table and hashing",
        (
            _int(
                "bit_precision",
                "The weight table has 2^N rows.",
                default=18,
                short="b",
                sets="weights.bits",
                note="at most 31",
            ),
            _text(
                "hash",
                "strings|all",
                "Hash only names that are not numbers, or all names.",
                choices=("strings", "all"),
                default="strings",
                sets="input.hash",
            ),
            _int("hash_seed", "Seed of the feature hash.", sets="input.hash_seed"),
            _int("random_seed", "Seed of every random decision.", sets="seed"),
        ),
    ),
    (
        "Learner",
        (
            _float("learning_rate", "Learning rate.", short="l", sets="base.learning_rate"),
            _float("power_t", "Exponent of the learning rate's decay.", sets="base.power_t"),
            _float("initial_t", "Start the decay as if importance X had been seen.", sets="base.initial_t"),
            _float("decay_learning_rate", "Multiply the learning rate by X after each pass.", sets="base.decay"),
            _float("l1", "Strength of L1 regularization.", sets="base.l1"),
            _float("l2", "Strength of L2 regularization.", sets="base.l2"),
            _float("sparse_l2", "Strength of L2 regularization of the features present.", sets="base.sparse_l2"),
            _flag("no_bias_regularization", _NO_EFFECT),
            _float("initial_weight", "Initial value of all weights.", sets="base.initial_weight"),
            _flag("random_weights", "Random first weights, -0.5 to 0.5.", sets="base.random_weights", value="uniform"),
            _flag("normal_weights", "Random first weights of variance 1.", sets="base.random_weights", value="normal"),
            _flag(
                "truncated_normal_weights",
                "The same, within two standard deviations.",
                sets="base.random_weights",
                value="truncated_normal",
            ),
            _flag("sgd", "Plain stochastic gradient descent."),
            _flag("adaptive", "Adaptive learning rates, one per feature."),
            _flag("normalized", "Learning rates that allow for the scale of features."),
            _flag("invariant", "Updates that are invariant to importance."),
            _float("min_prediction", "Smallest prediction; lower ones are clipped.", sets="base.min_prediction"),
            _float("max_prediction", "Largest prediction; higher ones are clipped.", sets="base.max_prediction"),
            _float(
                "constant",
                "Initial value of the constant's weight.",
                short="C",
                sets="base.initial_constant",
                note="no effect with several sub-models, as in VW",
            ),
        ),
    ),
    (
        "Loss",
        (
            _text(
                "loss_function",
                "NAME",
                "Loss function, such as squared, logistic, hinge or quantile.",
                sets="base.loss",
                reads="loss",
                note="is kept in the model",
            ),
            _float("quantile_tau", "The quantile of quantile loss.", default=0.5, sets="base.loss", reads="loss"),
            _float("expectile_q", "The expectile of expectile loss.", sets="base.loss", reads="loss"),
            _float("logistic_min", "Smallest label of logistic loss.", sets="base.loss", reads="loss"),
            _float("logistic_max", "Largest label of logistic loss.", sets="base.loss", reads="loss"),
        ),
    ),
    (
        "Features",
        (
            _words(
                "quadratic",
                "AB",
                "Pairs of namespaces to multiply, by first letter; : is any.",
                short="q",
                sets="base.interactions",
                reads="terms",
            ),
            _words("cubic", "ABC", "Triples of namespaces to multiply.", sets="base.interactions", reads="terms"),
            _words("interactions", "AB...", "Groups of any size to multiply.", sets="base.interactions", reads="terms"),
            _words("experimental_full_name_interactions", "A|B", "Groups of namespaces by their full names."),
            _flag("permutations", "Multiply in every order.", sets="base.permutations"),
            _flag("leave_duplicate_interactions", "Keep interactions named twice.", sets="base.duplicate_interactions"),
            _words("ignore", "A", "Namespaces to leave out.", sets="input.ignore", reads="letters"),
            _words(
                "ignore_linear",
                "A",
                "Namespaces to use in interactions only.",
                sets="base.ignore_linear",
                reads="letters",
            ),
            _words("keep", "A", "The only namespaces to use.", sets="input.keep", reads="letters"),
            _flag("noconstant", "Add no constant feature.", sets="input.constant", value=False),
        ),
    ),
    (
        "Layers, from top to base",
        (
            _words("redefine", "N:=S", "Treat the namespaces S as N; : is any.", sets="merge_namespaces.names"),
            _words("ngram", "N", "N-grams of all namespaces, or of one with a letter before N.", sets="ngrams.size"),
            _words("skips", "N", "Skips within n-grams, as --ngram.", sets="ngrams.skips", needs="ngram"),
            _int("oaa", "One against all, with N classes.", sets="one_against_all.classes"),
            _flag("probabilities", "Predict probabilities instead.", sets="one_against_all.probabilities", needs="oaa"),
            _flag("scores", "Predict the score of each class.", needs="oaa"),
            _int(
                "indexing",
                "The smallest class, 0 or 1.",
                default="detected",
                metavar="0|1",
                note="labels beyond the classes are left out; VW treats them as negatives of every class",
            ),
            _text("named_labels", "A,B,...", "Names of the classes.", note="is kept in the model"),
            _int("ect", "Error-correcting tournament, with N classes.", sets="error_correcting_tournament.classes"),
            _int(
                "error", "Errors that the tournament survives.", sets="error_correcting_tournament.errors", needs="ect"
            ),
            _int(
                "csoaa",
                "Cost-sensitive one against all, with N classes.",
                sets="cost_sensitive_one_against_all.classes",
            ),
            _flag("binary", "Predict -1 or 1.", sets="binary"),
            _words("lrq", "ABK", "Low-rank interaction of namespaces A and B, of rank K.", sets="low_rank_quadratic"),
            _flag(
                "lrqdropout",
                "Train low-rank interactions with dropout.",
                sets="low_rank_quadratic.dropout",
                needs="lrq",
            ),
            _text(
                "link",
                "NAME",
                "Link function: identity, logistic, glf1 or poisson.",
                choices=("identity", "logistic", "glf1", "poisson"),
                sets="link.function",
            ),
            _flag(
                "active",
                "Active learning: decide which labels to ask for.",
                sets="active",
                note="without --simulation it reads data, as with --no_daemon; `hutch active serve` is the server",
            ),
            _flag("simulation", "All labels are known; count those asked for.", needs="active"),
            _float(
                "mellowness",
                "With --active: higher asks for more labels. With --regcb and --squarecb: wider ranges of costs.",
            ),
            _flag("direct", "Answer a line tagged query? with an importance.", needs="active"),
        ),
    ),
    (
        "Decisions and bandits",
        (
            _text(
                "csoaa_ldf",
                "m|mc",
                "Costs of actions that have features of their own, one line each.",
                choices=("m", "multiline", "mc", "multiline-classifier"),
            ),
            _text("wap_ldf", "m|mc", "The same, learned from pairs of actions."),
            _flag("csoaa_rank", "Write all actions with their scores."),
            _flag("cb_adf", "Learn from the cost of the action that was chosen."),
            _text(
                "cb_type",
                "TYPE",
                "How costs are estimated: mtr, ips, dm, dr or sm.",
                choices=("mtr", "ips", "dm", "dr", "sm"),
                default="mtr",
            ),
            _float("clip_p", "Probabilities below X count as X.", default=0),
            _flag("rank_all", "With --cb_adf: write all actions with their scores."),
            _flag("no_predict", _NO_EFFECT, note=_NOT_NEEDED),
            _int("cb", "Learn from the cost of the class that was chosen, out of 1 to N."),
            _flag("cb_force_legacy", "With --cb, --cb_explore or --cbify: weights for each class.", note=_LEGACY),
            _flag("eval", "With --cb: what the class that begins each label would have cost."),
            _flag("cb_explore_adf", "Predict probabilities with which to choose each action."),
            _int("cb_explore", "Predict probabilities with which to choose each class, 1 to N."),
            _int("cbify", "Learn classes 1 to N from guesses and their costs alone."),
            _flag("cbify_ldf", "Learn decisions with all costs known from guesses and their costs alone."),
            _flag("cbify_cs", "With --cbify: labels are costs by class instead of classes."),
            _float("loss0", "With --cbify: cost of the right class.", default=0),
            _float("loss1", "With --cbify: cost of every other class.", default=1),
            _flag("flip_loss_sign", "With --cbify: let costs be rewards."),
            _flag("cb_sample", "Draw an action and list it first."),
            _float("epsilon", "Probability of choosing at random."),
            _int("first", "Choose at random for the first N decisions."),
            _flag("first_only", "Of equally good actions prefer the first."),
            _flag("softmax", "Prefer actions by the exponential of their scores."),
            _float("lambda", "With --softmax: how sharply it prefers the best action.", default=1),
            _flag("squarecb", "Prefer actions by the gap of their scores."),
            _float("gamma_scale", "With --squarecb: gamma after one decision.", default=10),
            _float("gamma_exponent", "With --squarecb: exponent of gamma's growth.", default=0.5),
            _flag("elim", "With --squarecb: leave out actions that cannot be the best."),
            _flag("regcb", "Choose among actions that may be the best."),
            _flag("regcbopt", "Choose the most promising action."),
            _float("cb_min_cost", "With --regcb and --squarecb: lowest possible cost.", default=0),
            _float("cb_max_cost", "With --regcb and --squarecb: highest possible cost.", default=1),
            _int("bag", "N policies that have seen different data vote."),
            _flag("greedify", "With --bag: the first policy learns every decision once."),
            _int("cover", "N policies that are taught to disagree."),
            _float("psi", "With --cover: how strongly the policies disagree.", default=1),
            _flag("nounif", "With --cover: do not choose what no policy prefers."),
            _int("rnd", "Prefer actions of which N models of noise know little."),
            _float("rnd_alpha", "With --rnd: size of the noise.", default=0.1),
            _float("rnd_invlambda", "With --rnd: variance of what the models of noise learn.", default=0.1),
            _flag("synthcover", "Give probability to the cheapest action in small steps."),
            _int("synthcoversize", "With --synthcover: number of steps.", default=100),
            _float("synthcoverpsi", "With --synthcover: what all steps add to a score.", default=0.1),
        ),
    ),
    (
        "Learners without rates",
        (
            _flag("ftrl", "Learn with FTRL-Proximal."),
            _flag("pistol", "Learn with PiSTOL."),
            _flag("coin", "Learn with coin betting."),
            _float("ftrl_alpha", "Parameter alpha of --ftrl, --pistol and --coin."),
            _float("ftrl_beta", "Parameter beta of --ftrl, --pistol and --coin."),
        ),
    ),
    (
        "Daemon",
        (
            _flag(
                "daemon",
                "Answer lines over TCP instead of reading data.",
                note="one process answers all connections in turn, here only; `save_FILE` takes no directory",
            ),
            _int("port", "With --daemon: listen on this port.", default=26542),
            _text("pid_file", "FILE", "Write the process's number to this file."),
            _text("port_file", "FILE", "Write the port to this file."),
            _int("num_children", _NO_EFFECT, note=_NOT_NEEDED),
            _flag("foreground", "With --daemon: stay in the foreground."),
        ),
    ),
    (
        "Accepted for compatibility",
        (
            _flag("per_model_save_load", _ALWAYS_ON, note="always on: every sub-model keeps all of its state"),
            _flag("no_daemon", "Read data, whatever --daemon says."),
            _flag("compressed", _ALWAYS_ON, note="always so: compressed data is known by its ending"),
            _flag("onethread", _NO_EFFECT, note=_NOT_NEEDED),
            _flag("sparse_weights", _NO_EFFECT, note="accepted; weights fill one table, and are the same"),
            *(_text(name, "X", _NO_EFFECT, note=_NOT_NEEDED) for name in ("log_level", "log_output", "limit_output")),
            *(
                _int(name, _NO_EFFECT, note=_NOT_NEEDED)
                for name in ("ring_size", "example_queue_limit", "thread_pool_size")
            ),
        ),
    ),
)
"""The options that Hutch has, under the headings of the help text."""

OPTIONS: tuple[Option, ...] = (
    *(option for _, group in GROUPS for option in group),
    *(Option(name=name, note=advice, supported=False) for name, advice in ABSENT.items()),
)

LEARNER_OPTIONS = tuple(option for option in OPTIONS if option.part in LEARNER)
"""The options that have a meaning for any chain."""

NAMED = {option.name: option for option in OPTIONS}
