"""Says a refusal or a failure in the form of the Messages endpoint."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from gateway.errors import GatewayError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def error_body(error: Mapping[str, Any], request_id: str | None) -> dict[str, Any]:
    """The body of an error that has message, type, param and code, and its status where that is known.

    Without a status it is told by the one that its code has.
    """
    status = error.get("status") or _statuses().get(str(error.get("code")), 500)
    said = {"type": _type(status), "message": str(error.get("message") or "")}
    return {"type": "error", "error": said, "request_id": request_id}


def _type(status: int) -> str:
    """A status that has no type of its own is the client's mistake or the server's, by its hundred."""
    return _TYPES.get(status) or ("invalid_request_error" if status < 500 else "api_error")


@cache
def _statuses() -> dict[str, int]:
    """The status of each code; of two errors with one code the earlier in the tree counts, which is the gateway's."""
    return {error.code: error.status for error in reversed(list(_below(GatewayError)))}


def _below(kind: type[GatewayError]) -> Iterator[type[GatewayError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _below(child)
