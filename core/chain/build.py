"""Builds a chain: layers checked, made from the base up, linked by their addresses, over one weight table."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.contract import kernels_of, made, stride_of, width_of
from hutch.core.chain.derived import lacking
from hutch.core.chain.driver import CACHE_LINE
from hutch.core.chain.reduction import Context, Labels, LayerConfig, Predictions, Reduction
from hutch.core.chain.registry import Registry
from hutch.core.errors import ConfigError, PluginError
from hutch.core.interpreted.chosen import address_of as address_of_kernel
from hutch.core.kernel.abi import LAYER, SHARED
from hutch.core.kernel.passing import missing
from hutch.core.kernel.record import address_of
from hutch.core.text.parser import LabelKind, ParserOptions

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
KERNELS = ("learn", "predict", "importance_to", "sensitivity", "predict_many", "rewrite")


class Stack:
    """The layers of a chain over its weight table, ready to be called.

    Args:
        configs: from top to base.
        registry: the installed plugins.
        bits: the weight table has 2^bits rows.
        parser: how text is hashed; its `bits` and `label` are overridden by the chain's own.
        seed: of every random decision.

    Attributes:
        takes, predicts: of the whole chain.
        whole_groups: whether no batch may end within a group of lines.
        parser: how text is hashed and read.
        submodels: number of sub-models of the base learner.
        shared: the SHARED record of the chain, as an array of length 1.
        layers: from top to base; below a layer that wants copies, one copy after the other.
        weights: float32 (rows, stride).
        begins_with_zeros: whether the base learner begins with rows of zeros.
        records: LAYER (layers + 1), from top to base; the last one is a stub below the base.

    Raises:
        ConfigError: layers that do not fit, or too few rows for the sub-models.
    """

    def __init__(
        self,
        configs: Sequence[LayerConfig],
        registry: Registry,
        *,
        bits: int,
        parser: ParserOptions,
        seed: int,
    ) -> None:
        self.takes, self.predicts = check_neighbours(configs, registry)
        classes = [registry.reductions[config.name] for config in configs]
        self.whole_groups = any(cls.inputs.whole_groups for cls in classes)
        keeps_zeros = any(cls.keeps_zeros(config.parameters) for cls, config in zip(classes, configs, strict=True))
        whole = self.whole_groups or self.takes.of_decisions
        self.parser = replace(
            parser,
            bits=bits,
            label=cast(LabelKind, self.takes.of_one_line.value),
            whole_groups=whole,
            zeros=keeps_zeros,
        )
        widths = [width_of(cls, config.parameters) for cls, config in zip(classes, configs, strict=True)]
        self.submodels = total = math.prod(widths)
        if total > 1 << bits:
            raise ConfigError(
                f"weights.bits: got {bits}, wanted at least {(total - 1).bit_length()}: one row per sub-model"
            )
        self.shared = np.zeros(1, SHARED)
        self.shared["random_state"], self.shared["decay"] = seed, 1.0
        self.shared["mask"], self.shared["multiplier"] = (1 << bits) - 1, 1 << (total - 1).bit_length()
        self.layers: list[Reduction] = []

        def build(configs: Sequence[LayerConfig], k: int, again: Callable[..., Reduction]) -> Reduction:
            """Build layer k above the copies of those below it, and put all of them in front of `layers`.

            It gets itself as `again`: a closure over itself would keep the weights until cycles are searched for.
            """
            copies = classes[k].copies(configs[k].parameters) if k + 1 < len(configs) else ()
            built = [
                again([*configs[: k + 1], *_changed(configs[k + 1 :], each)], k + 1, again) for each in reversed(copies)
            ]
            context = Context(
                bits=bits,
                submodels=math.prod(widths[:k]),
                step=math.prod(widths[k + 1 :]),
                seed=seed,
                parser=self.parser,
                losses=registry.losses,
                below=built[-1] if built else None,
                shared=self.shared,
            )
            layer = made(classes[k], configs[k].parameters, context)
            _check_calls(layer, k)
            self.layers.insert(0, layer)
            return layer

        build(configs, 0, build)
        base = self.layers[-1]
        stride = stride_of(base)
        if any(layer.stride != stride for layer in self.layers if layer.is_base):
            raise ConfigError(f"{base.name}: got copies with rows of different lengths in one table")
        try:
            self.weights = _zeros(1 << bits, stride)
        except MemoryError:
            size = 4 * stride * 2**bits / 2**30
            raise ConfigError(
                f"weights.bits: got {bits}, but there is no memory for a table of {size:.2g} GiB"
            ) from None
        self.shared["stride"], self.shared["weights"] = stride, self.weights.ctypes.data
        base.initialise(self.weights)
        self.begins_with_zeros = not self.weights[spread(64, bits)].any()
        self.records = np.zeros(len(self.layers) + 1, LAYER)
        self._missed = np.zeros(1, np.uint64)
        self.link()

    def link(self) -> None:
        """Give the layers each other's addresses; absent kernels are `missing`, so that no address of a kernel is 0."""
        wanted = {"learn", "predict"}.union(*(kernels_of(layer).calls for layer in self.layers))
        first, size = self.records.ctypes.data, LAYER.itemsize
        for name in KERNELS:
            self.records[name] = missing.address
        self.records["missed"] = self._missed.ctypes.data
        for k, layer in enumerate(self.layers):
            record, kernels = self.records[k], kernels_of(layer)
            for name in wanted:
                if lacking(layer, name) is None:
                    record[name] = address_of_kernel(getattr(kernels, name))
            if kernels.rewrite is not None:
                record["rewrite"] = address_of_kernel(kernels.rewrite)
            record["next"], record["state"], record["step"] = (
                first + (len(self.layers) if layer.is_base else k + 1) * size,
                address_of(layer.state),
                layer.context.step,
            )

    def check_missed(self) -> None:
        """Report the layer that has called a kernel that does not exist, if any.

        Raises:
            PluginError: a layer has.
        """
        if not self._missed[0]:
            return
        k = (int(self._missed[0]) - self.records.ctypes.data) // LAYER.itemsize
        self._missed[0] = 0
        caller = f"chain[{k - 1}].{self.layers[k - 1].name}"
        if k == len(self.layers):
            raise PluginError(f"{caller}: called a layer below it, but a base learner has none")
        raise PluginError(
            f"{caller}: called a kernel of {self.layers[k].name!r} below it that does not exist, or that it does not "
            "name in its `calls`"
        )


