"""A learner built from settings, and the model file that holds both: the base of `hutch em`."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from hutch.core.chain.limits import FINITE, check_arrays, check_values
from hutch.core.chain.model_file import load_compact, load_metadata, save_model
from hutch.core.chain.stored import dense, parts_of
from hutch.core.errors import ConfigError, ModelError, at, did_you_mean, shortened
from hutch.em.base.learner import Learner, unpack
from hutch.em.base.model import Model, Rows
from hutch.em.base.schedule import Schedule
from hutch.em.constrained.natural import NaturalPPCA
from hutch.em.constrained.natural_class import ClassPPCA
from hutch.em.engine import OnlineEM
from hutch.em.models import ModelEntry
from hutch.em.nat_oem import Form, Metric, Mode, NatOEM
from hutch.plugins.of_models import ask_for_packages, packages_of

Regularizer = Literal["exact", "nat_oem", "none"]
_FEW, _ZEROS = 1 << 16, 64
"""Numbers that an array may have without a question, and zeros that it may leave out for each one in the file."""
_EXPONENTS = {"exact": 1.0, "nat_oem": 0.6, "none": 0.8}


@dataclass(frozen=True, slots=True)
class Settings:
    """How to fit. None means the regularizer's default; settings it does not use must be None.

    Attributes:
        model: a name of `hutch.em.models`.
        rank: latent dimension, ≥ 1.
        regularizer: `exact`, the natural step, solved; `nat_oem`; `none`, plain online EM.
        mode: `step` or `class`, of exact and nat_oem.
        form, metric, beta: of nat_oem, see `NatOEM`.
        exponent, scale: of the step size, see `Schedule`; not of the exact class mode.
        block: samples of a step.
        sketch: of the exact step mode, see `NaturalPPCA`.
        past, balanced: of the exact class mode, see `ClassPPCA`.
        missing: NaN is a missing value.
        seed: of the random start.
    """

    model: str = "ppca"
    rank: int = 10
    regularizer: Regularizer = "exact"
    mode: Mode | None = None
    form: Form | None = None
    metric: Metric | None = None
    beta: float | None = None
    exponent: float | None = None
    scale: float | None = None
    block: int | None = None
    sketch: int | None = None
    past: float | None = None
    balanced: bool | None = None
    missing: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, valid in (
            ("regularizer", self.regularizer, get_args(Regularizer)),
            ("mode", self.mode or "step", get_args(Mode)),
        ):
            if value not in valid:
                raise ConfigError(f"{name}: got {value!r}; {did_you_mean(str(value), valid)}")
        exact_class = self.regularizer == "exact" and self.mode == "class"
        if exact_class and self.missing:
            raise ConfigError("missing: exact in class mode takes no missing values; wanted mode step or nat_oem")
        useless = {
            "nat_oem": () if self.regularizer == "nat_oem" else ("form", "metric", "beta"),
            "exact or nat_oem": ("mode",) if self.regularizer == "none" else (),
            "exact in class mode": () if exact_class else ("past", "balanced"),
            "exact in step mode": ("sketch",) if exact_class or self.regularizer != "exact" else (),
            "anything but exact in class mode": ("exponent", "scale") if exact_class else (),
        }
        for owner, names in useless.items():
            for name in names:
                if getattr(self, name) is not None:
                    raise ConfigError(f"{name}: got {getattr(self, name)}, but it belongs to the regularizer {owner}")

    @property
    def classes(self) -> bool:
        """Whether the learner uses the ends of classes."""
        return self.mode == "class"


def create(settings: Settings, rows: Rows, entry: ModelEntry) -> Learner[Any]:
    """A learner at its start.

    Args:
        settings: how to fit.
        rows: the first rows of the stream.
        entry: of the model that the settings name.

    Raises:
        ConfigError: the regularizer has no form for the model.
    """
    if settings.regularizer == "exact" and not entry.exact:
        raise ConfigError(f"regularizer: exact is ppca's, got the model {settings.model!r}; wanted nat_oem or none")
    if settings.regularizer == "exact":
        return _closed(settings, rows)
    return _iterative(settings, *entry.build(rows, settings.rank, settings.seed, settings.missing))


def save(path: str | Path, learner: Learner[Any], settings: Settings, counters: dict[str, Any]) -> None:
    """Write a model file, in one step.

    Args:
        path: where to.
        learner: returned by `create`.
        settings: those it was created with.
        counters: further information for people: any JSON.
    """
    state = {f"state.{name}": value for name, value in learner.state().items()}
    if isinstance(learner, OnlineEM):
        state |= {f"model.{name}": value for name, value in learner.model.constants().items()}
    metadata = {"settings": asdict(settings), "counters": counters, **packages_of("em_models", settings.model)}
    save_model(path, state, metadata, kind="em")


def load(path: str | Path, entries: dict[str, ModelEntry]) -> tuple[Learner[Any], Settings]:
    """Read a model file; learning continues bit for bit.

    Args:
        path: written by `save`.
        entries: the known models, by name.

    Raises:
        ModelError: the file cannot be used, or the plugin that its model comes from is not installed.
        ConfigError: its model is not installed.
    """
    from hutch.core.config.adapter import adapter  # not at the top: it imports pydantic

    arrays, metadata = load_compact(path, kind="em")
    ask_for_packages(path, metadata)
    try:
        for name, array in arrays.items():
            check_values(name, parts_of(array), FINITE)
        settings = adapter(Settings).validate_python(metadata["settings"])
        numbers = sum(parts_of(array).size for array in arrays.values())
        if not 0 < settings.rank <= max(numbers, Settings().rank):  # a plugin's model may not look at the rank
            raise ModelError(f"rank: got {settings.rank}, but all arrays together have {numbers} numbers")
        if "model.rank" in arrays and (rank := dense(arrays["model.rank"]).tolist()) != settings.rank:
            raise ModelError(f"model.rank: got {shortened(str(rank))}, wanted {settings.rank}, as its settings say")
        parts: dict[str, dict[str, Any]] = {"state": {}, "model": {}}
        for name, array in arrays.items():
            if math.prod(array.shape) > max(_FEW, _ZEROS * numbers):
                raise ModelError(f"{name}: got shape {array.shape}, but the file holds {numbers} numbers")
            part, _, rest = name.partition(".")
            parts[part][rest] = dense(array)
        learner = _rebuilt(settings, parts, entries)
        fresh = learner.state()  # an anchor comes with the first boundary
        check_arrays({name: array for name, array in parts["state"].items() if name in fresh}, fresh, {})
        learner.restore(parts["state"])
        check_arrays(parts["state"], learner.state(), {})
    except KeyError as error:
        raise ModelError(at(str(path), None, None, f"the model lacks {str(error)[:80]}")) from None
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, np.linalg.LinAlgError) as error:
        raise ModelError(at(str(path), None, None, f"the model is damaged: {str(error)[:200]}")) from None
    except MemoryError:
        raise ModelError(at(str(path), None, None, "its settings ask for more memory than there is")) from None
    except ModelError as error:
        raise ModelError(at(str(path), None, None, str(error))) from None
    return learner, settings


def last_class(path: str | Path) -> str | None:
    """The class of the last row that a saved model has learned; None if classes were not known."""
    counters = load_metadata(path, kind="em").get("counters")
    found = counters.get("last_class") if isinstance(counters, dict) else None
    return found if isinstance(found, str) else None


def _rebuilt(settings: Settings, parts: dict[str, dict[str, Any]], entries: dict[str, ModelEntry]) -> Learner[Any]:
    """A learner of these settings, of the sizes that a model's arrays have."""
    if settings.regularizer == "exact":
        mean = parts["state"]["start.mean" if settings.classes else "sketch.mean"]
        return _closed(settings, mean[None])
    entry = find(settings.model, entries)
    start = unpack(entry.parameters, parts["state"], "current")
    return _iterative(settings, entry.rebuild(parts["model"]), start)


