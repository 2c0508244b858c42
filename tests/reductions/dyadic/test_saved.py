"""Model files of chains with implicit features."""

import numpy as np

from hutch.chain import Chain


def test_a_model_of_many_items_of_which_few_have_raters_to_move_is_saved_and_loaded(tmp_path) -> None:
    chain = Chain.from_config({"chain": [{"dyadic": {"left": "u", "right": "i", "rank": 3, "implicit": "right"}}]})
    rated = [f"{1 + n % 5} |u {n % 7} |i {n % 1000}" for n in range(2000)]
    for passes in (1, 2):
        chain.learn(rated, passes=passes)
        chain.save(tmp_path / "model")
        loaded = Chain.load(tmp_path / "model")
        for name, array in chain.arrays().items():
            np.testing.assert_array_equal(loaded.arrays()[name], array, err_msg=name)
        np.testing.assert_array_equal(loaded.predict(rated), chain.predict(rated))
        chain.end_pass()
    chain.save(tmp_path / "model")  # nothing is left to move
    assert not any(array.any() for name, array in Chain.load(tmp_path / "model").arrays().items() if "pending" in name)
