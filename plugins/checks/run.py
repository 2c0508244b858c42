"""Contract tests that any loss, reduction or model can be put through, ours and yours.

In a plugin's tests:

    from hutch.plugin import check_loss
    from hutch_huber import HUBER

    def test_contract():
        check_loss(HUBER)

or, with a test per check,

    import pytest
    from hutch.plugin import checks_of_loss
    from hutch_huber import HUBER

    @pytest.mark.parametrize("check", checks_of_loss(HUBER), ids=str)
    def test_contract(check):
        check()

`hutch plugins check NAME` runs the same.
"""

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np

from hutch.core.chain.reduction import Reduction
from hutch.core.chain.registry import Registry
from hutch.core.errors import HutchError, PluginError, did_you_mean
from hutch.core.hooks import PROJECT
from hutch.core.loss.losses import Loss, LossLabels
from hutch.plugins.checks.chain import Bench, bench
from hutch.plugins.checks.loss import LOSS_CHECKS, Points, importance_aware
from hutch.plugins.checks.reduction import REDUCTION_CHECKS, huge_importance, magnitudes, parameters_documented
from hutch.plugins.checks.submodels import width
from hutch.plugins.manager import Plugins, failure_of, installed

_SECONDS, _IMPORTS = 0.3, 4  # that an import may take, and attempts


@dataclass(frozen=True, slots=True)
class Check:
    """One check of one thing; calling it raises `AssertionError` with the values got and wanted.

    A part that fails a check on purpose declares it in its `known_failures`; the call then raises if the check passes.

    Attributes:
        subject: name of the loss or reduction.
        name: of the check.
        known_failure: the reason why the check is expected to fail; empty if it must pass.
    """

    subject: str
    name: str
    _run: Callable[[], None] = field(repr=False)
    known_failure: str = ""

    def __call__(self) -> None:
        if not self.known_failure:
            self._run()
        elif self.failure() is None:
            raise AssertionError(f"{self}: got no failure, wanted the known one: {self.known_failure}")

    def failure(self) -> str | None:
        """Message about the failure, known or not; None without one."""
        try:
            self._run()
        except MemoryError as error:
            return f"out of memory{f': {error}' if str(error) else ''}"
        except Exception as error:  # third-party code may raise anything
            placed = None if isinstance(error, AssertionError | HutchError) else failure_of(error)
            return placed or str(error).strip() or type(error).__name__
        return None

    def __str__(self) -> str:
        return f"{self.subject}:{self.name}"


def checks_of_loss(loss: Loss, parameters: Mapping[str, float] | None = None) -> list[Check]:
    """The checks of a loss: gradient, convexity, importance awareness, h_min, extremes, and as a part of a chain.

    Args:
        loss: the loss; it need not be installed.
        parameters: values of its parameters; those left out have their defaults.
    """
    return _checks(loss, runs_of_loss(loss, _registry(None), parameters))


def runs_of_loss(
    loss: Loss, registry: Registry, parameters: Mapping[str, float] | None = None
) -> dict[str, Callable[[], None]]:
    """What the checks of a loss run, by the name of the check.

    Args:
        loss, parameters: as for `checks_of_loss`.
        registry: the reductions of the chain that it is tried in.
    """
    chosen = {loss.name: dict(parameters)} if parameters else loss.name
    known = _registry(registry)
    known.losses[loss.name] = loss
    points = cache(lambda: Points(loss, parameters or {}))

    def in_a_chain() -> None:
        made = bench(known.reductions["linear"], known, {"loss": chosen})
        made = replace(made, labels=(0.0, 3.0)) if loss.labels == LossLabels.COUNT else made
        for check in REDUCTION_CHECKS:
            if importance_aware(loss) or check not in (huge_importance, magnitudes):  # plain steps may diverge
                check(made)

    def on_points(check: Callable[[Points], None]) -> None:
        with np.errstate(invalid="ignore", over="ignore"):  # what a wrong loss gives may be infinite
            check(points())

    runs = {check.__name__: partial(on_points, check) for check in LOSS_CHECKS}
    return runs | {"in_a_chain": in_a_chain}


def checks_of_reduction(
    reduction: type[Reduction],
    parameters: Mapping[str, Any] | None = None,
    below: Sequence[Mapping[str, Any] | str] | None = None,
    registry: Registry | None = None,
) -> list[Check]:
    """The checks of a reduction: learning, predicting, seeds, saving, and unusual data.

    Args:
        reduction: the class; it need not be installed.
        parameters: its parameters; None: defaults, and for those without one their `ExampleValue` or a guess.
        below: the layers below it, as in YAML; None: `linear`, or the layers that the reduction requires.
        registry: the installed plugins; None: those of this process.
    """
    return _checks(reduction, runs_of_reduction(reduction, registry, parameters, below))


def runs_of_reduction(
    reduction: type[Reduction],
    registry: Registry | None,
    parameters: Mapping[str, Any] | None = None,
    below: Sequence[Mapping[str, Any] | str] | None = None,
) -> dict[str, Callable[[], None]]:
    """What the checks of a reduction run, by the name of the check; arguments as for `checks_of_reduction`."""
    made = cache(lambda: bench(reduction, _registry(registry), parameters, below))

    @cache
    def beyond() -> str:
        try:
            width(made())
        except AssertionError as error:
            return f"not tried, since it could end the process: {error}"
        return ""

    def run(check: Callable[[Bench], None]) -> None:
        if check not in (parameters_documented, width) and (why := beyond()):
            raise AssertionError(why)
        check(made())

    return {check.__name__: partial(run, check) for check in REDUCTION_CHECKS}


