"""Sends alerts by e-mail, through the server that the owner's pack names."""

from __future__ import annotations

import smtplib
import ssl
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid
from typing import TYPE_CHECKING

from gateway.alerts.errors import AlertNotTakenError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from policies.alerts import Tls

_SECONDS = 20
_TEMPORARY = range(400, 500)


@dataclass(frozen=True, slots=True)
class Server:
    """A mail server and how it is spoken to."""

    host: str
    port: int
    tls: Tls
    user: str | None = None
    password: str | None = None
    ca: str | None = None


@dataclass(frozen=True, slots=True)
class Letter:
    """One message."""

    sender: str
    to: tuple[str, ...]
    subject: str
    text: str
    at: datetime

    def message(self) -> EmailMessage:
        """The message with its headers. It says that a machine wrote it, so that no machine answers."""
        message = EmailMessage(policy=SMTP)
        message["From"] = self.sender
        message["To"] = ", ".join(self.to)
        message["Subject"] = " ".join(self.subject.split())  # a header is one line, whatever names are in it
        message["Date"] = format_datetime(self.at)
        message["Message-ID"] = make_msgid(domain=self.domain)
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(self.text)
        return message

    @property
    def domain(self) -> str:
        return self.sender.rpartition("@")[2]


def send(server: Server, letter: Letter) -> int:
    """Hand the letter to the server, and say how many of its readers the server did not take it for.

    AlertNotTakenError if it took it for nobody. It blocks, so it belongs into a thread.
    """
    try:
        with _connected(server, letter.domain) as connection:
            if server.user is not None and server.password is not None:
                connection.login(server.user, server.password)
            return len(connection.send_message(letter.message(), letter.sender, letter.to))
    except smtplib.SMTPResponseException as failure:
        raise _refused(server, failure.smtp_code) from None
    except smtplib.SMTPRecipientsRefused as failure:
        raise _refused(server, max(code for code, _ in failure.recipients.values())) from None
    except (smtplib.SMTPException, OSError) as failure:
        raise AlertNotTakenError(f"{server.host} was not reached ({type(failure).__name__})") from None


@contextmanager
def _connected(server: Server, domain: str) -> Iterator[smtplib.SMTP]:
    """A connection that is encrypted unless the pack says that it need not be. This machine's name is not told."""
    trusted = ssl.create_default_context(cafile=server.ca)
    if server.tls == "implicit":
        connection: smtplib.SMTP = smtplib.SMTP_SSL(
            server.host, server.port, local_hostname=domain, timeout=_SECONDS, context=trusted
        )
    else:
        connection = smtplib.SMTP(server.host, server.port, local_hostname=domain, timeout=_SECONDS)
    with connection:
        if server.tls == "starttls":
            connection.starttls(context=trusted)
        yield connection


def _refused(server: Server, code: int) -> AlertNotTakenError:
    return AlertNotTakenError(f"{server.host} answered {code}", may_pass=code in _TEMPORARY)
