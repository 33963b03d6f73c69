"""What a question to a model looks like, made from its columns and kinds, for people, programs and OpenAPI."""

from __future__ import annotations

from typing import Any

from margin.serving.answering import KINDS, ServedModel

__all__ = ["openapi_with", "question_schema"]

TYPES: dict[str, dict[str, Any]] = {
    "number": {"type": ["number", "null"]},
    "flag": {"type": ["boolean", "number", "string", "null"]},
    "category": {"type": ["string", "number", "null"]},
    "text": {"type": ["string", "null"]},
    "date": {"type": ["string", "null"], "description": "A date, as in the table of the fit; 2024-05-31 always works."},
}


def question_schema(served: ServedModel) -> dict[str, Any]:
    """JSON schema of the body of ``/predict``."""
    name = KINDS[served.kind]
    items: dict[str, Any] = {"type": "string"}
    if served.kind == "images":
        items["description"] = "A PNG, JPEG or BMP file in base64."
    if served.kind == "table":
        columns = {column: TYPES[kind] for column, kind in served.column_kinds.items()}
        items = {"type": "object", "properties": columns, "required": list(columns), "additionalProperties": False}
    properties: dict[str, Any] = {name: {"type": "array", "items": items, "minItems": 1}}
    if served.has_probabilities:
        properties["proba"] = {"type": "boolean", "default": False, "description": "Probabilities of the classes."}
    return {"type": "object", "properties": properties, "required": [name], "additionalProperties": False}


def openapi_with(document: dict[str, Any], served: ServedModel) -> dict[str, Any]:
    """FastAPI's ``document`` with the questions of this model in it."""
    if served.predicts:
        asked, answered = question_schema(served), {"type": "object", "additionalProperties": {"type": "array"}}
        document.setdefault("paths", {})["/predict"] = {
            "post": {
                "summary": "A prediction for every row, text or picture.",
                "operationId": "predict",
                "requestBody": {"required": True, "content": {"application/json": {"schema": asked}}},
                "responses": {
                    "200": {"description": "The answers.", "content": {"application/json": {"schema": answered}}}
                },
            }
        }
    return document
