"""Vowpal Wabbit's options for predictions made of those of other models."""

from hutch.vw.options.option import Option, new_choice, new_flag, new_float, new_int, new_text

PREDICTIONS: tuple[Option, ...] = (
    new_flag("binary", "Predict -1 or 1.", sets="binary"),
    new_int("boosting", "Vote of N weak learners, trained by online boosting.", sets="boosting.learners"),
    new_float(
        "gamma",
        "by how much weak learners are right more often than half the time.",
        default=0.1,
        sets="boosting.edge",
        needs=("boosting",),
    ),
    new_choice(
        "alg",
        "boost by majority, AdaBoost.OL.W or AdaBoost.OL.",
        {"BBM": "majority", "logistic": "logistic", "adaptive": "adaptive"},
        sets="boosting.algorithm",
        needs=("boosting",),
    ),
    new_int(
        "bootstrap",
        "Combine the predictions of N models trained on bootstrap samples.",
        sets="bootstrap.models",
        note="-p writes the least and the greatest of their predictions, too, as VW does; there is no -r",
    ),
    new_text(
        "bs_type",
        "mean|vote",
        "predict the mean of the models, or the whole number most are nearest to.",
        choices=("mean", "vote"),
        default="mean",
        sets="bootstrap.type",
        needs=("bootstrap",),
    ),
    new_text(
        "link",
        "NAME",
        "Link function: identity, logistic, glf1 or poisson.",
        choices=("identity", "logistic", "glf1", "poisson"),
        sets="link.function",
    ),
)
