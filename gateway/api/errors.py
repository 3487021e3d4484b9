"""Renders errors of FastAPI's routes as OpenAI error bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from gateway.errors import BadRequest, GatewayError, NotFound
from gateway.wire import messages

if TYPE_CHECKING:
    from fastapi import FastAPI, Request

_ANTHROPIC = "/v1/messages"

log = structlog.get_logger()


def register(app: FastAPI) -> None:
    """Have the application answer every failure in the one shape."""
    app.add_exception_handler(GatewayError, _gateway_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unforeseen)


async def _gateway_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, GatewayError)  # noqa: S101 - for the type checker: registered for this class
    return JSONResponse(_body(request, error), status_code=error.status, headers=error.all_headers())


async def _unforeseen(_request: Request, failure: Exception) -> JSONResponse:
    log.error("request_failed", failure=failure)
    error = GatewayError("the gateway failed; its log names the place")
    return JSONResponse(error.body(), status_code=error.status)


async def _invalid(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - for the type checker: registered for this class
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    refusal = BadRequest(f"{place}: {first['msg']}", param=place)
    return JSONResponse(refusal.body(), status_code=refusal.status)


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - for the type checker: registered for this class
    if error.status_code == NotFound.status:
        refusal: GatewayError = NotFound(f"there is no {request.method} {request.url.path}")
    else:
        refusal = BadRequest(f"{error.detail}: {request.method} {request.url.path} (see /openapi.json)")
        refusal.status = error.status_code
    return JSONResponse(_body(request, refusal), status_code=refusal.status, headers=error.headers)


def _body(request: Request, error: GatewayError) -> dict[str, Any]:
    """The error's body, in Anthropic's form where its clients ask."""
    if request.url.path.startswith(_ANTHROPIC):
        return messages.error_body({**error.inner(), "status": error.status}, None)
    return error.body()
