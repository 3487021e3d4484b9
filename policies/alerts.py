"""Whom to tell when a budget, a price or an estimate needs a person: the `alerts` of budgets.yaml."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from policies.fields import Language, SecretSource, Strict, listed

Occasion = Literal["budgets", "prices", "estimates"]
"""A budget has reached one of its thresholds; a price is old or has lapsed; many calls are charged at an estimate."""
Tls = Literal["implicit", "starttls", "none"]

_MAILBOX = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\Z")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?\Z")
_TOPIC = re.compile(r".*/[A-Za-z0-9_-]{1,64}\Z")
_OWN_ENDINGS = (".local", ".lan", ".internal", ".home.arpa", ".localhost")
_PORTS: dict[Tls, int] = {"implicit": 465, "starttls": 587, "none": 25}


def address_problem(address: str) -> str | None:
    """What is wrong with an address that alerts would be sent to; None: nothing.

    It never repeats the address, which may carry a secret.
    """
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "should be an address such as https://example.org/hook"
    if parts.scheme not in ("http", "https") or not host or any(ord(sign) <= ord(" ") for sign in address):
        return "should be an address such as https://example.org/hook"
    if parts.username is not None or parts.fragment:
        return "should be an address without a user, a password or a fragment"
    if parts.scheme == "http" and not is_near(host):
        return "should begin with https://; only machines of the house are told over http://"
    return None


def topic_problem(address: str) -> str | None:
    """What is wrong with an address that an ntfy server should know as a topic; None: nothing."""
    parts = urlsplit(address)
    if _TOPIC.match(parts.path) is None or parts.query:
        return "should be a server and a topic, such as https://ntfy.sh/your-topic"
    return None


def is_near(host: str) -> bool:
    """True for what names a machine of the house by its very form: a private address, `nas`, `nas.lan`."""
    try:
        address = ip_address(host)
    except ValueError:
        return "." not in host or host.lower().endswith(_OWN_ENDINGS)
    return address.is_private or address.is_loopback or address.is_link_local


def _address(value: str) -> str:
    problem = address_problem(value)
    if problem is not None:
        raise ValueError(problem)
    return value


def _topic(value: str) -> str:
    problem = topic_problem(value)
    if problem is not None:
        raise ValueError(problem)
    return value


def _mailbox(value: str) -> str:
    if not _MAILBOX.match(value):
        raise ValueError("should be an e-mail address such as ana@example.org")
    return value


def _host(value: str) -> str:
    if not _HOST.match(value) and not _is_address(value):
        raise ValueError("should be a server's name or address, without a port")
    return value


def _is_address(value: str) -> bool:
    try:
        ip_address(value)
    except ValueError:
        return False
    return True


_FROM = Discriminator(lambda value: "from a source" if isinstance(value, dict | SecretSource) else "as text")
Source = Annotated[SecretSource, Tag("from a source")]
Address = Annotated[Annotated[str, AfterValidator(_address), Tag("as text")] | Source, _FROM]
"""An address, or where one is read from that is itself a secret, as many services' are."""
Topic = Annotated[
    Annotated[str, AfterValidator(_address), AfterValidator(_topic), Tag("as text")] | Source,
    _FROM,
]
Mailbox = Annotated[str, AfterValidator(_mailbox)]
Mailboxes = Annotated[tuple[Mailbox, ...], BeforeValidator(listed), Field(min_length=1, max_length=50)]
Host = Annotated[str, AfterValidator(_host)]
Occasions = Annotated[tuple[Occasion, ...], BeforeValidator(listed), Field(min_length=1)]


class _Told(Strict):
    """What each kind of alert says: on which occasions, in which language, and from where on."""

    on: Occasions = ("budgets", "prices", "estimates")
    language: Language = "en"
    stale_after: Annotated[int, Field(ge=1, le=3650)] = 90
    """Days after which a price that was looked up is old."""
    estimated_above: Annotated[int, Field(ge=0, le=99)] = 5
    """Percent of a day's calls that may be charged at an estimate."""
    ca: str | None = None
    """A file with the certificates to trust instead of the usual ones, for a server with one of the house's own."""


class WebhookAlert(_Told):
    """A JSON message to an address; with a secret it is signed (Standard Webhooks)."""

    webhook: Address
    secret: SecretSource | None = None


class Smtp(Strict):
    """The server that takes mail."""

    host: Host
    tls: Tls = "implicit"
    port: Annotated[int | None, Field(ge=1, le=65535)] = None
    """By default 465, with `starttls` 587, with `none` 25."""
    user: str | None = None
    password: SecretSource | None = None

    @property
    def at(self) -> int:
        """The port."""
        return _PORTS[self.tls] if self.port is None else self.port

    @model_validator(mode="after")
    def _sends_no_password_openly(self) -> Self:
        if (self.user is None) != (self.password is None):
            raise ValueError("should name both user and password, or neither")
        if self.tls == "none" and not is_near(self.host):
            raise ValueError("tls: none is only for a machine of the house; use implicit or starttls")
        if self.tls == "none" and self.user is not None:
            raise ValueError("would send its password in the open; use tls: implicit or starttls")
        return self


class EmailAlert(_Told):
    """A message by e-mail."""

    email: Mailboxes
    sender: Annotated[Mailbox, Field(alias="from")]
    smtp: Smtp


class NtfyAlert(_Told):
    """A message to a topic of an ntfy server."""

    ntfy: Topic
    token: SecretSource | None = None


def _kind(value: object) -> str:
    """Which one an entry is meant to be: by the word that only one of them has."""
    if isinstance(value, EmailAlert) or (isinstance(value, dict) and "email" in value):
        return "by e-mail"
    if isinstance(value, NtfyAlert) or (isinstance(value, dict) and "ntfy" in value):
        return "by ntfy"
    return "by webhook"


Alert = WebhookAlert | EmailAlert | NtfyAlert
AlertEntry = Annotated[
    Annotated[WebhookAlert, Tag("by webhook")]
    | Annotated[EmailAlert, Tag("by e-mail")]
    | Annotated[NtfyAlert, Tag("by ntfy")],
    Discriminator(_kind),
]
