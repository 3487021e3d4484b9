"""Translates the input items of a response to the messages of a chat completion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateway.errors import BadRequest, UnsupportedParameter
from gateway.wire.responses import members
from gateway.wire.responses.freetext import arguments_of
from gateway.wire.responses.names import Tool
from gateway.wire.responses.parts import content_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.wire.responses.names import Kind, Names
    from gateway.wire.responses.parts import Content
    from gateway.wire.responses.schema import ResponsesRequest

_ROLES = {"user": "user", "system": "system", "developer": "system", "assistant": "assistant"}
"""A developer is a system under a newer name; several chat templates of open models drop a role they do not know."""

_NATIVE_ITEMS = frozenset(
    """
    additional_tools apply_patch_call apply_patch_call_output code_interpreter_call compaction compaction_trigger
    computer_call computer_call_output file_search_call image_generation_call local_shell_call local_shell_call_output
    mcp_approval_request mcp_approval_response mcp_call mcp_list_tools program program_output shell_call
    shell_call_output tool_search_call tool_search_output web_search_call
    """.split()
)
"""Types of items that only an endpoint `/responses` has."""


def messages_of(fields: ResponsesRequest, names: Names, beyond: list[str]) -> list[dict[str, Any]]:
    """The instructions and the input as messages; items that no message can carry are named in `beyond`."""
    if not fields.input:
        raise BadRequest("'input' is missing or empty: send a text or items", param="input")
    conversation = _Conversation(names)
    if fields.instructions:
        conversation.say({"role": "system", "content": fields.instructions})
    if isinstance(fields.input, str):
        conversation.say({"role": "user", "content": fields.input})
        return conversation.messages
    for index, item in enumerate(fields.input):
        _add(conversation, item, f"input[{index}]", beyond)
    conversation.end_turn()
    return conversation.messages


@dataclass(slots=True)
class _Turn:
    """What the assistant thought, said and called in one go: one message."""

    thoughts: list[str]
    content: Content | None = None
    calls: list[dict[str, Any]] = field(default_factory=list)

    def message(self) -> dict[str, Any]:
        content = "" if self.content is None and not self.calls else self.content
        message: dict[str, Any] = {"role": "assistant", "content": content}
        if thoughts := "".join(self.thoughts):
            message["reasoning_content"] = thoughts
        if self.calls:
            message["tool_calls"] = self.calls
        return message


class _Conversation:
    """Gathers items into messages: thoughts, text and calls that follow each other are one message of the assistant.

    Models that think between their tool calls want exactly that message back.
    """

    def __init__(self, names: Names) -> None:
        self.messages: list[dict[str, Any]] = []
        self._names = names
        self._unasked: list[dict[str, Any]] = []
        self._turn: _Turn | None = None
        self._thoughts: list[str] = []

    def say(self, message: dict[str, Any]) -> None:
        """Add a message of anyone but the assistant and the tools."""
        self.end_turn()
        self.messages.append(message)

    def think(self, thoughts: str) -> None:
        """Keep thoughts until it is seen what they belong to."""
        self._thoughts.append(thoughts)

    def answer(self, content: Content) -> None:
        """Add a text; a second one begins a message of its own, with the thoughts that came before it."""
        if self._turn is not None and self._turn.content is not None:
            self.messages.append(self._turn.message())
            self._turn = None
        self._now().content = content

    def call(self, call_id: str, tool: Tool, arguments: str) -> None:
        """Add a tool call."""
        function = {"name": self._names.of(tool), "arguments": arguments}
        self._now().calls.append({"id": call_id, "type": "function", "function": function})

    def result(self, call_id: str, content: Content) -> None:
        """Add what a tool call came to."""
        self._close_turn()
        self.messages.append({"role": "tool", "tool_call_id": call_id, "content": content})

    def unasked(self, tool: Tool, content: Content) -> None:
        """Add what a tool said that was not called. It waits for what must not part calls from their results.

        A chat has a place for it only among the user's words: a call that nobody made would be invented, and models
        that think want their thoughts with it. So it is said there whose words it is.
        """
        told = f"Output of the tool {self._names.of(tool)}, which was not called:"
        said = f"{told}\n{content}" if isinstance(content, str) else [{"type": "text", "text": told}, *content]
        self._unasked.append({"role": "user", "content": said})

    def end_turn(self) -> None:
        """Close the assistant's message, thoughts without an answer included, and tell what tools said unasked."""
        self._close_turn()
        self._tell_unasked()

    def _close_turn(self) -> None:
        if self._turn is not None or self._thoughts:
            self.messages.append(self._now().message())
        self._turn = None

    def _tell_unasked(self) -> None:
        self.messages += self._unasked
        self._unasked = []

    def _now(self) -> _Turn:
        if self._turn is None:
            self._tell_unasked()
            self._turn = _Turn([])
        self._turn.thoughts += self._thoughts
        self._thoughts = []
        return self._turn


