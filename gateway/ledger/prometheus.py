"""Asks the owner's Prometheus server for the power that a meter saw: on this machine or in a network of one's own only.

This is the one way out beside the guard's. It carries a query out of the pack and nothing of any request; each address
is looked at where the socket is made, whatever a name resolves to.
"""

from __future__ import annotations

import math
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Literal

import aiohttp
import msgspec

from gateway.errors import BadRequest
from policies.machines import METERS_ARE_AT
from policies.zones import parse_address

if TYPE_CHECKING:
    from aiohttp.connector import AddrInfoType

    from policies.machines import PrometheusMeter

STEP = timedelta(minutes=1)
"""Between two samples; each stands for the time until the next."""
LONGEST = timedelta(days=7)
"""Of one query: Prometheus answers with 11,000 points at most."""
_SECONDS = 30.0
_MOST_BYTES = 8 << 20


class MeterUnread(BadRequest):
    """A meter that could not be read; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The power at one moment."""

    at: datetime
    watts: float


class _Series(msgspec.Struct):
    values: list[tuple[float, str]]


class _Matrix(msgspec.Struct):
    resultType: Literal["matrix"]  # noqa: N815 (Prometheus' own name)
    result: list[_Series]


class _Answer(msgspec.Struct):
    status: str
    data: _Matrix | None = None
    error: Annotated[str, msgspec.Meta(max_length=2000)] = ""


async def samples(meter: PrometheusMeter, start: datetime, end: datetime) -> list[Sample]:
    """The power between two moments, `end` excluded; what Prometheus has no value for is left out.

    MeterUnread if it does not answer, or not with one series.
    """
    asked = {
        "query": meter.query,
        "start": _seconds(start),
        "end": _seconds(end - STEP),
        "step": str(int(STEP.total_seconds())),
    }
    try:
        status, body = await _ask(f"{meter.url}/api/v1/query_range", asked)
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise MeterUnread(f"Prometheus at {meter.url} does not answer ({_cause(error)}): is it running?") from None
    return _read(meter, status, body)


async def _ask(url: str, asked: Mapping[str, str]) -> tuple[int, bytes]:
    timeout = aiohttp.ClientTimeout(total=_SECONDS)
    connector = aiohttp.TCPConnector(socket_factory=_near_socket, use_dns_cache=False, force_close=True)
    async with (
        aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=False) as session,
        session.get(url, params=asked, allow_redirects=False) as response,
    ):
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > _MOST_BYTES:
                raise aiohttp.ClientPayloadError("it answers with too much")
        return response.status, bytes(body)


class _OutsideError(OSError):
    """Raised where a socket would be made, so that aiohttp cleans up as after a failed dial."""


def _near_socket(info: AddrInfoType) -> socket.socket:
    """A socket to an address of the house; nothing is sent to any other."""
    family, kind, protocol, _, address = info
    if not METERS_ARE_AT.cover(parse_address(str(address[0]))):
        raise _OutsideError(f"{address[0]} is outside of the house, where no meter is asked")
    return socket.socket(family, kind, protocol)


def _cause(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        return str(error.os_error)
    return str(error) or type(error).__name__


def _read(meter: PrometheusMeter, status: int, body: bytes) -> list[Sample]:
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except msgspec.DecodeError:
        raise MeterUnread(
            f"{meter.url} answers {status}, and not as Prometheus does: `url` is the server's address, without a path"
        ) from None
    if answer.status != "success" or answer.data is None:
        raise MeterUnread(f"Prometheus refuses the query {meter.query!r}: {answer.error}")
    if len(answer.data.result) > 1:
        raise MeterUnread(
            f"the query {meter.query!r} gives {len(answer.data.result)} series, not one: put sum(…) around it"
        )
    found = (sample for series in answer.data.result for sample in map(_sample, series.values))
    return [sample for sample in found if math.isfinite(sample.watts) and sample.watts >= 0]


def _sample(value: tuple[float, str]) -> Sample:
    moment, watts = value
    try:
        return Sample(datetime.fromtimestamp(moment, UTC), float(watts))
    except ValueError:
        return Sample(datetime.fromtimestamp(moment, UTC), math.nan)


def _seconds(moment: datetime) -> str:
    return str(int(moment.timestamp()))
