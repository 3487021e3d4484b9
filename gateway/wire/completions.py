"""The endpoint `/completions`: its request as a chat completion, a chat answer in its form, and its shape upstream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from gateway.errors import BadRequest
from gateway.wire.shapes import Translated, WithChoices, choices_of
from gateway.wire.sse import event_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateway.wire.lanes import Usage

_ONLY_COMPLETIONS = {"suffix": (None, ""), "echo": (None, False), "best_of": (None, 1), "logprobs": (None, False)}
"""Parameters that a chat completion has no place for, or a place of another form, with the values that say nothing."""


class CompletionsRequest(msgspec.Struct):
    """`POST /v1/completions`. Unknown fields are allowed and passed on."""

    model: str
    prompt: str | list[str | int | list[int]]
    stream: bool | None = None
    max_tokens: int | None = None
    n: int | None = None


def to_chat(tree: Mapping[str, Any]) -> Translated:
    """One prompt as one message of the user; BadRequest if there is none."""
    prompt = tree.get("prompt")
    if prompt is None or prompt == []:
        raise BadRequest("'prompt' is missing: send a text", param="prompt")
    texts = _texts(prompt)
    chat = {name: value for name, value in tree.items() if name not in ("prompt", *_ONLY_COMPLETIONS)}
    chat["messages"] = [{"role": "user", "content": text} for text in texts]
    if chat.get("stream"):
        chat["stream_options"] = {"include_usage": True}
    return Translated(chat, _native_only(tree, prompt))


def _texts(prompt: object) -> list[str]:
    """All texts of the prompt, so that they are looked at even where only a deployment's own endpoint takes them."""
    if isinstance(prompt, str):
        return [prompt]
    if not isinstance(prompt, list) or not all(isinstance(part, str) or _is_token_ids(part) for part in prompt):
        raise BadRequest("'prompt' must be a text, a list of texts, or token ids", param="prompt")
    return [part for part in prompt if isinstance(part, str)] or [""]


def _is_token_ids(part: object) -> bool:
    """True for a token's id, or a list of them."""
    return all(type(token) is int for token in (part if isinstance(part, list) else [part]))


def _native_only(tree: Mapping[str, Any], prompt: object) -> str | None:
    if isinstance(prompt, list) and not (len(prompt) == 1 and isinstance(prompt[0], str)):
        return "prompt: token ids, or several texts at once"
    return next((name for name, nothing in _ONLY_COMPLETIONS.items() if not _is_one_of(tree.get(name), nothing)), None)


def _is_one_of(value: object, values: tuple[object, ...]) -> bool:
    """True if the value is among these; `True` is not taken for 1, nor 0 for `False`."""
    return any(type(value) is type(one) and value == one for one in values)


class Completions:
    """Says a chat answer as text completions."""

    def __init__(self, tree: Mapping[str, Any], model: str, created: int, new_id: Callable[[str], str]) -> None:
        self._head = {"id": new_id("cmpl"), "object": "text_completion", "created": created, "model": model}
        options = tree.get("stream_options")
        self._wants_usage = isinstance(options, dict) and bool(options.get("include_usage"))

    def whole(self, answer: Mapping[str, Any], usage: Usage) -> dict[str, Any]:
        """The answer with one text for each choice."""
        choices = [_choice(choice, choice.get("message")) for choice in choices_of(answer)]
        return {**self._head, "choices": choices, "usage": usage_of(usage)}

    def chunk(self, chunk: Mapping[str, Any]) -> bytes:
        """One event; none for a chunk that only names a role."""
        choices = [_choice(choice, choice.get("delta")) for choice in choices_of(chunk)]
        said = [choice for choice in choices if choice["text"] or choice["finish_reason"] or len(choice) > _PLAIN]
        return self._event({"choices": said}) if said else b""

    def end(self, usage: Usage) -> bytes:
        """The usage, where it was asked for."""
        return self._event({"choices": [], "usage": usage_of(usage)}) if self._wants_usage else b""

    def failed(self, error: Mapping[str, Any]) -> bytes:
        """The error as the last event."""
        return event_of({"error": error})

    def _event(self, rest: Mapping[str, Any]) -> bytes:
        return event_of({**self._head, **rest})


_PLAIN = 4
"""Members of a choice without thoughts or citations."""


def _choice(choice: Mapping[str, Any], said: object) -> dict[str, Any]:
    part = said if isinstance(said, dict) else {}
    content = part.get("content")
    plain = {
        "text": content if isinstance(content, str) else "",
        "index": choice.get("index", 0),
        "logprobs": None,
        "finish_reason": choice.get("finish_reason"),
    }
    extras = {name: part[name] for name in ("reasoning_content", "annotations") if part.get(name)}
    return plain | extras


def usage_of(usage: Usage) -> dict[str, Any]:
    """Usage in the form of OpenAI's chat and text completions: sums that include their parts."""
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


class CompletionsShape(WithChoices):
    """`/completions` as an upstream's own endpoint."""

    path = "/completions"

    def heard(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**payload, "choices": [_heard(choice) for choice in choices_of(payload)]}


def _heard(choice: Mapping[str, Any]) -> dict[str, Any]:
    """A choice whose text stands where a chat's does."""
    return {**choice, "delta": {"content": choice.get("text")}}


COMPLETIONS = CompletionsShape()
