"""The count of a request is a bound from above, in which pictures are no text."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.errors import BadRequest
from gateway.wire.messages import count_tokens
from gateway.wire.usage import estimate_tokens

USER = {"role": "user", "content": "x" * 300}


def count(*messages: dict[str, Any], **more: Any) -> int:
    return count_tokens({"model": "m", "messages": list(messages), **more})


def test_text_is_counted_wherever_it_stands() -> None:
    tool = {"name": "f", "description": "y" * 300, "input_schema": {"type": "object"}}

    assert count(USER) >= estimate_tokens(300)
    assert count(USER, system="z" * 300, tools=[tool]) >= estimate_tokens(900)


def test_a_picture_is_not_counted_as_text() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 2_000_000}
    picture = {"type": "image", "source": source}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [picture]}

    assert 3_200 <= count({"role": "user", "content": [picture, result]}) < 4_000


def test_what_no_model_reads_is_not_counted() -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "S" * 9_000}

    assert count({"role": "assistant", "content": [thinking]}, USER) < 300


def test_a_limit_on_the_answer_changes_nothing() -> None:
    assert count(USER, max_tokens=5, stream=True) == count(USER)


@pytest.mark.parametrize("tree", [{"messages": [USER]}, {"model": "m"}, {"model": "m", "messages": []}])
def test_a_request_that_is_none_is_refused(tree: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        count_tokens(tree)
