"""The client of OpenAI-compatible HTTP deployments."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

import aiohttp

from gateway.errors import (
    UpstreamCut,
    UpstreamError,
    UpstreamStarting,
    UpstreamTimeout,
    UpstreamUnavailable,
    UpstreamUnreachable,
)
from gateway.upstream.refusals import refusal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping

    from gateway.catalog.deployments import Deployment
    from gateway.upstream.clients import Outgoing, Reply
    from gateway.upstream.guard import Guard

_REFUSAL_BYTES = 64 * 1024
_STARTING_SECONDS = "2"


class HttpClient:
    """Asks a deployment through the guard, within the deployment's limits."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    @asynccontextmanager
    async def send(self, deployment: Deployment, outgoing: Outgoing) -> AsyncIterator[Reply]:
        """Open a reply; UpstreamError if there is none or its status is no success."""
        first_byte = asyncio.get_running_loop().time() + deployment.limits.first_byte
        async with AsyncExitStack() as stack:
            with _opening(deployment):
                async with asyncio.timeout_at(first_byte):
                    response = await stack.enter_async_context(
                        self._guard.post(
                            deployment, outgoing.label, outgoing.shape.path, outgoing.body, outgoing.headers
                        )
                    )
                    await _check(deployment, response)
            yield HttpReply(deployment, response, first_byte)


class HttpReply:
    """A reply as it comes over HTTP."""

    def __init__(self, deployment: Deployment, response: aiohttp.ClientResponse, first_byte: float) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self.stream = response.content_type == "text/event-stream"
        self._deployment = deployment
        self._content = response.content
        self._first_byte = first_byte

    async def read(self, limit: int) -> bytes:
        """The whole answer; UpstreamCut if it ends early or is longer than `limit`."""
        content = bytearray()
        async for chunk in self.chunks():
            content += chunk
            if len(content) > limit:
                raise UpstreamCut(f"deployment {self._deployment.name!r} answered with more than {limit} bytes")
        return bytes(content)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The answer as its bytes come. A thinking model may be silent long, so each wait has its own limit."""
        clock = asyncio.get_running_loop().time
        deadline = self._first_byte
        while chunk := await self._next(deadline):
            yield chunk
            deadline = clock() + self._deployment.limits.idle

    async def _next(self, deadline: float) -> bytes:
        with _reading(self._deployment):
            async with asyncio.timeout_at(deadline):
                return await self._content.readany()


async def _check(deployment: Deployment, response: aiohttp.ClientResponse) -> None:
    if response.status == HTTPStatus.OK:
        return
    body = await response.content.read(_REFUSAL_BYTES)
    raise refusal(deployment.name, response.status, response.headers, body)


@contextmanager
def _opening(deployment: Deployment) -> Iterator[None]:
    """Failures before an answer. What aiohttp says is dropped: it can name hosts and quote headers."""
    name, limits = deployment.name, deployment.limits
    try:
        yield
    except aiohttp.ConnectionTimeoutError:
        failure = UpstreamTimeout(f"deployment {name!r} could not be reached within {limits.connect:g} s")
        failure.billed = False
        raise failure from None
    except TimeoutError:
        raise UpstreamTimeout(f"deployment {name!r} did not begin to answer within its time limit") from None
    except aiohttp.ClientConnectorError:
        if deployment.base_url.startswith("unix:"):
            raise UpstreamStarting(
                f"deployment {name!r} is a process of this house and not ready: it is starting, or it was added after "
                "'up' had started",
                retry_after=_STARTING_SECONDS,
            ) from None
        raise UpstreamUnreachable(f"deployment {name!r} cannot be reached: is it running?") from None
    except (aiohttp.ClientConnectionError, OSError):
        hung_up = UpstreamUnavailable(f"deployment {name!r} hung up before it answered")
        hung_up.billed = True  # the request may have arrived
        raise hung_up from None
    except aiohttp.ClientError:
        raise UpstreamError(f"deployment {name!r} did not answer in HTTP") from None


@contextmanager
def _reading(deployment: Deployment) -> Iterator[None]:
    """Failures within an answer."""
    name = deployment.name
    try:
        yield
    except TimeoutError:
        raise UpstreamTimeout(f"deployment {name!r} fell silent beyond its time limit") from None
    except (aiohttp.ClientError, OSError):
        raise UpstreamCut(f"the answer of deployment {name!r} was cut off") from None
