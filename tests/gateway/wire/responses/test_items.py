"""Input items as messages: parts, tool calls, thoughts, and what belongs together."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.errors import BadRequest, UnsupportedParameter
from gateway.wire.responses import to_chat

CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": '{"at": 1}'}
RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "There."}
CALLED = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,AA=="}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]}


def messages(*items: dict[str, Any]) -> list[dict[str, Any]]:
    translated = to_chat({"model": "kimi-k3", "input": list(items)})
    assert translated.native_only is None
    sent: list[dict[str, Any]] = translated.chat["messages"]
    return sent


def says(role: str, content: object) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


def test_each_role_keeps_its_place() -> None:
    sent = messages(
        says("developer", "Be brief."), says("user", "Hi."), says("assistant", "Ho."), says("system", "Go.")
    )

    assert [(message["role"], message["content"]) for message in sent] == [
        ("system", "Be brief."),
        ("user", "Hi."),
        ("assistant", "Ho."),
        ("system", "Go."),
    ]


def test_a_message_needs_no_type() -> None:
    assert messages({"role": "user", "content": "Hi."}) == [{"role": "user", "content": "Hi."}]


def test_one_text_is_a_text_and_several_are_parts() -> None:
    one = {"type": "input_text", "text": "One."}
    two = {"type": "input_text", "text": "Two."}

    sent = messages(says("user", [one]), says("user", [one, two]))

    assert sent[0]["content"] == "One."
    assert sent[1]["content"] == [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}},
        ),
        (
            {"type": "input_image", "image_url": "https://a.example/b.png", "detail": None, "file_id": None},
            {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}},
        ),
        (
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="}},
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
            {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
        ),
        (
            {"type": "input_video", "video_url": "https://a.example/b.mp4"},
            {"type": "video_url", "video_url": {"url": "https://a.example/b.mp4"}},
        ),
        ({"type": "refusal", "refusal": "No."}, {"type": "refusal", "refusal": "No."}),
    ],
)
def test_parts_are_translated(part: dict[str, Any], expected: dict[str, Any]) -> None:
    assert messages(says("user", [part])) == [{"role": "user", "content": [expected]}]


def test_what_an_answer_was_annotated_with_is_not_said_to_the_model() -> None:
    text = {"type": "output_text", "text": "So.", "annotations": [{"type": "url_citation"}], "logprobs": []}

    assert messages(says("assistant", [text])) == [{"role": "assistant", "content": "So."}]


def test_thoughts_text_and_calls_are_one_message() -> None:
    second = {**CALL, "call_id": "call_2"}

    sent = messages(THOUGHT, says("assistant", "I look."), CALL, second, RESULT, {**RESULT, "call_id": "call_2"})

    assert sent == [
        {
            "role": "assistant",
            "content": "I look.",
            "reasoning_content": "Hm.",
            "tool_calls": [CALLED, {**CALLED, "id": "call_2"}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "There."},
        {"role": "tool", "tool_call_id": "call_2", "content": "There."},
    ]


def test_calls_without_a_text_have_no_content() -> None:
    assert messages(THOUGHT, CALL, RESULT)[0] == {
        "role": "assistant",
        "content": None,
        "reasoning_content": "Hm.",
        "tool_calls": [CALLED],
    }


def test_a_second_text_is_a_second_message_with_its_own_thoughts() -> None:
    sent = messages(says("assistant", "One."), THOUGHT, says("assistant", "Two."))

    assert sent == [
        {"role": "assistant", "content": "One."},
        {"role": "assistant", "content": "Two.", "reasoning_content": "Hm."},
    ]


def test_thoughts_between_a_text_and_a_call_belong_to_their_message() -> None:
    (message, _) = messages(THOUGHT, says("assistant", "I look."), THOUGHT, CALL, RESULT)

    assert (message["content"], message["reasoning_content"]) == ("I look.", "Hm.Hm.")


def test_thoughts_without_an_answer_are_a_turn_of_their_own() -> None:
    sent = messages(THOUGHT, says("user", "Well?"))

    assert sent[0] == {"role": "assistant", "content": "", "reasoning_content": "Hm."}


def test_a_summary_stands_for_thoughts_that_are_not_there() -> None:
    summary = [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]

    (message,) = messages({"type": "reasoning", "summary": summary}, says("assistant", "So."))

    assert message["reasoning_content"] == "One.\n\nTwo."


def test_thoughts_of_nothing_are_left_out() -> None:
    assert messages({"type": "reasoning", "id": "rs_1", "summary": []}, says("assistant", "So.")) == [
        {"role": "assistant", "content": "So."}
    ]


@pytest.mark.parametrize("arguments", ['{"city": "Par', "", "null"])
def test_broken_arguments_are_sent_back_as_the_model_wrote_them(arguments: str) -> None:
    (message, _) = messages({**CALL, "arguments": arguments}, RESULT)

    assert message["tool_calls"][0]["function"]["arguments"] == arguments


def test_a_result_may_hold_pictures() -> None:
    (_, result) = messages(CALL, {**RESULT, "output": [{"type": "input_text", "text": "Look:"}, PICTURE]})

    assert [part["type"] for part in result["content"]] == ["text", "image_url"]


def test_calls_and_results_of_a_namespace_and_of_free_text_are_calls_like_others() -> None:
    patch = {"type": "custom_tool_call", "call_id": "call_2", "name": "patch", "input": 'say "olá"\n'}
    patched = {"type": "custom_tool_call_output", "call_id": "call_2", "output": "Done."}

    (message, *results) = messages({**CALL, "namespace": "crm"}, patch, RESULT, patched)

    functions = [call["function"] for call in message["tool_calls"]]
    assert functions[0] == {"name": "crm__look", "arguments": '{"at": 1}'}
    assert (functions[1]["name"], json.loads(functions[1]["arguments"])) == ("patch", {"input": 'say "olá"\n'})
    assert [(result["tool_call_id"], result["content"]) for result in results] == [
        ("call_1", "There."),
        ("call_2", "Done."),
    ]


def test_a_tool_that_speaks_without_a_call_is_told_of_in_words() -> None:
    unasked = {"type": "function_call_output", "name": "objective", "namespace": "agent", "output": "Say hello."}
    told = "Output of the tool agent__objective, which was not called:"

    (message,) = messages(unasked)
    (parts,) = messages({**unasked, "output": [PICTURE]})

    assert message == {"role": "user", "content": f"{told}\nSay hello."}
    assert parts["content"][0] == {"type": "text", "text": told}
    assert parts["content"][1]["type"] == "image_url"


def test_what_a_tool_says_without_a_call_does_not_part_calls_from_their_results() -> None:
    unasked = {"type": "function_call_output", "name": "objective", "output": "Say hello."}
    second = {**CALL, "call_id": "call_2"}

    sent = messages(
        CALL, unasked, second, RESULT, unasked, {**RESULT, "call_id": "call_2"}, THOUGHT, says("assistant", "So.")
    )

    assert [message["role"] for message in sent] == ["assistant", "tool", "tool", "user", "user", "assistant"]
    assert sent[-1]["reasoning_content"] == "Hm."


@pytest.mark.parametrize(
    ("item", "named"),
    [
        ({"type": "web_search_call", "id": "ws_1", "status": "completed"}, "input[1]: 'web_search_call'"),
        ({"type": "tool_search_call", "call_id": "c", "arguments": {}}, "input[1]: 'tool_search_call'"),
        ({"type": "something new"}, "input[1].type"),
        ({"type": "reasoning", "summary": [], "encrypted_content": "AA=="}, "input[1].encrypted_content"),
        (says("user", [{"type": "input_file", "file_url": "https://a.example/b.pdf"}]), "input[1].content[0].file_url"),
        (says("user", [{"type": "input_image", "file_id": "file_1"}]), "input[1].content[0].file_id"),
        (says("user", [{"type": "hologram"}]), "input[1].content[0].type"),
    ],
)
def test_what_no_message_can_carry_is_named(item: dict[str, Any], named: str) -> None:
    assert to_chat({"model": "m", "input": [says("user", "Hi."), item]}).native_only == named


@pytest.mark.parametrize("item", [{"type": "item_reference", "id": "msg_1"}, {"id": "msg_1"}])
def test_a_reference_to_a_stored_item_is_refused(item: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedParameter) as refused:
        messages(item)

    assert refused.value.param == "input[0]"


@pytest.mark.parametrize(
    ("item", "param"),
    [
        (says("user", None), "input[0].content"),
        (says("user", ["x"]), "input[0].content[0]"),
        (says("user", [{"type": "input_text"}]), "input[0].content[0].text"),
        (says("user", [{"type": "input_image"}]), "input[0].content[0].image_url"),
        (says("user", [{"type": "input_file", "filename": "a"}]), "input[0].content[0]"),
        (says("user", [{"type": "input_audio"}]), "input[0].content[0].input_audio"),
        (says("critic", "x"), "input[0].role"),
        ({**CALL, "arguments": {"at": 1}}, "input[0].arguments"),
        ({**CALL, "call_id": ""}, "input[0].call_id"),
        ({**CALL, "name": None}, "input[0].name"),
        ({**CALL, "namespace": 3}, "input[0].namespace"),
        ({"type": "custom_tool_call", "call_id": "c", "name": "n"}, "input[0].input"),
        ({"type": "custom_tool_call_output", "output": "x"}, "input[0].call_id"),
        ({"type": "function_call_output", "output": "x"}, "input[0].call_id"),
        ({**RESULT, "output": 3}, "input[0].output"),
        ({**THOUGHT, "content": [{"type": "reasoning_text"}]}, "input[0].content[0].text"),
    ],
)
def test_a_wrong_item_is_named_by_its_place(item: dict[str, Any], param: str) -> None:
    with pytest.raises(BadRequest) as refused:
        messages(item)

    assert refused.value.param == param
