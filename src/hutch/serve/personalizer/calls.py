"""Personalizer's rank, reward and activate, on the path of `hutch serve`'s own decisions."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hutch.core.chain.reduction import Labels
from hutch.core.errors import DataError, did_you_mean
from hutch.durable.choices import Reward, UnknownDecision
from hutch.durable.records import check_name
from hutch.net.application import Asked, Field, Refused, Route
from hutch.serve import decisions
from hutch.serve.app import Interface
from hutch.serve.bodies import DSJSON, SOURCE
from hutch.serve.personalizer.errors import DIALECT
from hutch.serve.personalizer.loop import LoopSettings, model_properties
from hutch.serve.personalizer.refused import REFUSED
from hutch.serve.personalizer.requests import LONGEST, RankRequest, rank_request, reward_value
from hutch.serve.personalizer.schemas import RANK, RANK_SLOTS, REWARD, REWARD_SLOTS, SERVICE
from hutch.serve.personalizer.slots import activate_slots, rank_slots, reward_slots, slots_request
from hutch.serve.served import Served

VERSIONS = ("v1.0", "v1.1-preview.1", "v1.1-preview.2", "v1.1-preview.3")
"""Versions that stand in the path."""
_DATED = "2022-09-01-preview"
"""The version that stands in the query."""
_VERSION = Field("version", f"of Personalizer's interface: {', '.join(VERSIONS)}", where="path")
_ID = "eventId"
_EVENT = Field(_ID, "of the event, as rank has answered it", where="path", longest=LONGEST)
_API_VERSION = Field("api-version", _DATED)
_OF_MODEL = Field("model", "name of the model; left out, the first")


class Calls:
    """Answers Personalizer's requests.

    Args:
        models: by name; the first one answers where the path names none.
    """

    def __init__(self, models: Mapping[str, Served]) -> None:
        self._models = models
        self._loops = {name: LoopSettings(served) for name, served in models.items()}

    def _model(self, asked: Asked) -> Served:
        """The model of a request, whose version is checked as well."""
        if "version" in asked.parts:
            if asked.parts["version"] not in VERSIONS:
                raise Refused(404, f"version: got {asked.parts['version'][:40]!r}, wanted one of {', '.join(VERSIONS)}")
        elif asked.query.get("api-version") != _DATED:
            raise Refused(400, f"api-version: got {asked.query.get('api-version')!r:.40}, wanted {_DATED}")
        name = asked.parts.get("model", next(iter(self._models)))
        if name not in self._models:
            raise Refused(404, f"model: there is no {name[:100]!r}; {did_you_mean(name[:100], self._models)}")
        served = self._models[name]
        if served.chain.takes is not Labels.LOGGED_ACTION:
            got = f"the model {name!r} takes labels {served.chain.takes.value!r}"
            raise DataError(f"{got}, wanted a chain of decisions over actions with features")
        if served.weigher is not None:
            raise DataError(
                f"the model {name!r} learns metrics, and Personalizer's rewards are numbers; wanted /v1/reward"
            )
        return served

    @staticmethod
    def _event(asked: Asked) -> str:
        return check_name(asked.parts[_ID], _ID, LONGEST)

    async def rank(self, asked: Asked) -> dict[str, Any]:
        """POST rank."""
        served, wanted = self._model(asked), rank_request(asked.body)
        answer = await decisions.rank(
            served,
            DSJSON,
            wanted.decision,
            wanted.id,
            deferred=wanted.deferred,
            caller=self._loops[served.name].caller(0),  # the first action that is not excluded
            called=_ID,
        )
        return {
            "ranking": _ranking(wanted, answer),
            "eventId": answer["id"],
            "rewardActionId": wanted.ids[wanted.kept[answer["action"]]],
        }

    async def reward(self, asked: Asked) -> None:
        """POST events/{eventId}/reward."""
        told = Reward(self._event(asked), -reward_value(asked.body), (SOURCE, None, None), "reward", _ID)
        await _known(decisions.reward_first(self._model(asked), [told]))

    async def activate(self, asked: Asked) -> None:
        """POST events/{eventId}/activate."""
        await _known(decisions.activate(self._model(asked), [self._event(asked)], _ID))

    async def rank_slots(self, asked: Asked) -> dict[str, Any]:
        """POST multislot/rank."""
        served = self._model(asked)
        caller = self._loops[served.name].caller(0)
        return await rank_slots(served, slots_request(asked.body), None if caller is None else caller.share)

    async def reward_slots(self, asked: Asked) -> None:
        """POST multislot/events/{eventId}/reward."""
        await _known(reward_slots(self._model(asked), self._event(asked), asked.body))

    async def activate_slots(self, asked: Asked) -> None:
        """POST multislot/events/{eventId}/activate."""
        await _known(activate_slots(self._model(asked), self._event(asked)))

    async def configuration(self, asked: Asked) -> dict[str, Any]:
        """GET configurations/service."""
        return self._loops[self._model(asked).name].configuration()

    async def configure(self, asked: Asked) -> dict[str, Any]:
        """PUT configurations/service."""
        return await self._loops[self._model(asked).name].configure(asked.body)

    async def model_properties(self, asked: Asked) -> dict[str, str]:
        """GET model/properties."""
        return model_properties(self._model(asked))

    async def loop(self, asked: Asked) -> dict[str, Any]:
        """GET /v1/loop."""
        name = asked.query.get("model", next(iter(self._models)))
        if name not in self._models:
            raise Refused(404, f"model: there is no {name[:100]!r}; {did_you_mean(name[:100], self._models)}")
        return await self._loops[name].statistics()


def _refusal(path: str, instead: str) -> Callable[[Asked], Awaitable[None]]:
    async def refuse(asked: Asked) -> None:
        raise Refused(501, f"{path.removeprefix('/')}: hutch serve has no such call; {instead}")

    return refuse


async def _known(done: Awaitable[None]) -> None:
    """Wait for what is done with an event; 404 if there is none of its id."""
    try:
        await done
    except UnknownDecision as error:
        raise Refused(404, str(error)) from None


def _ranking(wanted: RankRequest, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All actions: excluded ones at their places, and of the others the chosen one has changed places with the best."""
    order = list(answer["ranked"])
    chosen = order.index(answer["action"])
    order[0], order[chosen] = order[chosen], order[0]
    found = [{"id": id, "probability": 0.0} for id in wanted.ids]
    for place, action in zip(wanted.kept, order, strict=True):
        found[place] = {"id": wanted.ids[wanted.kept[action]], "probability": answer["probabilities"][action]}
    return found


