"""The litellm process: says OpenAI's requests in providers' protocols, and reaches them by the gateway's exit alone."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys
import warnings
from contextvars import ContextVar
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

# litellm reads them when it is imported: no .env file is looked for, no price list is fetched, nothing is logged.
os.environ["LITELLM_MODE"] = "PRODUCTION"
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["LITELLM_LOG"] = "CRITICAL"
os.environ["DISABLE_AIOHTTP_TRANSPORT"] = "True"

import httpx
import litellm
import msgspec
import uvicorn
from litellm.exceptions import BadRequestError, UnsupportedParamsError
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from gateway.upstream import walls
from gateway.upstream.clients.litellm import API_BASE, MODEL
from gateway.upstream.tickets import PLACEHOLDER, TARGET, TICKET

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from starlette.requests import Request

_CLOSING_SECONDS = 3
_NO_LIMIT_SECONDS = 86_400.0
"""How long an answer may take is the gateway's to say: it hangs up."""

# Other names are options of litellm's own to it (where to call, what to log, what to answer without calling), or would
# be dropped without a word. A request that has one is refused by its name.
_CHAT = frozenset(
    """
    audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages
    modalities n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_retention
    reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature
    thinking tool_choice tools top_k top_logprobs top_p user verbosity web_search_options
    """.split()
)
_EMBEDDINGS = frozenset({"input", "dimensions", "encoding_format", "user"})

_Kind = Literal["chat_completion", "embeddings"]
"""litellm's words for them."""

_ticket: ContextVar[str] = ContextVar("ticket", default="")
"""The ticket of the call that is being answered."""
_report = sys.stderr
"""This process's own log; what libraries print goes nowhere, for it can quote a prompt."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve on a Unix socket until SIGTERM."""
    given = _arguments(arguments)
    by_kernel = walls.close_in(given.exit)
    _silence()
    _lead_out_through(given.exit)
    _say(f"litellm is ready; its network is closed {'by the kernel' if by_kernel else 'inside the interpreter only'}")
    # uvicorn has a handler of its own while it serves, and raises the signal again when it has stopped.
    signal.signal(signal.SIGTERM, lambda *_: None)
    # Not uvloop: it connects where the interpreter's hook does not see it.
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(),
            loop="asyncio",
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=_CLOSING_SECONDS,
        )
    )
    asyncio.run(server.serve(sockets=[_listen(given.socket)]))
    given.socket.unlink(missing_ok=True)


def create_app() -> Starlette:
    return Starlette(
        routes=[
            Route("/v1/chat/completions", _chat, methods=["POST"]),
            Route("/v1/embeddings", _embeddings, methods=["POST"]),
        ]
    )


async def _chat(request: Request) -> Response:
    try:
        arguments = await _read(request, _CHAT, "chat_completion")
        answer = await litellm.acompletion(**arguments)
    except Exception as error:  # a process border: whatever litellm raises becomes an answer
        return _refused(error)
    if arguments.get("stream"):
        return StreamingResponse(_events(answer), media_type="text/event-stream")
    return Response(_whole(answer), media_type="application/json")


async def _embeddings(request: Request) -> Response:
    try:
        arguments = await _read(request, _EMBEDDINGS, "embeddings")
        arguments.pop("encoding_format", None)  # how numbers are written is between the client and the gateway
        answer = await litellm.aembedding(**arguments)
    except Exception as error:  # the same border
        return _refused(error)
    return Response(msgspec.json.encode(_said(answer)), media_type="application/json")


class _UnsupportedError(Exception):
    """A parameter that cannot be carried, by its name."""

    def __init__(self, parameter: str) -> None:
        super().__init__()
        self.parameter = parameter


class _NoProviderError(Exception):
    """The deployment's model names no provider that litellm knows."""


