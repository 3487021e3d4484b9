"""Builds the public application: the endpoints of models first, as they are, then everything that FastAPI serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.telemetry import TelemetryConfig
from starlette.routing import Route

from gateway.api import decisions, errors, health, models, openapi, refused, usage
from gateway.api.inference import PATHS, Endpoint, count_tokens
from gateway.chat.formats import COUNT_TOKENS

if TYPE_CHECKING:
    from gateway.runtime import Runtime

# FastAPI's own telemetry is off by default and stays off whatever the environment says.
_NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


def create_app(runtime: Runtime) -> FastAPI:
    """Build the application over an open runtime."""
    app = FastAPI(title="Soleira", version="0.1.0", redoc_url=None, docs_url=None, telemetry=_NO_TELEMETRY)
    app.state.runtime = runtime
    errors.register(app)
    counting = Endpoint(runtime, COUNT_TOKENS, count_tokens)
    first = [Route(path, Endpoint(runtime, form), methods=["POST"]) for path, form in PATHS.items()]
    app.router.routes[:0] = [*first, Route("/v1/messages/count_tokens", counting, methods=["POST"])]
    for module in (health, models, decisions, usage, refused):
        app.include_router(module.router)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]  # FastAPI's documented way to extend it
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, routes=app.routes)
        openapi.describe(document)
        app.openapi_schema = document
    return app.openapi_schema
