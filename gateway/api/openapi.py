"""Describes the endpoints of models in the OpenAPI document: FastAPI does not know them."""

from __future__ import annotations

from typing import Any

import msgspec

from gateway.api.inference import PATHS
from gateway.wire.completions import CompletionsRequest
from gateway.wire.embeddings import EmbeddingsRequest
from gateway.wire.messages import MessagesRequest
from gateway.wire.rerank import RerankRequest
from gateway.wire.responses import ResponsesRequest
from gateway.wire.schemas import ChatCompletionRequest

_BODIES: dict[str, tuple[type[msgspec.Struct], str, str]] = {
    "/v1/chat/completions": (ChatCompletionRequest, "Answer a chat", "OpenAI's chat completions."),
    "/v1/completions": (CompletionsRequest, "Complete a text", "OpenAI's text completions."),
    "/v1/responses": (ResponsesRequest, "Answer a response", "OpenAI's responses. Nothing is stored."),
    "/v1/messages": (MessagesRequest, "Answer messages", "Anthropic's messages."),
    "/v1/messages/count_tokens": (
        MessagesRequest,
        "Count the tokens of messages",
        "Anthropic's token count, without asking anybody: a bound from above.",
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
    """Add the endpoints with the schemas of their bodies."""
    kinds = {kind for kind, _, _ in _BODIES.values()}
    _, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    document.setdefault("components", {}).setdefault("schemas", {}).update(components)
    for path, (kind, summary, description) in _BODIES.items():
        document["paths"][path] = {"post": _operation(path, kind, summary, description)}


def _operation(path: str, kind: type[msgspec.Struct], summary: str, description: str) -> dict[str, Any]:
    return {
        "tags": [PATHS[path].name if path in PATHS else "messages"],
        "summary": summary,
        "description": description + _MODEL,
        "parameters": [_LABEL],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}},
        },
        "responses": {
            "200": {"description": "The answer, or a stream of its events", "content": {"application/json": {}}},
            "default": {"description": "An error with a stable code", "content": {"application/json": {}}},
        },
    }
