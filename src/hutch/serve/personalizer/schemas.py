"""The OpenAPI schemas of Personalizer's bodies."""

from typing import Any

from hutch.net.application import JSON

_FEATURES = {"type": "array", "items": {"type": "object"}}
_RANK: dict[str, Any] = {
    "type": "object",
    "required": ["actions"],
    "properties": {
        "contextFeatures": _FEATURES,
        "actions": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "features"],
                "properties": {"id": {"type": "string", "maxLength": 256}, "features": _FEATURES},
            },
        },
        "excludedActions": {"type": "array", "items": {"type": "string"}},
        "eventId": {"type": "string", "maxLength": 256},
        "deferActivation": {"type": "boolean"},
    },
}
_REWARD: dict[str, Any] = {
    "type": "object",
    "required": ["value"],
    "properties": {"value": {"type": "number", "minimum": -1, "maximum": 1}},
}
_SLOT = {
    "type": "object",
    "required": ["id", "baselineAction"],
    "properties": {
        "id": {"type": "string", "maxLength": 256},
        "features": _FEATURES,
        "excludedActions": {"type": "array", "items": {"type": "string"}},
        "baselineAction": {"type": "string"},
    },
}
_SLOTS = {
    **_RANK,
    "required": ["actions", "slots"],
    "properties": {
        **{name: each for name, each in _RANK["properties"].items() if name != "excludedActions"},
        "slots": {"type": "array", "items": _SLOT},
    },
}
_SLOT_REWARD: dict[str, Any] = {
    "type": "object",
    "required": ["slotId", "value"],
    "properties": {"slotId": {"type": "string"}, **_REWARD["properties"]},
}
_SLOT_REWARDS = {
    "type": "object",
    "required": ["reward"],
    "properties": {"reward": {"type": "array", "items": _SLOT_REWARD}},
}
_SERVICE = {
    "type": "object",
    "properties": {"learningMode": {"enum": ["Online", "Apprentice"]}, "explorationPercentage": {"type": "number"}},
}
RANK: dict[str, Any] = {JSON: {"schema": _RANK}}
REWARD: dict[str, Any] = {JSON: {"schema": _REWARD}}
SERVICE: dict[str, Any] = {JSON: {"schema": _SERVICE}}
RANK_SLOTS: dict[str, Any] = {JSON: {"schema": _SLOTS}}
REWARD_SLOTS: dict[str, Any] = {JSON: {"schema": _SLOT_REWARDS}}
