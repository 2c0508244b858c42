"""The best of each group of examples."""

import random

import numpy as np
import pytest

from hutch.core.batch import Batch
from hutch.core.chain.outputs import outputs_in
from hutch.core.run.best import best_lines, best_of
from hutch.core.text.parser import TextParser
from hutch.vw.outputs import best_last


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_the_highest_come_out_in_order(count):
    draw = random.Random(count)
    for _ in range(200):
        values = [draw.choice((draw.random(), 0.5, 1.0)) for _ in range(draw.randint(1, 9))]
        places = best_of(values, count)
        found = [values[place] for place in places]
        assert found == sorted(values)[-count:] and len(set(places)) == len(places)


def test_of_equal_ones_a_later_one_stays():
    assert best_of([1.0, 1.0, 2.0], 2) == [1, 2]
    assert best_of([1.0, 1.0, 1.0], 2) == [0, 1]


def parsed(text) -> Batch:
    return TextParser().parse(text)


def test_lines():
    batch = parsed(b"a|x\nb|x\n|x\n\nc|x\n")
    outputs = outputs_in(np.zeros(16, np.float32), 4, 0)
    outputs.predictions[:] = 0.5, 2, 1.25, -1
    assert bytes(best_lines(2)(batch, outputs)) == b"2.000000 b\n1.250000\n\n-1.000000 c\n\n"
    assert bytes(best_last(2, batch, outputs)) == b"1.250000  \n2.000000  b \n\n-1.000000  c \n\n"
    assert bytes(best_lines(2)(parsed(b""), outputs)) == b""
