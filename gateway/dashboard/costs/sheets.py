"""The figures of each picture and table as CSV, every digit of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import StreamingResponse

from gateway.ledger.exports.sheets import for_brazil, for_programs, usd, written
from gateway.wire.lanes import LANES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from gateway.dashboard.costs.board import Group
    from gateway.dashboard.costs.written import Written
    from gateway.ledger.exports.sheets import Cell, Row, Sheet
    from gateway.ledger.machines import MachineCost
    from gateway.ledger.usage import Report


def sheet_of(w: Written) -> Sheet:
    """As spreadsheets open it where the language is spoken: in Portuguese with `;` and a decimal comma."""
    return for_brazil(w.zone) if w.t.language == "pt" else for_programs()


def response(w: Written, name: str, header: Sequence[str], rows: AsyncIterator[Row]) -> StreamingResponse:
    """A file to keep."""
    headers = {"content-disposition": f'attachment; filename="{name}.csv"'}
    return StreamingResponse(written(sheet_of(w), header, rows), media_type="text/csv; charset=utf-8", headers=headers)


async def streamed(rows: Iterable[Row]) -> AsyncIterator[Row]:
    """Rows that are there already, as a stream."""
    for row in rows:
        yield row


def picture(report: Report, w: Written) -> tuple[list[str], list[Row]]:
    """One row a bar: its days, what each place came to, and the total, in dollars."""
    zones = sorted({part.name for line in report.lines for part in line.parts}, key=lambda name: (w.slot(name), name))
    header = [w.t("from"), w.t("to"), *(f"{w.place(zone)} (USD)" for zone in zones), *_totals(w)]
    rows: list[Row] = []
    for line in report.lines:
        assert line.span is not None  # noqa: S101 - for the type checker: lines of time have one
        costs = {part.name: part.sums.cost_nano_usd for part in line.parts}
        parts = [usd(costs.get(zone, 0)) for zone in zones]
        rows.append((*w.days_of(line.span), *parts, *_total(line.sums.cost_nano_usd, w)))
    return header, rows


def breakdown(groups: Sequence[Group], by: str, w: Written) -> tuple[list[str], list[Row]]:
    """One row a line, with every lane of its tokens."""
    lanes = [name for name in LANES if any(getattr(group.sums, name) for group in groups)]
    header = [w.t(f"by.{by}"), *_totals(w), w.t("calls"), w.t("tokens"), *(w.t(f"lane.{name}") for name in lanes)]
    return header, [
        (
            group.name,
            *_total(group.sums.cost_nano_usd, w),
            group.sums.attempts,
            group.sums.tokens,
            *(getattr(group.sums, name) for name in lanes),
        )
        for group in groups
    ]


def machines(costs: Sequence[MachineCost], w: Written) -> tuple[list[str], list[Row]]:
    """One row a machine, line by line."""
    lines = ("capital", "rent", "energy", "staff", "allocated", "used", "idle")
    names = ("total" if line == "allocated" else line for line in lines)
    header = [w.t("machine"), *(f"{w.t(name)} (USD)" for name in names)]
    return header, [(cost.name, *(usd(getattr(cost, f"{line}_nano_usd")) for line in lines)) for cost in costs]


def _totals(w: Written) -> list[str]:
    dollars = f"{w.t('total')} (USD)"
    return [dollars] if w.owner.code == "USD" else [dollars, f"{w.t('total')} ({w.owner.code})"]


def _total(nano_usd: int, w: Written) -> list[Cell]:
    return [usd(nano_usd)] if w.owner.code == "USD" else [usd(nano_usd), w.owner.amount(nano_usd)]
