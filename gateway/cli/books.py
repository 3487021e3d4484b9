"""The ledger as commands read it: the file or the server itself, also beside a running house; they write nothing."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

import typer

from gateway.cli import reach
from gateway.db.engine import open_engine
from gateway.economics.calendar import day_of, known, month, start_of
from gateway.ledger.price import as_usd
from gateway.ledger.usage import Span
from gateway.settings import HOME_PACK
from policies.load import load_pack

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import tzinfo

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.settings import Settings
    from policies.pack import Pack

_T = TypeVar("_T")
_DAY = timedelta(days=1)


def ask(settings: Settings, question: Callable[[AsyncEngine], Awaitable[_T]]) -> _T:
    """The answer to a question that only reads. A running house goes on undisturbed."""

    async def asked() -> _T:
        engine = open_engine(settings.ledger_url)
        try:
            return await question(engine)
        finally:
            await engine.dispose()

    with reach.files(settings, settings.admin_socket):
        return asyncio.run(asked())


def pack_of(settings: Settings) -> Pack:
    """The pack in use, or the one that a new house starts with."""
    return load_pack(HOME_PACK if settings.own_pack and not settings.pack.exists() else settings.pack)


def span_of(start: str, end: str, zone: tzinfo) -> Span:
    """The span from one day or moment until another; a last day belongs to it. By default the month so far."""
    today = day_of(datetime.now(UTC), zone)
    begins = _moment(start, "--from", zone) if start else month(today.year, today.month, zone)[0]
    ends = _moment(end, "--to", zone, _DAY) if end else start_of(today + _DAY, zone)
    return Span(begins, ends, zone)


def day(text: str, option: str) -> date | None:
    """Read `2026-11-28`; None where nothing is said."""
    try:
        return known(date.fromisoformat(text)) if text else None
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no day: write one such as 2026-11-28", param_hint=option) from None


def zone_of(pack: Pack) -> tzinfo:
    """The owner's."""
    return pack.budgets.zone


def usd(nano_usd: int) -> str:
    """The amount in dollars, exactly: never less than cents, never rounded."""
    whole, _, part = as_usd(nano_usd).partition(".")
    return f"US$ {whole}.{part.ljust(2, '0')}"


def _moment(text: str, option: str, zone: tzinfo, more: timedelta = timedelta()) -> datetime:
    """A day's first moment (`more` days on), or the moment itself, of the zone where it names none."""
    try:
        if len(text) == len("2026-11-28"):
            return start_of(known(date.fromisoformat(text)) + more, zone)
        moment = datetime.fromisoformat(text)
        known(moment.date())
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no day or moment: write 2026-11-28 or 2026-11-28T13:00-03:00", param_hint=option
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
