"""Says a chat answer as a response: whole, or as the events of its stream."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

from gateway.wire.responses.echo import echo
from gateway.wire.responses.names import names_of
from gateway.wire.responses.output import Output, objects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gateway.wire.lanes import Usage
    from gateway.wire.responses.output import Event

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Why an answer is incomplete, by the reason why the model stopped."""

_TIERS = frozenset(("auto", "default", "flex", "scale", "priority", "fast", "ultrafast"))
_RATE_LIMITED = frozenset(("rate_limit_exceeded", "upstream_rate_limited"))


class Responses:
    """Says one chat answer as a response. `now` tells when it was complete; without it that is left open."""

    def __init__(
        self,
        tree: Mapping[str, Any],
        model: str,
        created: int,
        new_id: Callable[[str], str],
        now: Callable[[], int] | None = None,
    ) -> None:
        self._head = {"id": new_id("resp"), "object": "response", "created_at": created, "model": model, **echo(tree)}
        self._now = now
        self._output = Output(new_id, names_of(tree))
        self._sequence = 0
        self._began = False
        self._reason: str | None = None

    def whole(self, answer: Mapping[str, Any], usage: Usage) -> dict[str, Any]:
        """The response: what a stream of one chunk would end with."""
        deque(self._heard(answer), maxlen=0)
        deque(self._output.close(complete=self._is_complete), maxlen=0)
        return self._ended(usage)

    def chunk(self, chunk: Mapping[str, Any]) -> bytes:
        """The events of one chunk; before the first stand those that open the response."""
        return self._written([*self._opening(), *self._heard(chunk)])

    def end(self, usage: Usage) -> bytes:
        """The events that finish the last item and the response."""
        closing = [*self._opening(), *self._output.close(complete=self._is_complete)]
        kind = "response.completed" if self._is_complete else "response.incomplete"
        return self._written([*closing, {"type": kind, "response": self._ended(usage)}])

    def failed(self, error: Mapping[str, Any]) -> bytes:
        """The error as an event of its own, on which clients raise, then the response as having failed."""
        opening = self._written(self._opening())
        self._sequence += 1
        told = failure(error, self._sequence - 1)
        code = "rate_limit_exceeded" if error.get("code") in _RATE_LIMITED else "server_error"
        its_error = {"code": code, "message": error["message"], "type": error.get("type"), "param": error.get("param")}
        response = self._response("failed") | {"output": self._output.items(), "error": its_error}
        return opening + told + self._written([{"type": "response.failed", "response": response}])

    @property
    def _is_complete(self) -> bool:
        return self._reason not in _INCOMPLETE

    def _heard(self, chunk: Mapping[str, Any]) -> Iterator[Event]:
        tier = chunk.get("service_tier")
        if isinstance(tier, str) and tier in _TIERS:
            self._head["service_tier"] = tier
        for choice in objects(chunk.get("choices")):
            if choice.get("index"):
                continue  # a response has one answer
            reason, said = choice.get("finish_reason"), choice.get("delta") or choice.get("message")
            self._reason = reason if reason and isinstance(reason, str) else self._reason
            yield from self._output.hear(said if isinstance(said, dict) else {}, choice.get("logprobs"))

    def _opening(self) -> list[Event]:
        if self._began:
            return []
        self._began = True
        response = self._response("in_progress")
        return [{"type": f"response.{kind}", "response": response} for kind in ("created", "in_progress")]

    def _ended(self, usage: Usage) -> dict[str, Any]:
        if self._is_complete:
            ended = self._response("completed") | {"completed_at": self._now() if self._now else None}
        else:
            ended = self._response("incomplete") | {"incomplete_details": {"reason": _INCOMPLETE[self._reason or ""]}}
        return ended | {"output": self._output.items(), "usage": usage_of(usage)}

    def _response(self, status: str) -> dict[str, Any]:
        empty: dict[str, Any] = {
            "completed_at": None,
            "error": None,
            "incomplete_details": None,
            "output": [],
            "usage": None,
        }
        return {**self._head, **empty, "status": status}

    def _written(self, events: Iterable[Event]) -> bytes:
        return b"".join(map(self._write, events))

    def _write(self, event: Event) -> bytes:
        numbered = {"type": event["type"], "sequence_number": self._sequence, **event}
        self._sequence += 1
        return _event(numbered)


def failure(error: Mapping[str, Any], sequence_number: int) -> bytes:
    """The event `error` of a stream that cannot go on.

    OpenAI's reference has its members beside the type, Open Responses within `error`: some clients look here, some
    there, so they stand in both places.
    """
    members = {key: error.get(key) for key in ("code", "message", "param")}
    inner = {"type": error.get("type") or "server_error", **members}
    return _event({"type": "error", "sequence_number": sequence_number, **members, "error": inner})


def usage_of(usage: Usage) -> dict[str, Any]:
    """The usage of a response."""
    written = usage.cache_write_5m + usage.cache_write_1h
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": written},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.prompt + usage.completion,
    }


def _event(event: Event) -> bytes:
    return b"event: " + str(event["type"]).encode() + b"\ndata: " + msgspec.json.encode(event) + b"\n\n"
