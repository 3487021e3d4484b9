"""Who looks at the page: signed cookies, the tokens of its forms, and the dependencies that ask for them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Form, Request
from itsdangerous import BadData, URLSafeSerializer

from gateway.dashboard.throttle import Throttle
from gateway.db import keys
from gateway.errors import Forbidden
from gateway.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.settings import Settings

COOKIE = "soleira_session"
LIFETIME_SECONDS = 12 * 3600
_TOKEN_BYTES = 16


@dataclass(frozen=True, slots=True)
class Session:
    """One browser; before it has signed in it has a session too, which its sign-in form is bound to."""

    id: str
    signed_in: bool
    until: int
    """When it ends, in seconds since 1970."""
    reader: str = ""
    """The digest of the key that reads figures, and opens nothing else; empty: it was the admin key."""


class SignedOut(Exception):
    """The page was asked for without a valid session."""


class FiguresAlone(Exception):
    """A reader of figures asked for another page than theirs."""


class Sessions:
    """Sessions live in their cookies, signed with the house's secret and the admin key in force.

    Another admin key, or another secret, ends them all; those that signed out are remembered until they expire.
    """

    def __init__(self, secret: bytes, admin_digest: str, clock: Callable[[], float] = time.time) -> None:
        self._key = hmac.digest(secret, b"dashboard:" + admin_digest.encode("ascii"), "sha256")
        self._serializer = URLSafeSerializer(
            self._key, salt=COOKIE, signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256}
        )
        self._clock = clock
        self._ended: dict[str, int] = {}

    @classmethod
    def of(cls, settings: Settings) -> Sessions:
        """The sessions of one house."""
        return cls(settings.secret.read_bytes(), settings.admin_digest or "")

    def start(self, *, signed_in: bool, reader: str = "") -> Session:
        """A new session; signing in always makes one, so an id known before is worth nothing."""
        return Session(secrets.token_urlsafe(_TOKEN_BYTES), signed_in, int(self._clock()) + LIFETIME_SECONDS, reader)

    def cookie(self, session: Session) -> str:
        """The cookie's value."""
        return str(self._serializer.dumps([session.id, session.signed_in, session.until, session.reader]))

    def read(self, cookie: str | None) -> Session | None:
        """The session of a cookie; None if it is forged, expired or ended."""
        try:
            session = Session(*self._serializer.loads(cookie or ""))
        except BadData:
            return None
        return session if session.until > self._clock() and session.id not in self._ended else None

    def end(self, session: Session) -> None:
        """Sign a session out, copies of its cookie included."""
        now = self._clock()
        self._ended = {name: until for name, until in self._ended.items() if until > now}
        self._ended[session.id] = session.until

    def token(self, session: Session) -> str:
        """What the forms of a session carry, and no other site can know."""
        return hmac.digest(self._key, b"form:" + session.id.encode(), "sha256").hex()

    def owns(self, session: Session, token: str) -> bool:
        """True if the token belongs to the session."""
        return hmac.compare_digest(self.token(session).encode(), token.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class Door:
    """What stands between a browser and the page."""

    sessions: Sessions
    throttle: Throttle


def runtime_of(request: Request) -> Runtime:
    """The runtime that the application was built with."""
    runtime = request.app.state.runtime
    assert isinstance(runtime, Runtime)  # noqa: S101 - for the type checker: the application is built with one
    return runtime


def door_of(request: Request) -> Door:
    """The door that the page was added with."""
    door = request.app.state.dashboard
    assert isinstance(door, Door)  # noqa: S101 - for the type checker: pages.add_to sets it
    return door


CurrentRuntime = Annotated[Runtime, Depends(runtime_of)]
CurrentDoor = Annotated[Door, Depends(door_of)]


async def _session(request: Request, door: CurrentDoor) -> Session | None:
    return door.sessions.read(request.cookies.get(COOKIE))


AnySession = Annotated[Session | None, Depends(_session)]


async def _reads_figures(session: AnySession, runtime: CurrentRuntime) -> Session:
    if session is None or not session.signed_in:
        raise SignedOut
    if session.reader and not await is_reader(runtime, session.reader):
        raise SignedOut
    return session


ReadsFigures = Annotated[Session, Depends(_reads_figures)]
"""The session of the admin, or of a reader whose key is still valid."""


async def _signed_in(session: ReadsFigures) -> Session:
    if session.reader:
        raise FiguresAlone
    return session


SignedIn = Annotated[Session, Depends(_signed_in)]
"""The session of the admin."""


async def is_reader(runtime: Runtime, digest: str) -> bool:
    """True if the digest is of a valid key that reads figures."""
    row = await keys.find(runtime.engine, digest)
    return row is not None and row.role == "reader"


async def _own_form(session: AnySession, door: CurrentDoor, token: Annotated[str, Form()] = "") -> Session:
    if session is None or not door.sessions.owns(session, token):
        raise Forbidden("this form is not of the page that you have open: load the page again")
    return session


OwnForm = Annotated[Session, Depends(_own_form)]
"""The session of a form that this very page was filled in on."""
