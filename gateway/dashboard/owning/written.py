"""Writes what the page "Is owning cheaper?" shows: sums, volumes and stretches, the way the reader's language does."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log10
from typing import TYPE_CHECKING, Any

from gateway.dashboard import figures
from gateway.dashboard.cost_words import MONTHS
from gateway.dashboard.costs.coin import DOLLARS
from gateway.dashboard.costs.written import SIZES
from gateway.economics.scenario import DAYS_A_MONTH
from gateway.owning import words

if TYPE_CHECKING:
    from datetime import date

    from gateway.dashboard.costs.coin import Coin
    from gateway.dashboard.costs.written import Written
    from gateway.economics.break_even import Interval
    from gateway.owning.words import Pair

_NANO = 1_000_000_000
_HANDS = (
    "usd", "in_dollars", "exact", "tokens", "month_s_tokens", "a_day", "per_day", "share", "number", "times", "stretch",
    "month_of", "value", "millions",
)  # fmt: skip
_LONG, _NAMELESS = 10**9, 10**18
_FEW_MONTHS = 24
_NEARLY_ALL, _ALL = Fraction(9995, 100), 100
"""In per cent; what would be rounded to a false whole is said to be less."""
_MANY = 1000
_MOST_DIGITS = 9
_NARROW = "\N{NARROW NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class Hand:
    """The hand that one page is written by."""

    w: Written

    def values(self) -> dict[str, Any]:
        """What templates write with, beside what pages of money write with."""
        return {**self.w.values(), **{name: getattr(self, name) for name in _HANDS}}

    def of(self, pair: Pair) -> str:
        """Of an English and a Portuguese word the reader's."""
        return pair[self.w.t.language == "pt"]

    def headed(self, pair: Pair) -> str:
        """The reader's word as a heading begins."""
        return self.w.headed(self.of(pair))

    def label(self, figure: str) -> str:
        """What a figure is called, as the command calls it."""
        return self.w.headed(words.figure(figure, self.w.t.language))

    @staticmethod
    def value(figure: Fraction | float) -> str:
        """The figure for whoever reads by program: the very number that the command prints."""
        return repr(float(figure))

    @staticmethod
    def millions(tokens: Fraction | float) -> str:
        """Tokens for whoever reads by program: in millions, as the command prints them."""
        return repr(float(tokens / 10**6))

    def usd(self, amount: Fraction | float) -> str:
        """A sum of dollars in the page's currency, rounded for the eye; from a thousand million on in short."""
        return self._sum(Fraction(amount), self.w.coin)

    def in_dollars(self, amount: Fraction | float) -> str:
        """The same in dollars, beside the owner's currency."""
        return self._sum(Fraction(amount), DOLLARS)

    def _sum(self, amount: Fraction, coin: Coin) -> str:
        language, whole = self.w.t.language, abs(amount) * Fraction(coin.per_usd)
        if whole >= _NAMELESS:
            power = len(str(int(whole))) - 1
            return f"{coin.written(round(amount * _NANO / 10**power), language)} · 10^{power}"
        for sign, size in SIZES[language]:
            if size >= _LONG and whole >= size:
                return f"{coin.written(round(amount * _NANO / size), language)}\N{NO-BREAK SPACE}{sign}"
        return coin.written(round(amount * _NANO), language)

    def exact(self, amount: Fraction | float) -> str:
        """The same in dollars, to the thousandth of a cent."""
        return figures.dollars(round(Fraction(amount) * 100_000) * 10_000, self.w.t.language)

    def tokens(self, amount: Fraction | float) -> str:
        """`12.2 B`: for the eye; the whole number stands beside it."""
        return self.w.short(round(amount))

    def month_s_tokens(self, amount: Fraction | float) -> str:
        """`12.2 B tokens`, in Portuguese `12,2 bi de tokens`: as a sentence names them."""
        text = self.tokens(amount)
        return self.w.t("own.n tokens" if text[-1].isdigit() else "own.n of tokens", n=text)

    def a_day_s_tokens(self, amount: Fraction | float) -> str:
        """A month's tokens as a day's, as a sentence names them."""
        return self.month_s_tokens(self.per_day(amount))

    def interval(self, which: Interval) -> str:
        """From one volume of a month to another, or from one on."""
        if which.last is None:
            return self.w.t("own.from", first=self.month_s_tokens(which.first))
        return self.w.t("own.between", first=self.tokens(which.first), last=self.month_s_tokens(which.last))

    def a_day(self, amount: Fraction | float) -> str:
        """A month's tokens as a day's, for the eye."""
        return self.w.short(round(self.per_day(amount)))

    @staticmethod
    def per_day(amount: Fraction | float) -> Fraction:
        """A month's tokens as a day's."""
        return Fraction(amount) / DAYS_A_MONTH

    def share(self, part: Fraction | float) -> str:
        """`12.5%`, with a decimal only where it says something; no false nothing and no false whole."""
        percent = Fraction(part) * 100
        if percent and abs(percent) < Fraction(1, 20):
            return f"<{_NARROW}{self.number(Fraction(1, 10))}%"
        if _NEARLY_ALL <= percent < _ALL:
            return f">{_NARROW}{self.number(Fraction(999, 10))}%"
        return f"{self.number(percent, 0 if percent.denominator == 1 or abs(percent) >= 100 else 1)}%"

    def number(self, amount: Fraction | float, digits: int = 1) -> str:
        """A number, rounded for the eye."""
        return figures.decimal(float(amount), digits, self.w.t.language)

    def size(self, amount: Fraction) -> str:
        """Bytes as memory is sold: `1,560 GB`."""
        return f"{self.number(amount / 10**9, 0 if amount >= 10**10 else 1)} GB"

    def times(self, factor: Fraction | float) -> str:
        """How many times today's volume: `1.0004`, `1.04`, `3.1`, `42`; no false once."""
        if 1 < factor < 1.095:
            return self.number(factor, min(max(2, ceil(-log10(factor - 1))), _MOST_DIGITS))
        return self.number(factor, 1 if factor < 10 else 0)

    def stretch(self, months: float) -> str:
        """`14 months`, `3 years`."""
        if months < _FEW_MONTHS:
            whole = max(round(months), 1)
            return self.w.t("own.months.one" if whole == 1 else "own.months", n=whole)
        return self.w.t("own.years", n=self.number(months / 12, 0 if months >= 120 or months % 12 == 0 else 1))

    def month_of(self, which: date) -> str:
        """`March 2028`, in Portuguese `março de 2028`."""
        language = self.w.t.language
        return self.w.t("month of", month=MONTHS[language][which.month - 1], year=which.year)

    def plainly(self, amount: Fraction) -> str:
        """A stated figure with the digits that it was stated with, as far as they say something."""
        for digits in range(7):
            if (amount * 10**digits).denominator == 1:
                return self.number(amount, digits)
        return self.number(amount, 0 if abs(amount) >= _MANY else 3 if abs(amount) >= 1 else 6)
