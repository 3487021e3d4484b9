"""Builds the public application: the chat route first, as it is, then everything that FastAPI serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.telemetry import TelemetryConfig
from starlette.routing import Route

from gateway.api import decisions, errors, health, models
from gateway.api.chat import ChatCompletions
from gateway.wire.schemas import ChatCompletionRequest

if TYPE_CHECKING:
    from gateway.runtime import Runtime

# FastAPI's own telemetry is off by default and stays off whatever the environment says.
_NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


def create_app(runtime: Runtime) -> FastAPI:
    """Build the application over an open runtime."""
    app = FastAPI(title="Soleira", version="0.1.0", redoc_url=None, docs_url=None, telemetry=_NO_TELEMETRY)
    app.state.runtime = runtime
    errors.register(app)
    app.router.routes.insert(0, Route("/v1/chat/completions", ChatCompletions(runtime), methods=["POST"]))
    for module in (health, models, decisions):
        app.include_router(module.router)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]  # FastAPI's documented way to extend it
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, routes=app.routes)
        _, components = msgspec.json.schema_components(
            [ChatCompletionRequest], ref_template="#/components/schemas/{name}"
        )
        document.setdefault("components", {}).setdefault("schemas", {}).update(components)
        document["paths"]["/v1/chat/completions"] = {"post": _CHAT}
        app.openapi_schema = document
    return app.openapi_schema


_CHAT = {
    "tags": ["chat"],
    "summary": "Answer a chat, routed by the policy",
    "description": (
        "OpenAI's chat completions. `model` is a model's name, `auto`, or `NAME@collection[,collection]` to answer "
        "from documents. Fields that are not named here reach the deployment byte for byte."
    ),
    "parameters": [
        {
            "name": "soleira-label",
            "in": "header",
            "required": False,
            "schema": {"type": "string", "examples": ["private", "private+health"]},
            "description": "Raises the request's label; it can only raise.",
        }
    ],
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChatCompletionRequest"}}},
    },
    "responses": {
        "200": {"description": "A chat completion, or a stream of its chunks", "content": {"application/json": {}}},
        "default": {"description": "An OpenAI error body with a stable code", "content": {"application/json": {}}},
    },
}
