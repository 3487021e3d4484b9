"""Amounts, shares and factors as costs over time write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, model_validator

from policies.budgets import Currency
from policies.fields import Amount, Strict

_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?) ?%\Z")
_SIGNED = re.compile(r"(-?)(\d{1,15}(?:\.\d{1,12})?)( ?%)?\Z")
_COUNT = re.compile(r"\d{1,15}(\.\d{1,6})?\Z")


@dataclass(frozen=True, slots=True)
class Residual:
    """What a machine is worth at the end of its life: an amount, or a share of what it cost."""

    value: Decimal
    is_share: bool = False

    def of(self, amount: Decimal) -> Decimal:
        return amount * self.value if self.is_share else self.value


def fraction(value: object) -> Fraction:
    """Read `8%`, `0.08` or `-2%`, exactly."""
    found = _SIGNED.match(str(value))
    if not found:
        raise ValueError("should be a number such as 0.08, or a percentage such as 8%")
    number = Fraction(found[2]) / (100 if found[3] else 1)
    return -number if found[1] else number


def _share(value: object) -> Fraction:
    share = fraction(value)
    if not 0 <= share <= 1:
        raise ValueError("should be a share from 0 to 1, or a percentage such as 8%")
    return share


def _growth(value: object) -> Fraction:
    share = fraction(value)
    if not -1 < share <= 10:
        raise ValueError("should be a share of a month's volume, such as 0.08 or 8% (below 0 where it shrinks)")
    return share


def _count(value: object) -> Fraction:
    if not _COUNT.match(str(value)):
        raise ValueError("should be a number such as 12000000: digits, no sign, no unit")
    return Fraction(str(value))


def _positive_count(value: object) -> Fraction:
    count = _count(value)
    if not count:
        raise ValueError("should be more than 0; leave the line out where it is unknown")
    return count


def _residual(value: object) -> Residual:
    found = _PERCENT.match(str(value))
    if found and (share := Decimal(found[1]) / 100) <= 1:
        return Residual(share, is_share=True)
    if not re.fullmatch(r"\d{1,12}(\.\d{1,6})?", str(value)):
        raise ValueError("should be an amount such as 480000, or a share of what was paid such as 20%")
    return Residual(Decimal(str(value)))


def _positive(value: Decimal) -> Decimal:
    if value == 0:
        raise ValueError("should be more than 0; leave the line out where there is no such cost")
    return value


def _power_usage(value: Decimal) -> Decimal:
    if value < 1:
        raise ValueError("should be 1 or more: all energy over that of the machines (1: nothing is added)")
    return value


def _of_dollars(value: object) -> object:
    """Let a mere number stand where an amount with its currency may: dollars."""
    return {"amount": value, "currency": "USD"} if isinstance(value, str) else value


Positive = Annotated[Amount, AfterValidator(_positive)]
PowerUsage = Annotated[Amount, AfterValidator(_power_usage)]
Share = Annotated[Fraction, PlainValidator(_share, json_schema_input_type=str)]
Growth = Annotated[Fraction, PlainValidator(_growth, json_schema_input_type=str)]
Number = Annotated[Fraction, PlainValidator(fraction, json_schema_input_type=str)]
Count = Annotated[Fraction, PlainValidator(_count, json_schema_input_type=str)]
PositiveCount = Annotated[Fraction, PlainValidator(_positive_count, json_schema_input_type=str)]
ResidualText = Annotated[Residual, PlainValidator(_residual, json_schema_input_type=str)]
LifeMonths = Annotated[int, Field(ge=1, le=600)]


class _Amount(Strict):
    amount: Positive
    currency: Currency


Money = Annotated[_Amount, BeforeValidator(_of_dollars)]
"""`500`, which is dollars, or `{amount: 500, currency: BRL}`."""


class Bought(Strict):
    """What was paid for one machine, written off evenly over its life: (amount - residual) / life, month by month."""

    amount: Positive
    currency: Currency
    life_months: LifeMonths
    residual: ResidualText = Residual(Decimal(0))

    @property
    def written_off(self) -> Decimal:
        """What its life uses up."""
        return self.amount - self.residual.of(self.amount)

    @model_validator(mode="after")
    def _loses_worth(self) -> Self:
        if self.written_off < 0:
            raise ValueError(f"has a residual of {self.residual.value}, more than the {self.amount} that were paid")
        return self
