"""Implicit features of the right side of a dyad: who rated an item says something about it, whatever the ratings were.

Each rater u has a second factor Z_u; with N(i) the raters of item i, its side becomes b_i = B_i + Σ Z_u / |N(i)|. A
step moves B_i and the Z_u as if they were features of one side, each by its posterior variance. Who rated what is
collected while the first pass learns: the factors are used from the second pass on, and by items of the first alone.

An item keeps the mean of its raters' factors. A step moves that mean, and notes how far the raters are to follow; only
when an item has had a quarter as many examples as it has raters does it move them and take their mean again. So an
example costs little more than without implicit features, however many have rated its item.

Source: Y. Koren, "Factorization meets the neighborhood", KDD 2008, there for the user's side and with |N|^-1/2; with
the mean, one prior precision suits items of thousands of raters and of a few (docs/reductions/dyadic.md).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.chain.limits import Limits
from hutch.core.errors import ModelError
from hutch.core.kernel.abi import example_of, float32s_at, float64s_at, int64s_at, kernel, record_of, shared_of
from hutch.core.kernel.cache import AddressKernel, entry
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.reductions.dyadic.rates import KIND, LEFT, PRECISION_BEFORE
from hutch.reductions.dyadic.state import (
    bag_of,
    balance_of,
    dyadic_of,
    metric_of,
    side_of,
)

IMPLICIT = np.dtype(
    [
        ("log", "u8"),  # address of int64[log_room]: left row · 2^32 + right row of what the first pass learned
        ("log_room", "i8"),
        ("log_used", "i8"),
        ("known", "i8"),  # 1 once the raters are known
        ("place", "u8"),  # address of int64[rows of the weight table]: number of the item of a row, -1 for none
        ("starts", "u8"),  # address of int64[items + 1]: where in `members` the raters of an item begin
        ("members", "u8"),  # address of int64: numbers of raters
        ("size", "i8"),  # of `members`
        ("factors", "u8"),  # address of float32[raters, rank]
        ("rates", "u8"),  # address of float32[raters]
        ("means", "u8"),  # address of float32[items, rank]: Σ Z / |N| of each item, as far as it knows
        ("pending", "u8"),  # address of float32[items, rank]: by how much its raters are still to move, per rate
        ("steps", "u8"),  # address of int64[items]: examples since an item last looked at its raters
        ("item_rates", "u8"),  # address of float64[items]: variance of the mean, given all that is known of the item
        ("follow", "u8"),  # address of float64[items]: by how much a rater moves per rate and move of the mean
        ("raters", "i8"),
        ("items", "i8"),
        ("looks", "i8"),  # how often in a pass an item looks at its raters
    ]
)
implicit_of = record_of(IMPLICIT)

_0 = np.float32(0)
_LANES = np.uint64(4)  # coordinates summed up at once, in registers
_LOOKS = 4
_BY_ITEM = ("means", "pending", "steps", "item_rates", "follow")


@helper
def _item_of(state, raters, example):
    """The item's number; -1 if it has no raters that are known, or the example no pair."""
    if raters.known == 0 or state.right_row < 0:
        return int64(-1)
    return int64s_at(raters.place, shared_of(example_of(example).shared).mask + uint64(1))[state.right_row]


@kernel
def gather_raters(record, example, label, importance, offset):
    """Show what the item knows of the mean of its raters' factors."""
    state = dyadic_of(record)
    raters = implicit_of(state.implicit)
    state.bag_length = 0
    item = _item_of(state, raters, example)
    if item < 0:
        return _0
    starts, rank = int64s_at(raters.starts, uint64(raters.items + 1)), uint64(state.rank)
    means, bag = float32s_at(raters.means + uint64(4) * uint64(item) * rank, rank), bag_of(state)
    state.bag_length = starts[item + 1] - starts[item]
    state.bag_rate = float64s_at(raters.item_rates, uint64(raters.items))[item]
    for d in range(rank):
        bag[d] = np.float64(means[d])
    return _0


@helper
def _look(raters, item, rank):
    """Move the raters of an item as far as they are to follow, and take the mean of their factors."""
    starts, members = int64s_at(raters.starts, uint64(raters.items + 1)), int64s_at(raters.members, uint64(raters.size))
    factors = float32s_at(raters.factors, uint64(raters.raters) * rank)
    rates = float32s_at(raters.rates, uint64(raters.raters))
    first, last, own = uint64(starts[item]), uint64(starts[item + 1]), uint64(4) * uint64(item) * rank
    means, pending = float32s_at(raters.means + own, rank), float32s_at(raters.pending + own, rank)
    share = 1.0 / np.float64(last - first)
    for d in range(uint64(0), rank - rank % _LANES, _LANES):
        p, q, r, s = pending[d], pending[d + uint64(1)], pending[d + uint64(2)], pending[d + uint64(3)]
        P, Q, R, S = 0.0, 0.0, 0.0, 0.0
        for m in range(first, last):
            rate, at = rates[members[m]], uint64(members[m]) * rank + d
            w, x = factors[at] + rate * p, factors[at + uint64(1)] + rate * q
            y, z = factors[at + uint64(2)] + rate * r, factors[at + uint64(3)] + rate * s
            factors[at], factors[at + uint64(1)], factors[at + uint64(2)], factors[at + uint64(3)] = w, x, y, z
            P, Q, R, S = P + np.float64(w), Q + np.float64(x), R + np.float64(y), S + np.float64(z)
        means[d], means[d + uint64(1)] = np.float32(share * P), np.float32(share * Q)
        means[d + uint64(2)], means[d + uint64(3)] = np.float32(share * R), np.float32(share * S)
    for d in range(rank - rank % _LANES, rank):
        p, P = pending[d], 0.0
        for m in range(first, last):
            at = uint64(members[m]) * rank + d
            factors[at] += rates[members[m]] * p
            P += np.float64(factors[at])
        means[d] = np.float32(share * P)
    for d in range(rank):
        pending[d] = _0
    int64s_at(raters.steps, uint64(raters.items))[item] = 0


