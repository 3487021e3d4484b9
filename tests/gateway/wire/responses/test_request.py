"""A request of `/responses` as a chat completion: what is translated, what passes, what is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.errors import BadRequest, UnsupportedParameter
from gateway.wire.responses import to_chat

WEATHER = {"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": True}
CLOCK = {"type": "function", "name": "clock", "description": "Tells the time.", "parameters": None}
PATCH = {"type": "custom", "name": "patch", "description": "Edits files."}
CRM = {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [CLOCK, PATCH]}
SCHEMA = {"type": "object", "properties": {"größe": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "number"}}}


def chat(**members: Any) -> dict[str, Any]:
    translated = to_chat({"model": "kimi-k3", "input": "Why?", **members})
    assert translated.native_only is None
    return translated.chat


def native_only(**members: Any) -> str | None:
    return to_chat({"model": "kimi-k3", "input": "Why?", **members}).native_only


def test_a_text_is_a_message_of_the_user() -> None:
    assert chat() == {"model": "kimi-k3", "messages": [{"role": "user", "content": "Why?"}]}


def test_instructions_come_first() -> None:
    assert chat(instructions="Be brief.")["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Why?"},
    ]


def test_a_stream_is_asked_for_its_usage() -> None:
    asked = chat(stream=True, stream_options={"include_obfuscation": False})

    assert (asked["stream"], asked["stream_options"]) == (True, {"include_usage": True})


def test_parameters_take_the_names_of_a_chat_completion() -> None:
    asked = chat(max_output_tokens=50, reasoning={"effort": "low", "summary": "auto"}, text={"verbosity": "low"})

    expected = {"max_completion_tokens": 50, "reasoning_effort": "low", "verbosity": "low"}
    assert asked == chat() | expected


def test_parameters_that_both_know_and_unknown_ones_pass() -> None:
    passed = {
        "temperature": 0.2,
        "top_p": 0.9,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.1,
        "metadata": {"a": "b"},
        "user": "u",
        "safety_identifier": "s",
        "prompt_cache_key": "k",
        "service_tier": "flex",
        "seed": 7,
        "stop": ["\n"],
        "top_k": 40,
    }

    assert chat(**passed) == chat() | passed


def test_members_that_say_nothing_are_left_out() -> None:
    silent: dict[str, Any] = {
        "temperature": None,
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "store": True,
    }

    assert chat(**silent, background=False, truncation="disabled", previous_response_id=None) == chat()


def test_a_schema_reaches_the_model_unchanged() -> None:
    given = {"type": "json_schema", "name": "size", "strict": True, "schema": SCHEMA, "description": None}

    response_format = chat(text={"format": given})["response_format"]

    assert response_format == {"type": "json_schema", "json_schema": {"name": "size", "strict": True, "schema": SCHEMA}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"type": "text"}, None),
        ({"type": "json_object"}, {"type": "json_object"}),
        ({"type": "json_schema"}, {"type": "json_object"}),
        (
            {"type": "json_schema", "schema": {}},
            {"type": "json_schema", "json_schema": {"name": "response", "schema": {}}},
        ),
    ],
)
def test_other_formats_are_translated(given: dict[str, Any], expected: dict[str, Any] | None) -> None:
    assert chat(text={"format": given}).get("response_format") == expected


def test_functions_are_nested_and_keep_their_strictness() -> None:
    asked = chat(tools=[WEATHER, CLOCK], parallel_tool_calls=False, tool_choice="required")

    assert asked["tools"] == [
        {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}, "strict": True}},
        {"type": "function", "function": {"name": "clock", "description": "Tells the time."}},
    ]
    assert (asked["parallel_tool_calls"], asked["tool_choice"]) == (False, "required")


def test_one_function_can_be_chosen() -> None:
    asked = chat(tools=[WEATHER, CLOCK], tool_choice={"type": "function", "name": "clock"})

    assert asked["tool_choice"] == {"type": "function", "function": {"name": "clock"}}


@pytest.mark.parametrize(("mode", "expected"), [({}, "auto"), ({"mode": "required"}, "required")])
def test_tools_that_are_not_allowed_are_not_offered(mode: dict[str, str], expected: str) -> None:
    allowed = {"type": "allowed_tools", "tools": [{"type": "function", "name": "clock"}], **mode}

    asked = chat(tools=[WEATHER, CLOCK], tool_choice=allowed)

    assert [tool["function"]["name"] for tool in asked["tools"]] == ["clock"]
    assert asked["tool_choice"] == expected


def test_the_tools_of_a_namespace_are_functions_that_say_where_they_belong() -> None:
    asked = chat(tools=[CRM, CLOCK])

    clock, patch, own = (tool["function"] for tool in asked["tools"])
    assert clock == {"name": "crm__clock", "description": "Customers.\n\nTells the time."}
    assert patch["name"] == "crm__patch"
    assert patch["description"].startswith("Customers.\n\nEdits files.")
    assert own["name"] == "clock"


def test_a_tool_of_free_text_is_a_function_of_one_text() -> None:
    (tool,) = chat(tools=[PATCH])["tools"]

    parameters = tool["function"]["parameters"]
    assert (parameters["properties"], parameters["required"]) == ({"input": {"type": "string"}}, ["input"])
    assert tool["function"]["description"].startswith("Edits files.")


def test_a_grammar_is_told_to_the_model_and_named_as_not_binding() -> None:
    grammar = {"type": "grammar", "syntax": "lark", "definition": 'start: "a"+'}

    translated = to_chat({"model": "m", "input": "x", "tools": [WEATHER, {**PATCH, "format": grammar}, PATCH]})

    assert (translated.native_only, translated.dropped) == (None, ("tools[1].format",))
    assert translated.chat["tools"][1]["function"]["description"].endswith('this grammar (lark):\nstart: "a"+')


@pytest.mark.parametrize(
    ("choice", "name"),
    [
        ({"type": "function", "name": "clock"}, "clock"),
        ({"type": "function", "name": "clock", "namespace": "crm"}, "crm__clock"),
        ({"type": "function", "name": "weather"}, "geo__weather"),
        ({"type": "custom", "name": "patch"}, "crm__patch"),
    ],
)
def test_a_tool_of_a_namespace_can_be_chosen(choice: dict[str, Any], name: str) -> None:
    geo = {"type": "namespace", "name": "geo", "tools": [WEATHER]}

    asked = chat(tools=[CRM, geo, CLOCK], tool_choice=choice)

    assert asked["tool_choice"] == {"type": "function", "function": {"name": name}}


@pytest.mark.parametrize(
    ("allowed", "names"),
    [
        ([{"type": "namespace", "name": "crm"}], ["crm__clock", "crm__patch"]),
        (
            [{"type": "custom", "name": "patch", "namespace": "crm"}, {"type": "function", "name": "clock"}],
            ["crm__patch", "clock"],
        ),
    ],
)
def test_tools_of_namespaces_can_be_allowed(allowed: list[dict[str, str]], names: list[str]) -> None:
    asked = chat(tools=[CRM, CLOCK], tool_choice={"type": "allowed_tools", "tools": allowed})

    assert [tool["function"]["name"] for tool in asked["tools"]] == names


def test_what_a_client_tells_of_itself_is_not_sent_to_a_chat() -> None:
    translated = to_chat({"model": "kimi-k3", "input": "Why?", "client_metadata": {"session_id": "s"}})

    assert (translated.chat, translated.native_only) == (chat(), None)
    assert translated.dropped == ("client_metadata",)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"top_logprobs": 3}, {"logprobs": True, "top_logprobs": 3}),
        ({"include": ["message.output_text.logprobs"]}, {"logprobs": True}),
        ({"top_logprobs": 0, "include": ["reasoning.encrypted_content"]}, {}),
    ],
)
def test_log_probabilities_are_asked_for(members: dict[str, Any], expected: dict[str, Any]) -> None:
    assert chat(**members) == chat() | expected


@pytest.mark.parametrize(
    ("members", "named"),
    [
        ({"tools": [WEATHER, {"type": "web_search"}]}, "tools[1]: 'web_search'"),
        ({"tools": [{"type": "tool_search"}]}, "tools[0]: 'tool_search'"),
        ({"tools": [{**PATCH, "format": {"type": "json"}}]}, "tools[0].format"),
        ({"tools": [{**PATCH, "defer_loading": True}]}, "tools[0].defer_loading"),
        ({"tools": [{**CRM, "tools": [CRM]}]}, "tools[0].tools[0]: 'namespace'"),
        ({"tools": [{**CRM, "tools": [{**WEATHER, "defer_loading": True}]}]}, "tools[0].tools[0].defer_loading"),
        ({"tools": [{**CRM, "scope": "x"}]}, "tools[0]"),
        ({"tools": [{"type": "529.982.247-25"}]}, "tools[0].type"),
        ({"tools": [{**WEATHER, "defer_loading": True}]}, "tools[0].defer_loading"),
        ({"tool_choice": {"type": "file_search"}}, "tool_choice: 'file_search'"),
        (
            {"tools": [WEATHER], "tool_choice": {"type": "allowed_tools", "tools": [{"type": "mcp"}]}},
            "tool_choice.tools[0]: 'mcp'",
        ),
        ({"truncation": "auto"}, "truncation: 'auto'"),
        ({"max_tool_calls": 3}, "max_tool_calls"),
        ({"context_management": [{"type": "compaction"}]}, "context_management"),
        ({"text": {"format": {"type": "grammar"}}}, "text.format"),
        ({"reasoning": {"mode": "pro"}}, "reasoning.mode"),
        ({"reasoning": {"context": "all_turns"}}, "reasoning.context"),
        ({"include": ["something.new"]}, "include[0]"),
    ],
)
def test_what_only_the_endpoint_itself_can_do_is_named(members: dict[str, Any], named: str) -> None:
    assert native_only(**members) == named


@pytest.mark.parametrize(
    "members",
    [
        {"previous_response_id": "resp_1"},
        {"conversation": {"id": "conv_1"}},
        {"prompt": {"id": "pmpt_1"}},
        {"background": True},
        {"max_tokens": 5},
        {"response_format": {"type": "json_object"}},
        {"messages": [{"role": "user", "content": "x"}]},
        {"modalities": ["text", "audio"]},
        {"n": 2},
    ],
)
def test_what_no_deployment_can_be_asked_for_is_refused_by_name(members: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedParameter) as refused:
        chat(**members)

    assert [refused.value.param] == list(members)


@pytest.mark.parametrize(
    ("members", "param"),
    [
        ({"model": 3}, "model"),
        ({"input": None}, "input"),
        ({"input": []}, "input"),
        ({"input": ["x"]}, "input[0]"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"text": {"format": "json"}}, "text.format"),
        ({"text": {"format": {"type": "json_schema", "schema": "x"}}}, "text.format.schema"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools[0].name"),
        ({"tools": [WEATHER], "tool_choice": "sometimes"}, "tool_choice"),
        ({"tools": [WEATHER], "tool_choice": {"type": "function", "name": "clock"}}, "tool_choice"),
        ({"tools": [WEATHER], "tool_choice": {"type": "allowed_tools"}}, "tool_choice.tools"),
        ({"tools": [{**CRM, "name": ""}]}, "tools[0].name"),
        ({"tools": [{**CRM, "tools": None}]}, "tools[0].tools"),
        ({"tools": [{**CRM, "description": 3}]}, "tools[0].description"),
        ({"tools": [{**CRM, "tools": [{**CLOCK, "description": 3}]}]}, "tools[0].tools[0].description"),
        ({"tools": [{**PATCH, "format": {"type": "grammar", "syntax": "lark"}}]}, "tools[0].format.definition"),
        (
            {"tools": [{"type": ["function"], "name": "f"}], "tool_choice": {"type": "custom", "name": "f"}},
            "tool_choice",
        ),
        ({"tools": [WEATHER], "tool_choice": {"type": "custom", "name": "weather"}}, "tool_choice"),
        (
            {"tools": [CRM, {**CRM, "name": "erp"}], "tool_choice": {"type": "function", "name": "clock"}},
            "tool_choice",
        ),
        (
            {
                "tools": [WEATHER],
                "tool_choice": {"type": "allowed_tools", "tools": [{"type": "namespace", "name": "crm"}]},
            },
            "tool_choice",
        ),
    ],
)
def test_what_is_wrong_is_named_by_its_place(members: dict[str, Any], param: str) -> None:
    with pytest.raises(BadRequest) as refused:
        chat(**members)

    assert refused.value.param == param


def test_a_refusal_shows_no_value() -> None:
    secret = "529.982.247-25"  # a made-up identifier
    wrong: list[dict[str, Any]] = [
        {"input": [{"role": secret, "content": "x"}]},
        {"input": [{"role": "user", "content": 5, secret: secret}]},
        {"tool_choice": secret},
        {"reasoning": {"effort": {secret: secret}}},
        {"metadata": secret},
    ]

    for members in wrong:
        with pytest.raises(BadRequest) as refused:
            chat(**members)
        assert secret not in f"{refused.value} {refused.value.param}"
