"""What the provider says: decided by the request alone, so that the same question has the same answer everywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Reason = Literal["stop", "length", "tool_calls"]


@dataclass(frozen=True)
class Tool:
    """A tool that may be called."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class Asked:
    """A request as every endpoint understands it."""

    texts: Sequence[str]
    """All that was written, the results of tools too."""
    question: str = ""
    pictures: int = 0
    results: Sequence[str] = ()
    """What the tools said since the user spoke last."""
    tools: Sequence[Tool] = ()
    """Those that may be called this time."""
    at_most_one: bool = False
    schema: Mapping[str, Any] | None = None
    thinks: bool = False
    limit: int | None = None


@dataclass(frozen=True)
class Call:
    """A call of a tool."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Said:
    """An answer, before any endpoint gives it its form."""

    thoughts: Sequence[str]
    pieces: Sequence[str]
    calls: Sequence[Call]
    reason: Reason
    prompt_tokens: int

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def thought(self) -> str:
        return "".join(self.thoughts)

    @property
    def cached_tokens(self) -> int:
        return min(2, self.prompt_tokens - 1)

    @property
    def reasoning_tokens(self) -> int:
        return len(self.thoughts)

    @property
    def output_tokens(self) -> int:
        return len(self.thoughts) + len(self.pieces) + sum(len(cut(call.arguments)) for call in self.calls)


def say(asked: Asked) -> Said:
    """Call the tools that are there, once; else answer in words, or in the form that was asked for."""
    prompt = max(sum(len(text.split()) for text in asked.texts), 2)
    thoughts = cut("Let me think about it. ") if asked.thinks else ()
    if asked.tools and not asked.results:
        tools = asked.tools[:1] if asked.at_most_one else asked.tools
        calls = [Call(f"call_{n}", tool.name, json.dumps(sample(tool.schema))) for n, tool in enumerate(tools)]
        return Said(thoughts, (), calls, "tool_calls", prompt)
    pieces = cut(_words(asked))
    kept = pieces if asked.limit is None else pieces[: asked.limit]
    return Said(thoughts, kept, (), "stop" if kept == pieces else "length", prompt)


def cut(text: str) -> tuple[str, ...]:
    """A text's tokens: its words with the blanks behind them."""
    return tuple(re.findall(r"\S+\s*", text))


def sample(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """A value that fits the schema."""
    root = schema if root is None else root
    if "$ref" in schema:
        return sample(root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], root)
    for choices in ("anyOf", "oneOf"):
        if choices in schema:
            return sample(schema[choices][0], root)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string" if "properties" not in schema else "object")
    if kind == "object":
        return {name: sample(inner, root) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [sample(schema.get("items", {}), root)]
    return {"string": "São Luís", "integer": 7, "number": 1.5, "boolean": True, "null": None}[kind]


def _words(asked: Asked) -> str:
    if asked.schema is not None:
        return json.dumps(sample(asked.schema), ensure_ascii=False)
    if asked.results:
        return "The tools said: " + "; ".join(asked.results)
    seen = f" I see {asked.pictures} picture(s)." if asked.pictures else ""
    return f"You said: {asked.question} 你好 👋 olá.{seen}"
