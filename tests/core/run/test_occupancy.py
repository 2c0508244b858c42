"""How full the weight table is: the estimate against a count, and what is advised."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.run.occupancy import advice, share_used

CROWDED = pytest.mark.filterwarnings("ignore:.* rows are used, so features share rows")


@CROWDED
@pytest.mark.parametrize("layers", [["linear"], [{"one_against_all": {"classes": 3}}, "linear"]])
@pytest.mark.parametrize("bits", [12, 19])
def test_the_estimate_is_near_the_count(layers: list[object], bits: int) -> None:
    chain = Chain.from_config({"weights": {"bits": bits}, "input": {"constant": False}, "chain": layers})
    rng = np.random.default_rng(0)
    chain.learn([f"{1 + i % 3} |f " + " ".join(f"w{j}" for j in rng.integers(0, 5000, 50)) for i in range(300)])
    width, multiplier = (1, 1) if len(layers) == 1 else (3, 4)
    counted = chain.weights.any(axis=1).sum() / ((1 << bits) / multiplier * width)
    assert share_used(chain) == pytest.approx(counted, abs=0.01)


def test_a_crowded_table_is_told_and_an_empty_one_is_not() -> None:
    chain = Chain.from_config({"weights": {"bits": 8}, "chain": ["linear"]})
    assert share_used(chain) == 0 and advice(chain) is None
    chain.learn(["1 |f " + " ".join(f"w{j}" for j in range(300))])
    told = advice(chain)
    assert told is not None and "of the weight table's 2^8 rows are used" in told and "-b 11" in told
    roomy = Chain.from_config({"weights": {"bits": 11}, "chain": ["linear"]})
    roomy.learn(["1 |f " + " ".join(f"w{j}" for j in range(300))])
    found = share_used(roomy)
    assert found is not None and found < 0.25 and advice(roomy) is None


def test_tables_that_do_not_begin_with_zeros_have_no_estimate() -> None:
    chain = Chain.from_config({"weights": {"bits": 8}, "chain": [{"linear": {"initial_weight": 0.5}}]})
    assert share_used(chain) is None and advice(chain) is None
