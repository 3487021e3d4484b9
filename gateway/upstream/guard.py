"""The guard: the one place that connects to deployments, and only where zone, label and address agree."""

from __future__ import annotations

import asyncio
import contextlib
import io
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Self, TypedDict

import aiohttp
import msgspec
import structlog
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from gateway.errors import LabelExceedsClearance, NotLocal, UpstreamUnavailable, UpstreamUnreachable
from gateway.upstream import residence
from gateway.upstream.residence import Residence
from gateway.upstream.tickets import PLACEHOLDER
from policies.zones import parse_address

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from aiohappyeyeballs import AddrInfoType

    from gateway.catalog.deployments import Deployment
    from policies.labels import Label
    from policies.zones import Zone

log = structlog.get_logger()

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""From a name and a port to addresses as text."""


class _Keeping(TypedDict, total=False):
    """What becomes of a connection after an answer."""

    keepalive_timeout: float
    force_close: bool


# Servers drop idle connections after 5 s (uvicorn, so vLLM and SGLang too); a POST on a dropped one cannot be repeated.
_KEPT: _Keeping = {"keepalive_timeout": 4.0}
# A look's connection is not left to a request: many servers drop it at once, just when a POST would go out on it.
_NOT_KEPT: _Keeping = {"force_close": True}
_CLOSE = {"Connection": "close"}
_LOOPBACK = parse_address("127.0.0.1")
_ANTHROPIC = "anthropic"
_ANTHROPIC_VERSION = "2023-06-01"
_LITELLM = "litellm"
_CREDENTIALS = frozenset({"authorization", "x-api-key"})
_V1 = "/v1"
_LOOK_CONNECT_SECONDS = 2.0
_LOOK_SECONDS = 5.0
_LOOK_BYTES = 4 * 1024 * 1024
_ABOUT_TEXT_BYTES = 16 * 1024 * 1024
"""vLLM repeats every token of a text that it counts: this is two million."""


async def system_resolve(host: str, port: int) -> Sequence[str]:
    """Ask the system's resolver, once."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class Guard:
    """Opens every connection to a deployment, where its zone may hold the label and its address is in the zone.

    Names are resolved once a connection, all their addresses must belong to the zone, and only those are dialled. No
    redirect is followed; proxies, .netrc, cookies and key logs of the environment are not looked at.
    """

    def __init__(self, resolve: Resolve = system_resolve) -> None:
        self._resolve = resolve
        self._tls = _tls_context()
        self._sessions: dict[tuple[str, str, Zone, bool], aiohttp.ClientSession] = {}
        self._residence = Residence(self._say)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()

    def check(self, deployment: Deployment, label: Label) -> None:
        """LabelExceedsClearance unless a text with this label may enter the deployment's zone."""
        zone = deployment.zone
        if not zone.admits(label):
            raise LabelExceedsClearance(
                f"a request labelled {str(label)!r} may not leave for zone {zone.name!r} (clearance {zone.clearance}): "
                "ask 'auto' or a model in a cleared zone, or have the label lowered by an approval"
            )

    async def prove(self, deployments: Iterable[Deployment]) -> None:
        """NotLocal if a deployment in a zone of the house or the home network leads elsewhere.

        Names of other zones are not looked up: nobody outside learns that this house is up.
        """
        deployments = tuple(deployments)
        for deployment in deployments:
            target = Target.of(deployment)
            if target is not None and target.socket is None and _is_own(deployment.zone):
                await self._prove(deployment, target)
        await asyncio.gather(*(self._prove_residence(d) for d in deployments if _may_live_elsewhere(d)))

    @asynccontextmanager
    async def post(
        self, deployment: Deployment, label: Label, path: str, body: bytes, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a JSON body to a path below the deployment's base URL; leaving the context hangs up.

        No header of a client's goes along, and no key but the deployment's own; `headers` are the gateway's.
        """
        self.check(deployment, label)
        target = _target(deployment)
        if _may_live_elsewhere(deployment):
            await self._residence.check(deployment)
        response = await self._open(deployment, target, path, _Content(body, _joined(headers or {}, deployment)))
        try:
            yield response
        finally:
            response.release()  # back to the pool if it was read to its end, else closed

    async def get(self, deployment: Deployment, path: str) -> Heard:
        """Ask a deployment about itself. Nobody's text goes along, so that no label is needed.

        Paths are written as engines document them: `/v1/...` is asked below the base URL, any other one at the server's
        root, which is the base URL without its `/v1`.
        """
        return await self._look(deployment, _Question("GET", path))

    async def ask(self, deployment: Deployment, path: str, body: bytes, label: Label | None) -> Heard:
        """The same by POST, for questions that name a model, or that a text is put into: then it has that label."""
        if label is None:
            return await self._look(deployment, _Question("POST", path, body))
        self.check(deployment, label)
        if _may_live_elsewhere(deployment):
            await self._residence.check(deployment)
        return await self._look(deployment, _Question("POST", path, body, most=_ABOUT_TEXT_BYTES))

    async def knock(self, deployment: Deployment, url: str, seconds: float) -> Heard:
        """Send an empty POST to a URL in the deployment's zone; the deployment's key is not for it."""
        door = replace(deployment, base_url=url, api_key=None)
        return await self._look(door, _Question("POST", "", b"", seconds))

    async def _look(self, deployment: Deployment, question: _Question) -> Heard:
        target = _target(deployment)
        connect = min(_LOOK_CONNECT_SECONDS, deployment.limits.connect)
        try:
            async with (
                asyncio.timeout(question.seconds),
                self._session(deployment, target, kept=False).request(
                    question.method,
                    URL(target.beside(question.path) if question.path else target.url),
                    data=question.body,
                    headers={**_headers(deployment), **_CLOSE},
                    timeout=aiohttp.ClientTimeout(total=None, connect=connect, sock_connect=connect),
                    allow_redirects=False,
                ) as response,
            ):
                return Heard(response.status, await _bounded(response.content, question.most))
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, _OutsideZoneError):
                raise _not_local(deployment, str(error.os_error)) from None
            raise _silent(deployment) from None
        except (aiohttp.ClientError, OSError, TimeoutError):
            raise _silent(deployment) from None

    async def _say(self, deployment: Deployment, path: str, body: bytes | None) -> Mapping[str, Any] | None:
        heard = await (self.get(deployment, path) if body is None else self.ask(deployment, path, body, None))
        if heard.status == HTTPStatus.NOT_FOUND:
            return None
        said = heard.json()
        if heard.status != HTTPStatus.OK or said is None:
            raise residence.unsaid(deployment)
        return said

    async def _prove_residence(self, deployment: Deployment) -> None:
        with contextlib.suppress(UpstreamUnavailable):  # one that is off now is asked before anything is sent to it
            await self._residence.prove(deployment)

    async def _open(
        self, deployment: Deployment, target: Target, path: str, content: _Content
    ) -> aiohttp.ClientResponse:
        limits = deployment.limits
        timeout = aiohttp.ClientTimeout(total=limits.total, connect=limits.connect, sock_connect=limits.connect)
        session = self._session(deployment, target)
        try:
            return await session.post(
                URL(target.url + path, encoded=True),
                data=io.BytesIO(content.body),  # written in pieces, so that a large one does not hold up the loop
                headers=content.headers,
                timeout=timeout,
                allow_redirects=False,
            )
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, _OutsideZoneError):
                raise _not_local(deployment, str(error.os_error)) from None
            raise

    def _session(self, deployment: Deployment, target: Target, *, kept: bool = True) -> aiohttp.ClientSession:
        key = (deployment.name, deployment.base_url, deployment.zone, kept)
        if key not in self._sessions:
            self._sessions[key] = aiohttp.ClientSession(
                connector=self._connector(deployment, target, _KEPT if kept else _NOT_KEPT),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                raise_for_status=False,
            )
        return self._sessions[key]

    def _connector(self, deployment: Deployment, target: Target, keeping: _Keeping) -> aiohttp.BaseConnector:
        if target.socket is not None:
            if not deployment.zone.addresses.cover(_LOOPBACK):
                raise _not_local(deployment, target.socket)
            return aiohttp.UnixConnector(target.socket, limit=0, **keeping)
        return aiohttp.TCPConnector(
            ssl=self._tls,
            resolver=_ZoneResolver(deployment, self._resolve),
            use_dns_cache=False,
            socket_factory=_zone_sockets(deployment.zone),
            limit=0,
            **keeping,
        )

    async def _prove(self, deployment: Deployment, target: Target) -> None:
        url = URL(target.url)
        try:
            addresses = await self._resolve(str(url.host), url.port or 0)
        except OSError:
            return  # a machine that is off now is checked when it is dialled
        _check_addresses(deployment, addresses)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a base URL leads: a URL, and the Unix socket under it if it names one."""

    url: str
    socket: str | None = None

    @classmethod
    def of(cls, deployment: Deployment) -> Target | None:
        """Read `http(s)://host[:port]/path` or `unix:/path/to.sock:/v1`; None for a deployment without an address."""
        scheme, _, rest = deployment.base_url.partition(":")
        scheme = scheme.lower()
        if scheme == "unix":
            path, _, prefix = rest.rpartition(":")
            return cls("http://localhost" + prefix.rstrip("/"), path)
        if scheme in ("http", "https"):
            return cls(deployment.base_url.rstrip("/"))
        return None

    def beside(self, path: str) -> str:
        """The URL of a path as its engine documents it: `/v1/...` below this one, others at the server's root."""
        if path.startswith(_V1 + "/"):
            return self.url + path.removeprefix(_V1)
        return self.url.removesuffix(_V1) + path


@dataclass(frozen=True, slots=True)
class _Question:
    """What a deployment is asked about itself, or about a text."""

    method: str
    path: str
    """Empty: the base URL itself."""
    body: bytes | None = None
    seconds: float = _LOOK_SECONDS
    most: int = _LOOK_BYTES
    """The bytes of an answer that are read."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a deployment says of itself."""

    status: int
    body: bytes

    def json(self) -> dict[str, Any] | None:
        """The JSON object it is; None if it is none."""
        try:
            value = msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True)
