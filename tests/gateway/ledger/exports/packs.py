"""A small pack with a hosted deployment and one on a machine of the house."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

RULES = """
default_label: internal
zones:
  device: {clearance: secret, addresses: loopback}
  hosted: {clearance: internal, addresses: public}
rules:
  - {name: all, route: {prefer: cheapest}}
"""
DEPLOYMENTS = """
deployments:
  - {name: moonshot-k3, model: kimi-k3, engine: moonshot, base_url: https://api.moonshot.example/v1, zone: hosted,
     operator: {name: Moonshot AI}, price: {currency: USD, per_million: {input: 3, cached: 0.3, output: 15}}}
  - {name: our-k3, model: kimi-k3, engine: vllm, base_url: http://127.0.0.1:8000/v1, zone: device, price: {owned: box}}
"""
BREAK_EVEN = """
machines:
  box:
    marginal: {currency: USD, per_million: {input: 0.05, output: 0.4}, source: meter, as_of: 2026-11-01}
    rent: {per_hour: 1.50, currency: USD}
"""
PRICES = "exchange_rates: [{currency: BRL, per_usd: 5.43, as_of: 2026-11-28, source: central bank}]\n"
BUDGETS = "time_zone: America/Sao_Paulo\ncurrency: BRL\n"


def write_pack(folder: Path, budgets: str = BUDGETS) -> Path:
    """Write the pack's files into a new folder."""
    folder.mkdir()
    files = {
        "rules": RULES,
        "deployments": DEPLOYMENTS,
        "break_even": BREAK_EVEN,
        "prices": PRICES,
        "budgets": budgets,
    }
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder
