"""Tools have names in a chat that are allowed there, differ from each other, and lead back."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.responses.names import Names, Tool, names_of

ALLOWED = re.compile("[A-Za-z0-9_-]{1,64}")


def offering(*tools: dict[str, Any], items: Any = "x") -> Names:
    return names_of({"tools": list(tools), "input": items})


def function(name: str) -> dict[str, Any]:
    return {"type": "function", "name": name}


def namespace(name: str, *tools: str) -> dict[str, Any]:
    return {"type": "namespace", "name": name, "tools": [function(tool) for tool in tools]}


def test_a_function_keeps_its_name_whatever_comes_before_it() -> None:
    names = offering(namespace("a", "b"), function("a__b"))

    assert names.of(Tool("function", "a__b")) == "a__b"
    inner = names.of(Tool("function", "b", "a"))
    assert inner != "a__b"
    assert inner.startswith("a__b_")


def test_names_that_would_be_the_same_are_told_apart() -> None:
    tools = [Tool("function", "b__c", "a"), Tool("function", "c", "a__b"), Tool("custom", "c", "a__b")]

    names = offering(namespace("a", "b__c"), namespace("a__b", "c"))

    given_names = [names.of(tool) for tool in tools]
    assert len(set(given_names)) == 3
    assert [names.tool(name) for name in given_names] == tools


def test_long_and_unusual_names_become_names_that_a_chat_allows() -> None:
    long, odd = Tool("function", "b" * 60, "a" * 60), Tool("custom", "find.customer é")

    names = Names()

    assert all(ALLOWED.fullmatch(names.of(tool)) for tool in (long, odd))
    assert [names.tool(names.of(tool)) for tool in (long, odd)] == [long, odd]


def test_a_tool_that_is_only_spoken_of_leads_back_too() -> None:
    names = offering(items=[{"type": "function_call", "name": "find", "namespace": "crm", "call_id": "c"}])

    assert names.tool("crm__find") == Tool("function", "find", "crm")


def test_what_is_no_tool_is_passed_over() -> None:
    broken: list[Any] = [None, {"type": ["function"]}, {"type": "function", "name": 3}, {"type": "web_search"}]

    names = names_of({"tools": broken, "input": broken})

    assert names.tool("f") == Tool("function", "f")


NAME = st.text("ab_.é", min_size=1, max_size=40)
TOOL = st.builds(Tool, st.sampled_from(["function", "custom"]), NAME, st.none() | NAME)


@given(st.lists(TOOL, max_size=12, unique=True))
def test_every_name_leads_back_to_its_tool(tools: list[Tool]) -> None:
    kinds = {"function": "function_call", "custom": "custom_tool_call"}
    items = [{"type": kinds[tool.kind], "name": tool.name, "namespace": tool.namespace} for tool in tools]

    names = names_of({"input": items})

    assert [names.tool(names.of(tool)) for tool in tools] == tools
    assert all(ALLOWED.fullmatch(names.of(tool)) for tool in tools if not tool.is_plain)
    assert all(names.of(tool) == tool.name for tool in tools if tool.is_plain)
    again = names_of({"input": items})
    assert [again.of(tool) for tool in tools] == [names.of(tool) for tool in tools]