def find(name: str, entries: dict[str, ModelEntry]) -> ModelEntry:
    """The entry of that name.

    Raises:
        ConfigError: the name is unknown.
    """
    if name not in entries:
        raise ConfigError(f"model: got {name!r}; {did_you_mean(name, entries)}")
    return entries[name]


def _closed(settings: Settings, rows: Rows) -> Learner[Any]:
    block = settings.block or (16 if settings.missing else 256)
    if settings.classes:
        past = 1.0 if settings.past is None else settings.past
        return ClassPPCA(rows, settings.rank, block=block, past=past, balanced=bool(settings.balanced))
    sketch, missing = settings.sketch or 1, settings.missing
    return NaturalPPCA(rows, settings.rank, _schedule(settings), block=block, sketch=sketch, missing=missing)


def _iterative(settings: Settings, model: Model[Any], start: Any) -> Learner[Any]:
    constraint: NatOEM[Any] | None = None
    if settings.regularizer == "nat_oem":
        beta = 1.0 if settings.beta is None else settings.beta
        constraint = NatOEM(beta, mode=settings.mode or "step", form=settings.form or "kl", metric=settings.metric)
    return OnlineEM(model, start, _schedule(settings), block=settings.block or 1, constraint=constraint)


def _schedule(settings: Settings) -> Schedule:
    exponent = _EXPONENTS[settings.regularizer] if settings.exponent is None else settings.exponent
    return Schedule(exponent, 1.0 if settings.scale is None else settings.scale)
