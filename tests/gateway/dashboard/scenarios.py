"""Scenarios whose answers are known: machines of 8 B300 and others, against two hosts' prices of October 2026."""

from __future__ import annotations

from typing import Any

_LOOKED_UP = {"source": "Flatkey price index", "as_of": "2026-10-24"}
_B300 = {"gpu": "b300", "count": 8, "usd_per_gpu_hour": "7.34", **_LOOKED_UP}
_CARRIES = {
    "prefill_tps": "21672",
    "decode_tps": "5075.1",
    "utilisation": "0.75",
    "source": "derived from SGLang pull request 37878",
    "as_of": "2026-09-03",
}
_MOONSHOT = {
    "currency": "USD",
    "per_million": {"input": "3.00", "cached": "0.30", "output": "15.00"},
    "source": "Moonshot platform price page",
    "as_of": "2026-10-24",
}
_FLATKEY = {**_MOONSHOT, "per_million": {"input": "1.80", "cached": "0.18", "output": "9.00"}, **_LOOKED_UP}
_CHAT = {
    "mix": {"input": 3, "output": 1},
    "cached_share": "0",
    "peak_to_mean": "2.5",
    "tokens_per_day": "100000000",
    "growth_per_month": "8%",
    "source": "a forecast of the office",
    "as_of": "2026-11-01",
}

SCENARIOS: dict[str, Any] = {
    # 7,144.267 million tokens a month, 2.3488 times today's: in 11.1 months.
    "moonshot": {"hardware": _B300, "hosted": _MOONSHOT, "traffic": _CHAT, "capacity": _CARRIES},
    # One replica carries 9,400.6 million tokens, worth less than it costs: never.
    "flatkey": {"hardware": _B300, "hosted": _FLATKEY, "traffic": _CHAT, "capacity": _CARRIES},
    # 1,440 GB do not hold 1,560.
    "b200": {
        "hardware": {**_B300, "gpu": "b200", "usd_per_gpu_hour": "7.49"},
        "hosted": _FLATKEY,
        "traffic": _CHAT,
        "capacity": "none",
    },
    "unasked": {
        "hardware": _B300,
        "hosted": _MOONSHOT,
        "traffic": {name: value for name, value in _CHAT.items() if name != "tokens_per_day"},
        "capacity": _CARRIES,
    },
    # Bought, for so much traffic that it pays at once.
    "bought": {
        "title": "Oito B300 comprados",
        "hardware": {
            "gpu": "b300",
            "count": 8,
            "capex": {
                "amount": "480000",
                "currency": "USD",
                "life_months": 36,
                "residual": "20%",
                "source": "an offer",
                "as_of": "2026-11-01",
            },
        },
        "site": {"kw": "17.36", "tariff_per_kwh": "0.12", "pue": "1.2", "currency": "USD"},
        "staff": {"hours_per_month": 40, "rate": "93.75", "currency": "USD"},
        "hosted": {**_MOONSHOT, "decline_per_year": "20%"},
        "traffic": {**_CHAT, "tokens_per_day": "250000000", "cached_share": "50%"},
        "capacity": _CARRIES,
        "discount_per_year": "12%",
    },
    # What one replica carries nobody says.
    "arithmetic": {"hardware": _B300, "hosted": _MOONSHOT, "traffic": _CHAT, "capacity": "none"},
    # Beyond 8,000 million tokens a month the host takes next to nothing: what pays lies below today's volume.
    "tiered": {
        "hardware": _B300,
        "hosted": {**_MOONSHOT, "tiers": [{"above_million_tokens": 8000, "factor": "0.001"}]},
        "traffic": {**_CHAT, "tokens_per_day": "350000000"},
        "capacity": _CARRIES,
    },
    # What the house itself asked, against what it pays for it.
    "ours": {
        "hardware": _B300,
        "hosted": {"deployment": "moonshot"},
        "traffic": {"from_ledger": "30d"},
        "capacity": _CARRIES,
    },
}