async def _read(request: Request, known: frozenset[str], kind: _Kind) -> dict[str, Any]:
    """What litellm is called with: the request, where the provider is, and no key."""
    _ticket.set(request.headers[TICKET])
    model = request.headers[MODEL]
    body: dict[str, Any] = msgspec.json.decode(await request.body(), type=dict[str, Any])
    body.pop("model", None)
    for parameter in sorted(body.keys() - (known - _dropped_by(model, kind))):
        raise _UnsupportedError(parameter)
    return {
        **body,
        "model": model,
        "api_base": request.headers[API_BASE],
        "api_key": PLACEHOLDER,
        "timeout": _NO_LIMIT_SECONDS,
        "max_retries": 0,
    }


def _dropped_by(model: str, kind: _Kind) -> frozenset[str]:
    """What litellm would leave out for this provider, and not say so."""
    try:
        name, provider, _, _ = litellm.get_llm_provider(model=model, api_base=None)
    except BadRequestError:
        raise _NoProviderError from None
    supported = litellm.get_supported_openai_params(name, provider, kind) or ()
    return frozenset({"user"} - set(supported))


def _whole(answer: Any) -> bytes:
    """A chat completion as OpenAI would write it: what litellm leaves unsaid is left out, save a content of null."""
    said = _said(answer)
    for choice in said["choices"]:
        choice["message"].setdefault("content", None)
    return msgspec.json.encode(said)


def _said(answer: Any) -> dict[str, Any]:
    """A whole answer, without usage that the provider did not state."""
    said: dict[str, Any] = answer.model_dump(exclude_none=True)
    if not _is_stated(said.get("usage", {})):
        said.pop("usage", None)
    return said


async def _events(answer: Any) -> AsyncGenerator[bytes, None]:
    """The chunks of a stream. One that the provider cut ends with an error: litellm would make up a good end."""
    try:
        async for chunk in answer:
            said = chunk.model_dump(exclude_none=True, exclude_unset=True)
            if _is_made_up(answer, said):
                yield _event(_error(HTTPStatus.BAD_GATEWAY, "the answer ended before its end", "upstream_cut"))
                return
            if said := _without_guesses(answer, said):
                yield _event(said)
    except Exception as error:  # a process border, as in _chat; the status line is sent already
        _say(f"a stream failed: {type(error).__name__}")
        yield _event(_error(HTTPStatus.BAD_GATEWAY, "the answer was cut off", "upstream_cut"))
        return
    yield b"data: [DONE]\n\n"


def _is_made_up(answer: Any, chunk: Mapping[str, Any]) -> bool:
    """True for an end that the provider did not announce."""
    ends = any(choice.get("finish_reason") for choice in chunk.get("choices", ()))
    return ends and answer.received_finish_reason is None and answer.intermittent_finish_reason is None


def _without_guesses(answer: Any, chunk: dict[str, Any]) -> dict[str, Any]:
    """Leave out usage that the provider did not state: the gateway has an estimate of its own, and flags it."""
    told = [one.usage for one in answer.chunks if _has_usage(one)]
    if chunk.get("usage") and told and _is_stated(chunk["usage"]):
        return {**chunk, "usage": _as_told(chunk["usage"], told)}
    if not chunk.get("usage"):
        return chunk
    return {name: value for name, value in chunk.items() if name != "usage"} if chunk.get("choices") else {}


def _as_told(usage: Mapping[str, Any], told: Sequence[Any]) -> dict[str, Any]:
    """What litellm sums up of a stream: without a cost by its own price list, with the service tier that it forgets."""
    said = dict(usage)
    if all(getattr(one, "cost", None) is None for one in told):
        said.pop("cost", None)
    tiers = [tier for one in told if isinstance(tier := getattr(one, "service_tier", None), str)]
    return {**said, "service_tier": tiers[-1]} if tiers else said


def _is_stated(usage: Mapping[str, Any]) -> bool:
    """False for the zeros that litellm writes where there is nothing: no prompt is of no token."""
    return bool(usage.get("prompt_tokens"))