@entry("int64(uint64, int64)")
def look_at_all(record, rank):
    """Let all items look at their raters, whose factors are moved as far as they are to."""
    raters = implicit_of(record)
    for item in range(raters.items):
        _look(raters, item, uint64(rank))
    return raters.items


@kernel
def move_raters(record, example, label, importance, offset):
    """The raters' part in a step; in the first pass, remember who rated."""
    state = dyadic_of(record)
    raters = implicit_of(state.implicit)
    if raters.known == 0:
        if raters.log_used < raters.log_room and state.left_row >= 0 and state.right_row >= 0:
            log = int64s_at(raters.log, uint64(raters.log_room))
            log[raters.log_used] = (state.left_row << 32) | state.right_row
            raters.log_used += 1
        return _0
    metric = metric_of(state)
    if state.bag_length == 0 or not metric[0] * metric[1] > 0.0:
        return _0
    item, rank = _item_of(state, raters, example), uint64(state.rank)
    own = uint64(4) * uint64(item) * rank
    means, pending = float32s_at(raters.means + own, rank), float32s_at(raters.pending + own, rank)
    a, b, q = side_of(state, 0), side_of(state, 1), balance_of(state)[0]
    follow = float64s_at(raters.follow, uint64(raters.items))[item]
    inverse_q, share = 1.0 / q, q * state.bag_rate / metric[1]
    shrink, grow = share * state.shrink, share * state.grow
    for d in range(rank):
        change = (q * a[d] + inverse_q * b[d]) * shrink - (q * a[d] - inverse_q * b[d]) * grow
        pending[d] += np.float32(follow * change)
        means[d] += np.float32(change)
    steps = int64s_at(raters.steps, uint64(raters.items))
    steps[item] += 1
    if steps[item] * raters.looks >= state.bag_length:
        _look(raters, item, rank)
    return _0


KERNELS: dict[str, AddressKernel] = {"gather_bag": gather_raters, "move_bag": move_raters}
"""By their fields in the learner's record."""


