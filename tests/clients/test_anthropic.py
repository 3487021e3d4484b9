"""Anthropic's official client, told to be strict, sees the same through the gateway as at the provider itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anthropic
import pytest
from anthropic import beta_async_tool

from tests.clients.conftest import STATUSES, Place, Places
from tests.clients.test_openai import PIXEL, without
from tests.wire.provider import MODEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anthropic.types import MessageParam, ToolParam
    from pydantic import BaseModel

pytestmark = pytest.mark.asyncio(loop_scope="module")

Scenario = Callable[[Place], Awaitable[Any]]

HELLO: list[MessageParam] = [{"role": "user", "content": "Say hello, 你好, olá"}]
SYSTEM: Any = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]


def tool(name: str, **properties: Any) -> ToolParam:
    """A tool as Anthropic's clients offer it."""
    return {"name": name, "description": f"The {name}", "input_schema": {"type": "object", "properties": properties}}


TOOLS = [tool("weather", city={"type": "string"}), tool("clock", zone={"type": "integer"})]


async def message(place: Place) -> Any:
    return told(await place.anthropic.messages.create(model=place.model, max_tokens=50, system=SYSTEM, messages=HELLO))


async def message_that_is_cut_off(place: Place) -> Any:
    answer = await place.anthropic.messages.create(model=place.model, max_tokens=2, messages=HELLO)
    assert answer.stop_reason == "max_tokens"
    return told(answer)


async def message_about_a_picture(place: Place) -> Any:
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL.partition(",")[2]}
    parts: Any = [{"type": "image", "source": source}, {"type": "text", "text": "What is it?"}]
    answer = await place.anthropic.messages.create(
        model=place.model, max_tokens=50, messages=[{"role": "user", "content": parts}]
    )
    assert "1 picture" in str(answer.content)
    return told(answer)


async def stream_of_text(place: Place) -> Any:
    async with place.anthropic.messages.stream(model=place.model, max_tokens=50, messages=HELLO) as stream:
        pieces = [text async for text in stream.text_stream]
        return pieces, told(await stream.get_final_message())


async def stream_of_thoughts_and_parallel_calls(place: Place) -> Any:
    async with place.anthropic.messages.stream(
        model=place.model,
        max_tokens=5000,
        messages=HELLO,
        tools=TOOLS,
        thinking={"type": "enabled", "budget_tokens": 4096},
    ) as stream:
        kinds = [event.type async for event in stream]
        answer = await stream.get_final_message()
    assert [block.type for block in answer.content] == ["thinking", "tool_use", "tool_use"]
    return kinds, told(answer)


async def tool_loop(place: Place) -> Any:
    asked = await place.anthropic.messages.create(
        model=place.model,
        max_tokens=5000,
        messages=HELLO,
        tools=TOOLS,
        tool_choice={"type": "auto", "disable_parallel_tool_use": True},
        thinking={"type": "enabled", "budget_tokens": 1024},
    )
    _, call = asked.content
    assert call.type == "tool_use"
    result: Any = {"type": "tool_result", "tool_use_id": call.id, "content": "20 °C"}
    turns: Any = [*HELLO, {"role": "assistant", "content": asked.content}, {"role": "user", "content": [result]}]
    answer = await place.anthropic.messages.create(model=place.model, max_tokens=50, messages=turns, tools=TOOLS)
    return told(asked), told(answer)


async def tool_runner(place: Place) -> Any:
    asked = []

    @beta_async_tool
    async def weather(city: str) -> str:
        """Tell the weather of a city."""
        asked.append(city)
        return "20 °C"

    question: Any = HELLO
    runner = place.anthropic.beta.messages.tool_runner(
        model=place.model, max_tokens=50, messages=question, tools=[weather], max_iterations=4
    )
    answer = await runner.until_done()
    assert asked == ["São Luís"]
    return told(answer)


SCENARIOS: Sequence[Scenario] = (
    message,
    message_that_is_cut_off,
    message_about_a_picture,
    stream_of_text,
    stream_of_thoughts_and_parallel_calls,
    tool_loop,
    tool_runner,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
async def test_the_gateway_changes_nothing_that_a_client_sees(places: Places, scenario: Scenario) -> None:
    direct = await scenario(places.direct)

    assert await scenario(places.translated) == direct
    assert await scenario(places.native) == direct


async def test_tokens_are_counted_from_above(places: Places) -> None:
    direct, through = [
        await place.anthropic.messages.count_tokens(model=MODEL, system="Be brief.", messages=HELLO, tools=TOOLS)
        for place in (places.direct, places.translated)
    ]

    assert through.input_tokens >= direct.input_tokens


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("status", STATUSES)
async def test_a_refusal_of_the_provider_is_an_exception_of_the_same_kind(
    places: Places, status: int, streamed: bool
) -> None:
    async def refused(place: Place) -> anthropic.APIStatusError:
        with pytest.raises(anthropic.APIStatusError) as caught:
            await place.anthropic.messages.create(
                model=f"fails-{status}", max_tokens=1, messages=HELLO, stream=streamed
            )
        return caught.value

    direct, through = await refused(places.direct), await refused(places.translated)

    assert type(through) is type(direct) or (status >= 500 and through.status_code >= 500)
    assert isinstance(through.body, dict)
    assert through.body["type"] == "error"
    assert through.body["request_id"] == through.request_id
    assert "It was to fail" not in str(through)


async def test_a_refusal_of_the_gateway_is_the_exception_that_the_provider_would_raise(places: Places) -> None:
    for place in (places.direct, places.translated):
        with pytest.raises(anthropic.NotFoundError):
            await place.anthropic.messages.create(model="none-such", max_tokens=1, messages=HELLO)
        with pytest.raises(anthropic.BadRequestError):
            await place.anthropic.messages.create(model=MODEL, max_tokens=1, messages=[])
        with pytest.raises(anthropic.AuthenticationError) as unknown:
            await place.anthropic.with_options(api_key="sk-wrong-000").messages.create(
                model=MODEL, max_tokens=1, messages=HELLO
            )
        assert "sk-wrong-000" not in str(unknown.value)


async def test_what_a_chat_cannot_carry_is_refused_by_its_place(places: Places) -> None:
    search: Any = {"type": "web_search_20250305", "name": "web_search"}

    with pytest.raises(anthropic.BadRequestError, match=r"tools\[0\]"):
        await places.translated.anthropic.messages.create(model=MODEL, max_tokens=1, messages=HELLO, tools=[search])


def told(value: BaseModel) -> Any:
    """All that a message says, but for its name, the model's, and what a thought was signed with."""
    dumped = value.model_dump(mode="json", exclude_none=True, warnings=False)
    return without(dumped, frozenset({"id", "model", "signature"}))


async def test_models_are_listed_and_found(places: Places) -> None:
    for place in places.through_the_gateway:
        names = [model.id async for model in place.anthropic.models.list()]
        assert place.model in names
        assert (await place.anthropic.models.retrieve(place.model)).id == place.model
        with pytest.raises(anthropic.NotFoundError):
            await place.anthropic.models.retrieve("none-such")
