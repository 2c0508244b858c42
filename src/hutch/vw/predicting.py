"""Models of `--predict_only_model`: what they know beyond weights counts no more when learning goes on."""

from hutch.chain import Chain

PREDICTS_ONLY = "predict_only_model"
"""The remark in a model of which VW's would keep the weights alone."""
_LEARNERS = ("linear", "coin_betting", "ftrl_proximal", "pistol")
_COUNTERS = ("weighted_unlabeled", "weighted_holdout", "weighted_labeled", "weighted_labels", "sum_loss",
             "sum_loss_holdout", "examples", "features", "queries", "pass")  # fmt: skip


def forget_rates(chain: Chain) -> None:
    """Begin with the weights and the range of labels alone, as VW does with such a model.

    Args:
        chain: a model that has the remark; it is changed.
    """
    base = chain.layers[-1]
    if base.name not in _LEARNERS:
        return
    if base.name == "linear":
        base.materialise(chain.weights)  # type: ignore[attr-defined]
    chain.weights[:, 1:] = 0
    config = chain.config.to_dict()
    few = min(chain.config.weights.bits, 16)
    fresh = Chain.from_config({**config, "weights": {**config.get("weights", {}), "bits": few}})
    for name, array in fresh.layers[-1].saved().items():
        base.saved()[name][...] = array
    for name in (*_COUNTERS, "time", "decay"):
        chain.shared[name] = fresh.shared[name]
