"""The description of an HTTP interface from its routes, for machines and for people; nothing in it comes from afar."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from hutch.core.net.application import JSON, Route
from hutch.core.version import version

_ERRORS = {
    400: "the request is malformed, or has a parameter that is not known",
    401: "the token is missing or wrong",
    403: "sent by a page of another origin",
    404: "there is no such model",
    408: "the body did not arrive in time",
    409: "the idempotency key, or the id of the decision, was used with another body",
    413: "the body is too large",
    415: "the content type, its charset or the content encoding is none of those accepted",
    422: "an example cannot be used; the message says line and column, and nothing was learned",
    503: "the log cannot be written, too many connections, or the server starts or stops",
}
_OF_BODIES = (408, 413, 415, 422, 503)
_LONGEST = 200


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
    answers: dict[str, Any] = {"200": {"description": "done", "content": dict(route.gives)}}
    for status in sorted({400, 401, 403, *route.errors, *(_OF_BODIES if route.bodies else ())}):
        schema = {"$ref": "#/components/schemas/Error"}
        answers[str(status)] = {"description": _ERRORS[status], "content": {JSON: {"schema": schema}}}
    found: dict[str, Any] = {"summary": route.summary, "responses": answers}
    if route.fields:
        found["parameters"] = [
            {
                "name": each.name,
                "in": each.where,
                "schema": {"type": each.kind, **({"maxLength": _LONGEST} if each.kind == "string" else {})},
                "description": each.text,
            }
            for each in route.fields
        ]
    if route.bodies:
        found["requestBody"] = {"required": True, "content": dict(route.bodies)}
    return found


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}"
    "code{background:#8883;padding:0 .2em}h2{margin-top:2em}td{vertical-align:top;padding:0 1em .3em 0}"
)
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
}
"""Headers under which the page shows, and loads and runs nothing."""


def docs_page(description: Mapping[str, Any]) -> bytes:
    """The same as a page for people, without scripts."""
    title = escape(f"{description['info']['title']} {description['info']['version']}")
    parts = [f"<title>{title}</title><style>{_STYLE}</style><h1>{title}</h1>"]
    parts.append("<p>The same for machines: <a href=/openapi.json>/openapi.json</a></p>")
    for path, operations in description["paths"].items():
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
    return f'<!doctype html><html lang="en"><meta charset="utf-8">{"".join(parts)}</html>'.encode()
