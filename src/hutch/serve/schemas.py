"""The OpenAPI schemas of the bodies and answers of `hutch serve`."""

from typing import Any

from hutch.net.application import JSON


def _json(name: str) -> dict[str, Any]:
    return {JSON: {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def _one_or_more(name: str) -> dict[str, Any]:
    one = {"$ref": f"#/components/schemas/{name}"}
    return {"schema": {"oneOf": [one, {"type": "array", "items": one}]}}


def _object(required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": required.split(), "properties": properties}


DECISION: dict[str, Any] = {
    JSON: {
        "schema": {"$ref": "#/components/schemas/Decision"},
        "example": {"shared": {"user": ["ann"]}, "actions": [{"article": ["food"]}, {"article": ["sports"]}]},
    },
    "text/plain": {
        "schema": {"type": "string", "description": "lines in Vowpal Wabbit's format, an action each"},
        "example": "shared |user ann\n|article food\n|article sports\n",
    },
}
EXAMPLES: dict[str, Any] = {
    JSON: {
        **_one_or_more("Record"),
        "example": {"label": 1, "user": {"age": 37, "city": "Oslo"}, "words": ["good", "cheap"]},
    },
    "text/plain": {
        "schema": {"type": "string", "description": "lines in Vowpal Wabbit's format"},
        "example": "1 |user age:37 city=Oslo |words good cheap\n",
    },
    "application/x-dsjson": {
        "schema": {"type": "string", "description": "lines of Vowpal Wabbit's log of decisions"},
        "example": '{"_label_cost":-1,"_label_probability":0.8,"a":[1,2],"p":[0.8,0.2],'
        '"c":{"user":{"name":"ann"},"_multi":[{"article":{"food":1}},{"article":{"sports":1}}]}}\n',
    },
    "application/vnd.apache.arrow.stream": {"schema": {"type": "string", "format": "binary"}},
}
REWARDS = {JSON: _one_or_more("Reward")}
ANSWERS = {JSON: _one_or_more("Answer")}
PREDICTIONS, RANKED = _json("Predictions"), _json("Ranked")
TEXT: dict[str, Any] = {"text/plain": {"schema": {"type": "string"}}}
SCHEMAS: dict[str, Any] = {
    "Record": {
        "type": "object",
        "description": "Features by namespace, with label, importance, base, tag and group beside them.",
        "properties": {
            "label": {"description": "a number, a class, or costs by class"},
            "importance": {"type": "number", "minimum": 0},
            "base": {"type": "number"},
            "tag": {"type": "string"},
            "group": {},
        },
        "additionalProperties": {"description": "a mapping of names to numbers or words, a list of names, or a word"},
    },
    "Predictions": _object(
        "model position predictions",
        model={"type": "string"},
        position={"type": "integer", "description": "last entry of the log that the model has learned"},
        predictions={
            "type": "array",
            "items": {"type": ["number", "string", "array", "null"]},
            "description": "a number or the name of a class per example; a list with a number per action for decisions",
        },
        scores={"type": "array", "items": {"type": "array", "items": {"type": ["number", "null"]}}},
        intervals={
            "type": "array",
            "items": {"type": "array", "items": {"type": ["number", "null"]}},
            "description": "the lower and the upper end for each example",
        },
        repeated={"type": "boolean", "description": "the request was known, and had been learned"},
    ),
    "Decision": _object(
        "actions",
        shared={"$ref": "#/components/schemas/Record"},
        actions={"type": "array", "items": {"$ref": "#/components/schemas/Record"}},
    ),
    "Ranked": _object(
        "model position id action probability ranked probabilities",
        model={"type": "string"},
        position={"type": "integer", "description": "last entry of the log that the model had learned"},
        id={"type": "string", "description": "of the decision"},
        action={"type": "integer", "description": "drawn; counted from 0, a class from 1"},
        probability={"type": "number", "description": "with which it was drawn"},
        ranked={"type": "array", "items": {"type": "integer"}, "description": "all actions, the best first"},
        probabilities={"type": "array", "items": {"type": "number"}, "description": "by action"},
        repeated={"type": "boolean", "description": "the id was known: the answer is that of the first time"},
    ),
    "Reward": _object(
        "id",
        id={"type": "string", "description": "of the decision"},
        cost={"type": "number"},
        reward={
            "type": ["number", "object"],
            "additionalProperties": {"type": "number"},
            "description": "the negative cost, instead of it; metrics by name where the model learns these",
        },
    ),
    "Answer": _object(
        "id worker label",
        id={"type": "string", "description": "of the label request"},
        worker={"type": "string", "maxLength": 200},
        label={"description": "a number, 'skip' or \"don't know\""},
        answer={"type": "string", "description": "of the answer itself, if the tool that took it has ids"},
    ),
}
