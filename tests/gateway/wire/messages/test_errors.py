"""Refusals and failures are told in Anthropic's words."""

from __future__ import annotations

import pytest

from gateway import errors
from gateway.errors import GatewayError
from gateway.wire.messages import error_body


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.BadRequest("x"), "invalid_request_error"),
        (errors.UnsupportedParameter("x"), "invalid_request_error"),
        (errors.ContextLengthExceeded("x"), "invalid_request_error"),
        (errors.BodyTooLarge("x"), "request_too_large"),
        (errors.Unauthenticated("x"), "authentication_error"),
        (errors.LabelExceedsClearance("x"), "permission_error"),
        (errors.ModelNotFound("x"), "not_found_error"),
        (errors.Conflict("x"), "invalid_request_error"),
        (errors.NoDeployment("x"), "overloaded_error"),
        (errors.UpstreamUnavailable("x"), "api_error"),
        (errors.UpstreamTimeout("x"), "timeout_error"),
        (errors.UpstreamRateLimited("x"), "rate_limit_error"),
        (errors.UpstreamCut("x"), "api_error"),
        (GatewayError("x"), "api_error"),
    ],
)
def test_an_error_has_its_type_by_its_status_and_by_its_code(error: GatewayError, kind: str) -> None:
    inner = error.body()["error"]
    assert isinstance(inner, dict)

    expected = {"type": "error", "error": {"type": kind, "message": "x"}, "request_id": "req_1"}
    assert error_body(inner, "req_1") == expected
    assert error_body({**inner, "status": error.status}, "req_1") == expected


@pytest.mark.parametrize(
    ("status", "kind"), [(402, "billing_error"), (422, "invalid_request_error"), (529, "overloaded_error")]
)
def test_a_status_of_an_upstreams_own_has_a_type(status: int, kind: str) -> None:
    error = errors.UpstreamRefused("x", status=status)

    body = error_body({"message": "x", "code": error.code, "status": error.status}, None)

    assert body["error"]["type"] == kind


def test_an_unknown_code_is_the_servers_failure() -> None:
    assert error_body({"message": "x", "code": "what"}, None)["error"]["type"] == "api_error"
