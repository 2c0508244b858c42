"""The options of Vowpal Wabbit that Hutch does not have, part by part, with the alternatives.

An option named as the alternative is never refused itself; a test reads the options of the installed peer and tries.
"""

_PARTS = """\
version: use `hutch --version`
dry_run: use --to-yaml, which checks the options and reads no data
initial_pass_length: use --passes
sort_features: leave it out if no line repeats a word: the option also removes repeated ones
experimental_full_name_interactions: use -q, or `hutch train`, where namespaces go by their full names
flatbuffer: use `hutch train`, which reads CSV, Parquet and JSON lines by their ending
span_server span_server_port unique_id total node: use `hutch train --shards N`, on a cluster `hutch train --shards N
  --ray ADDRESS`
automl default_lease priority_type priority_challengers verbose_metrics csv_trace interaction_type oracle_type
  debug_reversed_learn automl_significance_level fixed_significance_level opt_func: compare chains
  on one log with `hutch evaluate`
check_enabled: leave it out: no file says which examples have a baseline
baseline_challenger_cb cb_c_alpha cb_c_tau: compare chains on one log with `hutch evaluate`
ccb_no_slot_index: leave it out
cs_absolute_loss: use --csoaa with --loss_function quantile
wap ldf_override: use --csoaa or --csoaa_ldf
metrics: use --readable_model, or `hutch inspect MODEL --invert-hash DATA --top 10`; VW 9.11.9 crashes
oas: use --multilabel_oaa or --plt
plt_force_load_legacy_model: leave it out: Hutch reads no model of --plt
epsilon_decay_audit: leave it out: in Python, the layer `explore_decaying` says how much each model has learned
graph_feedback: use --cb_explore_adf with --squarecb
two_pass_svd: leave it out: --large_action_space finds exact singular vectors of one random projection
new_mf: use --rank, or the `dyadic` layer of `hutch train -C`
para_active: use --ksvm without it
sendto: use `hutch serve`, which predicts and learns over HTTP
search_metatask search_max_branch search_kbest: leave it out: a block gets its one best prediction
search_use_passthrough_repr: leave it out: VW takes scores of other steps where an action is remembered or a right one
search_trained_nb_policies: leave it out: a model says how many policies it has
search_active_verify: leave it out: VW has it with --cs_active alone, which --search has not here
"""
"""Options by part, its main ones first: the alternative. An option of several parts is listed with the first."""

ABSENT: dict[str, str] = {}
"""The alternative, by option."""
for _names, _, _instead in (_part.partition(": ") for _part in _PARTS.replace("\n  ", " ").splitlines()):
    for _name in _names.split():
        ABSENT.setdefault(_name, _instead)
