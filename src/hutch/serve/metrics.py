"""The content of `/metrics`, in Prometheus' text format."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from hutch.durable.log import Log
from hutch.serve.answers import WINDOW
from hutch.serve.served import Served

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class _OfModels(Collector):
    """Metrics that are read from the models at each request."""

    def __init__(self, models: Mapping[str, Served], log: Log) -> None:
        self._models, self._log = models, log

    def collect(self) -> Iterator[Any]:
        counters: dict[str, tuple[str, Callable[[Served], float]]] = {
            "hutch_examples": (
                "Examples learned, those before this server included.",
                lambda s: s.chain.statistics.examples,
            ),
            "hutch_queries": ("Labels asked for by an active layer.", lambda s: s.chain.statistics.queries),
            "hutch_failed_saves": ("Saves that failed since the server started.", lambda s: s.failed_saves),
        }
        gauges: dict[str, tuple[str, Callable[[Served], float]]] = {
            "hutch_progressive_loss": ("Mean loss of predictions made before learning, over all examples.", _mean_loss),
            "hutch_recent_loss": (f"The same, over the last {WINDOW} examples or so.", _recent_loss),
            "hutch_recent_examples": ("Examples behind the recent loss and the drift.", lambda s: s.recent.count),
            "hutch_drift": ("Recent loss less progressive loss.", lambda s: _recent_loss(s) - _mean_loss(s)),
            "hutch_log_entries_to_save": ("Requests learned that the file lacks.", lambda s: s.position - s.saved),
            "hutch_seconds_since_save": ("Seconds since the model's file was written.", lambda s: now - s.saved_at),
            "hutch_model_age_seconds": ("Seconds since the model learned last.", lambda s: now - s.learned_at),
        }
        now = time.time()
        for kind, families in ((CounterMetricFamily, counters), (GaugeMetricFamily, gauges)):
            for name, (text, value) in families.items():
                family = kind(name, text, labels=["model"])
                for model, served in self._models.items():
                    if (found := float(value(served))) == found:  # omitted while unknown
                        family.add_metric([model], found)
                yield family
        rejected = CounterMetricFamily(
            "hutch_rejected_learn_requests", "Learn requests that were refused, by reason.", labels=["model", "reason"]
        )
        for model, served in self._models.items():
            for reason, count in served.rejected.items():
                rejected.add_metric([model, reason], count)
        yield rejected
        yield GaugeMetricFamily("hutch_store_bytes", "Bytes of the store's files.", self._log.size)
        yield GaugeMetricFamily("hutch_drift_window", "Examples over which drift is told.", WINDOW)


def _mean_loss(served: Served) -> float:
    found = served.chain.statistics
    return found.sum_loss / found.weighted_labeled if found.weighted_labeled else math.nan


def _recent_loss(served: Served) -> float:
    return served.recent.mean if served.recent.count else math.nan


class Metrics:
    """Counts and times requests.

    Args:
        models: the models by name.
        log: theirs.
    """

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, models: Mapping[str, Served], log: Log) -> None:
        self._registry = CollectorRegistry()
        self._requests = Histogram(
            "http_server_request_duration_seconds",
            "Seconds from the headers of a request to the end of its answer; the name is OpenTelemetry's.",
            ["http_request_method", "http_route", "http_response_status_code"],
            registry=self._registry,
            buckets=_BUCKETS,
        )
        self._registry.register(_OfModels(models, log))
        syncs = Histogram(
            "hutch_commit_seconds",
            "Seconds per transaction of the log, its sync included.",
            registry=self._registry,
            buckets=_BUCKETS,
        )
        log.commits.committed = syncs.observe

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request.

        Args:
            method, route: of an existing route, or `other`.
            status: of the answer.
            seconds: from its headers to the end of the answer.
        """
        self._requests.labels(method, route, str(status)).observe(seconds)

    def text(self) -> bytes:
        """All figures as text."""
        return generate_latest(self._registry)
