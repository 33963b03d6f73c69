"""The page of the API: what FastAPI knows of the routes, as plain HTML without a script or anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import Any

__all__ = ["api_page"]

Schema = dict[str, Any]

HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>API · Margin lab</title>
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/tokens.css"><link rel="stylesheet" href="/static/style.css">
<script src="/static/theme.js"></script></head>
<body><header class="bar"><a class="brand" href="/">
<img src="/static/icon.svg" alt="" width="22" height="22">Margin</a></header>
<main class="api"><h1>The API of the lab</h1>
<p>Every room asks these addresses and nothing else. Bodies are JSON, but for a table that is sent as it is; a request
that cannot be done is answered by one sentence under <code>error</code>. The same for programs:
<a href="/api/openapi.json">openapi.json</a>.</p>
"""


def api_page(openapi: Schema) -> str:
    """HTML of an OpenAPI description, grouped by tag."""
    schemas = openapi.get("components", {}).get("schemas", {})
    operations = [
        (operation.get("tags", ["other"])[0], method.upper(), path, operation)
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
    ]
    parts = [HEAD]
    for tag, group in groupby(sorted(operations, key=lambda entry: entry[:3]), key=lambda entry: entry[0]):
        parts.append(f"<h2>{escape(tag.capitalize())}</h2>")
        parts += [_operation(method, path, operation, schemas) for _, method, path, operation in group]
    return "\n".join([*parts, "</main></body></html>\n"])


def _operation(method: str, path: str, operation: Schema, schemas: Schema) -> str:
    rows = [*_parameters(operation, schemas), *_body(operation, schemas)]
    sentence = escape(operation.get("description") or operation.get("summary", "")).replace("``", "")
    table = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    head = '<thead><tr><th scope="col">name</th><th scope="col">in</th><th scope="col">what it may be</th></tr></thead>'
    listed = f'<div class="scroll"><table>{head}<tbody>{table}</tbody></table></div>' if rows else ""
    return f'<section class="card"><h3><code>{method} {escape(path)}</code></h3><p>{sentence}</p>{listed}</section>'


def _parameters(operation: Schema, schemas: Schema) -> Iterator[tuple[str, str, str]]:
    for parameter in operation.get("parameters", []):
        said = _describe_value({**parameter["schema"], "description": parameter.get("description", "")}, schemas)
        yield _name(parameter["name"], parameter.get("required", False)), escape(parameter["in"]), said


def _body(operation: Schema, schemas: Schema) -> Iterator[tuple[str, str, str]]:
    forms: list[Schema] = list(operation.get("requestBody", {}).get("content", {}).values())
    schema = _resolve(forms[0].get("schema", {}) if forms else {}, schemas)
    for name, field in schema.get("properties", {}).items():
        yield _name(name, name in schema.get("required", [])), "body", _describe_value(field, schemas)


def _name(name: str, required: bool) -> str:
    return f"<code>{escape(name)}</code>{' <small>required</small>' if required else ''}"


def _resolve(schema: Schema, schemas: Schema) -> Schema:
    return schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "maxLength": "at most {} characters",
    "minItems": "at least {} entries",
    "maxItems": "at most {} entries",
    "pattern": "like {}",
}


def _describe_value(schema: Schema, schemas: Schema) -> str:
    """Type, bounds, default and sentence of a value."""
    said = [_type(schema, schemas), *(text.format(schema[key]) for key, text in BOUNDS.items() if key in schema)]
    said += [f"by default {schema['default']!r}"] if "default" in schema else []
    sentence = schema.get("description", "")
    return escape(", ".join(said)) + (f"<br><small>{escape(sentence)}</small>" if sentence else "")


def _type(schema: Schema, schemas: Schema) -> str:
    if "$ref" in schema:
        return _type({"title": schema["$ref"].rpartition("/")[2], **_resolve(schema, schemas)}, schemas)
    if "enum" in schema:
        return " or ".join(repr(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_type(part, schemas) for part in schema["anyOf"])
    if schema.get("type") == "array":
        return f"a list of ({_type(schema['items'], schemas)})" if schema.get("items") else "a list"
    if schema.get("type") == "object" and "properties" in schema:
        return f"an object {schema.get('title', '')} of {', '.join(schema['properties'])}"
    return str(schema.get("type", "anything"))
