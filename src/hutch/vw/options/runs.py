"""Vowpal Wabbit's options for what a run reads, writes and serves."""

from hutch.vw.options.option import Option, new_flag, new_int, new_text, new_words

_CACHE = "keeps parsed batches, in Hutch's own format, and is used only while the data is unchanged"
_ALWAYS_ON = "Accepted for compatibility; always on."
_BAD_LINE = "a bad line is reported and skipped"
_NO_EFFECT = "Accepted for compatibility; has no effect."
_NOT_NEEDED = "accepted, and changes nothing"

DATA: tuple[Option, ...] = (
    Option(
        name="data",
        short="d",
        kind="texts",
        metavar="FILE",
        help="File of examples, .gz and .zst too; - is standard input. Repeatable.",
        note="`.zst` is read too; `-` is standard input",
    ),
    new_flag("cache", "Cache the parsed data in FILE.hutch-cache.", short="c", note=_CACHE),
    new_words("cache_file", "FILE", "Cache the parsed data in this file.", note=_CACHE),
    new_flag("kill_cache", "Rewrite the cache.", short="k"),
    new_int("passes", "Number of passes over the data.", default=1, least=1, note="works without a cache"),
    new_flag("holdout_off", "With several passes, hold out no examples."),
    new_int("holdout_period", "With several passes, hold out every Nth example for testing.", default=10, least=1),
    new_int("holdout_after", "Hold out all examples after the first N; 0 holds out none.", default=0, least=0),
    new_int("early_terminate", "Stop after N passes without improvement.", default=3, least=1),
    new_flag("strict_parse", "Stop at the first malformed line.", note="names file:line:column; exit status 1"),
    new_flag("json", "Read JSON lines, each an example or a decision.", note=_BAD_LINE),
    new_flag(
        "dsjson",
        "Read logged decisions as JSON lines.",
        note="a bad line is reported and skipped; one without a choice or outcomes of slates silently",
    ),
    new_flag("chain_hash", "Hash a string in JSON with its key's hash as the seed, not joined to its key."),
    new_words(
        "ignore_features_dsjson_experimental",
        "NAMESPACE|FEATURE",
        "ignore these string features; without NAMESPACE, features in no namespace.",
        note="texts only, as in VW; is not kept in the model; lines are read in Python",
        needs=("dsjson",),
    ),
    new_flag(
        "csv",
        "Read CSV: columns `_label`, `_tag`, and features, named `NAME` or `NAMESPACE|NAME`.",
        note="blanks, bars and colons in texts count as underscores; numbers may be quoted",
    ),
    new_text("csv_separator", "C", "separator of cells.", default=",", needs=("csv",)),
    new_text("csv_header", "A,B,...", "names of the columns.", needs=("csv",)),
    new_flag("csv_no_file_header", "the first line is data, not a header.", needs=("csv_header",)),
    new_text("csv_ns_value", "A:X,...", "multiply the values in namespace A by X.", needs=("csv",)),
    new_int(
        "examples",
        "Read only the first N lines in each pass.",
        least=0,
        note="of text, and without a cache; empty lines count, as in VW",
    ),
    new_text("args", "FILE", "Read options from this file, too.", note="one command line; VW runs several at once"),
    new_flag("no_stdin", "Do not read standard input if no data is given."),
)

