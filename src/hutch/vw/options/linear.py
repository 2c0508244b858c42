"""Vowpal Wabbit's options for the usual learner: its weights, rates and loss."""

from hutch.vw.options.option import Option, new_flag, new_float, new_int, new_text

WEIGHTS: tuple[Option, ...] = (
    new_int(
        "bit_precision",
        "The weight table has 2^N rows.",
        default=18,
        short="b",
        sets="weights.bits",
        note="at most 31",
    ),
    new_text(
        "hash",
        "strings|all",
        "Hash only names that are not numbers, or all names.",
        choices=("strings", "all"),
        default="strings",
        sets="input.hash",
    ),
    new_int("hash_seed", "Seed of the feature hash.", sets="input.hash_seed"),
    new_int("random_seed", "Seed of every random decision.", sets="seed"),
)

RATES: tuple[Option, ...] = (
    new_float("learning_rate", "Learning rate.", short="l", sets="base.learning_rate"),
    new_float("power_t", "Exponent of the learning rate's decay.", sets="base.power_t"),
    new_float("initial_t", "Start the decay as if importance X had been seen.", sets="base.initial_t"),
    new_float("decay_learning_rate", "Multiply the learning rate by X after each pass.", sets="base.decay"),
    new_float("l1", "Strength of L1 regularization.", sets="base.l1"),
    new_float("l2", "Strength of L2 regularization.", sets="base.l2"),
    new_float("l1_state", "Sum of L1 regularization to continue with.", default=0),
    new_float("l2_state", "Product of L2 regularization to continue with.", default=1),
    new_float("sparse_l2", "L2 regularization of the example's features only.", sets="base.sparse_l2"),
    new_text(
        "feature_mask",
        "MODEL",
        "Move only the weights that are not 0 in this model, with which the run begins if there is no -i.",
        note="beside -i, its model must have the same weights of 0: VW takes them from there",
    ),
    new_flag("noop", "Learn nothing.", sets="base.learning_rate", value=0.0),
    new_flag(
        "print",
        "Print each example, and learn nothing.",
        note="once each, labelled ones twice in VW; a model or an initial prediction predicts, in VW 0",
    ),
    new_flag(
        "no_bias_regularization",
        "With --bfgs or --cbzo, do not regularize the constant.",
        value=False,
        note="has no effect on other learners, as in VW",
    ),
    new_float("initial_weight", "Initial value of all weights.", sets="base.initial_weight"),
    new_flag("random_weights", "Uniform initial weights, -0.5 to 0.5.", sets="base.random_weights", value="uniform"),
    new_flag("normal_weights", "Normal initial weights of variance 1.", sets="base.random_weights", value="normal"),
    new_flag(
        "truncated_normal_weights",
        "Like --normal_weights, within two standard deviations.",
        sets="base.random_weights",
        value="truncated_normal",
    ),
    new_flag("sgd", "Plain stochastic gradient descent."),
    new_flag("adaptive", "Adaptive learning rates, one per feature."),
    new_flag("adax", "Adaptive learning rates that follow values alone.", sets="base.adapt_to", value="values"),
    new_flag("normalized", "Learning rates adjusted to the scale of features."),
    new_flag("invariant", "Importance-invariant updates."),
    new_float("min_prediction", "Smallest prediction; lower ones are clipped.", sets="base.min_prediction"),
    new_float("max_prediction", "Largest prediction; higher ones are clipped.", sets="base.max_prediction"),
    new_float(
        "constant",
        "Initial value of the constant's weight.",
        short="C",
        sets="base.initial_constant",
        note="no effect with several sub-models, as in VW",
    ),
)

LOSS: tuple[Option, ...] = (
    new_text(
        "loss_function",
        "NAME",
        "Loss function, such as squared, logistic, hinge or quantile.",
        sets="base.loss",
        reads="loss",
        note="is kept in the model",
    ),
    new_float("quantile_tau", "The quantile of quantile loss.", default=0.5, sets="base.loss", reads="loss"),
    new_float("expectile_q", "The expectile of expectile loss.", sets="base.loss", reads="loss"),
    new_float("logistic_min", "Smallest label of logistic loss.", sets="base.loss", reads="loss"),
    new_float("logistic_max", "Largest label of logistic loss.", sets="base.loss", reads="loss"),
)
