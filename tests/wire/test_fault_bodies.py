"""Bodies that are odd, huge or hostile: refused in the form of their endpoint, or carried as they are."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from gateway.api.http import MAX_BODY_BYTES
from tests.gateway.house import ADMIN_KEY
from tests.wire.endpoints import CHAT, MESSAGES, RESPONSES, Endpoint, Said
from tests.wire.frames import DONE, Framing, streamed
from tests.wire.upstream import answer
from tests.wire.wall import wall

if TYPE_CHECKING:
    from pathlib import Path

    from tests.wire.endpoints import Json
    from tests.wire.upstream import Script
    from tests.wire.wall import Wall

pytestmark = pytest.mark.asyncio(loop_scope="module")

SAID = Said("Ok", "", (), (10, 0, 20, 0))
TALKING = (CHAT, RESPONSES, MESSAGES)


def good(endpoint: Endpoint, *, stream: bool) -> Script:
    if stream:
        return streamed(Framing().write([*endpoint.events(SAID), *([] if endpoint.kind == "messages" else [DONE])]))
    return answer(endpoint.whole(SAID))


def written(endpoint: Endpoint, text: bytes) -> bytes:
    """A body whose question is this JSON string, its quotes left out."""
    return json.dumps(endpoint.asking(stream=False, text="@@")).encode().replace(b"@@", text)


HOSTILE = {
    "half a surrogate pair": rb"\ud83d",
    "the other half": rb"\udc4b!",
    "invalid UTF-8": b"\xff\xfe",
    "a cut character": b"\xe4\xbd",
    "a bare line end": b"a\nb",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
async def test_text_that_is_none_is_refused(standing: Wall, endpoint: Endpoint, text: bytes) -> None:
    got = await standing.ask(endpoint, written(endpoint, text))

    assert got.status == 400
    assert standing.upstream.requests == []
    assert_is_refusal(endpoint, got.json)


ODD = {
    "a null character": rb"a\u0000b",
    "an emoji by escapes": rb"\ud83d\udc4b",
    "combining marks": b"e" + "\u0301".encode() * 100_000,
    "line separators": "\u2028\u0085\u2029".encode(),
    "a byte order mark within": "\ufeffoi".encode(),
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
async def test_text_that_is_odd_arrives_as_it_is(standing: Wall, endpoint: Endpoint, stream: bool, text: bytes) -> None:
    body = written(endpoint, text).replace(b'"stream": false', b'"stream": true' if stream else b'"stream": false')
    got = await standing.ask(endpoint, body, good(endpoint, stream=stream))

    assert (got.status, endpoint.read(got).text) == (200, "Ok")
    assert json.loads(b'"' + text + b'"') in strings(json.loads(standing.upstream.requests[0].body))


BODIES = {
    "a byte order mark": b"\xef\xbb\xbf{}",
    "nothing": b"",
    "no JSON": b"model=m",
    "a list": b"[]",
    "a number": b"7",
    "no model": b"{}",
    "NaN": b'{"model": NaN}',
    "too deep": b'{"model":"m","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep enough": b'{"model":"m","x":' + b'{"a":' * 70 + b"1" + b"}" * 70 + b"}",
    "a number of many digits": b'{"model":"m","x":' + b"9" * 10_000 + b"}",
    "compressed": gzip.compress(b" " * 5_000_000),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
async def test_a_body_that_cannot_be_read_is_refused(standing: Wall, endpoint: Endpoint, body: bytes) -> None:
    headers = {"content-encoding": "gzip"} if body.startswith(b"\x1f\x8b") else {}
    got = await standing.ask(endpoint, body, headers=headers)

    assert got.status == 400
    assert standing.upstream.requests == []
    assert_is_refusal(endpoint, got.json)


async def test_a_body_that_says_to_be_too_large_is_not_read(standing: Wall, endpoint: Endpoint) -> None:
    status, body = await _raw(standing, endpoint, f"content-length: {MAX_BODY_BYTES + 1}", b"{")

    assert status == 413
    assert_is_refusal(endpoint, body)


async def test_a_body_that_turns_out_too_large_is_refused_while_it_comes(standing: Wall) -> None:
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    status, body = await _raw(standing, CHAT, "transfer-encoding: chunked", *[chunk] * (MAX_BODY_BYTES // 0x100000 + 1))

    assert (status, body["error"]["code"]) == (413, "body_too_large")


async def _raw(standing: Wall, endpoint: Endpoint, header: str, *pieces: bytes) -> tuple[int, Json]:
    """The status and the body of the answer to a request that is sent in pieces and not ended."""
    host, _, port = standing.home.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST {endpoint.path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ADMIN_KEY}\r\n{header}\r\n\r\n"
    writer.write(head.encode())
    async with asyncio.timeout(60):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        answered = await reader.readuntil(b"\r\n\r\n")
        length = int(answered.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        body: Json = json.loads(await reader.readexactly(length))
    writer.close()
    return int(answered.split(b" ")[1]), body


def assert_is_refusal(endpoint: Endpoint, body: Json) -> None:
    """The error body of the endpoint, without a word of what was sent."""
    if endpoint.kind == "messages":
        assert body["type"] == "error"
        assert body["error"]["type"] in ("invalid_request_error", "request_too_large")
    else:
        assert body["error"].keys() == {"message", "type", "param", "code"}


def strings(value: object) -> set[str]:
    if isinstance(value, str):
        return {value}
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {text for child in children for text in strings(child)}


PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 6_000).decode()
"""Two megabytes, which would be 680,000 tokens if they were text."""


def showing(endpoint: Endpoint, pictures: list[str], *, stream: bool) -> Json:
    """A question about these pictures."""
    if endpoint.kind == "messages":
        parts: list[Json] = [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture}}
            for picture in pictures
        ]
        content = [*parts, {"type": "text", "text": "O que é?"}]
        return endpoint.asking(stream=stream) | {"messages": [{"role": "user", "content": content}]}
    urls = [f"data:image/png;base64,{picture}" for picture in pictures]
    if endpoint.kind == "responses":
        shown = [{"type": "input_image", "image_url": url} for url in urls]
        content = [*shown, {"type": "input_text", "text": "O que é?"}]
        return endpoint.asking(stream=stream) | {"input": [{"role": "user", "content": content}]}
    seen = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    turn = {"role": "user", "content": [*seen, {"type": "text", "text": "O que é?"}]}
    return endpoint.asking(stream=stream) | {"messages": [turn]}


def resulting(endpoint: Endpoint, picture: str) -> Json:
    """A picture that a tool returned."""
    if endpoint.kind == "messages":
        source = {"type": "base64", "media_type": "image/png", "data": picture}
        result = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "image", "source": source}]}
        use = {"type": "tool_use", "id": "a", "name": "foto", "input": {}}
        turns: list[tuple[str, Any]] = [("user", "?"), ("assistant", [use]), ("user", [result])]
        return endpoint.asking(stream=False) | {"messages": [{"role": role, "content": said} for role, said in turns]}
    url = f"data:image/png;base64,{picture}"
    called = {"type": "function_call", "call_id": "a", "name": "foto", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_image", "image_url": url}]}
    return endpoint.asking(stream=False) | {"input": [{"role": "user", "content": "?"}, called, output]}


async def test_a_picture_is_no_text(tmp_path: Path) -> None:
    """Neither one of two megabytes, nor thirty, nor one that a tool returned is more than its context holds."""
    async with wall(tmp_path, zone="device", context=100_000) as standing:
        for endpoint in TALKING:
            for stream in (False, True):
                script = good(CHAT, stream=stream)
                asked = showing(endpoint, [PICTURE], stream=stream)
                got = await standing.ask(endpoint, asked, script)

                assert (got.status, endpoint.read(got).text) == (200, "Ok")
                assert f"data:image/png;base64,{PICTURE}" in strings(json.loads(standing.upstream.requests[0].body))
                if endpoint is CHAT:
                    sent = json.loads(standing.upstream.requests[0].body)
                    assert sent["messages"] == asked["messages"]
            many = await standing.ask(
                endpoint, showing(endpoint, [PICTURE[:80_000]] * 30, stream=False), good(CHAT, stream=False)
            )
            assert many.status == 200
        for endpoint in (RESPONSES, MESSAGES):
            got = await standing.ask(endpoint, resulting(endpoint, PICTURE), good(CHAT, stream=False))
            assert got.status == 200
            assert f"data:image/png;base64,{PICTURE}" in strings(json.loads(standing.upstream.requests[0].body))


SCHEMA: Json = {
    "type": "object",
    "properties": {
        "nome próprio": {"type": "string"},
        "filhos": {"type": "array", "items": {"$ref": "#"}},
        "sexo": {"anyOf": [{"$ref": "#/$defs/sexo"}, {"type": "null"}]},
    },
    "required": ["nome próprio", "filhos", "sexo"],
    "additionalProperties": False,
    "$defs": {"sexo": {"enum": ["f", "m"]}},
}


def structured(endpoint: Endpoint, *, stream: bool) -> Json:
    """A question whose answer must follow the schema."""
    asked = endpoint.asking(stream=stream)
    if endpoint.kind == "messages":
        return asked | {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}
    if endpoint.kind == "responses":
        return asked | {"text": {"format": {"type": "json_schema", "name": "p", "strict": True, "schema": SCHEMA}}}
    named = {"name": "p", "strict": True, "schema": SCHEMA}
    return asked | {"response_format": {"type": "json_schema", "json_schema": named}}


@pytest.mark.parametrize("talking", TALKING, ids=lambda endpoint: endpoint.name)
async def test_a_schema_of_the_answer_arrives_whole_and_strict(standing: Wall, talking: Endpoint, stream: bool) -> None:
    got = await standing.ask(talking, structured(talking, stream=stream), good(CHAT, stream=stream))

    sent = json.loads(standing.upstream.requests[0].body)["response_format"]
    assert got.status == 200
    assert (sent["type"], sent["json_schema"]["schema"]) == ("json_schema", SCHEMA)
    assert sent["json_schema"]["strict"] is True
    assert list(sent["json_schema"]["schema"]["properties"]) == list(SCHEMA["properties"])


async def test_a_schema_that_nobody_can_follow_is_refused_by_name(tmp_path: Path) -> None:
    async with wall(tmp_path, capabilities=["tools"]) as standing:
        for talking in TALKING:
            for stream in (False, True):
                got = await standing.ask(talking, structured(talking, stream=stream), good(CHAT, stream=stream))

                assert (400 <= got.status < 600, standing.upstream.requests) == (True, [])
                assert "json_schema" in got.body.decode()
