"""Labels of decisions for a number: `ca action:cost:density` of the number that was chosen."""

from numpy import float32, uint32

from hutch.core.kernel.decorators import helper
from hutch.core.text import problems
from hutch.core.text.actions import is_word, next_part, next_word, number_in
from hutch.core.text.state import add_action, report, set_label

_CA = b"ca"


@helper
def _read_choice(state, start, end):
    """`action:cost:density`; an action alone is one without a label."""
    first, action_end = next_part(start, end)
    second, cost_end = next_part(action_end, end)
    third, stop = next_part(cost_end, end)
    action, cost, density = number_in(first, action_end), number_in(second, cost_end), number_in(third, stop)
    if action_end == end and action == action:
        return
    if action != action or cost != cost or stop != end or not density > float32(0):
        report(state, problems.BAD_LOGGED_NUMBER, start, end)
        return
    set_label(state, action, float32(1), float32(0))
    add_action(state, uint32(0), cost, float32(0))
    add_action(state, uint32(0), density, float32(0))


@helper
def read_logged_number(state, start, end):
    """The word `ca`, and the label, whose cost and density become the two costs of the row."""
    first, stop = next_word(start, end)
    label, label_end = next_word(stop, end)
    beyond, last = next_word(label_end, end)
    if not is_word(first, stop, _CA) or beyond < last:
        report(state, problems.BAD_LOGGED_NUMBER, first, end)
    elif label < label_end:
        _read_choice(state, label, label_end)