def _checks(subject: Any, runs: Mapping[str, Callable[[], None]], called: str = "") -> list[Check]:
    called, known_failures = called or subject.name, getattr(subject, "known_failures", {})
    for name in known_failures:
        if name not in runs:
            raise PluginError(f"{called}.known_failures: no check {name!r}; {did_you_mean(name, runs)}")
    return [Check(called, name, run, known_failures.get(name, "")) for name, run in runs.items()]


def checks_of_crowd_model(model: type[Any]) -> list[Check]:
    """The checks of a crowd model: probabilities, sums over items, history, storing.

    Args:
        model: the class; it need not be installed.
    """
    registry = installed().registry
    return _checks(model, registry.checks["crowd_models"](model, registry))


def check_loss(loss: Loss, parameters: Mapping[str, float] | None = None) -> None:
    """Run the checks of a loss; arguments as for `checks_of_loss`.

    Raises:
        AssertionError: a line for each check that fails.
    """
    _run_all(checks_of_loss(loss, parameters))


def check_reduction(
    reduction: type[Reduction],
    parameters: Mapping[str, Any] | None = None,
    below: Sequence[Mapping[str, Any] | str] | None = None,
    registry: Registry | None = None,
) -> None:
    """Run the checks of a reduction; arguments as for `checks_of_reduction`.

    Raises:
        AssertionError: a line for each check that fails.
    """
    _run_all(checks_of_reduction(reduction, parameters, below, registry))


def check_crowd_model(model: type[Any]) -> None:
    """Run the checks of a crowd model; arguments as for `checks_of_crowd_model`.

    Raises:
        AssertionError: a line for each check that fails.
    """
    _run_all(checks_of_crowd_model(model))


def _run_all(checks: Sequence[Check]) -> None:
    failed = []
    for check in checks:
        try:
            check()
        except Exception as error:  # third-party code may raise anything
            failed.append(str(error) if check.known_failure else f"{check}: {str(error) or type(error).__name__}")
    if failed:
        raise AssertionError("\n".join([f"{len(failed)} of {len(checks)} checks failed", *failed]))


def _registry(given: Registry | None) -> Registry:
    source = given or installed().registry
    return Registry(dict(source.reductions), dict(source.losses))


def loads_fast(module: str) -> None:
    """Fail if the import of a plugin's module, which each command may need, takes long."""
    clock = "time.process_time()"  # of a busy machine, too, it tells what the module costs
    code = f"import time, hutch.plugin; t = {clock}; import {module}; print({clock} - t)"
    took = []
    for _ in range(_IMPORTS):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(f"import {module}: {done.stderr.strip().splitlines()[-1]}")
        took.append(float(done.stdout.splitlines()[-1]))
        if took[-1] <= _SECONDS:
            return
    got = f"got {min(took):.2f} s at best"
    raise AssertionError(
        f"import {module}: {got}, wanted {_SECONDS} s: import what is slow in the function that needs it"
    )


def parts_of(name: str, plugins: Plugins) -> list[tuple[str, str, Any]]:
    """Everything that has a name and can be checked: kinds, own names, items.

    Args:
        name: a loss, a reduction, a crowd model, a plugin or a distribution.
        plugins: the installed plugins.
    """
    registry = plugins.registry
    origins = {plugin.name for plugin in plugins if name in (plugin.name, plugin.distribution)}
    return [
        (kind, key, part)
        for kind in registry.checks
        for key, part in getattr(registry, kind).items()
        if key == name or registry.origins[kind, key] in origins
    ]


def checks_of(name: str, plugins: Plugins | None = None) -> list[Check]:
    """The checks of everything that has this name.

    Args:
        name: a loss, a reduction, a crowd model, a plugin or a distribution.
        plugins: the installed plugins; None: those of this process.

    Raises:
        PluginError: nothing of that name is installed, or it has nothing to check.
    """
    plugins = plugins or installed()
    registry = plugins.registry
    origins = {plugin.name for plugin in plugins if name in (plugin.name, plugin.distribution)}
    found = [
        check
        for kind, key, part in parts_of(name, plugins)
        for check in _checks(part, registry.checks[kind](part, registry), key)
    ]
    if not found:
        parts = {kind: getattr(registry, kind) for kind in registry.checks}
        known = {key for items in parts.values() for key in items}
        known |= {each for plugin in plugins for each in (plugin.name, plugin.distribution)}
        what = f"is not installed; {did_you_mean(name, known)}"
        if origins:
            hooks = any(plugin.hooks for plugin in plugins if plugin.name in origins)
            what = f"has none of {', '.join(kind.replace('_', ' ') for kind in parts)} to check"
            what += "" if hooks else ": it has no hooks, which are functions below @hookimpl"
        raise PluginError(f"{name!r} {what}")
    return found + [
        Check(plugin.name, "loads_fast", partial(loads_fast, module))
        for plugin in plugins
        if plugin.name in origins and plugin.distribution != PROJECT and (module := plugins.module_of(plugin.name))
    ]