MODELS: tuple[Option, ...] = (
    new_text("final_regressor", "MODEL", "Save the model to this file.", short="f", note="Hutch's own format"),
    new_flag("save_per_pass", "Also save the model after each pass, as MODEL.N.", needs=("final_regressor",)),
    new_text(
        "initial_regressor",
        "MODEL",
        "Continue from this model.",
        short="i",
        note="reads Hutch's own format and that of VW 8.3.3 to 9.11; the chain comes from the model",
    ),
    new_flag("testonly", "Predict only; do not learn.", short="t"),
    new_flag("save_resume", _ALWAYS_ON, note="always on: resuming is exact"),
    new_flag("preserve_performance_counters", _ALWAYS_ON, note="the model keeps all counters; a run shows its own"),
    new_text("predictions", "FILE", "Write predictions to this file; - is standard output.", short="p"),
    new_int(
        "top",
        "Write the N highest predictions of each group, the lines between two empty ones.",
        least=1,
        note="is kept in the model; the table shows single lines",
    ),
    new_text("raw_predictions", "FILE", "Write raw predictions, such as class scores, to FILE.", short="r"),
    new_text("readable_model", "FILE", "Write the weights as text.", note="ends where the weights end; no checksum"),
    new_text("invert_hash", "FILE", "Write the weights as text, with feature names.", note="no checksum"),
    new_text("dump_json_weights_experimental", "FILE", "Write the weights that are not 0 as JSON."),
    new_flag(
        "dump_json_weights_include_feature_names_experimental",
        "with the names of their features.",
        needs=("dump_json_weights_experimental",),
        note="a name with ^ or * in it is cut there",
    ),
    new_flag(
        "dump_json_weights_include_extra_online_state_experimental",
        "with the state of their rates.",
        needs=("dump_json_weights_experimental",),
    ),
    new_text(
        "audit_regressor",
        "FILE",
        "Write the names and weights of all features in the data; do not learn or predict.",
        note="the sub-models of a feature stand together; there is no table",
    ),
    new_flag("hexfloat_weights", "Write weights as hexadecimal numbers, in full precision."),
    new_flag(
        "predict_only_model",
        "Write only what predicts into --readable_model.",
        note="-f saves all; -i then begins with the weights alone",
    ),
    new_flag("audit", "Print every feature with its weight.", short="a", note="one line per example"),
    new_text(
        "extra_metrics",
        "FILE",
        "Write counts of decisions, actions and costs as JSON.",
        note="counts of decisions by VW's names; nothing about single lines, calls and features",
    ),
    new_text(
        "progress",
        "N",
        "Report every N examples; with a decimal point, whenever their number has grown N-fold.",
        default="2.0",
        short="P",
    ),
    new_flag("quiet", "Print no progress table."),
    new_text("driver_output", "stdout|stderr", "Stream of the progress table.", choices=("stdout", "stderr")),
    new_flag("driver_output_off", "Print no progress table."),
    new_flag("dont_output_best_constant", "Leave the best constant out of the report."),
    new_text("id", "NAME", "Name of the model.", note="appears in the readable model"),
)

DAEMON: tuple[Option, ...] = (
    new_flag(
        "daemon",
        "Serve predictions over TCP instead of reading data.",
        note="one process answers all connections in turn, here only; `save_FILE` takes no directory",
    ),
    new_int("port", "With --daemon: listen on this port.", default=26542),
    new_text("pid_file", "FILE", "Write the process id to this file."),
    new_text("port_file", "FILE", "Write the port to this file."),
    new_int("num_children", _NO_EFFECT, note=_NOT_NEEDED),
    new_flag("foreground", "With --daemon: stay in the foreground."),
)

ACCEPTED: tuple[Option, ...] = (
    new_flag("per_model_save_load", _ALWAYS_ON, note="always on: every sub-model keeps all of its state"),
    new_flag("no_daemon", "Read data even with --daemon."),
    new_flag("compressed", _ALWAYS_ON, note="always so: compressed data is known by its ending"),
    new_flag("onethread", _NO_EFFECT, note=_NOT_NEEDED),
    new_flag("sparse_weights", _NO_EFFECT, note="accepted; weights fill one table, and are the same"),
    *(new_text(name, "X", _NO_EFFECT, note=_NOT_NEEDED) for name in ("log_level", "log_output", "limit_output")),
    *(new_int(name, _NO_EFFECT, note=_NOT_NEEDED) for name in ("ring_size", "example_queue_limit", "thread_pool_size")),
    *(new_int(name, _NO_EFFECT, note=_NOT_NEEDED) for name in ("block_size", "action_cache_slack", "cb_to_cbadf")),
    new_flag("las_hint_explicit_simd", _NO_EFFECT, note=_NOT_NEEDED),
)
