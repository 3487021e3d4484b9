"""Says why a budget refused an attempt: what is spent, held and allowed, and until when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from gateway.errors import BudgetExceeded
from gateway.ledger.price import as_usd

if TYPE_CHECKING:
    from gateway.db.books import Row, Value

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def exceeded(window: Row, now: datetime) -> BudgetExceeded:
    """The refusal of a hold by this window, as it stands."""
    ends_at = _EPOCH + timedelta(microseconds=_whole(window["ends_at"]))
    sums = [_sums(window, unit) for unit in ("nano_usd", "tokens") if window[f"limit_{unit}"] is not None]
    return BudgetExceeded(
        f"the budget {window['budget']!r} of {window['subject']!r} has no room for this request: "
        f"{'; '.join(sums)}. It begins anew at {ends_at:%Y-%m-%d %H:%M} UTC: wait until then, "
        "or ask for less output (max_tokens)",
        retry_after=str(max(1, -((now - ends_at) // timedelta(seconds=1)))),
    )


def _sums(window: Row, unit: str) -> str:
    spent, held, limit = (_shown(_whole(window[f"{what}_{unit}"]), unit) for what in ("spent", "held", "limit"))
    return f"{spent} spent and {held} held of {limit}"


def _shown(amount: int, unit: str) -> str:
    return f"{as_usd(amount)} USD" if unit == "nano_usd" else f"{amount} tokens"


def _whole(value: Value) -> int:
    return int(value or 0)
