"""What a Messages request says beside its conversation, as parameters of a chat completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.errors import BadRequest, UnsupportedParameter
from gateway.wire.messages.blocks import Block

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateway.wire.messages.schema import MessagesRequest

_EFFORTS = ((16_384, "high"), (4_096, "medium"), (0, "low"))
"""The effort that a thinking budget of at least so many tokens is: the budgets in use are 4,000, 10,000 and 32,000."""
_TIERS = {"standard_only": "default"}
"""`auto` is what chat completions do unasked."""
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_TOOL_FIELDS = ("name", "description", "strict")


def parameters(request: MessagesRequest, gaps: list[str]) -> dict[str, Any]:
    """The parameters; what a chat completion cannot say is named in `gaps`."""
    said = {
        "max_tokens": max(request.max_tokens, 1),
        "temperature": request.temperature,
        "top_p": request.top_p,
        "top_k": request.top_k,
        "stop": request.stop_sequences or None,
        "user": _user(request.metadata),
        "service_tier": _TIERS.get(request.service_tier or ""),
        "reasoning_effort": _effort(request, gaps),
        **_stream(request),
        **_output(request.output_config or {}, gaps),
        **_tools(request, gaps),
    }
    if request.max_tokens == 0:
        gaps.append("max_tokens: 0")
    return {name: value for name, value in said.items() if value is not None}


def response_format(wanted: object, place: str) -> dict[str, Any]:
    """A JSON schema that the answer must follow, which the Messages endpoint guarantees: hence `strict`."""
    if (
        not isinstance(wanted, dict)
        or wanted.get("type") != "json_schema"
        or not isinstance(wanted.get("schema"), dict)
    ):
        raise BadRequest(f"{place} must be of type 'json_schema' with a 'schema'", param=place)
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": wanted["schema"], "strict": True}}


def _stream(request: MessagesRequest) -> dict[str, Any]:
    return {"stream": True, "stream_options": {"include_usage": True}} if request.stream else {}


def _user(metadata: Mapping[str, Any] | None) -> str | None:
    for name in metadata or {}:
        if name != "user_id":
            raise UnsupportedParameter("'metadata' holds nothing but 'user_id'", param="metadata")
    user = (metadata or {}).get("user_id")
    if user is not None and not isinstance(user, str):
        raise BadRequest("metadata.user_id must be a string", param="metadata.user_id")
    return user


def _effort(request: MessagesRequest, gaps: list[str]) -> str | None:
    """How hard to think: not at all if thinking is disabled, else as `output_config.effort` says, else by the budget.

    An adaptive model finds its own measure, as a chat model does that is told none. `display` is not followed: thoughts
    that a client does not get it cannot send back, and models that think between tool calls refuse to go on without.
    """
    thinking = request.thinking or {"type": "adaptive"}
    kind = thinking.get("type")
    if kind == "disabled":
        return "none"
    if kind not in ("adaptive", "enabled"):
        gaps.append(Block("thinking", {"type": kind}).named)
    by_budget = _effort_of_budget(thinking.get("budget_tokens")) if kind == "enabled" else None
    effort = (request.output_config or {}).get("effort")
    if effort is not None and not isinstance(effort, str):
        raise BadRequest("output_config.effort must be a string", param="output_config.effort")
    return effort or by_budget


def _effort_of_budget(budget: object) -> str:
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 0:
        raise BadRequest("thinking.budget_tokens must be a number of tokens", param="thinking.budget_tokens")
    return next(effort for least, effort in _EFFORTS if budget >= least)


def _output(config: Mapping[str, Any], gaps: list[str]) -> dict[str, Any]:
    gaps.extend(f"output_config.{name}" for name, value in config.items() if value and name not in ("effort", "format"))
    wanted = config.get("format")
    return {} if wanted is None else {"response_format": response_format(wanted, "output_config.format")}


def _tools(request: MessagesRequest, gaps: list[str]) -> dict[str, Any]:
    tools = [tool for index, given in enumerate(request.tools or []) for tool in _tool(given, f"tools[{index}]", gaps)]
    choice = request.tool_choice or {"type": "auto"}
    chosen = _choice(choice)
    if not request.tools:
        # Chat completions refuse an empty list of tools, and a choice among none.
        if choice.get("type") in ("any", "tool"):
            raise BadRequest("'tool_choice' asks for a tool, but 'tools' has none", param="tool_choice")
        return {}
    alone = False if choice.get("disable_parallel_tool_use") else None
    return {
        "tools": tools,
        "tool_choice": chosen if request.tool_choice else None,
        "parallel_tool_calls": alone,
    }


def _tool(given: Mapping[str, Any], place: str, gaps: list[str]) -> Iterator[dict[str, Any]]:
    """The function that a tool of the client's is. Tools of Anthropic's own have a type and no schema."""
    kind = given.get("type")
    if kind not in (None, "custom"):
        gaps.append(Block(place, {"type": kind}).named)
        return
    if not isinstance(given.get("name"), str):
        raise BadRequest(f"{place}.name must be a string", param=f"{place}.name")
    if not isinstance(given.get("input_schema"), dict):
        raise BadRequest(f"{place}.input_schema must be a JSON schema", param=f"{place}.input_schema")
    if "direct" not in (given.get("allowed_callers") or ["direct"]):
        gaps.append(f"{place}.allowed_callers")
    function = {name: given[name] for name in _TOOL_FIELDS if given.get(name) is not None}
    yield {"type": "function", "function": {**function, "parameters": _schema(given)}}


def _schema(given: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a tool's input, its examples where JSON Schema keeps them."""
    schema: dict[str, Any] = given["input_schema"]
    examples = given.get("input_examples")
    return {**schema, "examples": examples} if examples else schema


def _choice(choice: Mapping[str, Any]) -> object:
    kind = choice.get("type")
    if kind == "tool" and isinstance(choice.get("name"), str):
        return {"type": "function", "function": {"name": choice["name"]}}
    if not isinstance(kind, str) or kind not in _CHOICES:
        raise BadRequest("'tool_choice' must be auto, any, none, or a tool with its name", param="tool_choice")
    return _CHOICES[kind]
