"""The description of the HTTP interface, for machines and for people; nothing in it is loaded from elsewhere."""

from functools import cache
from html import escape
from typing import Any

from hutch.core.version import version

_ERRORS = {
    "400": "the request is malformed",
    "401": "the token is missing or wrong",
    "403": "sent by a page of another origin",
    "404": "there is no such model",
    "408": "the body did not arrive in time",
    "409": "the idempotency key, or the id of the decision, was used with another body",
    "413": "the body is too large",
    "415": "the content type is none of those accepted",
    "422": "an example cannot be used; the message says line and column, and nothing was learned",
    "503": "the log cannot be written, too many connections, or the server stops",
}
_MODEL = {
    "name": "model",
    "in": "query",
    "schema": {"type": "string"},
    "description": "name of the model; left out, the first",
}
_SCORES = {
    "name": "scores",
    "in": "query",
    "schema": {"type": "boolean", "default": False},
    "description": "also return the scores of all classes",
}
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "maxLength": 200},
    "description": "under which this request will be sent again if no answer comes; it is learned once",
}
_WORKER = {
    "name": "worker",
    "in": "query",
    "schema": {"type": "string", "maxLength": 200},
    "description": "who will answer: one request, which others do not see for a while",
}
_DECISION_ID = {
    "name": "id",
    "in": "query",
    "schema": {"type": "string", "maxLength": 200},
    "description": "under which the reward will come; the same id gets the same answer. Left out, one is made",
}
_DECISION = {
    "required": True,
    "description": "One decision.",
    "content": {
        "application/json": {
            "schema": {"$ref": "#/components/schemas/Decision"},
            "example": {"shared": {"user": ["ann"]}, "actions": [{"article": ["food"]}, {"article": ["sports"]}]},
        },
        "text/plain": {
            "schema": {"type": "string", "description": "lines in Vowpal Wabbit's format, an action each"},
            "example": "shared |user ann\n|article food\n|article sports\n",
        },
    },
}
_EXAMPLES = {
    "required": True,
    "description": "One example or more.",
    "content": {
        "application/json": {
            "schema": {
                "oneOf": [
                    {"$ref": "#/components/schemas/Record"},
                    {"type": "array", "items": {"$ref": "#/components/schemas/Record"}},
                ]
            },
            "example": {"label": 1, "user": {"age": 37, "city": "Oslo"}, "words": ["good", "cheap"]},
        },
        "text/plain": {
            "schema": {"type": "string", "description": "lines in Vowpal Wabbit's format"},
            "example": "1 |user age:37 city=Oslo |words good cheap\n",
        },
        "application/vnd.apache.arrow.stream": {"schema": {"type": "string", "format": "binary"}},
    },
}
_SCHEMAS: dict[str, Any] = {
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
    "Predictions": {
        "type": "object",
        "required": ["model", "position", "predictions"],
        "properties": {
            "model": {"type": "string"},
            "position": {"type": "integer", "description": "last entry of the log that the model has learned"},
            "predictions": {
                "type": "array",
                "items": {"type": ["number", "array", "null"]},
                "description": "a number per example; a list with a number per action, where examples are decisions",
            },
            "scores": {"type": "array", "items": {"type": "array", "items": {"type": ["number", "null"]}}},
            "repeated": {"type": "boolean", "description": "the request was known, and had been learned"},
        },
    },
    "Decision": {
        "type": "object",
        "required": ["actions"],
        "properties": {
            "shared": {"$ref": "#/components/schemas/Record"},
            "actions": {"type": "array", "items": {"$ref": "#/components/schemas/Record"}},
        },
    },
    "Ranked": {
        "type": "object",
        "required": ["model", "position", "id", "action", "probability", "ranked", "probabilities"],
        "properties": {
            "model": {"type": "string"},
            "position": {"type": "integer", "description": "last entry of the log that the model had learned"},
            "id": {"type": "string", "description": "of the decision"},
            "action": {"type": "integer", "description": "drawn; counted from 0, a class from 1"},
            "probability": {"type": "number", "description": "with which it was drawn"},
            "ranked": {"type": "array", "items": {"type": "integer"}, "description": "all actions, the best first"},
            "probabilities": {"type": "array", "items": {"type": "number"}, "description": "by action"},
            "repeated": {"type": "boolean", "description": "the id was known: the answer is that of the first time"},
        },
    },
    "Reward": {
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "string", "description": "of the decision"},
            "cost": {"type": "number"},
            "reward": {"type": "number", "description": "the negative cost, instead of it"},
        },
    },
    "Answer": {
        "type": "object",
        "required": ["id", "worker", "label"],
        "properties": {
            "id": {"type": "string", "description": "of the label request"},
            "worker": {"type": "string", "maxLength": 200},
            "label": {"description": "a number, 'skip' or \"don't know\""},
            "answer": {"type": "string", "description": "of the answer itself, if the tool that took it has ids"},
        },
    },
    "Error": {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}},
}