class Raters:
    """Who rated what, and the second factors of raters.

    Args:
        rank: numbers in a factor.
        precision: prior precision of the factors.
        rows: of the weight table.

    Attributes:
        record: the IMPLICIT record.
    """

    def __init__(self, rank: int, precision: float, rows: int) -> None:
        self._rank, self._precision, self._rows = rank, precision, rows
        self.record = Record(IMPLICIT)
        self._log = np.zeros(0, np.int64)
        self._arrays = self._empty(0, 0, 0)
        self._link()

    def _empty(self, raters: int, items: int, size: int) -> dict[str, NDArray[Any]]:
        return {
            "raters": np.zeros(raters, np.int64),
            "items": np.zeros(items, np.int64),
            "starts": np.zeros(items + 1, np.int64),
            "members": np.zeros(size, np.int64),
            "factors": np.zeros((raters, self._rank), np.float32),
            "rates": np.zeros(raters, np.float32),
            "means": np.zeros((items, self._rank), np.float32),
            "pending": np.zeros((items, self._rank), np.float32),
            "steps": np.zeros(items, np.int64),
            "item_rates": np.zeros(items),
            "follow": np.zeros(items),
        }

    def _link(self) -> None:
        record, arrays = self.record, self._arrays
        self._place = np.full(self._rows if len(arrays["items"]) else 0, -1, np.int64)
        self._place[arrays["items"]] = np.arange(len(arrays["items"]))
        for name in ("starts", "members", "factors", "rates", "means", "pending", "steps", "item_rates", "follow"):
            record[name] = arrays[name]
        record["place"], record["size"] = self._place, len(arrays["members"])
        record["raters"], record["items"] = len(arrays["raters"]), len(arrays["items"])
        record["known"], record["looks"] = len(arrays["items"]) > 0, _LOOKS
        record["log"], record["log_room"] = self._log, len(self._log)

    def _set_rates(self, seen: NDArray[np.float64], spread: float, known: NDArray[np.float64]) -> None:
        """Renew the variances of the raters' factors and of their means.

        Factors are taken for independent; but what is known of an item as a whole bounds the variance of its mean.
        """
        arrays, sizes = self._arrays, np.diff(self._arrays["starts"])
        arrays["rates"][:] = 1.0 / (self._precision + seen * spread)
        own = np.add.reduceat(arrays["rates"][arrays["members"]].astype(np.float64), arrays["starts"][:-1]) / sizes**2
        arrays["item_rates"][:] = 1.0 / (1.0 / own + known)
        arrays["follow"][:] = 1.0 / (sizes * own)

    def _look_at_all(self) -> None:
        look_at_all(self.record.address, self._rank)

    def make_room(self, examples: int) -> None:
        """Make room to remember as many more examples."""
        wanted = int(self.record["log_used"][0]) + examples
        if not self.record["known"][0] and wanted > len(self._log):
            self._log = np.resize(self._log, 2 * wanted) if len(self._log) else np.zeros(wanted, np.int64)
            self.record["log"], self.record["log_room"] = self._log, len(self._log)

    def end_pass(self, weights: NDArray[np.float32], head: int, precision: float, noise: float, pace: float) -> None:
        """Take up the raters of the first pass; after any pass, shrink their factors and renew their rates."""
        if not self.record["known"][0] and self.record["log_used"][0] > 0:
            self._take_up(np.unique(self._log[: int(self.record["log_used"][0])]))
        if not self.record["known"][0]:
            return
        self._look_at_all()
        left = weights[weights[:, KIND] == LEFT].astype(np.float64)
        variance = float(np.mean(1.0 / (precision + left[:, PRECISION_BEFORE] / noise)))
        arrays, sizes = self._arrays, np.diff(self._arrays["starts"])
        seen = np.bincount(arrays["members"], np.repeat(1.0 / sizes, sizes)) / noise
        length = float(np.mean(left[:, head : head + self._rank] ** 2))
        arrays["factors"] *= np.exp(-pace * arrays["rates"] * (self._precision + seen * variance))[:, None]
        self._set_rates(seen, length + variance, weights[arrays["items"], PRECISION_BEFORE].astype(np.float64) / noise)
        self._look_at_all()

    def _take_up(self, pairs: NDArray[np.int64]) -> None:
        users, rows = pairs >> 32, pairs & 0xFFFFFFFF
        order = np.argsort(rows, kind="stable")
        items, counts = np.unique(rows, return_counts=True)
        raters, members = np.unique(users[order], return_inverse=True)
        self._log = np.zeros(0, np.int64)
        self.record["log_used"] = 0
        self._arrays = self._empty(len(raters), len(items), len(members))
        starts = np.concatenate([[0], np.cumsum(counts)])
        for name, found in (("raters", raters), ("items", items), ("members", members), ("starts", starts)):
            self._arrays[name][:] = found
        self._link()

    def saved(self) -> dict[str, NDArray[Any]]:
        """Everything, for the model file."""
        return {"log": self._log[: int(self.record["log_used"][0])], **self._arrays}

    def limits(self) -> dict[str, Limits]:
        """Numbers of rows, of raters and of places in `members`; factors and their rates."""
        rows = Limits(0, self._rows - 1, grows=True)
        numbers = {"log": Limits(0, (self._rows << 32) - 1, grows=True), "raters": rows, "items": rows}
        numbers |= dict.fromkeys(("starts", "members", "steps"), Limits(least=0, grows=True))
        numbers |= dict.fromkeys(("factors", "means", "pending"), Limits(finite=True, grows=True))
        return numbers | dict.fromkeys(("rates", "item_rates", "follow"), Limits(0, finite=True, grows=True))

    def check_saved(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Check that items, raters and members refer to each other, within their limits.

        Raises:
            ModelError: they do not.
        """
        raters, items, members = (len(arrays[name]) for name in ("raters", "items", "members"))
        starts, log = arrays["starts"], arrays["log"]
        fits = len(arrays["factors"]) == len(arrays["rates"]) == raters and len(starts) == items + 1
        fits = fits and all(len(arrays[name]) == items for name in _BY_ITEM)
        fits = fits and bool((np.diff(arrays["items"]) > 0).all() and (np.diff(arrays["raters"]) > 0).all())
        if not fits or starts[0] != 0 or starts[-1] != members or not (np.diff(starts) > 0).all():
            raise ModelError(
                f"dyadic.implicit: got {items} items and {raters} raters that do not fit {members} members"
            )
        if members and arrays["members"].max() >= raters:
            raise ModelError(f"dyadic.implicit.members: got {arrays['members'].max()}, wanted a rater below {raters}")
        if len(log) and (log & 0xFFFFFFFF).max() >= self._rows:
            raise ModelError("dyadic.implicit.log: got an item beyond the weight table")

    def loading(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Make room for a model's arrays."""
        self._log = np.zeros(len(arrays["log"]), np.int64)
        self.record["log_used"] = len(self._log)
        sizes = (len(arrays[name]) for name in ("raters", "items", "members"))
        self._arrays = self._empty(*sizes)

    def loaded(self) -> None:
        """Show the kernels what was copied in."""
        self._link()
