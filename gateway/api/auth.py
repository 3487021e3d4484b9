"""Reads a request's credentials and names the principal behind them."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from gateway.errors import Forbidden
from gateway.principals import Principal
from gateway.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable


def key_in(header: Callable[[bytes], str | None]) -> str | None:
    """The API key of `Authorization: Bearer KEY`, else of `x-api-key: KEY`."""
    scheme, _, token = (header(b"authorization") or "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return (header(b"x-api-key") or "").strip() or None


def runtime_of(request: Request) -> Runtime:
    """The runtime that the application was built with."""
    runtime = request.app.state.runtime
    assert isinstance(runtime, Runtime)  # noqa: S101 - for the type checker: create_app sets it
    return runtime


CurrentRuntime = Annotated[Runtime, Depends(runtime_of)]


async def _caller(request: Request, runtime: CurrentRuntime) -> Principal:
    return await runtime.principals.verify(key_in(lambda name: request.headers.get(name.decode("ascii"))))


Caller = Annotated[Principal, Depends(_caller)]


async def _figures_reader(caller: Caller) -> Principal:
    if not caller.is_admin and caller.role != "reader":
        raise Forbidden(
            "figures need the admin key or a reader key: 'soleira keys create NAME --role reader' makes one"
        )
    return caller


FiguresReader = Annotated[Principal, Depends(_figures_reader)]
"""Somebody who may see what was used and what it cost."""


async def may_read_metrics(request: Request, runtime: CurrentRuntime) -> None:
    """Let the admin and the metrics token through; Forbidden for other keys."""
    key = key_in(lambda name: request.headers.get(name.decode("ascii")))
    token = runtime.settings.metrics_token
    if token is not None and key is not None and _same(key, token.get_secret_value()):
        return
    if not runtime.loopback_only:
        principal = await runtime.principals.verify(key)
        if not principal.is_admin:
            raise Forbidden("/metrics needs the admin key or METRICS_TOKEN")


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(hashlib.sha256(one.encode()).digest(), hashlib.sha256(other.encode()).digest())
