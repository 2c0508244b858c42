"""Which kernels CPython runs: with `HUTCH_INTERPRETED=1` those of all layers and losses, or those of some modules.

`HUTCH_INTERPRETED=hutch_bag,hutch.reductions.link` names modules and packages. All else stays machine code, since the
layers of a chain meet by address.
"""

from hutch.core.kernel.cache import AddressKernel
from hutch.core.kernel.decorators import INTERPRETED, is_interpreted


def address_of(kernel: AddressKernel) -> int:
    """Where the other layers find a kernel: that of its machine code, or of what calls CPython."""
    if not INTERPRETED or not is_interpreted(kernel.function.__module__):
        return kernel.address
    from hutch.core.interpreted.run import interpreted

    return interpreted(kernel.function, kernel.signature).address
