"""The endpoints that models answer: how each is read, translated, rendered and refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import uuid4

from gateway.errors import GatewayError
from gateway.wire import completions, embeddings, messages, rerank, responses
from gateway.wire.lanes import Usage
from gateway.wire.shapes import CHAT, Rendering, Shape, Translated
from gateway.wire.sse import DONE, event_of

Endpoint = Literal["chat", "completions", "responses", "messages", "embeddings", "rerank"]
"""What a deployment states under `capabilities` that has the endpoint itself."""

_ANY_LIMIT = 4096


def _openai_body(error: GatewayError, request_id: str) -> dict[str, object]:
    return error.body()


def _anthropic_body(error: GatewayError, request_id: str) -> dict[str, Any]:
    return messages.error_body({**error.inner(), "status": error.status}, request_id)


def _error_event(body: Mapping[str, Any], last: Mapping[str, Any]) -> bytes:
    return event_of(body)


def _named_error_event(body: Mapping[str, Any], last: Mapping[str, Any]) -> bytes:
    return b"event: error\n" + _error_event(body, last)


def _responses_error_event(body: Mapping[str, Any], last: Mapping[str, Any]) -> bytes:
    number = last.get("sequence_number")
    return responses.failure(body["error"], number + 1 if isinstance(number, int) else 0)


def _unstored(tree: Mapping[str, Any]) -> dict[str, bytes]:
    """What is answered as not stored is not to be stored elsewhere."""
    return {"store": b"false"}


def _embedded(tree: Mapping[str, Any], answer: dict[str, Any], usage: Usage) -> dict[str, Any]:
    return embeddings.encode(answer, embeddings.read_format(tree), usage, inputs=len(embeddings.read_input(tree)))


def _counted(tree: Mapping[str, Any]) -> Translated:
    """A request to count has no limit, since it has no answer."""
    return messages.to_chat({"max_tokens": _ANY_LIMIT, **tree})


def _documents(tree: Mapping[str, Any]) -> dict[str, bytes]:
    return rerank.changes(rerank.read(tree))


def _ranked(tree: Mapping[str, Any], answer: dict[str, Any], usage: Usage) -> dict[str, Any]:
    return rerank.ranked(answer, rerank.read(tree), usage, f"rerank-{uuid4().hex}")


@dataclass(frozen=True, slots=True)
class Format:
    """One endpoint as clients know it."""

    name: str
    """The name in metrics."""
    endpoint: Endpoint
    shape: Shape
    """How a deployment answers that has the endpoint itself."""
    to_chat: Callable[[Mapping[str, Any]], Translated] | None = None
    """The request as a chat completion; None where it is one, or where there is no such thing."""
    rendering: Callable[[Mapping[str, Any], str, int, Callable[[str], str]], Rendering] | None = None
    """Begins the rendering of one answer: from the request's tree, the model's name, the time in seconds, new ids."""
    changes: Callable[[Mapping[str, Any]], dict[str, bytes]] | None = None
    """Members of the request's tree that a deployment with the endpoint itself is sent in another form."""
    drop: frozenset[str] = frozenset()
    """Members that are answered here."""
    echoed: frozenset[str] = frozenset()
    """Members that are answered here where the request is translated: OpenAI's chat refuses them without `store`."""
    finish: Callable[[Mapping[str, Any], dict[str, Any], Usage], dict[str, Any]] | None = None
    """Puts a deployment's own answer into the form that the request's tree asks for."""
    error_body: Callable[[GatewayError, str], Mapping[str, Any]] = _openai_body
    """The body of a refusal, with the request's id."""
    error_event: Callable[[Mapping[str, Any], Mapping[str, Any]], bytes] = _error_event
    """The event that ends a stream with an error, from the error's body and the last event that came."""
    closing_event: str | None = None
    """The event that closes a complete stream."""
    done: bytes = DONE
    """What closes a stream."""

    request_id_headers: tuple[bytes, ...] = (b"x-request-id",)

    def broken_off(self, error: GatewayError, request_id: str, last: Mapping[str, Any] | None = None) -> bytes:
        """The last event of a stream whose status went out already, after the `last` one that came."""
        return self.error_event(self.error_body(error, request_id), last or {})


CHAT_COMPLETIONS = Format("chat.completions", "chat", CHAT)
COMPLETIONS = Format(
    "completions", "completions", completions.COMPLETIONS, completions.to_chat, completions.Completions
)
RESPONSES = Format(
    "responses",
    "responses",
    responses.RESPONSES,
    responses.to_chat,
    responses.Responses,
    changes=_unstored,
    echoed=frozenset({"metadata"}),
    error_event=_responses_error_event,
)
MESSAGES = Format(
    "messages",
    "messages",
    messages.MESSAGES,
    messages.to_chat,
    messages.Messages,
    error_body=_anthropic_body,
    error_event=_named_error_event,
    closing_event="message_stop",
    done=b"",
    request_id_headers=(b"x-request-id", b"request-id"),
)
COUNT_TOKENS = replace(MESSAGES, name="messages.count_tokens", to_chat=_counted)
EMBEDDINGS = Format("embeddings", "embeddings", embeddings.EMBEDDINGS, drop=embeddings.ANSWERED_HERE, finish=_embedded)
RERANK = Format("rerank", "rerank", rerank.RERANK, changes=_documents, drop=rerank.ANSWERED_HERE, finish=_ranked)
