"""The options of Vowpal Wabbit that Hutch does not have, with what to use instead where something is."""

_BANDITS = "use --cb_adf, --cb_explore_adf, --cb, --cb_explore or --cbify"
_OTHER_BASE = "use the default learner, --sgd, or the `dyadic` layer"
_OTHER_TREES = "use --oaa, --ect or the `filter_tree` layer"
_SERVER = "use `hutch active serve`"
_READERS = "read files with `hutch train`, which knows CSV, Parquet and svmlight by their ending"
_DONE_BEFORE = "make the features before Hutch reads them"
_NOTHING = ""

_GROUPS: tuple[tuple[str, str], ...] = (
    ("rank", "use the `dyadic` layer, `hutch train -C`, whose steps are importance-aware; or --lrq"),
    ("new_mf", "use the `dyadic` layer, `hutch train -C`, or --lrq"),
    ("lrqfa", "use --lrq"),
    ("sendto active_cover cs_active oracular range_c min_labels max_labels csa_debug domination", _SERVER),
    ("oaa_subsample", "one_against_all learns every class; filter_tree needs only log2 of them"),
    ("wap ldf_override cs_absolute_loss", "use --csoaa or --csoaa_ldf"),
    ("recall_tree log_multi plt boosting memory_tree emt_tree max_depth max_candidates bern_hyper", _OTHER_TREES),
    ("node_only randomized_routing kary_tree swap_resistance no_progress", _OTHER_TREES),
    ("multilabel_oaa", "train one chain per label"),
    ("ksvm bfgs conjugate_gradient cbzo freegrad svrg gamma alpha_inverse", _OTHER_BASE),
    ("mem termination hessian_on kernel reprocess ", _OTHER_BASE),
    ("nn inpass multitask dropout meanfield", "use -q, --cubic or --lrq for what a linear model cannot say"),
    ("stage_poly sched_exponent batch_sz", "name the interactions with -q, --cubic or --interactions"),
    ("bootstrap bs_type autolink audit_regressor", "look into a model with `hutch inspect`"),
    ("lda lda_alpha lda_rho lda_D lda_epsilon minibatch math", _NOTHING),
    ("search search_task search_history_length search_rollout search_rollin search_neighbor_features", _NOTHING),
    ("cb_explore_pdf cb_dro baseline", _BANDITS),
    ("cbify_reg warm_cb warm_cb_cs ccb_explore_adf slates cats cats_pdf cats_tree", _BANDITS),
    ("automl explore_eval multiworld_test large_action_space experimental_igl get_pmf sample_pdf", _BANDITS),
    ("affix spelling dictionary dictionary_path", _DONE_BEFORE),
    ("feature_limit", "leave features out before Hutch reads them"),
    ("flatbuffer csv csv_header csv_separator csv_no_file_header csv_ns_value", _READERS),
    (
        "random_weights normal_weights truncated_normal_weights",
        "use --initial_weight; --lrq begins at random by itself",
    ),
    ("feature_mask", "train with --ignore or --keep"),
    ("span_server span_server_port unique_id total node", "run on one machine"),
    ("save_per_pass", "save between runs with -f and continue with -i"),
    ("examples", "cut the data with `head`"),
    ("initial_pass_length", "use --passes"),
    ("l1_state l2_state", "a model continued with -i keeps both"),
    ("dry_run", "use --to-yaml, which checks the options and reads no data"),
    ("sort_features", "features are used in the order of the line"),
    ("sparse_weights", "use fewer bits: -b"),
    ("classweight", "write importances into the data"),
    ("marginal", _DONE_BEFORE),
    ("replay_b replay_c replay_m", "use --passes, or the `replay` of the `active` layer"),
    ("metrics extra_metrics verbose_metrics", "use `hutch train --events`, which writes JSON lines"),
    ("version", "use `hutch --version`"),
    ("dump_json_weights_experimental", "use `hutch inspect --readable`"),
    ("input_feature_regularizer output_feature_regularizer_binary output_feature_regularizer_text", "use --l1 or --l2"),
    ("print noop baseline_challenger_cb", _NOTHING),
)

_OF_OTHERS = """
    OjaNewton action_cache_slack adax alg all_slots_loss alpha automl_significance_level bandwidth
    batch_sz_no_doubling beta_scale block_size bonferroni_denominator cb_c_alpha cb_c_tau cb_discrete
    cb_dro_alpha cb_dro_tau cb_dro_wmax cb_to_cbadf ccb_no_slot_index challenger_epsilon
    check_enabled choices_lambda compete confidence confidence_after_training constant_epsilon
    corrupt_prob_warm_start corrupt_type_warm_start cost_max cost_min csv_trace debug_reversed_learn decay
    default_lease degree dream_at_update dream_repeats dump_json_weights_include_extra_online_state_experimental
    dump_json_weights_include_feature_names_experimental emt emt_initial emt_leaf emt_router emt_scorer
    epoch_size epsilon_decay epsilon_decay_audit epsilon_decay_significance_level exclude_eval fepsilon
     fixed_significance_level flipschitz_const global_only
    graph_feedback ignore_features_dsjson_experimental initial_denominator initial_epsilon
    initial_numerator interact interaction interaction_type interaction_update lambda_scheme
    las_hint_explicit_simd leaf_example_multiplier learn learn_at_leaf learning_rate_cnt
    loss_01_ratio loss_option loss_report lr_multiplier max_actions max_number_of_labels max_value
    min_champ_examples min_scope min_value model_count multiplier normalize oas online
    opt_func oracle_type ot overwrite_label para_active plt_force_load_legacy_model pmf_to_pdf policy
    pool_greedy pool_size priority_challengers priority_type project radius random_init replay_b_count
    replay_c_count replay_m_count restart reward_as_cost search_active_verify
    search_allowed_transitions search_alpha search_beta search_interpolation search_linear_ordering
    search_metatask search_no_caching search_passes_per_policy search_perturb_oracle search_rollout_num_steps
    search_save_every_k_runs search_subsample_time search_total_nb_policies search_trained_nb_policies search_xv
    shift_model_bounds sim_bandit sketch_size spanner_c stage_size subsample  
    target_rate threshold tol_x top top_K top_k tree_bandwidth two_pass_svd unweighted_marginals
    update_before_learn warm_start warm_start_update
"""

ABSENT: dict[str, str] = {name: "it belongs to a part of VW that Hutch does not have" for name in _OF_OTHERS.split()}
ABSENT |= {name: advice for names, advice in _GROUPS for name in names.split()}
"""What to use instead, by option; empty where nothing is."""
