"""Sends alerts over HTTP: signed webhooks, and messages to ntfy; only where the owner's pack says."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import ssl
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import aiohttp

from gateway.alerts.errors import AlertNotTakenError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

_TIMEOUT = aiohttp.ClientTimeout(total=20, connect=10)
_STANDARD_SECRET = "whsec_"  # noqa: S105 - how secrets of Standard Webhooks begin
_MAY_PASS = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})


async def webhook(address: str, body: bytes, headers: Mapping[str, str], ca: str | None) -> None:
    """Post a JSON message; AlertNotTakenError if it is not taken."""
    await _post(address, body, {"Content-Type": "application/json", **headers}, ca)


async def ntfy(topic: str, token: str | None, title: str, text: str, priority: int, ca: str | None) -> None:
    """Publish a message to a topic; AlertNotTakenError if it is not taken."""
    server, _, name = topic.rpartition("/")
    message = {"topic": name, "title": title, "message": text, "priority": priority}
    headers = {"Content-Type": "application/json"} | ({} if token is None else {"Authorization": f"Bearer {token}"})
    await _post(f"{server}/", json.dumps(message, ensure_ascii=False).encode(), headers, ca)


def signed(secret: str, message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """The headers of Standard Webhooks: who has the secret can tell that the message is ours, and when it was sent."""
    seconds = str(int(at.timestamp()))
    digest = hmac.digest(_key(secret), b".".join((message_id.encode(), seconds.encode(), body)), hashlib.sha256)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": seconds,
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def _key(secret: str) -> bytes:
    if secret.startswith(_STANDARD_SECRET):
        try:
            return base64.b64decode(secret.removeprefix(_STANDARD_SECRET), validate=True)
        except binascii.Error:
            pass
    return secret.encode()


async def _post(address: str, body: bytes, headers: Mapping[str, str], ca: str | None) -> None:
    """No redirect is followed, and no proxy or .netrc of the environment is looked at."""
    try:
        connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=ca), force_close=True)
        async with (
            aiohttp.ClientSession(connector=connector, timeout=_TIMEOUT, trust_env=False) as session,
            session.post(address, data=body, headers=headers, allow_redirects=False) as response,
        ):
            status = response.status
    except (aiohttp.ClientError, TimeoutError, OSError) as failure:
        raise AlertNotTakenError(f"{_host(address)} was not reached ({type(failure).__name__})") from None
    if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        may_pass = status in _MAY_PASS or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        raise AlertNotTakenError(f"{_host(address)} answered {status}", may_pass=may_pass)


def _host(address: str) -> str:
    """All of an address that may be told: the rest is often a secret."""
    return urlsplit(address).hostname or "the server"
