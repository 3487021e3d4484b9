"""OpenAI's official client, told to be strict, sees the same through the gateway as at the provider itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal

import openai
import pytest
from pydantic import BaseModel

from tests.clients.conftest import STATUSES, Place, Places
from tests.wire.provider import EMBEDDER, MODEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openai.types.chat import ChatCompletion, ChatCompletionMessageParam
    from openai.types.responses import Response, ResponseInputItemParam

pytestmark = pytest.mark.asyncio(loop_scope="module")

Scenario = Callable[[Place], Awaitable[Any]]
"""Asks something; returns what came of it, for comparison."""

PIXEL = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
HELLO: list[ChatCompletionMessageParam] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Say hello, 你好, olá"},
]


def function(name: str, **properties: Any) -> dict[str, Any]:
    """A strict function of a chat."""
    schema = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
    return {"name": name, "description": f"The {name}", "strict": True, "parameters": schema}


WEATHER = function("weather", city={"type": "string"})
CLOCK = function("clock", zone={"type": "integer"})
TOOLS: Any = [{"type": "function", "function": WEATHER}, {"type": "function", "function": CLOCK}]
FLAT_TOOLS: Any = [{"type": "function", **WEATHER}, {"type": "function", **CLOCK}]


class Rent(BaseModel):
    """A form for an answer."""

    tenant: str
    months: int
    state: Literal["open", "paid"]


async def chat(place: Place) -> Any:
    answer = await place.openai.chat.completions.create(model=place.model, messages=HELLO, seed=1, temperature=0)
    return told(answer)


async def chat_that_is_cut_off(place: Place) -> Any:
    answer = await place.openai.chat.completions.create(model=place.model, messages=HELLO, max_tokens=2)
    assert answer.choices[0].finish_reason == "length"
    return told(answer)


async def chat_with_choices_and_probabilities(place: Place) -> Any:
    answer = await place.openai.chat.completions.create(
        model=place.model, messages=HELLO, n=2, logprobs=True, top_logprobs=1
    )
    assert [choice.index for choice in answer.choices] == [0, 1]
    assert answer.choices[1].logprobs is not None
    return told(answer)


async def chat_about_a_picture(place: Place) -> Any:
    parts: Any = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": PIXEL}}]
    answer = await place.openai.chat.completions.create(
        model=place.model, messages=[{"role": "user", "content": parts}]
    )
    assert "1 picture" in (answer.choices[0].message.content or "")
    return told(answer)


async def chat_stream(place: Place) -> Any:
    stream = await place.openai.chat.completions.create(model=place.model, messages=HELLO, stream=True)
    chunks = [chunk async for chunk in stream]
    assert all(chunk.choices for chunk in chunks)
    return [told(chunk) for chunk in chunks]


async def chat_stream_with_usage(place: Place) -> Any:
    stream = await place.openai.chat.completions.create(
        model=place.model, messages=HELLO, stream=True, stream_options={"include_usage": True}, n=2
    )
    chunks = [chunk async for chunk in stream]
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    return [told(chunk) for chunk in chunks]


async def chat_thoughts(place: Place) -> Any:
    answer = await place.openai.chat.completions.create(model=place.model, messages=HELLO, reasoning_effort="high")
    stream = await place.openai.chat.completions.create(
        model=place.model, messages=HELLO, reasoning_effort="high", stream=True
    )
    deltas = [chunk.choices[0].delta async for chunk in stream]
    thought = "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas)
    assert thought == getattr(answer.choices[0].message, "reasoning_content", None) != ""
    return told(answer)


async def chat_stream_helper_with_parallel_calls(place: Place) -> Any:
    async with place.openai.chat.completions.stream(model=place.model, messages=HELLO, tools=TOOLS) as stream:
        kinds = [event.type async for event in stream]
        answer = await stream.get_final_completion()
    calls = answer.choices[0].message.tool_calls or []
    assert [call.function.parsed_arguments for call in calls] == [{"city": "São Luís"}, {"zone": 7}]
    return kinds, told(answer)


async def chat_tool_loop(place: Place) -> Any:
    asked = await place.openai.chat.completions.create(
        model=place.model, messages=HELLO, tools=TOOLS, parallel_tool_calls=False
    )
    (call,) = asked.choices[0].message.tool_calls or []
    turns: Any = [
        *HELLO,
        asked.choices[0].message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "20 °C"},
    ]
    answer = await place.openai.chat.completions.create(model=place.model, messages=turns, tools=TOOLS)
    assert answer.choices[0].message.content == "The tools said: 20 °C"
    return told(asked), told(answer)


async def chat_with_a_named_tool(place: Place) -> Any:
    answer = await place.openai.chat.completions.create(
        model=place.model, messages=HELLO, tools=TOOLS, tool_choice={"type": "function", "function": {"name": "clock"}}
    )
    return told(answer)


async def chat_parsed(place: Place) -> Any:
    answer = await place.openai.chat.completions.parse(model=place.model, messages=HELLO, response_format=Rent)
    assert isinstance(answer.choices[0].message.parsed, Rent)
    async with place.openai.chat.completions.stream(model=place.model, messages=HELLO, response_format=Rent) as stream:
        streamed = await stream.get_final_completion()
    assert streamed.choices[0].message.parsed == answer.choices[0].message.parsed
    return told(answer)


async def completion(place: Place) -> Any:
    answer = await place.openai.completions.create(model=place.model, prompt="Once upon a time", max_tokens=3)
    stream = await place.lenient.completions.create(
        model=place.model, prompt="Once upon a time", stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    assert chunks[-1].usage is not None
    choice = answer.choices[0]
    text = "".join(chunk.choices[0].text for chunk in chunks if chunk.choices)
    return choice.text, choice.finish_reason, text, told(answer)["usage"], told(chunks[-1])["usage"]


async def response(place: Place) -> Any:
    answer = await place.openai.responses.create(model=place.model, input="Say hello", instructions="Be brief.")
    return answer.output_text, answered(answer)


async def response_that_is_cut_off(place: Place) -> Any:
    answer = await place.openai.responses.create(model=place.model, input="Say hello", max_output_tokens=2)
    assert answer.status == "incomplete"
    return answered(answer)


async def response_about_a_picture(place: Place) -> Any:
    parts: Any = [{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": PIXEL}]
    answer = await place.openai.responses.create(model=place.model, input=[{"role": "user", "content": parts}])
    assert "1 picture" in answer.output_text
    return answered(answer)


async def response_stream_helper(place: Place) -> Any:
    return await streamed_response(place, input="Say hello", reasoning={"effort": "low"})


async def response_stream_with_parallel_calls(place: Place) -> Any:
    return await streamed_response(place, input="Say hello", tools=FLAT_TOOLS)


async def streamed_response(place: Place, **asked: Any) -> Any:
    async with place.openai.responses.stream(model=place.model, **asked) as stream:
        events = [event async for event in stream]
        answer = await stream.get_final_response()
    assert [event.sequence_number for event in events] == [*range(len(events))]
    return [event.type for event in events], answered(answer)


async def response_tool_loop(place: Place) -> Any:
    turns: list[ResponseInputItemParam] = [{"role": "user", "content": "Say hello"}]
    asked = await place.openai.responses.create(
        model=place.model, input=turns, tools=FLAT_TOOLS, reasoning={"effort": "high"}
    )
    calls = [item for item in asked.output if item.type == "function_call"]
    results: Any = [{"type": "function_call_output", "call_id": call.call_id, "output": call.name} for call in calls]
    given: Any = [*turns, *(item.model_dump(exclude_none=True) for item in asked.output), *results]
    answer = await place.openai.responses.create(model=place.model, input=given, tools=FLAT_TOOLS)
    assert answer.output_text == "The tools said: weather; clock"
    return answered(asked), answered(answer)


async def response_parsed(place: Place) -> Any:
    answer = await place.openai.responses.parse(model=place.model, input="Say hello", text_format=Rent)
    async with place.openai.responses.stream(model=place.model, input="Say hello", text_format=Rent) as stream:
        streamed = await stream.get_final_response()
    assert isinstance(answer.output_parsed, Rent)
    assert streamed.output_parsed == answer.output_parsed
    return answered(answer)


SCENARIOS: Sequence[Scenario] = (
    chat,
    chat_that_is_cut_off,
    chat_with_choices_and_probabilities,
    chat_about_a_picture,
    chat_stream,
    chat_stream_with_usage,
    chat_thoughts,
    chat_stream_helper_with_parallel_calls,
    chat_tool_loop,
    chat_with_a_named_tool,
    chat_parsed,
    completion,
    response,
    response_that_is_cut_off,
    response_about_a_picture,
    response_stream_helper,
    response_stream_with_parallel_calls,
    response_tool_loop,
    response_parsed,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
async def test_the_gateway_changes_nothing_that_a_client_sees(places: Places, scenario: Scenario) -> None:
    direct = await scenario(places.direct)

    assert await scenario(places.translated) == direct
    assert await scenario(places.native) == direct


async def test_embeddings_are_the_same_numbers_in_both_encodings(places: Places) -> None:
    async def embedded(client: openai.AsyncOpenAI, **more: Any) -> Any:
        answer = await client.embeddings.create(model=EMBEDDER, input=["casa", "rua"], **more)
        return told(answer)

    direct = await embedded(places.direct.openai, encoding_format="float")

    for place in (places.direct, places.translated):
        assert await embedded(place.openai, encoding_format="float") == direct
        assert await embedded(place.lenient) == direct  # the client asks for base64 by itself, and reads it
        raw = await place.lenient.embeddings.create(model=EMBEDDER, input="casa", encoding_format="base64")
        assert type(raw.data[0].embedding) is not list  # text, which the client leaves alone where it was asked for
        short = await embedded(place.openai, encoding_format="float", dimensions=4)
        assert [len(vector["embedding"]) for vector in short["data"]] == [4, 4]


async def test_reranking_keeps_order_and_scores(places: Places) -> None:
    body = {"model": EMBEDDER, "query": "casa", "documents": ["rua", "casas", "carro"], "top_n": 2}

    direct, through = [
        await place.openai.post("/rerank", body=body, cast_to=dict[str, Any])
        for place in (places.direct, places.translated)
    ]

    assert through["results"] == direct["results"]
    assert direct["results"][0]["index"] == 1


async def test_models_are_listed_and_found(places: Places) -> None:
    for place in (places.direct, *places.through_the_gateway):
        names = [model.id async for model in place.openai.models.list()]
        assert place.model in names
        assert (await place.openai.models.retrieve(place.model)).id == place.model
        with pytest.raises(openai.NotFoundError):
            await place.openai.models.retrieve("none-such")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("status", STATUSES)
async def test_a_refusal_of_the_provider_is_the_same_exception(places: Places, status: int, streamed: bool) -> None:
    async def refused(place: Place) -> openai.APIStatusError:
        with pytest.raises(openai.APIStatusError) as caught:
            await place.openai.chat.completions.create(
                model=f"fails-{status}", messages=HELLO, stream=streamed, max_tokens=1
            )
        return caught.value

    direct, through = await refused(places.direct), await refused(places.translated)

    assert type(through) is type(direct)
    assert isinstance(through.body, dict)
    assert {"message", "type", "param", "code"} <= through.body.keys()
    assert "It was to fail" not in str(through)


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_refusal_of_the_gateway_is_the_exception_that_the_provider_would_raise(
    places: Places, streamed: bool
) -> None:
    for place in (places.direct, places.translated):
        with pytest.raises(openai.NotFoundError):
            await place.openai.chat.completions.create(model="none-such", messages=HELLO, stream=streamed)
        with pytest.raises(openai.BadRequestError) as caught:
            await place.openai.chat.completions.create(model=MODEL, messages=[], stream=streamed)
        assert caught.value.param == "messages"
        stranger = place.openai.with_options(api_key="sk-wrong-000")
        with pytest.raises(openai.AuthenticationError) as unknown:
            await stranger.responses.create(model=MODEL, input="hi", stream=streamed)
        assert "sk-wrong-000" not in str(unknown.value)


async def test_an_answer_names_its_request(places: Places) -> None:
    answer: ChatCompletion = await places.translated.openai.chat.completions.create(model=MODEL, messages=HELLO)

    assert (answer._request_id or "").startswith("req_")


def told(value: BaseModel) -> Any:
    """All that an answer says, but for the names of the answer itself."""
    return without(value.model_dump(mode="json", warnings=False), frozenset({"id", "created", "model"}))


def answered(value: Response) -> Any:
    """What a response answers."""
    shown = {"status", "error", "incomplete_details", "output", "usage", "text"}
    dumped = value.model_dump(mode="json", include=shown, warnings=False)
    return without(dumped, frozenset({"id"}))


def without(value: Any, names: frozenset[str]) -> Any:
    """The value without these members of objects, however deep."""
    if isinstance(value, dict):
        return {name: without(inner, names) for name, inner in value.items() if name not in names}
    if isinstance(value, list):
        return [without(inner, names) for inner in value]
    return value
