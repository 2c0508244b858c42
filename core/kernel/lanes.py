"""Arithmetic on numbers side by side: LLVM's vectors, written as ordinary expressions within intrinsics.

LLVM turns them into instructions of the processor, from two words per instruction to all of them; the results agree.
"""

from collections.abc import Sequence
from typing import Any

COUNT = 8
"""Words side by side, by default."""


class Lanes:
    """Unsigned integers side by side, with NumPy's operators; a plain number is repeated in each place.

    Floats are multiplied only; the product is rounded as IEEE 754 asks.

    Args:
        builder: llvmlite's, which gets the instructions.
        value: a vector.
    """

    def __init__(self, builder: Any, value: Any) -> None:
        self._builder = builder
        self.value = value

    def _constant(self, other: "Lanes | int") -> Any:
        from llvmlite import ir

        if isinstance(other, Lanes):
            return other.value
        kind = self.value.type
        return ir.Constant(kind, [other & ((1 << kind.element.width) - 1)] * kind.count)

    def _with(self, operation: str, other: "Lanes | int") -> "Lanes":
        return Lanes(self._builder, getattr(self._builder, operation)(self.value, self._constant(other)))

    def __add__(self, other: "Lanes | int") -> "Lanes":
        return self._with("add", other)

    def __sub__(self, other: "Lanes | int") -> "Lanes":
        return self._with("sub", other)

    def __rsub__(self, other: int) -> "Lanes":
        return Lanes(self._builder, self._builder.sub(self._constant(other), self.value))

    def __neg__(self) -> "Lanes":
        return 0 - self

    def __mul__(self, other: "Lanes | int") -> "Lanes":
        from llvmlite import ir

        return self._with("fmul" if isinstance(self.value.type.element, ir.FloatType) else "mul", other)

    def __and__(self, other: "Lanes | int") -> "Lanes":
        return self._with("and_", other)

    def __or__(self, other: "Lanes | int") -> "Lanes":
        return self._with("or_", other)

    def __xor__(self, other: "Lanes | int") -> "Lanes":
        return self._with("xor", other)

    def __lshift__(self, other: "Lanes | int") -> "Lanes":
        return self._with("shl", other)

    def __rshift__(self, other: "Lanes | int") -> "Lanes":
        return self._with("lshr", other)

    def __invert__(self) -> "Lanes":
        return self ^ -1

    def compare(self, how: str, other: "Lanes | int") -> "Lanes":
        """Compare, `how` being `==`, `!=`, `<`, `<=`, `>` or `>=`; lanes of one bit."""
        return Lanes(self._builder, self._builder.icmp_unsigned(how, self.value, self._constant(other)))

    def choose(self, yes: "Lanes | int", no: "Lanes | int") -> "Lanes":
        """Lanes of `yes` where these lanes of one bit are set, else of `no`; one of them may be a plain number."""
        kind = yes if isinstance(yes, Lanes) else no
        assert isinstance(kind, Lanes)
        return Lanes(self._builder, self._builder.select(self.value, kind._constant(yes), kind._constant(no)))

    def called(self, name: str) -> "Lanes":
        """LLVM's intrinsic of this name, such as `ctpop`, of each."""
        from llvmlite import ir

        from hutch.core.kernel.private import cgutils

        kind = self.value.type
        function, full = ir.FunctionType(kind, [kind]), f"llvm.{name}.v{kind.count}i{kind.element.width}"
        found = cgutils.get_or_insert_function(self._builder.module, function, full)
        return Lanes(self._builder, self._builder.call(found, [self.value]))

    def split(self, bits: int) -> "Lanes":
        """The same bits as more lanes of fewer bits, or as fewer of more."""
        from llvmlite import ir

        kind = self.value.type
        count = kind.count * kind.element.width // bits
        return Lanes(self._builder, self._builder.bitcast(self.value, ir.VectorType(ir.IntType(bits), count)))

    def _converted(self, operation: str, element: Any) -> "Lanes":
        from llvmlite import ir

        kind = ir.VectorType(element, self.value.type.count)
        return Lanes(self._builder, getattr(self._builder, operation)(self.value, kind))

    def narrowed(self, bits: int) -> "Lanes":
        """The low bits of each lane."""
        from llvmlite import ir

        return self._converted("trunc", ir.IntType(bits))

    def widened(self, bits: int) -> "Lanes":
        """The same numbers with more bits."""
        from llvmlite import ir

        return self._converted("zext", ir.IntType(bits))

    def masks(self, bits: int) -> "Lanes":
        """All ones where these lanes of one bit are set, else zero."""
        from llvmlite import ir

        return self._converted("sext", ir.IntType(bits))

    def scaled(self, factor: "Lanes") -> "Lanes":
        """The numbers, of 31 bits at most, in float32 times the factor in float32; its bits as lanes of 32."""
        from llvmlite import ir

        floats = self._builder.sitofp(self.value, factor.value.type)
        product = self._builder.fmul(floats, factor.value)
        return Lanes(self._builder, self._builder.bitcast(product, ir.VectorType(ir.IntType(32), COUNT)))

    def bits(self) -> Any:
        """A 64-bit integer with a bit for each of these lanes of one bit, the first lowest."""
        from llvmlite import ir

        word = self._builder.bitcast(self.value, ir.IntType(self.value.type.count))
        return self._builder.zext(word, ir.IntType(64))


