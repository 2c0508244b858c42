"""The public chain: from YAML to predictions, with the installed plugins.

Modules that not every run needs are imported where they are used.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch, shared_rows
from hutch.core.chain.capabilities import BoundsColumns, FindsArcs, has
from hutch.core.chain.engine import Engine, Outputs
from hutch.core.chain.stored import Stored
from hutch.core.config import read as chain_config
from hutch.core.config.chain_config import ChainConfig
from hutch.core.data.files import InputFiles, check_sources
from hutch.core.data.places import located
from hutch.core.data.roles import AnyRoles, Roles
from hutch.core.data.watch import Watch
from hutch.core.errors import ConfigError, ModelError, at, warn
from hutch.core.loss.losses import LossChoice
from hutch.core.parameters import parameters_of, values_of
from hutch.core.run.occupancy import advice
from hutch.core.run.one_by_one import OneByOne
from hutch.core.run.passes import run_passes
from hutch.core.run.progress import NO_ROWS, Progress, ProgressEvent, Schedule, View
from hutch.core.run.unexpected import Unexpected
from hutch.core.text.made.options import Made
from hutch.core.text.parser import ParserOptions
from hutch.core.text.problems import Problem
from hutch.plugins.manager import Plugins, installed

_ENOUGH = 100  # examples until a namespace that none of them has is reported


def _made(made: Made) -> Any:
    """What the parsers of a chain make of names; None: nothing."""
    if not made.is_needed:
        return None
    from hutch.core.data.dictionaries import made_features  # few chains need it

    return made_features(made)


class Chain(OneByOne, Engine):
    """A chain of reductions over one weight table, built from a configuration.

    It can be pickled and copied, which goes through the bytes of its model file; a copy shares nothing with it.
    Threads may share it: its calls take turns; another thread may predict between the batches of a call of `learn`.

    Args:
        config: the checked configuration; `from_config` makes it from YAML.
        plugins: the installed plugins; None: those of this process.

    Attributes:
        config: the configuration.
        plugins: the installed plugins.
        occupancy_from: number of examples from which `learn` checks the table's occupancy, and warns if it is crowded.
        last_run: statistics of the latest call that ran batches of examples, without what the chain had seen before.
        remarks: texts by name that the model keeps for its maker; they have no effect.
        watch: knows the columns of the tables that the chain has learned from.

    Raises:
        ConfigError: layers that do not fit.

    >>> chain = Chain.from_config({"chain": [{"linear": {"loss": "logistic"}}]})
    >>> _ = chain.learn(["1 |word good", "-1 |word bad"] * 20)
    >>> bool(chain.predict(["|word good"])[0] > 0)
    True
    """

    def __init__(self, config: ChainConfig, plugins: Plugins | None = None) -> None:
        self.config = config
        self.plugins = plugins or installed(config.plugins.block)
        parser = ParserOptions(
            hash=config.input.hash,
            hash_seed=config.input.hash_seed,
            constant=config.input.constant,
            namespaces=config.input.namespaces,
            longest_line=config.input.longest_line,
            made=_made(config.input.made),
        )
        try:
            super().__init__(
                config.chain,
                self.plugins.registry,
                bits=config.weights.bits,
                parser=parser,
                seed=config.seed,
                ignore=config.input.ignore,
                keep=config.input.keep,
            )
        except MemoryError:
            raise ConfigError(
                f"weights.bits: got {config.weights.bits}, but the chain takes more memory than there is; "
                "wanted fewer bits, or layers with less state"
            ) from None
        except OverflowError as error:
            raise ConfigError(f"the chain has a number that is too large: {error}") from None
        self._unexpected = Unexpected(self)
        self._bounds_columns = any(has(layer, BoundsColumns) for layer in self.layers)
        self.occupancy_from: float = 10 * _ENOUGH
        self.remarks: dict[str, str] = {}
        self.watch = Watch()
        self.last_run = self.statistics

    @classmethod
    def from_config(cls, source: str | Path | Mapping[str, Any], overrides: Iterable[str] = ()) -> Self:
        """Build a chain from a YAML file, YAML text or a mapping.

        Args:
            source: path, YAML text (it holds a line break) or mapping.
            overrides: `path=value` each, such as `dyadic.rank=3`.

        Raises:
            ConfigError: with every mistake's place, one per line.
        """
        document = chain_config.read_chain(source, overrides)
        plugins = installed(chain_config.blocked_plugins(document))
        config = chain_config.validate(document, plugins.registry)
        with chain_config.placed(document):
            return cls(config, plugins)

    def batches(
        self, examples: Any, labels: Any = None, importance: Any = None, *, columns: AnyRoles = None
    ) -> Iterator[Batch]:
        """Examples of any accepted kind as batches for this chain, to keep; the arguments are those of `learn`."""
        return map(Batch.copied, self._batches(examples, labels, importance, columns, watched=False))

    def _batches(
        self, examples: Any, labels: Any, importance: Any, columns: Any, passes: int = 1, watched: bool = True
    ) -> Iterable[Batch]:
        """The same, to be iterated once per pass; the columns of tables are watched."""
        columns = Roles.of(self.config.input.columns if columns is None else columns)
        paths = [examples] if isinstance(examples, os.PathLike) else examples
        if isinstance(paths, list | tuple) and paths and all(isinstance(path, os.PathLike) for path in paths):
            sources = [located(path) for path in paths]
            check_sources(sources)
            return self.files(sources, lambda problem: warn(str(problem)), columns=columns, passes=passes)
        from hutch.core.data.matrix import is_matrix
        from hutch.core.data.sources import to_batches

        if columns.namespaces is None and is_matrix(examples):
            columns = replace(columns, namespaces={self.config.input.matrix: "*"})
        columns = columns.watched(self.watch) if watched else columns
        found = to_batches(examples, self.parser, columns, labels=labels, importance=importance)
        return found if passes == 1 else [batch.copied() for batch in found]

    def _optional(self, columns: AnyRoles) -> Roles:
        """The roles of columns for examples that need no label."""
        return Roles.of(self.config.input.columns if columns is None else columns).optional()

    def files(
        self,
        sources: Sequence[str],
        on_problem: Callable[[Problem], Any] = lambda problem: None,
        *,
        columns: AnyRoles = None,
        strict: bool = False,
        **how: Any,
    ) -> InputFiles:
        """Data files as this chain reads them; further arguments are those of `InputFiles`."""
        how = {"readers": self.plugins.registry.readers} | how
        roles = Roles.of(self.config.input.columns if columns is None else columns).watched(self.watch)
        return InputFiles(sources, replace(self.parser, strict=strict), on_problem=on_problem, columns=roles, **how)

    def learn(
        self,
        examples: Any,
        labels: Any = None,
        importance: Any = None,
        *,
        columns: AnyRoles = None,
        passes: int = 1,
        on_progress: Callable[[ProgressEvent], Any] | None = None,
    ) -> NDArray[np.float32]:
        """Learn, example by example.

        Args:
            examples: lines (a text, a list, an open file), dicts, a NumPy or SciPy matrix, a table of pandas, polars,
                duckdb, pyarrow or Hugging Face datasets, a `Batch`, an iterable of these, or the `pathlib.Path` of a
                file, or a list of paths, that is read as `hutch train` reads it.
            labels: labels of a matrix's rows, shape (examples,); NaN: unlabeled. All other kinds hold their own.
            importance: importances of a matrix's rows, shape (examples,); None: 1.
            columns: the roles of the columns of a table or matrix, or of the keys of dicts, as in
                `hutch.core.data.roles.Roles`; None: those of the chain.
            passes: over the examples, which stay in memory if there are several.
            on_progress: called with a `hutch.plugin.ProgressEvent` after 1, 2, 4, 8, … examples; plugins with the
                hook `hutch_on_progress` then see it, too. None: no events.

        Returns:
            The prediction of each example made before it was learned (progressive), in the last pass, float32
            (examples). Of decisions the score or the probability of each action, in the order of the lines.

        Raises:
            TypeError: examples of another kind.
            ConfigError: columns that do not exist.
            DataError: examples that cannot be used, with their place.

        Warns:
            UserWarning: malformed text, no label at all, labels that the chain is not made for, a namespace that the
                chain names and no example has, a weight table that is more than half full.
        """
        if passes < 1:
            raise ConfigError(f"passes: got {passes}, wanted at least 1")
        alone = passes == 1 and on_progress is None and labels is importance is columns is None
        alone = alone and not self._unexpected.watches_namespaces
        if alone and (found := self.predictions_of_one(examples, True)) is not None:
            return found
        batches = self._batches(examples, labels, importance, columns, passes)
        views = [on_progress, self.plugins.on_progress] if on_progress else []
        found = self._run_passes(batches, learn=True, passes=passes, views=views)
        for text in (*self._unexpected.about_labels(), *self._unexpected.about_missing_labels()):
            warn(text)
        if self.statistics.examples >= _ENOUGH:
            for text in self._unexpected.about_namespaces():
                warn(text)
        if self.statistics.examples >= self.occupancy_from:
            self.occupancy_from = 2 * self.statistics.examples  # looking takes about a millisecond
            if crowded := advice(self):
                warn(crowded)
        return found

    def predict(
        self, examples: Any, labels: Any = None, importance: Any = None, *, columns: AnyRoles = None
    ) -> NDArray[np.float32]:
        """Predict without learning; as `learn`, but the chain stays unchanged, its counters too.

        Returns:
            float32 (examples): the top layer's predictions.

        Warns:
            UserWarning: a value so far outside those learned that its prediction does not follow it.
        """
        alone = labels is importance is columns is None
        if not alone or (found := self.predictions_of_one(examples, False)) is None:
            with self._unchanged():
                found = self._run_passes(self._batches(examples, labels, importance, self._optional(columns)))
        self.warn_of_far_values()
        return found

    def warn_of_far_values(self) -> None:
        """Say once if a prediction did not follow a value, as it lay far outside those learned."""
        if self._bounds_columns:
            for text in self._unexpected.about_far_values():
                warn(text)

    def predict_decisions(self, examples: Any, *, columns: AnyRoles = None) -> list[NDArray[Any]]:
        """Predict decisions over actions with features, without learning; arguments as of `predict`.

        Returns:
            An array for each decision, float32 (actions): the score or the probability of each action. For a layer that
            finds arcs, int64 (lines, 2): the head of each line and the label of the arc.

        Raises:
            ConfigError: the chain does not take such decisions.

        >>> layers = ["explore_epsilon", "contextual_bandit", "cost_sensitive_with_features", "linear"]
        >>> chain = Chain.from_config({"chain": layers})
        >>> two = ["|a tea", "|a coffee", "", "|a milk", "|a beer", "|a gin"]
        >>> [len(chances) for chances in chain.predict_decisions(two)]
        [2, 3]
        """
        if not self.takes.of_decisions:
            raise ConfigError(f"predict_decisions: chain[0].{self.layers[0].name} does not predict decisions")
        found: list[NDArray[Any]] = []

        def see(batch: Batch, outputs: Outputs) -> None:
            if (actions := ~shared_rows(batch)).any():
                ends = np.flatnonzero(np.diff(batch.group[actions])) + 1
                values: Any = outputs.predictions[actions]
                if has(self.layers[0], FindsArcs):
                    values = self.layers[0].arcs(values, outputs.raw[actions])
                found.extend(np.split(values, ends))

        with self._unchanged():
            batches = self._batches(examples, None, None, self._optional(columns))
            run_passes(self, batches, Progress(self, NO_ROWS, ()), learn=False, sink=see)
        return found

    def scores(
        self, examples: Any, labels: Any = None, importance: Any = None, *, columns: AnyRoles = None
    ) -> NDArray[np.float32]:
        """The scores of all classes without learning, float32 (examples, classes); arguments as of `learn`.

        Raises:
            ConfigError: the chain's top layer has none.
        """
        if not self.score_count:
            raise ConfigError(f"chain[0].{self.layers[0].name} predicts {self.predicts.value!r}: it has no scores")
        with self._unchanged():
            return self._run_passes(self._batches(examples, labels, importance, self._optional(columns)), scores=True)

    def _run_passes(
        self,
        batches: Iterable[Batch],
        *,
        learn: bool = False,
        passes: int = 1,
        views: Sequence[View] = (),
        scores: bool = False,
    ) -> NDArray[np.float32]:
        """Predictions or scores of the last pass."""
        progress = Progress(self, Schedule() if views else NO_ROWS, views)
        found = [np.zeros((0, self.score_count) if scores else 0, np.float32)]

        def see(batch: Batch, outputs: Outputs) -> None:
            if progress.pass_number == passes:
                values = outputs.scores if scores else outputs.predictions
                found.append(values[~shared_rows(batch)] if self.takes.of_decisions else values.copy())
            if learn and progress.pass_number == 1:
                self._unexpected.see(batch)

        run_passes(self, batches, progress, passes=passes, learn=learn, sink=see, scores=scores)
        self.last_run = progress.statistics
        return np.concatenate(found)

    def __repr__(self) -> str:
        """The layers from the top, with the settings that are not the defaults, and what was learned."""
        layers = " over ".join(map(_described, self.config.to_dict()["chain"], self.layers))
        seen = self.statistics
        loss = f", average loss {seen.average_loss:.4g}" if seen.weighted_labeled else ""
        return f"<hutch chain: {layers}; {seen.examples:,} examples{loss}>"

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)

    def to_bytes(self) -> bytes:
        """The bytes of the model file that `save` writes."""
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            self.save(path)
            return path.read_bytes()

    @classmethod
    def from_bytes(cls, model: bytes) -> Self:
        """The chain that `to_bytes` or a model file holds.

        Raises:
            ModelError: the bytes are those of no model, or of one that this version does not read.

        >>> chain = Chain.from_config({"chain": ["linear"]})
        >>> _ = chain.learn(["1 |words good"])
        >>> Chain.from_bytes(chain.to_bytes()).predict("|words good") == chain.predict("|words good")
        array([ True])
        """
        import tempfile

        from hutch.core.atomic import write_bytes
        from hutch.core.chain.model_of_chain import load_chain_model

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            write_bytes(path, model)
            return cls.from_arrays(*load_chain_model(path), "<pickle>")

    def save(self, path: str | Path) -> None:
        """Write the whole chain, its configuration and its counters, to a file.

        Raises:
            ModelError: the file cannot be written, or could not be read again, as counters overflowed; an existing file
                stays.
        """
        from hutch.core.chain.limits import check_values
        from hutch.core.chain.model_file import save_model
        from hutch.core.chain.state import limits_of_arrays

        with self.turn:
            arrays, limits = self.arrays(), limits_of_arrays(self.stack)
            try:
                for name, limit in limits.items():
                    if name in arrays:
                        check_values(name, arrays[name], limit)
            except ModelError as error:
                text = f"not written: {error}: learning rates, or numbers of the data, were too large"
                raise ModelError(at(str(path), None, None, text)) from None
            save_model(path, arrays, self.metadata(), whole=[name for name, limit in limits.items() if limit.grows])

    def metadata(self) -> dict[str, Any]:
        """The configuration and the versions of the plugins in use, which a model file holds besides its arrays."""
        used = {("reductions", layer.name) for layer in self.layers}
        parameters = (value for layer in self.config.chain for value in values_of(layer.parameters).values())
        used |= {("losses", value.name) for value in parameters if isinstance(value, LossChoice)}
        origins = {origin for item, origin in self.plugins.registry.origins.items() if item in used}
        notes = {"remarks": self.remarks, "columns": self.watch.known, "lengths": self.watch.lengths}
        found = {"chain": self.config.to_dict(), "plugins": self.plugins.versions(origins)}
        return found | {name: note for name, note in notes.items() if note}

    @classmethod
    def load(cls, path: str | Path, overrides: Iterable[str] = ()) -> Self:
        """Read a chain back; it continues exactly where it was saved.

        Args:
            path: a model file.
            overrides: `path=value` each, for parameters that do not change the meaning of the weights.

        Raises:
            ModelError: no model file, truncated, foreign, newer, or of plugins that are not installed.
            ConfigError: a wrong override.
        """
        from hutch.core.chain.model_of_chain import load_chain_model

        return cls.from_arrays(*load_chain_model(path), str(path), overrides)

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, Stored],
        metadata: Mapping[str, Any],
        source: str,
        overrides: Iterable[str] = (),
        config: Mapping[str, Any] | None = None,
    ) -> Self:
        """Build a chain from the content of a model.

        Args:
            arrays, metadata: as `arrays()` and `metadata()` gave them.
            source: name of the model in messages.
            overrides: as in `load`.
            config: a chain to continue with instead of the model's own, of the same layers.

        Raises:
            ModelError, ConfigError: as `load`.
        """
        from hutch.core.chain.model_file import check_plugins
        from hutch.core.chain.model_of_chain import check_chain

        check_chain(arrays, metadata, source)
        written_as = dict(metadata["chain"])
        written_as["input"] = {"matrix": "", **written_as.get("input", {})}  # "": before there was a name
        try:
            document = chain_config.read_chain(written_as)
            plugins = installed(chain_config.blocked_plugins(document))
            for notice in check_plugins(source, metadata["plugins"], plugins.versions(), plugins.registry.left_out):
                warn(notice)
            written = chain_config.validate(document, plugins.registry)
        except ConfigError as error:
            raise ModelError(f"{source}: its chain cannot be built here:\n{error}") from None
        chain = cls.from_config(written_as if config is None else config, overrides)
        if (bits := chain.config.weights.bits) != written.weights.bits:
            raise ConfigError(f"weights.bits: got {bits}, wanted {written.weights.bits}, those of {source}")
        remarks = metadata.get("remarks")
        chain.remarks = {str(k): str(v) for k, v in remarks.items()} if isinstance(remarks, dict) else {}
        notes = (metadata.get(name) for name in ("columns", "lengths"))
        known, lengths = (note if isinstance(note, dict) else {} for note in notes)
        chain.watch = Watch({str(k): bool(v) for k, v in known.items()}, {str(k): int(v) for k, v in lengths.items()})
        arrays = {**arrays, **chain._changed_since(written)}
        try:
            chain.restore(arrays)
        except ModelError as error:
            raise ModelError(f"{source}: {error}") from None
        return chain

    def _changed_since(self, written: ChainConfig) -> dict[str, NDArray[Any]]:
        """The arrays of parameters, such as the learning rate, whose values differ from those of a model's chain."""
        live, found = self.arrays(), {}
        for k, (old, new) in enumerate(zip(written.chain, self.config.chain, strict=True)):
            for parameter, value in values_of(new.parameters).items():
                name = f"layer.{k}.{new.name}.{parameter}"
                if name in live and getattr(old.parameters, parameter) != value:
                    found[name] = live[name].copy()
        return found


def with_classes(layers: Sequence[Mapping[str, Any] | str], classes: int) -> list[Any]:
    """The layers, with the number of classes filled in where a layer needs it."""
    reductions = installed().registry.reductions
    found: list[Any] = []
    for layer in layers:
        name, given = (layer, None) if isinstance(layer, str) else next(iter(layer.items()))
        known = [each.name for each in parameters_of(reductions[name].Parameters)] if name in reductions else []
        given = dict(given or {})
        if "classes" in known and "classes" not in given:
            given["classes"] = classes
        found.append({name: given})
    return found


def _described(given: Mapping[str, Any] | str, layer: Any) -> str:
    """A layer by its name and the settings that are not the defaults."""
    [(name, settings)] = [(given, {})] if isinstance(given, str) else given.items()
    defaults = {field.name: field.default for field in fields(layer.parameters)}
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in defaults.items()}
    own = [f"{key}={value}" for key, value in settings.items() if value != plain.get(key, MISSING)]
    return f"{name}({', '.join(own)})" if own else str(name)
