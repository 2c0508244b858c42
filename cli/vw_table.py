"""Vowpal Wabbit's command line as a table: each option, its values, and whether Hutch does the same."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from hutch.core.errors import UsageError, did_you_mean

Kind = Literal["flag", "int", "float", "text", "texts"]


@dataclass(frozen=True, slots=True)
class Option:
    """One option of VW.

    Attributes:
        name: the long name without dashes.
        short: the short name, empty for none.
        kind: of its value; `texts` can be given several times.
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


def _absent(names: str, instead: str) -> tuple[Option, ...]:
    return tuple(Option(name, note=instead, there=False) for name in names.split())


_CACHE = "keeps parsed batches, in Hutch's own format, and is used only while the data is what it was made of"
_LETTERS = "one byte is one character: \\xNN stands for a byte"

OPTIONS: tuple[Option, ...] = (
    Option("data", "d", "texts", "`.zst` is read too; `-` is standard input"),
    Option("cache", "c", note=f"writes FILE.hutch-cache; {_CACHE}"),
    Option("cache_file", "", "texts", _CACHE),
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
    Option("audit", "a"),
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
    Option("quantile_tau", "", "float"),
    Option("expectile_q", "", "float"),
    Option("logistic_min", "", "float"),
    Option("logistic_max", "", "float"),
    Option("link", "", "text"),
    Option("binary"),
    Option("min_prediction", "", "float"),
    Option("max_prediction", "", "float"),
    Option("quadratic", "q", "texts"),
    Option("cubic", "", "texts"),
    Option("interactions", "", "texts"),
    Option("experimental_full_name_interactions", "", "texts"),
    Option("permutations"),
    Option("leave_duplicate_interactions"),
    Option("ignore", "", "texts"),
    Option("ignore_linear", "", "texts"),
    Option("keep", "", "texts"),
    Option("ngram", "", "texts"),
    Option("skips", "", "texts"),
    Option("noconstant"),
    Option("constant", "C", "float"),
    Option("active", note="needs --simulation: labels are asked for with `hutch active`, without a server of VW's"),
    Option("simulation"),
    Option("mellowness", "", "float"),
    Option("oaa", "", "int"),
    Option("probabilities"),
    Option("scores"),
    Option("indexing", "", "int"),
    Option("named_labels", "", "text"),
    Option("ect", "", "int"),
    Option("error", "", "int"),
    Option("csoaa", "", "int"),
    Option("lrq", "", "texts"),
    Option("lrqdropout"),
    *_absent("rank", "use the `dyadic` learner, `hutch train -C`, whose steps are importance-aware"),
    *_absent("daemon port pid_file port_file num_children foreground no_daemon direct", "use `hutch active serve`"),
    *_absent("oaa_subsample", "one_against_all learns every class; filter_tree needs only log2 of them"),
    *_absent("csoaa_ldf wap wap_ldf", "use `cost_sensitive_one_against_all`, which --csoaa is"),
    *_absent("recall_tree log_multi plt boosting", "use --oaa, --ect or the `filter_tree` reduction"),
    *_absent("multilabel_oaa", "train one chain per label"),
    *_absent("ftrl pistol coin ksvm bfgs conjugate_gradient cbzo freegrad", "use the default learner or --sgd"),
    *_absent("lda nn stage_poly bootstrap autolink cbify search cb cb_adf cb_explore cb_explore_adf", ""),
    *_absent("affix spelling dictionary feature_limit", "make the features before Hutch reads them"),
    *_absent("redefine", "rename the namespaces in the data"),
    *_absent("json dsjson csv", "read files with `hutch train`, which knows CSV, Parquet and svmlight by their ending"),
    *_absent("random_weights random_positive_weights", "use --initial_weight"),
    *_absent("feature_mask span_server", ""),
    *_absent("save_per_pass", "save between runs with -f and go on with -i"),
    *_absent("examples", "cut the data with `head`"),
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


_TYPES: dict[str, Any] = {"int": int, "float": float, "text": str, "texts": str}


def _finite(name: str, kind: Kind) -> Any:
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
        UsageError: an option that is unknown or not there, or a value of the wrong kind.

    >>> options = parse(["-q", "ab", "-l", "0.1", "train.vw"])
    >>> options.quadratic, options.learning_rate, options.files
    (['ab'], 0.1, ['train.vw'])
    >>> parse(["--ftrl"])
    Traceback (most recent call last):
    ...
    hutch.core.errors.UsageError: --ftrl is not there: use the default learner or --sgd
    """
    parser = _Parser(prog="hutch vw", add_help=False, allow_abbrev=False)
    for option in OPTIONS:
        if not option.there:
            continue
        names = [f"--{option.name}", *([f"-{option.short}"] if option.short else [])]
        if option.kind == "flag":
            parser.add_argument(*names, action="store_true")
        elif option.kind == "texts":
            parser.add_argument(*names, action="append", default=[], type=_finite(option.name, option.kind))
        else:
            parser.add_argument(*names, type=_finite(option.name, option.kind))
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
    for option in OPTIONS:
        if option.name == name and not option.there:
            raise UsageError(f"--{name} is not there" + (f": {option.note}" if option.note else " in Hutch"))
    valid = [f"--{option.name}" for option in OPTIONS if option.there]
    nearest = did_you_mean(word, valid)
    hint = nearest if nearest.startswith("did") else "`hutch vw --help` lists what there is"
    raise UsageError(f"unknown option {word!r}; {hint}")


def help_text() -> str:
    """What `hutch vw --help` prints."""
    lines = ["Usage: hutch vw [--to-yaml] ARGS...", "", "Runs a Vowpal Wabbit command line.", ""]
    lines += ["Example: hutch vw -d train.vw --loss_function logistic -q ab -f model", ""]
    for option in OPTIONS:
        if option.there:
            names = (f"-{option.short}, " if option.short else "") + f"--{option.name}"
            value = "" if option.kind == "flag" else f" {option.kind.rstrip('s').upper()}"
            lines.append(f"  {names + value:44} {option.note}".rstrip())
    return "\n".join(lines)