def constant(builder: Any, element: Any, value: Any) -> Lanes:
    """The same number everywhere."""
    from llvmlite import ir

    return Lanes(builder, ir.Constant(ir.VectorType(element, COUNT), [value] * COUNT))


def broadcast(builder: Any, scalar: Any, count: int = COUNT) -> Lanes:
    """The same value everywhere."""
    return together(builder, [scalar] * count)


def together(builder: Any, scalars: Sequence[Any]) -> Lanes:
    """Values side by side."""
    from llvmlite import ir

    value = ir.Constant(ir.VectorType(scalars[0].type, len(scalars)), ir.Undefined)
    for k, scalar in enumerate(scalars):
        value = builder.insert_element(value, scalar, ir.IntType(32)(k))
    return Lanes(builder, value)


def flags(builder: Any, word: Any) -> Lanes:
    """Lanes of one bit from the lowest bits of a 64-bit integer; the inverse of `Lanes.bits`."""
    from llvmlite import ir

    byte = builder.trunc(word, ir.IntType(COUNT))
    return Lanes(builder, builder.bitcast(byte, ir.VectorType(ir.IntType(1), COUNT)))


def places(context: Any, builder: Any, arrays: Any, values: Any, i: Any) -> list[Any]:
    """Pointers to element i of some arrays, given their Numba types and values."""

    from hutch.core.kernel.private import make_array

    pairs = zip(arrays, values, strict=True)
    return [builder.gep(make_array(kind)(context, builder, value).data, [i]) for kind, value in pairs]


def _pointer(builder: Any, address: Any, kind: Any) -> Any:
    """A pointer, or an address as an integer, as a pointer to lanes."""
    from llvmlite import ir

    convert = builder.bitcast if isinstance(address.type, ir.PointerType) else builder.inttoptr
    return convert(address, kind.as_pointer())


def load(builder: Any, address: Any, element: Any, count: int = COUNT) -> Lanes:
    """Adjacent numbers of LLVM's type `element`, at any address."""
    from llvmlite import ir

    loaded = builder.load(_pointer(builder, address, ir.VectorType(element, count)))
    loaded.align = 1
    return Lanes(builder, loaded)


def store(builder: Any, lanes: Lanes, address: Any) -> None:
    """Write lanes side by side."""
    stored = builder.store(lanes.value, _pointer(builder, address, lanes.value.type))
    stored.align = 1


def words(builder: Any, addresses: Sequence[Any]) -> Lanes:
    """The 8 bytes at each of some addresses."""
    from llvmlite import ir

    found = []
    for address in addresses:
        word = builder.load(builder.inttoptr(address, ir.IntType(64).as_pointer()))
        word.align = 1
        found.append(word)
    return together(builder, found)
