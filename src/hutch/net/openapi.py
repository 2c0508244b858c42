"""The description of an HTTP interface, from its routes."""

from collections.abc import Iterable, Mapping
from typing import Any

from hutch.core.version import version
from hutch.net.application import JSON, Route

_ERRORS = {
    400: "the request is malformed, or has a parameter that is not known",
    401: "the token is missing or wrong",
    403: "sent by a page of another origin",
    404: "there is no such model, or no such decision",
    408: "the body did not arrive in time",
    409: "the idempotency key, or the id of the decision, was used with another body",
    413: "the body is too large",
    415: "the content type, its charset or the content encoding is none of those accepted",
    422: "an example cannot be used; the message says line and column, and nothing was learned",
    503: "the log cannot be written, too many connections, or the server starts or stops",
}
_OF_BODIES = (408, 413, 415, 422, 503)


def describe(routes: Iterable[Route], title: str, summary: str, schemas: Mapping[str, Any]) -> dict[str, Any]:
    """Routes as an OpenAPI 3.1 document.

    Args:
        routes: those with a summary are described.
        title, summary: of the interface.
        schemas: that routes refer to, by name.
    """
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if route.summary:
            paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    every = {"Error": {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version(), "summary": summary},
        "paths": paths,
        "components": {
            "schemas": {**schemas, **every},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(route: Route) -> dict[str, Any]:
    done = {"description": "done", **({} if route.status == 204 else {"content": dict(route.gives)})}
    answers: dict[str, Any] = {str(route.status): done}
    for status in sorted({400, 401, 403, *route.errors, *(_OF_BODIES if route.bodies else ())}):
        schema = {"$ref": "#/components/schemas/Error"}
        answers[str(status)] = {"description": _ERRORS[status], "content": {JSON: {"schema": schema}}}
    found: dict[str, Any] = {"summary": route.summary, "responses": answers}
    if route.fields:
        found["parameters"] = [
            {
                "name": each.name,
                "in": each.where,
                **({"required": True} if each.where == "path" else {}),
                "schema": {"type": each.kind, **({"maxLength": each.longest} if each.kind == "string" else {})},
                "description": each.text,
            }
            for each in route.fields
        ]
    if route.bodies:
        found["requestBody"] = {"required": True, "content": dict(route.bodies)}
    return found
