"""Vowpal Wabbit's command line as a table: each option, its values, and whether Hutch does the same."""

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, NoReturn

from hutch.core.errors import UsageError, did_you_mean
from hutch.vw.absent import ABSENT

Kind = Literal["flag", "int", "float", "text", "texts", "words"]


class Option(NamedTuple):
    """One option of VW.

    Attributes:
        name: the long name without dashes.
        short: the short name, empty for none.
        kind: of its value; `texts` can be given several times, `words` several times with several values each.
        note: what is different; or, where Hutch does not have the option, what to use instead.
        there: False if Hutch refuses it.
    """

    name: str
    short: str = ""
    kind: Kind = "flag"
    note: str = ""
    there: bool = True

    @property
    def verdict(self) -> str:
        """`same`, `different` or `not there`."""
        return "not there" if not self.there else ("different" if self.note else "same")


_CACHE = "keeps parsed batches, in Hutch's own format, and is used only while the data is what it was made of"
_NOT_NEEDED = "accepted, and changes nothing"

OPTIONS: tuple[Option, ...] = (
    Option("data", "d", "texts", "`.zst` is read too; `-` is standard input"),
    Option("cache", "c", note=f"writes FILE.hutch-cache; {_CACHE}"),
    Option("cache_file", "", "words", _CACHE),
    Option("kill_cache", "k"),
    Option("passes", "", "int", "works without a cache; data that fits stays in memory"),
    Option("holdout_off"),
    Option("holdout_period", "", "int"),
    Option("holdout_after", "", "int"),
    Option("early_terminate", "", "int"),
    Option("strict_parse", note="the message begins with file:line:column, and the exit status is 1"),
    Option("no_stdin"),
    Option("final_regressor", "f", "text", "writes Hutch's own format, with the whole chain, its loss included"),
    Option("initial_regressor", "i", "text", "reads Hutch's own format; the chain comes from the model"),
    Option("testonly", "t"),
    Option("save_resume", note="always on: resuming is exact"),
    Option("preserve_performance_counters", note="the model keeps all counters; a run shows its own"),
    Option("predictions", "p", "text"),
    Option("raw_predictions", "r", "text"),
    Option("readable_model", "", "text", "ends where the weights end; no checksum"),
    Option("invert_hash", "", "text", "ends where the weights end; no checksum"),
    Option("hexfloat_weights"),
    Option("predict_only_model", note="changes only what the readable model shows; -f always saves all"),
    Option("audit", "a", note="one line of features per example, whatever the reductions"),
    Option("progress", "P", "text"),
    Option("quiet"),
    Option("driver_output", "", "text"),
    Option("driver_output_off"),
    Option("bit_precision", "b", "int", "at most 31"),
    Option("hash", "", "text"),
    Option("hash_seed", "", "int"),
    Option("random_seed", "", "int"),
    Option("learning_rate", "l", "float"),
    Option("power_t", "", "float"),
    Option("initial_t", "", "float"),
    Option("decay_learning_rate", "", "float"),
    Option("l1", "", "float"),
    Option("l2", "", "float"),
    Option("sparse_l2", "", "float"),
    Option("no_bias_regularization"),
    Option("initial_weight", "", "float"),
    Option("sgd"),
    Option("adaptive"),
    Option("normalized"),
    Option("invariant"),
    Option("loss_function", "", "text", "is kept in the model"),
    Option("coin"),
    Option("ftrl"),
    Option("pistol"),
    Option("ftrl_alpha", "", "float"),
    Option("ftrl_beta", "", "float"),
    Option("quantile_tau", "", "float"),
    Option("expectile_q", "", "float"),
    Option("logistic_min", "", "float"),
    Option("logistic_max", "", "float"),
    Option("link", "", "text"),
    Option("binary"),
    Option("min_prediction", "", "float"),
    Option("max_prediction", "", "float"),
    Option("quadratic", "q", "words"),
    Option("cubic", "", "words"),
    Option("interactions", "", "words"),
    Option("experimental_full_name_interactions", "", "words"),
    Option("permutations"),
    Option("leave_duplicate_interactions"),
    Option("ignore", "", "words"),
    Option("ignore_linear", "", "words"),
    Option("keep", "", "words"),
    Option("redefine", "", "words"),
    Option("ngram", "", "words"),
    Option("skips", "", "words"),
    Option("noconstant"),
    Option("constant", "C", "float", "no effect with several sub-models, as in VW"),
    Option(
        "active", note="without --simulation it reads data, as with --no_daemon; `hutch active serve` is the server"
    ),
    Option("simulation"),
    Option("mellowness", "", "float"),
    Option("direct"),
    Option("oaa", "", "int"),
    Option("probabilities"),
    Option("scores"),
    Option("indexing", "", "int", "labels beyond the classes are left out; VW takes them for negatives of every class"),
    Option("named_labels", "", "text", "to be given again with -i"),
    Option("ect", "", "int"),
    Option("error", "", "int"),
    Option("csoaa", "", "int"),
    Option("csoaa_ldf", "", "text"),
    Option("csoaa_rank"),
    Option("cb_adf"),
    Option("cb_type", "", "text"),
    Option("clip_p", "", "float"),
    Option("rank_all"),
    Option("no_predict"),
    Option("cb", "", "int"),
    Option("cb_explore", "", "int"),
    Option("cbify", "", "int"),
    Option("loss0", "", "float"),
    Option("loss1", "", "float"),
    Option("flip_loss_sign"),
    Option("cb_explore_adf"),
    Option("cb_sample"),
    Option("epsilon", "", "float"),
    Option("first", "", "int"),
    Option("first_only"),
    Option("softmax"),
    Option("lambda", "", "float"),
    Option("squarecb"),
    Option("gamma_scale", "", "float"),
    Option("gamma_exponent", "", "float"),
    Option("elim"),
    Option("regcb"),
    Option("regcbopt"),
    Option("cb_min_cost", "", "float"),
    Option("cb_max_cost", "", "float"),
    Option("bag", "", "int"),
    Option("greedify"),
    Option("cover", "", "int"),
    Option("psi", "", "float"),
    Option("nounif"),
    Option("rnd", "", "int"),
    Option("rnd_alpha", "", "float"),
    Option("rnd_invlambda", "", "float"),
    Option("synthcover"),
    Option("synthcoversize", "", "int"),
    Option("synthcoverpsi", "", "float"),
    Option("lrq", "", "words"),
    Option("lrqdropout"),
    Option("id", "", "text", "stands in the readable model"),
    Option("dont_output_best_constant"),
    Option("per_model_save_load", note="always on: every sub-model keeps all of its state"),
    Option("no_daemon", note="always so"),
    Option("compressed", note="always so: compressed data is known by its ending"),
    *(Option(name, "", "text", _NOT_NEEDED) for name in ("log_level", "log_output", "limit_output")),
    *(Option(name, "", "int", _NOT_NEEDED) for name in ("ring_size", "example_queue_limit", "thread_pool_size")),
    Option("chain_hash", note=_NOT_NEEDED),
    *(Option(name, note=advice, there=False) for name, advice in ABSENT.items()),
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


_TYPES: dict[str, Any] = {"int": int, "float": float, "text": str, "texts": str, "words": str}
_FIRST_COUNTS = ("learning_rate", "power_t")
"""Of options given twice VW takes the first value of these, and refuses all others unless the values agree."""


class _Once(argparse.Action):
    """Keeps the value of an option that has only one.

    Raises:
        UsageError: it is given twice, with values that differ.
    """

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        before = getattr(namespace, self.dest)
        if before is None:
            setattr(namespace, self.dest, values)
        elif values != before and self.dest not in _FIRST_COUNTS:
            raise UsageError(f"--{self.dest}: got {before} and {values}, wanted one value")


def _reader(name: str, kind: Kind) -> Any:
    def read(text: str) -> Any:
        try:
            return _TYPES[kind](text)
        except ValueError:
            wanted = "a whole number" if kind == "int" else "a number"
            raise UsageError(f"--{name}: got {text!r}, wanted {wanted}") from None

    return read


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read a VW command line.

    Returns:
        Values by option name, None, False or an empty list where not given; `files` holds bare words.

    Raises:
        UsageError: an option that is unknown, not there or given twice, or a value of the wrong kind.

    >>> options = parse(["-q", "ab", "cd", "-l", "0.1", "train.vw"])
    >>> options.quadratic, options.learning_rate, options.files
    (['ab', 'cd'], 0.1, ['train.vw'])
    >>> parse(["--ftrl"])
    Traceback (most recent call last):
    ...
    hutch.core.errors.UsageError: --ftrl is not there: use the default learner, --sgd, or the `dyadic` layer
    """
    width = partial(argparse.HelpFormatter, width=80)  # not the terminal's: it would be asked at every option
    parser = _Parser(prog="hutch vw", add_help=False, allow_abbrev=False, formatter_class=width)
    for option in OPTIONS:
        if not option.there:
            continue
        names = [f"--{option.name}", *([f"-{option.short}"] if option.short else [])]
        read: Any = None if option.kind == "flag" else _reader(option.name, option.kind)
        if option.kind == "flag":
            parser.add_argument(*names, action="store_true")
        elif option.kind == "texts":
            parser.add_argument(*names, action="append", default=[], type=read)
        elif option.kind == "words":
            parser.add_argument(*names, action="extend", nargs="+", default=[], type=read)
        else:
            parser.add_argument(*names, action=_Once, type=read)
    parser.add_argument("files", nargs="*")
    found, unknown = parser.parse_known_args(list(arguments))
    for word in unknown:
        refuse(word)
    return found


def refuse(word: str) -> NoReturn:
    """Refuse an option that is not there, by name.

    Raises:
        UsageError: always; it says what to use instead.
    """
    name = word.lstrip("-").partition("=")[0]
    if name in ABSENT:
        raise UsageError(f"--{name} is not there" + (f": {ABSENT[name]}" if ABSENT[name] else " in Hutch"))
    valid = [f"--{option.name}" for option in OPTIONS if option.there]
    nearest = did_you_mean(word, valid)
    hint = nearest if nearest.startswith("did") else "`hutch vw --help` lists what there is"
    raise UsageError(f"unknown option {word!r}; {hint}")


_SHOWN = {"int": "INT", "float": "FLOAT", "text": "TEXT", "texts": "TEXT", "words": "TEXT..."}


def help_text() -> str:
    """What `hutch vw --help` prints."""
    lines = ["Usage: hutch vw [--to-yaml] ARGS...", "", "Runs a Vowpal Wabbit command line.", ""]
    lines += ["Example: hutch vw -d train.vw --loss_function logistic -q ab -f model", ""]
    for option in OPTIONS:
        if option.there:
            names = (f"-{option.short}, " if option.short else "") + f"--{option.name}"
            value = "" if option.kind == "flag" else f" {_SHOWN[option.kind]}"
            lines.append(f"  {names + value:44} {option.note}".rstrip())
    return "\n".join(lines)