class _Content:
    """What a request carries."""

    body: bytes
    headers: Mapping[str, str]


class _OutsideZoneError(OSError):
    """Raised where a socket would be made. An OSError, so that aiohttp cleans up after it as after a failed dial."""


class _ZoneResolver(AbstractResolver):
    """Resolves for one deployment: all addresses belong to its zone, or none is dialled."""

    def __init__(self, deployment: Deployment, resolve: Resolve) -> None:
        self._deployment = deployment
        self._resolve = resolve

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        addresses = await self._resolve(host, port)
        _check_addresses(self._deployment, addresses)
        return [_result(host, address, port) for address in dict.fromkeys(addresses)]

    async def close(self) -> None:
        """There is nothing to close."""


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    numeric = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    return ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=numeric)


def _check_addresses(deployment: Deployment, addresses: Sequence[str]) -> None:
    for address in addresses:
        if not _belongs(deployment.zone, address):
            raise _not_local(deployment, address)
    if not addresses:
        raise _not_local(deployment, "no address")


def _belongs(zone: Zone, address: str) -> bool:
    try:
        return zone.addresses.cover(parse_address(address))
    except ValueError:
        return False


def _not_local(deployment: Deployment, address: str) -> NotLocal:
    log.warning("deployment_not_local", deployment=deployment.name, zone=deployment.zone.name, address=address)
    return NotLocal(
        f"deployment {deployment.name!r} leads outside of its zone {deployment.zone.name!r} "
        f"({deployment.zone.addresses}): nothing was sent; correct its base_url or its zone in deployments.yaml"
    )


