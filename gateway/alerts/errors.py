"""What can go wrong with an alert."""

from __future__ import annotations

from gateway.errors import GatewayError


class AlertUnusableError(GatewayError):
    """An alert cannot be sent as it is written; the message says what is missing."""


class AlertNotTakenError(GatewayError):
    """A server did not take an alert. It never carries an address's path, which may be a secret."""

    def __init__(self, message: str, *, may_pass: bool = True) -> None:
        super().__init__(message)
        self.may_pass = may_pass
        """False where trying again soon is in vain."""