def routes(models: Mapping[str, Served]) -> list[Route]:
    """Personalizer's requests, each with and without the name of a model, and with its version in path or query."""
    calls = Calls(models)
    post = [
        ("/rank", calls.rank, "Personalizer's Rank: draw an action.", (), RANK, 201),
        ("/events/{eventId}/reward", calls.reward, "Personalizer's Reward.", (_EVENT,), REWARD, 204),
        ("/events/{eventId}/activate", calls.activate, "Personalizer's Activate.", (_EVENT,), {}, 204),
        ("/multislot/rank", calls.rank_slots, "Rank for several slots.", (), RANK_SLOTS, 201),
        ("/multislot/events/{eventId}/reward", calls.reward_slots, "Reward slots.", (_EVENT,), REWARD_SLOTS, 204),
        ("/multislot/events/{eventId}/activate", calls.activate_slots, "Activate all slots.", (_EVENT,), {}, 204),
    ]
    service, properties = "/configurations/service", "/model/properties"
    described = [
        *(("POST", *each) for each in post),
        ("GET", service, calls.configuration, "Personalizer's settings of the loop.", (), {}, 200),
        ("PUT", service, calls.configure, "Change the learning mode.", (), SERVICE, 200),
        ("GET", properties, calls.model_properties, "When the model changed last.", (), {}, 200),
        *((method, path, _refusal(path, instead), "", (), {}, 200)
          for path, (methods, instead) in REFUSED.items() for method in methods.split()),
    ]  # fmt: skip
    found = [Route("GET", "/v1/loop", calls.loop, "How a learning loop goes.", (_OF_MODEL,), errors=(404,))]
    return found + [
        Route(method, f"{model}/personalizer{version}{path}", answer, summary if version and not model else "",
              (*fields, _VERSION if version else _API_VERSION), bodies, errors=(404, 409), status=status)
        for version in ("", "/{version}") for model in ("", "/{model}")
        for method, path, answer, summary, fields, bodies, status in described
    ]  # fmt: skip


PERSONALIZER = Interface(routes, DIALECT)
"""Personalizer's calls, for `hutch.serve.server.serve`."""
