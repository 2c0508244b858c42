"""ELF objects: their external symbols, and how to put code for x86-64 into memory without a linker.

Numba compiles for the large code model: code names every other place by its whole address. To link such an object is
therefore to lay its sections side by side and to write addresses into them. System V ABI, AMD64 supplement, 4.4.
"""

import ctypes
import mmap
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_ELF64 = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_X86_64 = 62
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOLS, _RELOCATIONS, _EMPTY, _UNWINDING = 2, 4, 8, 0x70000001  # types of sections
_WRITABLE, _LOADED = 1, 2  # flags of sections
_ADDRESS_64 = 1  # the relocation that writes symbol + addend, 8 bytes
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_RELOCATION = np.dtype([("offset", "<u8"), ("type", "<u4"), ("symbol", "<u4"), ("addend", "<u8")])
_PAGE = mmap.PAGESIZE
_mapped: list[mmap.mmap] = []  # they own the code


class _Section(NamedTuple):
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


class ElfObject:
    """A relocatable ELF object.

    Args:
        code: the file.

    Attributes:
        symbols: structured array: name (where it begins), section (0: not defined here), value.
    """

    def __init__(self, code: bytes) -> None:
        self._code = code
        (self._machine,) = struct.unpack_from("<H", code, 18)
        (start,) = struct.unpack_from("<Q", code, 40)
        (count,) = struct.unpack_from("<H", code, 60)
        self._sections = []
        for k in range(count):
            _, kind, flags, _, offset, size, link, info, align, _ = _SECTION.unpack_from(code, start + 64 * k)
            self._sections.append(_Section(kind, flags, offset, size, link, info, align))
        [table] = [section for section in self._sections if section.kind == _SYMBOLS]
        self.symbols: NDArray[Any] = self._array(table, _SYMBOL)
        self._names = self._sections[table.link].offset

    @staticmethod
    def recognises(code: bytes) -> bool:
        """Whether bytes are a 64-bit little-endian ELF file."""
        return code.startswith(_ELF64)

    def name(self, k: int) -> str:
        """The name of a symbol."""
        start = self._names + int(self.symbols["name"][k])
        return self._code[start : self._code.index(b"\0", start)].decode()

    def needs(self) -> list[str]:
        """Names that the object leaves for others to define."""
        undefined = np.flatnonzero((self.symbols["section"] == 0) & (self.symbols["name"] > 0))
        return sorted(map(self.name, undefined.tolist()))

    def place(self, symbol: str, address_of: Callable[[str], int | None]) -> int | None:
        """Put the object into memory, ready to run to the end of the process.

        Args:
            symbol: the function that is wanted.
            address_of: address of a function that the object needs, None if unknown.

        Returns:
            The address of the function; None for an object that has to be linked in another way.
        """
        if self._machine != _X86_64:
            return None
        starts, end = {}, 0
        for k, section in enumerate(self._sections):
            if section.flags & _LOADED and section.size and section.kind != _UNWINDING:  # no frame is ever unwound
                if section.flags & _WRITABLE or section.kind == _EMPTY or section.align > _PAGE:
                    return None
                starts[k] = end = -(-end // max(section.align, 1)) * max(section.align, 1)
                end += section.size
        memory = mmap.mmap(-1, max(end, 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        view = np.frombuffer(memory, np.uint8)
        base = view.ctypes.data
        for k, start in starts.items():
            section = self._sections[k]
            view[start : start + section.size] = self._array(section, np.dtype("u1"))
        addresses = self._addresses({k: base + start for k, start in starts.items()}, address_of)
        for section in self._sections:
            if section.kind == _RELOCATIONS and section.info in starts:
                if not _relocate(view[starts[section.info] :], self._array(section, _RELOCATION), addresses):
                    return None
        if ctypes.CDLL(None).mprotect(ctypes.c_void_p(base), ctypes.c_size_t(end), mmap.PROT_READ | mmap.PROT_EXEC):
            return None
        _mapped.append(memory)
        found = [k for k in range(len(self.symbols)) if addresses[k] and self.name(k) == symbol]
        return int(addresses[found[0]]) if found else None

    def _array(self, section: _Section, dtype: np.dtype[Any]) -> NDArray[Any]:
        return np.frombuffer(self._code, dtype, section.size // dtype.itemsize, section.offset)

    def _addresses(self, starts: dict[int, int], address_of: Callable[[str], int | None]) -> NDArray[np.uint64]:
        """Where the symbols lie; 0 where that is not known."""
        found = np.zeros(len(self.symbols), np.uint64)
        for k, (section, value) in enumerate(
            zip(*(self.symbols[x].tolist() for x in ("section", "value")), strict=True)
        ):
            if section in starts:
                found[k] = starts[section] + value
            elif section == 0 and (name := self.name(k)):
                found[k] = address_of(name) or 0
        return found


def _relocate(view: NDArray[np.uint8], relocations: NDArray[Any], addresses: NDArray[np.uint64]) -> bool:
    """Write addresses into a section; whether all of them are known."""
    targets = addresses[relocations["symbol"]]
    if (relocations["type"] != _ADDRESS_64).any() or not targets.all():
        return False
    places = relocations["offset"].astype(np.int64)[:, None] + np.arange(8)
    view[places] = (targets + relocations["addend"]).astype("<u8").view(np.uint8).reshape(-1, 8)
    return True
