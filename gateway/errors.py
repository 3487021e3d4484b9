"""The one table of errors: what went wrong, its HTTP status, its stable code, and what to do about it.

GatewayError
├── BadRequest                 400 invalid_request
│   ├── ContextLengthExceeded  400 context_length_exceeded
│   ├── UnsupportedParameter   400 unsupported_parameter
│   └── BodyTooLarge           413 body_too_large
├── Unauthenticated            401 invalid_api_key
├── Forbidden                  403 forbidden
│   ├── LabelExceedsClearance  403 label_exceeds_clearance
│   ├── DeniedByRule           403 denied_by_rule
│   ├── NoRule                 403 no_rule
│   └── ApprovalRequired       403 approval_required
├── NotFound                   404 not_found
│   ├── ModelNotFound          404 model_not_found
│   ├── EndpointNotOffered     404 endpoint_not_offered
│   └── CollectionNotFound     404 collection_not_found
├── Conflict                   409 conflict
├── Unavailable                503 unavailable
│   ├── NoDeployment           503 no_deployment
│   └── RetrievalUnavailable   503 retrieval_unavailable
├── RateLimitExceeded          429 rate_limit_exceeded
├── BudgetExceeded             429 budget_exceeded
└── UpstreamError              502 upstream_error
    ├── UpstreamUnavailable    502 upstream_unavailable
    │   ├── UpstreamUnreachable      502 upstream_unavailable
    │   │   └── UpstreamStarting     503 upstream_unavailable
    │   └── UpstreamBusy             503 upstream_busy
    ├── UpstreamTimeout        504 upstream_timeout
    ├── UpstreamRefused        (its own status) upstream_refused
    │   ├── UpstreamContextExceeded  400 context_length_exceeded
    │   └── UpstreamUnsupported      400 unsupported_parameter
    ├── UpstreamRateLimited    429 upstream_rate_limited
    │   └── UpstreamQuotaExceeded    429 upstream_quota_exceeded
    ├── UpstreamCut            502 upstream_cut
    ├── UpstreamUnfit          502 upstream_unfit
    └── NotLocal               502 deployment_not_local
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping


class GatewayError(Exception):
    """An answer that is a refusal; the message is shown to the caller and says what to do."""

    status: int = 500
    code: ClassVar[str] = "internal_error"
    type: ClassVar[str] = "server_error"

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        retry_after: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.param = param
        self.retry_after = retry_after
        """The `Retry-After` value to answer with: seconds or an HTTP date."""
        self.headers = dict(headers or {})
        """What else the answer's headers say."""

    def all_headers(self) -> dict[str, str]:
        """The headers to refuse with."""
        return self.headers if self.retry_after is None else {**self.headers, "retry-after": self.retry_after}

    def inner(self) -> dict[str, object]:
        """OpenAI's error object."""
        return {"message": str(self), "type": self.type, "param": self.param, "code": self.code}

    def body(self) -> dict[str, object]:
        """The OpenAI error body."""
        return {"error": self.inner()}


class BadRequest(GatewayError):
    status, code, type = 400, "invalid_request", "invalid_request_error"


class ContextLengthExceeded(BadRequest):
    code = "context_length_exceeded"


class UnsupportedParameter(BadRequest):
    code = "unsupported_parameter"


class BodyTooLarge(BadRequest):
    status, code = 413, "body_too_large"


class Unauthenticated(GatewayError):
    status, code, type = 401, "invalid_api_key", "authentication_error"


class Forbidden(GatewayError):
    status, code, type = 403, "forbidden", "permission_error"


class LabelExceedsClearance(Forbidden):
    code = "label_exceeds_clearance"


class DeniedByRule(Forbidden):
    code = "denied_by_rule"


class NoRule(Forbidden):
    code = "no_rule"


class ApprovalRequired(Forbidden):
    code = "approval_required"


class NotFound(GatewayError):
    status, code, type = 404, "not_found", "invalid_request_error"


class ModelNotFound(NotFound):
    code = "model_not_found"


class EndpointNotOffered(NotFound):
    """An endpoint of OpenAI's or Anthropic's that Soleira does not have."""

    code = "endpoint_not_offered"


class CollectionNotFound(NotFound):
    code = "collection_not_found"


class Conflict(GatewayError):
    status, code, type = 409, "conflict", "invalid_request_error"


class Unavailable(GatewayError):
    status, code = 503, "unavailable"


class NoDeployment(Unavailable):
    code = "no_deployment"


class RetrievalUnavailable(Unavailable):
    code = "retrieval_unavailable"


class RateLimitExceeded(GatewayError):
    """More requests, tokens or calls at once than the key or the pack allows; `Retry-After` says when there is room."""

    status, code, type = 429, "rate_limit_exceeded", "rate_limit_error"


class BudgetExceeded(GatewayError):
    """A budget has no room for the attempt; the message says what is spent, held and allowed, and until when."""

    status, code, type = 429, "budget_exceeded", "insufficient_quota"

    def all_headers(self) -> dict[str, str]:
        return {**super().all_headers(), "x-should-retry": "false"}  # OpenAI's and Anthropic's clients heed it


class UpstreamError(GatewayError):
    """A deployment failed. `may_fall_back`: another one may be tried; `may_retry`: this one may be asked again."""

    status, code, type = 502, "upstream_error", "upstream_error"
    may_fall_back: bool = True
    may_retry: bool = False
    billed: bool = False
    """True if the upstream may have charged for the attempt although it failed."""


class UpstreamUnavailable(UpstreamError):
    """No connection, or a 5xx before any answer."""

    code = "upstream_unavailable"
    may_retry = True


class UpstreamUnreachable(UpstreamUnavailable):
    """There was no connection, so nothing was sent."""


class UpstreamStarting(UpstreamUnreachable):
    """A process of this house that is not there yet, or not again."""

    status = 503


class UpstreamBusy(UpstreamUnavailable):
    """All its slots are taken, and nobody else may wait for one, or nobody waited long enough."""

    status, code = 503, "upstream_busy"
    may_retry = False


class UpstreamTimeout(UpstreamError):
    status, code = 504, "upstream_timeout"
    billed = True


class UpstreamRateLimited(UpstreamError):
    status, code = 429, "upstream_rate_limited"


class UpstreamQuotaExceeded(UpstreamRateLimited):
    """The account is out of quota or money: no waiting helps, only its owner."""

    code = "upstream_quota_exceeded"


class UpstreamRefused(UpstreamError):
    """A 4xx of the upstream's own: asking again would be refused again. Its status is kept; its text is not."""

    code = "upstream_refused"
    may_fall_back = False

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class UpstreamContextExceeded(UpstreamRefused):
    """The prompt does not fit this deployment; another may have the room."""

    code = "context_length_exceeded"
    may_fall_back = True


class UpstreamUnsupported(UpstreamRefused):
    """A parameter asks for what this deployment cannot do; another may."""

    code = "unsupported_parameter"
    may_fall_back = True


class UpstreamCut(UpstreamError):
    """The answer ended before its end, or an error came inside a 200."""

    code = "upstream_cut"
    billed = True


class UpstreamUnfit(UpstreamError):
    """The answer calls a tool with arguments that are no use to it; asked again, the model may write better ones."""

    code = "upstream_unfit"
    may_retry = True
    billed = True


class NotLocal(UpstreamError):
    """The deployment's address does not belong to the zone it claims."""

    code = "deployment_not_local"
