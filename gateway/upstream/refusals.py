"""Says what an upstream's refusal means, without its words: they can quote the prompt or a key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from gateway.errors import (
    UpstreamContextExceeded,
    UpstreamCut,
    UpstreamError,
    UpstreamQuotaExceeded,
    UpstreamRateLimited,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from gateway.upstream.retry_after import stated
from gateway.wire import shapes
from gateway.wire.shapes import CHAT, Shape

# Each engine has its own words for a request that is too long.
_CONTEXT = re.compile(
    rb"context[ _](?:length|size|window|limit)"  # OpenAI, vLLM, SGLang, llama-server, DeepSeek, Ollama, Anthropic
    rb"|model token limit"  # Moonshot
    rb"|(?:prompt|input) (?:is )?too long"  # Anthropic, Ollama, Bedrock
    rb"|maximum (?:model|prompt) length|max_model_len"  # vLLM, xAI
    rb"|maximum allowed (?:input )?length"  # SGLang
    rb"|token count[^.]{0,80}exceeds the maximum|too many tokens"  # Gemini, Cohere
    rb"|reduce the length of the (?:messages|prompt|input)",  # Groq
    re.IGNORECASE,
)
# Moonshot says it with 403 or 429, DeepSeek with 402, Anthropic with 400.
_QUOTA = re.compile(
    rb"insufficient[_ ](?:user[_ ])?(?:quota|balance)|exceeded_current_quota|quota_exceeded|billing_hard_limit"
    rb"|credit balance is too low",
    re.IGNORECASE,
)
_QUOTA_STATUSES = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.PAYMENT_REQUIRED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.TOO_MANY_REQUESTS,
)
# Of an upstream's words these are told: names of the interface itself, which say what to change.
_FIELDS = re.compile(
    rb"\b(?:frequency_penalty|logit_bias|logprobs|max_completion_tokens|max_tokens|parallel_tool_calls|presence_penalty"
    rb"|reasoning_content|reasoning_effort|response_format|stream_options|temperature|tool_call_id|tool_calls"
    rb"|tool_choice|top_k|top_logprobs|top_p)\b"
)
_ABOUT_THE_DEPLOYMENT = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
)
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "BadRequestError": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "rate_limit_reached_error": 429,
    "exceeded_current_quota_error": 429,
    "insufficient_quota": 429,
}
_ANTHROPIC_OVERLOADED = 529
_OVERLOADED = (HTTPStatus.SERVICE_UNAVAILABLE, _ANTHROPIC_OVERLOADED)
"""It is there and will be again: clients shall hear 503 of it, as if they had asked it themselves."""
_CLOUDFLARE_TIMEOUT = 524
_TIMEOUTS = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.GATEWAY_TIMEOUT, _CLOUDFLARE_TIMEOUT)


def refusal(deployment: str, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
    """The error for an answer that is no success."""
    retry_after = stated(headers)
    if status == HTTPStatus.PAYMENT_REQUIRED or (status in _QUOTA_STATUSES and _QUOTA.search(body)):
        return UpstreamQuotaExceeded(
            f"deployment {deployment!r} is out of quota: its account needs attention", retry_after=retry_after
        )
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return UpstreamRateLimited(f"deployment {deployment!r} is at its rate limit", retry_after=retry_after)
    if status in _TIMEOUTS:
        return UpstreamTimeout(f"deployment {deployment!r} ran into a time limit of its own (status {status})")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        failed = UpstreamUnavailable(f"deployment {deployment!r} failed (status {status})", retry_after=retry_after)
        if status in _OVERLOADED:
            failed.status = HTTPStatus.SERVICE_UNAVAILABLE
        return failed
    if status < HTTPStatus.BAD_REQUEST:
        return UpstreamError(
            f"deployment {deployment!r} answered with status {status}: redirects are not followed; correct its base_url"
        )
    return _client_error(deployment, status, body)


def error_in(deployment: str, payload: Mapping[str, Any], shape: Shape = CHAT) -> UpstreamError | None:
    """The error that stands inside a success, as a stream's event or a whole answer; None if there is none."""
    error = shapes.error_in(shape, payload)
    if error is None:
        return None
    words = msgspec.json.encode(error)
    if _CONTEXT.search(words):
        return _context_refused(deployment, HTTPStatus.BAD_REQUEST)
    status = _status_in(error)
    if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return refusal(deployment, status, {}, words)
    return UpstreamCut(f"deployment {deployment!r} reported an error inside its answer")


def _status_in(error: object) -> int:
    """The status that an answer with this error should have had; 0 if the error does not say."""
    if not isinstance(error, Mapping):
        return 0
    said = error.get("code"), error.get("status"), error.get("status_code")
    numbers = (int(value) for value in said if isinstance(value, (int, str)) and str(value).isdecimal())
    return next(numbers, _STATUS_OF_TYPE.get(str(error.get("type")), 0))


def _client_error(deployment: str, status: int, body: bytes) -> UpstreamRefused:
    if status in (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE) and _CONTEXT.search(body):
        return _context_refused(deployment, status)
    if status in _ABOUT_THE_DEPLOYMENT:
        error = UpstreamRefused(
            f"deployment {deployment!r} refused its key or its model name (status {status}): "
            "correct api_key or upstream_model in deployments.yaml",
            status=status,
        )
        # Nothing is wrong with the request: the next deployment has its own key and name.
        error.may_fall_back = True
        return error
    fields = tuple(dict.fromkeys(_FIELDS.findall(body)))
    names = ", ".join(repr(field.decode()) for field in fields)
    refused = UpstreamRefused(
        f"deployment {deployment!r} refused the request (status {status}); "
        "its words are withheld, for they can quote the prompt" + (f"; they name {names}" if names else ""),
        status=status,
    )
    refused.param = fields[0].decode() if len(fields) == 1 else None
    return refused


def _context_refused(deployment: str, status: int) -> UpstreamContextExceeded:
    return UpstreamContextExceeded(
        f"the request is longer than the context of deployment {deployment!r}: shorten it, or ask for less output",
        status=status,
    )
