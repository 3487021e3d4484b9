"""A provider in small: a whole server in the form of OpenAI's and Anthropic's, answering by the request alone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.gateway.house import served
from tests.wire.provider import chat, messages, responses, vectors

KEY = "sk-of-the-provider"
MODEL = "small"
EMBEDDER = "embedder"

Body = Mapping[str, Any]
Whole = Callable[[Body], dict[str, Any]]
Stream = Callable[[Body], Iterator[dict[str, Any]]]

_TYPES = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


@dataclass
class Provider:
    """Serves its endpoints; a model named `fails-STATUS` is refused with that status."""

    key: str = KEY
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """The paths and bodies that arrived."""

    def app(self) -> Starlette:
        """The application."""
        return Starlette(
            routes=[
                Route("/v1/models", self._models),
                Route("/v1/models/{name}", self._model),
                self._endpoint("/v1/chat/completions", chat.completion, chat.chunks, b"data: [DONE]\n\n"),
                self._endpoint("/v1/completions", chat.text_completion, chat.text_chunks, b"data: [DONE]\n\n"),
                self._endpoint("/v1/responses", responses.response, responses.events),
                self._endpoint("/v1/messages", messages.message, messages.events),
                self._endpoint("/v1/messages/count_tokens", _counted),
                self._endpoint("/v1/embeddings", vectors.embeddings),
                self._endpoint("/v1/rerank", vectors.rerank),
            ]
        )

    def _endpoint(self, path: str, whole: Whole, stream: Stream | None = None, done: bytes = b"") -> Route:
        async def answer(request: Request) -> Response:
            if not self._knows(request):
                return _refusal(path, 401, "Incorrect API key provided", code="invalid_api_key")
            body = json.loads(await request.body())
            self.requests.append((path, body))
            if refused := _refused(path, body):
                return refused
            try:
                if body.get("stream") and stream is not None:
                    events = list(stream(body))
                    return StreamingResponse(_written(events, done), media_type="text/event-stream")
                return JSONResponse(whole(body))
            except (AttributeError, LookupError, TypeError, ValueError):
                return _refusal(path, 400, "The body is not what it should be")

        return Route(path, answer, methods=["POST"])

    def _knows(self, request: Request) -> bool:
        given = request.headers.get("authorization", "").removeprefix("Bearer ") or request.headers.get("x-api-key")
        return given == self.key

    async def _models(self, request: Request) -> Response:
        if not self._knows(request):
            return _refusal("", 401, "Incorrect API key provided", code="invalid_api_key")
        return JSONResponse({"object": "list", "data": [_model(MODEL), _model(EMBEDDER)]})

    async def _model(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in (MODEL, EMBEDDER):
            return _refusal("", 404, "The model does not exist", code="model_not_found")
        return JSONResponse(_model(name))


@asynccontextmanager
async def provider() -> AsyncIterator[tuple[str, Provider]]:
    """Serve one on a free loopback port; yields its base URL, without `/v1`, beside it."""
    serving = Provider()
    async with served(serving.app()) as url:
        yield url, serving


def _refused(path: str, body: Body) -> Response | None:
    model = str(body.get("model"))
    if model.startswith("fails-"):
        return _refusal(path, int(model.removeprefix("fails-")), "It was to fail")
    if model not in (MODEL, EMBEDDER):
        return _refusal(path, 404, "The model does not exist", code="model_not_found")
    if body.get("messages") == []:
        return _refusal(path, 400, "[] is too short - 'messages'", param="messages")
    return None


def _refusal(path: str, status: int, text: str, *, param: str | None = None, code: str | None = None) -> Response:
    error = {"message": text, "type": _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")}
    if path.startswith("/v1/messages"):
        return JSONResponse({"type": "error", "error": error, "request_id": "req_1"}, status)
    return JSONResponse({"error": {**error, "param": param, "code": code}}, status)


def _written(events: Iterable[dict[str, Any]], done: bytes) -> Iterator[bytes]:
    for event in events:
        name = f"event: {event['type']}\n" if "type" in event else ""
        yield f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
    if done:
        yield done


def _counted(body: Body) -> dict[str, Any]:
    return {"input_tokens": sum(len(text.split()) for text in messages.asked({"max_tokens": 1, **body}).texts)}


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": chat.CREATED, "owned_by": "provider"}