def _operation(summary: str, answer: Any, errors: str, **more: Any) -> dict[str, Any]:
    answers: dict[str, Any] = {"200": {"description": "done", "content": answer}}
    for status in errors.split():
        schema = {"$ref": "#/components/schemas/Error"}
        answers[status] = {"description": _ERRORS[status], "content": {"application/json": {"schema": schema}}}
    return {"summary": summary, "responses": answers, **more}


@cache
def description() -> dict[str, Any]:
    """The interface as an OpenAPI 3.1 document."""
    predictions = {"application/json": {"schema": {"$ref": "#/components/schemas/Predictions"}}}
    any_object = {"application/json": {"schema": {"type": "object"}}}
    answer = {"$ref": "#/components/schemas/Answer"}
    answers = {"oneOf": [answer, {"type": "array", "items": answer}]}
    cost = {"$ref": "#/components/schemas/Reward"}
    rewards = {"oneOf": [cost, {"type": "array", "items": cost}]}
    posted = "400 401 403 408 413 415 422 503"
    return {
        "openapi": "3.1.0",
        "info": {"title": "Hutch", "version": version(), "summary": "Models that learn while they serve."},
        "paths": {
            "/v1/predict": {
                "post": _operation(
                    "Predict without learning.",
                    predictions,
                    f"{posted} 404",
                    parameters=[_MODEL, _SCORES],
                    requestBody=_EXAMPLES,
                )
            },
            "/v1/learn": {
                "post": _operation(
                    "Learn examples with labels; the predictions were made before. It is on disk before the answer.",
                    predictions,
                    f"{posted} 404 409",
                    parameters=[_MODEL, _SCORES, _KEY],
                    requestBody=_EXAMPLES,
                )
            },
            "/v1/rank": {
                "post": _operation(
                    "Draw an action of a decision; what was drawn and its probability are on disk before the answer.",
                    {"application/json": {"schema": {"$ref": "#/components/schemas/Ranked"}}},
                    f"{posted} 404 409",
                    parameters=[_MODEL, _DECISION_ID],
                    requestBody=_DECISION,
                )
            },
            "/v1/reward": {
                "post": _operation(
                    "Tell what decisions have cost; each is learned once, with the probability of its draw.",
                    any_object,
                    f"{posted} 404",
                    parameters=[_MODEL],
                    requestBody={"required": True, "content": {"application/json": {"schema": rewards}}},
                )
            },
            "/v1/labels": {
                "get": _operation("Label requests that want an answer.", any_object, "401 422", parameters=[_WORKER]),
                "post": _operation(
                    "Answer label requests; answers that came before are not counted again.",
                    any_object,
                    posted,
                    requestBody={"required": True, "content": {"application/json": {"schema": answers}}},
                ),
            },
            "/v1/model": {
                "get": _operation("What the model is and has seen.", any_object, "401 404", parameters=[_MODEL])
            },
            "/healthz": {"get": _operation("Whether the server answers; wants no token.", any_object, "503")},
            "/metrics": {
                "get": _operation(
                    "Figures in Prometheus' format.", {"text/plain": {"schema": {"type": "string"}}}, "401"
                )
            },
        },
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}"
    "code{background:#8883;padding:0 .2em}h2{margin-top:2em}td{vertical-align:top;padding:0 1em .3em 0}"
)


@cache
def docs_page() -> str:
    """The same as a page for people, without scripts."""
    found = description()
    parts = [f"<title>Hutch {escape(version())}</title><style>{_STYLE}</style><h1>Hutch {escape(version())}</h1>"]
    parts.append("<p>The same for machines: <a href=/openapi.json>/openapi.json</a></p>")
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            parts.append(
                f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(operation['summary'])}</p><table>"
            )
            for one in operation.get("parameters", ()):
                where = f"{one['name']} ({one['in']})"
                parts.append(f"<tr><td><code>{escape(where)}</code><td>{escape(one['description'])}")
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                example = escape(str(content.get("example", "")))
                parts.append(f"<tr><td><code>{escape(kind)}</code><td>{f'<code>{example}</code>' if example else ''}")
            for status, answer in operation["responses"].items():
                parts.append(f"<tr><td>{status}<td>{escape(answer['description'])}")
            parts.append("</table>")
    return f'<!doctype html><html lang="en"><meta charset="utf-8">{"".join(parts)}</html>'
