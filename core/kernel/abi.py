"""The kernel interface: one signature of scalars and addresses, so that the layers of a chain meet by address.

A layer, an example and the shared state are C records at addresses. `view(dtype)` shows the record at an address as a
typed array of length one, `array_at(type)` shows an array; after inlining both are plain loads. A call by address costs
about 1.5 ns; arrays passed by value would cost 50 ns, and closures over dispatchers would never be found in the
on-disk cache. Nothing here allocates or keeps alive the memory behind an address: the Python object that built
the chain does.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from hutch.core.kernel.cache import AddressKernel
from hutch.core.kernel.checked import require
from hutch.core.kernel.decorators import CHECKED, helper, inlined, intrinsic, meaning

UNLABELED = np.float32(np.finfo(np.float32).max)
"""The label of an example that has none (VW's FLT_MAX)."""

LAYER = np.dtype(
    [
        ("learn", "u8"),  # address of the kernel: predict, then train; returns the prediction made before training
        ("predict", "u8"),  # address of the kernel: predict only, changes nothing
        ("importance_to", "u8"),  # address: h_min; `importance` carries the target prediction; inf where unreachable
        ("sensitivity", "u8"),  # address: change of the prediction per unit of importance (VW's first-order rule)
        ("predict_many", "u8"),  # address: predict with neighbouring sub-models at once, see EXAMPLE.predictions
        ("rewrite", "u8"),  # address: let the example show other features, see hutch.core.kernel.rewriting
        ("next", "u8"),  # address of the LAYER below, 0 for a base learner
        ("step", "u8"),  # rows between two sub-models of the layer below: product of the widths below it
        ("state", "u8"),  # address of this layer's own record, its dtype declared in the reduction's file
        ("missed", "u8"),  # address of uint64: the layer last called for a kernel that it lacks
    ]
)

EXAMPLE = np.dtype(
    [
        ("indices", "u8"),  # address of uint32[length]: hashed feature indices below 2^bits
        ("values", "u8"),  # address of float32[length]
        ("length", "u8"),
        ("namespaces", "u8"),  # address of int64[namespace_count + 1]: offsets; subtract the first to index this row
        ("namespace_ids", "u8"),  # address of uint32[namespace_count]
        ("namespace_count", "u8"),
        ("next_length", "u8"),  # features of the next example, which lies right behind this one; 0 if unknown
        ("next_namespace_count", "u8"),
        ("behind", "u8"),  # number of features right behind this example's that are likely to be needed next
        ("cost_classes", "u8"),  # address of uint32[cost_count]: cost-sensitive label
        ("costs", "u8"),  # address of float32[cost_count]; UNLABELED where the cost is not given
        ("cost_count", "u8"),
        ("scores", "u8"),  # address of float32[score_count] that a multiclass layer fills, 0 if not asked for
        ("score_count", "u8"),
        ("targets", "u8"),  # address of float32[classes]: soft label for a multiclass layer, 0 for a hard one
        ("shared", "u8"),  # address of the SHARED record
        ("number", "u8"),  # counted from 0 within the run
        ("line", "u8"),  # counted from 1 by the engine, examples held out included; 0 where lines are not counted
        ("is_predicted", "u8"),  # in: 1 if a layer above knows the prediction to learn from, 2: it wants `updated` too
        ("predictions", "u8"),  # address of float32[prediction_count]: filled by `predict_many`, from `offset` on
        ("prediction_count", "u8"),
        ("group", "i8"),  # number of the block of lines this one belongs to
        ("last", "u8"),  # 1 on the last line of its block
        ("decision", "u8"),  # address of the DECISION that the example belongs to; 0 if it stands alone
        ("features", "u8"),  # out: features used, interactions included
        ("loss", "f8"),  # out: loss times importance; multiclass layers overwrite it
        ("base", "f4"),  # added to the prediction before any feature
        ("label", "f4"),
        ("importance", "f4"),
        ("raw", "f4"),  # out: prediction before clipping and link
        ("query", "f4"),  # out: importance of the label an active layer asks for, -1 if it does not ask
        ("predicted", "f4"),  # in: the prediction that the base learner is to learn from
        ("updated", "f4"),  # out: the base learner's prediction after the update; to first order if it is not asked for
    ]
)

SHARED = np.dtype(
    [
        ("weights", "u8"),  # address of float32[rows, stride]
        ("mask", "u8"),  # rows - 1
        ("multiplier", "u8"),  # rows per feature: product of the layers' widths, rounded up to a power of two
        ("stride", "u8"),  # floats per row
        ("time", "f8"),  # sum of the importance of all examples seen (VW's t)
        ("weighted_unlabeled", "f8"),
        ("weighted_holdout", "f8"),
        ("weighted_labeled", "f8"),
        ("weighted_labels", "f8"),
        ("sum_loss", "f8"),
        ("sum_loss_holdout", "f8"),
        ("examples", "u8"),
        ("features", "u8"),
        ("queries", "u8"),
        ("random_state", "u8"),  # of the run: active decisions and all other draws
        ("pass", "u8"),
        ("decay", "f8"),  # product of the per-pass decays of the learning rate
        ("min_label", "f4"),
        ("max_label", "f4"),
        ("fixed_range", "u8"),  # 1: min_label and max_label are given, not learned
        ("testing", "u8"),  # 1: no layer may change anything
    ]
)

LOSS = np.dtype(
    [
        ("value", "u8"),  # address: loss of (prediction, label)
        ("derivative", "u8"),  # address: d loss / d prediction
        ("update", "u8"),  # address: importance-aware step of a linear model; scale = rate * importance, norm = x'x
        ("unsafe_update", "u8"),  # address: plain gradient step
        ("square_gradient", "u8"),  # address: the increment of the adaptive rates
        ("plain_value", "u8"),  # address of a plugin's (prediction, label, parameter) -> loss; 0 for built-in losses
        ("plain_derivative", "u8"),  # address of a plugin's (prediction, label, parameter) -> derivative; else 0
        ("kind", "i8"),  # one of core.loss.kinds: which closed forms hold; 0 for none
        ("parameter", "f8"),  # tau of quantile and expectile, a plugin's own parameter
        ("lower", "f8"),  # logistic: the labels for -1 and +1
        ("upper", "f8"),
        ("shared", "u8"),  # address of the SHARED record (squared loss reads the label range)
    ]
)

SIGNATURE = "float32(uint64, uint64, float32, float32, uint64)"
"""(layer, example, label, importance, offset of the sub-model in rows) -> prediction"""

LOSS_SIGNATURE = "float64(float64, float64, float64, float64, uint64)"
"""(prediction, label, scale, norm, address of the LOSS record) -> value; float32 arithmetic happens inside"""

PLAIN_LOSS_SIGNATURE = "float64(float64, float64, float64)"
"""(prediction, label, parameter) -> value: a plugin's function"""


def array_value(element: Any, axes: int = 1) -> tuple[Any, Callable[..., Any]]:
    """Numba's type of an array, and what builds one, within an intrinsic, from an address and the length of each axis.

    Args:
        element: anything that NumPy accepts as a dtype, or a type of Numba.
        axes: how many; the last one is contiguous.
    """
    from numba import from_dtype, types

    from hutch.core.kernel.private import cgutils, make_array, populate_array

    kind = element if isinstance(element, types.Type) else from_dtype(np.dtype(element))
    array = types.Array(kind, axes, "C")

    def build(context: Any, builder: Any, address: Any, *lengths: Any) -> Any:
        if CHECKED:  # nothing lies at address 0
            empty = builder.icmp_unsigned("==", address, address.type(0))
            lengths = tuple([builder.select(empty, length.type(0), length) for length in lengths])
        item = context.get_data_type(kind)
        strides = [size := context.get_constant(types.intp, context.get_abi_sizeof(item))]
        for length in lengths[:0:-1]:
            strides.insert(0, builder.mul(strides[0], length))
        out = make_array(array)(context, builder)
        populate_array(
            out,
            data=builder.inttoptr(address, item.as_pointer()),
            shape=cgutils.pack_array(builder, lengths),
            strides=cgutils.pack_array(builder, strides),
            itemsize=size,
            meminfo=None,
        )
        return out._getvalue()

    return array, build


def view(dtype: np.dtype[Any]) -> Any:
    """An intrinsic `at(address)` for kernels: the one record of `dtype` that lies there, as an array of length 1."""

    @meaning("view", dtype)
    @intrinsic
    def at(typing_context: Any, address: Any) -> Any:
        from numba import types

        array, build = array_value(dtype)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return build(context, builder, arguments[0], context.get_constant(types.intp, 1))

        return array(types.uint64), generate

    return at


def array_at(element: Any) -> Any:
    """An intrinsic `at(address, length)` for kernels: the array at that address.

    Args:
        element: anything that NumPy accepts as a dtype, or a type of Numba.
    """

    @meaning("array", np.dtype(element))
    @intrinsic
    def at(typing_context: Any, address: Any, length: Any) -> Any:
        from numba import types

        array, build = array_value(element)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return build(context, builder, arguments[0], arguments[1])

        return array(types.uint64, types.uint64), generate

    return at


def record_of(dtype: np.dtype[Any]) -> Any:
    """An intrinsic `of(address)` for kernels: the record of `dtype` that lies there."""

    @meaning("record", dtype)
    @intrinsic
    def of(typing_context: Any, address: Any) -> Any:
        from numba import from_dtype, types

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _record(context, builder, arguments[0], signature.return_type)

        return from_dtype(dtype)(types.uint64), generate

    return of


def _record(context: Any, builder: Any, address: Any, kind: Any) -> Any:
    """A record of Numba's type `kind` at an address."""
    require(context, builder, builder.icmp_unsigned("!=", address, address.type(0)), "a record at address 0 is read")
    return builder.inttoptr(address, context.get_value_type(kind))


def state_of(dtype: np.dtype[Any]) -> Any:
    """An intrinsic `state(layer)` for kernels: the layer's own record, which is of `dtype`; `layer` is its address."""
    field = LAYER.fields["state"][1]  # type: ignore[index]

    @meaning("state", dtype)
    @intrinsic
    def state(typing_context: Any, layer: Any) -> Any:
        from llvmlite import ir
        from numba import from_dtype, types

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word = ir.IntType(64)
            place = builder.inttoptr(builder.add(arguments[0], word(field)), word.as_pointer())
            return _record(context, builder, builder.load(place), signature.return_type)

        return from_dtype(dtype)(types.uint64), generate

    return state


layer_of, example_of, shared_of, loss_of = record_of(LAYER), record_of(EXAMPLE), record_of(SHARED), record_of(LOSS)
layer_at, example_at, shared_at, loss_at = view(LAYER), view(EXAMPLE), view(SHARED), view(LOSS)
float32s_at, float64s_at = array_at(np.float32), array_at(np.float64)
uint32s_at, uint64s_at, int64s_at = array_at(np.uint32), array_at(np.uint64), array_at(np.int64)


@inlined
def weights_of(shared):
    """The weight table as one array, float32[rows · stride]."""
    return float32s_at(shared.weights, (shared.mask + np.uint64(1)) * shared.stride)


def caller_of(signature: str, raised: float | None = None) -> Any:
    """The result, for Numba, of an intrinsic that calls a function of this signature by its address.

    In checked mode a function that fails lets its caller fail.

    Args:
        signature: of the function.
        raised: the result where the function raises; None for functions that never do.
    """
    from numba import types

    from hutch.core.kernel.private import cgutils, sigutils

    arguments, result = sigutils.normalize_signature(signature)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = context.call_conv.get_function_type(result, arguments).as_pointer()
        function = builder.inttoptr(values[0], pointer)
        status, found = context.call_conv.call_function(builder, function, result, arguments, values[1:])
        if raised is None or CHECKED:
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
        if raised is None:
            return found
        return builder.select(status.is_error, context.get_constant(result, raised), found)

    return result(types.uint64, *arguments), generate


@meaning("call", SIGNATURE)
@intrinsic
def call(typing_context: Any, address: Any, layer: Any, example: Any, label: Any, importance: Any, offset: Any) -> Any:
    """Call the layer kernel at `address`."""
    return caller_of(SIGNATURE)


@meaning("call", LOSS_SIGNATURE)
@intrinsic
def call_loss(typing_context: Any, address: Any, prediction: Any, label: Any, scale: Any, norm: Any, loss: Any) -> Any:
    """Call the loss kernel at `address`; NaN if it raises."""
    return caller_of(LOSS_SIGNATURE, raised=float("nan"))


@meaning("call", PLAIN_LOSS_SIGNATURE)
@intrinsic
def call_plain_loss(typing_context: Any, address: Any, prediction: Any, label: Any, parameter: Any) -> Any:
    """Call a plugin's plain loss function at `address`; NaN if it raises."""
    return caller_of(PLAIN_LOSS_SIGNATURE, raised=float("nan"))


def ask_for(builder: Any, place: Any) -> None:
    """Within an intrinsic: prefetch the cache line that a pointer points to; affects only timing."""
    from llvmlite import ir

    from hutch.core.kernel.private import cgutils

    byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(function, [builder.bitcast(place, byte), word(0), word(2), word(1)])


@meaning("nothing")
@intrinsic
def prefetch(typing_context: Any, address: Any) -> Any:
    """Ask for the cache line at `address`."""
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ask_for(builder, builder.inttoptr(arguments[0], ir.IntType(8).as_pointer()))
        return context.get_dummy_value()

    return types.void(types.uint64), generate


@meaning("nothing")
@intrinsic
def no_unroll(typing_context: Any) -> Any:
    """Keep LLVM from unrolling the surrounding loop: where sums wait for each other, unrolling only adds loop ends."""
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        nothing = builder.asm(ir.FunctionType(ir.VoidType(), []), "", "", [], True)
        nothing.attributes.add("convergent")
        return context.get_dummy_value()

    return types.void(), generate


@meaning("same")
@intrinsic
def likely(typing_context: Any, condition: Any) -> Any:
    """The condition, marked as predictable: code after a branch on it need not wait for its operands.

    Without it LLVM turns a choice between two values into a selection, and a walk down a tree into a chain of waits.
    """
    from llvmlite import ir
    from numba import types

    from hutch.core.kernel.private import cgutils

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bit = ir.IntType(1)
        kind = ir.FunctionType(bit, [bit, bit])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.expect.i1")
        return builder.call(function, [arguments[0], bit(1)])

    return types.boolean(types.boolean), generate


@inlined
def learn_next(layer, example, label, importance, offset):
    """Let the layer below learn; returns its prediction made before."""
    below = layer_of(layer).next
    return call(layer_of(below).learn, below, example, label, importance, offset)


@inlined
def learn_predicted_next(layer, example, label, importance, offset, prediction, is_predicted):
    """Let the layer below learn from a known prediction of its own; returns the prediction made before.

    Args:
        layer, example, label, importance, offset: as of `learn_next`.
        prediction: of the layer below.
        is_predicted: 1, or 2 if it is to report the prediction after the update too; 0: let it make its own prediction.
    """
    e = example_of(example)
    e.is_predicted, e.predicted = np.uint64(is_predicted), prediction
    before = learn_next(layer, example, label, importance, offset)
    e.is_predicted = np.uint64(0)
    return before


@inlined
def predict_next(layer, example, label, importance, offset):
    """Let the layer below predict."""
    below = layer_of(layer).next
    return call(layer_of(below).predict, below, example, label, importance, offset)


@inlined
def predict_many_next(layer, example, importance, offset, predictions, count):
    """Let `count` sub-models of the base learner below predict at once; `predictions` is the address they go to."""
    below, e = layer_of(layer).next, example_of(example)
    e.predictions, e.prediction_count = predictions, count
    call(layer_of(below).predict_many, below, example, UNLABELED, importance, offset)


@inlined
def importance_to_next(layer, example, label, target, offset):
    """h_min of the layer below: the importance of (example, label) that moves its prediction to `target`."""
    below = layer_of(layer).next
    return call(layer_of(below).importance_to, below, example, label, target, offset)


@inlined
def sensitivity_next(layer, example, label, importance, offset):
    """Sensitivity of the layer below."""
    below = layer_of(layer).next
    return call(layer_of(below).sensitivity, below, example, label, importance, offset)


@inlined
def submodel(layer, offset, k):
    """The offset of sub-model `k` of the layer below."""
    return offset + np.uint64(k) * layer_of(layer).step


@inlined
def widen(shared, label):
    """Take a label into the range that predictions are clipped to."""
    if shared.fixed_range == 0 and label != UNLABELED and shared.testing == 0:
        shared.min_label, shared.max_label = min(shared.min_label, label), max(shared.max_label, label)


def kernel(function: Callable[..., Any]) -> Any:
    """Decorate one of a layer's kernels, or a function that they call.

    A kernel is a module-level function of the chain's one signature, (layer, example, label, importance, offset):
    addresses of the LAYER and the EXAMPLE as uint64, float32, float32, and the sub-model's offset in rows as uint64; it
    returns a float32. It is compiled when a chain first needs it, and kernels may call it. A function of another number
    of arguments becomes a `helper`.
    """
    most, given = function.__code__.co_argcount, function.__defaults__ or ()
    return AddressKernel(function, SIGNATURE) if most - len(given) <= 5 <= most else helper(function)


def loss_kernel(function: Callable[..., Any]) -> AddressKernel:
    """Decorate one of a loss's kernels: (prediction, label, scale, norm, loss) -> float64."""
    return AddressKernel(function, LOSS_SIGNATURE)
