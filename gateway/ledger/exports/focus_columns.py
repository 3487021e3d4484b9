"""The columns of FOCUS rows, and what the specification wants to be said of a file of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

VERSION = "1.2"
_COLUMNS_VERSION = "1"
"""To be raised with every change of the columns."""

COLUMNS: dict[str, str] = {
    "BilledCost": "DECIMAL",
    "BillingAccountId": "STRING",
    "BillingAccountName": "STRING",
    "BillingAccountType": "STRING",
    "BillingCurrency": "STRING",
    "BillingPeriodEnd": "DATETIME",
    "BillingPeriodStart": "DATETIME",
    "ChargeCategory": "STRING",
    "ChargeClass": "STRING",
    "ChargeDescription": "STRING",
    "ChargeFrequency": "STRING",
    "ChargePeriodEnd": "DATETIME",
    "ChargePeriodStart": "DATETIME",
    "ConsumedQuantity": "DECIMAL",
    "ConsumedUnit": "STRING",
    "ContractedCost": "DECIMAL",
    "ContractedUnitPrice": "DECIMAL",
    "EffectiveCost": "DECIMAL",
    "InvoiceId": "STRING",
    "InvoiceIssuerName": "STRING",
    "ListCost": "DECIMAL",
    "ListUnitPrice": "DECIMAL",
    "PricingCategory": "STRING",
    "PricingCurrency": "STRING",
    "PricingCurrencyContractedUnitPrice": "DECIMAL",
    "PricingCurrencyEffectiveCost": "DECIMAL",
    "PricingCurrencyListUnitPrice": "DECIMAL",
    "PricingQuantity": "DECIMAL",
    "PricingUnit": "STRING",
    "ProviderName": "STRING",
    "PublisherName": "STRING",
    "ResourceId": "STRING",
    "ResourceName": "STRING",
    "ResourceType": "STRING",
    "ServiceCategory": "STRING",
    "ServiceName": "STRING",
    "ServiceSubcategory": "STRING",
    "SkuId": "STRING",
    "SkuMeter": "STRING",
    "SkuPriceDetails": "JSON",
    "SkuPriceId": "STRING",
    "SubAccountId": "STRING",
    "SubAccountName": "STRING",
    "SubAccountType": "STRING",
    "Tags": "JSON",
    "x_Assumed": "BOOLEAN",
    "x_Bearer": "STRING",
    "x_Calls": "INTEGER",
    "x_Collections": "STRING",
    "x_Deployment": "STRING",
    "x_Estimated": "BOOLEAN",
    "x_FromCache": "BOOLEAN",
    "x_Label": "STRING",
    "x_Lane": "STRING",
    "x_Model": "STRING",
    "x_Person": "STRING",
    "x_PriceAsOf": "STRING",
    "x_PriceKnown": "BOOLEAN",
    "x_PriceOrigin": "STRING",
    "x_UpstreamModel": "STRING",
    "x_Zone": "STRING",
}
"""All columns with their types. Of FOCUS: the mandatory and recommended ones, and the conditional ones whose condition
holds; the own ones begin with `x_`, as the specification asks."""


def metadata(created: datetime) -> dict[str, object]:
    """What FOCUS wants to be said of a file beside it: who wrote it, the version it keeps to, and its columns."""
    return {
        "DataGenerator": "Soleira",
        "Schema": {
            "SchemaId": f"soleira-focus-{VERSION}-{_COLUMNS_VERSION}",
            "FocusVersion": VERSION,
            "DataGeneratorVersion": _COLUMNS_VERSION,
            "CreationDate": f"{created:%Y-%m-%dT%H:%M:%SZ}",
            "ColumnDefinition": [_definition(name, kind) for name, kind in COLUMNS.items()],
        },
    }


def _definition(name: str, kind: str) -> dict[str, object]:
    further: dict[str, object] = {}
    if kind == "STRING":
        further = {"StringEncoding": "UTF-8"}
    if kind == "DECIMAL":
        further = {"NumericPrecision": 38, "NumberScale": 24 if name in ("ListCost", "ContractedCost") else 18}
    return {"ColumnName": name, "DataType": kind, **further}
