"""The public chain: from YAML to predictions, with whatever plugins are installed."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hutch.core import config as chain_config
from hutch.core.batch import Batch
from hutch.core.chain import Engine
from hutch.core.config import ChainConfig
from hutch.core.errors import ConfigError, ModelError
from hutch.core.losses import LossChoice
from hutch.core.model_file import check_plugins, load_model, save_model
from hutch.core.sources import to_batches
from hutch.core.text_parser import ParserOptions
from hutch.plugins.manager import Plugins, installed


class Chain(Engine):
    """A chain of reductions over one weight table, built from a configuration.

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

    def batches(self, examples: Any, **options: Any) -> Iterator[Batch]:
        """Examples of any accepted kind as batches for this chain; see `hutch.core.sources.to_batches`."""
        options.setdefault("columns", self.config.input.columns)
        return to_batches(examples, self.parser, **options)

    def learn(self, examples: Any, **options: Any) -> NDArray[np.float32]:
        """Learn, example by example.

        Args:
            examples: a batch, lines, dicts, a sparse or dense matrix, or an Arrow table.
            options: how to read them; see `hutch.core.sources.to_batches`.

        Returns:
            The prediction of each example made before it was learned (progressive), float32 (examples).
        """
        return self._collect(examples, True, options)

    def predict(self, examples: Any, **options: Any) -> NDArray[np.float32]:
        """Predict without learning; as `learn`, but the chain stays as it was, its counters too.

        Returns:
            float32 (examples): the top layer's predictions.
        """
        kept = self.shared.copy()
        try:
            return self._collect(examples, False, options)
        finally:
            self.shared[...] = kept

    def scores(self, examples: Any, **options: Any) -> NDArray[np.float32]:
        """The scores of all classes without learning, float32 (examples, classes).

        Raises:
            ConfigError: the chain's top layer has none.
        """
        if not self.score_count:
            raise ConfigError(f"chain[0].{self.layers[0].name} predicts {self.predicts.value!r}: it has no scores")
        kept = self.shared.copy()
        found = [self.run_batch(b, learn=False, scores=True)[0].scores for b in self.batches(examples, **options)]
        self.shared[...] = kept
        return np.concatenate([*found, np.zeros((0, self.score_count), np.float32)])

    def _collect(self, examples: Any, learn: bool, options: dict[str, Any]) -> NDArray[np.float32]:
        found = []
        for batch in self.batches(examples, **options):
            found.append(self.run_batch(batch, learn=learn)[0].predictions)  # a layer that refuses a label says so
            if learn and not self._warned and len(strange := self.strange_labels(batch)):
                self._warned = True
                text = f"got label {strange[0]:g}, which this chain is not made for; it learns from it all the same"
                warnings.warn(text, UserWarning, stacklevel=3)
        return np.concatenate([*found, np.zeros(0, np.float32)])

    def save(self, path: str | Path) -> None:
        """Write the whole chain, its configuration and its counters, to a file.

        Raises:
            ModelError: the file cannot be written; what was there before stays.
        """
        save_model(path, self.arrays(), self.metadata())

    def metadata(self) -> dict[str, Any]:
        """What a model must hold beside its arrays: the configuration and the versions of the plugins it uses."""
        used = {("reductions", layer.name) for layer in self.layers}
        parameters = (value for layer in self.config.chain for _, value in layer.parameters)
        used |= {("losses", value.name) for value in parameters if isinstance(value, LossChoice)}
        origins = {origin for item, origin in self.plugins.registry.origins.items() if item in used}
        versions = {plugin.distribution: plugin.version for plugin in self.plugins if plugin.name in origins}
        return {"chain": self.config.to_dict(), "plugins": versions}

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
        return cls.from_arrays(*load_model(path), str(path), overrides)

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, NDArray[Any]], metadata: Mapping[str, Any], source: str, overrides: Iterable[str] = ()
    ) -> Self:
        """Build a chain from what a model holds.

        Args:
            arrays, metadata: as `arrays()` and `metadata()` gave them.
            source: what messages call the model.
            overrides: as in `load`.

        Raises:
            ModelError: as `load`.
        """
        document = chain_config.read_chain(metadata["chain"])
        plugins = installed(chain_config.blocked_plugins(document))
        for notice in check_plugins(source, metadata["plugins"], plugins.versions()):
            warnings.warn(notice, stacklevel=3)
        try:
            chain_config.validate(document, plugins.registry)
        except ConfigError as error:
            raise ModelError(f"{source}: its chain cannot be built here:\n{error}") from None
        chain = cls.from_config(metadata["chain"], overrides)
        try:
            chain.restore(arrays)
        except ModelError as error:
            raise ModelError(f"{source}: {error}") from None
        return chain
