"""A Messages request says the same as a chat completion, or it is named what it cannot say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import BadRequest, UnsupportedParameter
from gateway.wire.messages import to_chat

USER = {"role": "user", "content": "hi"}
TOOL = {"name": "weather", "description": "Looks out.", "input_schema": {"type": "object", "properties": {}}}
PICTURE: dict[str, Any] = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR"}}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "São Paulo"}}


def request(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "auto@papers", "max_tokens": 50, "messages": list(messages) or [USER], **more}


def said(*content: dict[str, Any], role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": list(content)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words, "cache_control": {"type": "ephemeral"}}


def result(identifier: str = "toolu_1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identifier, **more}


def chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    translated = to_chat(request(*messages, **more))
    assert translated.native_only is None
    return translated.chat


def test_a_plain_request_is_a_plain_chat() -> None:
    assert chat() == {"model": "auto@papers", "messages": [USER], "max_tokens": 50}


def test_a_stream_asks_for_its_usage() -> None:
    assert chat(stream=True)["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("system", ["Be brief.\n\nBe kind.", [text("Be brief."), text("Be kind.")]])
def test_the_system_prompt_comes_first(system: object) -> None:
    assert chat(system=system)["messages"] == [{"role": "system", "content": "Be brief.\n\nBe kind."}, USER]


def test_a_line_for_anthropics_accounts_is_no_part_of_the_prompt() -> None:
    system = [text("x-anthropic-billing-header: cc_version=2; cch=1;"), text("Be brief.")]

    assert chat(system=system)["messages"][0] == {"role": "system", "content": "Be brief."}


def test_adjacent_messages_of_one_role_are_one_turn() -> None:
    messages = chat(USER, said(text("again")), said(text("yes?"), role="assistant"), USER)["messages"]

    parts = [{"type": "text", "text": "hi"}, {"type": "text", "text": "again"}]
    assert messages == [{"role": "user", "content": parts}, {"role": "assistant", "content": "yes?"}, USER]


def test_pictures_become_data_urls_or_stay_urls() -> None:
    linked = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}

    parts = chat(said(text("these?"), PICTURE, linked))["messages"][0]["content"]

    urls = [part["image_url"]["url"] for part in parts[1:]]
    assert urls == ["data:image/png;base64,iVBOR", "https://example.org/a.png"]


def test_a_document_of_text_is_read_out_with_its_title() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "It rains."}
    parts = chat(said({"type": "document", "title": "Weather", "source": source}, text("Does it?")))["messages"][0]

    assert [part["text"] for part in parts["content"]] == ["Weather", "It rains.", "Does it?"]


def test_a_document_of_blocks_keeps_its_pictures() -> None:
    source = {"type": "content", "content": [text("It rains."), PICTURE]}

    parts = chat(said({"type": "document", "source": source}))["messages"][0]["content"]

    assert [part["type"] for part in parts] == ["text", "image_url"]


def test_a_search_result_is_read_out_with_its_source() -> None:
    found = {"type": "search_result", "title": "Weather", "source": "a.txt", "content": [text("It rains.")]}

    assert chat(said(found))["messages"] == [{"role": "user", "content": "Weather\na.txt\nIt rains."}]


def test_calls_and_thoughts_come_back_on_the_message_they_belong_to() -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "anything"}

    messages = chat(USER, said(thinking, text("I look."), CALL, role="assistant"), said(result(content="20 °C")))

    function = {"name": "weather", "arguments": '{"city": "São Paulo"}'}
    assert messages["messages"][1:] == [
        {
            "role": "assistant",
            "content": "I look.",
            "reasoning_content": "Hm.",
            "tool_calls": [{"id": "toolu_1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "toolu_1", "content": "20 °C"},
    ]


def test_no_thought_is_invented_where_none_was_shown() -> None:
    hidden = {"type": "thinking", "thinking": "", "signature": "sealed"}

    message = chat(USER, said(hidden, CALL, role="assistant"), said(result()))["messages"][1]

    assert "reasoning_content" not in message
    assert message["content"] is None


def test_tool_results_stand_before_what_the_user_says() -> None:
    calls = said(CALL, {**CALL, "id": "toolu_2"}, role="assistant")
    answers = said(text("Well?"), result(content="20"), result("toolu_2", content=[text("a"), text("b")]))

    messages = chat(USER, calls, answers)["messages"][2:]

    assert [(message["role"], message["content"]) for message in messages] == [
        ("tool", "20"),
        ("tool", "a\nb"),
        ("user", "Well?"),
    ]


def test_a_picture_of_a_tool_is_shown_after_its_result() -> None:
    messages = chat(USER, said(CALL, role="assistant"), said(result(content=[PICTURE])))["messages"]

    assert messages[2] == {
        "role": "tool",
        "tool_call_id": "toolu_1",
        "content": "A picture, shown in the next message.",
    }
    assert [part["type"] for part in messages[3]["content"]] == ["text", "image_url"]


def test_a_failed_tool_says_so() -> None:
    messages = chat(USER, said(CALL, role="assistant"), said(result(content="no network", is_error=True)))["messages"]

    assert messages[2]["content"] == "Error: no network"


def test_a_system_message_before_all_others_joins_the_system_prompt() -> None:
    messages = chat({"role": "system", "content": "Be kind."}, USER, system="Be brief.")["messages"]

    assert messages == [{"role": "system", "content": "Be brief.\n\nBe kind."}, USER]


def test_a_system_message_in_the_middle_stays_there_as_a_reminder() -> None:
    messages = chat(USER, {"role": "system", "content": "Be kind."})["messages"]

    reminder = {"type": "text", "text": "<system-reminder>\nBe kind.\n</system-reminder>"}
    assert messages == [{"role": "user", "content": [{"type": "text", "text": "hi"}, reminder]}]


def test_a_reminder_after_tool_results_makes_no_turn_of_the_user() -> None:
    reminder = {"role": "system", "content": "Be kind."}

    messages = chat(USER, said(CALL, role="assistant"), said(result(content="20")), reminder)["messages"]

    assert messages[-1]["role"] == "tool"
    assert messages[-1]["content"] == "20\n\n<system-reminder>\nBe kind.\n</system-reminder>"


def test_arguments_that_were_no_json_go_back_as_the_model_wrote_them() -> None:
    broken = {**CALL, "input": {"INVALID_JSON": '{"city": "Par'}}

    messages = chat(USER, said(broken, role="assistant"), said(result()))["messages"]

    assert messages[1]["tool_calls"][0]["function"]["arguments"] == '{"city": "Par'


def test_tools_keep_their_schema_strictness_and_examples() -> None:
    tool = {**TOOL, "strict": True, "input_examples": [{"city": "Rio"}], "cache_control": {"type": "ephemeral"}}

    function = chat(tools=[tool])["tools"][0]["function"]

    assert function == {
        "name": "weather",
        "description": "Looks out.",
        "strict": True,
        "parameters": {"type": "object", "properties": {}, "examples": [{"city": "Rio"}]},
    }


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"type": "auto"}, "auto"),
        ({"type": "any"}, "required"),
        ({"type": "none"}, "none"),
        ({"type": "tool", "name": "weather"}, {"type": "function", "function": {"name": "weather"}}),
    ],
)
def test_the_choice_of_a_tool_is_kept(choice: dict[str, Any], expected: object) -> None:
    assert chat(tools=[TOOL], tool_choice=choice)["tool_choice"] == expected


def test_one_call_at_a_time_is_kept() -> None:
    choice = {"type": "auto", "disable_parallel_tool_use": True}

    assert chat(tools=[TOOL], tool_choice=choice)["parallel_tool_calls"] is False


def test_no_tools_are_no_parameters() -> None:
    assert chat(tools=[], tool_choice={"type": "auto"}) == chat()


def test_parameters_keep_their_values_under_chats_names() -> None:
    translated = chat(
        stop_sequences=["END"], temperature=0.5, top_p=0.9, top_k=40, metadata={"user_id": "u-1"}, service_tier="auto"
    )

    expected = {"stop": ["END"], "temperature": 0.5, "top_p": 0.9, "top_k": 40, "user": "u-1"}
    assert translated == {**chat(), **expected}


def test_the_standard_tier_is_asked_for_by_name() -> None:
    assert chat(service_tier="standard_only")["service_tier"] == "default"


@pytest.mark.parametrize(
    ("thinking", "effort", "expected"),
    [
        (None, None, None),
        ({"type": "adaptive"}, None, None),
        ({"type": "adaptive"}, "max", "max"),
        ({"type": "disabled"}, None, "none"),
        ({"type": "disabled"}, "high", "none"),
        ({"type": "enabled", "budget_tokens": 1_024}, None, "low"),
        ({"type": "enabled", "budget_tokens": 4_096}, None, "medium"),
        ({"type": "enabled", "budget_tokens": 16_384}, None, "high"),
        ({"type": "enabled", "budget_tokens": 1_024}, "xhigh", "xhigh"),
    ],
)
def test_thinking_becomes_an_effort(thinking: object, effort: str | None, expected: str | None) -> None:
    config = {"output_config": {"effort": effort}} if effort else {}

    assert chat(thinking=thinking, **config).get("reasoning_effort") == expected


@pytest.mark.parametrize("place", ["output_config", "output_format"])
def test_a_schema_of_the_answer_is_kept_whole_and_strict(place: str) -> None:
    schema = {"type": "object", "$defs": {"ñ": {"anyOf": [{"$ref": "#/$defs/ñ"}, {"type": "null"}]}}}
    wanted = {"type": "json_schema", "schema": schema}

    translated = chat(**{place: {"format": wanted} if place == "output_config" else wanted})

    assert translated["response_format"]["json_schema"] == {"name": "answer", "schema": schema, "strict": True}


def test_unknown_parameters_go_along_and_empty_ones_do_not() -> None:
    assert chat(seed=7, min_p=None, cache_control={"type": "ephemeral"}) == {**chat(), "seed": 7}


def test_keeping_all_thoughts_is_what_a_chat_does() -> None:
    edits = [{"type": "clear_thinking_20251015", "keep": "all"}]

    assert chat(context_management={"edits": edits}) == chat()


@pytest.mark.parametrize(
    ("tree", "named"),
    [
        (
            request(tools=[TOOL, {"type": "web_search_20250305", "name": "web_search"}]),
            "tools[1]: 'web_search_20250305'",
        ),
        (request(tools=[{**TOOL, "allowed_callers": ["code_execution_20260120"]}]), "tools[0].allowed_callers"),
        (
            request(said({"type": "document", "source": {"type": "base64", "data": "JVBERi0="}})),
            "messages[0].content[0].source: 'base64'",
        ),
        (
            request(said({"type": "image", "source": {"type": "file", "file_id": "f"}})),
            "messages[0].content[0].source: 'file'",
        ),
        (
            request(said({"type": "redacted_thinking", "data": "x"}, role="assistant"), USER),
            "messages[0].content[0]: 'redacted_thinking'",
        ),
        (
            request(USER, said(result(content=[{"type": "tool_reference"}]))),
            "messages[1].content[0].content[0]: 'tool_reference'",
        ),
        (
            request(
                said(
                    {
                        "type": "document",
                        "source": {"type": "text", "data": "a"},
                        "citations": {"enabled": True},
                    }
                )
            ),
            "messages[0].content[0].citations",
        ),
        (request(said({"type": "my secret 123"})), "messages[0].content[0]: an unknown type"),
        (request(USER, said(text("The answer is"), role="assistant")), "messages[1]: an answer that the client began"),
        (request(mcp_servers=[{"type": "url"}]), "mcp_servers"),
        (request(inference_geo="eu"), "inference_geo"),
        (request(speed="fast"), "speed"),
        (request(context_management={"edits": [{"type": "clear_tool_uses_20250919"}]}), "context_management"),
        (request(thinking={"type": "between_tools"}), "thinking: 'between_tools'"),
        (request(output_config={"task_budget": {"total": 9}}), "output_config.task_budget"),
        (request(max_tokens=0), "max_tokens: 0"),
    ],
)
def test_what_a_chat_cannot_carry_is_named(tree: dict[str, Any], named: str) -> None:
    assert to_chat(tree).native_only == named


@pytest.mark.parametrize(
    ("tree", "param"),
    [
        ({"model": "m", "messages": [USER]}, "max_tokens"),
        ({"model": "m", "max_tokens": 5}, "messages"),
        ({**request(), "messages": []}, "messages"),
        ({**request(), "messages": [{"role": "user"}]}, "messages[0].content"),
        ({**request(), "max_tokens": -1}, "max_tokens"),
        (request({"role": "tool", "content": "x"}), "messages[0].role"),
        (request(said({"type": "text"})), "messages[0].content[0].text"),
        (request(said({"text": "x"})), "messages[0].content[0]"),
        (request(said({"type": "image"})), "messages[0].content[0].source"),
        (
            request(said({"type": "image", "source": {**PICTURE["source"], "media_type": "a,b"}})),
            "messages[0].content[0].source.media_type",
        ),
        (request(said(result(content=7))), "messages[0].content[0].content"),
        (request(said({**CALL, "input": "x"}, role="assistant")), "messages[0].content[0].input"),
        (request(said({**CALL, "input": {"a": 1e999}}, role="assistant")), "messages[0].content[0].input"),
        (request(tools=[{"name": "x"}]), "tools[0].input_schema"),
        (request(tools=[{"input_schema": {}}]), "tools[0].name"),
        (request(tool_choice={"type": "any"}), "tool_choice"),
        (request(tools=[TOOL], tool_choice={"type": "tool"}), "tool_choice"),
        (request(thinking={"type": "enabled"}), "thinking.budget_tokens"),
        (request(output_config={"effort": 3}), "output_config.effort"),
        (request(output_config={"format": {"type": "text"}}), "output_config.format"),
        (request(metadata={"user_id": 3}), "metadata.user_id"),
        (request(metadata={"name": "x"}), "metadata"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(tree: dict[str, Any], param: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        to_chat(tree)

    assert refusal.value.param == param


@pytest.mark.parametrize("extra", [{"n": 2}, {"stop_sequences": ["a"], "stop": ["b"]}])
def test_a_chats_own_word_for_what_is_said_already_is_refused(extra: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedParameter):
        to_chat(request(**extra))


def test_no_refusal_repeats_what_was_said() -> None:
    secret = "123.456.789-09"
    for tree in (request(said({"type": "text", "text": [secret]})), request(stop_sequences=[{secret: secret}])):
        with pytest.raises(BadRequest) as refusal:
            to_chat(tree)

        assert secret not in f"{refusal.value} {refusal.value.param}"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["user", "text", "image", "tool_result", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "role", "content", "text", "source", "name", "input", "data"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(messages=st.lists(st.dictionaries(st.sampled_from(["role", "content"]), JSON), max_size=3), tools=JSON)
def test_nonsense_is_refused_or_named_but_never_a_crash(messages: object, tools: object) -> None:
    try:
        translated = to_chat({"model": "m", "max_tokens": 5, "messages": messages, "tools": tools})
    except BadRequest:
        return

    json.dumps(translated.chat, allow_nan=False)
    assert translated.chat["messages"]