def _zone_sockets(zone: Zone) -> Callable[[AddrInfoType], socket.socket]:
    """The last hop: sees the very address that is dialled, IP literals and whatever the resolver returned alike."""

    def make(info: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = info
        if not _belongs(zone, str(address[0])):
            raise _OutsideZoneError(str(address[0]))
        return socket.socket(family, kind, protocol)

    return make


def _target(deployment: Deployment) -> Target:
    target = Target.of(deployment)
    if target is None:
        raise NotLocal(f"deployment {deployment.name!r} has no address to connect to")
    return target


def _may_live_elsewhere(deployment: Deployment) -> bool:
    """True if the address is of the zone but the engine may hand requests on to somebody outside of it."""
    return deployment.engine == residence.OLLAMA and not deployment.zone.addresses.classes & {"public", "any"}


async def _bounded(content: aiohttp.StreamReader, most: int) -> bytes:
    read = bytearray()
    while len(read) < most and (chunk := await content.readany()):
        read += chunk
    return bytes(read[:most])


def _silent(deployment: Deployment) -> UpstreamUnreachable:
    return UpstreamUnreachable(f"deployment {deployment.name!r} does not answer: is it running?")


def _is_own(zone: Zone) -> bool:
    classes = zone.addresses.classes
    return not classes & {"public", "any"} and all(network.is_private for network in zone.addresses.networks)


def _headers(deployment: Deployment) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "soleira"}
    if deployment.engine == _ANTHROPIC:
        headers["anthropic-version"] = _ANTHROPIC_VERSION
    if deployment.api_key is not None:
        headers.update(_credential(deployment.engine, deployment.api_key))
    return headers


def _joined(more: Mapping[str, str], deployment: Deployment) -> dict[str, str]:
    """The deployment's headers with others beside them: none takes the place of one, nor of a key."""
    own = {**_headers(deployment), **_placed(more, deployment)}
    taken = {name.lower() for name in own} | _CREDENTIALS
    return {**{name: value for name, value in more.items() if name.lower() not in taken}, **own}


def _placed(headers: Mapping[str, str], deployment: Deployment) -> dict[str, str]:
    """The headers in which a placeholder stands for the key, with the key: litellm knows where a provider wants it."""
    if deployment.engine != _LITELLM or deployment.api_key is None:
        return {}
    key = deployment.api_key
    return {name: value.replace(PLACEHOLDER, key) for name, value in headers.items() if PLACEHOLDER in value}


def _credential(engine: str, key: str) -> dict[str, str]:
    if engine == _LITELLM:
        return {}  # see _placed
    return {"x-api-key": key} if engine == _ANTHROPIC else {"Authorization": f"Bearer {key}"}


def _tls_context() -> ssl.SSLContext:
    """Verification on, and no key log: `ssl.create_default_context` would obey SSLKEYLOGFILE."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    context.set_alpn_protocols(("http/1.1",))
    return context
