"""What the gateway tells of itself: events as JSON lines, metrics; never a prompt, a document or a key."""

from __future__ import annotations

import logging
import sys

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Metrics:
    """The gateway's own registry: label values are names from the pack, codes and statuses, never content."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "soleira_requests",
            "Requests answered, by endpoint, HTTP status and error code.",
            ["endpoint", "status", "code"],
            registry=self._registry,
        )
        self.attempts = Counter(
            "soleira_attempts",
            "Upstream calls, by deployment, zone and outcome.",
            ["deployment", "zone", "outcome"],
            registry=self._registry,
        )
        self.tokens = Counter(
            "soleira_tokens", "Tokens, by deployment and lane.", ["deployment", "lane"], registry=self._registry
        )
        self.cost = Counter(
            "soleira_cost_nano_usd", "Settled cost in nano-dollars.", ["deployment", "zone"], registry=self._registry
        )
        self.seconds = Histogram(
            "soleira_request_seconds",
            "Seconds from the request's head to the answer's last byte.",
            ["endpoint"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.in_flight = Gauge("soleira_requests_in_flight", "Requests being answered.", registry=self._registry)

    def exposition(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return generate_latest(self._registry)


def configure_logging() -> None:
    """Write events as JSON lines to standard error; access logs of the HTTP server are off."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _name_the_failure,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def _name_the_failure(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Replace an exception by its type and place: messages of foreign exceptions may quote what a person wrote."""
    failure = event.pop("failure", None)
    if isinstance(failure, BaseException):
        trace = failure.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        event["failure"] = type(failure).__name__
        event["at"] = f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}" if trace else "unknown"
    return event
