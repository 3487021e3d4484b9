"""What FOCUS 1.2 asks of a file's rows, as checks: presence, nullability, allowed values, formats, sums."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MANDATORY = frozenset(
    """BilledCost BillingAccountId BillingAccountName BillingCurrency BillingPeriodEnd BillingPeriodStart ChargeCategory
    ChargeClass ChargeDescription ChargePeriodEnd ChargePeriodStart ContractedCost EffectiveCost InvoiceIssuerName
    ListCost PricingQuantity PricingUnit ProviderName PublisherName ServiceCategory ServiceName""".split()
)
RECOMMENDED = frozenset({"ChargeFrequency", "InvoiceId", "ServiceSubcategory"})
NEVER_NULL = MANDATORY - {"ChargeClass", "PricingQuantity", "PricingUnit"} | {
    "ChargeFrequency",
    "PricingCurrency",
    "PricingCurrencyEffectiveCost",
    "ServiceSubcategory",
    "BillingAccountType",
}
ALLOWED = {
    "ChargeCategory": {"Usage", "Purchase", "Tax", "Credit", "Adjustment"},
    "ChargeClass": {"", "Correction"},
    "ChargeFrequency": {"One-Time", "Recurring", "Usage-Based"},
    "PricingCategory": {"", "Standard", "Dynamic", "Committed", "Other"},
    "ServiceCategory": {"AI and Machine Learning"},
    "ServiceSubcategory": {"Generative AI", "Machine Learning"},
}
OF_A_PRICE = ("ListUnitPrice", "ContractedUnitPrice", "PricingQuantity", "PricingUnit", "PricingCategory", "SkuId")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z\Z")
_NUMBER = re.compile(r"-?\d+(\.\d+)?\Z")
_CURRENCY = re.compile(r"[A-Z]{3}\Z")


def violations(row: Mapping[str, str], types: Mapping[str, str]) -> Iterator[str]:
    """All that the row gets wrong; cells are texts, an empty one is null."""
    yield from (f"{name} is missing" for name in (MANDATORY | RECOMMENDED) - row.keys())
    yield from (f"{name} is null" for name in NEVER_NULL if not row[name].strip())
    yield from (f"{name} is {row[name]!r}" for name, values in ALLOWED.items() if row[name] not in values)
    for name, kind in types.items():
        if row[name] and not _fits(row[name], kind):
            yield f"{name} is {row[name]!r}, no {kind}"
    yield from (
        f"{name} is {row[name]!r}" for name in row if name.endswith("Currency") and not _CURRENCY.match(row[name])
    )
    if bool(row["PricingQuantity"]) != bool(row["PricingUnit"]):
        yield "PricingQuantity without PricingUnit, or the other way round"
    if bool(row["ConsumedQuantity"]) != bool(row["ConsumedUnit"]):
        yield "ConsumedQuantity without ConsumedUnit, or the other way round"
    if (row["ChargeCategory"] == "Usage") != bool(row["ConsumedQuantity"]):
        yield "a usage without ConsumedQuantity, or something else with it"
    if len({bool(row[name]) for name in (*OF_A_PRICE, "SkuPriceId", "SkuMeter")}) > 1:
        yield "a price that is half null"
    for cost, price in (("ListCost", "ListUnitPrice"), ("ContractedCost", "ContractedUnitPrice")):
        if row[price]:
            if Decimal(row[price]) * Decimal(row["PricingQuantity"]) != Decimal(row[cost]):
                yield f"{cost} is not {price} by PricingQuantity"
        elif row[cost] != row["BilledCost"]:
            yield f"{cost} without a unit price is not BilledCost"
    if not row["BillingPeriodStart"] <= row["ChargePeriodStart"] < row["ChargePeriodEnd"] <= row["BillingPeriodEnd"]:
        yield "the charge period is not within the billing period"


def _fits(text: str, kind: str) -> bool:
    match kind:
        case "DECIMAL" | "INTEGER":
            return bool(_NUMBER.match(text))
        case "DATETIME":
            return bool(_MOMENT.match(text))
        case "BOOLEAN":
            return text in ("true", "false")
        case "JSON":
            tree = json.loads(text)
            return isinstance(tree, dict) and not any(isinstance(value, dict | list) for value in tree.values())
    return bool(text.strip())
