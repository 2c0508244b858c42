"""The OpenAPI schemas of Personalizer's bodies."""

from typing import Any

from hutch.net.application import JSON

_FEATURES = {"type": "array", "items": {"type": "object"}}
_RANK = {
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
_REWARD = {
    "type": "object",
    "required": ["value"],
    "properties": {"value": {"type": "number", "minimum": -1, "maximum": 1}},
}
RANK: dict[str, Any] = {JSON: {"schema": _RANK}}
REWARD: dict[str, Any] = {JSON: {"schema": _REWARD}}
