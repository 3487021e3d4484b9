"""What tokens cost, as people write it: prices.yaml, and the price of a deployment."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Self

from pydantic import AfterValidator, Discriminator, Tag, model_validator

from policies.fields import Amount, Engine, Name, Strict, Word


def _currency(value: str) -> str:
    if value != "USD":
        raise ValueError(f"is {value!r}, for which no exchange rate is known; state the price in USD")
    return value


class PerMillion(Strict):
    """Prices of a million tokens by lane; what is not named costs what its lane's sum costs."""

    input: Amount
    output: Amount
    cached: Amount | None = None
    reasoning: Amount | None = None


class TokenPrice(Strict):
    """A price, with where it was read and when; one of zero must say so, for nothing is free by oversight."""

    currency: Annotated[str, AfterValidator(_currency)]
    per_million: PerMillion
    source: Name | None = None
    as_of: date | None = None

    @model_validator(mode="after")
    def _zero_is_meant(self) -> Self:
        rates = self.per_million
        if not any((rates.input, rates.output, rates.cached, rates.reasoning)) and not (self.source and self.as_of):
            raise ValueError("is zero: say where that comes from (source) and since when it holds (as_of)")
        return self


class OwnedPrice(Strict):
    """The marginal price of a machine in break_even.yaml."""

    owned: Word


PriceEntry = Annotated[
    Annotated[TokenPrice, Tag("tokens")] | Annotated[OwnedPrice, Tag("machine")],
    Discriminator(lambda value: "machine" if isinstance(value, dict) and "owned" in value else "tokens"),
]


class ListedPrice(TokenPrice):
    """What an engine charges for an upstream model, for all deployments that name no price."""

    engine: Engine
    model: Name


class PricesFile(Strict):
    prices: tuple[ListedPrice, ...] = ()
