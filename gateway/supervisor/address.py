"""Where the gateway listens."""

from __future__ import annotations

import socket
from dataclasses import dataclass


class CannotListenError(Exception):
    """The gateway's address is taken or not this machine's."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the gateway listens."""

    host: str
    port: int

    @property
    def local(self) -> str:
        """The address by which this machine reaches it."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - read, not bound

    @property
    def url(self) -> str:
        return f"http://[{self.local}]:{self.port}" if ":" in self.local else f"http://{self.local}:{self.port}"

    def check_free(self) -> None:
        """Raise `CannotListenError` unless the address can be listened on now."""
        try:
            family, kind, _, _, address = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)[0]
            with socket.socket(family, kind) as listener:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(address)
        except OSError as error:
            raise CannotListenError(
                f"cannot listen on {self.host}:{self.port} ({error.strerror}): choose another with --port or --host"
            ) from None
