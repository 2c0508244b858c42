"""The reductions that come with Hutch: a line each, by its name in YAML and its place."""

from collections.abc import Callable

from hutch.core.hooks import hookimpl

REDUCTIONS = {
    "action_density": "continuous_actions.action_density:ActionDensity",
    "action_per_class": "bandits.action_per_class:ActionPerClass",
    "action_probabilities": "bandits.action_probabilities:ActionProbabilities",
    "action_tree": "continuous_actions.action_tree:ActionTree",
    "active": "active.layer:Active",
    "active_cover": "active_cover:ActiveCover",
    "bandit_per_class": "class_bandits.bandit_per_class:BanditPerClass",
    "baseline": "baseline:Baseline",
    "bayesian_linear": "bayesian_linear.layer:BayesianLinear",
    "binary": "binary:Binary",
    "boosting": "boosting:Boosting",
    "bootstrap": "bootstrap:Bootstrap",
    "choose_slate": "bandits.choose_slots:ChooseSlate",
    "choose_slots": "bandits.choose_slots:ChooseSlots",
    "coin_betting": "ftrl.coin_betting:CoinBetting",
    "confidence": "confidence:Confidence",
    "contextual_bandit": "bandits.contextual_bandit:ContextualBandit",
    "cost_sensitive_active": "cost_sensitive_active:CostSensitiveActive",
    "cost_sensitive_filter_tree": "filter_tree:CostSensitiveFilterTree",
    "cost_sensitive_one_against_all": "cost_sensitive_one_against_all:CostSensitiveOneAgainstAll",
    "cost_sensitive_scoring_filter_tree": "scoring_filter_tree:CostSensitiveScoringFilterTree",
    "cost_sensitive_with_features": "bandits.cost_sensitive_with_features:CostSensitiveWithFeatures",
    "crowd_em": "crowd_em.layer:CrowdEM",
    "distributionally_robust": "bandits.distributionally_robust:DistributionallyRobust",
    "dyadic": "dyadic.layer:Dyadic",
    "eigen_memory_tree": "memory_trees.eigen_memory_tree:EigenMemoryTree",
    "error_correcting_tournament": "error_correcting_tournament:ErrorCorrectingTournament",
    "experience_replay": "experience_replay:ExperienceReplay",
    "explore_bag": "bandits.explore_bag:ExploreBag",
    "explore_classes": "class_bandits.explore_classes:ExploreClasses",
    "explore_cover": "bandits.explore_cover:ExploreCover",
    "explore_decaying": "bandits.explore_decaying:ExploreDecaying",
    "explore_distillation": "bandits.explore_distillation:ExploreDistillation",
    "explore_epsilon": "bandits.explore_epsilon:ExploreEpsilon",
    "explore_first": "bandits.explore_first:ExploreFirst",
    "explore_posterior": "bandits.explore_posterior:ExplorePosterior",
    "explore_regcb": "bandits.explore_regcb:ExploreRegCb",
    "explore_softmax": "bandits.explore_softmax:ExploreSoftmax",
    "explore_squarecb": "bandits.explore_squarecb:ExploreSquareCb",
    "explore_synthetic_cover": "bandits.explore_synthetic_cover:ExploreSyntheticCover",
    "feature_limit": "features.feature_limit:FeatureLimit",
    "few_actions": "few_actions.layer:FewActions",
    "fields": "fields.layer:Fields",
    "filter_tree": "filter_tree:FilterTree",
    "freegrad": "ftrl.freegrad:FreeGrad",
    "ftrl_proximal": "ftrl.ftrl_proximal:FtrlProximal",
    "hedge": "hedge:Hedge",
    "interaction_grounded": "interaction_grounded:InteractionGrounded",
    "interact": "features.interact:Interact",
    "kernel_svm": "kernel_svm.layer:KernelSvm",
    "latent_dirichlet_allocation": "latent_dirichlet_allocation.layer:LatentDirichletAllocation",
    "lbfgs": "lbfgs.layer:Lbfgs",
    "linear": "linear.layer:Linear",
    "link": "link:Link",
    "logarithmic_tree": "logarithmic_tree:LogarithmicTree",
    "low_rank_quadratic": "low_rank_quadratic:LowRankQuadratic",
    "marginal": "marginal:Marginal",
    "matrix_factorization": "matrix_factorization:MatrixFactorization",
    "memory_tree": "memory_trees.memory_tree:MemoryTree",
    "multilabel_one_against_all": "multilabel_one_against_all:MultilabelOneAgainstAll",
    "multinomial": "multinomial:Multinomial",
    "nat_oem": "nat_oem:NatOEMLayer",
    "ngrams": "features.ngrams:Ngrams",
    "offset_tree": "class_bandits.offset_tree:OffsetTree",
    "one_against_all": "one_against_all:OneAgainstAll",
    "one_hidden_layer": "one_hidden_layer:OneHiddenLayer",
    "pairwise": "pairwise:Pairwise",
    "pistol": "ftrl.pistol:Pistol",
    "policy_values": "class_bandits.policy_values:PolicyValues",
    "polynomial_link": "features.polynomial_link:PolynomialLink",
    "ppca": "ppca.layer:PPCALayer",
    "probabilistic_label_tree": "probabilistic_label_tree:ProbabilisticLabelTree",
    "random_features": "features.random_features:RandomFeatures",
    "recall_tree": "recall_tree:RecallTree",
    "rejection_sampling": "bandits.rejection_sampling:RejectionSampling",
    "sample_action": "bandits.sample_action:SampleAction",
    "sample_density": "continuous_actions.sample_density:SampleDensity",
    "sampled_negatives": "sampled_negatives:SampledNegatives",
    "scoring_filter_tree": "scoring_filter_tree:ScoringFilterTree",
    "simulate_bandit": "bandits.simulate_bandit:SimulateBandit",
    "simulate_bandit_per_class": "class_bandits.simulate:SimulateBanditPerClass",
    "simulate_bandit_with_features": "bandits.simulate_bandit_with_features:SimulateBanditWithFeatures",
    "simulate_cost_sensitive_bandit": "bandits.simulate_bandit:SimulateCostSensitiveBandit",
    "simulate_cost_sensitive_bandit_per_class": "class_bandits.simulate:SimulateCostSensitiveBanditPerClass",
    "search_bits": "search.bits:SearchBits",
    "search_dependencies": "search.dependencies:SearchDependencies",
    "search_graph": "search.graph:SearchGraph",
    "search_maximum": "search.maximum:SearchMaximum",
    "search_relations": "search.relations:SearchRelations",
    "search_sequence": "search.sequence:SearchSequence",
    "search_spans": "search.spans:SearchSpans",
    "sketched_newton": "sketched_newton.layer:SketchedNewton",
    "simulate_number_bandit": "continuous_actions.simulate_numbers:SimulateNumberBandit",
    "simulate_part_bandit": "continuous_actions.simulate_numbers:SimulatePartBandit",
    "stagewise_polynomial": "stagewise_polynomial:StagewisePolynomial",
    "standardise": "features.standardise:Standardise",
    "svrg": "ftrl.svrg:Svrg",
    "warm_start_bandit": "bandits.warm_start:WarmStartBandit",
    "warm_start_cost_sensitive_bandit": "bandits.warm_start:WarmStartCostSensitiveBandit",
    "weighted_metrics": "bandits.weighted_metrics:WeightedMetrics",
    "zeroth_order": "continuous_actions.zeroth_order:ZerothOrder",
}


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register each reduction by its place."""
    for name, place in REDUCTIONS.items():
        register(f"hutch.reductions.{place}", name=name)


@hookimpl
def hutch_register_warmups(register: Callable[..., None]) -> None:
    """Register a run of each chain in configs/, the longest first."""
    for command, chain, file, lines in (
        (
            "train raters.vw -C ethnicity.yaml --passes 2 --quiet -p out -f model",
            "[{filter_tree: {classes: 5}}, {dyadic: {left: rater, right: task, rank: 2, loss: hinge, "
            "learning_rate: 0.3, l2: 0.3, shift: 0.3}}]",
            "raters.vw",
            "3 |rater r |task t\n1 |rater s |task t\n",
        ),
        (
            "train ratings.vw -C ratings.yaml --passes 2 --quiet -p out -f model",
            "[{dyadic: {left: user, right: item, rank: 8, loss: squared}}]",
            "ratings.vw",
            "3.5 |user r |item t\n1 |user s |item t\n",
        ),
        (
            "train clicks.vw -C clicks.yaml --passes 2 --quiet -p out -f model",
            "[{fields: {rank: 4, loss: logistic}}]",
            "clicks.vw",
            "1 |user r |item i |city a\n-1 |user s |item i |city a\n",
        ),
        (
            "train digits.vw -C ppca.yaml --quiet -p out -f model && predict digits.vw -i model -p out",
            "[{ppca: {namespace: pixel, dimension: 64, rank: 15}}, {one_against_all: {classes: 10}}, "
            "{linear: {loss: squared, interactions: [[latent, latent]]}}]",
            "digits.vw",
            "1 |pixel 0:0.5 3:1\n2 |pixel 1:1 2:0.5\n3 |pixel 5:1\n",
        ),
        (
            "train blocks.vw -C crowd_em.yaml --passes 5 --quiet -r out -f model && predict blocks.vw -i model -p out",
            "[{crowd_em: {classes: 3, worker: worker, passes: 2}}, {one_against_all: {classes: 3}}, "
            "{linear: {loss: logistic, initial_t: 0.1}}]",
            "blocks.vw",
            "1 |worker v |words a\n2 |worker w |words a\n\n2 |worker v |words b\n2 |worker w |words b\n",
        ),
        (
            "train decisions.vw -C explore.yaml --quiet -p out",
            "[{explore_posterior: {method: optimism, width: 1}}, contextual_bandit, cost_sensitive_with_features, "
            "{hedge: {copies: [{bayesian_linear: {forgetting: 0}}, {bayesian_linear: {forgetting: 0.003}}]}}, "
            "{bayesian_linear: {covariance: blocks, dimension: 64, loss: squared}}]",
            "decisions.vw",
            "0:1:0.5 |a x\n|a y\n\n|a x\n1:0:0.5 |a y\n\n",
        ),
        (
            "train events.vw -C personalizer.yaml --quiet -p out",
            "[{explore_posterior: {method: optimism, width: 1, epsilon: 0.02}}, contextual_bandit, "
            "cost_sensitive_with_features, "
            "{hedge: {copies: [{bayesian_linear: {forgetting: 0}}, {bayesian_linear: {forgetting: 0.003}}]}}, "
            "{bayesian_linear: {covariance: blocks, dimension: 64, loss: squared, interactions: [[':', ':']]}}]",
            "events.vw",
            "0:1:0.5 |a x\n|a y\n\n|a x\n1:0:0.5 |a y\n\n",
        ),
        (
            "train lines.vw -C sentiment.yaml --quiet -p out",
            "[{linear: {loss: logistic, learning_rate: 0.5, interactions: [[text, author]]}}]",
            "lines.vw",
            "1 'a |text x:0.5 y |author z\n-1 |text x |author z\n",
        ),
    ):
        config = command.partition(" -C ")[2].split()[0]
        register(command, files={file: lines, config: f"chain: {chain}\n"})
