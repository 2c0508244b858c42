"""The public chain: from YAML to predictions, with whatever plugins are installed.

What not every run needs is imported where it is used.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Never, Self

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch, shared_rows
from hutch.core.chain.engine import Engine
from hutch.core.chain.namespaces import NamedNamespaces
from hutch.core.config import read as chain_config
from hutch.core.config.read import ChainConfig
from hutch.core.data.files import InputFiles, check_sources
from hutch.core.data.roles import Roles
from hutch.core.errors import ConfigError, ModelError, did_you_mean, warn
from hutch.core.loss.losses import LossChoice
from hutch.core.run.progress import Progress, ProgressEvent, Schedule
from hutch.core.text.parser import ParserOptions
from hutch.plugins.manager import Plugins, installed

_ENOUGH = 100  # examples until a namespace that none of them has is spoken of


class Chain(Engine):
    """A chain of reductions over one weight table, built from a configuration.

    It can be pickled and copied, which goes through the bytes of its model file; a copy shares nothing with it.

    Args:
        config: the checked configuration; `from_config` makes it from YAML.
        plugins: what is installed; None: the plugins of this process.

    Attributes:
        config: the configuration.
        plugins: what is installed.

    Raises:
        ConfigError: layers that do not fit.

    >>> chain = Chain.from_config({"chain": [{"linear": {"loss": "logistic"}}]})
    >>> _ = chain.learn(["1 |word good", "-1 |word bad"] * 20)
    >>> bool(chain.predict(["|word good"])[0] > 0)
    True
    """

    def __init__(self, config: ChainConfig, plugins: Plugins | None = None) -> None:
        self.config = config
        self._warned = False
        self.plugins = plugins or installed(config.plugins.block)
        super().__init__(
            config.chain,
            self.plugins.registry,
            bits=config.weights.bits,
            parser=ParserOptions(
                hash=config.input.hash,
                hash_seed=config.input.hash_seed,
                constant=config.input.constant,
                namespaces=config.input.namespaces,
            ),
            seed=config.seed,
            ignore=config.input.ignore,
            keep=config.input.keep,
        )
        self._named: NamedNamespaces | None = NamedNamespaces(self.layers, config.input.namespaces)

    @classmethod
    def from_config(cls, source: str | Path | Mapping[str, Any], overrides: Iterable[str] = ()) -> Self:
        """Build a chain from a YAML file, YAML text or a mapping.

        Args:
            source: path, YAML text (it holds a line break) or mapping.
            overrides: `path=value` each, such as `dyadic.rank=3`.

        Raises:
            ConfigError: with every mistake's place, one a line.
        """
        document = chain_config.read_chain(source, overrides)
        plugins = installed(chain_config.blocked_plugins(document))
        config = chain_config.validate(document, plugins.registry)
        with chain_config.placed(document):
            return cls(config, plugins)

    def batches(
        self,
        examples: Any,
        labels: Any = None,
        importance: Any = None,
        *,
        columns: Roles | Mapping[str, Any] | None = None,
    ) -> Iterator[Batch]:
        """Examples of any accepted kind as batches for this chain; the arguments are those of `learn`."""
        columns = self.config.input.columns if columns is None else columns
        paths = [examples] if isinstance(examples, os.PathLike) else examples
        if isinstance(paths, list | tuple) and paths and all(isinstance(path, os.PathLike) for path in paths):
            return self._files([os.fspath(path) for path in paths], columns)
        from hutch.core.data.sources import to_batches

        return to_batches(examples, self.parser, columns, labels=labels, importance=importance)

    def _files(self, paths: Sequence[str], columns: Any) -> Iterator[Batch]:
        check_sources(paths)
        readers = self.plugins.registry.readers
        return iter(InputFiles(paths, self.parser, readers, lambda problem: warn(str(problem)), columns))

    def learn(
        self,
        examples: Any,
        labels: Any = None,
        importance: Any = None,
        *,
        columns: Roles | Mapping[str, Any] | None = None,
        on_progress: Callable[[ProgressEvent], Any] | None = None,
        **unknown: Never,
    ) -> NDArray[np.float32]:
        """Learn, example by example.

        Args:
            examples: lines (a text, a list, an open file), dicts, a NumPy or SciPy matrix, a table of pandas, polars,
                duckdb, pyarrow or Hugging Face datasets, a `Batch`, an iterable of these, or the `pathlib.Path` of a
                file, or a list of paths, that is read as `hutch train` reads it.
            labels: labels of a matrix's rows, shape (examples,); NaN: unlabeled. All else holds its own.
            importance: importances of a matrix's rows, shape (examples,); None: 1.
            columns: what the columns of a table or matrix, or the keys of dicts, stand for, as in
                `hutch.core.data.roles.Roles`; None: as the chain says.
            on_progress: called with a `hutch.plugin.ProgressEvent` after 1, 2, 4, 8, … examples; plugins with the
                hook `hutch_on_progress` then see it, too. None: nobody does.

        Returns:
            The prediction of each example made before it was learned (progressive), float32 (examples). Of decisions
            the score or the probability of each action, in the order of the lines.

        Raises:
            TypeError: examples of another kind.
            ConfigError: columns that are not there.
            DataError: examples that cannot be used, with their place.

        Warns:
            UserWarning: malformed text, labels that the chain is not made for, a namespace that the chain names and no
                example has.
        """
        _refuse("learn", unknown)
        batches = self.batches(examples, labels, importance, columns=columns)
        views = [on_progress, self.plugins.on_progress] if on_progress else []
        found = self._collect(batches, True, Progress(self, Schedule(), views) if views else None)
        if self._named and self.statistics.examples >= _ENOUGH:
            for text in self._named.missing():
                warn(text)
            self._named = None
        return found

    def predict(
        self,
        examples: Any,
        labels: Any = None,
        importance: Any = None,
        *,
        columns: Roles | Mapping[str, Any] | None = None,
        **unknown: Never,
    ) -> NDArray[np.float32]:
        """Predict without learning; as `learn`, but the chain stays as it was, its counters too.

        Returns:
            float32 (examples): the top layer's predictions.
        """
        _refuse("predict", unknown)
        with self._unchanged():
            return self._collect(self.batches(examples, labels, importance, columns=columns), False)

    def scores(
        self,
        examples: Any,
        labels: Any = None,
        importance: Any = None,
        *,
        columns: Roles | Mapping[str, Any] | None = None,
        **unknown: Never,
    ) -> NDArray[np.float32]:
        """The scores of all classes without learning, float32 (examples, classes); arguments as of `learn`.

        Raises:
            ConfigError: the chain's top layer has none.
        """
        _refuse("scores", unknown)
        if not self.score_count:
            raise ConfigError(f"chain[0].{self.layers[0].name} predicts {self.predicts.value!r}: it has no scores")
        with self._unchanged():
            batches = self.batches(examples, labels, importance, columns=columns)
            found = [self.run_batch(batch, learn=False, scores=True)[0].scores for batch in batches]
        return np.concatenate([*found, np.zeros((0, self.score_count), np.float32)])

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Leave the counters as they were."""
        kept = self.shared.copy()
        try:
            yield
        finally:
            self.shared[...] = kept

    def _collect(self, batches: Iterable[Batch], learn: bool, progress: Progress | None = None) -> NDArray[np.float32]:
        found = []
        row, row_at = (progress.row, progress.row_at) if progress else (None, np.inf)
        for batch in batches:
            outputs, row_at = self.run_batch(batch, learn=learn, row=row, row_at=row_at)  # a layer may refuse a label
            found.append(outputs.predictions[~shared_rows(batch)] if self.takes.of_decisions else outputs.predictions)
            if learn and self._named:
                self._named.see(batch)
            if learn and not self._warned and len(strange := self.unexpected_labels(batch)):
                self._warned = True
                text = f"got label {strange[0]:g}, which this chain is not made for; it learns from it all the same"
                warn(text)
        return np.concatenate([*found, np.zeros(0, np.float32)])

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[bytes]]:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            self.save(path)
            return type(self)._from_bytes, (path.read_bytes(),)

    @classmethod
    def _from_bytes(cls, model: bytes) -> Self:
        import tempfile

        from hutch.core.chain.model_file import load_model

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            path.write_bytes(model)
            return cls.from_arrays(*load_model(path), "<pickle>")

    def save(self, path: str | Path) -> None:
        """Write the whole chain, its configuration and its counters, to a file.

        Raises:
            ModelError: the file cannot be written; what was there before stays.
        """
        from hutch.core.chain.model_file import save_model

        save_model(path, self.arrays(), self.metadata())

    def metadata(self) -> dict[str, Any]:
        """What a model must hold beside its arrays: the configuration and the versions of the plugins it uses."""
        used = {("reductions", layer.name) for layer in self.layers}
        parameters = (value for layer in self.config.chain for value in vars(layer.parameters).values())
        used |= {("losses", value.name) for value in parameters if isinstance(value, LossChoice)}
        origins = {origin for item, origin in self.plugins.registry.origins.items() if item in used}
        return {"chain": self.config.to_dict(), "plugins": self.plugins.versions(origins)}

    @classmethod
    def load(cls, path: str | Path, overrides: Iterable[str] = ()) -> Self:
        """Read a chain back; it goes on exactly where it was saved.

        Args:
            path: a model file.
            overrides: `path=value` each, for parameters that do not change what the weights mean.

        Raises:
            ModelError: no model file, truncated, foreign, newer, or of plugins that are not installed.
            ConfigError: a wrong override.
        """
        from hutch.core.chain.model_file import load_model

        return cls.from_arrays(*load_model(path), str(path), overrides)

    @classmethod
    def from_arrays(
        cls,
        arrays: dict[str, NDArray[Any]],
        metadata: Mapping[str, Any],
        source: str,
        overrides: Iterable[str] = (),
        config: Mapping[str, Any] | None = None,
    ) -> Self:
        """Build a chain from what a model holds.

        Args:
            arrays, metadata: as `arrays()` and `metadata()` gave them.
            source: what messages call the model.
            overrides: as in `load`.
            config: a chain to go on with instead of the model's own, of the same layers.

        Raises:
            ModelError, ConfigError: as `load`.
        """
        from hutch.core.chain.model_file import check_plugins

        document = chain_config.read_chain(metadata["chain"])
        plugins = installed(chain_config.blocked_plugins(document))
        for notice in check_plugins(source, metadata["plugins"], plugins.versions(), plugins.registry.left_out):
            warn(notice)
        try:
            written = chain_config.validate(document, plugins.registry)
        except ConfigError as error:
            raise ModelError(f"{source}: its chain cannot be built here:\n{error}") from None
        chain = cls.from_config(metadata["chain"] if config is None else config, overrides)
        if (bits := chain.config.weights.bits) != written.weights.bits:
            raise ConfigError(f"weights.bits: got {bits}, wanted {written.weights.bits}, those of {source}")
        arrays = arrays | chain._changed_since(written)
        try:
            chain.restore(arrays)
        except ModelError as error:
            raise ModelError(f"{source}: {error}") from None
        return chain

    def _changed_since(self, written: ChainConfig) -> dict[str, NDArray[Any]]:
        """The arrays that hold a parameter which is no longer that of a model's chain, such as the learning rate."""
        live, found = self.arrays(), {}
        for k, (old, new) in enumerate(zip(written.chain, self.config.chain, strict=True)):
            for parameter, value in vars(new.parameters).items():
                name = f"layer.{k}.{new.name}.{parameter}"
                if name in live and getattr(old.parameters, parameter) != value:
                    found[name] = live[name].copy()
        return found


def _refuse(method: str, unknown: Mapping[str, Any]) -> None:
    """Name an argument that does not exist, as Python would, and what was meant."""
    for name in unknown:
        near = did_you_mean({"y": "labels", "sample_weight": "importance"}.get(name, name), _ARGUMENTS)
        raise TypeError(f"{method}() got an unexpected keyword argument {name!r}; {near}")


_ARGUMENTS = ("labels", "importance", "columns", "on_progress")
