"""What `/metrics` says, in Prometheus' text format."""

import math
import time
from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from hutch.serve.served import Served

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class _OfModels(Collector):
    """What is read off the models when somebody asks."""

    def __init__(self, models: Mapping[str, Served]) -> None:
        self._models = models

    def collect(self) -> Iterator[Any]:
        counters = {
            "hutch_examples": ("Examples learned, those before this server included.", "examples"),
            "hutch_queries": ("Labels asked for by an active layer.", "queries"),
        }
        for name, (text, field) in counters.items():
            family = CounterMetricFamily(name, text, labels=["model"])
            for model, served in self._models.items():
                family.add_metric([model], getattr(served.chain.statistics, field))
            yield family
        gauges = {
            "hutch_progressive_loss": ("Mean loss of predictions made before learning, over all examples.", _mean_loss),
            "hutch_recent_loss": ("The same, over the last thousand examples or so.", lambda s: s.recent_loss),
            "hutch_drift": ("Recent loss less progressive loss.", lambda s: s.recent_loss - _mean_loss(s)),
            "hutch_log_entries_to_save": ("Requests learned that the model's file does not hold.", _unsaved),
            "hutch_seconds_since_save": ("Seconds since the model was saved.", _age),
        }
        for name, (text, value) in gauges.items():
            gauge = GaugeMetricFamily(name, text, labels=["model"])
            for model, served in self._models.items():
                gauge.add_metric([model], value(served))
            yield gauge


def _mean_loss(served: Served) -> float:
    found = served.chain.statistics
    return found.sum_loss / found.weighted_labeled if found.weighted_labeled else math.nan


def _unsaved(served: Served) -> float:
    return float(served.position - served.saved)


def _age(served: Served) -> float:
    return time.time() - served.saved_at if served.saved_at else math.nan


class Metrics:
    """Counts and times requests.

    Args:
        models: the models by name.
    """

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, models: Mapping[str, Served]) -> None:
        self._registry = CollectorRegistry()
        self._requests = Histogram(
            "http_server_request_duration_seconds",
            "Seconds from the headers of a request to the end of its answer; the name is OpenTelemetry's.",
            ["http_request_method", "http_route", "http_response_status_code"],
            registry=self._registry,
            buckets=_BUCKETS,
        )
        self._registry.register(_OfModels(models))

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request.

        Args:
            method, route: of one that the server has, or `other`.
            status: of the answer.
            seconds: from its headers to the end of the answer.
        """
        self._requests.labels(method, route, str(status)).observe(seconds)

    def text(self) -> bytes:
        """All figures as text."""
        return generate_latest(self._registry)
