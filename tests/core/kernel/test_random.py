"""Random numbers of kernels."""

import numpy as np

from hutch.core.kernel.random import merand48, uniform


def test_uniform_numbers_are_uniform_and_depend_on_every_argument():
    numbers = np.array([uniform(7, i, k) for i in range(2000) for k in range(2)])
    assert 0 <= numbers.min() and numbers.max() < 1 and len(set(numbers)) == len(numbers)
    assert abs(numbers.mean() - 0.5) < 0.02 and abs((numbers < 0.1).mean() - 0.1) < 0.02
    assert uniform(8, 0, 0) != uniform(7, 0, 0) == numbers[0]


def test_merand48_is_vws_generator():
    state, expected = np.uint64(3), 3
    for _ in range(5):
        state, number = merand48(np.uint64(state))
        expected = (0xEECE66D5DEECE66D * expected + 2147483647) % 2**64
        bits = np.array([(expected >> 25) & 0x7FFFFF | 127 << 23], np.uint32)
        assert int(state) == expected and number == bits.view(np.float32)[0] - np.float32(1)