def _add(conversation: _Conversation, item: Mapping[str, Any], place: str, beyond: list[str]) -> None:
    kind = item.get("type")
    if kind is None:
        kind = "message" if "role" in item else "item_reference"
    if kind == "message":
        _add_message(conversation, item, place, beyond)
    elif kind == "reasoning":
        _add_thoughts(conversation, item, place, beyond)
    elif kind == "function_call":
        _add_call(conversation, item, place, members.text(item, "arguments", place), "function")
    elif kind == "custom_tool_call":
        _add_call(conversation, item, place, arguments_of(members.text(item, "input", place)), "custom")
    elif kind == "function_call_output":
        _add_result(conversation, item, place, beyond, "function")
    elif kind == "custom_tool_call_output":
        _add_result(conversation, item, place, beyond, "custom")
    elif kind == "item_reference":
        raise UnsupportedParameter(
            f"{place} refers to a stored item: nothing is stored, send the item itself", param=place
        )
    else:
        beyond.append(members.shown(place, kind, _NATIVE_ITEMS))


def _add_message(conversation: _Conversation, item: Mapping[str, Any], place: str, beyond: list[str]) -> None:
    role = _ROLES.get(members.text(item, "role", place))
    if role is None:
        raise BadRequest(f"{place}.role must be one of {', '.join(_ROLES)}", param=f"{place}.role")
    content = content_of(item.get("content"), f"{place}.content", beyond)
    if role == "assistant":
        conversation.answer(content)
    else:
        conversation.say({"role": role, "content": content})


def _add_thoughts(conversation: _Conversation, item: Mapping[str, Any], place: str, beyond: list[str]) -> None:
    """Thoughts are sent back as they came; where there are only summaries of them, those are what is known."""
    thoughts = "".join(_texts(item.get("content"), f"{place}.content"))
    if not thoughts and item.get("encrypted_content") is not None:
        beyond.append(f"{place}.encrypted_content")
    if thoughts := thoughts or "\n\n".join(_texts(item.get("summary"), f"{place}.summary")):
        conversation.think(thoughts)


def _texts(parts: object, place: str) -> list[str]:
    said = [] if parts is None else members.objects(parts, place)
    return [members.text(part, "text", f"{place}[{index}]") for index, part in enumerate(said)]


def _add_call(conversation: _Conversation, item: Mapping[str, Any], place: str, arguments: str, kind: Kind) -> None:
    """A call; its arguments are sent back as the model wrote them, even where they are no JSON."""
    tool = _tool(item, place, kind)
    conversation.call(members.name(item, "call_id", place), tool, arguments)


def _add_result(
    conversation: _Conversation, item: Mapping[str, Any], place: str, beyond: list[str], kind: Kind
) -> None:
    """A result; a client's own tool may speak without having been called: it says its name in place of the call's."""
    content = content_of(item.get("output"), f"{place}.output", beyond)
    if item.get("call_id") is None and item.get("name") is not None:
        conversation.unasked(_tool(item, place, kind), content)
    else:
        conversation.result(members.name(item, "call_id", place), content)


def _tool(item: Mapping[str, Any], place: str, kind: Kind) -> Tool:
    namespace = None if item.get("namespace") is None else members.name(item, "namespace", place)
    return Tool(kind, members.name(item, "name", place), namespace)