def _has_usage(chunk: Any) -> bool:
    return getattr(chunk, "usage", None) is not None


def _event(payload: Mapping[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(payload) + b"\n\n"


def _refused(error: Exception) -> Response:
    """The answer to a call that failed. What litellm says is withheld: it can quote the prompt."""
    if isinstance(error, _UnsupportedError):
        return _unsupported(error.parameter)
    _say(f"a call failed: {type(error).__name__}")
    if isinstance(error, UnsupportedParamsError):
        return _unsupported(_named_in(str(error)))
    if isinstance(error, _NoProviderError):
        return _answer(
            HTTPStatus.NOT_FOUND, "the deployment's upstream_model names no known provider", "model_not_found"
        )
    if isinstance(error, BadRequestError):
        message = "the request cannot be said in the provider's protocol"
        return _answer(HTTPStatus.BAD_REQUEST, message, "invalid_request")
    return _answer(HTTPStatus.BAD_GATEWAY, "the call failed", "upstream_error")


def _named_in(message: str) -> str | None:
    """The parameter of ours that litellm's message is about."""
    return next((name for name in sorted(_CHAT | _EMBEDDINGS) if repr(name) in message), None)


def _unsupported(parameter: str | None) -> Response:
    message = f"the provider does not take {parameter!r}: leave it out, or have the pack strip it"
    return _answer(HTTPStatus.BAD_REQUEST, message, "unsupported_parameter", parameter)


def _answer(status: HTTPStatus, message: str, code: str, parameter: str | None = None) -> Response:
    return JSONResponse(_error(status, message, code, parameter), status_code=status)


def _error(status: HTTPStatus, message: str, code: str, parameter: str | None = None) -> dict[str, Any]:
    kind = "invalid_request_error" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "upstream_error"
    return {"error": {"message": message, "type": kind, "param": parameter, "code": code}}


def _lead_out_through(way_out: Path) -> None:
    """Have every HTTP request of this process, whoever makes it, go to the exit with the ticket of its call."""
    # A new connection each time: on a kept one, the exit may be hanging up just then.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    pool = httpx.AsyncHTTPTransport(uds=str(way_out), limits=limits, retries=0)
    dial = httpx.AsyncHTTPTransport.handle_async_request

    async def handle(_: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        return await dial(pool, _addressed(request, await request.aread()))

    def refuse(_: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("there is no way out but by the calls that asyncio makes", request=request)

    # The clients of litellm, of the OpenAI SDK and of whatever else builds one have nothing else in common.
    httpx.AsyncHTTPTransport.handle_async_request = handle  # type: ignore[assignment,method-assign]
    httpx.HTTPTransport.handle_request = refuse  # type: ignore[assignment,method-assign]


def _addressed(request: httpx.Request, body: bytes) -> httpx.Request:
    headers = httpx.Headers(request.headers)
    for name in ("host", "content-length", "transfer-encoding"):
        headers.pop(name, None)
    headers[TICKET] = _ticket.get()
    headers[TARGET] = str(request.url)
    no_limits = {"timeout": {"connect": None, "read": None, "write": None, "pool": None}}
    return httpx.Request(request.method, "http://exit/", headers=headers, content=body, extensions=no_limits)


def _silence() -> None:
    """Let no library print, log or warn: what they say can quote a prompt."""
    litellm.suppress_debug_info = True
    litellm.turn_off_message_logging = True
    litellm.telemetry = False
    litellm.drop_params = False
    litellm.modify_params = False
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives


def _say(event: str) -> None:
    _report.write(f"{event}\n")
    _report.flush()


def _listen(path: Path) -> socket.socket:
    """A socket that only its owner may open, in place of one that a killed process left."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    return listener


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m gateway.upstream.litellm_child", description=__doc__)
    parser.add_argument("--socket", type=Path, required=True, help="the Unix socket to listen on")
    parser.add_argument("--exit", type=Path, required=True, help="the Unix socket of the gateway's exit")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
