"""A third-party provider that fails on purpose (PyPI `llmock`), and its verdict on the gateway as its client."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
import openai
import pytest
import pytest_asyncio

from tests.gateway.house import deployment, house

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.gateway.house import House

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

VERSION = "0.2.2"
MODEL = "gpt-4o"


@dataclass(frozen=True)
class Failing:
    """The provider, whose admin interface queues what goes wrong next."""

    session: aiohttp.ClientSession
    url: str

    async def will(self, *behaviors: dict[str, Any]) -> None:
        """Forget what was, and do this next."""
        await self._post("reset", {})
        if behaviors:
            await self._post("scenario", {"behaviors": behaviors})

    async def attempts(self) -> int:
        """How often it was asked."""
        async with self.session.get(f"{self.url}/_llmock/requests") as response:
            return int((await response.json())["count"])

    async def verdict(self) -> list[str]:
        """What its client did wrong: the kinds of findings that are errors."""
        async with self.session.get(f"{self.url}/_llmock/verdict") as response:
            findings = (await response.json())["findings"]
        return [finding["code"] for finding in findings if finding["severity"] == "error"]

    async def _post(self, action: str, body: dict[str, Any]) -> None:
        async with self.session.post(f"{self.url}/_llmock/{action}", json=body) as response:
            response.raise_for_status()


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of its own: nothing of it enters ours."""
    folder = tmp_path_factory.mktemp("llmock")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=60)
    python = folder / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "-q", "--no-input", f"llmock=={VERSION}"]
    fetched = subprocess.run(install, capture_output=True, text=True, timeout=150, check=False)
    if fetched.returncode != 0:
        pytest.skip(f"pip could not fetch llmock: {fetched.stderr.strip()[-300:]}")
    return python


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def failing(python: Path, unused_tcp_port_factory: Callable[[], int]) -> AsyncIterator[Failing]:
    port = unused_tcp_port_factory()
    command = [str(python), "-m", "uvicorn", "llmock.main:app", "--port", str(port), "--log-level", "warning"]
    serving = await asyncio.create_subprocess_exec(*command)
    try:
        async with aiohttp.ClientSession() as session:
            provider = Failing(session, f"http://127.0.0.1:{port}")
            await answering(provider)
            yield provider
    finally:
        serving.terminate()
        await serving.wait()


async def answering(provider: Failing) -> None:
    """Wait until it answers."""
    for _ in range(200):
        try:
            await provider.attempts()
        except aiohttp.ClientError:
            await asyncio.sleep(0.1)
        else:
            return
    pytest.fail("llmock did not come up")


@asynccontextmanager
async def gateway(provider: Failing, data: Path) -> AsyncIterator[House]:
    """A gateway whose one model is the failing provider's."""
    async with house(data, [deployment(MODEL, f"{provider.url}/v1")]) as home:
        yield home


async def ask(home: House, streamed: bool, **more: Any) -> str:
    """Ask as an application does; return the text, or what was called."""
    messages: Any = [{"role": "user", "content": "What is the weather?"}]
    async with home.client() as client:
        if not streamed:
            answer = await client.chat.completions.create(model=MODEL, messages=messages, **more)
            calls = answer.choices[0].message.tool_calls or []
            return answer.choices[0].message.content or "".join(str(call) for call in calls)
        stream = await client.chat.completions.create(model=MODEL, messages=messages, stream=True, **more)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])


Outcome = type[openai.APIError] | None
REFUSED: list[tuple[int, Outcome]] = [
    (400, openai.BadRequestError),
    (401, openai.AuthenticationError),
    (404, openai.NotFoundError),
    (422, openai.UnprocessableEntityError),
]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("status", [500, 502, 503])
async def test_a_passing_failure_is_not_seen(failing: Failing, tmp_path: Path, status: int, streamed: bool) -> None:
    await failing.will({"type": "fail", "status": status, "times": 1})

    async with gateway(failing, tmp_path) as home:
        assert await ask(home, streamed)

    assert await failing.attempts() == 2
    assert await failing.verdict() == []


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_rate_limit_is_waited_for_as_long_as_it_says(failing: Failing, tmp_path: Path, streamed: bool) -> None:
    await failing.will({"type": "fail", "status": 429, "retry_after": 1, "times": 1})

    async with gateway(failing, tmp_path) as home:
        assert await ask(home, streamed)

    assert await failing.verdict() == []


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("status", "exception"), REFUSED)
async def test_what_no_retry_can_mend_is_not_retried(
    failing: Failing, tmp_path: Path, status: int, exception: type[openai.APIError], streamed: bool
) -> None:
    await failing.will({"type": "fail", "status": status, "times": None})

    async with gateway(failing, tmp_path) as home:
        with pytest.raises(exception):
            await ask(home, streamed)

    assert await failing.attempts() == 1
    assert await failing.verdict() == []


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_outage_ends_in_an_error_and_in_no_storm(failing: Failing, tmp_path: Path, streamed: bool) -> None:
    await failing.will({"type": "fail", "status": 503, "times": None})

    async with gateway(failing, tmp_path) as home:
        with pytest.raises(openai.InternalServerError):
            await ask(home, streamed)

    assert 1 < await failing.attempts() <= 6
    assert await failing.verdict() == []


@pytest.mark.parametrize("kind", ["disconnect", "truncate", "malformed"])
async def test_a_broken_stream_never_looks_complete(failing: Failing, tmp_path: Path, kind: str) -> None:
    await failing.will({"type": "stream_fault", "kind": kind, "after_chunks": 3})

    async with gateway(failing, tmp_path) as home:
        with pytest.raises(openai.APIError):
            await ask(home, streamed=True)

    assert await failing.attempts() == 1


async def test_malformed_arguments_are_asked_for_once_more(failing: Failing, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools = [{"type": "function", "function": {"name": "weather", "parameters": schema}}]
    await failing.will({"type": "tool_fault", "kind": "malformed_arguments", "times": 1})
    strict = deployment(MODEL, f"{failing.url}/v1", check_tool_arguments=True)

    async with house(tmp_path, [strict]) as home:
        called = await ask(home, streamed=False, tools=tools)

    assert "weather" in called
    assert await failing.attempts() == 2


@pytest.mark.parametrize("streamed", [False, True])
async def test_tool_calls_pass(failing: Failing, tmp_path: Path, streamed: bool) -> None:
    tools: Any = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
    await failing.will({"type": "reply", "tool_calls": [{"name": "weather", "arguments": {"city": "Paris"}}]})

    async with gateway(failing, tmp_path) as home:
        if streamed:
            async with home.client() as client:
                async with client.chat.completions.stream(
                    model=MODEL, messages=[{"role": "user", "content": "?"}], tools=tools
                ) as stream:
                    answer = await stream.get_final_completion()
            (call,) = answer.choices[0].message.tool_calls or []
            assert call.function.arguments == '{"city": "Paris"}'
        else:
            assert "Paris" in await ask(home, streamed, tools=tools)
