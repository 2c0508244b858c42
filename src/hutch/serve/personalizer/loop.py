"""A learning loop's settings and state in the terms of Personalizer: service configuration, model properties."""

import math
import re
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from hutch.core.strict_json import dumps
from hutch.durable.loops import Loop, counts_of, keep_loop, loop_of, said_of
from hutch.serve.bodies import parse_json
from hutch.serve.decisions import Caller
from hutch.serve.personalizer.requests import checked_object, wrong
from hutch.serve.served import Served

MODES = ("Online", "Apprentice")
_OPTIONS = {
    "rewardWaitTime": "start the server with --reward-wait SECONDS",
    "defaultReward": "start the server with --default-reward X",
    "rewardAggregation": "the first reward of an event counts; add rewards up before you send them",
    "explorationPercentage": "the chain decides how it explores; the share of an apprentice is set with learningMode",
    "modelExportFrequency": "the model in service learns each reward at once",
    "logRetentionDays": "start the server with --remember DAYS",
    "isAutoOptimizationEnabled": "hutch evaluate compares chains",
    "logMirrorEnabled": "the log is beside the model; hutch serve log decisions writes it as dsjson",
    "isInferenceExplainabilityEnabled": "hutch inspect shows the weights",
}
"""Settings that a request may repeat but not change, and what to do instead."""
_UNSET = ("autoOptimizationFrequency", "autoOptimizationStartDate", "lastConfigurationEditDate", "logMirrorSasUri",
          "modelRetrainDays", "latestTrainedDate")  # fmt: skip
"""Settings that mean nothing while what they belong to is off."""
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")


def duration(seconds: float) -> str:
    """Seconds as a duration of ISO 8601.

    >>> duration(600), duration(90000.5)
    ('PT600S', 'PT90000.5S')
    """
    return f"PT{seconds:.10g}S"


def seconds_of(text: str) -> float | None:
    """The seconds of a duration of ISO 8601 without months; None if it is none.

    >>> seconds_of("PT4H"), seconds_of("P1DT0.5S"), seconds_of("4 h")
    (14400.0, 86400.5, None)
    """
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        return None
    return float(sum(float(part or 0) * each for part, each in zip(found.groups(), (86400, 3600, 60, 1), strict=True)))


class LoopSettings:
    """The settings of the loop of a model.

    Args:
        served: the model.
    """

    def __init__(self, served: Served) -> None:
        self._served = served
        with served.log.store.transaction() as connection:
            found = loop_of(connection, served.key)
        self._apprentice, self._share = found.apprentice, found.share

    def caller(self, action: int) -> Caller | None:
        """The choice of the caller, if the model is its apprentice."""
        return Caller(action, self._share) if self._apprentice else None

    def configuration(self) -> dict[str, Any]:
        """The service configuration."""
        default = self._served.default
        return {
            "rewardWaitTime": duration(default.seconds) if default is not None else None,
            "defaultReward": -default.cost if default is not None else None,
            "rewardAggregation": "earliest",
            "explorationPercentage": self._share if self._apprentice else _explored(self._served),
            "modelExportFrequency": duration(0),
            "logRetentionDays": _days(self._served),
            "learningMode": MODES[self._apprentice],
            "isAutoOptimizationEnabled": False,
            "logMirrorEnabled": False,
            "isInferenceExplainabilityEnabled": False,
        }

    async def configure(self, body: bytes) -> dict[str, Any]:
        """Change the learning mode, and the share of events in which an apprentice draws; returns the configuration.

        Raises:
            DataError: a setting that cannot be changed while the server runs, with what to do instead.
        """
        now = self.configuration()
        found = checked_object(parse_json(body), "", (*now, *_UNSET))
        mode = found.get("learningMode") or now["learningMode"]
        if mode not in MODES:
            raise wrong("learningMode", f"got {dumps(mode)[:40]}, wanted {' or '.join(MODES)}")
        share = found.get("explorationPercentage") if mode == "Apprentice" else None
        if share is not None and not (type(share) in (int, float) and 0 <= share < 1):
            raise wrong("explorationPercentage", f"got {dumps(share)[:40]}, wanted a share from 0, and below 1")
        for name, way in _OPTIONS.items():
            if name == "explorationPercentage" and mode == "Apprentice":
                continue
            if found.get(name) is not None and not _same(name, found[name], now[name]):
                raise wrong(name, f"got {dumps(found[name])[:40]}, but it is {dumps(now[name])}; {way}")
        await self._change(mode == "Apprentice", float(share or 0.0))
        return self.configuration()

    async def _change(self, apprentice: bool, share: float) -> None:
        """Change the mode; a comparison begins anew."""
        if (apprentice, share) == (self._apprentice, self._share) or (not apprentice and not self._apprentice):
            return
        key = self._served.key

        def change(connection: Any) -> None:
            old = loop_of(connection, key)
            loop = Loop(True, share) if apprentice else replace(old, apprentice=False)
            keep_loop(connection, key, loop)

        await self._served.log.commits.done(change)
        self._apprentice, self._share = apprentice, share if apprentice else self._share

    async def statistics(self) -> dict[str, Any]:
        """How the loop goes."""
        served = self._served
        (events, learned, total), loop = await served.log.commits.done(
            lambda connection: (counts_of(connection, served.key), loop_of(connection, served.key))
        )
        found: dict[str, Any] = {
            "model": served.name,
            "learningMode": MODES[loop.apprentice],
            "events": events,
            "learned": learned,
            "mean_reward": total / learned if learned else None,
        }
        return found | ({"apprentice": _compared(loop)} if loop.events else {})


def _compared(loop: Loop) -> dict[str, Any]:
    """The apprentice beside its caller."""
    found: dict[str, Any] = {"share": loop.share, "events": loop.events, "agreement": loop.agreed / loop.events}
    found["agreement_interval"] = loop.agreement()
    if (ends := loop.interval()) is not None:
        found["caller_reward"] = loop.caller / loop.counted
        found["advantage"], found["advantage_interval"] = loop.advantage / loop.counted, ends
        found["counted"] = loop.counted
    return {**found, "better_since": loop.better, "said": said_of(loop)}


def _explored(served: Served) -> float | None:
    """The share that the first layer gives to all actions, if it has one."""
    found = asdict(served.chain.layers[0].parameters).get("epsilon")
    return float(found) if isinstance(found, int | float) else None


def _days(served: Served) -> float:
    seconds = served.log.remembered
    return -1 if math.isinf(seconds) else seconds / 86400


def _same(name: str, given: Any, now: Any) -> bool:
    if name in ("rewardWaitTime", "modelExportFrequency"):
        seconds = seconds_of(given) if isinstance(given, str) else None
        return seconds is not None and now is not None and seconds == seconds_of(now)
    return bool(given == now)


def model_properties(served: Served) -> dict[str, str]:
    """When the model was made and changed last."""
    made = served.log.store.rows("SELECT min(time) FROM serve_starts")[0][0]
    return {"creationTime": _time(made), "lastModifiedTime": _time(served.learned_at)}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
