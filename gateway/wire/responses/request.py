"""Translates a request of `/responses` to a chat completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.errors import BadRequest, UnsupportedParameter
from gateway.wire.responses import members
from gateway.wire.responses.items import messages_of
from gateway.wire.responses.names import names_of
from gateway.wire.responses.schema import read
from gateway.wire.responses.tools import tools_of
from gateway.wire.shapes import Translated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.wire.responses.schema import ReasoningOptions, ResponsesRequest, TextOptions

_STORED = ("previous_response_id", "conversation", "prompt")
"""What refers to something that a server keeps; this one keeps nothing."""

_MOVED = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "response_format": "text.format",
    "reasoning_effort": "reasoning.effort",
    "verbosity": "text.verbosity",
    "logprobs": "include: ['message.output_text.logprobs']",
    "functions": "tools",
    "function_call": "tool_choice",
}
"""Words of a chat completion, and where a response says the same. Taken both, one would overrule the other unseen."""

_UNSAYABLE = ("audio", "modalities")
"""Parameters of a chat completion whose answers a response has no place for."""

_NATIVE_PARAMETERS = ("access_programs", "background_options", "context_management", "image", "max_tool_calls")
"""Parameters that only an endpoint `/responses` knows."""

_CLIENT = ("client_metadata",)
"""What a client tells of itself, not to the model: no chat has a place for it, and some refuse unknown members."""

_OWN_WORDS = frozenset(
    "background conversation include input instructions max_output_tokens parallel_tool_calls previous_response_id "
    "prompt reasoning store stream_options text tool_choice tools top_logprobs truncation".split()
).union(_NATIVE_PARAMETERS, _CLIENT)
"""What is translated or answered here; every other member passes under its own name."""

_INCLUDABLE = frozenset(
    """
    code_interpreter_call.outputs computer_call_output.output.image_url file_search_call.results
    message.input_image.image_url message.output_text.logprobs reasoning.encrypted_content
    web_search_call.action.sources web_search_call.results
    """.split()
)
"""What `include` may name. Beside the log probabilities it adds to items that no chat completion has, so it adds
nothing; thoughts come unencrypted, so they need no envelope to be sent back."""

_FORMATS = ("text", "json_object", "json_schema")


def to_chat(tree: Mapping[str, Any]) -> Translated:
    """Return the request as a chat completion; BadRequest and UnsupportedParameter name the place."""
    fields = read(tree)
    _refuse(tree)
    beyond = [key for key in _NATIVE_PARAMETERS if tree.get(key) is not None]
    chat = {key: value for key, value in tree.items() if key not in _OWN_WORDS and value is not None}
    names, unbound = names_of(tree), [key for key in _CLIENT if tree.get(key) is not None]
    chat["messages"] = messages_of(fields, names, beyond)
    chat |= tools_of(fields, names, beyond, unbound)
    chat |= _text(fields.text, beyond)
    chat |= _reasoning(fields.reasoning, beyond)
    chat |= _limits(fields, beyond)
    chat |= _logprobs(fields, beyond)
    if fields.stream:
        chat["stream_options"] = {"include_usage": True}
    return Translated(chat, beyond[0] if beyond else None, tuple(unbound))


def _refuse(tree: Mapping[str, Any]) -> None:
    """Refuse what no deployment can be asked for."""
    for key in _STORED:
        if tree.get(key) is not None:
            raise UnsupportedParameter(f"{key!r} is not supported: nothing is stored, send all of the input", param=key)
    if tree.get("background"):
        raise UnsupportedParameter(
            "'background' is not supported: wait for the answer or stream it", param="background"
        )
    for key, place in _MOVED.items():
        if tree.get(key) is not None:
            raise UnsupportedParameter(f"{key!r} is no parameter of a response: use {place!r}", param=key)
    for key in _UNSAYABLE:
        if tree.get(key) is not None:
            raise UnsupportedParameter(f"{key!r} is no parameter of a response", param=key)
    if tree.get("n") not in (None, 1):
        raise UnsupportedParameter("'n' is not supported: a response has one answer", param="n")


def _text(text: TextOptions | None, beyond: list[str]) -> dict[str, Any]:
    if text is None:
        return {}
    said = {"verbosity": text.verbosity, "response_format": response_format(text.format, beyond)}
    return {key: value for key, value in said.items() if value is not None}


def response_format(said: Mapping[str, Any] | None, beyond: list[str]) -> dict[str, Any] | None:
    """`text.format` as `response_format`; None for plain text."""
    kind = "text" if said is None else said.get("type")
    if kind not in _FORMATS:
        beyond.append("text.format")
    if said is None or kind in (None, "text") or kind not in _FORMATS:
        return None
    if kind == "json_object" or said.get("schema") is None:
        return {"type": "json_object"}
    if not isinstance(said["schema"], dict):
        raise BadRequest("text.format.schema must be an object", param="text.format.schema")
    inner = {key: value for key, value in said.items() if key != "type" and value is not None}
    # Chat completions want a name for the schema; in a response it may be left out.
    inner["name"] = members.name({"name": "response", **inner}, "name", "text.format")
    return {"type": "json_schema", "json_schema": inner}


def _reasoning(reasoning: ReasoningOptions | None, beyond: list[str]) -> dict[str, Any]:
    """The effort. A `summary` is not needed where thoughts come as they are; the other options change the answer."""
    if reasoning is None:
        return {}
    if reasoning.mode not in (None, "standard"):
        beyond.append("reasoning.mode")
    if reasoning.context not in (None, "auto"):
        beyond.append("reasoning.context")
    return {} if reasoning.effort is None else {"reasoning_effort": reasoning.effort}


def _limits(fields: ResponsesRequest, beyond: list[str]) -> dict[str, Any]:
    if fields.truncation not in (None, "disabled"):
        beyond.append("truncation: 'auto'" if fields.truncation == "auto" else "truncation")
    return {} if fields.max_output_tokens is None else {"max_completion_tokens": fields.max_output_tokens}


def _logprobs(fields: ResponsesRequest, beyond: list[str]) -> dict[str, Any]:
    include = fields.include or []
    beyond.extend(f"include[{index}]" for index, word in enumerate(include) if word not in _INCLUDABLE)
    if fields.top_logprobs:
        return {"logprobs": True, "top_logprobs": fields.top_logprobs}
    return {"logprobs": True} if "message.output_text.logprobs" in include else {}
