"""Completes the OpenAPI document with what FastAPI does not know: the endpoints of models, keys, the form of errors."""

from __future__ import annotations

from typing import Any

import msgspec

from gateway.api.inference import PATHS
from gateway.wire.completions import CompletionsRequest
from gateway.wire.embeddings import EmbeddingsRequest
from gateway.wire.messages import CountTokensRequest, MessagesRequest
from gateway.wire.rerank import RerankRequest
from gateway.wire.responses import ResponsesRequest
from gateway.wire.schemas import ChatCompletionRequest

_BODIES: dict[str, tuple[type[msgspec.Struct], str, str]] = {
    "/v1/chat/completions": (ChatCompletionRequest, "Answer a chat", "OpenAI's chat completions."),
    "/v1/completions": (CompletionsRequest, "Complete a text", "OpenAI's text completions."),
    "/v1/responses": (ResponsesRequest, "Answer a response", "OpenAI's responses. Nothing is stored."),
    "/v1/messages": (MessagesRequest, "Answer messages", "Anthropic's messages."),
    "/v1/messages/count_tokens": (
        CountTokensRequest,
        "Count the tokens of messages",
        "Anthropic's token count: exact where a deployment of one's own counts, else a bound from above.",
    ),
    "/v1/embeddings": (EmbeddingsRequest, "Embed texts", "OpenAI's embeddings."),
    "/v1/rerank": (RerankRequest, "Order documents by a query", "Cohere's rerank."),
}

_MODEL = (
    " `model` is a model's name, `auto` (the policy chooses), or `NAME@collection[,collection]` to answer a chat from "
    "documents. Fields that are not named here are passed on."
)

_LABEL = {
    "name": "soleira-label",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "examples": ["private", "private+health"]},
    "description": "Raises the request's label; it can only raise.",
}


def describe(document: dict[str, Any]) -> None:
    """Add the endpoints of models, and what holds for all: how a caller shows its key, and the form of errors."""
    kinds = {kind for kind, _, _ in _BODIES.values()}
    _, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    for kind in kinds:
        _say_more(components[kind.__name__]["properties"])
    del components[CountTokensRequest.__name__]["properties"]["model"]["minLength"]  # nobody is asked
    own = document.get("components", {}).get("schemas", {})
    kept = {name: schema for name, schema in own.items() if name not in _FASTAPIS_ERRORS}
    document["components"] = {"schemas": {**kept, **components, **_ANSWERS, **_ERRORS}, "securitySchemes": _KEYS}
    document["security"] = _BY_KEY
    for path, methods in document["paths"].items():
        for operation in methods.values():
            _complete(path, operation)
    for path, (kind, summary, description) in _BODIES.items():
        document["paths"][path] = {"post": _operation(path, kind, summary, description)}


def _operation(path: str, kind: type[msgspec.Struct], summary: str, description: str) -> dict[str, Any]:
    answer: dict[str, Any] = {"application/json": {"schema": _reference(_ANSWER_OF[path])}}
    if path in _STREAMING:
        answer["text/event-stream"] = {}
    return {
        "tags": [PATHS[path].name if path in PATHS else "messages"],
        "summary": summary,
        "description": description + _MODEL,
        "parameters": [_LABEL],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _reference(kind.__name__)}},
        },
        "responses": {
            "200": {"description": "The answer, or a stream of its events", "content": answer},
            **_refusals("MessagesError" if path.startswith("/v1/messages") else "Error"),
        },
    }


def _complete(path: str, operation: dict[str, Any]) -> None:
    """What FastAPI does not know of its own routes: they refuse in our form, and some of them need no key."""
    responses = {status: said for status, said in operation["responses"].items() if status != "422"}
    operation["responses"] = responses | _refusals("Error")
    if path in _OPEN:
        operation["security"] = _OPEN[path]
    if path == "/metrics":
        responses["200"]["content"] = {"text/plain": {"schema": {"type": "string"}}}
    if path == "/readyz":
        responses["503"] = {"description": "What is waited for", "content": responses["200"]["content"]}
        operation["responses"] = responses | _refusals("Error")


def _refusals(schema: str) -> dict[str, Any]:
    content = {"application/json": {"schema": _reference(schema)}}
    return {
        "4XX": {"description": "A refusal with a stable code; docs/errors.md lists them", "content": content},
        "5XX": {"description": "A failure with a stable code", "content": content},
    }


def _say_more(properties: dict[str, Any]) -> None:
    """What is asked of members beyond their types, and a model that is always there."""
    for name, more in _MORE.items():
        if name in properties:
            properties[name] = {**properties[name], **more}


def _reference(schema: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{schema}"}


def _object(required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": required.split(), "properties": properties}


_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_MANY = {"type": "array", "items": {"type": "object"}}

_ANSWERS = {
    "ChatCompletion": _object("choices", id=_TEXT, object=_TEXT, model=_TEXT, choices=_MANY),
    "Completion": _object("choices", id=_TEXT, object=_TEXT, model=_TEXT, choices=_MANY),
    "Response": _object("output status", id=_TEXT, model=_TEXT, status=_TEXT, output=_MANY),
    "AnsweredMessage": _object("content", id=_TEXT, model=_TEXT, role=_TEXT, content=_MANY),
    "TokenCount": _object("input_tokens", input_tokens=_COUNT),
    "Embeddings": _object("data model", object=_TEXT, model=_TEXT, data=_MANY),
    "Ranking": _object("results", id=_TEXT, results=_MANY),
}
"""What every answer has, whoever gave it; an upstream's other members pass as they are."""

_ANSWER_OF = {
    "/v1/chat/completions": "ChatCompletion",
    "/v1/completions": "Completion",
    "/v1/responses": "Response",
    "/v1/messages": "AnsweredMessage",
    "/v1/messages/count_tokens": "TokenCount",
    "/v1/embeddings": "Embeddings",
    "/v1/rerank": "Ranking",
}
_STREAMING = frozenset({"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"})

_NULLABLE = {"type": ["string", "null"]}
_ERRORS = {
    "Error": _object(
        "error", error=_object("message type param code", message=_TEXT, type=_TEXT, param=_NULLABLE, code=_TEXT)
    ),
    "MessagesError": _object(
        "type error request_id",
        type={"const": "error"},
        error=_object("type message", type=_TEXT, message=_TEXT),
        request_id=_TEXT,
    ),
}

_FASTAPIS_ERRORS = ("HTTPValidationError", "ValidationError")
_KEYS = {"bearer": {"type": "http", "scheme": "bearer"}, "key": {"type": "apiKey", "in": "header", "name": "x-api-key"}}
_BY_KEY: list[dict[str, list[str]]] = [{"bearer": []}, {"key": []}]
_OPEN: dict[str, list[dict[str, list[str]]]] = {"/healthz": [], "/readyz": [], "/metrics": [{}, *_BY_KEY]}
"""Routes that need no key, or not everywhere: `/metrics` is open on loopback."""

_MORE: dict[str, dict[str, Any]] = {
    "model": {"minLength": 1, "examples": ["auto"]},
    "messages": {"minItems": 1},
    "documents": {"minItems": 1},
}
