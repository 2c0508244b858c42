"""Latent features: probabilistic PCA of one namespace, learned on the stream, for the layer below.

The features of a namespace are a row of fixed dimension. In their place, or beside them, the layer below sees
the posterior means of `rank` latent variables. The model takes the exact natural steps of
`hutch.em.constrained.natural`, a block of rows at a time, from labelled lines and from unlabelled ones.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.declarations import Inputs
from hutch.core.chain.limits import COUNT, Limits
from hutch.core.chain.m_step import MStepReduction
from hutch.core.chain.reduction import Context, Kernels
from hutch.core.chain.stored import Stored, dense
from hutch.core.errors import ConfigError, ModelError
from hutch.core.kernel.abi import example_of, kernel, learn_next, predict_next, shared_of
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import show
from hutch.core.learner.dense_row import DenseNamespace
from hutch.core.learner.memory import Buffer
from hutch.core.parameters import ExampleValue, Parameters, Within
from hutch.core.text.hashing import hash_feature, namespace_id
from hutch.em.constrained.alignment import alignment_size
from hutch.em.constrained.natural_kernel import workspace_size
from hutch.em.constrained.record import CLASS
from hutch.em.ppca.model import PPCAParameters
from hutch.reductions.ppca.learn import prepare, score_row
from hutch.reductions.ppca.state import PPCA, is_unlabeled, ppca_of, read_row, show_latent, sketch_size, take_row

_SIZE = Limits(-1e100, 1e100)
_COUNTERS = ("boundaries", "count", "samples", "past_samples", "classes", "last")


class PPCALayerParameters(Parameters):
    """Parameters of `ppca`.

    Attributes:
        namespace: whose features are the row; missing features are 0, a line without the namespace has no row.
        dimension: features of a row.
        rank: latent features.
        features: `numbered` reads names as numbers from 0 to dimension - 1; `hashed` takes any names, and features that
            fall on one dimension are added.
        output: namespace of the latent features, named 0 to rank - 1.
        keep: the layer below sees the namespace, too.
        block: rows learned at a time; waiting rows are learned when the example after the last one comes.
        warm_up: rows of the first block, which sets mean and scale; no latent features before.
        exponent: steps fade as samples^-exponent: 1 counts all rows alike, less forgets.
        scale: of the steps; below 1 with a small exponent.
    """

    namespace: Annotated[str, ExampleValue("words")]
    dimension: Annotated[int, Within(ge=1, le=1 << 20), ExampleValue(1 << 12)]
    rank: Annotated[int, Within(ge=1, le=256)] = 10
    features: Literal["numbered", "hashed"] = "numbered"
    output: str = "latent"
    keep: bool = False
    block: Annotated[int, Within(ge=1, le=256)] = 10
    warm_up: Annotated[int, Within(ge=1, le=256)] = 20
    exponent: Annotated[float, Within(ge=0, le=1)] = 1.0
    scale: Annotated[float, Within(gt=0, le=1)] = 1.0


@kernel
def predict(layer, example, label, importance, offset):
    """Predict from latent features; in a run that learns, a row without a label is learned."""
    s, e = ppca_of(layer), example_of(example)
    learning = shared_of(e.shared).testing == uint64(0)
    if learning:
        prepare(s, e)
    if not read_row(s, e):
        return predict_next(layer, example, label, importance, offset)
    if learning and is_unlabeled(e, label):
        score_row(s)
        take_row(s, e)
    read = show_latent(s, e)
    prediction = predict_next(layer, example, label, importance, offset)
    show(e, read)
    return prediction


@kernel
def learn(layer, example, label, importance, offset):
    """Let the layer below learn from latent features, and learn the row."""
    s, e = ppca_of(layer), example_of(example)
    prepare(s, e)
    if not read_row(s, e):
        return learn_next(layer, example, label, importance, offset)
    score_row(s)
    take_row(s, e)
    read = show_latent(s, e)
    prediction = learn_next(layer, example, label, importance, offset)
    show(e, read)
    return prediction


@kernel
def rewrite(layer, example, label, importance, offset):
    """Make the example show its latent features."""
    s, e = ppca_of(layer), example_of(example)
    if read_row(s, e):
        show_latent(s, e)
    return np.float32(0)


class PPCALayer(MStepReduction):
    """Replaces the features of a namespace by latent ones.

    Raises:
        ConfigError: names cannot be read as numbers, too many dimensions for the table, one name for two namespaces.
        DataError: a feature without a place, or a value that is not finite.
    """

    name: ClassVar[str] = "ppca"
    Parameters: ClassVar[type[Parameters]] = PPCALayerParameters
    state: Record
    kernels = Kernels.rewriting(rewrite, learn, predict)

    def __init__(self, parameters: PPCALayerParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.inputs = Inputs(namespaces=(parameters.namespace,), made_namespaces=(parameters.output,))
        self._check()
        p, parser = parameters, context.parser
        self._dense = DenseNamespace("ppca", p.namespace, p.dimension, p.features == "hashed", context)
        mask = (1 << context.bits) - 1
        capacity = max(p.block, p.warm_up)
        names = (hash_feature(p.output, str(k), parser.hash_seed, parser.hash) & mask for k in range(p.rank))
        self._arrays = {
            "current": np.zeros(sketch_size(p.rank, p.dimension)),
            "first_mean": np.zeros(p.dimension + 1),
            "shown": np.zeros((p.rank, p.dimension)),
            "turn": np.eye(p.rank),
            "pending": np.zeros((capacity, p.dimension)),
        }
        rows = p.rank + max(capacity, p.rank + 1)
        size = max(workspace_size(rows, p.dimension), alignment_size(p.rank))
        s = self.state = Record(PPCA)
        s["namespace"], s["first"] = self._dense.id, self._dense.first
        s["output"] = namespace_id(p.output, parser.namespaces)
        s["hashed"] = p.features == "hashed"
        for name in ("dimension", "rank", "block", "warm_up", "keep", "scale", "exponent"):
            s[name] = getattr(p, name)
        indices = np.fromiter(names, np.uint32, p.rank)
        s.set(output_indices=indices, row=np.zeros(p.dimension), workspace=np.zeros(size), workspace_size=size)
        s.set(built=Buffer(), report=self._arrays["current"], **self._arrays)

    def _check(self) -> None:
        p, parser = self.parameters, self.context.parser
        if namespace_id(p.namespace, parser.namespaces) == namespace_id(p.output, parser.namespaces):
            raise ConfigError(f"ppca.output: got {p.output!r}, which the chain cannot tell from {p.namespace!r}")

    @property
    def samples(self) -> int:
        """The number of rows learned."""
        return int(self.state["samples"][0])

    @property
    def model(self) -> PPCAParameters:
        """A snapshot of the model of the rows, its axes in their own order."""
        dimension, sketch = self.parameters.dimension, self._arrays.get("report", self._arrays["current"])
        noise, mean, loadings = np.split(sketch, [2, 2 + dimension])
        return PPCAParameters(mean, loadings.reshape(-1, dimension).copy(), float(noise[0]))

    def constrain(self, constraint: NDArray[Any]) -> None:
        """Hold the steps near an anchor; in class mode with two more sketches, of the past and of the shown model."""
        self.state["constraint"] = constraint
        for name in ("past", "report") if constraint["mode"][0] == CLASS else ():
            self.state[name] = self._arrays[name] = np.zeros_like(self._arrays["current"])

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Refuse features without a place and values that are not finite."""
        self._dense.check(batch)

    def saved(self) -> dict[str, NDArray[Any]]:
        """The model, and the rows that wait."""
        return {**self._arrays, **{name: self.state[name] for name in _COUNTERS}}

    def limits(self) -> Mapping[str, Limits]:
        """Limits of squares and sums of float32 features, and of counts; no more rows wait than there is room for."""
        waiting = Limits(0, max(self.parameters.block, self.parameters.warm_up))
        return {**dict.fromkeys(self._arrays, _SIZE), **dict.fromkeys(_COUNTERS, COUNT), "count": waiting}

    def check_saved(self, arrays: Mapping[str, Stored]) -> None:
        """Once rows were learned there is noise; the past is part of them.

        Raises:
            ModelError: that is not so.
        """
        samples, past, classes, count = (
            int(dense(arrays[name])[0]) for name in ("samples", "past_samples", "classes", "count")
        )
        if past > samples or classes > samples or (samples and count > self.parameters.block):
            raise ModelError(f"ppca: got {samples} rows learned, {past} of them in {classes} classes, {count} waiting")
        for name in ("current", "past", "report") if samples else ():
            used = name != "past" or classes
            if name in arrays and used and not dense(arrays[name])[0] > 0:
                raise ModelError(f"ppca.{name}: got no noise after {samples} rows, wanted some")
