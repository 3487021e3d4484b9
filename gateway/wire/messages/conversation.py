"""The conversation of a Messages request as the messages of a chat completion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from gateway.errors import BadRequest
from gateway.wire.messages import arguments
from gateway.wire.messages.blocks import Block, Part, blocks_of, parts_of, text_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.wire.messages.schema import CountTokensRequest, Message

ChatMessage = dict[str, Any]

_ATTRIBUTION = "x-anthropic-billing-header:"
"""Claude Code opens its system prompt with this line for Anthropic's accounts. It says nothing to a model, and as it
changes with every request it would spoil the prefix cache of any other upstream; vLLM leaves it out too."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Adjacent messages of one role, which the Messages endpoint takes as one."""

    role: str
    blocks: list[Block]


def chat_messages(request: CountTokensRequest, gaps: list[str]) -> list[ChatMessage]:
    """The system prompt and the turns; what a chat completion cannot say is named in `gaps`."""
    leading = len(list(takewhile(_is_system, request.messages)))
    system = _texts(blocks_of(request.system or [], "system"))
    for index, message in enumerate(request.messages[:leading]):
        system += _texts(blocks_of(message.content, f"messages[{index}].content"))
    said: list[ChatMessage] = [{"role": "system", "content": "\n\n".join(system)}] if system else []
    turns = _turns(request.messages, leading)
    for turn in turns:
        said += _of_assistant(turn, gaps) if turn.role == "assistant" else _of_user(turn, gaps)
    if turns and turns[-1].role == "assistant":
        # Few upstreams go on with a begun answer, each by a switch of its own; the others would start another one.
        gaps.append(f"messages[{len(request.messages) - 1}]: an answer that the client began")
    return said


def _is_system(message: Message) -> bool:
    return message.role == "system"


def _texts(blocks: Sequence[Block]) -> list[str]:
    texts = (block.text("text") for block in blocks)
    return [text for text in texts if text and not text.startswith(_ATTRIBUTION)]


def _turns(messages: Sequence[Message], first: int) -> list[Turn]:
    turns: list[Turn] = []
    for index, message in enumerate(messages[first:], first):
        role, blocks = _role_and_blocks(message, f"messages[{index}]")
        if turns and turns[-1].role == role:
            turns[-1].blocks.extend(blocks)
        else:
            turns.append(Turn(role, blocks))
    return turns


def _role_and_blocks(message: Message, place: str) -> tuple[str, list[Block]]:
    blocks = blocks_of(message.content, f"{place}.content")
    if message.role in ("user", "assistant"):
        return message.role, blocks
    if message.role == "system":
        return "user", [_reminder(block) for block in blocks]
    raise BadRequest(f"{place}.role must be 'user', 'assistant' or 'system'", param=f"{place}.role")


def _reminder(block: Block) -> Block:
    """A system message in the middle, as text of the user's turn, marked as Claude Code marks its own.

    Many chat templates refuse a system message anywhere but first, and moving it there would change the prompt from its
    beginning at each turn, which no prefix cache survives.
    """
    text = f"<system-reminder>\n{block.text('text')}\n</system-reminder>"
    return replace(block, fields={"type": "text", "text": text}, reminder=True)


def _of_user(turn: Turn, gaps: list[str]) -> list[ChatMessage]:
    """The tool results first, as they must follow their calls, then what the user says."""
    results: list[ChatMessage] = []
    shown: list[Part] = []
    said: list[Part] = []
    for block in turn.blocks:
        if block.kind == "tool_result":
            result, pictures = _tool_result(block, gaps)
            results.append(result)
            shown += pictures
        else:
            said += parts_of(block, gaps)
    if results and all(block.reminder or block.kind == "tool_result" for block in turn.blocks):
        # A turn of the user after tool results makes many chat templates forget the thoughts before them.
        results[-1]["content"] = "\n\n".join([results[-1]["content"], *(part["text"] for part in said)])
        said = []
    parts = [*shown, *said]
    return [*results, {"role": "user", "content": _content(parts)}] if parts or not results else results


def _content(parts: list[Part]) -> str | list[Part]:
    if not parts:
        return ""
    text = parts[0].get("text")
    return text if len(parts) == 1 and isinstance(text, str) else parts


def _tool_result(block: Block, gaps: list[str]) -> tuple[ChatMessage, list[Part]]:
    """The tool message, and its pictures for the user's message after it: a tool message carries text alone."""
    content = block.fields.get("content")
    inner = [] if content is None else blocks_of(content, f"{block.place}.content")
    parts = [part for child in inner for part in parts_of(child, gaps)]
    identifier = block.text("tool_use_id")
    pictures = [part for part in parts if part["type"] != "text"]
    text = "\n".join(part["text"] for part in parts if part["type"] == "text")
    if pictures:
        pictures = [text_part(f"What the tool call {identifier} returned:"), *pictures]
        text = text or "A picture, shown in the next message."
    if block.fields.get("is_error"):
        text = f"Error: {text}"
    return {"role": "tool", "tool_call_id": identifier, "content": text}, pictures


def _of_assistant(turn: Turn, gaps: list[str]) -> list[ChatMessage]:
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[dict[str, Any]] = []
    for block in turn.blocks:
        match block.kind:
            case "text":
                texts.append(block.text("text"))
            case "thinking":
                thoughts.append(block.text("thinking"))  # any signature will do: only Anthropic can check it
            case "tool_use":
                calls.append(_call(block))
            case _:
                gaps.append(block.named)
    message: ChatMessage = {"role": "assistant", "content": "".join(texts) or (None if calls else "")}
    if thought := "".join(thoughts):
        message["reasoning_content"] = thought
    if calls:
        message["tool_calls"] = calls
    return [message]


def _call(block: Block) -> dict[str, Any]:
    function = {
        "name": block.text("name"),
        "arguments": arguments.to_text(block.fields.get("input"), f"{block.place}.input"),
    }
    return {"id": block.text("id"), "type": "function", "function": function}
