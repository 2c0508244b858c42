"""Methods that either end or leave their object as it was."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

_Method = TypeVar("_Method", bound=Callable[..., Any])


def all_or_nothing(method: _Method) -> _Method:
    """Let a method that fails, or is interrupted by Ctrl-C, leave the attributes that its object had before.

    Args:
        method: it assigns new attributes, and changes none in place before it is done.

    >>> class Model:
    ...     weight = 1
    ...     @all_or_nothing
    ...     def fit(self):
    ...         self.weight = 2
    ...         raise KeyboardInterrupt
    >>> model = Model()
    >>> try:
    ...     model.fit()
    ... except KeyboardInterrupt:
    ...     model.weight
    1
    """

    @wraps(method)
    def run(self: Any, *given: Any, **named: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *given, **named)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(_Method, run)
