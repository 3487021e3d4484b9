"""Writes what the cost page shows: shares, days, stretches and names, the way the reader's language does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gateway.dashboard import figures
from gateway.dashboard.cost_words import MONTHS, WEEKDAYS
from gateway.dashboard.costs.coin import DOLLARS
from gateway.dashboard.shown import is_home
from gateway.economics.calendar import day_of

if TYPE_CHECKING:
    from datetime import datetime, tzinfo
    from decimal import Decimal

    from gateway.dashboard.costs.coin import Coin
    from gateway.dashboard.costs.view import By, Step
    from gateway.dashboard.texts import Language, Texts
    from gateway.ledger.usage import Span
    from policies.pack import Pack

_A_MOMENT = timedelta(microseconds=1)
_THOUSAND = 1000
_HANDS = (
    "money", "percent", "short", "decimal", "day", "dates", "days_of", "moment", "month_name", "axis", "column_name",
    "called", "place", "slot", "iso", "headed",
)  # fmt: skip
_LETTERS = 3
SIZES: dict[Language, tuple[tuple[str, int], ...]] = {
    "en": (("T", _THOUSAND**4), ("B", _THOUSAND**3), ("M", _THOUSAND**2)),
    "pt": (("tri", _THOUSAND**4), ("bi", _THOUSAND**3), ("mi", _THOUSAND**2)),
}
"""What large numbers are counted in, the greatest first."""
_ROUNDS_UP = Fraction(99_995, 100_000)
"""From this part of a size on a number of one decimal would be a thousand of the size below."""
_NEARLY_ALL, _ALL = 99, 100


@dataclass(frozen=True, slots=True)
class Written:
    """The hand that one page is written by."""

    t: Texts
    pack: Pack
    owner: Coin
    """The owner's currency."""
    dollars: bool = False
    """True if dollars are shown all the same."""

    @property
    def coin(self) -> Coin:
        """The currency that is shown."""
        return DOLLARS if self.dollars else self.owner

    @property
    def zone(self) -> tzinfo:
        """The time zone that days are of."""
        return self.pack.budgets.zone

    def values(self) -> dict[str, Any]:
        """What templates write with."""
        return {
            "coin": self.coin,
            "owner_coin": self.owner,
            "zone_name": self.pack.budgets.zone_name,
            "brief": lambda nano: DOLLARS.written(nano, self.t.language),
            **{name: getattr(self, name) for name in _HANDS},
        }

    def money(self, nano_usd: int) -> str:
        """A sum in the page's currency, rounded for the eye."""
        return self.coin.written(nano_usd, self.t.language)

    def percent(self, part: int | Fraction | None, whole: int = 1) -> str:
        """`62%`; a dash where there is no whole, no false zero and no false whole."""
        if part is None or not whole:
            return "–"
        share = Fraction(part) / whole * 100
        if 0 < share < 1:
            return "<\N{NARROW NO-BREAK SPACE}1%"
        if _NEARLY_ALL < share < _ALL:
            return ">\N{NARROW NO-BREAK SPACE}99%"
        return f"{figures.count(round(share), self.t.language)}%"

    def short(self, number: int) -> str:
        """`1.2 M`: for the eye; the whole number stands beside it."""
        for sign, size in SIZES[self.t.language]:
            if number >= size * _ROUNDS_UP:
                return f"{figures.decimal(number / size, 1, self.t.language)}\N{NARROW NO-BREAK SPACE}{sign}"
        return figures.count(number, self.t.language)

    def decimal(self, number: Decimal) -> str:
        """A rate with every digit that it was given with."""
        text = f"{number:f}"
        return text.replace(".", ",") if self.t.language == "pt" else text

    def day(self, which: date) -> str:
        """`28 Nov 2026`, in Portuguese `28/11/2026`."""
        if self.t.language == "pt":
            return which.strftime("%d/%m/%Y")
        return f"{which.day} {MONTHS['en'][which.month - 1][:_LETTERS]} {which.year}"

    @staticmethod
    def headed(text: str) -> str:
        """As a heading begins; names of months further on stay as the language writes them."""
        return text[:1].upper() + text[1:]

    @staticmethod
    def iso(text: str) -> date:
        """The day that a row has kept as text."""
        return date.fromisoformat(text)

    def dates(self, first: date, last: date) -> str:
        """From the one day to the other."""
        return self.day(first) if first == last else f"{self.day(first)} – {self.day(last)}"

    def moment(self, at: datetime) -> str:
        """A moment by the owner's clock."""
        local = at.astimezone(self.zone)
        return f"{self.day(local.date())} {local:%H:%M:%S}"

    def month_name(self, which: date) -> str:
        return MONTHS[self.t.language][which.month - 1]

    def axis(self, which: date, step: Step) -> str:
        """What stands under a bar."""
        if step == "month":
            return f"{self.month_name(which)[:_LETTERS]} {which.year % 100:02}"
        if self.t.language == "pt":
            return which.strftime("%d/%m")
        return f"{which.day} {MONTHS['en'][which.month - 1][:_LETTERS]}"

    def column_name(self, which: date, step: Step) -> str:
        """What a bar is of, in full."""
        if step == "month":
            return f"{self.month_name(which)} {which.year}"
        if step == "week":
            return self.day(which)
        return f"{WEEKDAYS[self.t.language][which.weekday()]} {self.day(which)}"

    def called(self, by: By, name: str) -> str:
        """What a line of a breakdown is called."""
        if not name:
            return self.t.named(f"none.{by}", self.t("none"))
        return self.place(name) if by == "zone" else name

    def place(self, zone: str) -> str:
        """Where a zone is, as a heading says it; a zone of the owner's own making has its own name."""
        if not is_home(zone, self.pack):
            return self.t.named(f"there.{zone}", zone)
        classes = self.pack.zones[zone].addresses.classes
        return self.t("here.private" if "private" in classes else "here.loopback")

    def days_of(self, span: Span) -> tuple[date, date]:
        """The first and the last day of a span."""
        return day_of(span.start, self.zone), day_of(span.end - _A_MOMENT, self.zone)

    def slot(self, zone: str) -> int:
        """Which colour and pattern a place has: the same on every day and in every view."""
        if is_home(zone, self.pack):
            return 2 if "private" in self.pack.zones[zone].addresses.classes else 1
        known = {"cluster": 3, "hosted": 4}
        others = [name for name in self.pack.zones if name not in known and not is_home(name, self.pack)]
        return known.get(zone) or (5 + others.index(zone) if zone in others else 6)
