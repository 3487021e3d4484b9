"""Where alerts go: one place for each of the pack's `alerts`, each with its own way to say it."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from gateway.alerts import mail, post
from gateway.alerts.errors import AlertUnusableError
from policies.alerts import EmailAlert, NtfyAlert, WebhookAlert, address_problem, topic_problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from gateway.alerts.notices import Notice
    from policies.alerts import Alert
    from policies.fields import Language, SecretSource

log = structlog.get_logger()

_HIGH, _USUAL = 4, 3
_ALL = 100


@dataclass(frozen=True, slots=True)
class Message:
    """Some notices, told at once."""

    id: str
    """The same however often it is sent, so that who gets it twice can tell."""
    notices: tuple[Notice, ...]

    def title(self, language: Language) -> str:
        """One line: the only notice, or how many there are."""
        if len(self.notices) == 1:
            return f"Soleira: {_first_part(self.lines(language)[0])}"
        return f"Soleira: {len(self.notices)} {'avisos' if language == 'pt' else 'notices'}"

    def lines(self, language: Language) -> list[str]:
        return [notice.pt if language == "pt" else notice.en for notice in self.notices]

    def text(self, language: Language) -> str:
        return "\n".join(self.lines(language))

    @property
    def urgent(self) -> bool:
        """True if a budget is used up."""
        return any(int(notice.facts.get("percent", 0)) >= _ALL for notice in self.notices)


@dataclass(frozen=True, slots=True)
class Place:
    """One entry of the pack's `alerts`, and the environment that its secrets are in."""

    alert: Alert
    number: int
    """Its place in the list, from 0."""
    environment: Mapping[str, str]

    @property
    def name(self) -> str:
        """What logs and people call it: never its address."""
        return f"alerts[{self.number}] ({_kind(self.alert)})"

    @property
    def id(self) -> str:
        """What its sent alerts are kept by: the place itself, whatever its number is."""
        written = self.alert.model_dump(mode="json", by_alias=True, include={"webhook", "email", "ntfy"})
        return hashlib.sha256(json.dumps(written, sort_keys=True).encode()).hexdigest()[:12]

    async def send(self, message: Message, at: datetime) -> None:
        """Send it once.

        AlertUnusableError if something is missing here, AlertNotTakenError if the server does not take it.
        """
        match self.alert:
            case WebhookAlert():
                await self._post(self.alert, message, at)
            case EmailAlert():
                await self._mail(self.alert, message, at)
            case NtfyAlert():
                await self._publish(self.alert, message)

    async def _post(self, alert: WebhookAlert, message: Message, at: datetime) -> None:
        address = self._address(alert.webhook, "webhook")
        content = {
            "type": "soleira.alert",
            "timestamp": at.isoformat(),
            "title": message.title(alert.language),
            "text": message.text(alert.language),
            "data": [{"id": notice.id, "occasion": notice.occasion, **notice.facts} for notice in message.notices],
        }
        body = json.dumps(content, ensure_ascii=False).encode()
        secret = None if alert.secret is None else self._secret(alert.secret, "secret")
        headers = {"webhook-id": message.id} if secret is None else post.signed(secret, message.id, at, body)
        await post.webhook(address, body, headers, self._ca())

    async def _publish(self, alert: NtfyAlert, message: Message) -> None:
        topic = self._address(alert.ntfy, "ntfy")
        token = None if alert.token is None else self._secret(alert.token, "token")
        said = message.title(alert.language), message.text(alert.language)
        await post.ntfy(topic, token, *said, _HIGH if message.urgent else _USUAL, self._ca())

    async def _mail(self, alert: EmailAlert, message: Message, at: datetime) -> None:
        smtp = alert.smtp
        password = None if smtp.password is None else self._secret(smtp.password, "smtp.password")
        server = mail.Server(smtp.host, smtp.at, smtp.tls, smtp.user, password, self._ca())
        title, text = message.title(alert.language), message.text(alert.language)
        letter = mail.Letter(alert.sender, alert.email, title, f"{text}\n", at)
        left_out = await asyncio.to_thread(mail.send, server, letter)
        if left_out:
            log.warning("alert_taken_for_some_only", place=self.name, left_out=left_out)

    def _address(self, written: str | SecretSource, key: str) -> str:
        """The address; one out of the environment is looked at as the pack's own are when it is read."""
        if isinstance(written, str):
            return written
        address = self._secret(written, key)
        problem = address_problem(address) or (topic_problem(address) if key == "ntfy" else None)
        if problem is not None:
            raise AlertUnusableError(f"{self.name}: what {_source(written)} holds {problem}")
        return address

    def _ca(self) -> str | None:
        """The file with the certificates to trust; None: the usual ones."""
        if self.alert.ca is None:
            return None
        path = Path(self.alert.ca).expanduser()
        if not path.is_file():
            raise AlertUnusableError(f"{self.name}: there is no file {self.alert.ca} with certificates to trust")
        return str(path)

    def _secret(self, source: SecretSource, key: str) -> str:
        try:
            value = (
                self.environment.get(source.env, "")
                if source.env is not None
                else Path(str(source.file)).expanduser().read_text(encoding="utf-8")
            ).strip()
        except (OSError, UnicodeDecodeError):
            value = ""
        if not value:
            raise AlertUnusableError(f"{self.name} needs its {key} in {_source(source)}, which holds nothing")
        return value


def places_of(alerts: Sequence[Alert], environment: Mapping[str, str]) -> tuple[Place, ...]:
    """One for each entry, in the pack's order."""
    return tuple(Place(alert, number, environment) for number, alert in enumerate(alerts))


def _kind(alert: Alert) -> str:
    match alert:
        case WebhookAlert():
            return "webhook"
        case EmailAlert():
            return "e-mail"
    return "ntfy"


def _source(source: SecretSource) -> str:
    return f"the environment variable {source.env}" if source.env is not None else f"the file {source.file}"


def _first_part(line: str) -> str:
    """A line's words before its sums, for a title."""
    return line.split(": ", 1)[0].rstrip(".")