def check_neighbours(layers: Sequence[LayerConfig], registry: Registry) -> tuple[Labels, Predictions]:
    """Check that every layer fits the one below it; returns the labels and the predictions of the whole chain.

    Raises:
        ConfigError: a layer does not fit; the message names both layers and both kinds.
    """
    if not layers:
        raise ConfigError("chain: got no layer, wanted at least a base learner such as 'linear'")
    takes: Labels | None = None
    predicts: Predictions | None = None
    for position in range(len(layers) - 1, -1, -1):
        name = layers[position].name
        reduction = registry.reductions[name]
        below = layers[position + 1].name if position + 1 < len(layers) else None
        if below is None and not reduction.is_base:
            raise ConfigError(f"chain[{position}].{name}: got nothing below it, wanted a base learner such as 'linear'")
        if below is not None and reduction.is_base:
            raise ConfigError(f"chain[{position}].{name}: a base learner comes last, got {below!r} below it")
        wanted = reduction.asks
        if wanted and (takes != wanted[0] or wanted[1] not in (None, predicts)):
            raise ConfigError(
                f"chain[{position}].{name} needs a layer below it that takes labels {wanted[0].value!r} and predicts "
                f"{wanted[1].value if wanted[1] else 'anything'!r}, but chain[{position + 1}].{below} takes labels "
                f"{takes.value if takes else None!r} and predicts {predicts.value if predicts else None!r}"
            )
        if (
            takes is not None
            and takes.of_decisions
            and reduction.takes is None
            and not reduction.inputs.passes_decisions
        ):
            raise ConfigError(
                f"chain[{position}].{name} reads single examples, but chain[{position + 1}].{below} takes decisions; "
                "wanted it below the layers that decide"
            )
        takes, predicts = reduction.takes or takes, reduction.predicts or predicts
    assert takes is not None and predicts is not None
    return takes, predicts


def _check_calls(layer: Reduction, position: int) -> None:
    """Check that the layer below offers the kernels that a layer calls."""
    below = layer.context.below
    for name in kernels_of(layer).calls:
        if below is not None and (lacks := lacking(below, name)) is not None:
            raise ConfigError(
                f"chain[{position}].{layer.name} needs {name} from the layers below it, which {lacks.name!r} lacks"
            )


def _zeros(rows: int, stride: int) -> NDArray[np.float32]:
    """A weight table of zeros that begins where a cache line does: rows that share a line are fetched together."""
    line, size = int(CACHE_LINE), 4 * rows * stride
    room = np.zeros(size + line, np.uint8)
    start = -room.ctypes.data % line
    return room[start : start + size].view(np.float32).reshape(rows, stride)


def spread(count: int, bits: int) -> NDArray[np.uint64]:
    """Numbers of rows spread evenly over a table of 2^bits, by multiples of the golden ratio (Fibonacci hashing).

    `numpy.random` would do as well, but takes longer to import than a short run takes to learn.

    >>> spread(4, 3).tolist()
    [0, 4, 1, 6]
    """
    return np.asarray(np.arange(count, dtype=np.uint64) * _GOLDEN >> np.uint64(64 - bits))


def _changed(configs: Sequence[LayerConfig], changes: Mapping[str, Mapping[str, Any]]) -> list[LayerConfig]:
    """Layers with other values of some parameters."""
    return [
        replace(config, parameters=replace(config.parameters, **changes[config.name]))
        if config.name in changes
        else config
        for config in configs
    ]
